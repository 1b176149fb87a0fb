//! `unspent account`: what a composition promises, at the ε and δ asked for.

use std::path::{Path, PathBuf};

use clap::Args;
use unspent::mechanism::Entry;
use unspent::question::{AccountQuestion, ParameterQuestion};
use unspent::{Ask, Delta, Direction, Epsilon, Error, Rational, Result, file};

use crate::Failure;
use crate::output;
use crate::terminal;
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

  A survey with Laplace noise, and a model trained by DP-SGD on the same people:
    unspent account --mechanism laplace:b=2,count=10 \\
      --mechanism subsampled-gaussian:sigma=1.1,q=256/60000,count=14000 --delta 1e-5

  How much Laplace noise ten counts need beside a Gaussian answer, to keep (2, 1e-6):
    unspent account --mechanism laplace:b=?,count=10 --mechanism gaussian:sigma=4 \\
      --epsilon 2 --delta 1e-6

  How often the privacy loss exceeds 4:
    unspent account --mechanism sigma2=5,count=10 --epsilon 4 --tails

Exit codes:
  0  the answer was written (also if the reader closed the pipe early)
  1  no answer: a tolerance that cannot be met, or anything unforeseen
  2  the command line is at fault: bad usage or bad input"
)]
pub struct Arguments {
    /// Equal mechanisms: [KIND:]KEY=VALUE,…[,count=N]; may be repeated
    ///
    /// Without a kind it is discrete Gaussian noise:
    /// sigma2  parameter (variance) of the discrete Gaussian noise, between 1e-3 and 1e12
    /// sigma   its standard deviation instead, of which sigma2 is the square; scale is the same
    /// count   how many such answers there are, between 1 and 2^63 (default 1)
    /// shift   how far one record moves each of them, between 1 and 1000000 (default 1)
    ///
    /// Other kinds and their keys, besides count:
    /// gaussian                      sigma2 (or sigma, scale), shift
    /// laplace, discrete-laplace     b (or scale), shift
    /// randomised-response           k, and epsilon or truth (the probability of the true value)
    /// pure-dp                       epsilon
    /// approximate-dp                epsilon, delta
    /// finite                        p, q: masses without and with the record, p=1/2;1/2,q=1/4;3/4
    /// truncated-discrete-gaussian   sigma2, bound, shift
    /// subsampled-KIND               q, and the keys of Gaussian or Laplace noise KIND:
    ///                               noise on a Poisson sample (DP-SGD)
    /// gdp                           mu
    /// zcdp                          rho: only an upper bound of what it reveals is known
    /// rdp                           the same by order: orders=2;8,epsilons=0.1;1
    ///
    /// One value may be ?: it is looked for, so that all mechanisms together keep --epsilon at --delta.
    /// That goes for sigma2, sigma, scale, b, shift, q of a sample, epsilon, rho, mu and count.
    #[arg(long = "mechanism", value_name = "[KIND:]KEY=VALUE,…", verbatim_doc_comment)]
    mechanisms: Vec<String>,

    /// Reads mechanisms from a file: TOML with [[mechanism]] tables, or JSON; - is standard input
    ///
    /// Each has a kind and its keys: kind = "laplace", b = "2", count = 10. Numbers are read as written.
    #[arg(long = "mechanisms", value_name = "FILE")]
    file: Option<PathBuf>,

    /// Which neighbours are compared: add, remove or both
    ///
    /// It matters where some mechanism is not symmetric (subsampled, finite). The default is both: the larger
    /// of the two. One direction alone is no guarantee.
    #[arg(long, value_name = "DIRECTION")]
    direction: Option<String>,

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
        let mechanisms = self.mechanisms()?;
        if mechanisms.iter().any(|entry| matches!(entry, Entry::Open(_))) {
            let report = self.parameter(mechanisms)?.ask(&self.terms.terms()?)?;
            return output::print(&if self.json {
                output::json(&report)
            } else {
                terminal::shown(&report.document())
            });
        }
        let report = self.question(mechanisms)?.ask(&self.terms.terms()?)?;
        output::print(&if self.json { output::json(&report) } else { terminal::shown(&report.document()) })
    }

    /// Reads all mechanisms; computes no answer.
    fn mechanisms(&self) -> std::result::Result<Vec<Entry>, Failure> {
        if self.mechanisms.is_empty() && self.file.is_none() {
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
            let place = |error: Error| error.at(format!("--mechanism #{}", index + 1));
            mechanisms.push(Entry::parse(text).map_err(place)?);
        }
        if let Some(path) = &self.file {
            let text = read_text(path)?;
            let place = |error: Error| error.at(path.display().to_string());
            mechanisms.extend(Entry::read_file(&text).map_err(place)?);
        }
        Ok(mechanisms)
    }

    /// The question for the value that is written `?`.
    fn parameter(&self, mechanisms: Vec<Entry>) -> std::result::Result<ParameterQuestion, Failure> {
        const HINT: &str = "for example: unspent account --mechanism laplace:b=?,count=10 --epsilon 2 \
                            --delta 1e-6";
        let (Some(epsilon), Some(delta)) = (self.epsilons.first(), self.deltas.first()) else {
            return Err(Failure::usage("`?` is looked for: it needs --epsilon and --delta to keep", HINT));
        };
        if self.epsilons.len() > 1 || self.deltas.len() > 1 {
            return Err(Failure::usage("`?` is looked for: one --epsilon and one --delta at a time", HINT));
        }
        if self.tails || self.tolerance.is_some() {
            return Err(Failure::usage("`?` is looked for: --tails and --tolerance are for answers", HINT));
        }
        Ok(ParameterQuestion {
            mechanisms,
            direction: self.direction()?,
            epsilon: Epsilon::parse(epsilon)?,
            delta: Delta::parse(delta)?,
        })
    }

    fn direction(&self) -> Result<Direction> {
        self.direction.as_deref().unwrap_or("both").parse()
    }

    /// The question for δ and ε.
    fn question(&self, mechanisms: Vec<Entry>) -> std::result::Result<AccountQuestion, Failure> {
        let tolerance = match &self.tolerance {
            Some(text) => Some(Rational::parse("tolerance", text)?.to_f64()),
            None => None,
        };
        Ok(AccountQuestion {
            mechanisms: mechanisms.into_iter().map(Entry::described).collect::<Result<_>>()?,
            epsilons: self.epsilons.iter().map(|e| Epsilon::parse(e)).collect::<Result<_>>()?,
            deltas: self.deltas.iter().map(|d| Delta::parse(d)).collect::<Result<_>>()?,
            direction: self.direction()?,
            rates: vec![],
            tolerance,
            tails: self.tails,
        })
    }
}

/// The text of a file, or of standard input for `-`.
fn read_text(path: &Path) -> Result<String> {
    let read = file::open(path).and_then(std::io::read_to_string);
    let cause = || format!("{}: cannot be read", path.display());
    read.map_err(|source| Error::io(cause(), source, "--mechanisms takes a TOML or JSON file, or -"))
}
