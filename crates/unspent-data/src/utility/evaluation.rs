//! What noise does to a whole table: by level, by cell, by size of the unit.
//!
//! ```text
//! rows ─▶ Tabulation ─▶ how often each count occurs, by level, cell and band ─▶ sums over the law ─▶ Utility
//!                    ├▶ trials with noise, if asked for ──────────────────────▶ means with intervals ─┤
//!                    └▶ tree of the units ──────────────────────────────────▶ errors after estimation ─┘
//! ```
//!
//! The expected errors of a count depend on the count alone, so that a table costs what its distinct counts
//! cost.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use unspent::expected::{Expected, Law, Sum};
use unspent::sampler::{Key, Noise, Sampler};
use unspent::schema::Schema;
use unspent::{Allocation, DiscreteGaussian, Error, ErrorKind, Rational, Result, stop};

use super::errors::{Errors, Group, LevelErrors, NOT_PRIVATE, Pair, Simulated, SimulatedMean, Utility};
use super::estimation::{self, EstimateErrors, UnitTree};
use crate::plan::{LevelQueries, Plan, PlannedLevel, Query, UnitBudget};
use crate::progress::{Progress, Quiet};
use crate::table::TakeRow;
use crate::tabulation::{Batch, Feed, RowOrder};
use crate::units::Units;

/// The noise of a level, before and after.
#[derive(Clone, Debug)]
pub struct LevelNoise {
    /// The level of the table.
    pub level: String,
    /// σ² on every cell before.
    pub before: Rational,
    /// σ² on every cell after.
    pub after: Rational,
}

/// What is asked of a table.
#[derive(Clone, Debug)]
pub struct Question {
    /// How the table is read.
    pub schema: Schema,
    /// The attributes whose cells are looked at; the others are summed up.
    pub by: Vec<String>,
    /// At least one level.
    pub noises: Vec<LevelNoise>,
    /// Where bands of the units' sizes begin, ascending from 0.
    pub bands: Vec<u64>,
    /// How many times the noise is drawn, besides.
    pub trials: u64,
    /// The allocations before and after from all of whose measurements estimates are made; unless given,
    /// from the noisy counts alone. Both have all levels of `noises`.
    pub releases: Option<[Allocation; 2]>,
}

/// Biases below this are none.
const LEAST_BIAS: f64 = 1e-12;

/// Fewest draws for an interval.
const ENOUGH: u64 = 1_000;

/// Rows in, errors out.
pub struct Evaluation {
    question: Question,
    plan: Plan,
    levels: Vec<LevelSums>,
    units: UnitTree,
}

/// What is known of a level's counts so far.
struct LevelSums {
    units: u64,
    /// For each cell and band, how often each count occurs.
    counts: Vec<Occurrences>,
    trials: Option<Trials>,
}

/// The noise of a level's trials, and the errors it has made.
struct Trials {
    noises: [Noise; 2],
    threads: NonZeroUsize,
    /// For each cell and band, before and after: plain and cut.
    errors: Vec<[[ErrorSums; 2]; 2]>,
    /// Counts that were read and have had no noise yet.
    waiting: Vec<Counted>,
}

/// The counts of some units, a cell after the other, and the band of each unit.
struct Counted {
    values: Vec<i64>,
    bands: Vec<usize>,
}

/// Counts that may wait for their trials.
const MAX_WAITING: usize = 1 << 23;

/// Sums of errors.
#[derive(Clone, Copy, Default)]
struct ErrorSums {
    n: u64,
    signed: f64,
    absolute: f64,
    squares: f64,
    fourth: f64,
}

/// How often each count occurs: nearly all are small.
#[derive(Default)]
struct Occurrences {
    small: Vec<u64>,
    large: HashMap<u64, u64>,
}

const SMALL: usize = 1 << 12;

impl Occurrences {
    fn add(&mut self, count: u64) {
        let Some(at) = usize::try_from(count).ok().filter(|n| *n < SMALL) else {
            *self.large.entry(count).or_default() += 1;
            return;
        };
        if self.small.len() <= at {
            self.small.resize(at + 1, 0);
        }
        self.small[at] += 1;
    }

    fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let small = self.small.iter().enumerate().map(|(count, times)| (count as u64, *times));
        small.filter(|(_, times)| *times > 0).chain(self.large.iter().map(|(count, times)| (*count, *times)))
    }
}

impl Evaluation {
    /// Checks the question; trials draw their noise from a key, on so many threads.
    pub fn new(question: Question, source: Option<(&Key, NonZeroUsize)>) -> Result<Evaluation> {
        check_bands(&question.bands)?;
        if question.noises.is_empty() {
            let hint = "give an allocation, or the noise of a level";
            return Err(Error::of_kind(ErrorKind::NoVariance, "no noise was given", hint));
        }
        let plan = plan(&question)?;
        let groups = plan.levels()[0].queries[0].length() * question.bands.len();
        let level = |level: &PlannedLevel| -> Result<LevelSums> {
            let noises = [false, true].map(|after| noise_of(&question, level, after));
            // The plan has checked what is before.
            Law::new(&noises[1])?;
            let trials = match source.filter(|_| question.trials > 0) {
                None => None,
                Some((key, threads)) => {
                    let noise = |sigma2| Ok::<_, Error>(key.noise(&Sampler::new(sigma2)?));
                    let noises = [noise(&noises[0])?, noise(&noises[1])?];
                    let errors = vec![Default::default(); groups];
                    Some(Trials { noises, threads, errors, waiting: vec![] })
                }
            };
            Ok(LevelSums { units: 0, counts: (0..groups).map(|_| Occurrences::default()).collect(), trials })
        };
        let levels = plan.levels().iter().map(level).collect::<Result<_>>()?;
        let units = UnitTree::new(&plan);
        Ok(Evaluation { question, plan, levels, units })
    }

    /// What is tabulated, and from which columns.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Reads a table: `rows` gives each row's codes and counts to what it is given.
    ///
    /// Without a list of units, the units are those of the table.
    pub fn evaluate(
        self,
        units: Option<&Units>,
        rows: impl FnOnce(&mut TakeRow<'_>) -> Result<()>,
    ) -> Result<Utility> {
        self.read(units, rows)?.report(&mut Quiet)
    }

    /// The same without the trials of the last counts, which take most of the time.
    pub fn read(
        mut self,
        units: Option<&Units>,
        rows: impl FnOnce(&mut TakeRow<'_>) -> Result<()>,
    ) -> Result<TableRead> {
        let Evaluation { question, plan, levels, units: tree } = &mut self;
        let mut full = |batch: Batch| {
            tree.add(batch.level(), batch.children());
            tally(question, plan, levels, &batch)
        };
        let mut feed = match units {
            Some(_) => Feed::new("table", plan, units, false, RowOrder::Any)?,
            None => Feed::of_table(plan)?,
        };
        rows(&mut |row| feed.row(row, &mut full))?;
        let rows = feed.finish(&mut full)?;
        Ok(TableRead { evaluation: self, rows })
    }

    fn report(&self, rows: u64) -> Result<Utility> {
        let (estimated_from, estimates) = estimation::estimate(&self.question, &self.plan, &self.units)?;
        let mut levels = vec![];
        for ((level, sums), estimate) in self.plan.levels().iter().zip(&self.levels).zip(estimates) {
            levels.push(self.level(level, sums, estimate)?);
        }
        Ok(Utility {
            warning: NOT_PRIVATE,
            by: self.question.by.clone(),
            rows,
            trials: self.question.trials,
            estimated_from,
            levels,
        })
    }

    fn level(
        &self,
        level: &PlannedLevel,
        sums: &LevelSums,
        estimate: Option<EstimateErrors>,
    ) -> Result<LevelErrors> {
        let noises = [false, true].map(|after| noise_of(&self.question, level, after));
        let laws = [Law::new(&noises[0])?, Law::new(&noises[1])?];
        let mut distinct: Vec<u64> =
            sums.counts.iter().flat_map(|c| c.iter().map(|(count, _)| count)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let cut = laws.each_ref().map(|law| -> HashMap<u64, Expected> {
            distinct.iter().copied().zip(law.cut(&distinct)).collect()
        });
        let bands = self.question.bands.len();
        let errors = |groups: &mut dyn Iterator<Item = usize>| {
            let groups: Vec<usize> = groups.collect();
            errors_of(sums, &groups, &laws, &cut)
        };
        let names = cell_names(&self.question);
        let band_names: Vec<String> = (0..bands).map(|band| band_name(&self.question.bands, band)).collect();
        let group = |cell: Option<usize>, band: Option<usize>| {
            let cells = cell.map_or(0..names.len(), |cell| cell..cell + 1);
            let mut groups = cells.flat_map(|cell| {
                band.map_or(0..bands, |band| band..band + 1).map(move |band| cell * bands + band)
            });
            Group {
                cell: cell.map(|cell| names[cell].clone()),
                band: band.map(|band| band_names[band].clone()),
                errors: errors(&mut groups),
            }
        };
        let occupied = |group: &Group| group.errors.counts > 0;
        Ok(LevelErrors {
            level: level.name.clone(),
            units: sums.units,
            sigma2_before: noises[0].to_decimal_or_fraction(),
            sigma2_after: noises[1].to_decimal_or_fraction(),
            all: group(None, None).errors,
            estimate,
            cells: (0..names.len()).map(|cell| group(Some(cell), None)).collect(),
            bands: (0..bands).map(|band| group(None, Some(band))).filter(occupied).collect(),
            cells_by_band: (0..names.len())
                .flat_map(|cell| (0..bands).map(move |band| (Some(cell), Some(band))))
                .map(|(cell, band)| group(cell, band))
                .filter(occupied)
                .collect(),
        })
    }
}

/// A table that was read.
pub struct TableRead {
    evaluation: Evaluation,
    rows: u64,
}

impl TableRead {
    /// Draws what noise is left to draw, and sums up.
    pub fn report(mut self, progress: &mut dyn Progress) -> Result<Utility> {
        let Evaluation { question, levels, .. } = &mut self.evaluation;
        draw(question, levels, progress)?;
        self.evaluation.report(self.rows)
    }
}

/// Fails unless bands begin at 0 and ascend.
pub(super) fn check_bands(bands: &[u64]) -> Result<()> {
    if bands.first() == Some(&0) && bands.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let shown = bands.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let hint = "write where each band begins, like 0,1,10,100,1000";
    Err(Error::input("bands", shown, "ascending numbers from 0 on", hint))
}

/// One query at each level: all cells that are looked at.
fn plan(question: &Question) -> Result<Plan> {
    let noise = |noise: &LevelNoise| DiscreteGaussian::new(noise.before.clone(), 1);
    let noises: Vec<DiscreteGaussian> = question.noises.iter().map(noise).collect::<Result<_>>()?;
    let rho = |noise: &DiscreteGaussian| noise.rho(1);
    let rhos: Vec<Rational> = noises.iter().map(rho).collect();
    let levels = question.noises.iter().zip(noises.iter().zip(&rhos)).map(|(level, (noise, rho))| {
        let query =
            Query { name: "cells", by: &question.by, noises: vec![(noise.clone().into(), rho.clone())] };
        let budgets = vec![UnitBudget { levels: vec![level.level.clone()] }];
        LevelQueries { level: &level.level, budgets, queries: vec![query], exact: vec![] }
    });
    Plan::new(&question.schema, levels)
}

fn noise_of(question: &Question, level: &PlannedLevel, after: bool) -> Rational {
    let noise = question.noises.iter().find(|n| n.level == level.name).expect("a level of the question");
    if after { noise.after.clone() } else { noise.before.clone() }
}

/// Counts a batch, and keeps it for its trials if there are any.
fn tally(question: &Question, plan: &Plan, levels: &mut [LevelSums], batch: &Batch) -> Result<()> {
    let cells = plan.levels()[batch.level()].queries[0].length();
    let sums = &mut levels[batch.level()];
    let values = batch.exact(0);
    let bands = question.bands.len();
    // The band of every unit.
    let band = |unit: &[i64]| {
        let size = unit.iter().map(|n| *n as u64).fold(0, u64::saturating_add);
        question.bands.partition_point(|from| *from <= size) - 1
    };
    let units: Vec<usize> = values.chunks_exact(cells).map(band).collect();
    sums.units += units.len() as u64;
    for (unit, band) in values.chunks_exact(cells).zip(&units) {
        for (cell, count) in unit.iter().enumerate() {
            sums.counts[cell * bands + band].add(*count as u64);
        }
    }
    let Some(trials) = &mut sums.trials else { return Ok(()) };
    trials.waiting.push(Counted { values, bands: units });
    let waiting = levels.iter().filter_map(|sums| sums.trials.as_ref()).flat_map(|trials| &trials.waiting);
    if waiting.map(|counted| counted.values.len()).sum::<usize>() > MAX_WAITING {
        draw(question, levels, &mut Quiet)?;
    }
    Ok(())
}

/// Draws the noise of all counts that wait for it, a trial after the other.
fn draw(question: &Question, levels: &mut [LevelSums], progress: &mut dyn Progress) -> Result<()> {
    let mut levels: Vec<&mut Trials> = levels.iter_mut().filter_map(|sums| sums.trials.as_mut()).collect();
    let most = levels.iter().flat_map(|trials| &trials.waiting).map(|counted| counted.values.len()).max();
    let mut noise = vec![0; most.unwrap_or_default()];
    for trial in 0..question.trials {
        stop::check();
        progress.done("trials", trial, question.trials);
        for Trials { noises, threads, errors, waiting } in &mut levels {
            for Counted { values, bands } in &*waiting {
                let noise = &mut noise[..values.len()];
                let cells = values.len() / bands.len();
                for (which, source) in noises.iter_mut().enumerate() {
                    source.fill_on(*threads, noise)?;
                    let units = values.chunks_exact(cells).zip(noise.chunks_exact(cells)).zip(bands);
                    for ((unit, noise), band) in units {
                        for (cell, (count, x)) in unit.iter().zip(noise).enumerate() {
                            let [plain, cut] = &mut errors[cell * question.bands.len() + band][which];
                            plain.add(*x as f64);
                            // As −X is never more than the count then.
                            cut.add((*x).max(-count) as f64);
                        }
                    }
                }
            }
        }
    }
    levels.iter_mut().for_each(|trials| trials.waiting.clear());
    Ok(())
}

impl ErrorSums {
    #[inline]
    fn add(&mut self, error: f64) {
        let square = error * error;
        self.n += 1;
        self.signed += error;
        self.absolute += error.abs();
        self.squares += square;
        self.fourth += square * square;
    }

    fn merge(&mut self, other: &ErrorSums) {
        self.n += other.n;
        self.signed += other.signed;
        self.absolute += other.absolute;
        self.squares += other.squares;
        self.fourth += other.fourth;
    }

    fn estimates(&self) -> Simulated {
        let n = self.n as f64;
        Simulated {
            mse: SimulatedMean::new(n, self.squares, self.fourth),
            mae: SimulatedMean::new(n, self.absolute, self.squares),
            bias: SimulatedMean::new(n, self.signed, self.squares),
        }
    }
}

/// The mean errors of some groups of counts.
fn errors_of(
    sums: &LevelSums,
    groups: &[usize],
    laws: &[Law; 2],
    cut: &[HashMap<u64, Expected>; 2],
) -> Errors {
    let mut occurrences: BTreeMap<u64, u64> = BTreeMap::new();
    for group in groups {
        for (count, times) in sums.counts[*group].iter() {
            *occurrences.entry(count).or_default() += times;
        }
    }
    let counts: u64 = occurrences.values().sum();
    let mean = |of: &HashMap<u64, Expected>| {
        let (mut mse, mut mae, mut bias) = (Sum::default(), Sum::default(), Sum::default());
        for (count, times) in &occurrences {
            let (expected, times) = (of[count], *times as f64);
            mse.add(times * expected.mse);
            mae.add(times * expected.mae);
            bias.add(times * expected.bias);
        }
        let n = counts.max(1) as f64;
        let bias = bias.value() / n;
        // Of counts far above the noise nothing is cut off that anyone could notice.
        let bias = if bias.abs() < LEAST_BIAS { 0.0 } else { bias };
        Expected { mse: mse.value() / n, mae: mae.value() / n, bias }
    };
    let simulated = |cut: usize| {
        let trials = sums.trials.as_ref()?;
        let drawn = [0, 1].map(|which| {
            let mut sums = ErrorSums::default();
            groups.iter().for_each(|group| sums.merge(&trials.errors[*group][which][cut]));
            sums
        });
        // With fewer the normal approximation would say more than is known.
        (drawn[0].n >= ENOUGH).then(|| drawn.map(|sums| sums.estimates()))
    };
    Errors {
        counts,
        plain: Pair { before: laws[0].plain(), after: laws[1].plain(), simulated: simulated(0) },
        cut: Pair { before: mean(&cut[0]), after: mean(&cut[1]), simulated: simulated(1) },
    }
}

/// `white`, or `adult, white` if there are several attributes.
fn cell_names(question: &Question) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in question.schema.resolve(&question.by).expect("was checked") {
        let values: Vec<&String> = match part.recode {
            Some(recode) => recode.groups.iter().map(|group| &group.label).collect(),
            None => question.schema.attributes()[part.attribute].values.iter().collect(),
        };
        let join = |before: &String, value: &String| {
            if before.is_empty() { value.clone() } else { format!("{before}, {value}") }
        };
        names = names.iter().flat_map(|before| values.iter().map(move |v| join(before, v))).collect();
    }
    if question.by.is_empty() { vec!["total".into()] } else { names }
}

/// `10–99`, `100 and more`.
pub(super) fn band_name(bands: &[u64], band: usize) -> String {
    match bands.get(band + 1) {
        Some(next) if next - 1 == bands[band] => bands[band].to_string(),
        Some(next) => format!("{}–{}", bands[band], next - 1),
        None => format!("{} and more", bands[band]),
    }
}

#[cfg(test)]
mod tests;
