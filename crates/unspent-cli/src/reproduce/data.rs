//! What depends on data: errors after cutting at zero, and slopes. On made-up data unless tables are given,
//! and labelled so.

use std::path::Path;

use unspent::sampler::Key;
use unspent::{Rational, Release};
use unspent_data::population::{self, Population};
use unspent_data::regression::{Area, Distorted, Distortion, Geography, Regression, Sample, SurveyFile};
use unspent_data::table::{Row, TakeRow};
use unspent_data::utility::{BANDS, Evaluation, LevelErrors, LevelNoise, Question, SimulatedMean, Utility};
use unspent_data::{Table, all_cores};

use super::processing::{self, Known, PublishedTables};
use super::published::LEVELS;
use super::study::{self, Study, Verdict};
use crate::Failure;
use crate::plot::{Axis, Bar, Figure, Panel, Role, Series, comparable};
use crate::progress::Progress;
use crate::utility;
use crate::{defect, source};

/// Tables to compute on, instead of made-up data.
#[derive(Default)]
pub struct Files<'f> {
    /// A table of counts.
    pub table: Option<&'f str>,
    /// How it is read.
    pub schema: Option<&'f str>,
    /// Tables S1501, one for each geography.
    pub surveys: &'f [String],
}

/// What was found on the data.
pub struct Data {
    /// What the counts are of.
    pub counts: Source,
    /// Their errors, with the paper's noise of each level and with the reduced one.
    pub utility: Utility,
    /// What less noise is worth after post-processing; why not, if that is not computed.
    pub processed: Result<PublishedTables, String>,
    /// What the areas are of.
    pub areas: Source,
    /// The slope of earnings on education, for each geography.
    pub slopes: Vec<(String, Regression)>,
}

/// Where data come from.
pub struct Source {
    /// As it is called in captions.
    pub name: String,
    /// Nobody in it exists.
    pub made_up: bool,
}

impl Source {
    /// What a published simulation is compared with, and why that is no more than it is.
    pub fn verdict(&self, computed: Option<f64>) -> (Verdict, String) {
        match computed {
            Some(_) if !self.made_up => (
                Verdict::Simulated,
                format!("Depends on the data: what is computed is expected on {}.", self.name),
            ),
            Some(x) => (
                Verdict::NotComputed,
                format!("Depends on the data, which are not here; on {} it is {x:.2}.", self.name),
            ),
            None => (Verdict::NotComputed, format!("Depends on the data; {} has no such level.", self.name)),
        }
    }
}

/// Blocks of the population that is made up, and its seed.
const BLOCKS: (u64, u64) = (200_000, 1);
/// How many times noise is added to the areas.
const TRIALS: u64 = 10_000;
/// Slopes are simulated on data that are public or made up, and should be the same every time.
const SEED: u64 = 2_025;

impl Data {
    /// Computes everything; `before` and `after` are the paper's noise and what would do, and `overall` what
    /// part of all variances could go, by the first term of δ and by both.
    pub fn new(
        files: &Files<'_>,
        [before, after]: [&Release; 2],
        overall: [f64; 2],
        progress: &mut Progress,
    ) -> Result<Data, Failure> {
        let noise_of = |level: &str| -> Result<Option<[Rational; 2]>, Failure> {
            let Some(level) = in_the_paper(level) else { return Ok(None) };
            Ok(Some([Study::sigma2(before, level)?, Study::sigma2(after, level)?]))
        };
        progress.step("errors of counts");
        let (counts, utility, known) = errors(files, &noise_of, overall, progress)?;
        progress.step("published tables");
        let processed = known.and_then(|known| PublishedTables::new(known, overall, progress));
        progress.step("slopes");
        let (areas, samples) = samples(files)?;
        let key = Key::not_private(SEED);
        let threads = all_cores();
        let mut slopes = vec![];
        for (name, level, sample) in samples {
            let [before, after] = noise_of(level)?.expect("a level of the paper");
            slopes.push((name, Regression::simulate(&sample, [&before, &after], TRIALS, &key, threads)?));
        }
        Ok(Data { counts, utility, processed, areas, slopes })
    }

    /// The errors of a level of the table, by the paper's name.
    pub fn level(&self, name: &str) -> Option<&LevelErrors> {
        self.utility.levels.iter().find(|level| in_the_paper(&level.level) == Some(name))
    }
}

/// The level of the paper whose noise a level of a table gets.
fn in_the_paper(level: &str) -> Option<&'static str> {
    let same = LEVELS.iter().map(|l| l.name).find(|name| name.eq_ignore_ascii_case(level));
    same.or(match level.to_lowercase().as_str() {
        "tract" => Some("Tract Subset"),
        "block group" => Some("Optimized Block Group"),
        _ => None,
    })
}

/// σ² of a level before and after, if the paper has it.
type NoiseOf<'n> = dyn Fn(&str) -> Result<Option<[Rational; 2]>, Failure> + 'n;

fn errors(
    files: &Files<'_>,
    noise_of: &NoiseOf<'_>,
    overall: [f64; 2],
    progress: &mut Progress,
) -> Result<(Source, Utility, Result<Known, String>), Failure> {
    let schema = match files.table {
        None => population::schema(),
        Some(table) => {
            source::table(table).needed_schema(source::schema(files.schema)?, None).map_err(no_table)?
        }
    };
    let mut noises = vec![];
    let levels = schema.layout().map(|layout| layout.levels().to_vec()).unwrap_or_default();
    for level in &levels {
        if let Some([before, after]) = noise_of(&level.name)? {
            noises.push(LevelNoise { level: level.name.clone(), before, after });
        }
    }
    if noises.is_empty() {
        let known: Vec<&str> = LEVELS.iter().map(|l| l.name).collect();
        return Err(Failure::usage(
            "the table has none of the levels of the paper",
            format!("name them in [table.levels] as it does: {}", known.join(", ")),
        ));
    }
    // By race if the table knows it, as in the paper; by all that it knows otherwise.
    let names: Vec<String> = schema.attributes().iter().map(|a| a.name.clone()).collect();
    let race: Vec<String> = names.iter().filter(|name| *name == "race").cloned().collect();
    let by = if race.is_empty() { names } else { race };
    let processing = processing::question(&schema, &noises, overall);
    let question = Question { schema, by, noises, bands: BANDS.to_vec(), trials: 0, releases: None };
    let evaluation = Evaluation::new(question, None)?;
    let Some(path) = files.table else {
        let population = Population::new(BLOCKS.0, BLOCKS.1)?;
        let found = evaluation.evaluate(None, |row| {
            for block in population {
                row(Row { codes: &[block.code()], values: &[], counts: &block.counts.map(i64::from) })?;
            }
            Ok(())
        })?;
        let name = "made-up data (unspent synthesize, 200,000 blocks)".into();
        return Ok((Source { name, made_up: true }, found, processing.and_then(processing::made_up)));
    };
    defect::hide_values();
    let table = Table::open(source::table(path), evaluation.plan().columns())?;
    // Both are made in one reading.
    let mut found = None;
    let name = source::file_name(path);
    let known = match processing {
        Ok(processing) => {
            let known = processing.read(None, |also| {
                let both = |row: &mut TakeRow<'_>| {
                    table.rows(progress, &mut |line| also(line).and_then(|()| row(line)))
                };
                found = Some(evaluation.evaluate(None, both)?);
                Ok(())
            })?;
            Ok(Known { tables: known, name: name.clone() })
        }
        Err(why) => {
            found = Some(evaluation.evaluate(None, |row| table.rows(progress, row))?);
            Err(why)
        }
    };
    let found = found.expect("the table was read");
    Ok((Source { name, made_up: false }, found, known))
}

fn no_table(error: unspent::Error) -> Failure {
    Failure { hint: source::NO_TABLE.into(), ..error.into() }
}

/// The name of each geography, the level of the paper whose noise it gets, and its areas.
type Samples = Vec<(String, &'static str, Sample)>;

fn samples(files: &Files<'_>) -> Result<(Source, Samples), Failure> {
    if files.surveys.is_empty() {
        let made_up =
            |name: &str, level, areas, size| Ok((name.into(), level, Sample::new(invented(areas, size))?));
        let samples: Result<Samples, unspent::Error> = [
            made_up("states", "State", 52, 60_000),
            made_up("counties", "County", 800, 1_500),
            made_up("tracts", "Tract Subset", 2_000, 60),
        ]
        .into_iter()
        .collect();
        return Ok((Source { name: "made-up areas".into(), made_up: true }, samples?));
    }
    let mut samples = vec![];
    for path in files.surveys {
        defect::hide_values();
        let file = SurveyFile::read(Path::new(path), &[])?;
        let level = file.geography.map_or(Geography::OTHER, |g| g.levels).iter();
        let level = level.copied().find_map(in_the_paper).unwrap_or("Tract Subset");
        samples.push((file.name(), level, file.sample));
    }
    let names: Vec<String> = files.surveys.iter().map(|path| source::file_name(path)).collect();
    Ok((Source { name: names.join(", "), made_up: false }, samples))
}

/// Areas of unlike sizes whose earnings rise with the share of bachelor's degrees, with some scatter. The
/// sequences are those of multiples of an irrational number, which look random enough and are the same
/// everywhere.
fn invented(areas: u32, size: i64) -> Vec<Area> {
    let part = |i: u32, step: f64| (f64::from(i) * step).fract();
    (1..=areas)
        .map(|i| {
            let share = 0.12 + 0.5 * part(i, 0.618_033_988_749_894_9);
            let people = size * (1 + i64::from(i * i % 97));
            let rest = |weight: f64| ((1.0 - share) * weight * people as f64) as i64;
            let bachelors = (share * people as f64) as i64;
            let counts = [rest(0.06), rest(0.08), rest(0.4), rest(0.32), rest(0.14), bachelors];
            let earnings = 25_000.0 + 80_000.0 * share + 16_000.0 * part(i, 0.414_213_562_373_095_1);
            Area { counts, earnings: earnings.round() }
        })
        .collect()
}

/// Errors of counts that are clamped at zero, by level.
pub fn cut_table(data: &Data) -> study::Table {
    let rows = data.utility.levels.iter().map(|level| {
        let (pair, number) = (&level.all.cut, |x: f64| format!("{x:.6}"));
        vec![
            level.level.clone(),
            level.units.to_string(),
            level.all.counts.to_string(),
            number(pair.before.mse),
            number(pair.after.mse),
            format!("{:.4}", 100.0 * pair.mse_reduction()),
            number(pair.before.mae),
            number(pair.after.mae),
            format!("{:.4}", 100.0 * pair.mae_reduction()),
            number(pair.before.bias),
            number(pair.after.bias),
        ]
    });
    study::Table {
        id: "cut-error",
        title: "Expected error with counts clamped at zero".into(),
        note: format!(
            "On {}. A count that is published as zero when noise makes it negative has less error, and a \
             bias. Sums over the exact law of the noise; no simulation.",
            data.counts.name
        ),
        heads: vec![
            "level",
            "units",
            "counts",
            "mse",
            "mse_reduced_noise",
            "mse_less_percent",
            "mae",
            "mae_reduced_noise",
            "mae_less_percent",
            "bias",
            "bias_reduced_noise",
        ],
        rows: rows.collect(),
    }
}

/// Errors of the best linear unbiased estimates from the noisy counts, by level.
pub fn estimate_table(data: &Data) -> study::Table {
    let rows = data.utility.levels.iter().map(|level| {
        let number = |x: Option<f64>| x.map_or_else(String::new, |x| format!("{x:.6}"));
        let percent = |x: Option<f64>| x.map_or_else(String::new, |x| format!("{:.4}", 100.0 * x));
        let [before, after] = level.estimate.map_or([None; 2], |estimate| estimate.mse());
        let part = |mse: Option<f64>, raw: f64| mse.map(|mse| (mse / raw).sqrt());
        vec![
            level.level.clone(),
            level.units.to_string(),
            number(before),
            number(after),
            percent(before.zip(after).map(|(before, after)| 1.0 - after / before)),
            number(before.map(f64::sqrt)),
            number(after.map(f64::sqrt)),
            percent(part(before, level.all.plain.before.mse)),
            percent(part(after, level.all.plain.after.mse)),
        ]
    });
    study::Table {
        id: "estimate-error",
        title: "Expected error after estimation".into(),
        note: format!(
            "On the units of {}. The best linear unbiased estimate of a count from its own noisy count and \
             those of all other units: what a parent and its children say together. It is not clamped, and \
             has no bias; its mean squared error is its variance, and no guarantee of a single count.",
            data.counts.name
        ),
        heads: vec![
            "level",
            "units",
            "mse",
            "mse_reduced_noise",
            "mse_less_percent",
            "rmse",
            "rmse_reduced_noise",
            "percent_of_raw_rmse",
            "percent_of_raw_rmse_reduced_noise",
        ],
        rows: rows.collect(),
    }
}

/// Distortions of the slope, with intervals.
pub fn slope_table(data: &Data) -> study::Table {
    let shown = |e: Option<&SimulatedMean>| {
        e.map_or_else(String::new, |e| format!("{:.4e} ± {:.1e}", e.mean, e.half_width))
    };
    let rows = data.slopes.iter().flat_map(|(name, found)| {
        let estimates = [
            ("as counts", &found.before.plain, &found.after.plain, &found.plain),
            ("corrected", &found.before.aware, &found.after.aware, &found.aware),
        ];
        estimates.map(|(analyst, before, after, reduction)| {
            vec![
                name.clone(),
                found.areas.to_string(),
                format!("{:.5}", found.slope),
                analyst.into(),
                shown(before.mae.as_ref()),
                shown(after.mae.as_ref()),
                reduction.as_ref().map_or_else(String::new, |r| {
                    format!("{:.2} ± {:.2}", r.percent.mean, r.percent.half_width)
                }),
            ]
        })
    });
    study::Table {
        id: "slopes",
        title: "Distortion of the slope of earnings on education".into(),
        note: format!(
            "On {}. Means over {TRIALS} trials with intervals of 95 % (Monte Carlo); earnings for each \
             1/10,000 of share. The paper has three trials.",
            data.areas.name
        ),
        heads: vec![
            "geography",
            "areas",
            "slope",
            "noisy_counts_are",
            "mae",
            "mae_reduced_noise",
            "less_percent",
        ],
        rows: rows.collect(),
    }
}

/// Errors by level.
pub fn by_level(data: &Data) -> Figure {
    Figure { subtitle: on(&data.counts), ..utility::by_level(&data.utility) }
}

/// Errors by race and size, of blocks.
pub fn by_race(data: &Data) -> Figure {
    let level = data.utility.levels.last().expect("there is a level");
    Figure { subtitle: format!("{}; counts clamped at zero", on(&data.counts)), ..utility::by_cell(level) }
}

/// The distortion of the slope, a panel a geography.
pub fn slopes(data: &Data) -> Figure {
    let panel = |(name, found): &(String, Regression)| {
        let bars = |of: &Distorted| {
            let bar = |of: &Distortion| {
                let value = of.mae.as_ref().map_or(f64::NAN, |mae| mae.mean);
                Bar { value, label: format!("{value:.2e}") }
            };
            vec![bar(&of.plain), bar(&of.aware)]
        };
        Panel {
            title: format!("{name}: {} areas", found.areas),
            x: Axis::linear("mean absolute error of the slope"),
            categories: vec!["noisy counts taken as counts".into(), "corrected for the noise".into()],
            series: vec![
                Series::bars("published noise", Role::Baseline(0), bars(&found.before)),
                Series::bars("reduced noise", Role::Guarantee, bars(&found.after)),
            ],
            ..Panel::default()
        }
    };
    comparable(Figure {
        title: "How far noise moves the slope of earnings on education".into(),
        subtitle: format!("{}; {TRIALS} trials each; shorter is better", on(&data.areas)),
        notes: vec!["Simulated; the intervals are in the table. Earnings for each 1/10,000 of share.".into()],
        columns: 1,
        panels: data.slopes.iter().map(panel).collect(),
    })
}

fn on(source: &Source) -> String {
    format!("on {}", source.name)
}
