//! How far whole tables are from the truth, by simulation: noise is added to known tables once more, and all
//! is done again.
//!
//! ```text
//! tables ─▶ plain replicates ─▶ tables without what is too small to be there ─▶ replicates
//! ```
//!
//! In plain replicates the tables stand for the truth themselves, and errors are too small: tables are
//! smoother than the truth. So weak counts are dealt out again first (T7 of `theory/tables.md`). Only what
//! was made is read, and no budget is spent.

use std::sync::Arc;

use unspent::report::columns::{Column, Columns};
use unspent::{Error, Result};

use super::WholeTables;
use super::errors::{Answers, TrialErrors, TrueLevel, TrueQuery, Truth};
use super::estimation::Estimation;
use super::simulated::{KnownUnit, seed_of};
use super::stand_in::{self, SumErrors};
use super::trials::{Simulation, Stage};
use super::whole::{self, Whole};
use crate::progress::Progress;

/// Where bands of the units' sizes begin.
const BANDS: [i64; 6] = [0, 1, 10, 100, 1_000, 10_000];
/// Most replicates.
pub const MAX_REPLICATES: u32 = 1_000;
/// Most plain replicates: they tell what is weak.
pub const MAX_PLAIN_REPLICATES: u32 = 5;

/// Errors of tables, over all units and replicates.
#[derive(Clone, Debug)]
pub struct TableErrors {
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelTableErrors>,
    /// How many times all was done.
    pub replicates: u32,
    /// How many times it was done before that, with the tables themselves for the truth.
    pub plain_replicates: u32,
}

/// Errors of a level's tables.
#[derive(Clone, Debug)]
pub struct LevelTableErrors {
    /// Its name.
    pub level: String,
    /// How many units it has.
    pub units: u64,
    /// By query.
    pub queries: Vec<QueryTableErrors>,
    /// Of totals, by the true size of the unit.
    pub sizes: Vec<SizeErrors>,
}

/// Errors of the answers to a query.
#[derive(Clone, Debug)]
pub struct QueryTableErrors {
    /// Its name.
    pub query: String,
    /// How many answers a unit has.
    pub answers: usize,
    /// The mean of the absolute errors.
    pub mean_absolute: f64,
    /// The root of the mean squared error.
    pub rms: f64,
    /// The same in plain replicates, which are too small.
    pub plain_mean_absolute: f64,
    /// The same in plain replicates.
    pub plain_rms: f64,
}

/// Errors of totals of units of some size.
#[derive(Clone, Copy, Debug)]
pub struct SizeErrors {
    /// The smallest size.
    pub from: i64,
    /// How many units have it in the tables that stand for the truth.
    pub units: u64,
    /// The mean error: above 0 if tables have too many.
    pub bias: f64,
    /// The root of the mean squared error.
    pub rms: f64,
    /// The mean error in plain replicates; none if no table has this size.
    pub plain_bias: Option<f64>,
    /// The root of the mean squared error in plain replicates.
    pub plain_rms: Option<f64>,
}

impl TableErrors {
    fn new(truth: &Truth, errors: &TrialErrors, plain: &TrialErrors) -> TableErrors {
        let asked = |query: &usize| truth.queries[*query].asked;
        let level = |(at, level): (usize, &TrueLevel)| LevelTableErrors {
            level: level.name.clone(),
            units: level.units.len() as u64,
            queries: (0..truth.queries.len())
                .filter(asked)
                .filter_map(|query| {
                    let TrueQuery { name, length, .. } = &truth.queries[query];
                    let figures = errors.figures(at, query, None)?;
                    let plain = plain.figures(at, query, None)?;
                    Some(QueryTableErrors {
                        query: name.clone(),
                        answers: *length,
                        mean_absolute: figures.mean_absolute.mean,
                        rms: figures.rms.mean,
                        plain_mean_absolute: plain.mean_absolute.mean,
                        plain_rms: plain.rms.mean,
                    })
                })
                .collect(),
            sizes: (truth.bands.iter().enumerate())
                .filter_map(|(band, from)| {
                    let figures = errors.figures(at, truth.total(), Some(band))?;
                    let plain = plain.figures(at, truth.total(), Some(band));
                    Some(SizeErrors {
                        from: *from,
                        units: truth.units_in(at, band),
                        bias: figures.bias.mean,
                        rms: figures.rms.mean,
                        plain_bias: plain.map(|figures| figures.bias.mean),
                        plain_rms: plain.map(|figures| figures.rms.mean),
                    })
                })
                .collect(),
        };
        TableErrors {
            levels: truth.levels.iter().enumerate().map(level).collect(),
            replicates: errors.trials(),
            plain_replicates: plain.trials(),
        }
    }

    /// The largest size of the units whose sizes begin there; none if there is no largest.
    pub(super) fn last_of(&self, from: i64) -> Option<i64> {
        BANDS.iter().find(|next| **next > from).map(|next| next - 1)
    }

    /// By level and query.
    #[must_use]
    pub fn by_query(&self) -> Columns {
        let rows: Vec<(&LevelTableErrors, &QueryTableErrors)> = self
            .levels
            .iter()
            .flat_map(|level| level.queries.iter().map(move |query| (level, query)))
            .collect();
        Columns(vec![
            Column::text("level", rows.iter().map(|(level, _)| Some(level.level.as_str()))),
            Column::text("query", rows.iter().map(|(_, query)| Some(query.query.as_str()))),
            Column::counts("units", rows.iter().map(|(level, _)| level.units)),
            Column::counts("answers", rows.iter().map(|(_, query)| query.answers as u64)),
            Column::doubles("mean_absolute_error", rows.iter().map(|(_, query)| Some(query.mean_absolute))),
            Column::doubles("rms_error", rows.iter().map(|(_, query)| Some(query.rms))),
            Column::doubles(
                "plain_mean_absolute_error",
                rows.iter().map(|(_, query)| Some(query.plain_mean_absolute)),
            ),
            Column::doubles("plain_rms_error", rows.iter().map(|(_, query)| Some(query.plain_rms))),
        ])
    }

    /// Of totals, by level and size of unit.
    #[must_use]
    pub fn by_size(&self) -> Columns {
        let rows: Vec<(&LevelTableErrors, &SizeErrors)> =
            self.levels.iter().flat_map(|level| level.sizes.iter().map(move |size| (level, size))).collect();
        let to = |size: &SizeErrors| self.last_of(size.from);
        Columns(vec![
            Column::text("level", rows.iter().map(|(level, _)| Some(level.level.as_str()))),
            Column::counts("size_from", rows.iter().map(|(_, size)| size.from.unsigned_abs())),
            Column::text("size_to", rows.iter().map(|(_, size)| to(size).map(|to| to.to_string()))),
            Column::counts("units", rows.iter().map(|(_, size)| size.units)),
            Column::doubles("bias", rows.iter().map(|(_, size)| Some(size.bias))),
            Column::doubles("rms_error", rows.iter().map(|(_, size)| Some(size.rms))),
            Column::doubles("plain_bias", rows.iter().map(|(_, size)| size.plain_bias)),
            Column::doubles("plain_rms_error", rows.iter().map(|(_, size)| size.plain_rms)),
        ])
    }
}

/// The tables of all units, as what is known of them.
pub(super) fn known_units(estimation: &Estimation, whole: &Whole) -> Vec<Vec<KnownUnit>> {
    let space = estimation.joined.model.space();
    let of_level = |units: &Vec<whole::UnitTable>| {
        let unit = |unit: &whole::UnitTable| KnownUnit {
            code: unit.code.clone(),
            noise: unit.kind.key.noises[0],
            table: Whole::numbered(space, &unit.table),
        };
        units.iter().map(unit).collect()
    };
    whole.levels.iter().map(of_level).collect()
}

/// Fails if tables cannot be replicated as often as is asked, before they are made.
pub(super) fn check(estimation: &Estimation, question: &WholeTables) -> Result<()> {
    let replicates = question.replicates;
    if replicates > MAX_REPLICATES {
        let allowed = format!("at most {MAX_REPLICATES}");
        let hint = "25 tell the errors of a level with many units well";
        return Err(Error::input("replicates", replicates.to_string(), allowed, hint));
    }
    if replicates > 0 && !estimation.joined.others.is_empty() {
        return Err(Error::stated(
            "replicates: tables of several folders of measurements cannot be replicated",
            "make the tables of one folder, or leave replicates out",
        ));
    }
    Ok(())
}

/// Replicates of tables that were just made, if they are asked for.
pub(super) fn of_tables(
    estimation: &Estimation,
    whole: &Whole,
    question: &WholeTables,
    progress: &mut dyn Progress,
) -> Result<Option<TableErrors>> {
    if question.replicates == 0 {
        return Ok(None);
    }
    let joined = &estimation.joined;
    let input = &joined.first;
    let looked_at = stand_in::looked_at(&input.schema);
    let structural_zeros = joined.structural_zeros.unwrap_or(true);
    let plain_replicates = question.replicates.min(MAX_PLAIN_REPLICATES);
    let all = u64::from(plain_replicates + question.replicates);
    let mut done = 0;
    // Replicates of known tables, with the noise of these numbers.
    let mut run = |known: &[Arc<Vec<KnownUnit>>],
                   truth: &Truth,
                   numbers: std::ops::Range<u32>,
                   take: &mut dyn FnMut(&Answers<'_>)| {
        let simulation = Simulation::new(input, known, question, structural_zeros);
        let mut errors = TrialErrors::new(truth);
        for number in numbers {
            errors.next_trial();
            let seed = seed_of(question.seed, u64::from(number));
            simulation.trial(truth, seed, &[Stage::Whole], &mut |_, answers| {
                errors.add(truth, answers);
                take(answers);
            })?;
            done += 1;
            progress.done("replicates", done, all);
        }
        Ok(errors)
    };
    let known: Vec<Arc<Vec<KnownUnit>>> = known_units(estimation, whole).into_iter().map(Arc::new).collect();
    let truth = Truth::new(std::slice::from_ref(input), &known, &BANDS, &looked_at)?;
    let mut sums = SumErrors::new(&input.schema, &truth)?;
    let plain = run(&known, &truth, 0..plain_replicates, &mut |answers| sums.add(answers))?;
    let seed = seed_of(question.seed, u64::MAX);
    let known = stand_in::tables(estimation, whole, &known, &sums, seed)?;
    let truth = Truth::new(std::slice::from_ref(input), &known, &BANDS, &[])?;
    let numbers = MAX_PLAIN_REPLICATES..MAX_PLAIN_REPLICATES + question.replicates;
    let errors = run(&known, &truth, numbers, &mut |_| ())?;
    Ok(Some(TableErrors::new(&truth, &errors, &plain)))
}
