//! How far whole tables are from the truth, by simulation: noise is added to known tables once more, and all is
//! done again.
//!
//! For tables that were just made, the tables themselves stand for the truth (Lemma T7 of `theory/tables.md`).
//! It reads only what was made, and spends no budget.

use std::sync::Arc;

use unspent::report::columns::{Column, Columns};
use unspent::{Error, Result};

use super::estimation::Estimation;
use super::input::{Input, InputQuery};
use super::simulated::{KnownUnit, places_of};
use super::whole::{self, Whole};
use super::{Estimate, WholeTables};
use crate::progress::{Progress, Quiet};

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
    queries: Vec<(String, Vec<u32>, usize)>,
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
    /// Of the queries of an input.
    fn new(input: &Input) -> Result<TableErrors> {
        let mut queries: Vec<(String, Vec<u32>, usize)> = vec![];
        let measured = input.levels.iter().flat_map(|level| &level.queries);
        for InputQuery { name, by } in input.asked.iter().chain(measured) {
            if queries.iter().any(|(known, ..)| known == name) {
                continue;
            }
            let length = input.schema.resolve(by)?.iter().map(|part| part.cells).product();
            queries.push((name.clone(), places_of(&input.schema, by)?, length));
        }
        Ok(TableErrors { levels: vec![], replicates: 0, queries })
    }

    /// Adds the differences of tables from known ones. Sums are kept in the places of means until the end.
    fn add(&mut self, names: &[String], known: &[Arc<Vec<KnownUnit>>], found: &[Vec<KnownUnit>]) {
        if self.levels.is_empty() {
            let level = |(name, units): (&String, &Arc<Vec<KnownUnit>>)| LevelTableErrors {
                level: name.clone(),
                units: units.len() as u64,
                queries: (self.queries.iter())
                    .map(|(query, _, answers)| QueryTableErrors {
                        query: query.clone(),
                        answers: *answers,
                        mean_absolute: 0.0,
                        rms: 0.0,
                    })
                    .collect(),
                sizes: BANDS.map(|from| SizeErrors { from, units: 0, bias: 0.0, rms: 0.0 }).to_vec(),
            };
            self.levels = names.iter().zip(known).map(level).collect();
        }
        self.replicates += 1;
        let longest = self.queries.iter().map(|(_, _, length)| *length).max().unwrap_or(0);
        let mut errors = vec![0i64; longest];
        for ((level, known), found) in self.levels.iter_mut().zip(known).zip(found) {
            assert_eq!(known.len(), found.len(), "the same units");
            for (known, found) in known.iter().zip(found) {
                assert_eq!(known.code, found.code, "in the same order");
                let mut differences: Vec<(u32, i64)> = found.table.clone();
                differences.extend(known.table.iter().map(|(cell, count)| (*cell, -count)));
                for (sums, (_, places, _)) in level.queries.iter_mut().zip(&self.queries) {
                    let mut touched = vec![];
                    for (cell, count) in &differences {
                        let place = places[*cell as usize];
                        if place != u32::MAX {
                            errors[place as usize] += count;
                            touched.push(place as usize);
                        }
                    }
                    for place in touched {
                        let error = std::mem::take(&mut errors[place]) as f64;
                        sums.mean_absolute += error.abs();
                        sums.rms += error * error;
                    }
                }
                let size: i64 = known.table.iter().map(|(_, count)| count).sum();
                let error = differences.iter().map(|(_, count)| count).sum::<i64>() as f64;
                let band = BANDS.partition_point(|from| *from <= size) - 1;
                let sums = &mut level.sizes[band];
                (sums.units, sums.bias, sums.rms) =
                    (sums.units + 1, sums.bias + error, sums.rms + error * error);
            }
        }
    }

    /// Sums to means.
    fn finish(mut self) -> TableErrors {
        let replicates = f64::from(self.replicates);
        for level in &mut self.levels {
            for query in &mut level.queries {
                let count = (level.units as f64 * query.answers as f64 * replicates).max(1.0);
                query.mean_absolute /= count;
                query.rms = (query.rms / count).sqrt();
            }
            for size in &mut level.sizes {
                let count = size.units.max(1) as f64;
                (size.bias, size.rms) = (size.bias / count, (size.rms / count).sqrt());
            }
            level.sizes.retain(|size| size.units > 0);
        }
        self
    }

    /// By level and query.
    #[must_use]
    pub fn by_query(&self) -> Columns {
        let rows: Vec<(&LevelTableErrors, &QueryTableErrors)> =
            self.levels.iter().flat_map(|level| level.queries.iter().map(move |query| (level, query))).collect();
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
        let to = |size: &SizeErrors| BANDS.iter().find(|from| **from > size.from).map(|next| next - 1);
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
    let mut errors = TableErrors::new(input)?;
    let names: Vec<String> = input.levels.iter().map(|level| level.name.clone()).collect();
    for replicate in 0..question.replicates {
        let simulated = input.simulated(known, question.seed.wrapping_add(u64::from(replicate)))?;
        let of_replicate = Estimate { structural_zeros, tables: Some(question.clone()), ..Estimate::of_none() };
        let estimation = Estimation::simulated(&of_replicate, simulated)?;
        let whole = whole::tables(&estimation, question, &mut Quiet)?;
        errors.add(&names, known, &known_units(&estimation, &whole));
        progress.rows(u64::from(replicate) + 1, Some(f64::from(replicate + 1) / f64::from(question.replicates)));
    }
    Ok(errors.finish())
}

/// Replicates of tables that were just made.
pub(super) fn of_tables(
    estimation: &Estimation,
    whole: &Whole,
    question: &WholeTables,
    progress: &mut dyn Progress,
) -> Result<TableErrors> {
    let joined = &estimation.joined;
    if !joined.others.is_empty() {
        return Err(Error::stated(
            "replicates: tables of several folders of measurements cannot be replicated",
            "make the tables of one folder, or leave out --replicates",
        ));
    }
    let known: Vec<Arc<Vec<KnownUnit>>> =
        known_units(estimation, whole).into_iter().map(Arc::new).collect();
    errors(&joined.first, &known, question, joined.structural_zeros.unwrap_or(true), progress)
}
