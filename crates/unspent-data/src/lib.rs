//! Work on data: tables of counts, noisy measurements, and what noise does to both.
//!
//! ```text
//! table ─────────┐
//! allocation ────┴▶ plan ─▶ tabulation ─▶ noise ─▶ measurements ─▶ directory, with manifest and certificate
//! (CSV, Parquet,            (rows in,     (by      (Parquet, written and read back,
//!  columns in memory)        units out)    address)   or in memory)
//! ```
//!
//! [`Measure`] is the way through all of it; [`UtilityQuestion`] asks what noise does to a table,
//! [`RegressionQuestion`] what it does to a slope, and [`Interval`] where a true count is. The privacy of a
//! release is the crate `unspent`'s business: nothing here computes an ε.
//!
//! Numbers come in three kinds that never turn into each other: certified bounds (`unspent::Bounds`),
//! confidence intervals ([`Interval`], [`utility::SimulatedMean`]), and expectations (`unspent::expected`).
//!
//! Nothing is printed: long work tells a [`Progress`] how far it is. An error is `unspent::Error`. It never
//! shows a value of a table unless it is asked to ([revealed](unspent::Error::revealed)).

pub mod accuracy;
mod approval;
pub(crate) mod codes;
pub mod date;
pub mod design;
pub mod directory;
pub mod distributed;
pub mod estimate;
pub mod interval;
pub mod manifest;
pub mod measure;
pub mod measurements;
mod names;
pub mod noise;
pub mod panics;
mod parquet_file;
mod part;
pub mod plan;
pub mod population;
pub mod progress;
pub mod published;
pub mod regression;
mod run;
pub mod synthesize;
pub mod table;
pub mod tabulation;
pub mod units;
pub mod utility;

pub use accuracy::UnitsAccuracy;
pub use design::{NeedsFolder, needs_text, unit_tree};
pub use distributed::{Distributed, DistributedPlan, TableReader, UnitNoise};
pub use estimate::{Estimate, WholeTables};
pub use interval::{Interval, Intervals};
pub use manifest::Manifest;
pub use measure::{Measure, Measured};
pub use measurements::{AnyMeasurements, LevelMeasurements, Measurements, QueryMeasurements, read_any};
pub use noise::NoiseSource;
pub use plan::Plan;
pub use progress::{Progress, Quiet};
pub use regression::{RegressionQuestion, RegressionReport};
pub use run::all_cores;
pub use table::{Columns, Input, Table, Values};
pub use tabulation::RowOrder;
pub use units::{BypassRule, UnitList};
pub use utility::{UtilityQuestion, UtilityReport};
