//! `unspent estimate`: the best estimate of every count from noisy measurements, with intervals.

use std::path::{Path, PathBuf};

use clap::Args;
use unspent::{Error, ErrorKind, Rational};
use unspent_data::Estimate;

use crate::progress::Progress;
use crate::{Failure, defect, output};

/// The best unbiased estimate of every count from noisy measurements, with its variance and intervals.
///
/// A count is measured many times over: by its own query, by sums of finer ones, by the units above
/// and below. The estimate collects all of it (generalised least squares, exactly). It reads only what
/// was published, so that it spends no budget.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent estimate noisy --out estimates
  unspent estimate noisy --out estimates --districts map.csv --confidence 0.9
  unspent estimate US_Person_PL_PROD --out estimates --levels State,County"
)]
pub struct Arguments {
    /// Folders of noisy measurements of the same records: of `unspent measure`, or published ones
    #[arg(value_name = "NOISY", required = true)]
    noisy: Vec<String>,

    /// The directory to write, which must not exist
    #[arg(long, value_name = "DIR")]
    out: String,

    /// How often each interval is to contain the true count
    #[arg(long, value_name = "P", default_value = "0.95", allow_hyphen_values = true)]
    confidence: String,

    /// Writes only these levels, with commas between them
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,

    /// Writes only these queries, with commas between them
    #[arg(long, value_name = "QUERIES", value_delimiter = ',')]
    queries: Vec<String>,

    /// Writes the full table of every smallest unit too
    #[arg(long)]
    leaf_cells: bool,

    /// Does not use that some combinations of values cannot occur
    #[arg(long)]
    no_structural_zeros: bool,

    /// A map of units to areas: CSV, a unit's code and then the areas it is in, a column for each map
    #[arg(long, value_name = "FILE")]
    districts: Vec<PathBuf>,
}

impl Arguments {
    /// Reads, estimates and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let question = Estimate {
            noisy: self.noisy.iter().map(PathBuf::from).collect(),
            confidence: Rational::parse("confidence", &self.confidence)?,
            structural_zeros: !self.no_structural_zeros,
            leaf_cells: self.leaf_cells,
            levels: self.levels.clone(),
            queries: self.queries.clone(),
            sums: vec![],
            maps: self.districts.clone(),
        };
        defect::on_interrupt();
        let mut progress = Progress::new();
        let made = question.to_directory(Path::new(&self.out), &mut progress);
        drop(progress);
        let _manifest = made.map_err(|error: Error| match error.kind() {
            ErrorKind::Output => Failure::from(error).at("--out"),
            _ => Failure::from(error),
        })?;
        output::print(&format!("Written to {}.\n", self.out))
    }
}
