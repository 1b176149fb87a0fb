//! How far every estimate will be from the true count: from an allocation and a tree of units, without data.
//!
//! ```text
//! allocation ─▶ Prospect: model, answers ─┬▶ regular tree, by numbers of units ─▶ Accuracy
//!                                         └▶ any tree, unit by unit ─▶ Tally ──────┘
//! ```

mod document;
mod question;
mod tally;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Serialize;
use unspent::allocation::Production;
use unspent::{Allocation, Error, Rational, Result};

pub use self::question::{AccuracyQuestion, usual_units};
pub use self::tally::{Spread, Tally};
use crate::answers::AnswerClasses;
use crate::margin::Confidence;
use crate::model::{Model, SharedClass, UnitClass};
use crate::space::Space;
use crate::tree::{Node, Tree};

/// What every estimate's error will be, by level and query.
#[derive(Clone, Debug, Serialize)]
pub struct Accuracy {
    /// The name of the allocation.
    pub allocation: String,
    /// Which tree it is of.
    pub tree: TreeKind,
    /// How often an interval with the margins contains the true count.
    pub confidence: Rational,
    /// Whether it is used that some combinations of values cannot occur; none if all can.
    pub structural_zeros: Option<bool>,
    /// The levels whose totals are published exactly.
    pub exact_totals: Vec<String>,
    /// Whether the allocation is for a system that bypasses units.
    pub may_bypass: bool,
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelAccuracy>,
}

/// Which units there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeKind {
    /// All units of a level have the same number of children, which need not be whole.
    Regular,
    /// Those of a list.
    Listed,
    /// Those that were measured.
    Measured,
}

/// The errors of a level.
#[derive(Clone, Debug, Serialize)]
pub struct LevelAccuracy {
    /// Its name.
    pub level: String,
    /// How many units it has.
    pub units: u64,
    /// How many of them are bypassed: not measured, with the counts and estimates of their parents.
    pub bypassed: u64,
    /// Every query, also those that are not measured here.
    pub queries: Vec<QueryAccuracy>,
}

/// The errors of a query at a level.
#[derive(Clone, Debug, Serialize)]
pub struct QueryAccuracy {
    /// Its name.
    pub query: String,
    /// How many answers it has that can occur.
    pub answers: u64,
    /// The noise on an answer; none if it is not measured here.
    pub noise: Option<Deviation>,
    /// The error of an estimate.
    pub estimate: Deviation,
    /// Half of the width of the normal interval, for the root mean square; none if it is not determined.
    pub margin: Option<f64>,
    /// Half of the width of the guaranteed interval, for the largest deviation: it holds for every answer
    /// that is determined.
    pub guaranteed_margin: Option<f64>,
}

/// Standard deviations over units and answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "known", rename_all = "kebab-case")]
pub enum Deviation {
    /// The measurements determine none of them.
    NotDetermined,
    /// All are exact.
    Exact,
    /// Those that are determined. What is exact deviates by 0.
    Estimated {
        /// The root mean square.
        sd: f64,
        /// The smallest.
        smallest: f64,
        /// The largest.
        largest: f64,
        /// The part of the answers that is not determined, from 0 to 1.
        undetermined: f64,
    },
}

/// What errors are computed with.
#[derive(Clone, Debug)]
pub struct Assumptions {
    /// How often an interval contains the true count.
    pub confidence: Rational,
    /// Whether it is used that some combinations of values cannot occur.
    pub structural_zeros: bool,
    /// Levels whose totals are exact, besides those that the allocation says.
    pub exact_totals: Vec<String>,
}

impl Default for Assumptions {
    fn default() -> Assumptions {
        let confidence = "0.95".parse().expect("a number");
        Assumptions { confidence, structural_zeros: true, exact_totals: vec![] }
    }
}

/// An allocation, ready to be asked how far its estimates will be from the truth.
#[derive(Debug)]
pub struct Prospect {
    allocation: Allocation,
    model: Arc<Model>,
    answers: Vec<AnswerClasses>,
    confidence: Confidence,
    structural_zeros: Option<bool>,
}

impl Prospect {
    /// Fails if the allocation has no schema, or levels that are not nested.
    pub fn new(allocation: &Allocation, assumptions: &Assumptions) -> Result<Prospect> {
        let confidence = Confidence::new(assumptions.confidence.clone())?;
        if !allocation.is_nested() {
            return Err(Error::stated(
                format!("`{}`: the levels are not nested", allocation.name()),
                "an estimate adds up the units of a level to those above",
            ));
        }
        let mut production: Production = allocation.production().clone();
        for level in &assumptions.exact_totals {
            if !production.exact_totals.contains(level) {
                production.exact_totals.push(level.clone());
            }
        }
        let mut allocation = allocation.clone().used_by(production)?;
        let zeros = allocation.schema().is_some_and(|schema| !schema.impossible().is_empty());
        if let (false, Some(schema)) = (assumptions.structural_zeros, allocation.schema().cloned()) {
            allocation = allocation.with_schema(schema.without_impossible());
        }
        let space = Space::of_allocation(&allocation, &[], &[])?;
        let structural_zeros = zeros.then(|| assumptions.structural_zeros && space.unused_zeros() == 0);
        let model = Arc::new(Model::new(space)?);
        let queries = 0..model.space().queries().len();
        let answers = queries.map(|query| AnswerClasses::new(&model, query)).collect();
        Ok(Prospect { allocation, model, answers, confidence, structural_zeros })
    }

    /// The allocation, with the totals that are exact.
    #[must_use]
    pub fn allocation(&self) -> &Allocation {
        &self.allocation
    }

    /// Its model.
    #[must_use]
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// What is known of a unit of a level by itself: with the budgets down to the level `last`, or only what
    /// is exact if it is bypassed.
    pub fn class(&self, level: usize, last: Option<usize>) -> Result<SharedClass> {
        let space = self.model.space();
        let mut class = UnitClass::of_level(space, &self.allocation, level, last.unwrap_or(level))?;
        if last.is_none() {
            class.variances.fill(None);
        }
        Ok(Arc::new(self.model.class(class)))
    }

    /// On a tree in which all units of a level have the same number of children, by the numbers of units of
    /// the levels.
    pub fn regular(&self, units: &[u64]) -> Result<Accuracy> {
        check_units(&self.allocation, units)?;
        let mut nodes = vec![];
        for (level, count) in units.iter().enumerate() {
            let parent = level.checked_sub(1);
            let count = parent.map_or(1.0, |parent| *count as f64 / units[parent] as f64);
            nodes.push(Node { parent, class: self.class(level, Some(level))?, count });
        }
        let tree = Tree::new(&self.model, nodes);
        let mut tally = self.tally();
        for (level, count) in units.iter().enumerate() {
            tally.add(&tree, level, level, *count, false);
        }
        Ok(self.accuracy(tally, &tree, TreeKind::Regular))
    }

    /// Errors of no unit yet.
    #[must_use]
    pub fn tally(&self) -> Tally<'_> {
        Tally::new(&self.answers, self.allocation.levels().len())
    }

    /// All errors that were added up.
    #[must_use]
    pub fn accuracy(&self, tally: Tally<'_>, tree: &Tree, kind: TreeKind) -> Accuracy {
        let names = self.allocation.levels().iter().map(|level| level.name.as_str());
        Accuracy {
            allocation: self.allocation.name().into(),
            tree: kind,
            confidence: self.confidence.level().clone(),
            structural_zeros: self.structural_zeros,
            exact_totals: self.allocation.production().exact_totals.clone(),
            may_bypass: self.allocation.production().bypass.is_some(),
            levels: tally.levels(tree, &self.confidence, names),
        }
    }
}

/// Fails unless there is a number for every level, each at least as large as the one above.
pub(crate) fn check_units(allocation: &Allocation, units: &[u64]) -> Result<()> {
    let names: Vec<&str> = allocation.levels().iter().map(|level| level.name.as_str()).collect();
    let given = || units.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    if units.len() != names.len() {
        let allowed = format!("{} numbers of units, of {}", names.len(), names.join(", "));
        return Err(Error::input("per_level", given(), allowed, "there is one number for each level"));
    }
    if units[0] == 0 || units.windows(2).any(|pair| pair[1] < pair[0]) {
        let hint = format!("each is at least as large as the one before: {}", names.join(", "));
        return Err(Error::input("per_level", given(), "numbers from 1 on that do not fall", hint));
    }
    Ok(())
}
