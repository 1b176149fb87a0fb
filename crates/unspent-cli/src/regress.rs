//! `unspent regress`: what noise does to the slope of earnings on education.

use std::fs;
use std::path::Path;

use clap::Args;
use csv::{ByteRecord, ReaderBuilder};
use serde::Serialize;
use unspent::report::recalibration::Change;
use unspent::utility::Estimate;
use unspent::utility::regression::{
    Distorted, Distortion, Geography, LeftOut, MAX_TRIALS, MIN_TRIALS, Reduction, Regression, Sample, Survey,
};
use unspent::{Allocation, Delta, Error, Promise, Rational, Round, Scaling};

use crate::Failure;
use unspent::report::READABLE;

use crate::decimal;
use crate::defect;
use crate::document::{Document, Table};
use crate::noise::NoiseArguments;
use crate::output::{self, Format};
use crate::source;
use crate::stated;
use crate::table::Values;

/// The slope of earnings on the share with a bachelor's degree, and how noise moves it.
///
/// Noise is added to the six counts by education of every area and cut at zero, as often as --trials
/// says; the distortion is the mean absolute error of the slope, for an analyst who takes noisy
/// counts for counts (plain) and for one who corrects for the noise (noise-aware). The noise of an
/// allocation is compared with the same noise calibrated to the epsilon that was published for its
/// level alone; --before and --after compare any two.
///
/// All distortions are from simulation and have intervals of 95 %. None is a guarantee.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
A file is table S1501 of the American Community Survey, as downloaded from data.census.gov, or has
the columns geo_id, name, pop25plus, lt_9th_grade, g9_12_no_diploma, hs_graduate,
some_college_no_degree, associates, bachelors_or_higher and median_earnings. Areas without counts
or earnings are left out and counted.

States get the noise of the level State, counties that of County, and all other areas that of
Tract Subset (or Tract).

Examples:
  unspent regress states.csv counties.csv tracts.csv
  unspent regress states.csv --without 'Puerto Rico' --before 5 --after 4.25
  unspent regress tracts.csv --allocation dhc-persons-us-2020 --level Tract_Subset --query detailed"
)]
pub struct Arguments {
    /// A table for each geography (.csv)
    #[arg(value_name = "S1501.csv", required = true)]
    files: Vec<String>,

    /// The allocation whose noise is added
    ///
    /// A preset or a file.
    #[arg(long, value_name = "PRESET|FILE", default_value = "paper-2022-08-25", conflicts_with = "before")]
    allocation: String,

    /// The level whose noise is added; that of the areas unless given
    #[arg(long, value_name = "L", conflicts_with = "before")]
    level: Option<String>,

    /// The query whose noise is added, where those of a level differ
    #[arg(long, value_name = "Q", conflicts_with = "before")]
    query: Option<String>,

    /// The delta at which the noise is calibrated
    #[arg(
        long,
        value_name = "D",
        default_value = "1e-11",
        allow_hyphen_values = true,
        conflicts_with = "before"
    )]
    delta: String,

    /// Compares noise of this variance parameter sigma2 ...
    ///
    /// Or of this standard deviation, of which sigma2 is the square: sigma=S, or scale=S.
    #[arg(long, value_name = "S", requires = "after", allow_hyphen_values = true)]
    before: Option<String>,

    /// ... with noise of this one
    #[arg(long, value_name = "S", requires = "before", allow_hyphen_values = true)]
    after: Option<String>,

    /// How often noise is added
    #[arg(long, value_name = "K", default_value = "10000", allow_hyphen_values = true)]
    trials: String,

    /// Leaves out the area with this code or name; may be repeated
    #[arg(long, value_name = "AREA")]
    without: Vec<String>,

    #[command(flatten)]
    values: Values,

    #[command(flatten)]
    noise: NoiseArguments,

    #[command(flatten)]
    format: Format,
}

/// All files.
#[derive(Serialize)]
struct Report {
    private: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// Whose noise it is, if not given as numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation: Option<String>,
    /// How the calibrated noise was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibrated: Option<String>,
    /// What the whole release delivers with either noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
    regressions: Vec<Row>,
}

/// One file.
#[derive(Serialize)]
struct Row {
    file: String,
    geography: String,
    /// How many of the areas are no such.
    strangers: usize,
    left_out: Vec<LeftOut>,
    /// The level whose noise it is.
    level: Option<String>,
    #[serde(flatten)]
    regression: Regression,
}

impl Arguments {
    /// Reads, simulates and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let trials = self.trials.parse().ok().filter(|n| (MIN_TRIALS..=MAX_TRIALS).contains(n));
        let trials = trials.ok_or_else(|| {
            let allowed = format!("a whole number between {MIN_TRIALS} and {MAX_TRIALS}");
            Error::input("--trials", &self.trials, allowed, "10000 tell a tenth less noise from none")
        })?;
        let threads = self.noise.threads()?;
        let source = self.source()?;
        let files = self.files.iter().map(|file| read(file, &self.without, self.values.shown));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        if let Some(i) = (0..self.without.len()).find(|i| files.iter().all(|file| !file.found[*i])) {
            let cause = format!("--without: there is no area `{}`", self.without[i]);
            return Err(Failure::usage(cause, "write its code or its name as in the file"));
        }
        let noises = files.iter().map(|file| source.noise(file.geography)).collect::<Result<Vec<_>, _>>()?;
        let (key, warning) = self.noise.key()?;
        let mut regressions = vec![];
        for (file, (level, [before, after])) in files.iter().zip(noises) {
            let alike = |other: &&File| other.name() == file.name();
            let name = match files.iter().filter(alike).count() {
                1 => file.name(),
                _ => format!("{} ({})", file.name(), stem(&file.path)),
            };
            regressions.push(Row {
                file: file.path.clone(),
                geography: name,
                strangers: file.strangers,
                left_out: file.left_out.clone(),
                level,
                regression: Regression::simulate(&file.sample, [&before, &after], trials, &key, threads)?,
            });
        }
        let (allocation, calibrated, change) = source.in_words();
        let report =
            Report { private: key.is_private(), warning, allocation, calibrated, change, regressions };
        output::print(&match &self.format {
            Format { json: true, .. } => output::json(&report),
            Format { csv: true, .. } => csv(&report),
            Format { markdown: true, .. } => document(&report).markdown(),
            _ => document(&report).terminal(),
        })
    }

    fn source(&self) -> Result<Source, Failure> {
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            // The sampler's limits, said before any file is read.
            let read = |flag: &str, text: &str| stated::parse(text).map_err(|e| e.at(flag));
            return Ok(Source::Given([read("--before", before)?, read("--after", after)?]));
        }
        let delta = Delta::parse(&self.delta)?;
        let allocation = source::allocation(&self.allocation, None)?;
        let Some(conversion) = allocation.conversion() else {
            return Err(Failure::usage(
                "no promise: the allocation does not say what was published",
                "give both variances: --before S --after S",
            ));
        };
        let found = allocation.calibrate(&Promise::Conversion(conversion), Scaling::Level, Some(&delta))?;
        let (calibrated, change) = (found.allocation.clone(), found.change());
        let (level, query) = (self.level.clone(), self.query.clone());
        let how = format!(
            "each level to its own epsilon by {}, at delta{}",
            conversion.authors(),
            decimal::equals(delta.value())
        );
        Ok(Source::Allocation(Box::new(Calibrated { allocation, calibrated, change, how, level, query })))
    }
}

/// Where the variances come from.
enum Source {
    Given([Rational; 2]),
    Allocation(Box<Calibrated>),
}

/// An allocation before and after calibration, and what of it was asked for.
struct Calibrated {
    allocation: Allocation,
    calibrated: Allocation,
    /// What the whole release delivers with either.
    change: Change,
    /// How it was calibrated.
    how: String,
    level: Option<String>,
    query: Option<String>,
}

impl Source {
    /// The level, and σ² before and after.
    fn noise(&self, geography: Option<&Geography>) -> Result<(Option<String>, [Rational; 2]), Failure> {
        let from = match self {
            Source::Given(noise) => return Ok((None, noise.clone())),
            Source::Allocation(from) => from,
        };
        let at = from.level(geography)?;
        let sigma2 = |allocation: &Allocation| {
            source::variance(allocation, &allocation.levels()[at], from.query.as_deref())
        };
        let name = from.allocation.levels()[at].name.clone();
        Ok((Some(name), [sigma2(&from.allocation)?, sigma2(&from.calibrated)?]))
    }

    /// The allocation, how it was calibrated, and what the whole release delivers with either.
    fn in_words(&self) -> (Option<String>, Option<String>, Option<Change>) {
        match self {
            Source::Given(_) => (None, None, None),
            Source::Allocation(from) => {
                (Some(from.allocation.name().into()), Some(from.how.clone()), Some(from.change.clone()))
            }
        }
    }
}

impl Calibrated {
    fn level(&self, geography: Option<&Geography>) -> Result<usize, Failure> {
        let levels = self.allocation.levels();
        let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        let allowed = format!("one of {}", names.join(", "));
        if let Some(asked) = &self.level {
            let found = names.iter().position(|name| name == asked);
            let hint = "names are written as in the allocation";
            return Ok(found.ok_or_else(|| Error::input("--level", asked, allowed, hint))?);
        }
        let wanted = geography.map_or(Geography::OTHER, |geography| geography.levels);
        // Allocations spell levels with spaces or underscores.
        let find = |wanted: &&str| names.iter().position(|name| name.replace('_', " ") == **wanted);
        Ok(wanted.iter().find_map(find).ok_or_else(|| {
            let hint = "say whose noise to add: --level L";
            Error::input("the level of these areas", wanted[0], allowed, hint)
        })?)
    }
}

/// A file that was read.
pub struct File {
    pub path: String,
    pub geography: Option<&'static Geography>,
    pub strangers: usize,
    pub left_out: Vec<LeftOut>,
    pub sample: Sample,
    /// For each area that was to be left out, whether it was there.
    pub found: Vec<bool>,
}

impl File {
    /// Its geography, or its file.
    pub fn name(&self) -> String {
        self.geography.map_or_else(|| stem(&self.path), |geography| geography.name.into())
    }
}

fn stem(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(|| path.into(), |stem| stem.to_string_lossy().into_owned())
}

/// Reads a table; areas called like those of `without` are left out. Messages have its values if they are
/// to be `shown`.
pub fn read(path: &str, without: &[String], shown: bool) -> Result<File, Failure> {
    if !shown {
        defect::hide_values();
    }
    let bytes = fs::read(path).map_err(|error| {
        Failure::usage(format!("{path}: cannot be read: {error}"), "name a table of S1501 (.csv)")
    })?;
    // Lines of the Bureau's files may end with a comma more than others; the survey knows how many fields it needs.
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&bytes[..]);
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| {
        reader.read_byte_record(record).map_err(|error| {
            Failure::usage(format!("{path}: {error}"), "a table is CSV: columns separated by commas")
        })
    };
    if !next(&mut record)? {
        let hint = "a table has a line of names and then one line for each area";
        return Err(Failure::usage(format!("{path}: is empty"), hint));
    }
    // Names of places may be in any encoding; nothing else that is read is more than ASCII.
    let texts = |record: &ByteRecord| -> Vec<String> {
        record.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
    };
    let names = texts(&record);
    let mut survey = Survey::new(names.iter().map(String::as_str)).map_err(|e| Failure::from(e.at(path)))?;
    let mut found = vec![false; without.len()];
    while next(&mut record)? {
        let fields = texts(&record);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let line = record.position().map_or(0, csv::Position::line);
        let asked = survey.row(&fields, without).map_err(|e| {
            let error: Failure = e.at(format!("{path}:{line}")).into();
            error.showing(shown)
        })?;
        if let Some(i) = asked {
            found[i] = true;
        }
    }
    let (geography, strangers, left_out) = (survey.geography(), survey.strangers(), survey.left_out());
    let sample = survey.into_sample().map_err(|e| e.at(path))?;
    Ok(File { path: path.into(), geography, strangers, left_out, sample, found })
}

/// The two estimates of a row: name, before, after, reduction.
fn estimates(row: &Regression) -> [(&'static str, &Distortion, &Distortion, Option<&Reduction>); 2] {
    [
        ("plain", &row.before.plain, &row.after.plain, row.plain.as_ref()),
        ("noise-aware", &row.before.aware, &row.after.aware, row.aware.as_ref()),
    ]
}

fn document(report: &Report) -> Document {
    let mut text = Document::default();
    text.line("The slope of median earnings on the share with a bachelor's degree or higher.");
    text.line("Noise is added to the six counts by education of every area and cut at zero.");
    let [before, after] =
        if report.allocation.is_some() { ["published", "calibrated"] } else { ["before", "after"] };
    if let (Some(allocation), Some(calibrated)) = (&report.allocation, &report.calibrated) {
        text.line(format!("Published: {allocation}."));
        text.line(format!("Calibrated: {calibrated}."));
    }
    for line in report.change.iter().flat_map(Change::in_words) {
        text.line(line);
    }
    if let Some(warning) = &report.warning {
        text.line(format!("WARNING: {warning}."));
    }
    text.line("");
    let sigma2 = |x: &Rational| match x.to_decimal(READABLE, Round::Up) {
        exactly if exactly == x.to_decimal(READABLE, Round::Down) => exactly,
        nearly => format!("≈ {nearly}"),
    };
    let mut table = Table::new(&[
        "geography",
        "areas",
        "slope",
        "noise of",
        &format!("sigma2, {before}"),
        &format!("sigma2, {after}"),
    ]);
    for row in &report.regressions {
        let regression = &row.regression;
        table.row(vec![
            row.geography.clone(),
            regression.areas.to_string(),
            format!("{:.5}", regression.slope),
            row.level.clone().unwrap_or_else(|| "as given".into()),
            sigma2(&regression.before.sigma2),
            sigma2(&regression.after.sigma2),
        ]);
    }
    text.table(table);
    text.line("");
    text.line("Slopes are earnings, in the file's unit, for each 1/10,000 of share.");
    for row in &report.regressions {
        if let Some(words) = LeftOut::in_words(&row.left_out) {
            text.line(format!("{}: {words}.", row.geography));
        }
        if row.strangers > 0 {
            text.line(format!(
                "{}: {} of the areas are of another kind, by their codes.",
                row.geography, row.strangers
            ));
        }
    }
    text.line("");
    let trials = report.regressions[0].regression.trials;
    text.line(format!(
        "How far the slope is off in the mean, with 95 % Monte-Carlo intervals of {trials} trials:"
    ));
    text.line("");
    let mut table = Table::new(&["geography", "estimate", before, after, "less by, %"]);
    for row in &report.regressions {
        for (name, before, after, reduction) in estimates(&row.regression) {
            table.row(vec![
                if name == "plain" { row.geography.clone() } else { String::new() },
                name.into(),
                with_interval(before.mae.as_ref()),
                with_interval(after.mae.as_ref()),
                with_interval(reduction.map(|r| &r.percent)),
            ]);
        }
    }
    text.table(table);
    text.line("");
    conclusion(&mut text, report);
    failures(&mut text, report, [before, after]);
    text.line(
        "noise-aware: corrected for the noise that is known to be in the shares (errors in variables).",
    );
    text.line("All of these are from simulation; none is a guarantee.");
    text
}

/// Where the interval does not exclude that there is no improvement.
fn conclusion(text: &mut Document, report: &Report) {
    let rows = report.regressions.iter();
    let unproven = rows.flat_map(|row| {
        let without =
            |(_, _, _, reduction): &(_, _, _, Option<&Reduction>)| !reduction.is_some_and(|r| r.improves);
        let named = |(name, ..): (&str, _, _, _)| format!("{} ({name})", row.geography);
        estimates(&row.regression).into_iter().filter(without).map(named).collect::<Vec<_>>()
    });
    let unproven: Vec<String> = unproven.collect();
    text.line(match &unproven[..] {
        [] => "Every interval of the last column excludes no improvement.".into(),
        _ => format!("The interval does NOT exclude no improvement for {}.", unproven.join(", ")),
    });
}

/// Trials that are in no mean, and areas that are missing in some.
fn failures(text: &mut Document, report: &Report, names: [&str; 2]) {
    for row in &report.regressions {
        for (name, noise) in names.iter().zip([&row.regression.before, &row.regression.after]) {
            let Distorted { emptied, plain, aware, .. } = noise;
            let of = format!("{}, {name}", row.geography);
            if *emptied > 0 {
                text.line(format!(
                    "{of}: {emptied} times in all trials an area was left out, with no noisy count above 0."
                ));
            }
            if plain.failed + aware.failed > 0 {
                text.line(format!(
                    "{of}: trials without a slope, which are in no mean: {} (plain), {} (noise-aware).",
                    plain.failed, aware.failed
                ));
            }
        }
    }
}

/// `1.234 ± 0.012`: two digits of the half-width.
fn with_interval(estimate: Option<&Estimate>) -> String {
    let Some(Estimate { mean, half_width }) = estimate else { return "–".into() };
    let scientific = format!("{half_width:.1e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(1 - exponent).unwrap_or(0);
    format!("{mean:.decimals$} ± {half_width:.decimals$}").replace('-', "−")
}

fn csv(report: &Report) -> String {
    let mut heads = vec![
        "file",
        "geography",
        "areas",
        "left_out",
        "slope",
        "level",
        "sigma2_before",
        "sigma2_after",
        "trials",
        "estimate",
        "mae_before",
        "mae_before_half_width",
        "failed_before",
        "mae_after",
        "mae_after_half_width",
        "failed_after",
        "reduction_percent",
        "reduction_half_width",
        "improves",
    ];
    // As `unspent sample` says it.
    heads.extend(report.warning.as_ref().map(|_| "noise_NOT_PRIVATE"));
    let mut rows = vec![];
    for row in &report.regressions {
        let regression = &row.regression;
        for (name, before, after, reduction) in estimates(regression) {
            let pair = |estimate: Option<&Estimate>| match estimate {
                Some(e) => [e.mean.to_string(), e.half_width.to_string()],
                None => Default::default(),
            };
            let mut cells = vec![
                row.file.clone(),
                row.geography.clone(),
                regression.areas.to_string(),
                row.left_out.iter().map(|left| left.areas).sum::<u64>().to_string(),
                regression.slope.to_string(),
                row.level.clone().unwrap_or_default(),
                regression.before.sigma2.to_short(),
                regression.after.sigma2.to_short(),
                regression.trials.to_string(),
                name.into(),
            ];
            cells.extend(pair(before.mae.as_ref()));
            cells.push(before.failed.to_string());
            cells.extend(pair(after.mae.as_ref()));
            cells.push(after.failed.to_string());
            cells.extend(pair(reduction.map(|r| &r.percent)));
            cells.push(reduction.is_some_and(|r| r.improves).to_string());
            cells.extend(report.warning.clone());
            rows.push(cells);
        }
    }
    output::csv(&heads, &rows)
}
