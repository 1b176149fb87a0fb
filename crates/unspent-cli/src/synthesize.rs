//! `unspent synthesize`: a made-up population, where there is no table at hand.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use unspent::Error;
use unspent::report::document::Document;
use unspent_data::Quiet;
use unspent_data::population::persons::PersonSchema;
use unspent_data::population::{MAX_BLOCKS, SCHEMA, StateSize};
use unspent_data::synthesize::{RecordRows, Synthetic, SyntheticRecords};

use crate::Failure;
use crate::output::{self, Target};
use crate::progress::Progress;
use crate::terminal;

/// Makes up a population to try things out with: nobody in it exists.
///
/// One row for each block, sorted by code: geocode, and nine counts of persons by race. Codes nest as
/// the levels of the preset paper-2022-08-25 do, by their first characters. The shape is roughly that
/// of the 2010 Census: states, counties and tracts of very different sizes, two blocks in five empty,
/// some 28 persons a block, thousands in a few, races that cluster, and so zeros in most of the small
/// cells.
///
/// With --schema, one row for each person instead, with the attributes of a shipped schema in its own
/// codes: households and group quarters, ages, and all 63 combinations of races. No one has a
/// combination of values that the schema excludes. Both schemas describe the same people.
///
/// The same size and the same seed make the same population on every machine.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
With --out people.csv, people.toml is written beside it: how the table is read, for --schema. With
--schema, people-units.csv is written too: all blocks, also those with nobody in them, and how many
persons each has, for --units and --check-total persons. Without --out, CSV of the table alone goes
to stdout. Rows are sorted by block, and memory does not grow with their number.

Allocations of dhc-persons list the paths of the real geography on which units were bypassed. Here
other paths occur: measure with --bypass none.

Examples:
  unspent synthesize --out people.csv
  unspent measure people.csv --allocation budget.toml --schema people.toml --out noisy
  unspent synthesize --blocks 11078297 --seed 7 --out people.parquet
  unspent synthesize --schema pl94 --state rhode-island-sized --out ri.parquet
  unspent measure ri.parquet --allocation pl94-persons-us-2020 --units ri-units.parquet --out noisy"
)]
pub struct Arguments {
    /// How many blocks, from 1 to 1000000000
    #[arg(
        long,
        value_name = "N",
        default_value = "100000",
        allow_hyphen_values = true,
        conflicts_with = "state"
    )]
    blocks: String,

    /// A single state with the blocks and the people of a real one in 2010, instead of --blocks
    ///
    /// rhode-island-sized, vermont-sized, wyoming-sized or texas-sized; people within 1 %.
    #[arg(long, value_name = "NAME")]
    state: Option<String>,

    /// Persons in a shipped schema: pl94 (the same as pl94-persons) or dhc-persons
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,

    /// With --schema: records, a row a person, or counts, a row for all of a block with the same values
    #[arg(long, value_name = "WHAT", default_value = "records", requires = "schema")]
    rows: String,

    /// With --schema: a column `person` that numbers the records
    #[arg(long, requires = "schema")]
    ids: bool,

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

impl Arguments {
    /// Checks, makes up and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let seed = self.seed.parse().map_err(|_| {
            let allowed = "a whole number between 0 and 2^64 − 1";
            Error::input("--seed", &self.seed, allowed, "any will do; leave it out for 1")
        })?;
        let schema = self.schema.as_ref().map(|name| PersonSchema::find("--schema", name)).transpose()?;
        let rows = self.rows()?;
        let size = self.size()?;
        let files = self.out.as_ref().map(|out| Files::new(out, schema.is_some(), self.force)).transpose()?;
        let population = match size {
            Size::Blocks(blocks) => Synthetic::new(blocks, seed)?,
            Size::State(state) => Synthetic::state(state, seed),
        };
        let mut made = match schema {
            Some(schema) => Made::Records(SyntheticRecords::new(population, schema, rows)),
            None => Made::Blocks(population),
        };
        match files {
            Some(files) => files.write(&mut made, seed),
            None => output::stream(|stdout| made.write_csv(stdout, &mut Quiet)),
        }
    }

    fn rows(&self) -> Result<RecordRows, Error> {
        match (self.rows.as_str(), self.ids) {
            ("records", false) => Ok(RecordRows::Records),
            ("records", true) => Ok(RecordRows::Numbered),
            ("counts", false) => Ok(RecordRows::Counts),
            ("counts", true) => Err(Error::stated(
                "--ids: a row of --rows counts is several persons",
                "leave out one of the two",
            )),
            (other, _) => Err(Error::input("--rows", other, "records or counts", "leave it out for records")),
        }
    }

    fn size(&self) -> Result<Size, Error> {
        if let Some(state) = &self.state {
            return Ok(Size::State(StateSize::find("--state", state)?));
        }
        let blocks = self.blocks.parse().ok().filter(|n| (1..=MAX_BLOCKS).contains(n)).ok_or_else(|| {
            let allowed = format!("a whole number between 1 and {MAX_BLOCKS}");
            Error::input("--blocks", &self.blocks, allowed, "write digits only; the 2010 Census had 11078297")
        })?;
        Ok(Size::Blocks(blocks))
    }
}

/// How large a population is.
enum Size {
    Blocks(u64),
    State(StateSize),
}

/// What is written.
enum Made {
    Blocks(Synthetic),
    Records(SyntheticRecords),
}

impl Made {
    fn write_csv(&mut self, to: impl Write, progress: &mut dyn unspent_data::Progress) -> io::Result<()> {
        match self {
            Made::Blocks(blocks) => blocks.write_csv(to, progress),
            Made::Records(records) => records.write_csv(to, progress),
        }
    }

    fn write(&mut self, to: &mut File, parquet: bool, progress: &mut Progress) -> io::Result<()> {
        match self {
            _ if !parquet => self.write_csv(to, progress),
            Made::Blocks(blocks) => blocks.write_parquet(to, progress),
            Made::Records(records) => records.write_parquet(to, progress),
        }
    }

    fn schema_file(&self) -> String {
        match self {
            Made::Blocks(_) => SCHEMA.into(),
            Made::Records(records) => records.schema_file(),
        }
    }

    fn document(&self) -> Document {
        match self {
            Made::Blocks(blocks) => blocks.made().document(),
            Made::Records(records) => records.made().document(),
        }
    }
}

/// The table, and what is beside it.
struct Files<'o> {
    out: &'o str,
    table: Target,
    units: Option<(String, Target)>,
    schema: (String, Target),
}

impl<'o> Files<'o> {
    fn new(out: &'o str, with_units: bool, force: bool) -> Result<Files<'o>, Failure> {
        let table = Target::new("--out", out, &["csv", "parquet"], force)?;
        let path = Path::new(out);
        let beside = path.with_extension("toml").display().to_string();
        let schema = Target::new("--out: the schema beside it", &beside, &["toml"], force)?;
        let units = with_units.then(|| {
            let part =
                |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
            let name = format!("{}-units.{}", part(path.file_stem()), part(path.extension()));
            let units = path.with_file_name(name).display().to_string();
            let target =
                Target::new("--out: the list of units beside it", &units, &["csv", "parquet"], force)?;
            Ok::<_, Failure>((units, target))
        });
        Ok(Files { out, table, units: units.transpose()?, schema: (beside, schema) })
    }

    fn write(&self, made: &mut Made, seed: u64) -> Result<(), Failure> {
        let parquet = self.table.extension() == "parquet";
        // Blocks are made again for their list: that is faster than keeping them.
        let blocks = match made {
            Made::Records(records) => Some(Made::Blocks(records.units())),
            Made::Blocks(_) => None,
        };
        let mut progress = Progress::new();
        self.table.write_with(|file| made.write(file, parquet, &mut progress))?;
        drop(progress);
        if let (Some((_, target)), Some(mut blocks)) = (&self.units, blocks) {
            let mut progress = Progress::new();
            target.write_with(|file| blocks.write(file, parquet, &mut progress))?;
        }
        let (beside, schema) = &self.schema;
        schema.write(made.schema_file().as_bytes())?;
        let mut summary = made.document();
        summary.line(format!("Seed {seed}. Written to {}; {beside} says how it is read.", self.out));
        if let Some((units, _)) = &self.units {
            summary.line(format!("{units} lists all blocks, with the number of persons of each."));
        }
        output::confirm(&terminal::shown(&summary))
    }
}
