//! `unspent design`: the allocation with the least budget that meets needs.

mod figure;

use std::path::Path;

use clap::Args;
use unspent::{Allocation, Neighbours};
use unspent_data::{NeedsFolder, needs_text};
use unspent_estimate::accuracy::usual_units;
use unspent_estimate::design::{self, Checked, Design, Explained, Needs, Units};

use crate::Failure;
use crate::accuracy::numbers;
use crate::output::{self, Format, Target};
use crate::plot;
use crate::progress::Progress;
use crate::source;
use crate::terminal;

/// Finds the allocation with the least budget that meets needs, and proves that none is smaller.
///
/// A needs file says what must be known of a release, and how well: margins with a confidence, for
/// counts, tables, shares and sets of units. The answer is an allocation of the least rho that meets
/// all of them, with a bound below which none can, the epsilon that it certifiably has, what each need
/// costs, and what can no longer be answered. No data is read: needs must not depend on it.
///
/// --check says which needs an allocation meets, and --explain which needs it is the best for.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Margins are predicted for the unbiased estimates of `unspent estimate`, not for whole tables.
Only public figures may be in the file: populations and units, but no confidential counts.
examples/needs.toml is a commented needs file.

Examples:
  unspent design examples/needs.toml
  unspent design examples/needs.toml --out allocation.toml --plot design.svg
  unspent design examples/needs.toml --check examples/blocks.toml
  unspent design --explain pl94-persons-us-2020
  unspent design --explain examples/blocks.toml --per-level 1,5,250,792,25181"
)]
pub struct Arguments {
    /// A needs file (TOML)
    #[arg(value_name = "NEEDS", required_unless_present = "explain")]
    needs: Option<String>,

    /// The allocation file to write
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["check", "explain"])]
    out: Option<String>,

    /// Says which needs this allocation meets; ends with exit code 3 if it is not all of them
    ///
    /// A preset or an allocation file.
    #[arg(long, value_name = "PRESET|FILE", conflicts_with = "explain")]
    check: Option<String>,

    /// Says what this allocation is optimal for: how important each of its tables must be
    ///
    /// A preset or an allocation file. It takes units: --per-level, or those of NEEDS.
    #[arg(long, value_name = "PRESET|FILE")]
    explain: Option<String>,

    /// For --explain: how many units each level has, from the first level on
    ///
    /// For the levels of the 2020 Census its numbers, unless given.
    #[arg(long, value_name = "N,N,…", requires = "explain", conflicts_with = "needs")]
    per_level: Option<String>,

    /// For --check or --explain of a table (.csv): bounded or add-remove
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// Does not solve again for what each need costs
    #[arg(long, conflicts_with_all = ["check", "explain"])]
    no_prices: bool,

    /// Draws slack, and epsilon against margins and the guard's factor: .svg, .png or .pdf
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "explain"])]
    plot: Option<String>,

    /// For --plot: the need whose margin is varied; the one that costs most unless given
    #[arg(long, value_name = "NAME", requires = "plot")]
    need: Option<String>,

    /// Replaces files that exist
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Reads, solves and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let out =
            self.out.as_ref().map(|out| Target::new("--out", out, &["toml"], self.force)).transpose()?;
        let plot = self.plot.as_ref();
        let plot = plot.map(|path| Target::new("--plot", path, plot::EXTENSIONS, self.force)).transpose()?;
        let needs = self.needs.as_deref().map(read).transpose()?;
        if let Some(named) = &self.explain {
            return self.explain(named, needs);
        }
        let needs = needs.expect("clap asks for it");
        if let Some(named) = &self.check {
            return self.check(named, &needs);
        }
        let design = needs.design(!self.no_prices)?;
        let figure = plot.is_some().then(|| figure::of(&needs, &design, self.need.as_deref())).transpose()?;
        if let Some(out) = &out {
            out.write(design.allocation.to_file()?.as_bytes())?;
        }
        if let (Some(file), Some(figure)) = (plot, figure) {
            file.write(&plot::bytes(&figure, &file.extension())?)?;
        }
        output::print(&self.written(&design))
    }

    fn allocation(&self, named: &str) -> Result<Allocation, Failure> {
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        Ok(source::allocation(named, neighbours)?)
    }

    fn check(&self, named: &str, needs: &Needs) -> Result<(), Failure> {
        let checked = needs.check(&self.allocation(named)?)?;
        output::print(&self.checked(&checked))?;
        if checked.all_met() {
            return Ok(());
        }
        Err(Failure {
            code: 3,
            ..Failure::usage(
                format!("`{}`: {}", checked.allocation, checked.in_words()),
                "`unspent design NEEDS --out FILE.toml` finds an allocation that meets all of them",
            )
        })
    }

    fn explain(&self, named: &str, needs: Option<Needs>) -> Result<(), Failure> {
        let allocation = self.allocation(named)?;
        let per_level = self.per_level.as_deref().map(numbers).transpose()?;
        let units = match (needs, per_level) {
            (Some(needs), _) => Some(needs.units),
            (None, given) => given.or_else(|| usual_units(&allocation)).map(Units::PerLevel),
        };
        let Some(units) = units else {
            let names: Vec<&str> = allocation.levels().iter().map(|level| level.name.as_str()).collect();
            return Err(Failure::usage(
                format!("--explain: how many units the levels {} have is not known", names.join(", ")),
                "give a number for each level, as in --per-level 1,5,244, or a needs file that has them",
            ));
        };
        let explained = design::explain(&allocation, &units).map_err(|error| {
            let mut failure = Failure::from(error);
            if failure.cause.starts_with("per_level:") {
                failure.cause = failure.cause.replacen("per_level", "--per-level", 1);
            }
            failure
        })?;
        output::print(&self.explained(&explained))
    }

    fn written(&self, design: &Design) -> String {
        let document = || {
            let mut text = design.document();
            text.line("");
            text.line(match &self.out {
                Some(out) => {
                    format!("Written to {out}. `unspent certificate {out}` says what it guarantees.")
                }
                None if self.plot.is_some() => "No allocation was written: --out FILE.toml writes it.".into(),
                None => "Nothing was written: --out FILE.toml writes the allocation.".into(),
            });
            text
        };
        match self.format {
            Format { json: true, .. } => output::json(design),
            Format { csv: true, .. } => design.columns().csv(),
            Format { markdown: true, .. } => design.document().markdown(),
            _ => terminal::shown(&document()),
        }
    }

    fn checked(&self, checked: &Checked) -> String {
        match self.format {
            Format { json: true, .. } => output::json(checked),
            Format { csv: true, .. } => checked.columns().csv(),
            Format { markdown: true, .. } => checked.document().markdown(),
            _ => terminal::shown(&checked.document()),
        }
    }

    fn explained(&self, explained: &Explained) -> String {
        match self.format {
            Format { json: true, .. } => output::json(explained),
            Format { csv: true, .. } => explained.columns().csv(),
            Format { markdown: true, .. } => explained.document().markdown(),
            _ => terminal::shown(&explained.document()),
        }
    }
}

/// Reads a needs file, and what it names.
fn read(path: &str) -> Result<Needs, Failure> {
    let text = needs_text(Path::new(path))?;
    let mut progress = Progress::new();
    let needs = Needs::parse(path, &text, &mut NeedsFolder::of(Path::new(path), &mut progress));
    drop(progress);
    Ok(needs?)
}
