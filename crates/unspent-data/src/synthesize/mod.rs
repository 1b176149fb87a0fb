//! A made-up population as a table, where there is none at hand.
//!
//! ```text
//! Population ─▶ Synthetic ────▶ CSV
//! (blocks)      (and counted)  └▶ row groups ─▶ Parquet
//!                    │          (one thread)    (another)
//!                    └▶ SyntheticRecords: people in a shipped schema, written in the same ways
//! ```

mod records;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use serde::Serialize;
use unspent::Result;
use unspent::report::document::{Document, Table};
use unspent::schema::{Code, Layout, Rows, Schema};

pub(crate) use self::records::{DICTIONARY, Dictionary};
pub use self::records::{RecordRows, SynthesizedRecords, SyntheticRecords};
use crate::parquet_file::write_values;
use crate::population::{Block, CODE, ENDS, Population, StateSize, schema};
use crate::progress::Progress;

/// What every file says of itself.
const MADE_UP: &str = "made up by unspent synthesize: nobody in it exists";
/// Rows of a row group.
const GROUP: usize = 1 << 20;
/// Bytes of CSV that are written at a time.
const CHUNK: usize = 1 << 18;

/// The column of the list of units with the number of people.
pub const TOTAL: &str = "persons";

/// A population that is made up and written, block by block.
pub struct Synthetic {
    population: Population,
    made: Synthesized,
    /// Blocks in all.
    all: u64,
    /// The levels, and how many characters of the code name a unit of each.
    levels: Vec<(String, usize)>,
    /// The columns of counts: by race, or one for all people of the block.
    counts: Vec<String>,
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
        Ok(Synthetic::of(Population::new(blocks, seed)?, blocks, seed))
    }

    /// A single state of that size.
    #[must_use]
    pub fn state(size: StateSize, seed: u64) -> Synthetic {
        Synthetic::of(Population::state(size, seed), size.blocks, seed)
    }

    fn of(population: Population, all: u64, seed: u64) -> Synthetic {
        let made = Synthesized { blocks: 0, seed, persons: 0, empty: 0, largest: 0, levels: vec![] };
        let schema = schema();
        let levels = layout(&schema).levels().iter().map(|level| match level.code {
            Code::Prefix(length) => (level.name.clone(), length),
            Code::Columns(_) => unreachable!("levels are characters of the code"),
        });
        Synthetic { population, made, all, levels: levels.collect(), counts: columns().1 }
    }

    /// The list of the blocks that are still to come, with the number of people of each, also of those with
    /// nobody in them.
    #[must_use]
    pub fn units(&self) -> Synthetic {
        let (population, levels) = (self.population.clone(), self.levels.clone());
        Synthetic { population, made: self.made.clone(), all: self.all, levels, counts: vec![TOTAL.into()] }
    }

    /// What was made so far.
    #[must_use]
    pub fn made(&self) -> Synthesized {
        let units = self.population.units();
        let level = |(level, length): &(String, usize)| {
            let at = ENDS.iter().position(|end| end == length).expect("codes nest so");
            SyntheticLevel { level: level.clone(), units: units[at] }
        };
        Synthesized { levels: self.levels.iter().map(level).collect(), ..self.made.clone() }
    }

    fn show(&self, progress: &mut dyn Progress) {
        progress.rows(self.made.blocks, Some(self.made.blocks as f64 / self.all as f64));
    }

    /// What is counted in a block: as many numbers as there are columns of counts.
    #[inline]
    fn counts<'b>(&self, block: &'b Block, total: &'b mut [u32; 1]) -> &'b [u32] {
        if self.counts.len() > 1 {
            return &block.counts;
        }
        *total = [block.counts.iter().sum()];
        total
    }

    /// Writes all blocks as CSV.
    pub fn write_csv(&mut self, mut to: impl Write, progress: &mut dyn Progress) -> io::Result<()> {
        let (code, _) = columns();
        let mut text = format!("{code},{}\n", self.counts.join(",")).into_bytes();
        while let Some(block) = self.next() {
            text.extend_from_slice(&block.digits);
            for count in self.counts(&block, &mut [0]) {
                text.push(b',');
                push_number(&mut text, u64::from(*count));
            }
            text.push(b'\n');
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
        let make = || {
            let group = Group::next(self)?;
            self.show(progress);
            Some(group)
        };
        in_two_threads(make, |group| {
            let mut to = writer.next_row_group()?;
            let codes = ByteArray::from(group.codes);
            let codes = (0..codes.len()).step_by(CODE).map(|start| codes.slice(start, CODE));
            write_values::<ByteArrayType, _>(&mut to, codes)?;
            for counts in &group.counts {
                write_column::<Int32Type>(&mut to, counts)?;
            }
            to.close()?;
            Ok(())
        })?;
        writer.close()?;
        Ok(())
    }

    fn parquet_writer<W: Write + Send>(&self, to: W) -> io::Result<SerializedFileWriter<W>> {
        let (code, _) = columns();
        let mut fields = vec![text_field(&code)?];
        for name in &self.counts {
            fields.push(integer_field(name, PhysicalType::INT32)?);
        }
        // What is fastest to write and small: sorted codes share their first characters, and most counts are
        // near the one before.
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding(ColumnPath::from(code), Encoding::DELTA_BYTE_ARRAY);
        self.open_parquet(to, fields, properties, &[])
    }

    /// A file that says of itself that it is made up, and how.
    fn open_parquet<W: Write + Send>(
        &self,
        to: W,
        fields: Vec<Arc<Type>>,
        properties: WriterPropertiesBuilder,
        more: &[(&str, &str)],
    ) -> io::Result<SerializedFileWriter<W>> {
        let schema = Type::group_type_builder("unspent").with_fields(fields).build()?;
        let (blocks, seed) = (self.all.to_string(), self.made.seed.to_string());
        let notes = [
            ("unspent.version", env!("CARGO_PKG_VERSION")),
            ("unspent.note", MADE_UP),
            ("unspent.blocks", &blocks),
            ("unspent.seed", &seed),
        ];
        let notes = notes.iter().chain(more).map(|(key, value)| {
            let value = Some((*value).to_string());
            KeyValue::new((*key).to_string(), value)
        });
        let properties = properties
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_key_value_metadata(Some(notes.collect()))
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

/// Makes row groups in one thread and writes them in another.
fn in_two_threads<G: Send>(
    mut make: impl FnMut() -> Option<G> + Send,
    mut write: impl FnMut(G) -> io::Result<()>,
) -> io::Result<()> {
    let (sender, receiver) = sync_channel(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(group) = make() {
                // Nobody takes it any more if writing has failed.
                if sender.send(group).is_err() {
                    return;
                }
            }
        });
        receiver.into_iter().try_for_each(&mut write)
    })
}

fn text_field(name: &str) -> io::Result<Arc<Type>> {
    let text = Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String));
    Ok(Arc::new(text.build()?))
}

fn integer_field(name: &str, kind: PhysicalType) -> io::Result<Arc<Type>> {
    let integer = Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED);
    Ok(Arc::new(integer.build()?))
}

/// Writes the next column of a row group.
fn write_column<T: DataType>(
    to: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
) -> io::Result<()> {
    let mut column = to.next_column()?.expect("a column of numbers");
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()?;
    Ok(())
}

/// Adds a number: a hundred million take their time if each is formatted.
#[inline]
pub(crate) fn push_number(text: &mut Vec<u8>, number: u64) {
    if number < 10 {
        return text.push(b'0' + number as u8);
    }
    let mut digits = [0; 20];
    let (mut first, mut left) = (digits.len(), number);
    while left > 0 {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    text.extend_from_slice(&digits[first..]);
}

/// Rows of a row group, column by column.
struct Group {
    codes: Vec<u8>,
    counts: Vec<Vec<i32>>,
}

impl Group {
    /// The next ones; nothing if there are no more.
    fn next(blocks: &mut Synthetic) -> Option<Group> {
        let mut group = Group { codes: vec![], counts: vec![vec![]; blocks.counts.len()] };
        for _ in 0..GROUP {
            let Some(block) = blocks.next() else { break };
            group.codes.extend_from_slice(&block.digits);
            for (column, count) in group.counts.iter_mut().zip(blocks.counts(&block, &mut [0])) {
                column.push(*count as i32);
            }
        }
        (!group.codes.is_empty()).then_some(group)
    }
}

#[cfg(test)]
mod tests;

/// A file to be damaged.
#[cfg(test)]
pub(crate) fn parquet_of(blocks: u64) -> Vec<u8> {
    let mut bytes = vec![];
    Synthetic::new(blocks, 1).unwrap().write_parquet(&mut bytes, &mut crate::progress::Quiet).unwrap();
    bytes
}
