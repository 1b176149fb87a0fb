//! Noisy measurements: written as a directory of files, read back, or kept in memory.
//!
//! A file is Parquet with the field names of the Census Bureau's noisy measurement files: one row for each
//! unit and query, `geocode`, `query_name`, `query_shape`, `value`, `variance`, `plb`. `value` lists the
//! query's noisy counts, the last attribute changing fastest.

mod memory;
mod read;
mod write;

use unspent::Rational;

pub(crate) use self::memory::Memory;
pub use self::read::{Reader, Row, Rows};
pub(crate) use self::write::Files;
use crate::manifest::{Manifest, QueryEntry};

/// All measurements of a release, in memory.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// What was released.
    pub manifest: Manifest,
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelMeasurements>,
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
    /// How many values each of its attributes has; `[1]` for a total.
    pub shape: Vec<u32>,
    /// The σ² of its noise.
    pub sigma2: Rational,
    /// The variance of its noise, to the nearest double or so.
    pub variance: f64,
    /// What it spends.
    pub rho: Rational,
    /// The noisy counts of all units, one unit after the other.
    pub values: Vec<i64>,
}

impl QueryMeasurements {
    fn new(entry: &QueryEntry) -> QueryMeasurements {
        QueryMeasurements {
            name: entry.query_name.clone(),
            shape: entry.query_shape.clone(),
            sigma2: entry.sigma2.clone(),
            variance: entry.variance,
            rho: entry.rho.clone(),
            values: vec![],
        }
    }
}
