//! Confidence intervals for whole measurements: each row's from its own noise.

use std::collections::HashMap;

use unspent::{Rational, Result};

use super::bureau::BureauMeasurements;
use super::{LevelMeasurements, Measurements, QueryMeasurements, RowNoise};
use crate::interval::{Interval, Intervals};

/// Confidence intervals for rows with different noise; those of one noise are made once.
#[derive(Clone, Debug)]
pub struct RowIntervals {
    confidence: Rational,
    /// By σ² where it is known, by the bits of the variance elsewhere.
    made: HashMap<(Option<Rational>, u64), Intervals>,
}

/// Confidence intervals for the noisy counts of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelIntervals {
    /// The level.
    pub level: String,
    /// In the order of its queries.
    pub queries: Vec<QueryIntervals>,
}

/// Confidence intervals for the noisy counts of a query, in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryIntervals {
    /// Its name.
    pub name: String,
    /// The lower ends, at least 0.
    pub lower: Vec<i64>,
    /// The upper ends; one that is negative says that no count that is not negative is so near.
    pub upper: Vec<i64>,
}

impl RowIntervals {
    /// The confidence is above 0 and below 1.
    pub fn new(confidence: &Rational) -> Result<RowIntervals> {
        // Any noise will do to see whether the confidence is one.
        Intervals::new(&Rational::integer(1), confidence)?;
        Ok(RowIntervals { confidence: confidence.clone(), made: HashMap::new() })
    }

    /// Those for this noise: by its exact σ² where it is known, and else by its variance, not too short.
    pub fn of(&mut self, noise: &RowNoise) -> Result<&Intervals> {
        noise.needs_gaussian()?;
        let key = (noise.sigma2.clone(), noise.sigma2.as_ref().map_or(noise.variance.to_bits(), |_| 0));
        if !self.made.contains_key(&key) {
            self.made.insert(key.clone(), noise.intervals(&self.confidence)?);
        }
        Ok(&self.made[&key])
    }
}

impl Measurements {
    /// A confidence interval for every noisy count. The confidence is above 0 and below 1.
    pub fn intervals(&self, confidence: &Rational) -> Result<Vec<LevelIntervals>> {
        level_intervals(&self.levels, confidence)
    }
}

impl BureauMeasurements {
    /// A confidence interval for every noisy count. The confidence is above 0 and below 1.
    pub fn intervals(&self, confidence: &Rational) -> Result<Vec<LevelIntervals>> {
        level_intervals(&self.levels, confidence)
    }
}

pub(super) fn level_intervals(
    levels: &[LevelMeasurements],
    confidence: &Rational,
) -> Result<Vec<LevelIntervals>> {
    let mut rows = RowIntervals::new(confidence)?;
    let mut of_level = |level: &LevelMeasurements| {
        let queries = level.queries.iter().map(|query| query.ends(&mut rows)).collect::<Result<_>>()?;
        Ok(LevelIntervals { level: level.level.clone(), queries })
    };
    levels.iter().map(&mut of_level).collect()
}

impl QueryMeasurements {
    /// A confidence interval for every noisy count of all units. The confidence is above 0 and below 1.
    pub fn intervals(&self, confidence: &Rational) -> Result<QueryIntervals> {
        self.ends(&mut RowIntervals::new(confidence)?)
    }

    /// Those of one unit.
    pub fn intervals_of(&self, unit: usize, confidence: &Rational) -> Result<Vec<Interval>> {
        let mut rows = RowIntervals::new(confidence)?;
        let intervals = rows.of(self.noise(unit))?;
        let values = &self.values[unit * self.length()..][..self.length()];
        Ok(values.iter().map(|value| intervals.of(*value)).collect())
    }

    fn ends(&self, rows: &mut RowIntervals) -> Result<QueryIntervals> {
        let widths = self.noises.iter().map(|noise| Ok(rows.of(noise)?.half_width()));
        let widths = widths.collect::<Result<Vec<u64>>>()?;
        let (mut lower, mut upper) = (vec![], vec![]);
        lower.reserve_exact(self.values.len());
        upper.reserve_exact(self.values.len());
        for (values, noise) in self.values.chunks_exact(self.length()).zip(&self.noise_of) {
            let width = widths[usize::from(*noise)];
            lower.extend(values.iter().map(|value| value.saturating_sub_unsigned(width).max(0)));
            upper.extend(values.iter().map(|value| value.saturating_add_unsigned(width)));
        }
        Ok(QueryIntervals { name: self.name.clone(), lower, upper })
    }
}
