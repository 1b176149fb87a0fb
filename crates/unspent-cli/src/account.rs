//! `unspent account`: what a composition promises, at the ε and δ asked for.

use clap::Args;
use unspent::mechanism::{Stated, parse_count, parse_shift};
use unspent::question::AccountQuestion;
use unspent::report::account::Noise;
use unspent::{Ask, Delta, DiscreteGaussian, Epsilon, Error, Rational, Result};

use crate::Failure;
use crate::output;
use crate::terms::TermsArguments;

/// What a release promises: delta at given epsilon, epsilon at given delta.
///
/// Both ends of every answer are certified: the exact value lies between them, with every truncation
/// and rounding error accounted for. Answers come in this order: every --epsilon as given, then every
/// --delta as given.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Numbers are read exactly: 5, 3.65, 104/4099 and 1e-10 are what they say, not the nearest double.

Examples:
  Ten counts with noise of variance 5, one record moves each by 1:
    unspent account --mechanism sigma2=5,count=10 --delta 1e-10

  Several kinds of noise in one release, at several points, for a program to read:
    unspent account --mechanism sigma2=100000/1460,count=10 --mechanism sigma2=50,count=3,shift=2 \\
      --epsilon 1 --epsilon 2.5 --delta 1e-10 --json

  How often the privacy loss exceeds 4:
    unspent account --mechanism sigma2=5,count=10 --epsilon 4 --tails

Exit codes:
  0  the answer was written (also if the reader closed the pipe early)
  1  no answer: a tolerance that cannot be met, or anything unforeseen
  2  the command line is at fault: bad usage or bad input"
)]
pub struct Arguments {
    /// Equal noisy answers: sigma2=S[,count=N][,shift=D]; may be repeated
    ///
    /// sigma2  parameter (variance) of the discrete Gaussian noise, between 1e-3 and 1e12
    /// sigma   its standard deviation instead, of which sigma2 is the square; scale is the same
    /// count   how many such answers there are, between 1 and 2^63 (default 1)
    /// shift   how far one record moves each of them, between 1 and 1000000 (default 1)
    #[arg(long = "mechanism", value_name = "KEY=VALUE,…", verbatim_doc_comment)]
    mechanisms: Vec<String>,

    /// Asks for the least delta at this epsilon; may be repeated
    #[arg(long = "epsilon", value_name = "E", allow_hyphen_values = true)]
    epsilons: Vec<String>,

    /// Asks for the least epsilon at this delta; may be repeated
    #[arg(long = "delta", value_name = "D", allow_hyphen_values = true)]
    deltas: Vec<String>,

    /// Fails unless each delta asked for is known to this relative width
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    tolerance: Option<String>,

    /// Adds P[L > E] and Q[L > E]: how often the privacy loss exceeds E
    #[arg(long)]
    tails: bool,

    #[command(flatten)]
    terms: TermsArguments,

    /// Writes one line of JSON, with 17 digits, instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLE: &str = "for example: unspent account --mechanism sigma2=5,count=10 --delta 1e-10";

impl Arguments {
    /// Reads, asks and writes.
    pub fn run(&self) -> std::result::Result<(), Failure> {
        let report = self.question()?.ask(&self.terms.terms()?)?;
        output::print(&if self.json { output::json(&report) } else { report.document().terminal() })
    }

    /// Reads all arguments; computes no answer.
    fn question(&self) -> std::result::Result<AccountQuestion, Failure> {
        if self.mechanisms.is_empty() {
            return Err(Failure::usage(
                "no release was described: at least one --mechanism is needed",
                EXAMPLE,
            ));
        }
        if self.epsilons.is_empty() && self.deltas.is_empty() {
            return Err(Failure::usage(
                "nothing was asked: at least one --epsilon or --delta is needed",
                EXAMPLE,
            ));
        }
        let mut mechanisms = vec![];
        for (index, text) in self.mechanisms.iter().enumerate() {
            mechanisms.push(parse_mechanism(&format!("--mechanism #{}", index + 1), text)?);
        }
        let tolerance = match &self.tolerance {
            Some(text) => Some(Rational::parse("tolerance", text)?.to_f64()),
            None => None,
        };
        Ok(AccountQuestion {
            mechanisms,
            epsilons: self.epsilons.iter().map(|e| Epsilon::parse(e)).collect::<Result<_>>()?,
            deltas: self.deltas.iter().map(|d| Delta::parse(d)).collect::<Result<_>>()?,
            tolerance,
            tails: self.tails,
        })
    }
}

const MECHANISM_HINT: &str =
    "write it like sigma2=6.25,count=10,shift=1 or, which is the same, sigma=2.5,count=10";

/// Reads `sigma2=…,count=…,shift=…`, or `sigma=…` or `scale=…` for `sigma2=…`.
fn parse_mechanism(place: &str, text: &str) -> Result<Noise> {
    let refuse = |value: &str, allowed: &str| Err(Error::input(place, value, allowed, MECHANISM_HINT));
    let (mut noise, mut count, mut shift) = (vec![], None, None);
    for item in text.split(',') {
        let Some((key, value)) = item.split_once('=') else {
            return refuse(text, "a list of key=value separated by commas");
        };
        let known = match key.trim() {
            "count" => &mut count,
            "shift" => &mut shift,
            key => {
                let Some(stated) = Stated::named(key) else {
                    return refuse(key, "one of the keys sigma2, sigma, scale, count and shift");
                };
                noise.push((stated, value));
                continue;
            }
        };
        if known.replace(value).is_some() {
            return refuse(text, &format!("a description that gives {} only once", key.trim()));
        }
    }
    let at = |error: Error| error.at(place);
    let (stated, number) = Stated::only(noise).map_err(at)?;
    let sigma2 = stated.parse(number).map_err(at)?;
    let noise = parse_shift(shift.unwrap_or("1")).and_then(|shift| DiscreteGaussian::new(sigma2, shift));
    let noise = noise.map_err(at)?;
    let count = parse_count(count.unwrap_or("1")).map_err(at)?;
    Ok(Noise { sigma2: noise.sigma2().clone(), count, shift: noise.shift() })
}
