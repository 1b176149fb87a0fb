//! A made-up population as records in a shipped schema, or as counts of those who have the same values.

use std::io::{self, Write};

use parquet::basic::{Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use serde::Serialize;
use unspent::report::document::Document;

use super::{CHUNK, GROUP, Synthesized, Synthetic};
use super::{columns, in_two_threads, integer_field, push_number, text_field, write_column};
use crate::parquet_file::{field, write_values};
use crate::population::CODE;
use crate::population::persons::{MOST_ATTRIBUTES, Person, PersonSchema, Persons};
use crate::progress::Progress;

/// The column with how many people have the values of a row.
const COUNT: &str = "count";
/// The column with a number of its own for each person.
const ID: &str = "person";
/// Bytes of the dictionary of a column: all codes of a row group have room in it.
pub(crate) const DICTIONARY: usize = 1 << 25;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordRows {
    /// A person.
    Records,
    /// A person, with a number of its own: 1, 2 and so on.
    Numbered,
    /// All people of a block who have the same values, counted.
    Counts,
}

/// A population that is made up and written, person by person; memory holds a block.
///
/// ```
/// use unspent_data::Quiet;
/// use unspent_data::population::persons::PersonSchema;
/// use unspent_data::synthesize::{RecordRows, Synthetic, SyntheticRecords};
/// let blocks = Synthetic::new(200, 1)?;
/// let mut records = SyntheticRecords::new(blocks, PersonSchema::Pl94, RecordRows::Records);
/// let mut text = vec![];
/// records.write_csv(&mut text, &mut Quiet).expect("memory");
/// assert!(text.starts_with(b"geocode,hhgq,votingage,hispanic,cenrace\n"));
/// # Ok::<(), unspent::Error>(())
/// ```
pub struct SyntheticRecords {
    blocks: Synthetic,
    persons: Persons,
    schema: PersonSchema,
    rows: RecordRows,
    made: Tally,
    /// How records write the values of each attribute.
    codes: Vec<Vec<String>>,
    /// The people of the last block, and its rows: places of values, and how many people have them.
    people: Vec<Person>,
    block_rows: Vec<([u8; MOST_ATTRIBUTES], u32)>,
}

/// How many people are of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Tally {
    /// Rows of the table.
    rows: u64,
    /// People in group quarters.
    group_quarters: u64,
    /// People under 18.
    minors: u64,
    /// People who are Hispanic or Latino.
    hispanic: u64,
    /// People of two or more races.
    multiracial: u64,
}

/// What was made up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SynthesizedRecords {
    /// Blocks and people.
    #[serde(flatten)]
    pub blocks: Synthesized,
    #[serde(flatten)]
    people: Tally,
}

impl SynthesizedRecords {
    /// What was made up, for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = self.blocks.document();
        let of = |n: u64| format!("{:.1} %", 100.0 * n as f64 / self.blocks.persons.max(1) as f64);
        let Tally { rows, group_quarters, minors, hispanic, multiracial } = self.people;
        text.line(format!(
            "In group quarters: {}; under 18: {}; Hispanic or Latino: {}; of several races: {}.",
            of(group_quarters),
            of(minors),
            of(hispanic),
            of(multiracial)
        ));
        text.line(format!("The table has {rows} rows."));
        text
    }
}

/// The places of combinations of one race come before those of several.
const SEVERAL_RACES: u8 = 6;

impl SyntheticRecords {
    /// The people of these blocks, none of which was made yet.
    #[must_use]
    pub fn new(mut blocks: Synthetic, schema: PersonSchema, rows: RecordRows) -> SyntheticRecords {
        let levels = schema.levels().into_iter();
        blocks.levels = levels.map(|(level, length)| (level.into(), length)).collect();
        let attributes = schema.attributes().into_iter();
        let codes = attributes.map(|a| if a.codes.is_empty() { a.values } else { a.codes });
        SyntheticRecords {
            persons: Persons::new(blocks.made.seed),
            blocks,
            schema,
            rows,
            made: Tally::default(),
            codes: codes.collect(),
            people: vec![],
            block_rows: vec![],
        }
    }

    /// The list of the blocks that are still to come; see [`Synthetic::units`].
    #[must_use]
    pub fn units(&self) -> Synthetic {
        self.blocks.units()
    }

    /// What was made so far.
    #[must_use]
    pub fn made(&self) -> SynthesizedRecords {
        SynthesizedRecords { blocks: self.blocks.made(), people: self.made.clone() }
    }

    /// The file that tells how the table is read.
    #[must_use]
    pub fn schema_file(&self) -> String {
        let (code, _) = columns();
        let (schema, row) = (
            self.schema.name(),
            match self.rows {
                RecordRows::Records => String::new(),
                RecordRows::Numbered => format!("id = \"{ID}\"\n"),
                RecordRows::Counts => format!("count = \"{COUNT}\"\n"),
            },
        );
        let levels: String =
            self.schema.levels().iter().map(|(level, length)| format!("{level} = {length}\n")).collect();
        format!(
            "# How a table from `unspent synthesize --schema {schema}` is read.\n\
             # It is made up: nobody in it exists.\n\n\
             schema = \"{schema}\"\n\n\
             [table]\ncode = \"{code}\"\n{row}\n\
             # From the largest areas to the smallest: how many characters of the code name a unit.\n\
             [table.levels]\n{levels}"
        )
    }

    /// The names of the columns: the code, the attributes, and a count or a number.
    fn names(&self) -> Vec<String> {
        let mut names = vec![columns().0];
        names.extend(self.schema.attributes().into_iter().map(|attribute| attribute.name));
        match self.rows {
            RecordRows::Records => {}
            RecordRows::Numbered => names.push(ID.into()),
            RecordRows::Counts => names.push(COUNT.into()),
        }
        names
    }

    /// Makes the rows of the next block, and gives its code.
    fn next_block(&mut self) -> Option<[u8; CODE]> {
        let block = self.blocks.next()?;
        self.persons.of_block(&block, &mut self.people);
        let (schema, rows) = (self.schema, &mut self.block_rows);
        rows.clear();
        for person in &self.people {
            self.made.group_quarters += u64::from(person.hhgq() > 0);
            self.made.minors += u64::from(person.is_minor());
            self.made.hispanic += u64::from(person.hispanic);
            self.made.multiracial += u64::from(person.cenrace >= SEVERAL_RACES);
            rows.push((schema.values(person), 1));
        }
        if self.rows == RecordRows::Counts {
            // In the order of the cells.
            rows.sort_unstable();
            rows.dedup_by(|next, first| {
                let same = next.0 == first.0;
                first.1 += if same { next.1 } else { 0 };
                same
            });
        }
        self.made.rows += rows.len() as u64;
        Some(block.digits)
    }

    /// Writes all people as CSV.
    pub fn write_csv(&mut self, mut to: impl Write, progress: &mut dyn Progress) -> io::Result<()> {
        let with_comma = |code: &String| format!(",{code}").into_bytes();
        let codes: Vec<Vec<Vec<u8>>> =
            self.codes.iter().map(|codes| codes.iter().map(with_comma).collect()).collect();
        let mut text = (self.names().join(",") + "\n").into_bytes();
        let mut number = 0;
        while let Some(code) = self.next_block() {
            for (values, count) in &self.block_rows {
                text.extend_from_slice(&code);
                for (codes, value) in codes.iter().zip(values) {
                    text.extend_from_slice(&codes[usize::from(*value)]);
                }
                number += 1;
                let last = match self.rows {
                    RecordRows::Records => None,
                    RecordRows::Numbered => Some(number),
                    RecordRows::Counts => Some(u64::from(*count)),
                };
                if let Some(last) = last {
                    text.push(b',');
                    push_number(&mut text, last);
                }
                text.push(b'\n');
            }
            if text.len() >= CHUNK {
                to.write_all(&text)?;
                text.clear();
                self.blocks.show(progress);
            }
        }
        to.write_all(&text)?;
        to.flush()
    }

    /// Writes all people as Parquet, with dictionaries. Values are integers where their codes are, which
    /// takes a third less time to read than texts.
    pub fn write_parquet(
        &mut self,
        to: impl Write + Send,
        progress: &mut (dyn Progress + Send),
    ) -> io::Result<()> {
        let mut writer = self.parquet_writer(to)?;
        let dictionaries: Vec<Dictionary> = self.codes.iter().map(|codes| Dictionary::of(codes)).collect();
        let rows = self.rows;
        let mut number = 0;
        let make = || {
            let group = Group::next(self)?;
            self.blocks.show(progress);
            Some(group)
        };
        in_two_threads(make, |group| {
            let mut to = writer.next_row_group()?;
            let codes = ByteArray::from(group.codes);
            let code =
                |(i, rows): (usize, &u32)| std::iter::repeat_n(codes.slice(i * CODE, CODE), *rows as usize);
            write_values::<ByteArrayType, _>(&mut to, group.block_rows.iter().enumerate().flat_map(code))?;
            for (dictionary, values) in dictionaries.iter().zip(&group.values) {
                match dictionary {
                    Dictionary::Numbers(codes) => {
                        let values: Vec<i32> =
                            values.iter().map(|value| codes[usize::from(*value)]).collect();
                        write_column::<Int32Type>(&mut to, &values)?;
                    }
                    Dictionary::Texts(codes) => {
                        write_values::<ByteArrayType, _>(
                            &mut to,
                            values.iter().map(|value| codes[usize::from(*value)].clone()),
                        )?;
                    }
                }
            }
            match rows {
                RecordRows::Records => {}
                RecordRows::Numbered => {
                    let first = number + 1;
                    number += group.counts.len() as i64;
                    write_column::<Int64Type>(&mut to, &(first..=number).collect::<Vec<i64>>())?;
                }
                RecordRows::Counts => write_column::<Int32Type>(&mut to, &group.counts)?,
            }
            to.close()?;
            Ok(())
        })?;
        writer.close()?;
        Ok(())
    }

    fn parquet_writer<W: Write + Send>(&self, to: W) -> io::Result<SerializedFileWriter<W>> {
        let names = self.names();
        let (attributes, numbers) = names[1..].split_at(self.codes.len());
        let mut fields = vec![text_field(&names[0])?];
        for (name, codes) in attributes.iter().zip(&self.codes) {
            fields.push(field(name, Dictionary::of(codes).physical_type(), Repetition::REQUIRED)?);
        }
        let mut properties = WriterProperties::builder().set_dictionary_page_size_limit(DICTIONARY);
        for name in numbers {
            let kind = match self.rows {
                RecordRows::Counts => PhysicalType::INT32,
                _ => PhysicalType::INT64,
            };
            fields.push(integer_field(name, kind)?);
            let column = ColumnPath::from(name.as_str());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        self.blocks.open_parquet(to, fields, properties, &[("unspent.schema", self.schema.name())])
    }
}

/// The codes of an attribute, as Parquet has them.
pub(crate) enum Dictionary {
    Numbers(Vec<i32>),
    Texts(Vec<ByteArray>),
}

impl Dictionary {
    /// Numbers if their digits are the codes: one that begins with a zero would lose it.
    pub(crate) fn of(codes: &[String]) -> Dictionary {
        let number = |code: &String| code.parse().ok().filter(|number: &i32| number.to_string() == *code);
        let text = |code: &String| ByteArray::from(code.clone().into_bytes());
        match codes.iter().map(number).collect() {
            Some(numbers) => Dictionary::Numbers(numbers),
            None => Dictionary::Texts(codes.iter().map(text).collect()),
        }
    }

    /// What a column of them is of.
    pub(crate) fn physical_type(&self) -> PhysicalType {
        match self {
            Dictionary::Numbers(_) => PhysicalType::INT32,
            Dictionary::Texts(_) => PhysicalType::BYTE_ARRAY,
        }
    }
}

/// Rows of a row group, column by column.
struct Group {
    /// The code of each block, and how many rows it has.
    codes: Vec<u8>,
    block_rows: Vec<u32>,
    /// Places of values, for each attribute.
    values: [Vec<u8>; MOST_ATTRIBUTES],
    counts: Vec<i32>,
}

impl Group {
    /// Those of the next blocks; nothing if there are no more rows.
    fn next(records: &mut SyntheticRecords) -> Option<Group> {
        let mut group =
            Group { codes: vec![], block_rows: vec![], values: Default::default(), counts: vec![] };
        while group.counts.len() < GROUP {
            let Some(code) = records.next_block() else { break };
            let rows = &records.block_rows;
            if rows.is_empty() {
                continue;
            }
            group.codes.extend_from_slice(&code);
            group.block_rows.push(rows.len() as u32);
            for (i, values) in group.values.iter_mut().enumerate() {
                values.extend(rows.iter().map(|row| row.0[i]));
            }
            group.counts.extend(rows.iter().map(|row| row.1 as i32));
        }
        (!group.counts.is_empty()).then_some(group)
    }
}
