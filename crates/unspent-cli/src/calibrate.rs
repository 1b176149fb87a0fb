//! `unspent calibrate`: an allocation that spends what was promised.

use clap::{Args, ValueEnum};
use unspent::calibrate::Row;
use unspent::{Allocation, Conversion, Delta, Epsilon, Neighbours, Promise, Rational, Recalibration, Round};

use crate::Failure;
use crate::certificate::{change, ends, equals, in_words};
use crate::decimal::{self, READABLE, padded};
use crate::document::{Document, Table};
use crate::output::{self, Target};
use crate::source;

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

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let out =
            self.out.as_ref().map(|out| Target::new("--out", out, &["toml"], self.force)).transpose()?;
        let allocation = source::allocation(&self.named, neighbours)?;
        let promise = match (&self.epsilon, &self.published) {
            (Some(epsilon), _) => Promise::Epsilon(Epsilon::parse(epsilon)?),
            (None, Some(conversion)) => Promise::Published(Conversion::parse(conversion)?),
            (None, None) => stated(&allocation, delta.as_ref(), self.scope == Scope::Level)?,
        };
        let found = allocation.calibrate(&promise, self.scope == Scope::Level, delta.as_ref())?;
        if let Some(out) = &out {
            let promised = match &promise {
                Promise::Epsilon(epsilon) => format!("epsilon{}", decimal::equals(epsilon.value())),
                Promise::Published(conversion) => format!("the epsilon of {}", conversion.authors()),
            };
            let result = found.allocation.clone().renamed(
                format!("{}, calibrated", found.name.trim_end_matches(", calibrated")),
                format!(
                    "unspent {}: the noise of `{}` calibrated to {promised} at delta{}, {}",
                    env!("CARGO_PKG_VERSION"),
                    printable(&self.named),
                    decimal::equals(&found.delta),
                    if found.scope == "level" { "each level by itself" } else { "all levels alike" }
                ),
            );
            let text = result.to_file()?;
            out.write(text.as_bytes())?;
        }
        if self.json {
            return output::print(&output::json(&found));
        }
        let mut text = document(&found, allocation.neighbours(), allocation.record());
        text.line("");
        text.line(match &self.out {
            Some(out) => format!("Written to {out}."),
            None => "Nothing was written: --out FILE.toml writes the allocation.".into(),
        });
        output::print(&text.terminal())
    }
}

/// The promise that the allocation states.
pub fn stated(allocation: &Allocation, delta: Option<&Delta>, each_level: bool) -> Result<Promise, Failure> {
    Promise::stated(allocation, delta, each_level).ok_or_else(|| {
        Failure::usage(
            "no promise: the allocation does not say what was published",
            "add --epsilon E, --published bun-steinke or --published canonne-kamath-steinke",
        )
    })
}

/// A path may have anything in it.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn document(found: &Recalibration, neighbours: Neighbours, record: &str) -> Document {
    let mut text = Document::default();
    text.line(format!("{}, calibrated", found.name.trim_end_matches(", calibrated")));
    text.line(in_words(neighbours, record));
    text.line(format!("delta{}", decimal::equals(&found.delta)));
    text.line("");
    let mut table =
        Table::new(&["noise of", "promised", "tight before", "tight after", "times (certified)", "change"]);
    for row in &found.rows {
        let name = row.name.clone().unwrap_or_else(|| "the whole release".into());
        let factor = row.factor.as_ref();
        table.row(vec![
            name,
            row.promised.as_ref().map_or_else(|| "–".into(), |promised| padded(&promised.at_most(READABLE))),
            ends(&row.tight_before)[0].clone(),
            ends(&row.tight_after)[0].clone(),
            factor.map_or_else(|| "differs".into(), |f| f.to_decimal(12, Round::Up)),
            factor.map_or_else(String::new, change),
        ]);
    }
    text.table(table);
    text.line("");
    let total = &found.rows[0];
    text.line(format!("Before, rho{}; after, rho{}.", equals(&total.rho_before), equals(&total.rho_after)));
    if let (true, Some(published)) = (found.exceeds, &found.published) {
        text.line(format!(
            "WARNING: together the levels exceed the epsilon of {} that was promised for the whole release.",
            published.at_most(READABLE)
        ));
    } else if total.rho_before.upper() < total.rho_after.upper() {
        text.line("The tight epsilon is what counts, so that a larger rho keeps the promise.");
    }
    let fell = |row: &Row| {
        row.factor.as_ref().is_some_and(|f| *f < Rational::from(1))
            && row.tight_after.upper() < row.tight_before.bounds().lower().to_rational()
    };
    if found.rows.iter().any(fell) {
        text.line("Where a few losses dominate, less noise can lower epsilon; both figures are certified.");
    }
    text.line("Each tight epsilon is a guarantee, rounded up; what is promised was checked on the result.");
    text
}
