//! Records from counts: a row for everybody that the cells of the smallest units count.

use std::fs::File;
use std::io;
use std::iter::repeat_n;
use std::path::{Path, PathBuf};

use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use unspent::schema::{Attribute, Code, Layout, Rows, Schema};
use unspent::{Error, Result};

use super::files::{CsvFile, open_parquet, push_field};
use super::{no_such_cell, values_of};
use crate::directory::{self, Folder};
use crate::parquet_file::{field, system_error, write_values};
use crate::synthesize::{DICTIONARY, Dictionary, push_number};

/// What the files are called, before the dot.
const RECORDS: &str = "records";
/// What the files say of themselves. How private they are is what the notes say of the tables.
const MADE: &str = "made from the counts of tables, not copied from records";
/// The column with the code of the unit, unless the schema calls it otherwise.
const GEOCODE: &str = "geocode";
/// Rows of a row group.
const GROUP: usize = 1 << 20;

/// Writes records, unit by unit, in the order in which units come and then in that of the cells.
///
/// The files are `records.csv` and `records.parquet`, with the columns that the schema's table has for
/// records: the code, one for each attribute, and a number of its own for each record if the schema names a
/// column for it. `records.toml` says how they are read, if all levels are first characters of the code.
/// Memory holds the cells of some units, however many records they count.
pub struct RecordsWriter {
    target: PathBuf,
    attributes: Vec<Attribute>,
    /// Whether each record has a number of its own.
    numbered: bool,
    csv: CsvFile,
    parquet: SerializedFileWriter<File>,
    dictionaries: Vec<Dictionary>,
    group: Group,
    /// The cells of a unit, in order; a line of CSV.
    sorted: Vec<(u32, i64)>,
    line: Vec<u8>,
    written: u64,
    made: Vec<String>,
}

/// Rows that are not in the Parquet file yet.
#[derive(Default)]
struct Group {
    geocodes: Vec<ByteArray>,
    /// The place of a geocode, a cell, and how many records it has there.
    runs: Vec<(usize, u32, usize)>,
    rows: usize,
    /// Rows of the groups before.
    before: u64,
}

/// How the records of an attribute write its values.
fn codes(attribute: &Attribute) -> &[String] {
    if attribute.codes.is_empty() { &attribute.values } else { &attribute.codes }
}

impl RecordsWriter {
    /// Makes the files. The Parquet file gets the `notes`; `target` is what messages call the directory.
    pub fn new(
        target: &Path,
        folder: &Folder,
        schema: &Schema,
        notes: &[(&str, String)],
    ) -> Result<RecordsWriter> {
        let failed = |error: io::Error| directory::failed(target, error);
        let attributes = schema.attributes();
        let layout = schema.layout();
        let code = layout.and_then(|layout| layout.code()).unwrap_or(GEOCODE);
        let id = layout.and_then(|layout| match layout.rows() {
            Rows::Records(id) => id.as_deref(),
            _ => None,
        });
        let columns = attributes.iter().map(|a| layout.map_or(a.name.as_str(), |l| l.column(&a.name)));
        let columns: Vec<&str> = columns.collect();
        let dictionaries: Vec<Dictionary> = attributes.iter().map(|a| Dictionary::of(codes(a))).collect();
        let open = || -> io::Result<_> {
            let mut fields = vec![field(code, PhysicalType::BYTE_ARRAY, Repetition::REQUIRED)?];
            for (name, dictionary) in columns.iter().zip(&dictionaries) {
                fields.push(field(name, dictionary.physical_type(), Repetition::REQUIRED)?);
            }
            if let Some(id) = id {
                fields.push(field(id, PhysicalType::INT64, Repetition::REQUIRED)?);
            }
            let mut notes = notes.to_vec();
            notes.push(("unspent.note", MADE.into()));
            let properties = WriterProperties::builder().set_dictionary_page_size_limit(DICTIONARY);
            let heads = [code].into_iter().chain(columns.iter().copied()).chain(id);
            let csv = CsvFile::new(folder.create(&format!("{RECORDS}.csv"))?, heads)?;
            let file = folder.create(&format!("{RECORDS}.parquet"))?;
            let parquet = open_parquet(file, fields, properties, &notes);
            Ok((csv, parquet.map_err(system_error)?))
        };
        let (csv, parquet) = open().map_err(failed)?;
        let mut made = vec![format!("{RECORDS}.csv"), format!("{RECORDS}.parquet")];
        // A code that several columns make up is in one column here, so that other levels cannot be read.
        let is_prefix =
            |layout: &Layout| layout.levels().iter().all(|level| matches!(level.code, Code::Prefix(_)));
        if layout.is_some_and(is_prefix) {
            let of_records = schema.clone().with_rows(Rows::Records(id.map(String::from)));
            let text = format!("# {RECORDS}.csv: {MADE}.\n\n{}", of_records.to_toml());
            made.push(format!("{RECORDS}.toml"));
            folder.write(&made[2], text).map_err(failed)?;
        }
        Ok(RecordsWriter {
            target: target.into(),
            attributes: attributes.to_vec(),
            numbered: id.is_some(),
            csv,
            parquet,
            dictionaries,
            group: Group::default(),
            sorted: vec![],
            line: vec![],
            written: 0,
            made,
        })
    }

    /// Adds the records of a unit of the smallest level: its code, the cells of its histogram, and their
    /// counts, none of them negative.
    pub fn push(&mut self, code: &str, counts: &[(u32, i64)]) -> Result<()> {
        self.sorted.clear();
        self.sorted.extend(counts.iter().filter(|(_, count)| *count != 0));
        self.sorted.sort_unstable();
        self.check(code)?;
        if !self.sorted.is_empty() {
            let target = self.target.clone();
            self.write(code).map_err(|error| directory::failed(&target, error))?;
        }
        Ok(())
    }

    /// No more units: writes what is left. Returns the names of all files, and how many records they have.
    pub fn finish(mut self) -> Result<(Vec<String>, u64)> {
        let written = self.write_group();
        let failed = |error: io::Error| directory::failed(&self.target, error);
        written.map_err(failed)?;
        self.parquet.close().map_err(|error| failed(system_error(error)))?;
        self.csv.finish().map_err(failed)?;
        Ok((self.made, self.written))
    }

    fn check(&self, code: &str) -> Result<()> {
        let cells = self.attributes.iter().map(|attribute| attribute.values.len()).product();
        for (cell, count) in &self.sorted {
            let error = if *cell as usize >= cells {
                no_such_cell(*cell, cells)
            } else if *count < 0 {
                let hint = "records are written of whole counts that are not negative";
                Error::input(format!("cell {cell}"), count, "a count of records", hint)
            } else {
                continue;
            };
            return Err(error.at(format!("unit `{code}`")));
        }
        Ok(())
    }

    /// Writes the records of the cells that are sorted.
    fn write(&mut self, code: &str) -> io::Result<()> {
        let sorted = std::mem::take(&mut self.sorted);
        self.group.geocodes.push(ByteArray::from(code));
        for (cell, count) in &sorted {
            self.line.clear();
            push_field(&mut self.line, code);
            for (attribute, value) in self.attributes.iter().zip(values_of(*cell as usize, &self.attributes))
            {
                self.line.push(b',');
                push_field(&mut self.line, &codes(attribute)[value]);
            }
            let length = self.line.len();
            for _ in 0..*count {
                self.written += 1;
                if self.numbered {
                    self.line.truncate(length);
                    self.line.push(b',');
                    push_number(&mut self.line, self.written);
                }
                self.csv.line(&self.line)?;
            }
            self.group_run(*cell, *count as u64)?;
        }
        self.sorted = sorted;
        Ok(())
    }

    /// Adds so many records of the last geocode, in as many groups as they need.
    fn group_run(&mut self, cell: u32, mut left: u64) -> io::Result<()> {
        while left > 0 {
            let group = &mut self.group;
            let rows = left.min((GROUP - group.rows) as u64);
            group.runs.push((group.geocodes.len() - 1, cell, rows as usize));
            group.rows += rows as usize;
            left -= rows;
            if group.rows == GROUP {
                let last = group.geocodes.last().cloned();
                self.write_group()?;
                self.group.geocodes.extend(last);
            }
        }
        Ok(())
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.group.rows == 0 {
            return Ok(());
        }
        let group = std::mem::take(&mut self.group);
        self.group.before = group.before + group.rows as u64;
        self.write_rows(&group).map_err(system_error)
    }

    fn write_rows(&mut self, group: &Group) -> parquet::errors::Result<()> {
        let mut to = self.parquet.next_row_group()?;
        let code = |(at, _, rows): &(usize, u32, usize)| repeat_n(group.geocodes[*at].clone(), *rows);
        write_values::<ByteArrayType, _>(&mut to, group.runs.iter().flat_map(code))?;
        let values: Vec<Vec<usize>> =
            group.runs.iter().map(|run| values_of(run.1 as usize, &self.attributes)).collect();
        for (i, dictionary) in self.dictionaries.iter().enumerate() {
            let runs = || group.runs.iter().zip(&values).map(|(run, values)| (values[i], run.2));
            match dictionary {
                Dictionary::Numbers(codes) => {
                    let codes = runs().flat_map(|(value, rows)| repeat_n(codes[value], rows));
                    write_values::<Int32Type, _>(&mut to, codes)?;
                }
                Dictionary::Texts(codes) => {
                    let codes = runs().flat_map(|(value, rows)| repeat_n(codes[value].clone(), rows));
                    write_values::<ByteArrayType, _>(&mut to, codes)?;
                }
            }
        }
        if self.numbered {
            let first = group.before as i64 + 1;
            write_values::<Int64Type, _>(&mut to, first..first + group.rows as i64)?;
        }
        to.close().map(|_| ())
    }
}
