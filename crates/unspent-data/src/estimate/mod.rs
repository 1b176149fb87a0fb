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
mod bounds;
mod checks;
mod covariance;
mod document;
mod errors;
mod estimates;
mod estimation;
mod gather;
mod geography;
mod input;
mod join;
mod lens;
mod manifest;
mod replicates;
mod run;
mod simulated;
mod stand_in;
mod tables;
mod trials;
mod whole;
mod whole_file;
mod write;

use std::path::{Path, PathBuf};

use unspent::{Error, Rational, Result};
use unspent_estimate::Accuracy;

pub use self::answers::Estimated;
pub use self::areas::AreaName;
pub(crate) use self::areas::Areas;
pub use self::bounds::BoundsFile;
pub(crate) use self::errors::{Answers, TrialErrors, Truth};
pub use self::errors::{ErrorFigures, TrialMean};
pub use self::estimates::{AnswerRow, DifferenceRow, Estimates, RatioRow, Tables, UnitCells};
pub use self::manifest::{EstimateManifest, EstimatedLevel, TablesEntry};
pub use self::replicates::{
    LevelTableErrors, MAX_PLAIN_REPLICATES, MAX_REPLICATES, QueryTableErrors, SizeErrors, TableErrors,
};
pub use self::run::{REPLICATES, WHOLE_METHOD};
pub(crate) use self::simulated::KnownUnit;
pub(crate) use self::trials::Releases;
pub use self::trials::Stage;
pub use self::whole::LookAtFamily;
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
    /// The levels whose estimates are written; all if none are named. Whole tables are written of all.
    pub levels: Vec<String>,
    /// The queries that are written; all if none are named.
    pub queries: Vec<String>,
    /// Other sums of cells, each a name and a predicate, as in `any part Black: cenrace contains "Black"`.
    pub sums: Vec<String>,
    /// Files with one such sum on each line.
    pub sum_files: Vec<PathBuf>,
    /// Ratios of two sums, or of a sum and a query with one answer, as in `any part Black / total`.
    pub ratios: Vec<String>,
    /// Files that say which units make areas.
    pub maps: Vec<PathBuf>,
    /// Areas besides those of the maps.
    pub areas: Vec<NamedArea>,
    /// Pairs of areas whose difference is wanted, each as `map:area` or, if only one map has it, `area`.
    pub differences: Vec<(String, String)>,
    /// Whole tables that add up, if they are wanted.
    pub tables: Option<WholeTables>,
}

/// Whole tables that add up over all levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WholeTables {
    /// Whether each unit's table is made from its own measurements and its parent's table alone, and totals
    /// are decided first above the smallest level: as the 2020 system did it.
    pub own_measurements: bool,
    /// How many times noise is added to the tables and all is done again, to find how far they may be from
    /// the truth.
    pub replicates: u32,
    /// The seed of that noise, which is not private and need not be.
    pub seed: u64,
    /// Files of bounds on the counts of single units, like facilities.
    pub bounds: Vec<BoundsFile>,
    /// Whether tables are written in the form in which they are published.
    pub published: bool,
    /// Whether a record is written for each one that the tables count.
    pub records: bool,
}

/// What was estimated and written.
#[derive(Clone, Debug)]
pub struct EstimateReport {
    /// What is in the directory.
    pub manifest: EstimateManifest,
    /// How far estimates are from the truth, by level and query.
    pub accuracy: Accuracy,
    /// Errors of whole tables, if they were simulated.
    pub table_errors: Option<TableErrors>,
}

/// Units that make an area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedArea {
    /// What it is called.
    pub name: AreaName,
    /// The codes of its units.
    pub codes: Vec<String>,
}

impl Estimate {
    /// Of one folder, with the usual options.
    #[must_use]
    pub fn new(noisy: &Path) -> Estimate {
        Estimate { noisy: vec![noisy.into()], ..Estimate::of_none() }
    }

    /// Of no folder, with the usual options.
    fn of_none() -> Estimate {
        Estimate {
            noisy: vec![],
            confidence: Rational::parse("confidence", "0.95").expect("a number"),
            structural_zeros: true,
            leaf_cells: false,
            levels: vec![],
            queries: vec![],
            sums: vec![],
            sum_files: vec![],
            ratios: vec![],
            maps: vec![],
            areas: vec![],
            differences: vec![],
            tables: None,
        }
    }

    /// Estimates; what is asked for can be read then, without writing anything.
    pub fn estimates(&self, progress: &mut dyn Progress) -> Result<Estimates> {
        let estimation = estimation::Estimation::new(self, progress)?;
        // Areas of units that there are not are named now, not when they are asked for.
        estimation.area_nodes()?;
        Ok(Estimates(estimation))
    }

    /// Estimates into the directory `out`, which must not exist, and appears whole or not at all.
    pub fn to_directory(&self, out: &Path, progress: &mut dyn Progress) -> Result<EstimateReport> {
        run::to_directory(self, out, progress).map(|(_, _, report)| report)
    }

    /// The same, and what was estimated can be read then, and whole tables if they were made.
    pub fn estimates_in_directory(
        &self,
        out: &Path,
        progress: &mut dyn Progress,
    ) -> Result<(Estimates, Option<Tables>, EstimateReport)> {
        let (estimation, whole, report) = run::to_directory(self, out, progress)?;
        let estimates = Estimates(estimation);
        let tables = whole.map(|whole| estimates.numbered(whole));
        Ok((estimates, tables, report))
    }
}

fn twice(code: &str, level: &str) -> Error {
    Error::stated(
        format!("unit `{code}` of level `{level}` is there twice"),
        "every unit has one row for each query",
    )
}
