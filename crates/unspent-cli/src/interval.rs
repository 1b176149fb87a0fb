//! `unspent interval`: where the true count is, for a noisy one.

use clap::Args;
use serde::Serialize;
use unspent::utility::Law;
use unspent::{Error, Rational, Round};

use crate::Failure;
use crate::decimal;
use crate::output;
use crate::stated::StatedArguments;

/// A confidence interval for the count behind a noisy one.
///
/// The shortest interval around the noisy count that contains the true one with the probability that
/// is asked for, or more, whatever the true count is. Counts are never negative, so it is cut at
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

#[derive(Serialize)]
struct Interval {
    count: i64,
    sigma2: String,
    confidence: String,
    half_width: u64,
    /// Nothing, if even the upper end is negative.
    lower: Option<i64>,
    upper: Option<i64>,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let count: i64 = self.count.parse().map_err(|_| {
            Error::input("count", &self.count, "a whole number", "noise on the integers leaves integers")
        })?;
        let sigma2 = self.stated.sigma2()?;
        let confidence = Rational::parse("confidence", &self.confidence)?;
        let half_width = Law::new(&sigma2)?.half_width(&confidence)?;
        let (lower, upper) =
            (count.saturating_sub_unsigned(half_width), count.saturating_add_unsigned(half_width));
        let ends = (upper >= 0).then_some((lower.max(0), upper));
        let confidence = decimal::brief(&confidence, Round::Down);
        if self.json {
            return output::print(&output::json(&Interval {
                count,
                sigma2: sigma2.to_decimal_or_fraction(),
                confidence,
                half_width,
                lower: ends.map(|(lower, _)| lower),
                upper: ends.map(|(_, upper)| upper),
            }));
        }
        output::print(&match ends {
            Some((lower, upper)) => format!(
                "{lower} to {upper}: {count} ± {half_width}, cut at zero. Of such intervals at least {confidence} contain the true count.\n"
            ),
            None => format!(
                "None: {count} ± {half_width} has no count that is not negative. Of such intervals at least {confidence} contain the true count; this one does not.\n"
            ),
        })
    }
}
