//! Sums of units: districts, places, differences of two of them (Lemma E6 of `theory/estimates.md`).

use std::collections::BTreeMap;

use crate::answers::{Precision, SumOfCells};
use crate::family::{State, Sum};
use crate::matrix::Matrix;
use crate::subspace::Subspace;
use crate::tree::{Tree, Values, copies};

/// A weighted sum of units, and how precisely its table is known.
#[derive(Debug)]
pub struct Area {
    /// For each block, the nodes whose estimates add up to that of the area, with their weights.
    weights: Vec<Vec<(usize, f64)>>,
    /// Of the coordinates of each block.
    covariances: Vec<Matrix>,
    /// The functionals of each block that are known, and those that are exact.
    known: Vec<(Subspace, Subspace)>,
}

/// What is known of the part of an area below a unit, for one block: the part is `total + from_unit · x`, where
/// x is the table of the unit and the covariance of `total` does not depend on it.
struct Below {
    from_unit: Matrix,
    covariance: Matrix,
    /// How often the unit itself counts, apart from functionals that it sees.
    pure: f64,
    /// The same, apart from functionals that are exact.
    pure_exact: f64,
}

impl Tree {
    /// The sum of nodes with these weights; a node of several leaves counts with all of them.
    #[must_use]
    pub fn area(&self, weights: &BTreeMap<usize, f64>) -> Area {
        let blocks = self.model().blocks().len();
        let mut area = Area { weights: vec![], covariances: vec![], known: vec![] };
        for block in 0..blocks {
            self.area_block(block, weights, &mut area);
        }
        area
    }

    fn area_block(&self, block: usize, weights: &BTreeMap<usize, f64>, area: &mut Area) {
        let d = self.model().blocks()[block].dimension;
        let mut of_nodes: Vec<(usize, f64)> = vec![];
        let (mut seen, mut exact) = (Subspace::Full(d), Subspace::Full(d));
        let mut covariance = Matrix::zeros(d, d);
        // From the last node to the first: children come before their parents.
        let mut waiting: BTreeMap<usize, BTreeMap<usize, Below>> =
            weights.keys().map(|node| (*node, BTreeMap::new())).collect();
        while let Some((node, children)) = waiting.pop_last() {
            let own = weights.get(&node).copied().unwrap_or(0.0);
            let mut below = match children.is_empty() {
                true => Below {
                    from_unit: Matrix::zeros(d, d),
                    covariance: Matrix::zeros(d, d),
                    pure: 0.0,
                    pure_exact: 0.0,
                },
                false => {
                    let known = (&mut seen, &mut exact);
                    self.below(node, block, &children, known, &mut of_nodes)
                }
            };
            below.from_unit.add(&Matrix::identity(d), own);
            below.pure += own;
            below.pure_exact += own;
            match self.nodes()[node].parent {
                Some(parent) => _ = waiting.entry(parent).or_default().insert(node, below),
                None => {
                    let last = &self.state(node)[block];
                    if below.pure != 0.0 {
                        seen = seen.intersection(&last.known.seen);
                        of_nodes.push((node, below.pure));
                    }
                    if below.pure_exact != 0.0 {
                        exact = exact.intersection(&last.known.exact);
                    }
                    covariance.add(&below.covariance, 1.0);
                    covariance.add(&below.from_unit.around(&last.of_coordinates()), 1.0);
                }
            }
        }
        area.weights.push(of_nodes);
        area.covariances.push(covariance);
        area.known.push((seen.clone(), exact.intersection(&seen)));
    }

    /// What is known of an area below a unit, from its parts below the children.
    fn below(
        &self,
        node: usize,
        block: usize,
        parts: &BTreeMap<usize, Below>,
        (seen, exact): (&mut Subspace, &mut Subspace),
        of_nodes: &mut Vec<(usize, f64)>,
    ) -> Below {
        let d = self.model().blocks()[block].dimension;
        let children = self.children(node);
        let family = self.family(node, block);
        let pure = |child: &usize| parts.get(child).map_or(0.0, |part| part.pure);
        let pure_exact = |child: &usize| parts.get(child).map_or(0.0, |part| part.pure_exact);
        let states: Vec<&State> = family.iter().map(|child| child.state).collect();
        // What no child sees alone can be had from the parent if it counts equally in all that do not see it.
        let unseen: Vec<f64> = children
            .iter()
            .zip(&states)
            .filter(|(_, state)| !state.known.seen.is_full())
            .map(|(child, _)| pure(child))
            .collect();
        let all_alike = |values: &[f64]| values.iter().all(|value| *value == values[0]);
        let all: Vec<f64> = children.iter().map(pure).collect();
        // Whole units: nothing of the children remains.
        let whole = all_alike(&all)
            && parts.len() == children.len()
            && parts.values().all(|part| {
                let mut rest = part.from_unit.clone();
                rest.add(&Matrix::identity(d), -all[0]);
                rest.entries().iter().all(|x| *x == 0.0)
            });
        let common = match unseen.first() {
            _ if whole => all[0],
            Some(first) if all_alike(&unseen) => *first,
            _ => 0.0,
        };
        let all_exact: Vec<f64> = children.iter().map(pure_exact).collect();
        let common_exact = if all_alike(&all_exact) { all_exact[0] } else { 0.0 };
        let sum = Sum::new(self.model().knowledge(block), &family);
        let free = sum.known.free_rows();
        let mut below = Below {
            from_unit: Matrix::zeros(d, d),
            covariance: Matrix::zeros(d, d),
            pure: common,
            pure_exact: common_exact,
        };
        let mut with_sum = Matrix::zeros(d, sum.known.free_count());
        for (child, member) in children.iter().zip(&family) {
            let part = parts.get(child);
            let mut on_child = part.map_or_else(|| Matrix::zeros(d, d), |part| part.from_unit.clone());
            on_child.add(&Matrix::identity(d), -common);
            let known = &member.state.known;
            if pure(child) != common {
                *seen = seen.intersection(&known.seen);
                of_nodes.push((*child, pure(child) - common));
            }
            if pure_exact(child) != common_exact {
                *exact = exact.intersection(&known.exact);
            }
            if let Some(part) = part {
                below.covariance.add(&part.covariance, member.count);
            }
            if on_child.entries().iter().any(|x| *x != 0.0) {
                with_sum.add(&member.state.of(&on_child, &free), member.count);
                below.covariance.add(&member.state.of(&on_child, &on_child), member.count);
            }
        }
        let gain = with_sum.times(&sum.inverse);
        below.covariance.add(&gain.times_transposed(&with_sum), -1.0);
        below.covariance.symmetrise();
        below.from_unit = gain.times(&free);
        below.from_unit.add(&Matrix::identity(d), common);
        below
    }
}

impl Area {
    /// Covariances of the coordinates, a matrix for each block.
    #[must_use]
    pub fn covariances(&self) -> &[Matrix] {
        &self.covariances
    }

    /// How precisely a sum of cells is known.
    #[must_use]
    pub fn precision(&self, sum: &SumOfCells) -> Precision {
        sum.precision_of(|block| (&self.known[block].0, &self.known[block].1), &self.covariances)
    }

    /// The coordinates of the estimate; `of_node` gives those of a node, all of its leaves together.
    pub fn coordinates(&self, tree: &Tree, values: &Values, to: &mut [f64]) {
        to.fill(0.0);
        let mut totals: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (at, block) in tree.model().blocks().iter().enumerate() {
            for (node, weight) in &self.weights[at] {
                let total = totals.entry(*node).or_insert_with(|| {
                    let mut total = vec![0.0; to.len()];
                    tree.total(values, *node, &mut total);
                    total
                });
                for copy in copies(block.range(), block.dimension) {
                    to[copy.clone()].iter_mut().zip(&total[copy]).for_each(|(x, y)| *x += weight * y);
                }
            }
        }
    }
}
