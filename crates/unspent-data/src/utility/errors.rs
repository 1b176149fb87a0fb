//! What is reported of a table's errors: expected ones, and simulated ones with intervals.
//!
//! Expectations are sums over the law of the noise, right to about twelve digits, and variances of estimates.
//! Simulated means are those of trials, with confidence intervals. None is a certified bound, and none of
//! these types becomes one.

use serde::Serialize;
use unspent::expected::Expected;
use unspent::{Error, Result};

use super::estimation::{EstimateErrors, EstimatedFrom};

/// The errors of a table, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Utility {
    /// What it must not be used for.
    pub warning: &'static str,
    /// The attributes whose cells were looked at.
    pub by: Vec<String>,
    /// The rows of the table.
    pub rows: u64,
    /// How many times the noise was drawn.
    pub trials: u64,
    /// What the estimates are made from.
    pub estimated_from: EstimatedFrom,
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelErrors>,
}

impl Utility {
    /// The level of that name, capitals aside; the smallest units unless one is named.
    pub fn level(&self, name: Option<&str>) -> Result<&LevelErrors> {
        let Some(name) = name else { return Ok(self.levels.last().expect("there is a level")) };
        self.levels.iter().find(|level| level.level.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known: Vec<&str> = self.levels.iter().map(|level| level.level.as_str()).collect();
            let allowed = format!("one of {}", known.join(", "));
            Error::input("level", name, allowed, "these are the levels with noise")
        })
    }
}

/// The errors of a level.
#[derive(Clone, Debug, Serialize)]
pub struct LevelErrors {
    /// Its name.
    pub level: String,
    /// How many units it has.
    pub units: u64,
    /// σ² before, exactly.
    pub sigma2_before: String,
    /// σ² after, exactly.
    pub sigma2_after: String,
    /// All its counts.
    pub all: Errors,
    /// The same after estimation, if there are estimates.
    pub estimate: Option<EstimateErrors>,
    /// By cell.
    pub cells: Vec<Group>,
    /// By size of the unit.
    pub bands: Vec<Group>,
    /// By cell and size of the unit.
    pub cells_by_band: Vec<Group>,
}

/// Some counts of a level.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The values that make the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The sizes of the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<String>,
    /// Their errors.
    #[serde(flatten)]
    pub errors: Errors,
}

/// Mean errors of some counts.
#[derive(Clone, Debug, Serialize)]
pub struct Errors {
    /// How many counts.
    pub counts: u64,
    /// Raw noisy counts.
    pub plain: Pair,
    /// Clamped at zero.
    pub cut: Pair,
}

impl Errors {
    /// Those of counts that are clamped at zero, or of raw ones.
    #[must_use]
    pub fn published(&self, clamped: bool) -> &Pair {
        if clamped { &self.cut } else { &self.plain }
    }
}

/// Before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Expected, before.
    pub before: Expected,
    /// Expected, after.
    pub after: Expected,
    /// Simulated, if there were a thousand draws: before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<[Simulated; 2]>,
}

impl Pair {
    /// What part of the mean squared error went.
    #[must_use]
    pub fn mse_reduction(&self) -> f64 {
        reduction(self.before.mse, self.after.mse)
    }

    /// What part of the mean absolute error went.
    #[must_use]
    pub fn mae_reduction(&self) -> f64 {
        reduction(self.before.mae, self.after.mae)
    }

    /// What part of the bias went.
    #[must_use]
    pub fn bias_reduction(&self) -> f64 {
        reduction(self.before.bias, self.after.bias)
    }
}

pub(super) fn reduction(before: f64, after: f64) -> f64 {
    if before == 0.0 { 0.0 } else { 1.0 - after / before }
}

/// Means over all counts and trials, with intervals that contain what is expected with a probability of 95 %,
/// or more; by the normal approximation, which needs some thousand draws.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Simulated {
    /// Of the squared errors.
    pub mse: SimulatedMean,
    /// Of the absolute errors.
    pub mae: SimulatedMean,
    /// Of the errors.
    pub bias: SimulatedMean,
}

/// A mean and its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SimulatedMean {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: f64,
}

impl SimulatedMean {
    /// From a number of terms, their sum and the sum of their squares.
    ///
    /// The terms are independent, but not alike: their spread around the common mean is at least that around
    /// their own means, so that the interval is rather too wide.
    pub(super) fn new(n: f64, sum: f64, squares: f64) -> SimulatedMean {
        let mean = sum / n;
        let spread = (squares / n - mean * mean).max(0.0) / (n - 1.0);
        SimulatedMean { mean, half_width: NORMAL_95 * spread.sqrt() }
    }

    /// Whether the interval contains `x`.
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        (x - self.mean).abs() <= self.half_width
    }
}

/// The normal law is within so many deviations with a probability of 95 %.
pub(crate) const NORMAL_95: f64 = 1.959_963_984_540_054;

/// Errors of single counts tell the counts.
pub const NOT_PRIVATE: &str =
    "Computed from the exact counts: NOT PRIVATE, and not to be published for a table that is confidential.";
