//! `unspent interval`: where the true count is, for a noisy one or for all of a folder.

use std::path::Path;

use clap::Args;
use unspent::report::brief;
use unspent::{Error, Rational, Round};
use unspent_data::Interval;
use unspent_data::measurements::{IntervalTable, Only, Source};

use crate::Failure;
use crate::output::{self, Target};
use crate::progress::Progress;
use crate::stated::StatedArguments;

/// A confidence interval for the count behind a noisy one.
///
/// The shortest interval around the noisy count that contains the true one with the probability that
/// is asked for, or more, whatever the true count is. Counts are never negative, so it is clamped at
/// zero.
///
/// With --measurements, one interval for each noisy count in a folder, each from the noise of its own
/// row: level, geocode, query, cell (from 0), value, variance, lower, upper. Both ends are empty where
/// no count from zero on is near enough. The folder is one that `unspent measure` wrote, or one of the
/// noisy measurement files that the Census Bureau published, like US_Person_PL_PROD.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent interval 12 --sigma2 5
  unspent interval 12 --sigma 2.5
  unspent interval -3 --sigma2 456.62 --confidence 0.9
  unspent interval --measurements noisy --out intervals.csv
  unspent interval --measurements US_Person_PL_PROD --level State --query total --out states.parquet"
)]
pub struct Arguments {
    /// The noisy count, as published
    #[arg(value_name = "COUNT", allow_hyphen_values = true, required_unless_present = "measurements")]
    count: Option<String>,

    #[command(flatten)]
    stated: StatedArguments,

    /// A folder of noisy measurements, instead of a count
    #[arg(
        long,
        value_name = "DIR",
        requires = "out",
        conflicts_with_all = ["count", "sigma2", "sigma", "scale", "json"]
    )]
    measurements: Option<String>,

    /// Only those of this level
    #[arg(long, value_name = "L", requires = "measurements")]
    level: Option<String>,

    /// Only those of this query
    #[arg(long, value_name = "Q", requires = "measurements")]
    query: Option<String>,

    /// How often such intervals contain the truth, at least
    #[arg(long, value_name = "P", default_value = "0.95", allow_hyphen_values = true)]
    confidence: String,

    /// Writes one line of JSON instead of a sentence
    #[arg(long)]
    json: bool,

    /// The file to write for --measurements: .csv or .parquet
    #[arg(long, value_name = "FILE", requires = "measurements")]
    out: Option<String>,

    /// Replaces the file if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let confidence = Rational::parse("confidence", &self.confidence)?;
        if let Some((folder, out)) = self.measurements.as_ref().zip(self.out.as_ref()) {
            return self.write_table(folder, out, &confidence);
        }
        let count = self.count.as_deref().unwrap_or_default();
        let count: i64 = count.parse().map_err(|_| {
            Error::input("count", count, "a whole number", "noise on the integers leaves integers")
        })?;
        let interval = Interval::new(count, &self.stated.sigma2()?, &confidence)?;
        output::print(&if self.json { output::json(&interval) } else { format!("{interval}\n") })
    }

    fn write_table(&self, folder: &str, out: &str, confidence: &Rational) -> Result<(), Failure> {
        let target = Target::new("--out", out, &["csv", "parquet"], self.force)?;
        let source = Source::open(Path::new(folder))?;
        let only = Only { level: self.level.clone(), query: self.query.clone() };
        let mut table = IntervalTable::new(&source, only, confidence)?;
        let mut progress = Progress::new();
        let (mut rows, mut unreadable) = (0, None);
        let written = target.write_with(|file| {
            let written = match target.extension().as_str() {
                "parquet" => table.write_parquet(file, &mut progress),
                _ => table.write_csv(file, &mut progress),
            };
            rows = written.map_err(|error| match error.downcast::<Error>() {
                Ok(error) => {
                    unreadable = Some(error);
                    std::io::ErrorKind::InvalidData.into()
                }
                Err(error) => error,
            })?;
            Ok(())
        });
        drop(progress);
        // What could not be read is not the fault of the file that was being written.
        if let Some(error) = unreadable {
            return Err(error.into());
        }
        written?;
        let confidence = brief(confidence, Round::Down);
        let mut text = format!(
            "{rows} intervals written to {out}. \
             Of such intervals at least {confidence} contain the true count.\n"
        );
        if let Source::Bureau(dataset) = &source
            && !dataset.missing().is_empty()
        {
            text += &format!("Not in {folder}: {}.\n", dataset.missing().join(", "));
        }
        output::confirm(&text)
    }
}
