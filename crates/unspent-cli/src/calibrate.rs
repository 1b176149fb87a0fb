//! `unspent calibrate`: an allocation that spends what was promised.

use clap::{Args, ValueEnum};
use unspent::question::CalibrationQuestion;
use unspent::report::{Scaling, equals};
use unspent::{Ask, Conversion, Delta, Epsilon, Neighbours, Promise};

use crate::Failure;
use crate::output::{self, Target, printable};
use crate::source;
use crate::terminal;

/// Less noise for the same promise: a new allocation that spends what was promised.
///
/// The promise is an epsilon (--epsilon), or what a conversion from rho published for the allocation
/// as it is (--published); for the whole release with all variances scaled alike, or for each level
/// by itself. The result is certified to keep it, and written to --out as an allocation file.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent calibrate pl94-persons-us-2020 --out less-noise.toml
  unspent calibrate paper-2022-08-25 --epsilon 21.97 --delta 1e-10 --out less-noise.toml
  unspent calibrate paper-2022-08-25 --delta 1e-11 --scope level --out less-noise.toml"
)]
pub struct Arguments {
    /// A preset or an allocation file
    ///
    /// `unspent presets` lists the presets. A file is TOML, or a table (.csv) with --neighbours.
    #[arg(value_name = "PRESET|FILE")]
    named: String,

    /// For a table (.csv): bounded or add-remove
    ///
    /// A table cannot say what its neighbours are; any other file does.
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// The epsilon to keep
    #[arg(long, value_name = "E", allow_hyphen_values = true, conflicts_with = "published")]
    epsilon: Option<String>,

    /// Keeps what this conversion published
    ///
    /// bun-steinke or canonne-kamath-steinke; that of the allocation unless given.
    #[arg(long, value_name = "C")]
    published: Option<String>,

    /// The delta of the promise; that of the allocation unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// All levels alike (overall), or each by itself (level)
    #[arg(long, value_enum, default_value_t = Scope::Overall, hide_possible_values = true)]
    scope: Scope,

    /// The allocation file to write
    #[arg(long, value_name = "FILE.toml")]
    out: Option<String>,

    /// Replaces the file if it exists
    #[arg(long)]
    force: bool,

    /// Writes one line of JSON, with 17 digits, instead of a table
    #[arg(long)]
    json: bool,
}

/// What is scaled.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// All levels alike
    Overall,
    /// Each level by itself
    Level,
}

impl From<Scope> for Scaling {
    fn from(scope: Scope) -> Scaling {
        match scope {
            Scope::Overall => Scaling::Total,
            Scope::Level => Scaling::Level,
        }
    }
}

impl Arguments {
    /// Reads, asks and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let out =
            self.out.as_ref().map(|out| Target::new("--out", out, &["toml"], self.force)).transpose()?;
        let question = CalibrationQuestion {
            epsilon: self.epsilon.as_deref().map(Epsilon::parse).transpose()?,
            conversion: self.published.as_deref().map(Conversion::parse).transpose()?,
            delta,
            scaling: self.scope.into(),
            ..CalibrationQuestion::about(source::product(&self.named, neighbours)?)
        };
        let found = question.answer()?;
        if let Some(out) = &out {
            let promised = match question.promise(&question.allocation.allocation()?)? {
                Promise::Epsilon(epsilon) => format!("epsilon{}", equals(epsilon.value())),
                Promise::Conversion(conversion) => format!("the epsilon of {}", conversion.authors()),
            };
            let scaled = match found.scope {
                Scaling::Total => "all levels alike",
                Scaling::Level => "each level by itself",
            };
            // A path may have anything in it.
            let named = printable(&self.named).replace('\n', " ");
            let source = format!(
                "unspent {}: the noise of `{named}` calibrated to {promised} at delta{}, {scaled}",
                env!("CARGO_PKG_VERSION"),
                equals(&found.delta),
            );
            let text = found.allocation.clone().renamed(found.calibrated_name(), source).to_file()?;
            out.write(text.as_bytes())?;
        }
        if self.json {
            return output::print(&output::json(&found));
        }
        let mut text = found.document();
        text.line("");
        text.line(match &self.out {
            Some(out) => format!("Written to {out}."),
            None => "Nothing was written: --out FILE.toml writes the allocation.".into(),
        });
        output::print(&terminal::shown(&text))
    }
}
