//! What a design says: the allocation, its certificate of optimality, and what became of every need.

use serde::Serialize;
use unspent::{Allocation, Bounds, Delta, Rational};

use super::needs::{Law, Units};

/// An allocation that meets needs, and how much less could meet them.
#[derive(Clone, Debug)]
pub struct Design {
    /// The allocation. All of its numbers are exact.
    pub allocation: Allocation,
    /// What it spends.
    pub rho: Rational,
    /// No allocation of the queries on offer meets the needs as they were asked for with less: a bound that
    /// was computed in exact fractions. None where there is none: with a list of units.
    pub least_rho: Option<Rational>,
    /// The δ at which ε is quoted.
    pub delta: Delta,
    /// Its ε, certified.
    pub epsilon: Bounds<f64>,
    /// What continuous Gaussian noise of the least ρ would have. It is an indication, no bound.
    pub epsilon_of_least_rho: Option<f64>,
    /// The common factor of all margins; 1 unless ε was given.
    pub factor: f64,
    /// How margins follow from variances.
    pub law: Law,
    /// Which units there are.
    pub units: Units,
    /// In the order in which they were asked.
    pub needs: Vec<NeedMet>,
    /// The part of the budget that the tables nobody asked for account for, from 0 to 1.
    pub rest_share: f64,
    /// With a guard, the largest deviation of a table relative to what it is in the allocation that guards.
    pub guarded: Option<Guarded>,
    /// Every query at every level.
    pub tables: Vec<TableOfDesign>,
    /// What each promise spends.
    pub promises: Vec<PromiseKept>,
    /// The smallest σ², if it is so small that the least ρ need not have the least ε.
    pub small_sigma2: Option<f64>,
    /// What was assumed.
    pub assumptions: Vec<String>,
}

/// What became of a need.
#[derive(Clone, Debug, Serialize)]
pub struct NeedMet {
    /// What it is called.
    pub name: String,
    /// Its level.
    pub level: String,
    /// What is known: `total`, `race = black`, a share.
    pub quantity: String,
    /// The margin that was asked for: records, or a part of 1 for a share.
    pub asked: f64,
    /// The margin that the design has for it, in the same unit: predicted, and no guarantee unless the law is
    /// the guaranteed one.
    pub predicted: f64,
    /// Whether it is a share.
    pub is_share: bool,
    /// For a share, of at least how many records.
    pub population: Option<f64>,
    /// How often an error is within the margin.
    pub confidence: f64,
    /// How often an error is within the margin that was asked for, by the law that was used.
    pub coverage: f64,
    /// The part of the budget that it accounts for, from 0 to 1.
    pub share: f64,
    /// How much less ε would do if this margin were wider by a tenth: solved again, for continuous noise.
    /// None where that was not asked.
    pub tenth_wider_saves: Option<f64>,
    /// Whether it is met.
    pub met: bool,
}

/// How a guard was kept.
#[derive(Clone, Debug, Serialize)]
pub struct Guarded {
    /// The name of the allocation that guards.
    pub than: String,
    /// How many times as large a deviation may be.
    pub times: f64,
    /// How many times as large the largest is.
    pub largest: f64,
    /// Where: a level and a query.
    pub at: Option<(String, String)>,
}

/// A query at a level.
#[derive(Clone, Debug, Serialize)]
pub struct TableOfDesign {
    /// The level.
    pub level: String,
    /// The query.
    pub query: String,
    /// What it spends; none if it is not measured.
    pub rho: Option<Rational>,
    /// Its noise.
    pub sigma2: Option<Rational>,
    /// The standard deviation of the best estimate of its least known answer; none if it cannot be answered.
    pub deviation: Option<f64>,
}

/// A promise for a part of the release.
#[derive(Clone, Debug)]
pub struct PromiseKept {
    /// The part.
    pub scope: unspent::Scope,
    /// What it may spend.
    pub promised: Rational,
    /// What it spends, certified.
    pub epsilon: Bounds<f64>,
}

/// Which needs an allocation meets.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The name of the allocation.
    pub allocation: String,
    /// What it spends.
    pub rho: Rational,
    /// The δ at which ε is quoted.
    pub delta: Delta,
    /// Its ε, certified.
    pub epsilon: Bounds<f64>,
    /// How margins follow from variances.
    pub law: Law,
    /// Which units there are.
    pub units: Units,
    /// In the order in which they were asked. Shares of the budget and prices are not known.
    pub needs: Vec<NeedMet>,
}

/// What an allocation is optimal for.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The name of the allocation.
    pub allocation: String,
    /// What it spends.
    pub rho: Rational,
    /// No allocation of the same queries has all deviations as small with less: a bound that was computed in
    /// exact fractions.
    pub least_rho: Rational,
    /// Which units there are.
    pub units: Units,
    /// The tables by their importance, the largest first.
    pub tables: Vec<Importance>,
}

/// How important a table must be, for an allocation to be the best.
#[derive(Clone, Debug, Serialize)]
pub struct Importance {
    /// The level.
    pub level: String,
    /// The query.
    pub query: String,
    /// The part of the budget that its accuracy accounts for, from 0 to 1.
    pub share: f64,
    /// The part of the budget that is spent on its own noise, from 0 to 1.
    pub spent: f64,
    /// The standard deviation of the best estimate of its least known answer.
    pub deviation: f64,
}
