//! Errors after estimation: what is left where the noisy counts of all levels make the best linear unbiased
//! estimate.
//!
//! ```text
//! two releases, or the noise of each level ─▶ Measurements ─▶ Tree of the table's units ─▶ EstimateErrors
//! ```
//!
//! An estimate is linear in the noise and unbiased, so that its mean squared error is its variance, which is
//! exact whatever the law of the noise is (`theory/estimates.md` of `unspent-estimate`). The variance of the
//! noise is taken to be σ². It never is more: a little less where σ² is below 1.

use std::sync::Arc;

use serde::Serialize;
use unspent::{Allocation, Error, Result, stop};
use unspent_estimate::accuracy::{Deviation, Spread};
use unspent_estimate::{
    AnswerClasses, Model, Node, Partition, Query, SchemaQuery, SharedClass, Space, Tree, UnitClass,
};

use super::evaluation::{LevelNoise, Question};
use crate::plan::Plan;

/// What the estimates are made from. Every unit is measured, with the noise of its level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "measurements", rename_all = "kebab-case")]
pub enum EstimatedFrom {
    /// All that the allocation measures at these levels, and what it publishes exactly.
    Allocation,
    /// These noisy counts at all these levels: noise was given directly, and nothing else is known.
    Counts,
    /// There are none: the measurements of the allocation cannot be used for this table.
    Nothing {
        /// Why.
        why: String,
    },
}

/// The errors of a level's estimates: root mean squares over units and cells, before and after.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EstimateErrors {
    /// Before.
    pub before: Deviation,
    /// After.
    pub after: Deviation,
}

impl EstimateErrors {
    /// The mean squared errors before and after, each unless some counts are not determined.
    #[must_use]
    pub fn mse(&self) -> [Option<f64>; 2] {
        [&self.before, &self.after].map(|deviation| match deviation {
            Deviation::NotDetermined => None,
            Deviation::Exact => Some(0.0),
            Deviation::Estimated { undetermined, .. } if *undetermined > 0.0 => None,
            Deviation::Estimated { sd, .. } => Some(sd * sd),
        })
    }
}

/// The numbers of units of a table, from which their tree follows.
#[derive(Debug)]
pub(super) struct UnitTree {
    /// For each level of the plan and each of its units in order, how many units of the next level it has.
    /// Empty for the last level.
    children: Vec<Vec<u32>>,
    /// How many units the last level has.
    leaves: u64,
}

impl UnitTree {
    pub(super) fn new(plan: &Plan) -> UnitTree {
        UnitTree { children: vec![vec![]; plan.levels().len()], leaves: 0 }
    }

    /// The next units of a level, by their numbers of children.
    pub(super) fn add(&mut self, level: usize, children: &[u32]) {
        if level + 1 == self.children.len() {
            self.leaves += children.len() as u64;
        } else {
            self.children[level].extend_from_slice(children);
        }
    }

    /// How many nodes the tree has: the leaves of a parent are one.
    fn nodes(&self) -> usize {
        let last = self.children.len().checked_sub(2).map_or(1, |last| self.children[last].len());
        self.children.iter().map(Vec::len).sum::<usize>() + last
    }
}

/// What is measured of a unit of each level.
struct Measurements {
    model: Arc<Model>,
    /// For each level of the plan.
    classes: Vec<SharedClass>,
    /// The cells that are looked at.
    answers: AnswerClasses,
}

/// Most multiplications, about: some ten seconds.
const MAX_WORK: f64 = 3e9;

/// The errors of the estimates of every level of the plan, if there are any.
pub(super) fn estimate(
    question: &Question,
    plan: &Plan,
    units: &UnitTree,
) -> Result<(EstimatedFrom, Vec<Option<EstimateErrors>>)> {
    let of_releases = |[before, after]: &[Allocation; 2]| -> Result<_> {
        let of = |allocation| Measurements::of_release(question, plan, allocation, units);
        Ok([of(before)?, of(after)?])
    };
    let (from, [before, after]) = match question.releases.as_ref().map(of_releases) {
        Some(Ok(both)) => (EstimatedFrom::Allocation, both),
        Some(Err(error)) => {
            let why = error.to_string();
            return Ok((EstimatedFrom::Nothing { why }, vec![None; plan.levels().len()]));
        }
        None => {
            let of = |pick| Measurements::of_counts(question, plan, pick);
            (EstimatedFrom::Counts, [of(|noise| &noise.before)?, of(|noise| &noise.after)?])
        }
    };
    let pair = |(before, after)| Some(EstimateErrors { before, after });
    Ok((from, before.deviations(units).into_iter().zip(after.deviations(units)).map(pair).collect()))
}

impl Measurements {
    /// All measurements of an allocation at the levels of the plan, and what it publishes exactly.
    fn of_release(
        question: &Question,
        plan: &Plan,
        allocation: &Allocation,
        units: &UnitTree,
    ) -> Result<Measurements> {
        // A unit that is bypassed has the noise of another level; here every unit has that of its own.
        let allocation = allocation.without_bypass().with_schema(question.schema.clone());
        let asked = SchemaQuery { name: "cells", by: &question.by, known: false };
        let model = Arc::new(Model::new(Space::of_allocation(&allocation, &[asked], &[])?)?);
        let cubes: f64 = model.block_sizes().iter().map(|(dimension, _)| (*dimension as f64).powi(3)).sum();
        if cubes * units.nodes() as f64 > MAX_WORK {
            return Err(Error::stated(
                format!("the queries of `{}` would take too long for so many units", allocation.name()),
                "ask for the accuracy of the allocation on a tree with fewer units",
            ));
        }
        let mut classes = vec![];
        for planned in plan.levels() {
            let level = allocation.levels().iter().position(|level| level.name == planned.name);
            let level = level.expect("levels with noise are levels of both allocations");
            let class = UnitClass::of_level(model.space(), &allocation, level, level)?;
            classes.push(Arc::new(model.class(class)));
        }
        let answers = AnswerClasses::new(&model, model.space().queries().len() - 1);
        Ok(Measurements { model, classes, answers })
    }

    /// The noisy counts alone. Every cell is a problem of its own, and all are alike.
    fn of_counts(
        question: &Question,
        plan: &Plan,
        pick: fn(&LevelNoise) -> &unspent::Rational,
    ) -> Result<Measurements> {
        let query = Query { name: "cells".into(), parts: vec![Partition::identity(1)], known: true };
        let model = Arc::new(Model::new(Space::new(&[1], vec![query], &[], &[])?)?);
        let class = |level: &str| {
            let noise = question.noises.iter().find(|n| n.level == level).expect("a level of the question");
            let variances = vec![Some(pick(noise).to_f64())];
            Arc::new(model.class(UnitClass { variances, ..UnitClass::default() }))
        };
        let classes = plan.levels().iter().map(|level| class(&level.name)).collect();
        let answers = AnswerClasses::new(&model, 0);
        Ok(Measurements { model, classes, answers })
    }

    /// The errors of each level.
    fn deviations(&self, units: &UnitTree) -> Vec<Deviation> {
        stop::check();
        // Level by level; the leaves of a parent are one node.
        let mut nodes: Vec<Node> = vec![];
        let mut starts = vec![];
        for (level, class) in self.classes.iter().enumerate() {
            starts.push(nodes.len());
            let is_last = level + 1 == self.classes.len();
            let mut push = |parent, children: u64| match is_last {
                true => nodes.push(Node { parent, class: class.clone(), count: children as f64 }),
                false => {
                    nodes.extend((0..children).map(|_| Node { parent, class: class.clone(), count: 1.0 }))
                }
            };
            match level.checked_sub(1) {
                None if is_last => push(None, units.leaves),
                None => push(None, units.children[0].len() as u64),
                Some(above) => {
                    let parents = starts[above]..;
                    parents.zip(&units.children[above]).for_each(|(at, n)| push(Some(at), u64::from(*n)));
                }
            }
        }
        starts.push(nodes.len());
        let tree = Tree::new(&self.model, nodes);
        let of_level = |ends: &[usize]| {
            let mut spread = Spread::default();
            for node in ends[0]..ends[1] {
                let precisions = tree.precisions(node, std::slice::from_ref(&self.answers));
                spread.add_answers(&self.answers, &precisions[0], tree.nodes()[node].count as u64);
            }
            // Where no cell can occur all are 0.
            spread.deviation().unwrap_or(Deviation::Exact)
        };
        starts.windows(2).map(of_level).collect()
    }
}
