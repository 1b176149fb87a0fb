//! Published tables as files: one CSV and one Parquet file for each table and level.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parquet::basic::{Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use unspent::Result;
use unspent::report::columns::csv;

use super::PublishedTable;
use super::files::{CsvFile, open_parquet};
use crate::directory::{self, Folder};
use crate::manifest;
use crate::parquet_file::{field, system_error, write_column};

/// The folder.
const PUBLISHED: &str = "published";
/// The file that says what the columns are.
const COLUMNS: &str = "columns.csv";
/// The column with the code of the unit.
const GEOCODE: &str = "geocode";
/// Rows of a row group; so many are kept for each table and level.
const GROUP: usize = 1 << 13;

/// Writes published tables, unit by unit, in the order in which units come.
pub struct PublishedWriter {
    target: PathBuf,
    tables: Vec<(PublishedTable, Folder)>,
    /// What the files of each level are called.
    levels: Vec<String>,
    notes: Vec<(&'static str, String)>,
    /// For each table, the files of each level that has had a unit.
    open: Vec<Vec<Option<LevelFiles>>>,
    /// Paths of all files that were made.
    made: Vec<String>,
}

/// The files of a table and a level.
struct LevelFiles {
    csv: CsvFile,
    parquet: SerializedFileWriter<File>,
    /// Rows that are not in the Parquet file yet.
    geocodes: Vec<ByteArray>,
    columns: Vec<Vec<i64>>,
}

impl PublishedWriter {
    /// Makes the folder `published` with a folder for each table. The Parquet files get the `notes`;
    /// `target` is what messages call the directory, and `levels` are the names of all levels.
    pub fn new(
        target: &Path,
        folder: &Folder,
        tables: Vec<PublishedTable>,
        levels: &[String],
        notes: &[(&'static str, String)],
    ) -> Result<PublishedWriter> {
        let failed = |error: io::Error| directory::failed(target, error);
        let inside = folder.create_folder(PUBLISHED).map_err(failed)?;
        inside.write(COLUMNS, columns(&tables)).map_err(failed)?;
        let mut with_folders = vec![];
        for table in tables {
            let own = inside.create_folder(table.name).map_err(failed)?;
            with_folders.push((table, own));
        }
        Ok(PublishedWriter {
            target: target.into(),
            open: with_folders.iter().map(|_| levels.iter().map(|_| None).collect()).collect(),
            tables: with_folders,
            levels: manifest::folders_of(levels.iter().map(String::as_str)),
            notes: notes.to_vec(),
            made: vec![format!("{PUBLISHED}/{COLUMNS}")],
        })
    }

    /// Adds a unit of the level with that place: its code, the cells of its histogram, and their counts.
    pub fn push(&mut self, level: usize, code: &str, counts: &[(u32, i64)]) -> Result<()> {
        let geocode = ByteArray::from(code);
        for (i, (table, folder)) in self.tables.iter().enumerate() {
            let row = table.row(counts).map_err(|error| error.at(format!("unit `{code}`")))?;
            let failed = |error: io::Error| directory::failed(&self.target, error);
            let files = match &mut self.open[i][level] {
                Some(files) => files,
                none => {
                    let name = &self.levels[level];
                    let files = LevelFiles::new(table, folder, name, &self.notes).map_err(failed)?;
                    for end in ["csv", "parquet"] {
                        self.made.push(format!("{PUBLISHED}/{}/{name}.{end}", table.name));
                    }
                    none.insert(files)
                }
            };
            files.push(code, geocode.clone(), &row).map_err(failed)?;
        }
        Ok(())
    }

    /// No more units: writes what is left. Returns the paths of all files, from the directory on.
    pub fn finish(self) -> Result<Vec<String>> {
        for files in self.open.into_iter().flatten().flatten() {
            files.finish().map_err(|error| directory::failed(&self.target, error))?;
        }
        Ok(self.made)
    }
}

impl LevelFiles {
    fn new(
        table: &PublishedTable,
        folder: &Folder,
        name: &str,
        notes: &[(&str, String)],
    ) -> io::Result<LevelFiles> {
        let codes = || table.cells.iter().map(|cell| cell.code.as_str());
        let csv = folder.create(&format!("{name}.csv"))?;
        let parquet = folder.create(&format!("{name}.parquet"))?;
        let mut fields = vec![field(GEOCODE, PhysicalType::BYTE_ARRAY, Repetition::REQUIRED)?];
        for code in codes() {
            fields.push(field(code, PhysicalType::INT64, Repetition::REQUIRED)?);
        }
        // Most counts are small and near the one before.
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding(GEOCODE.into(), Encoding::DELTA_BYTE_ARRAY);
        let mut notes = notes.to_vec();
        notes.push(("unspent.table", format!("{}: {} ({})", table.name, table.title, table.universe)));
        Ok(LevelFiles {
            csv: CsvFile::new(csv, [GEOCODE].into_iter().chain(codes()))?,
            parquet: open_parquet(parquet, fields, properties, &notes).map_err(system_error)?,
            geocodes: vec![],
            columns: vec![vec![]; table.cells.len()],
        })
    }

    fn push(&mut self, code: &str, geocode: ByteArray, row: &[i64]) -> io::Result<()> {
        self.csv.row(code, row)?;
        self.geocodes.push(geocode);
        for (column, count) in self.columns.iter_mut().zip(row) {
            column.push(*count);
        }
        if self.geocodes.len() >= GROUP { self.write_group().map_err(system_error) } else { Ok(()) }
    }

    fn write_group(&mut self) -> parquet::errors::Result<()> {
        let mut group = self.parquet.next_row_group()?;
        write_column::<ByteArrayType, _>(&mut group, &self.geocodes, None, None)?;
        self.geocodes.clear();
        for column in &mut self.columns {
            write_column::<Int64Type, _>(&mut group, column, None, None)?;
            column.clear();
        }
        group.close().map(|_| ())
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.geocodes.is_empty() {
            self.write_group().map_err(system_error)?;
        }
        self.csv.finish()?;
        self.parquet.close().map(|_| ()).map_err(system_error)
    }
}

/// What the columns of all tables are, as CSV.
fn columns(tables: &[PublishedTable]) -> String {
    let rows = tables.iter().flat_map(|table| {
        table.cells.iter().map(|cell| {
            vec![table.name.into(), cell.code.clone(), cell.label.clone(), table.universe.to_string()]
        })
    });
    csv(&["table", "code", "label", "universe"], &rows.collect::<Vec<_>>())
}
