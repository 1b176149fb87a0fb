//! A made-up population as a table, where there is none at hand.
//!
//! ```text
//! Population ─▶ Made ─────────▶ CSV
//! (blocks)      (and counted)  └▶ row groups ─▶ Parquet
//!                               (one thread)    (another)
//! ```

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use serde::Serialize;
use unspent::Result;
use unspent::report::document::{Document, Table};
use unspent::schema::{Layout, Rows, Schema};

use crate::population::{Block, CODE, Population, RACES, schema};
use crate::progress::Progress;

/// What every file says of itself.
const MADE_UP: &str = "made up by unspent synthesize: nobody in it exists";
/// Rows of a row group.
const GROUP: usize = 1 << 20;
/// Codes that are handed to Parquet at a time.
const CODES: usize = 1 << 13;
/// Bytes of CSV that are written at a time.
const CHUNK: usize = 1 << 18;

/// A population that is made up and written, block by block.
pub struct Synthetic {
    population: Population,
    made: Synthesized,
    /// Blocks in all.
    all: u64,
}

/// What was made up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Synthesized {
    /// How many blocks.
    pub blocks: u64,
    /// Which of all populations of that size.
    pub seed: u64,
    /// How many people.
    pub persons: u64,
    /// How many blocks have nobody in them.
    pub empty: u64,
    /// How many people the largest block has.
    pub largest: u32,
    /// From the largest areas to the smallest.
    pub levels: Vec<SyntheticLevel>,
}

impl Synthesized {
    /// What was made up, for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.line("A made-up population: nobody in it exists.");
        text.line("");
        let mut table = Table::new(&["level", "units", "persons a unit"]);
        for level in &self.levels {
            let mean = self.persons as f64 / level.units as f64;
            let mean = if mean < 100.0 { format!("{mean:.1}") } else { format!("{mean:.0}") };
            table.row(vec![level.level.clone(), level.units.to_string(), mean]);
        }
        text.table(table);
        text.line("");
        let empty = 100.0 * self.empty as f64 / self.blocks as f64;
        text.line(format!(
            "{} persons; {empty:.1} % of the blocks are empty, and the largest has {}.",
            self.persons, self.largest
        ));
        text
    }
}

/// The units of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SyntheticLevel {
    /// Its name.
    pub level: String,
    /// How many units it has.
    pub units: u64,
}

impl Synthetic {
    /// A population of so many blocks. The same seed makes the same one on every machine.
    pub fn new(blocks: u64, seed: u64) -> Result<Synthetic> {
        let made = Synthesized { blocks: 0, seed, persons: 0, empty: 0, largest: 0, levels: vec![] };
        Ok(Synthetic { population: Population::new(blocks, seed)?, made, all: blocks })
    }

    /// What was made so far.
    #[must_use]
    pub fn made(&self) -> Synthesized {
        let schema = schema();
        let levels = layout(&schema).levels().iter().zip(self.population.units());
        let levels = levels.map(|(level, units)| SyntheticLevel { level: level.name.clone(), units });
        Synthesized { levels: levels.collect(), ..self.made.clone() }
    }

    fn show(&self, progress: &mut dyn Progress) {
        progress.rows(self.made.blocks, Some(self.made.blocks as f64 / self.all as f64));
    }

    /// Writes all blocks as CSV.
    pub fn write_csv(&mut self, mut to: impl Write, progress: &mut dyn Progress) -> io::Result<()> {
        let (code, counts) = columns();
        let mut text = format!("{code},{}\n", counts.join(",")).into_bytes();
        while let Some(block) = self.next() {
            push_row(&mut text, &block);
            if text.len() >= CHUNK {
                to.write_all(&text)?;
                text.clear();
                self.show(progress);
            }
        }
        to.write_all(&text)?;
        to.flush()
    }

    /// Writes all blocks as Parquet.
    pub fn write_parquet(
        &mut self,
        to: impl Write + Send,
        progress: &mut (dyn Progress + Send),
    ) -> io::Result<()> {
        let mut writer = self.parquet_writer(to)?;
        let (sender, receiver) = sync_channel(0);
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Some(group) = Group::next(self) {
                    self.show(progress);
                    // Nobody takes it any more if writing has failed.
                    if sender.send(group).is_err() {
                        return;
                    }
                }
            });
            for group in receiver {
                let mut to = writer.next_row_group()?;
                let mut column = to.next_column()?.expect("the code");
                let codes = ByteArray::from(group.codes);
                let starts: Vec<usize> = (0..codes.len()).step_by(CODE).collect();
                for some in starts.chunks(CODES) {
                    let some: Vec<ByteArray> = some.iter().map(|start| codes.slice(*start, CODE)).collect();
                    column.typed::<ByteArrayType>().write_batch(&some, None, None)?;
                }
                column.close()?;
                for counts in &group.counts {
                    let mut column = to.next_column()?.expect("as many columns as counts");
                    column.typed::<Int32Type>().write_batch(counts, None, None)?;
                    column.close()?;
                }
                to.close()?;
            }
            writer.close()?;
            Ok(())
        })
    }

    fn parquet_writer<W: Write + Send>(&self, to: W) -> io::Result<SerializedFileWriter<W>> {
        let (code, counts) = columns();
        let text = Type::primitive_type_builder(&code, PhysicalType::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()?;
        let mut fields = vec![Arc::new(text)];
        for name in &counts {
            let count = Type::primitive_type_builder(name, PhysicalType::INT32);
            fields.push(Arc::new(count.with_repetition(Repetition::REQUIRED).build()?));
        }
        let schema = Type::group_type_builder("unspent").with_fields(fields).build()?;
        let note = |key: &str, value: &str| KeyValue::new(key.into(), Some(value.into()));
        let notes = vec![
            note("unspent.version", env!("CARGO_PKG_VERSION")),
            note("unspent.note", MADE_UP),
            note("unspent.blocks", &self.all.to_string()),
            note("unspent.seed", &self.made.seed.to_string()),
        ];
        // What is fastest to write and small: sorted codes share their first characters, and most counts are
        // near the one before.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding(ColumnPath::from(code), Encoding::DELTA_BYTE_ARRAY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_key_value_metadata(Some(notes))
            .build();
        Ok(SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?)
    }
}

impl Iterator for Synthetic {
    type Item = Block;

    #[inline]
    fn next(&mut self) -> Option<Block> {
        let block = self.population.next()?;
        let persons = block.counts.iter().sum();
        self.made.blocks += 1;
        self.made.empty += u64::from(persons == 0);
        self.made.persons += u64::from(persons);
        self.made.largest = self.made.largest.max(persons);
        Some(block)
    }
}

/// The column of the code, and those of the counts.
pub(crate) fn columns() -> (String, Vec<String>) {
    let schema = schema();
    let layout = layout(&schema);
    let code = layout.code().expect("levels are characters of it").into();
    let Rows::Units(cells) = layout.rows() else { unreachable!("a row a block") };
    (code, cells.iter().map(|cell| cell.column.clone()).collect())
}

fn layout(schema: &Schema) -> &Layout {
    schema.layout().expect("it has a table")
}

/// Adds a line: a hundred million numbers take their time if each is formatted.
#[inline]
fn push_row(text: &mut Vec<u8>, block: &Block) {
    text.extend_from_slice(&block.digits);
    for count in block.counts {
        if count < 10 {
            text.extend_from_slice(&[b',', b'0' + count as u8]);
            continue;
        }
        let mut digits = [0; 10];
        let (mut first, mut left) = (digits.len(), count);
        while left > 0 {
            first -= 1;
            digits[first] = b'0' + (left % 10) as u8;
            left /= 10;
        }
        text.push(b',');
        text.extend_from_slice(&digits[first..]);
    }
    text.push(b'\n');
}

/// Rows of a row group, column by column.
struct Group {
    codes: Vec<u8>,
    counts: [Vec<i32>; RACES],
}

impl Group {
    /// The next ones; nothing if there are no more.
    fn next(blocks: &mut Synthetic) -> Option<Group> {
        let mut group = Group { codes: vec![], counts: Default::default() };
        for block in blocks.take(GROUP) {
            group.codes.extend_from_slice(&block.digits);
            for (column, count) in group.counts.iter_mut().zip(block.counts) {
                column.push(count as i32);
            }
        }
        (!group.codes.is_empty()).then_some(group)
    }
}

/// A file to be damaged.
#[cfg(test)]
pub(crate) fn parquet_of(blocks: u64) -> Vec<u8> {
    let mut bytes = vec![];
    Synthetic::new(blocks, 1).unwrap().write_parquet(&mut bytes, &mut crate::progress::Quiet).unwrap();
    bytes
}
