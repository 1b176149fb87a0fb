//! `unspent compare`: two allocations side by side.

use clap::Args;
use unspent::question::ComparisonQuestion;
use unspent::{Ask, Delta, Neighbours};

use crate::Failure;
use crate::output::{self, Format};
use crate::source;
use crate::terminal;
use crate::terms::TermsArguments;

/// Two allocations side by side: where they differ, and what it costs.
///
/// For every part that either has, the certified epsilon of both; for every query whose noise is
/// not the same, both variances. If the two are for different neighbours, their totals are also
/// given for the same ones.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent compare dhc-persons-us-2022-08-25 dhc-persons-us-2020
  unspent compare pl94-persons-us-2020 less-noise.toml --markdown"
)]
pub struct Arguments {
    /// A preset or an allocation file
    #[arg(value_name = "A")]
    first: String,

    /// Another one
    #[arg(value_name = "B")]
    second: String,

    /// For a table (.csv): bounded or add-remove
    ///
    /// A table cannot say what its neighbours are; any other file does.
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// The delta of every epsilon; that of A unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    #[command(flatten)]
    terms: TermsArguments,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Reads, asks and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let read = |name: &String| Ok::<_, Failure>(vec![source::product_among(name, neighbours)?]);
        let question = ComparisonQuestion { first: read(&self.first)?, second: read(&self.second)?, delta };
        let comparison = question.ask(&self.terms.terms()?)?;
        output::print(&match self.format {
            Format { json: true, .. } => output::json(&comparison),
            Format { csv: true, .. } => comparison.csv(),
            Format { markdown: true, .. } => comparison.document().markdown(),
            _ => terminal::shown(&comparison.document()),
        })
    }
}
