//! `unspent utility`: what noise does to a table, before and after a change of it.

mod figures;

use std::path::PathBuf;

use clap::Args;
use unspent::mechanism::Stated;
use unspent::schema::Rows;
use unspent::{Delta, Error, ErrorKind, Neighbours};
use unspent_data::utility::processing::MAX_PROCESSING_TRIALS;
use unspent_data::utility::{After, GivenNoise, LevelErrors, MAX_TRIALS, ProcessingReport};
use unspent_data::{UnitList, UtilityQuestion, UtilityReport};

pub use self::figures::{by_cell, by_level};
use crate::Failure;
use crate::calibrate::Scope;
use crate::noise::NoiseArguments;
use crate::output::{self, Format, Target};
use crate::plot;
use crate::progress::Progress;
use crate::source;
use crate::stated;
use crate::terminal;
use crate::values::Values;

/// What noise does to a table of counts: errors by level, cell and size.
///
/// Expected mean squared and absolute errors and bias, summed exactly, of raw noisy counts and of
/// counts that are clamped at zero; with the noise of one allocation and with that of another, or of
/// the same one calibrated to what it promises. Every cell of the table gets the noise of its level.
///
/// Beside them the mean squared error after estimation: the exact variance of the best linear unbiased
/// estimate on the tree of the table's units, from all measurements of the allocation at the table's
/// levels; from the noisy counts themselves, if noise is given directly. Where the table does not
/// have the attributes of the allocation's queries there is no estimate, and it is said why.
///
/// With --after-processing: what noise does to tables as they are published. Everything is simulated: noisy
/// answers to all queries of the allocation, the same cut at zero, best estimates, and whole tables
/// that are not negative and add up; errors and bias by level, query and size of unit, and how often
/// shares of groups are about right.
///
/// What is printed is computed from the exact counts: for a confidential table it is NOT PRIVATE.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Tables are read as by `unspent measure`; without one at hand, `unspent synthesize` makes one up.

Examples:
  unspent synthesize --out people.csv
  unspent utility people.csv --before paper-2022-08-25 --scope level --delta 1e-11
  unspent utility blocks.csv --before examples/blocks.toml --query race --by race --trials 100
  unspent utility blocks.csv --before examples/blocks.toml --after-processing --trials 20
  unspent utility blocks.csv --schema blocks.toml --sigma2 Block=456.62:343.27 --plot errors.svg"
)]
pub struct Arguments {
    /// The table: CSV, or Parquet (.parquet); - reads CSV from stdin
    #[arg(value_name = "TABLE")]
    table: String,

    /// The allocation whose noise it is before: a preset or a file
    #[arg(long, value_name = "PRESET|FILE")]
    before: Option<String>,

    /// Whose noise it is after
    ///
    /// A preset or a file, or `calibrated`: the same allocation, spending what it promises.
    #[arg(long, value_name = "PRESET|FILE", default_value = "calibrated")]
    after: String,

    /// For tables of budgets (.csv): bounded or add-remove
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// The query whose noise is a level's
    ///
    /// Needed where queries have different noise.
    #[arg(long, value_name = "Q")]
    query: Option<String>,

    /// A level's noise, given directly as sigma2, its variance
    ///
    /// Before, and after if it follows a colon. May be repeated.
    #[arg(long, value_name = "LEVEL=S[:S]")]
    sigma2: Vec<String>,

    /// The same as its standard deviation, of which sigma2 is the square
    #[arg(long, value_name = "LEVEL=S[:S]")]
    sigma: Vec<String>,

    /// Another name for --sigma
    #[arg(long, value_name = "LEVEL=S[:S]")]
    scale: Vec<String>,

    /// The attributes whose cells are looked at
    ///
    /// Separated by commas; all of the table's unless given.
    #[arg(long, value_name = "A")]
    by: Option<String>,

    /// Where bands of the units' sizes begin
    #[arg(long, value_name = "N,N,…", default_value = "0,1,10,100,1000")]
    bands: String,

    /// The level whose cells and bands are shown
    ///
    /// The smallest units unless given.
    #[arg(long, value_name = "L")]
    level: Option<String>,

    /// All levels calibrated alike, or each
    ///
    /// All alike (overall), or each level by itself (level).
    #[arg(long, value_enum, default_value_t = Scope::Overall, hide_possible_values = true)]
    scope: Scope,

    /// The delta of the promise, for `calibrated`
    ///
    /// That of the allocation unless given.
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// A file whose [table] says how the table is read
    #[arg(long, value_name = "FILE.toml")]
    schema: Option<String>,

    /// The list of all units of the smallest level, for a table of records or counts
    ///
    /// Without it, only units that are in the table are looked at.
    #[arg(long, value_name = "FILE")]
    units: Option<String>,

    /// A row is a combination of values, and this column says how many records have it
    #[arg(long, value_name = "COLUMN")]
    count: Option<String>,

    /// What noise does to published tables: estimates, and whole tables that add up
    ///
    /// Simulated. --by tells the groups apart whose shares are looked at, the first attribute with
    /// more than two values unless given.
    #[arg(long, conflicts_with_all = ["query", "sigma2", "sigma", "scale", "plot", "plot_cells"])]
    after_processing: bool,

    /// With --after-processing: districts of the smallest units, whose shares are looked at too
    ///
    /// A CSV file: a unit's code, then the district that it is in; more columns are more maps. May be
    /// repeated.
    #[arg(long, value_name = "MAP.csv", requires = "after_processing")]
    districts: Vec<PathBuf>,

    /// Draws the noise so many times besides
    ///
    /// Means with intervals of 95 % stand beside what is expected. With --after-processing, how many
    /// times all is done: 10 unless given.
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    trials: Option<String>,

    /// Draws errors by level: .svg, .png or .pdf
    #[arg(long, value_name = "FILE")]
    plot: Option<String>,

    /// Draws errors by cell and size of the unit, at --level: .svg, .png or .pdf
    #[arg(long, value_name = "FILE")]
    plot_cells: Option<String>,

    /// Replaces the files if they exist
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    values: Values,

    #[command(flatten)]
    noise: NoiseArguments,

    #[command(flatten)]
    format: Format,
}

/// Arguments of the library that are flags here.
const FLAGS: &[&str] = &["query", "level", "sigma2", "sigma", "scale"];

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let picture = |flag, path: &Option<String>| {
            path.as_ref().map(|path| Target::new(flag, path, plot::EXTENSIONS, self.force)).transpose()
        };
        let (plot, plot_cells) = (picture("--plot", &self.plot)?, picture("--plot-cells", &self.plot_cells)?);
        let question = self.question()?;
        let mut progress = Progress::new();
        if self.after_processing {
            let report = self.values.hiding(|| question.after_processing(&mut progress));
            drop(progress);
            let report = report.map_err(|error| self.failure(error))?;
            return output::print(&self.processed(&report)?);
        }
        let report = self.values.hiding(|| question.answer(&mut progress));
        drop(progress);
        let report = report.map_err(|error| self.failure(error))?;
        let level = report.errors.level(self.level.as_deref()).map_err(|error| self.failure(error))?;
        if let Some(file) = plot {
            file.write(&plot::bytes(&by_level(&report.errors), &file.extension())?)?;
        }
        if let Some(file) = plot_cells {
            file.write(&plot::bytes(&by_cell(level), &file.extension())?)?;
        }
        output::print(&self.written(&report, level))
    }

    fn question(&self) -> Result<UtilityQuestion, Failure> {
        let trials = match self.trials.as_deref() {
            None => 0,
            Some(text) if self.after_processing => {
                text.parse().ok().filter(|k| (1..=MAX_PROCESSING_TRIALS).contains(k)).ok_or_else(|| {
                    let allowed = format!("a whole number between 1 and {MAX_PROCESSING_TRIALS}");
                    Error::input("--trials", text, allowed, "10 are enough for most")
                })?
            }
            Some(text) => text.parse().ok().filter(|k| *k <= MAX_TRIALS).ok_or_else(|| {
                let allowed = format!("a whole number up to {MAX_TRIALS}");
                Error::input("--trials", text, allowed, "100 are enough for most")
            })?,
        };
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let allocation = |name: &str| source::allocation_among(name, neighbours);
        let flags = stated::of(&self.sigma2, &self.sigma, &self.scale);
        let given = flags.flat_map(|(stated, texts)| texts.iter().map(move |text| given(stated, text)));
        let bands = self.bands.split(',').map(|n| {
            n.trim().parse().map_err(|_| {
                let hint = "write where each band begins, like 0,1,10,100,1000";
                Error::input("--bands", &self.bands, "ascending numbers from 0 on", hint)
            })
        });
        let names = |by: &String| {
            by.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
        };
        Ok(UtilityQuestion {
            given: given.collect::<Result<_, _>>()?,
            before: self.before.as_deref().map(allocation).transpose()?,
            after: match self.after.as_str() {
                "calibrated" => After::Calibrated(self.scope.into()),
                // Without an allocation before there is none after.
                _ if self.before.is_none() => After::Calibrated(self.scope.into()),
                name => After::Allocation(Box::new(allocation(name)?)),
            },
            schema: source::schema(self.schema.as_deref())?,
            rows: self.count.clone().map(Rows::Counts),
            units: self.units.as_deref().map_or(UnitList::Rows, |list| UnitList::List(source::table(list))),
            query: self.query.clone(),
            by: self.by.as_ref().map(names),
            districts: self.districts.clone(),
            bands: bands.collect::<Result<_, _>>()?,
            delta: self.delta.as_deref().map(Delta::parse).transpose()?,
            trials,
            noise: self.noise.source()?,
            threads: self.noise.threads()?,
            ..UtilityQuestion::new(source::table(&self.table))
        })
    }

    /// What the library says, in the command's words.
    fn failure(&self, error: Error) -> Failure {
        let hint = match error.kind() {
            ErrorKind::NoTable => Some(source::NO_TABLE),
            ErrorKind::NoPromise => Some(
                "name the noise after, --after, or give a level's noise before and after: \
                 --sigma2 Block=456.62:343.27",
            ),
            _ => None,
        };
        let failure = self.values.failure(error).flagged(FLAGS);
        Failure { hint: hint.map_or(failure.hint, Into::into), ..failure }
    }

    fn processed(&self, report: &ProcessingReport) -> Result<String, Failure> {
        let document = || report.document(self.level.as_deref()).map_err(|error| self.failure(error));
        Ok(match self.format {
            Format { json: true, .. } => output::json(report),
            Format { csv: true, .. } => report.columns().csv(),
            Format { markdown: true, .. } => document()?.markdown(),
            _ => terminal::shown(&document()?),
        })
    }

    fn written(&self, report: &UtilityReport, level: &LevelErrors) -> String {
        match self.format {
            Format { json: true, .. } => output::json(report),
            Format { csv: true, .. } => report.errors.columns().csv(),
            Format { markdown: true, .. } => report.document(level).markdown(),
            _ => terminal::shown(&report.document(level)),
        }
    }
}

/// Reads `Block=456.62:343.27`.
fn given(stated: Stated, text: &str) -> Result<GivenNoise, Error> {
    let flag = format!("--{}", stated.name());
    let Some((level, numbers)) = text.split_once('=') else {
        let hint = "write a level and its noise: Block=456.62, or Block=456.62:343.27";
        return Err(Error::input(flag, text, "of the form LEVEL=S or LEVEL=S:S", hint));
    };
    let field = format!("{flag} {}", level.trim());
    let read = |number: &str| stated.parse(number).map_err(|e| e.at(&field));
    let (before, after) = match numbers.split_once(':') {
        Some((before, after)) => (before, Some(after)),
        None => (numbers, None),
    };
    Ok(GivenNoise {
        stated,
        level: level.trim().into(),
        before: read(before)?,
        after: after.map(read).transpose()?,
    })
}
