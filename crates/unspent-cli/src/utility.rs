//! `unspent utility`: what noise does to a table, before and after a change of it.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use unspent::allocation::{Level, Schema};
use unspent::mechanism::Stated;
use unspent::report::recalibration::Change;
use unspent::utility::{
    Estimate, Evaluation, Expected, Group, LevelErrors, LevelNoise, NOT_PRIVATE, Pair, Question, Utility,
};
use unspent::{Allocation, Delta, Error, Neighbours, Promise, Rational, Round};

use crate::Failure;
use crate::calibrate::Scope;
use crate::decimal;
use crate::document::{Document, Table as Lines};
use crate::noise::NoiseArguments;
use crate::output::{self, Format, Target};
use crate::plot::{self, Axis, Bar, Figure, Panel, Role, Series};
use crate::progress::Progress;
use crate::source;
use crate::stated;
use crate::table::{Table, Values};

/// What noise does to a table of counts: errors by level, cell and size.
///
/// Mean squared and absolute errors and bias, in expectation and exactly summed, of counts as they
/// come and of counts that are cut at zero; with the noise of one allocation and with that of
/// another, or of the same one calibrated to what it promises. Every cell of the table gets the noise
/// of its level.
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

    /// Draws the noise so many times besides
    ///
    /// Means with intervals of 95 % stand beside what is expected.
    #[arg(long, value_name = "K", default_value = "0", allow_hyphen_values = true)]
    trials: String,

    /// Draws errors by level: .svg or .png
    #[arg(long, value_name = "FILE")]
    plot: Option<String>,

    /// Draws errors by cell and size of the unit, at --level: .svg or .png
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

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let trials = self.trials.parse().ok().filter(|k| *k <= 1_000_000u64).ok_or_else(|| {
            Error::input("--trials", &self.trials, "a whole number up to 1000000", "100 are enough for most")
        })?;
        let picture = |flag, path: &Option<String>| {
            path.as_ref().map(|path| Target::new(flag, path, &["svg", "png"], self.force)).transpose()
        };
        let (plot, plot_cells) = (picture("--plot", &self.plot)?, picture("--plot-cells", &self.plot_cells)?);
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let allocation = |name: &str| source::allocation_among(name, neighbours);
        let mut direct: Vec<Direct> = vec![];
        let flags = stated::of(&self.sigma2, &self.sigma, &self.scale);
        for (stated, text) in flags.flat_map(|(stated, texts)| texts.iter().map(move |text| (stated, text))) {
            let given = Direct::parse(stated, text)?;
            if direct.iter().any(|other| other.is_for(&given.level)) {
                let cause = format!("{}: the noise of level `{}` is given twice", given.flag(), given.level);
                return Err(Failure::usage(cause, "give before and after together: Block=456.62:343.27"));
            }
            direct.push(given);
        }
        let before = self.before.as_deref().map(allocation).transpose()?;
        let schema = source::needed_schema(&self.table, self.schema.as_deref(), before.as_ref())?;
        let mut change = None;
        let after = match (&before, self.after.as_str()) {
            (None, _) => None,
            (Some(before), "calibrated") => {
                let scaling = self.scope.into();
                let promise = Promise::stated(before, delta.as_ref(), scaling)?;
                let found = before.calibrate(&promise, scaling, delta.as_ref())?;
                change = Some(found.change());
                Some(found.allocation)
            }
            (Some(before), name) => {
                let after = allocation(name)?;
                change = Change::between(before, &after, delta.as_ref())?;
                Some(after)
            }
        };
        let (noises, left_out) = self.noises(&schema, before.as_ref(), after.as_ref(), &direct)?;
        let by = match &self.by {
            Some(by) => {
                by.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
            }
            None => schema.attributes().iter().map(|a| a.name.clone()).collect(),
        };
        let bands = self.bands.split(',').map(|n| {
            n.trim().parse().map_err(|_| {
                let hint = "write where each band begins, like 0,1,10,100,1000";
                Error::input("--bands", &self.bands, "ascending numbers from 0 on", hint)
            })
        });
        let question = Question { schema, by, noises, bands: bands.collect::<Result<_, _>>()?, trials };
        let threads = self.noise.threads()?;
        let key = if trials > 0 { Some(self.noise.key()?.0) } else { None };
        let evaluation = Evaluation::new(question, key.as_ref().map(|key| (key, threads)))?;
        let table = Table::open(&self.table, evaluation.plan(), &self.values)?;
        let mut progress = Progress::new();
        let found = evaluation.evaluate(|row| table.rows(&mut progress, row));
        let found = found.map_err(|failure: Failure| failure.showing(self.values.shown))?;
        drop(progress);
        let level = self.shown(&found)?;
        if let Some(file) = plot {
            file.write(&plot::bytes(&by_level(&found), &file.extension())?)?;
        }
        if let Some(file) = plot_cells {
            file.write(&plot::bytes(&by_cell(level), &file.extension())?)?;
        }
        output::print(&match self.format {
            Format { json: true, .. } => output::json(&Report { errors: &found, change: change.as_ref() }),
            Format { csv: true, .. } => csv(&found),
            Format { markdown: true, .. } => document(&found, level, change.as_ref(), &left_out).markdown(),
            _ => document(&found, level, change.as_ref(), &left_out).terminal(),
        })
    }

    /// The noise of every level of the table that has one, and the allocation's levels that the table lacks.
    fn noises(
        &self,
        schema: &Schema,
        before: Option<&Allocation>,
        after: Option<&Allocation>,
        direct: &[Direct],
    ) -> Result<(Vec<LevelNoise>, Vec<String>), Failure> {
        for given in direct {
            if !schema.levels().iter().any(|level| given.is_for(&level.name)) {
                let known: Vec<&str> = schema.levels().iter().map(|l| l.name.as_str()).collect();
                let allowed = format!("one of the levels of the table, {}", known.join(", "));
                let field = format!("{}: level", given.flag());
                return Err(Error::input(field, &given.level, allowed, "check [table.levels]").into());
            }
        }
        let mut noises = vec![];
        for level in schema.levels() {
            let given = direct.iter().find(|given| given.is_for(&level.name));
            let of = |allocation: Option<&Allocation>| {
                let found =
                    allocation.and_then(|a| Some((a, a.levels().iter().find(|l| l.name == level.name)?)));
                found
                    .map(|(allocation, level)| source::variance(allocation, level, self.query.as_deref()))
                    .transpose()
            };
            let pair = match given {
                Some(Direct { before, after: Some(after), .. }) => Some((before.clone(), after.clone())),
                // The same change, from where it was said to be.
                Some(given @ Direct { before: from, .. }) => match (of(before)?, of(after)?) {
                    (Some(before), Some(after)) => Some((from.clone(), &(from * &after) / &before)),
                    _ => {
                        return Err(Failure::usage(
                            format!(
                                "{}: nothing says what the noise of level `{}` is after",
                                given.flag(),
                                level.name
                            ),
                            format!(
                                "write {}=S:S, before and after, or name an allocation that has it",
                                level.name
                            ),
                        ));
                    }
                },
                None => of(before)?.zip(of(after)?),
            };
            let Some((first, second)) = pair else { continue };
            noises.push(LevelNoise { level: level.name.clone(), before: first, after: second });
        }
        if noises.is_empty() {
            let names =
                |levels: &[Level]| levels.iter().map(|l| l.name.clone()).collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(
                match before {
                    Some(before) => format!(
                        "no level of the table is a level of the allocation, which has {}",
                        names(before.levels())
                    ),
                    None => "no noise was given".into(),
                },
                "name an allocation, --before, or give a level's noise before and after: --sigma2 Block=456.62:343.27",
            ));
        }
        let unknown = |level: &&Level| !schema.levels().iter().any(|l| l.name == level.name);
        let left_out = before.map_or(&[][..], |b| b.levels()).iter().filter(unknown);
        Ok((noises, left_out.map(|level| level.name.clone()).collect()))
    }

    /// The level whose cells and bands are shown.
    fn shown<'f>(&self, found: &'f Utility) -> Result<&'f LevelErrors, Failure> {
        let last = found.levels.last().expect("there is a level");
        let Some(name) = &self.level else { return Ok(last) };
        found.levels.iter().find(|level| level.level.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known: Vec<&str> = found.levels.iter().map(|l| l.level.as_str()).collect();
            let allowed = format!("one of {}", known.join(", "));
            Error::input("--level", name, allowed, "these are the levels with noise").into()
        })
    }
}

/// `Block=456.62:343.27`.
struct Direct {
    stated: Stated,
    level: String,
    before: Rational,
    after: Option<Rational>,
}

impl Direct {
    fn parse(stated: Stated, text: &str) -> Result<Direct, Failure> {
        let flag = format!("--{}", stated.name());
        let Some((level, numbers)) = text.split_once('=') else {
            let hint = "write a level and its noise: Block=456.62, or Block=456.62:343.27";
            return Err(Error::input(flag, text, "of the form LEVEL=S or LEVEL=S:S", hint).into());
        };
        let field = format!("{flag} {}", level.trim());
        let read = |number: &str| stated.parse(number).map_err(|e| e.at(&field));
        let (before, after) = match numbers.split_once(':') {
            Some((before, after)) => (before, Some(after)),
            None => (numbers, None),
        };
        Ok(Direct {
            stated,
            level: level.trim().into(),
            before: read(before)?,
            after: after.map(read).transpose()?,
        })
    }

    /// The flag it was given by.
    fn flag(&self) -> String {
        format!("--{}", self.stated.name())
    }

    fn is_for(&self, level: &str) -> bool {
        self.level.eq_ignore_ascii_case(level)
    }
}

/// A number to some digits, to the nearest: these are no bounds.
fn digits(x: f64, digits: u32) -> String {
    let rounded: Rational = format!("{x:.*e}", digits as usize - 1).parse().expect("errors are finite");
    rounded.to_decimal(digits, Round::Up)
}

fn short(x: f64) -> String {
    digits(x, 5)
}

/// A part of one, in percent with two decimals.
fn percent(part: f64) -> String {
    format!("{:.2} %", -100.0 * part).replace('-', "−")
}

/// A variance for people.
fn variance(text: &str) -> String {
    text.parse().map_or_else(
        |_| text.into(),
        |x: Rational| decimal::brief(&x, Round::Down).trim_start_matches("≈ ").into(),
    )
}

/// The errors, and whose noise they are of.
#[derive(Serialize)]
struct Report<'r> {
    #[serde(flatten)]
    errors: &'r Utility,
    /// None if the noise was given directly: no epsilon is known of it.
    change: Option<&'r Change>,
}

fn document(found: &Utility, shown: &LevelErrors, change: Option<&Change>, left_out: &[String]) -> Document {
    let mut text = Document::default();
    match change {
        Some(change) => change.in_words().into_iter().for_each(|line| text.line(line)),
        None => text.line(
            "No epsilon is known of this noise: it is given without an allocation, or without a delta.",
        ),
    }
    text.line(format!("{} rows; errors of counts by {}.", found.rows, listed(&found.by)));
    text.line("");
    for cut in [false, true] {
        text.line(if cut { "Cut at zero:" } else { "As they come:" });
        text.line("");
        let mut table = Lines::new(&heads("level", cut));
        for level in &found.levels {
            table.row([vec![level.level.clone()], figures(of(&level.all, cut), cut)].concat());
        }
        text.table(table);
        text.line("");
    }
    let mut table = Lines::new(&["level", "units", "counts", "sigma2 before", "sigma2 after"]);
    for level in &found.levels {
        table.row(vec![
            level.level.clone(),
            level.units.to_string(),
            level.all.counts.to_string(),
            variance(&level.sigma2_before),
            variance(&level.sigma2_after),
        ]);
    }
    text.table(table);
    text.line("");
    let groups: [(&str, &[Group]); 2] = [("cell", &shown.cells), ("size of unit", &shown.bands)];
    for (what, groups) in groups {
        if groups.len() < 2 {
            continue;
        }
        text.line(format!("{}, cut at zero, by {what}:", shown.level));
        text.line("");
        let mut table = Lines::new(&heads(what, true));
        for group in groups {
            let name = group.cell.as_ref().or(group.band.as_ref()).cloned().unwrap_or_default();
            table.row([vec![name], figures(&group.errors.cut, true)].concat());
        }
        text.table(table);
        text.line("");
    }
    if found.trials > 0 {
        simulated(&mut text, found);
    }
    text.line("Expected errors are sums over the exact law of the noise, to about twelve digits; they are no guarantees.");
    text.line(NOT_PRIVATE);
    if !left_out.is_empty() {
        text.line(format!("The table does not have the levels {}.", left_out.join(", ")));
    }
    text
}

fn heads(first: &str, cut: bool) -> Vec<&str> {
    let mut heads = vec![first, "MSE before", "after", "change", "MAE before", "after", "change"];
    if cut {
        heads.extend(["bias before", "after"]);
    }
    heads
}

fn of(errors: &unspent::utility::Errors, cut: bool) -> &Pair {
    if cut { &errors.cut } else { &errors.plain }
}

fn figures(pair: &Pair, cut: bool) -> Vec<String> {
    let mut row = vec![
        short(pair.before.mse),
        short(pair.after.mse),
        percent(pair.mse_reduction()),
        short(pair.before.mae),
        short(pair.after.mae),
        percent(pair.mae_reduction()),
    ];
    if cut {
        row.extend([short(pair.before.bias), short(pair.after.bias)]);
    }
    row
}

/// What the trials gave, beside what is expected.
fn simulated(text: &mut Document, found: &Utility) {
    text.line(format!(
        "{} trials: means with intervals of 95 % (Monte Carlo, normal approximation), beside what is expected:",
        found.trials
    ));
    text.line("");
    let mut table =
        Lines::new(&["level", "counts are", "noise", "MSE", "simulated", "MAE", "simulated", "inside"]);
    let (mut inside, mut all) = (0, 0);
    let mut few = vec![];
    for level in &found.levels {
        if level.all.plain.simulated.is_none() {
            few.push(level.level.as_str());
        }
        for cut in [false, true] {
            let pair = of(&level.all, cut);
            let Some(simulated) = &pair.simulated else { continue };
            for (i, (expected, simulated)) in
                [&pair.before, &pair.after].into_iter().zip(simulated).enumerate()
            {
                let checks: [(&Estimate, f64); 2] =
                    [(&simulated.mse, expected.mse), (&simulated.mae, expected.mae)];
                let agree = checks.iter().filter(|(estimate, x)| estimate.contains(*x)).count();
                (inside, all) = (inside + agree, all + 2);
                let shown = |e: &Estimate| format!("{} ± {}", short(e.mean), short(e.half_width));
                table.row(vec![
                    if i == 0 && !cut { level.level.clone() } else { String::new() },
                    if cut { "cut".into() } else { "plain".into() },
                    if i == 0 { "before".into() } else { "after".into() },
                    short(expected.mse),
                    shown(&simulated.mse),
                    short(expected.mae),
                    shown(&simulated.mae),
                    format!("{agree} of 2"),
                ]);
            }
        }
    }
    if all > 0 {
        text.table(table);
        text.line("");
        text.line(format!(
            "{inside} of {all} intervals contain what is expected; of true ones 95 % do, or more."
        ));
    }
    if !few.is_empty() {
        text.line(format!("Too few draws for an interval, less than a thousand: {}.", few.join(", ")));
    }
    text.line("");
}

fn listed(by: &[String]) -> String {
    if by.is_empty() { "the total".into() } else { by.join(" and ") }
}

/// One line for each level, cell and band, with all figures.
fn csv(found: &Utility) -> String {
    let heads = [
        "level",
        "cell",
        "band",
        "counts",
        "sigma2_before",
        "sigma2_after",
        "published",
        "mse_before",
        "mse_after",
        "mae_before",
        "mae_after",
        "bias_before",
        "bias_after",
        "warning",
    ];
    let mut rows = vec![];
    for level in &found.levels {
        let all = Group { cell: None, band: None, errors: level.all.clone() };
        let groups =
            std::iter::once(&all).chain(&level.cells).chain(&level.bands).chain(&level.cells_by_band);
        for group in groups {
            for (published, pair) in [("plain", &group.errors.plain), ("cut", &group.errors.cut)] {
                let numbers =
                    |pick: fn(&Expected) -> f64| [&pair.before, &pair.after].map(|e| pick(e).to_string());
                let mut row = vec![
                    level.level.clone(),
                    group.cell.clone().unwrap_or_default(),
                    group.band.clone().unwrap_or_default(),
                    group.errors.counts.to_string(),
                    level.sigma2_before.clone(),
                    level.sigma2_after.clone(),
                    published.into(),
                ];
                row.extend(numbers(|e| e.mse));
                row.extend(numbers(|e| e.mae));
                row.extend(numbers(|e| e.bias));
                row.push(NOT_PRIVATE.into());
                rows.push(row);
            }
        }
    }
    output::csv(&heads, &rows)
}

/// Before and after, as bars.
fn bars(pairs: &[(String, f64, f64)], label: &str, title: &str) -> Panel {
    let bar = |value: f64| Bar { value, label: digits(value, 4) };
    Panel {
        title: title.into(),
        x: Axis::linear(label),
        categories: pairs.iter().map(|(name, _, _)| name.clone()).collect(),
        series: vec![
            Series::bars(
                "before",
                Role::Baseline(0),
                pairs.iter().map(|(_, before, _)| bar(*before)).collect(),
            ),
            Series::bars("after", Role::Guarantee, pairs.iter().map(|(_, _, after)| bar(*after)).collect()),
        ],
        ..Panel::default()
    }
}

/// Errors by level, squared and absolute, plain and cut.
pub fn by_level(found: &Utility) -> Figure {
    let panel = |cut: bool, pick: fn(&Expected) -> f64, label: &str| {
        let pairs: Vec<(String, f64, f64)> = found
            .levels
            .iter()
            .map(|level| {
                let pair = of(&level.all, cut);
                (level.level.clone(), pick(&pair.before), pick(&pair.after))
            })
            .collect();
        bars(&pairs, label, if cut { "cut at zero" } else { "as they come" })
    };
    Figure {
        title: "Errors of counts by level".into(),
        subtitle: "expected; shorter is better".into(),
        notes: vec!["Sums over the exact law of the noise.".into(), NOT_PRIVATE.into()],
        columns: 2,
        panels: vec![
            panel(false, |e| e.mse, "mean squared error"),
            panel(true, |e| e.mse, "mean squared error"),
            panel(false, |e| e.mae, "mean absolute error"),
            panel(true, |e| e.mae, "mean absolute error"),
        ],
    }
}

/// Squared errors of a level's cells, a panel for each size of the unit.
pub fn by_cell(level: &LevelErrors) -> Figure {
    let mut bands: BTreeMap<usize, Vec<(String, f64, f64)>> = BTreeMap::new();
    let order = |band: &Option<String>| level.bands.iter().position(|g| g.band == *band).unwrap_or(0);
    for group in &level.cells_by_band {
        let pair = &group.errors.cut;
        let name = group.cell.clone().unwrap_or_default();
        bands.entry(order(&group.band)).or_default().push((name, pair.before.mse, pair.after.mse));
    }
    let panels = bands.iter().map(|(band, pairs)| {
        let name = level.bands[*band].band.as_deref().unwrap_or_default();
        bars(pairs, "mean squared error", &format!("units of {name}"))
    });
    Figure {
        title: format!("Errors of counts by cell and size of the unit, {}", level.level),
        subtitle: "expected, counts cut at zero; shorter is better".into(),
        notes: vec!["Sums over the exact law of the noise.".into(), NOT_PRIVATE.into()],
        columns: 2,
        panels: panels.collect(),
    }
}
