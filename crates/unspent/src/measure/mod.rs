//! Noisy measurements: a table of counts goes in row by row, every query of an allocation comes out with its noise.
//!
//! ```text
//! allocation + schema ─▶ Plan ─▶ Tabulation ─▶ Batch ────────▶ NoisyBatch ─▶ files
//! rows, in order of code ───────▶ (open units)  (exact counts)  (with noise)
//! ```
//!
//! Rows come sorted, so that a unit is complete when the next one begins: memory holds one open unit a level and one batch
//! a level, however long the table is. Draws are taken when a batch is cut, in the order of the rows; so they are the same
//! whatever thread makes them. Only a [`NoisyBatch`] has values that can be read.

mod plan;
mod tabulation;

#[cfg(test)]
mod tests;

pub use plan::{Plan, PlannedLevel, PlannedQuery};
pub use tabulation::{Batch, MAX_CODE, NoisyBatch, Tabulation};

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::sampler::{Draws, Key, Noise, Sampler};

/// One stream of noise for every query at every level.
pub struct Noises(Vec<Vec<Noise>>);

impl Noises {
    /// Streams of this key that it never makes again.
    pub fn new(plan: &Plan, key: &Key) -> Result<Noises> {
        let mut samplers = HashMap::new();
        let mut noise = |query: &PlannedQuery| {
            if !samplers.contains_key(&query.sigma2) {
                samplers.insert(query.sigma2.clone(), Sampler::new(&query.sigma2)?);
            }
            Ok(key.noise(&samplers[&query.sigma2]))
        };
        let level = |level: &PlannedLevel| level.queries.iter().map(&mut noise).collect();
        Ok(Noises(plan.levels().iter().map(level).collect::<Result<_>>()?))
    }

    /// The draws for a batch; to be asked for in the order in which batches are cut.
    pub fn take(&mut self, batch: &Batch) -> Vec<Draws> {
        let noises = self.0[batch.level()].iter_mut();
        noises.zip(batch.lengths()).map(|(noise, length)| noise.take(length as u64)).collect()
    }
}

/// Reads a count; an error calls it `column`, and shows what it was only if it is [`Error::revealed`].
pub fn parse_count(column: &str, text: &str) -> Result<i64> {
    let text = text.trim();
    // Nearly all of a table: keep it short.
    if let Ok(count @ 0..) = text.parse::<i64>() {
        return Ok(count);
    }
    let hint = if text.is_empty() {
        "a count is missing: write 0 if there is nobody"
    } else if text.starts_with('-') {
        "counts are never negative"
    } else if text.bytes().all(|b| b.is_ascii_digit()) {
        "the largest count is 2^63 − 1"
    } else if text.parse::<f64>().is_ok_and(f64::is_finite) {
        "counts are whole: noise on the integers is for integers"
    } else {
        "write digits only"
    };
    Err(Error::input(column, text, "a count", hint).concealed())
}
