//! `unspent interval`: where the true count is, for a noisy one.

use clap::Args;
use unspent::{Error, Rational};
use unspent_data::Interval;

use crate::Failure;
use crate::output;
use crate::stated::StatedArguments;

/// A confidence interval for the count behind a noisy one.
///
/// The shortest interval around the noisy count that contains the true one with the probability that
/// is asked for, or more, whatever the true count is. Counts are never negative, so it is clamped at
/// zero.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent interval 12 --sigma2 5
  unspent interval 12 --sigma 2.5
  unspent interval -3 --sigma2 456.62 --confidence 0.9"
)]
pub struct Arguments {
    /// The noisy count, as published
    #[arg(value_name = "COUNT", allow_hyphen_values = true)]
    count: String,

    #[command(flatten)]
    stated: StatedArguments,

    /// How often such intervals contain the truth, at least
    #[arg(long, value_name = "P", default_value = "0.95", allow_hyphen_values = true)]
    confidence: String,

    /// Writes one line of JSON instead of a sentence
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let count: i64 = self.count.parse().map_err(|_| {
            Error::input("count", &self.count, "a whole number", "noise on the integers leaves integers")
        })?;
        let sigma2 = self.stated.sigma2()?;
        let confidence = Rational::parse("confidence", &self.confidence)?;
        let interval = Interval::new(count, &sigma2, &confidence)?;
        output::print(&if self.json { output::json(&interval) } else { format!("{interval}\n") })
    }
}
