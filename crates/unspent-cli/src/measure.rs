//! `unspent measure`: a table of counts becomes noisy measurements.

use std::path::Path;

use clap::Args;
use unspent::{Delta, Error, ErrorKind, Neighbours};
use unspent_data::Measure;

use crate::noise::NoiseArguments;
use crate::output;
use crate::progress::Progress;
use crate::values::Values;
use crate::{Failure, defect, source};

/// Adds exact discrete Gaussian noise to a table of counts, as an allocation says.
///
/// Every query of the allocation is tabulated at each of its levels and gets its noise. Writes a
/// directory with one folder of Parquet files for each level (geocode, query_name, query_shape,
/// value, variance, plb), manifest.json, the allocation, and the certificate of what was released. It
/// appears whole or not at all.
///
/// The noise is from a key of the operating system that is used once and forgotten. Measuring the
/// same records again spends the same budget again.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
The table has one row for each smallest unit, also for those with nobody in them, sorted by its
code. A query is tabulated over all values of the attributes that it touches: recodes that only
its name tells of are not known. The part [table] of the allocation file, or of --schema, says
which columns make which cells and how codes nest; examples/blocks.toml explains it.

Examples:
  unspent measure blocks.csv --allocation examples/blocks.toml --out noisy
  unspent measure people.parquet --allocation pl94-persons-us-2020 --schema people.toml --out noisy
  generate | unspent measure - --allocation budget.toml --out noisy"
)]
pub struct Arguments {
    /// The table: CSV, or Parquet (.parquet); - reads CSV from stdin
    #[arg(value_name = "TABLE")]
    table: String,

    /// A preset or an allocation file
    #[arg(long, value_name = "PRESET|FILE")]
    allocation: String,

    /// For a table of budgets (.csv): bounded or add-remove
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// A file whose [table] says how the table is read
    ///
    /// The allocation's own unless given, or that of a file beside the table (blocks.toml).
    #[arg(long, value_name = "FILE.toml")]
    schema: Option<String>,

    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: String,

    /// The delta of the certificate; that of the allocation unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// Measures although the epsilon that the allocation states is not kept
    #[arg(long)]
    break_promise: bool,

    #[command(flatten)]
    values: Values,

    #[command(flatten)]
    noise: NoiseArguments,
}

impl Arguments {
    /// Checks, measures and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let measure = Measure {
            schema: source::schema(self.schema.as_deref())?,
            delta: self.delta.as_deref().map(Delta::parse).transpose()?,
            noise: self.noise.source()?,
            threads: self.noise.threads()?,
            break_promise: self.break_promise,
            ..Measure::new(source::table(&self.table), source::allocation(&self.allocation, neighbours)?)
        };
        defect::on_interrupt();
        let mut progress = Progress::new();
        let measured = self.values.hiding(|| measure.to_directory(Path::new(&self.out), &mut progress));
        drop(progress);
        let measured = measured.map_err(|error| self.failure(error))?;
        // What was released is spent, whoever reads of it.
        output::print(&measured.document().terminal()).map_err(|failure| Failure {
            hint: format!("the measurements were released all the same, in {}", measured.path.display()),
            ..failure
        })
    }

    /// What the library says, in the command's words.
    fn failure(&self, error: Error) -> Failure {
        match error.kind() {
            ErrorKind::Output => self.values.failure(error).at("--out"),
            _ => self.values.failure(error),
        }
    }
}
