//! What noise does to a whole table: by level, by cell, by size of the unit; before and after a change of the noise.
//!
//! ```text
//! rows ─▶ Tabulation ─▶ how often each count occurs, by level, cell and band ─▶ sums over the law ─▶ Utility
//!                    └▶ trials with noise, if asked for ──────────────────────▶ means with intervals ─┘
//! ```
//!
//! The expected errors of a count depend on the count alone, so that a table costs what its distinct counts cost.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use serde::Serialize;

use super::expected::{Expected, Law, Sum};
use crate::allocation::{Allocation, Budget, Neighbours, Schema};
use crate::error::{Error, Result};
use crate::measure::{Batch, Plan, PlannedLevel, Tabulation};
use crate::number::Rational;
use crate::sampler::{Key, Noise, Sampler};

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
}

/// The errors of a table, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Utility {
    /// What it must not be used for.
    pub warning: &'static str,
    /// The attributes whose cells were looked at.
    pub by: Vec<String>,
    /// The rows of the table.
    pub rows: u64,
    /// How many times the noise was drawn.
    pub trials: u64,
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelErrors>,
}

/// The errors of a level.
#[derive(Clone, Debug, Serialize)]
pub struct LevelErrors {
    /// Its name.
    pub level: String,
    /// How many units it has.
    pub units: u64,
    /// σ² before, exactly.
    pub sigma2_before: String,
    /// σ² after, exactly.
    pub sigma2_after: String,
    /// All its counts.
    pub all: Errors,
    /// By cell.
    pub cells: Vec<Group>,
    /// By size of the unit.
    pub bands: Vec<Group>,
    /// By cell and size of the unit.
    pub cells_by_band: Vec<Group>,
}

/// Some counts of a level.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The values that make the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The sizes of the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<String>,
    /// Their errors.
    #[serde(flatten)]
    pub errors: Errors,
}

/// Mean errors of some counts.
#[derive(Clone, Debug, Serialize)]
pub struct Errors {
    /// How many counts.
    pub counts: u64,
    /// Published as they come.
    pub plain: Pair,
    /// Cut at zero.
    pub cut: Pair,
}

/// Before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Expected, before.
    pub before: Expected,
    /// Expected, after.
    pub after: Expected,
    /// Simulated, if there were a thousand draws: before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<[Simulated; 2]>,
}

impl Pair {
    /// What part of the mean squared error went.
    #[must_use]
    pub fn mse_reduction(&self) -> f64 {
        reduction(self.before.mse, self.after.mse)
    }

    /// What part of the mean absolute error went.
    #[must_use]
    pub fn mae_reduction(&self) -> f64 {
        reduction(self.before.mae, self.after.mae)
    }

    /// What part of the bias went.
    #[must_use]
    pub fn bias_reduction(&self) -> f64 {
        reduction(self.before.bias, self.after.bias)
    }
}

fn reduction(before: f64, after: f64) -> f64 {
    if before == 0.0 { 0.0 } else { 1.0 - after / before }
}

/// Means over all counts and trials, with intervals that contain what is expected with a probability of 95 %, or more; by the
/// normal approximation, which needs some thousand draws.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Simulated {
    /// Of the squared errors.
    pub mse: Estimate,
    /// Of the absolute errors.
    pub mae: Estimate,
    /// Of the errors.
    pub bias: Estimate,
}

/// A mean and its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: f64,
}

impl Estimate {
    /// From a number of terms, their sum and the sum of their squares.
    ///
    /// The terms are independent, but not alike: their spread around the common mean is at least that around their own
    /// means, so that the interval is rather too wide.
    fn new(n: f64, sum: f64, squares: f64) -> Estimate {
        let mean = sum / n;
        let spread = (squares / n - mean * mean).max(0.0) / (n - 1.0);
        Estimate { mean, half_width: NORMAL_95 * spread.sqrt() }
    }

    /// Whether the interval contains `x`.
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        (x - self.mean).abs() <= self.half_width
    }
}

/// Fewest draws for an interval.
const ENOUGH: u64 = 1_000;

/// The normal law is within so many deviations with a probability of 95 %.
pub(super) const NORMAL_95: f64 = 1.959_963_984_540_054;

/// Takes the codes and the counts of a row.
pub type TakeRow<'r, E> = dyn FnMut(&[&str], &[i64]) -> std::result::Result<(), E> + 'r;

/// Errors of single counts tell the counts.
pub const NOT_PRIVATE: &str =
    "Computed from the exact counts: NOT PRIVATE, and not to be published for a table that is confidential.";

/// Rows in, errors out.
pub struct Evaluation {
    question: Question,
    plan: Plan,
    levels: Vec<LevelSums>,
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
}

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
        if question.bands.first() != Some(&0) || !question.bands.is_sorted_by(|a, b| a < b) {
            let shown = question.bands.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let hint = "write where each band begins, like 0,1,10,100,1000";
            return Err(Error::input("bands", shown, "ascending numbers from 0 on", hint));
        }
        let mut builder = Allocation::builder("cells", Neighbours::AddRemove)?;
        question.by.iter().try_for_each(|name| builder.attribute(name))?;
        let query = builder.query("cells", &question.by, 1)?;
        for noise in &question.noises {
            let level = builder.level(&noise.level)?;
            builder.measure(level, query, Budget::Sigma2(noise.before.clone()))?;
        }
        builder.table(question.schema.clone());
        let allocation = builder.build()?;
        let plan = Plan::new(&allocation)?;
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
                    Some(Trials { noises, threads, errors: vec![Default::default(); groups] })
                }
            };
            Ok(LevelSums { units: 0, counts: (0..groups).map(|_| Occurrences::default()).collect(), trials })
        };
        let levels = plan.levels().iter().map(level).collect::<Result<_>>()?;
        Ok(Evaluation { question, plan, levels })
    }

    /// What is tabulated, and from which columns.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Reads a table: `rows` gives each row's codes and counts to what it is given.
    pub fn evaluate<E: From<Error>>(
        mut self,
        rows: impl FnOnce(&mut TakeRow<'_, E>) -> std::result::Result<(), E>,
    ) -> std::result::Result<Utility, E> {
        let Evaluation { question, plan, levels } = &mut self;
        let mut full = |batch: Batch| tally(question, plan, levels, &batch).map_err(E::from);
        let mut tabulation = Tabulation::new(plan);
        rows(&mut |codes, counts| tabulation.row(codes, counts, &mut full))?;
        let rows = tabulation.finish(&mut full)?;
        Ok(self.report(rows)?)
    }

    fn report(&self, rows: u64) -> Result<Utility> {
        let mut levels = vec![];
        for (level, sums) in self.plan.levels().iter().zip(&self.levels) {
            levels.push(self.level(level, sums)?);
        }
        Ok(Utility {
            warning: NOT_PRIVATE,
            by: self.question.by.clone(),
            rows,
            trials: self.question.trials,
            levels,
        })
    }

    fn level(&self, level: &PlannedLevel, sums: &LevelSums) -> Result<LevelErrors> {
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

fn noise_of(question: &Question, level: &PlannedLevel, after: bool) -> Rational {
    let noise = question.noises.iter().find(|n| n.level == level.name).expect("a level of the question");
    if after { noise.after.clone() } else { noise.before.clone() }
}

/// Counts a batch, and draws its noise if there are trials.
fn tally(question: &Question, plan: &Plan, levels: &mut [LevelSums], batch: &Batch) -> Result<()> {
    let cells = plan.levels()[batch.level()].queries[0].length();
    let sums = &mut levels[batch.level()];
    let values = &batch.values[0];
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
    let Some(Trials { noises, threads, errors }) = &mut sums.trials else { return Ok(()) };
    let mut noise = vec![0; values.len()];
    for _ in 0..question.trials {
        for (which, source) in noises.iter_mut().enumerate() {
            source.fill_on(*threads, &mut noise)?;
            let units_of = values.chunks_exact(cells).zip(noise.chunks_exact(cells)).zip(&units);
            for ((unit, noise), band) in units_of {
                for (cell, (count, x)) in unit.iter().zip(noise).enumerate() {
                    let [plain, cut] = &mut errors[cell * bands + band][which];
                    plain.add(*x as f64);
                    // As −X is never more than the count then.
                    cut.add((*x).max(-count) as f64);
                }
            }
        }
    }
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
            mse: Estimate::new(n, self.squares, self.fourth),
            mae: Estimate::new(n, self.absolute, self.squares),
            bias: Estimate::new(n, self.signed, self.squares),
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
        Expected { mse: mse.value() / n, mae: mae.value() / n, bias: bias.value() / n }
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
    for name in &question.by {
        let attribute = question.schema.attributes().iter().find(|a| a.name == *name).expect("was checked");
        let join = |before: &String, value: &String| {
            if before.is_empty() { value.clone() } else { format!("{before}, {value}") }
        };
        names =
            names.iter().flat_map(|before| attribute.values.iter().map(move |v| join(before, v))).collect();
    }
    if question.by.is_empty() { vec!["total".into()] } else { names }
}

/// `10–99`, `100 and more`.
fn band_name(bands: &[u64], band: usize) -> String {
    match bands.get(band + 1) {
        Some(next) if next - 1 == bands[band] => bands[band].to_string(),
        Some(next) => format!("{}–{}", bands[band], next - 1),
        None => format!("{} and more", bands[band]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"
[table]
code = "code"
cells = [{ sex = "f", column = "f" }, { sex = "m", column = "m" }, { sex = "x", column = "all", minus = ["f", "m"] }]
[table.levels]
Country = 0
Tract = 3
[table.attributes]
sex = ["f", "m", "x"]
"#;

    fn question(trials: u64) -> Question {
        let noise = |level: &str, before: &str, after: &str| LevelNoise {
            level: level.into(),
            before: before.parse().unwrap(),
            after: after.parse().unwrap(),
        };
        Question {
            schema: Schema::parse("schema.toml", SCHEMA).unwrap(),
            by: vec!["sex".into()],
            noises: vec![noise("Country", "5", "4.25"), noise("Tract", "456.62", "343.27")],
            bands: vec![0, 1, 50],
            trials,
        }
    }

    /// Three hundred tracts with none to some seventy people of each sex.
    fn rows() -> Vec<(String, [i64; 3])> {
        (0..300).map(|i| (format!("{i:03}"), [i % 7 * 10, i % 5, i % 7 * 10 + i % 5 + i % 3])).collect()
    }

    fn evaluate(question: Question, key: Option<&Key>) -> Utility {
        let noise = key.map(|key| (key, NonZeroUsize::MIN));
        let evaluation = Evaluation::new(question, noise).unwrap();
        assert_eq!(evaluation.plan().count_columns(), ["f", "m", "all"]);
        let all =
            |row: &mut TakeRow<'_, Error>| rows().iter().try_for_each(|(code, counts)| row(&[code], counts));
        evaluation.evaluate(all).unwrap()
    }

    #[test]
    fn expected_errors_are_means_over_the_counts() {
        let found = evaluate(question(0), None);
        assert_eq!((found.rows, found.levels.len(), found.levels[1].units), (300, 2, 300));
        let tract = &found.levels[1];
        assert_eq!((tract.all.counts, tract.cells.len(), tract.bands.len()), (900, 3, 3));
        let laws = ["456.62", "343.27"].map(|s| Law::new(&s.parse().unwrap()).unwrap());
        // Count by count, without histograms.
        for (pair, law) in [(&tract.all.cut.before, &laws[0]), (&tract.all.cut.after, &laws[1])] {
            let counts: Vec<u64> = rows()
                .iter()
                .flat_map(|(_, [f, m, all])| [*f as u64, *m as u64, (all - f - m) as u64])
                .collect();
            let mean = |pick: fn(&Expected) -> f64| law.cut(&counts).iter().map(pick).sum::<f64>() / 900.0;
            assert!((pair.mse - mean(|e| e.mse)).abs() < 1e-9);
            assert!((pair.mae - mean(|e| e.mae)).abs() < 1e-9);
            assert!((pair.bias - mean(|e| e.bias)).abs() < 1e-9);
        }
        // Groups make up the whole.
        for groups in [&tract.cells, &tract.bands, &tract.cells_by_band] {
            let n: u64 = groups.iter().map(|g| g.errors.counts).sum();
            let mse: f64 = groups.iter().map(|g| g.errors.counts as f64 * g.errors.cut.after.mse).sum();
            assert!(n == 900 && (mse / 900.0 - tract.all.cut.after.mse).abs() < 1e-9);
        }
        let names: Vec<_> = tract.bands.iter().map(|g| g.band.clone().unwrap()).collect();
        assert_eq!(names, ["0", "1–49", "50 and more"]);
        assert_eq!(tract.cells[2].cell.as_deref(), Some("x"));
    }

    #[test]
    fn without_cutting_the_error_falls_with_the_variance() {
        let found = evaluate(question(0), None);
        for (level, [before, after]) in found.levels.iter().zip([["5", "4.25"], ["456.62", "343.27"]]) {
            let variance = |s: &str| crate::DiscreteGaussian::parse(s, "1").unwrap().variance();
            let expected = 1.0 - variance(after) / variance(before);
            assert!((level.all.plain.mse_reduction() - expected).abs() < 1e-12);
            assert_eq!(level.all.plain.before.bias, 0.0);
        }
    }

    #[test]
    fn trials_agree_with_what_is_expected() {
        // A fixed seed; an estimate fails to be within five of its standard errors with a probability below 1e-6.
        let found = evaluate(question(200), Some(&Key::not_private(3)));
        let mut checked = 0;
        for level in &found.levels {
            let cells = level.cells.iter().chain(&level.bands).chain(&level.cells_by_band).map(|g| &g.errors);
            for errors in cells.chain([&level.all]) {
                for pair in [&errors.plain, &errors.cut] {
                    let Some(simulated) = pair.simulated.as_ref() else { continue };
                    for (expected, simulated) in [&pair.before, &pair.after].into_iter().zip(simulated) {
                        for (estimate, x) in [
                            (simulated.mse, expected.mse),
                            (simulated.mae, expected.mae),
                            (simulated.bias, expected.bias),
                        ] {
                            let wide =
                                Estimate { half_width: 5.0 / NORMAL_95 * estimate.half_width, ..estimate };
                            assert!(wide.contains(x), "{}: {estimate:?} {x}", level.level);
                            checked += 1;
                        }
                    }
                }
            }
        }
        assert!(checked > 100);
    }

    #[test]
    fn a_question_that_makes_no_sense_is_refused() {
        let refused = |change: fn(&mut Question)| {
            let mut question = question(0);
            change(&mut question);
            Evaluation::new(question, None).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(refused(|q| q.bands = vec![1, 10]), "bands: `1,10` is not ascending numbers from 0 on");
        assert_eq!(
            refused(|q| q.by = vec!["age".into()]),
            "query `cells`: attribute: `age` is not one of the attributes of the table, sex"
        );
        assert_eq!(
            refused(|q| q.noises[0].after = Rational::integer(0)),
            "sigma2: `0` is not a variance between 1e-3 and 1e12"
        );
    }
}
