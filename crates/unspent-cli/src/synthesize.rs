//! `unspent synthesize`: a made-up population, where there is no table at hand.

use std::path::Path;

use clap::Args;
use unspent::Error;
use unspent_data::Quiet;
use unspent_data::population::{MAX_BLOCKS, SCHEMA};
use unspent_data::synthesize::Synthetic;

use crate::Failure;
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
        let mut population = Synthetic::new(blocks, seed)?;
        let Some(out) = &self.out else {
            return output::stream(|stdout| population.write_csv(stdout, &mut Quiet));
        };
        let table = Target::new("--out", out, &["csv", "parquet"], self.force)?;
        let beside = Path::new(out).with_extension("toml").display().to_string();
        let schema = Target::new("--out: the schema beside it", &beside, &["toml"], self.force)?;
        let mut progress = Progress::new();
        if table.extension() == "parquet" {
            table.write_with(|file| population.write_parquet(file, &mut progress))?;
        } else {
            table.write_with(|file| population.write_csv(file, &mut progress))?;
        }
        drop(progress);
        schema.write(SCHEMA.as_bytes())?;
        let mut summary = population.made().document();
        summary.line(format!("Seed {seed}. Written to {out}; {beside} says how it is read."));
        output::print(&summary.terminal())
    }
}
