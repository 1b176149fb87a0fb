//! What becomes of needs on a tree of units, regular or listed: the unit that is known worst, and how often
//! its error is within the margin. It is the estimator's own recursion, in doubles.

use std::sync::Arc;

use super::compile::{Compiled, Part};
use super::law;
use super::needs::{UnitTree, Units};
use crate::answers::{Precision, SumOfCells, coordinate_covariances};
use crate::matrix::Matrix;
use crate::model::{Model, SharedClass, UnitClass};
use crate::tree::{Node, Tree};

/// A part of a need as a sum of cells.
#[derive(Debug)]
struct Asked {
    sum: SumOfCells,
    /// The coordinates of its weights.
    coordinates: Vec<f64>,
}

/// Judges precisions by all needs.
#[derive(Debug)]
pub(super) struct Judge {
    model: Arc<Model>,
    /// For each need and each of its parts.
    asked: Vec<Vec<Asked>>,
    levels: Vec<usize>,
    units: Units,
    exact: Vec<Vec<usize>>,
    /// Level and query of each variable.
    variables: Vec<(usize, usize)>,
}

/// What the worst unit has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// The variance of the part of a need that is farthest from its limit; infinite if it is not determined.
    pub(super) variance: f64,
    /// The margin of that part, in records.
    pub(super) margin: f64,
    /// How often its error is within the margin, with the lattice of the noise of the unit itself.
    pub(super) coverage: f64,
}

/// A tree, and the nodes of each level: units of the last level that have the same parent are one node.
struct Judged {
    tree: Tree,
    levels: Vec<Vec<usize>>,
}

impl Judge {
    pub(super) fn new(compiled: &Compiled, needs: &super::Needs) -> Judge {
        let model = compiled.frame.model.clone();
        let asked = |part: &Part| {
            let counted: Vec<(f64, Vec<Vec<bool>>)> = part
                .counted
                .iter()
                .map(|(factor, counted)| (super::bound::double(factor), counted.clone()))
                .collect();
            let (sum, coordinates) = SumOfCells::weighted(&model, &counted);
            Asked { sum, coordinates }
        };
        Judge {
            asked: compiled.needs.iter().map(|parts| parts.iter().map(asked).collect()).collect(),
            levels: needs.needs.iter().map(|need| need.level).collect(),
            units: needs.units.clone(),
            exact: compiled.frame.exact().to_vec(),
            variables: compiled.frame.variables.iter().map(|v| (v.level, v.query)).collect(),
            model,
        }
    }

    /// For each need that is about single units its worst unit, if measurements have these precisions.
    pub(super) fn verdicts(
        &self,
        compiled: &Compiled,
        precisions: &[f64],
        sets: &[bool],
    ) -> Vec<Option<Verdict>> {
        let judged = self.tree(precisions);
        let of_need = |(number, set): (usize, &bool)| {
            (!set).then(|| self.verdict(&judged, &compiled.needs[number], number, precisions))
        };
        sets.iter().enumerate().map(of_need).collect()
    }

    fn verdict(&self, judged: &Judged, parts: &[Part], number: usize, precisions: &[f64]) -> Verdict {
        let level = self.levels[number];
        let mut worst: Option<(f64, usize, usize)> = None;
        for node in &judged.levels[level] {
            let precision = judged.tree.precision_of(*node);
            for (at, asked) in self.asked[number].iter().enumerate() {
                let variance = match precision(&asked.sum) {
                    Precision::Unknown => f64::INFINITY,
                    Precision::Exact => 0.0,
                    Precision::Variance(variance) => variance,
                };
                let margin = super::bound::double(&parts[at].margin);
                let ratio = variance / (margin * margin);
                if worst.is_none_or(|(largest, _, _)| ratio > largest) {
                    worst = Some((ratio, at, *node));
                }
            }
        }
        let Some((ratio, at, node)) = worst else {
            return Verdict { variance: 0.0, margin: 1.0, coverage: 1.0 };
        };
        let margin = super::bound::double(&parts[at].margin);
        let variance = ratio * margin * margin;
        let coverage = match variance.is_finite() && variance > 0.0 {
            true => {
                let own = self.own_terms(&judged.tree, node, level, &self.asked[number][at], precisions);
                law::with_lattice(&own, variance, margin)
            }
            false => f64::from(u8::from(variance == 0.0)),
        };
        Verdict { variance, margin, coverage }
    }

    /// The weights that the estimate of a unit gives to its own noisy counts, with their σ².
    fn own_terms(
        &self,
        tree: &Tree,
        node: usize,
        level: usize,
        asked: &Asked,
        precisions: &[f64],
    ) -> Vec<(f64, f64)> {
        let covariances: Vec<Matrix> = coordinate_covariances(&tree.last[node]);
        // The coordinates of the table whose answers, times precisions, are the weights (Lemma B6).
        let mut moved = vec![0.0; asked.coordinates.len()];
        for (block, covariance) in self.model.blocks().iter().zip(&covariances) {
            for copy in block.each_copy() {
                covariance.apply(&asked.coordinates[copy.clone()], &mut moved[copy]);
            }
        }
        let queries = self.model.space().queries().len();
        let mut wanted = vec![false; queries];
        let own: Vec<(usize, f64)> = (self.variables.iter().zip(precisions))
            .filter(|((of_level, _), w)| *of_level == level && **w > 0.0)
            .map(|((_, query), w)| (*query, *w))
            .collect();
        own.iter().for_each(|(query, _)| wanted[*query] = true);
        let mut scratch = crate::model::Scratch::default();
        let needed = self.model.space().needed(&wanted);
        let answered = self.model.answer(&moved, &needed, &mut scratch);
        let mut terms = vec![];
        for (query, precision) in own {
            terms.extend(answered.answers[query].iter().map(|x| (x * precision, 1.0 / precision)));
        }
        terms
    }

    fn tree(&self, precisions: &[f64]) -> Judged {
        let levels = self.exact.len();
        let class = |level: usize| -> SharedClass {
            let mut class = UnitClass {
                variances: vec![None; self.model.space().queries().len()],
                ..UnitClass::default()
            };
            for ((of_level, query), w) in self.variables.iter().zip(precisions) {
                if *of_level == level && *w > 0.0 {
                    class.add(*query, 1.0 / w);
                }
            }
            class.exact = self.exact[level].clone();
            Arc::new(self.model.class(class))
        };
        let classes: Vec<SharedClass> = (0..levels).map(class).collect();
        let mut nodes: Vec<Node> = vec![];
        let mut of_levels: Vec<Vec<usize>> = vec![];
        match &self.units {
            Units::PerLevel(units) => {
                for (level, class) in classes.iter().enumerate() {
                    let parent = level.checked_sub(1);
                    let count = parent.map_or(1.0, |parent| units[level] as f64 / units[parent] as f64);
                    nodes.push(Node { parent, class: class.clone(), count });
                    of_levels.push(vec![level]);
                }
            }
            Units::Listed(tree) => listed(tree, &classes, &mut nodes, &mut of_levels),
        }
        Judged { tree: Tree::new(&self.model, nodes), levels: of_levels }
    }
}

/// The nodes of a list of units.
fn listed(tree: &UnitTree, classes: &[SharedClass], nodes: &mut Vec<Node>, levels: &mut Vec<Vec<usize>>) {
    let last = classes.len() - 1;
    for (level, class) in classes.iter().enumerate() {
        let mut of_level: Vec<usize> = vec![];
        let mut push = |parent: Option<usize>, count: f64| {
            of_level.push(nodes.len());
            nodes.push(Node { parent, class: class.clone(), count });
        };
        if level == 0 {
            (0..tree.roots).for_each(|_| push(None, 1.0));
        } else {
            let parents = &tree.parents[level - 1];
            let above = &levels[level - 1];
            if level < last {
                parents.iter().for_each(|parent| push(Some(above[*parent as usize]), 1.0));
            } else {
                for same in parents.chunk_by(|a, b| a == b) {
                    push(Some(above[same[0] as usize]), same.len() as f64);
                }
            }
        }
        levels.push(of_level);
    }
}
