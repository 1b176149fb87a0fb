//! `unspent synthesize`: a made-up population, where there is no table at hand.
//!
//! ```text
//! Population ─▶ Made ─────────▶ CSV
//! (blocks)      (and counted)  └▶ row groups ─▶ Parquet
//!                               (one thread)    (another)
//! ```

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use clap::Args;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use unspent::Error;
use unspent::population::{Block, CODE, MAX_BLOCKS, Population, RACES, SCHEMA, schema};

use crate::Failure;
use crate::document::{Document, Table};
use crate::output::{self, Target};
use crate::progress::Progress;

/// Makes up a population to try things out with: nobody in it exists.
///
/// One row for each block, sorted by code: geocode, and nine counts of persons by race. Codes nest as
/// the levels of the preset paper-2022-08-25 do, by their first characters. The shape is roughly that
/// of the 2010 Census: states, counties and tracts of very different sizes, two blocks in five empty,
/// some 28 persons a block, thousands in a few, races that cluster, and so zeros in most of the small
/// cells.
///
/// The same number of blocks and the same seed make the same population on every machine.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
With --out people.csv, people.toml is written beside it: how the table is read, for --schema.
Without --out, CSV goes to stdout.

Examples:
  unspent synthesize --out people.csv
  unspent measure people.csv --allocation budget.toml --schema people.toml --out noisy
  unspent synthesize --blocks 11078297 --seed 7 --out people.parquet"
)]
pub struct Arguments {
    /// How many blocks, from 1 to 1000000000
    #[arg(long, value_name = "N", default_value = "100000", allow_hyphen_values = true)]
    blocks: String,

    /// Which of many populations of this size
    ///
    /// It is made up, so that there is nothing to keep secret.
    #[arg(long, value_name = "S", default_value = "1", allow_hyphen_values = true)]
    seed: String,

    /// The file to write instead of stdout: .csv or .parquet
    #[arg(long, value_name = "FILE")]
    out: Option<String>,

    /// Replaces the files if they exist
    #[arg(long)]
    force: bool,
}

/// What every file says of itself.
const MADE_UP: &str = "made up by unspent synthesize: nobody in it exists";

/// Rows of a row group.
const GROUP: usize = 1 << 20;
/// Codes that are handed to Parquet at a time.
const CODES: usize = 1 << 13;
/// Bytes of CSV that are written at a time.
const CHUNK: usize = 1 << 18;

impl Arguments {
    /// Checks, makes up and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let blocks = self.blocks.parse().ok().filter(|n| (1..=MAX_BLOCKS).contains(n)).ok_or_else(|| {
            let allowed = format!("a whole number between 1 and {MAX_BLOCKS}");
            Error::input("--blocks", &self.blocks, allowed, "write digits only; the 2010 Census had 11078297")
        })?;
        let seed = self.seed.parse().map_err(|_| {
            let allowed = "a whole number between 0 and 2^64 − 1";
            Error::input("--seed", &self.seed, allowed, "any will do; leave it out for 1")
        })?;
        let mut made = Made::new(Population::new(blocks, seed)?);
        let Some(out) = &self.out else {
            return output::stream(|stdout| csv(stdout, &mut made, None));
        };
        let table = Target::new("--out", out, &["csv", "parquet"], self.force)?;
        let beside = Path::new(out).with_extension("toml").display().to_string();
        let schema = Target::new("--out: the schema beside it", &beside, &["toml"], self.force)?;
        let parts = Parts { all: blocks, progress: Progress::new() };
        if table.extension() == "parquet" {
            let notes = [("unspent.blocks", blocks.to_string()), ("unspent.seed", seed.to_string())];
            table.write_with(|file| parquet(file, &mut made, parts, &notes))?;
        } else {
            table.write_with(|file| csv(file, &mut made, Some(parts)))?;
        }
        schema.write(SCHEMA.as_bytes())?;
        let mut summary = made.summary();
        summary.line(format!("Seed {seed}. Written to {out}; {beside} says how it is read."));
        output::print(&summary.terminal())
    }
}

/// The blocks of a population, counted as they are made.
struct Made {
    population: Population,
    blocks: u64,
    empty: u64,
    persons: u64,
    largest: u32,
}

impl Made {
    fn new(population: Population) -> Made {
        Made { population, blocks: 0, empty: 0, persons: 0, largest: 0 }
    }

    fn summary(&self) -> Document {
        let mut text = Document::default();
        text.line("A made-up population: nobody in it exists.");
        text.line("");
        let mut table = Table::new(&["level", "units", "persons a unit"]);
        for (level, units) in schema().levels().iter().zip(self.population.units()) {
            let mean = self.persons as f64 / units as f64;
            let mean = if mean < 100.0 { format!("{mean:.1}") } else { format!("{mean:.0}") };
            table.row(vec![level.name.clone(), units.to_string(), mean]);
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

impl Iterator for Made {
    type Item = Block;

    #[inline]
    fn next(&mut self) -> Option<Block> {
        let block = self.population.next()?;
        let persons = block.counts.iter().sum();
        self.blocks += 1;
        self.empty += u64::from(persons == 0);
        self.persons += u64::from(persons);
        self.largest = self.largest.max(persons);
        Some(block)
    }
}

/// How much of all is made.
struct Parts {
    all: u64,
    progress: Progress,
}

impl Parts {
    fn show(&mut self, made: &Made) {
        self.progress.rows(made.blocks, Some(made.blocks as f64 / self.all as f64));
    }
}

/// The column of the code, and those of the counts.
fn columns() -> (String, Vec<String>) {
    let schema = schema();
    let code = schema.code().expect("levels are characters of it").into();
    (code, schema.cells().iter().map(|cell| cell.column.clone()).collect())
}

fn csv(mut to: impl Write, made: &mut Made, mut parts: Option<Parts>) -> io::Result<()> {
    let (code, counts) = columns();
    let mut text = format!("{code},{}\n", counts.join(",")).into_bytes();
    while let Some(block) = made.next() {
        push_row(&mut text, &block);
        if text.len() >= CHUNK {
            to.write_all(&text)?;
            text.clear();
            if let Some(parts) = &mut parts {
                parts.show(made);
            }
        }
    }
    to.write_all(&text)?;
    to.flush()
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
    fn next(made: &mut Made) -> Option<Group> {
        let mut group = Group { codes: vec![], counts: Default::default() };
        for block in made.take(GROUP) {
            group.codes.extend_from_slice(&block.digits);
            for (column, count) in group.counts.iter_mut().zip(block.counts) {
                column.push(count as i32);
            }
        }
        (!group.codes.is_empty()).then_some(group)
    }
}

fn parquet(
    file: impl Write + Send,
    made: &mut Made,
    mut parts: Parts,
    notes: &[(&str, String)],
) -> io::Result<()> {
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
    let mut noted = vec![note("unspent.version", env!("CARGO_PKG_VERSION")), note("unspent.note", MADE_UP)];
    noted.extend(notes.iter().map(|(key, value)| note(key, value)));
    // What is fastest to write and small: sorted codes share their first characters, and most counts are near the one before.
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding(ColumnPath::from(code), Encoding::DELTA_BYTE_ARRAY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_key_value_metadata(Some(noted))
        .build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let (sender, receiver) = sync_channel(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(group) = Group::next(made) {
                parts.show(made);
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

/// A file to be damaged.
#[cfg(test)]
pub fn parquet_of(blocks: u64) -> Vec<u8> {
    let mut bytes = vec![];
    let Ok(population) = Population::new(blocks, 1) else { panic!("as many as there may be") };
    let parts = Parts { all: blocks, progress: Progress::new() };
    parquet(&mut bytes, &mut Made::new(population), parts, &[]).unwrap();
    bytes
}
