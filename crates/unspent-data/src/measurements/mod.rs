//! Noisy measurements: written as a directory of files, read back, or kept in memory.
//!
//! A file is Parquet with the field names of the Census Bureau's noisy measurement files: one row for each
//! unit and query, `geocode`, `query_name`, `query_shape`, `value`, `variance`, `plb`. `value` lists the
//! query's noisy counts, the last attribute changing fastest. The Bureau's own files are read too:
//! [`bureau`]. [`read_any`] and [`Source`] take either.

pub mod bureau;
mod bypassed;
mod columns;
mod intervals;
mod memory;
mod read;
mod source;
mod table;
mod write;

use unspent::{Error, Rational, Result};

pub use self::bureau::{BureauDataset, BureauMeasurements};
pub(crate) use self::bypassed::csv as bypassed_csv;
pub use self::intervals::{LevelIntervals, QueryIntervals, RowIntervals};
pub(crate) use self::memory::{Kept, Memory};
pub use self::read::{Reader, Row, Rows};
pub use self::source::{AnyMeasurements, NoisyRow, Only, Source, read_any};
pub use self::table::IntervalTable;
pub(crate) use self::write::{Files, notes};
use crate::interval::Intervals;
use crate::manifest::{ExactEntry, ExactQuery, LevelEntry, Manifest, NoiseEntry, QueryEntry};
pub use crate::units::BypassedUnits;

/// All measurements of a release, in memory.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// What was released.
    pub manifest: Manifest,
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelMeasurements>,
    /// What was published exactly.
    pub exact: Vec<ExactMeasurements>,
    /// The units that are bypassed, by level; none if nobody listed them.
    pub bypassed: Vec<BypassedUnits>,
}

/// What was published exactly of a level.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactMeasurements {
    /// The level.
    pub level: String,
    /// The codes of its units, also of those that are bypassed.
    pub codes: Vec<String>,
    /// What is exact.
    pub queries: Vec<ExactValues>,
}

/// Exact answers to a query, or public numbers of units.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactValues {
    /// Its name.
    pub name: String,
    /// How many values each of its attributes has, in the order of the schema; `[1]` for a total.
    pub shape: Vec<u32>,
    /// The values of all units, one unit after the other.
    pub values: Vec<i64>,
}

impl ExactMeasurements {
    fn new(entry: &ExactEntry, codes: Vec<String>, values: Vec<Vec<i64>>) -> ExactMeasurements {
        let exact = |(query, values): (&ExactQuery, Vec<i64>)| ExactValues {
            name: query.query_name.clone(),
            shape: query.query_shape.clone(),
            values,
        };
        let queries = entry.queries.iter().zip(values).map(exact).collect();
        ExactMeasurements { level: entry.level.clone(), codes, queries }
    }
}

/// The measurements of a level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelMeasurements {
    /// Its name.
    pub level: String,
    /// The codes of its units.
    pub codes: Vec<String>,
    /// What was asked of every unit.
    pub queries: Vec<QueryMeasurements>,
}

/// A query at a level.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryMeasurements {
    /// Its name.
    pub name: String,
    /// How many values each of its attributes has, in the order of the schema; `[1]` for a total.
    pub shape: Vec<u32>,
    /// The noises that units have.
    pub noises: Vec<RowNoise>,
    /// Which of them each unit has.
    pub noise_of: Vec<u16>,
    /// The noisy counts of all units, one unit after the other.
    pub values: Vec<i64>,
}

/// The noise on the values of a query in a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct RowNoise {
    /// Its σ², if it is known exactly.
    pub sigma2: Option<Rational>,
    /// Its scale b, if it is Laplace noise; all other noise is Gaussian.
    pub laplace: Option<Rational>,
    /// Its variance, to the nearest double or so.
    pub variance: f64,
    /// What it spends, if that is known exactly.
    pub rho: Option<Rational>,
}

impl From<&NoiseEntry> for RowNoise {
    fn from(entry: &NoiseEntry) -> RowNoise {
        let NoiseEntry { sigma2, scale, variance, rho, .. } = entry.clone();
        RowNoise { sigma2, laplace: scale, variance, rho: Some(rho) }
    }
}

impl RowNoise {
    /// Confidence intervals of counts with this noise: by its exact σ² where it is known, and else by its
    /// variance, not too short.
    pub fn intervals(&self, confidence: &Rational) -> Result<Intervals> {
        self.needs_gaussian()?;
        match &self.sigma2 {
            Some(sigma2) => Intervals::new(sigma2, confidence),
            None => Intervals::of_variance(self.variance, confidence),
        }
    }

    /// An error for Laplace noise, of which there are no intervals.
    fn needs_gaussian(&self) -> Result<()> {
        let Some(scale) = &self.laplace else { return Ok(()) };
        let cause = format!("intervals: a count has discrete Laplace noise, of scale {scale}");
        Err(Error::stated(cause, "intervals are for discrete Gaussian noise"))
    }
}

impl QueryMeasurements {
    /// How many values it has in a unit.
    #[must_use]
    pub fn length(&self) -> usize {
        self.shape.iter().map(|n| *n as usize).product()
    }

    /// The noise of a unit.
    #[must_use]
    pub fn noise(&self, unit: usize) -> &RowNoise {
        &self.noises[usize::from(self.noise_of[unit])]
    }

    /// Nothing yet, of every query of a level.
    fn of_level(level: &LevelEntry) -> Vec<QueryMeasurements> {
        let budgets = level.noises();
        let query = |(i, entry): (usize, &QueryEntry)| QueryMeasurements {
            name: entry.query_name.clone(),
            shape: entry.query_shape.clone(),
            noises: budgets.iter().map(|noises| RowNoise::from(noises[i])).collect(),
            noise_of: vec![],
            values: vec![],
        };
        level.queries.iter().enumerate().map(query).collect()
    }
}
