//! The best linear unbiased estimate of every count, from noisy measurements alone.
//!
//! ```text
//! folders ─▶ Input ─▶ Joined (one schema, one model) ─▶ Gathered (units and sums of leaves)
//!                                                          └▶ Tree::estimate ─▶ files, areas
//! ```
//!
//! Leaves are read twice: once to be added up, and once to be estimated one by one. The algebra is the crate
//! `unspent-estimate`'s. Nothing here reads a record: an estimate spends no budget.

mod answers;
mod areas;
mod gather;
mod input;
mod join;
mod manifest;
mod run;
mod tables;
mod write;

use std::path::{Path, PathBuf};

use unspent::{Error, Rational, Result};

pub use self::answers::Estimated;
pub use self::areas::AreaName;
pub use self::manifest::{EstimateManifest, EstimatedLevel};
use crate::progress::Progress;

/// What is estimated, from what, and what is written of it.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Folders of noisy measurements of the same records. The first has all levels.
    pub noisy: Vec<PathBuf>,
    /// How often an interval is to contain the true count.
    pub confidence: Rational,
    /// Whether structural zeros of the schema are used.
    pub structural_zeros: bool,
    /// Whether the full table of every smallest unit is written too.
    pub leaf_cells: bool,
    /// The levels that are written; all if none are named.
    pub levels: Vec<String>,
    /// The queries that are written; all if none are named.
    pub queries: Vec<String>,
    /// Other sums of cells, each as a name and an expression.
    pub sums: Vec<String>,
    /// Maps of units to areas.
    pub maps: Vec<PathBuf>,
}

/// A sum of cells, by the weight of each cell of the space.
#[derive(Clone, Debug)]
pub(crate) struct NamedWeights {
    pub(crate) name: String,
    pub(crate) weights: Vec<i32>,
}

impl Estimate {
    /// Of one folder, with the usual options.
    #[must_use]
    pub fn new(noisy: &Path) -> Estimate {
        Estimate {
            noisy: vec![noisy.into()],
            confidence: Rational::parse("confidence", "0.95").expect("a number"),
            structural_zeros: true,
            leaf_cells: false,
            levels: vec![],
            queries: vec![],
            sums: vec![],
            maps: vec![],
        }
    }

    /// Estimates into the directory `out`, which must not exist, and appears whole or not at all.
    pub fn to_directory(&self, out: &Path, progress: &mut dyn Progress) -> Result<EstimateManifest> {
        run::to_directory(self, out, progress)
    }
}

fn twice(code: &str, level: &str) -> Error {
    Error::stated(
        format!("unit `{code}` of level `{level}` is there twice"),
        "every unit has one row for each query",
    )
}
