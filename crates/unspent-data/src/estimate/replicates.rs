//! How far whole tables are from the truth, by simulation: noise is added to known tables once more, and all
//! is done again.
//!
//! For tables that were just made, the tables themselves stand for the truth (Lemma T7 of
//! `theory/tables.md`). It reads only what was made, and spends no budget.

use std::sync::Arc;

use unspent::report::columns::{Column, Columns};
use unspent::{Error, Result};

use super::WholeTables;
use super::errors::{TrialErrors, TrueLevel, TrueQuery, Truth};
use super::estimation::Estimation;
use super::input::Input;
use super::simulated::{KnownUnit, seed_of};
use super::trials::{Simulation, Stage};
use super::whole::{self, Whole};
use crate::progress::Progress;

/// Where bands of the units' sizes begin.
const BANDS: [i64; 6] = [0, 1, 10, 100, 1_000, 10_000];
/// Most replicates.
pub const MAX_REPLICATES: u32 = 1_000;

/// Errors of tables, over all units and replicates.
#[derive(Clone, Debug)]
pub struct TableErrors {
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelTableErrors>,
    /// How many times all was done.
    pub replicates: u32,
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
}

/// Errors of totals of units of some size.
#[derive(Clone, Copy, Debug)]
pub struct SizeErrors {
    /// The smallest size.
    pub from: i64,
    /// How many units have it, all replicates together.
    pub units: u64,
    /// The mean error: above 0 if tables have too many.
    pub bias: f64,
    /// The root of the mean squared error.
    pub rms: f64,
}

impl TableErrors {
    fn new(truth: &Truth, errors: &TrialErrors, replicates: u32) -> TableErrors {
        let asked = |query: &usize| truth.queries[*query].asked;
        let level = |(at, level): (usize, &TrueLevel)| LevelTableErrors {
            level: level.name.clone(),
            units: level.units.len() as u64,
            queries: (0..truth.queries.len())
                .filter(asked)
                .filter_map(|query| {
                    let TrueQuery { name, length, .. } = &truth.queries[query];
                    let figures = errors.figures(at, query, None)?;
                    Some(QueryTableErrors {
                        query: name.clone(),
                        answers: *length,
                        mean_absolute: figures.mean_absolute.mean,
                        rms: figures.rms.mean,
                    })
                })
                .collect(),
            sizes: (truth.bands.iter().enumerate())
                .filter_map(|(band, from)| {
                    let figures = errors.figures(at, truth.total(), Some(band))?;
                    let units = truth.units_in(at, band) * u64::from(replicates);
                    Some(SizeErrors { from: *from, units, bias: figures.bias.mean, rms: figures.rms.mean })
                })
                .collect(),
        };
        TableErrors { levels: truth.levels.iter().enumerate().map(level).collect(), replicates }
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
        ])
    }

    /// Of totals, by level and size of unit.
    #[must_use]
    pub fn by_size(&self) -> Columns {
        let rows: Vec<(&LevelTableErrors, &SizeErrors)> =
            self.levels.iter().flat_map(|level| level.sizes.iter().map(move |size| (level, size))).collect();
        let to = |size: &SizeErrors| self.last_of(size.from);
        let replicates = u64::from(self.replicates.max(1));
        Columns(vec![
            Column::text("level", rows.iter().map(|(level, _)| Some(level.level.as_str()))),
            Column::counts("size_from", rows.iter().map(|(_, size)| size.from.unsigned_abs())),
            Column::text("size_to", rows.iter().map(|(_, size)| to(size).map(|to| to.to_string()))),
            Column::counts("units", rows.iter().map(|(_, size)| size.units / replicates)),
            Column::doubles("bias", rows.iter().map(|(_, size)| Some(size.bias))),
            Column::doubles("rms_error", rows.iter().map(|(_, size)| Some(size.rms))),
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

/// Makes tables of known units again and again, and compares.
pub(super) fn errors(
    input: &Input,
    known: &[Arc<Vec<KnownUnit>>],
    question: &WholeTables,
    structural_zeros: bool,
    progress: &mut dyn Progress,
) -> Result<TableErrors> {
    let truth = Truth::new(std::slice::from_ref(input), known, &BANDS)?;
    let simulation = Simulation::new(input, known, question, structural_zeros);
    let mut errors = TrialErrors::new(&truth);
    for replicate in 0..question.replicates {
        errors.next_trial();
        let seed = seed_of(question.seed, u64::from(replicate));
        simulation.trial(&truth, seed, &[Stage::Whole], &mut |_, answers| errors.add(&truth, answers))?;
        progress.done("replicates", u64::from(replicate) + 1, u64::from(question.replicates));
    }
    Ok(TableErrors::new(&truth, &errors, question.replicates))
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
    let known: Vec<Arc<Vec<KnownUnit>>> = known_units(estimation, whole).into_iter().map(Arc::new).collect();
    errors(&joined.first, &known, question, joined.structural_zeros.unwrap_or(true), progress).map(Some)
}
