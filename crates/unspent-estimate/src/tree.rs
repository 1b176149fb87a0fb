//! A tree of units: upward and downward through all families, for variances alone or with values.

use std::sync::Arc;

use unspent::parallel;

use crate::family::{Children, Downward, State, Sum, Upward};
use crate::model::{Contradiction, Leaf, Model, SharedClass, upward_values};

/// A unit, or several leaves of one parent that are of the same class.
#[derive(Clone, Debug)]
pub struct Node {
    /// Comes before its children; none for a root.
    pub parent: Option<usize>,
    /// What is known of the unit itself.
    pub class: SharedClass,
    /// How many leaves; 1 for a unit with children.
    pub count: f64,
}

/// A tree with what is known of every unit: from the units below it, and in the end.
#[derive(Debug)]
pub struct Tree {
    model: Arc<Model>,
    nodes: Vec<Node>,
    children: Vec<Vec<usize>>,
    /// By how many units are above a node.
    depths: Vec<Vec<usize>>,
    pub(crate) upward: Vec<Vec<State>>,
    pub(crate) last: Vec<Vec<State>>,
}

/// Estimates in the coordinates of the model, for each node.
#[derive(Clone, Debug)]
pub struct Values {
    /// For a single unit its functionals; for several leaves the shift from a leaf's own functionals.
    functionals: Vec<Vec<f64>>,
    /// For several leaves, what their own functionals add up to; empty if nobody asks for it.
    sums: Vec<Vec<f64>>,
}

/// What was measured of each node, by coordinates: sums for nodes of several leaves.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Of what is measured.
    pub gradient: Vec<f64>,
    /// A table for each exact query of the class.
    pub exact: Vec<Vec<f64>>,
}

/// A unit whose exact values contradict those of its children, or each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradicted {
    /// The node.
    pub node: usize,
    /// What is said.
    pub values: Contradiction,
}

/// The last state of each child of a unit, and its values.
type Family = Vec<(Vec<State>, Vec<f64>)>;

impl Tree {
    /// What is known of every unit of a tree, without any value.
    #[must_use]
    pub fn new(model: &Arc<Model>, nodes: Vec<Node>) -> Tree {
        let mut tree = Tree::unknown(model, nodes);
        tree.go_up(None).expect("there is no value that could contradict another");
        tree.go_down(None);
        tree
    }

    /// The same with the estimates of every unit; with `totals` also of nodes of several leaves together.
    pub fn estimate(
        model: &Arc<Model>,
        nodes: Vec<Node>,
        measured: Vec<Measured>,
        totals: bool,
    ) -> Result<(Tree, Values), Contradicted> {
        let mut tree = Tree::unknown(model, nodes);
        let mut measured = measured;
        tree.go_up(Some(&mut measured))?;
        let mut functionals: Vec<Vec<f64>> = measured.into_iter().map(|m| m.gradient).collect();
        let sum = |(node, values): (&Node, &Vec<f64>)| match totals && node.count > 1.0 {
            true => values.clone(),
            false => vec![],
        };
        let sums = tree.nodes.iter().zip(&functionals).map(sum).collect();
        tree.go_down(Some(&mut functionals));
        Ok((tree, Values { functionals, sums }))
    }

    /// The coordinates of the estimate of a node: of a unit, or of all leaves that it stands for, which must
    /// have been kept.
    pub(crate) fn total(&self, values: &Values, node: usize, to: &mut [f64]) {
        let count = self.nodes[node].count;
        if count <= 1.0 {
            return self.coordinates(values, node, to);
        }
        assert!(!values.sums[node].is_empty(), "sums of leaves were not kept");
        to.copy_from_slice(&values.sums[node]);
        to.iter_mut().zip(&values.functionals[node]).for_each(|(x, shift)| *x += count * shift);
        self.lift(node, to);
    }

    fn unknown(model: &Arc<Model>, nodes: Vec<Node>) -> Tree {
        let mut children = vec![vec![]; nodes.len()];
        let mut depths: Vec<Vec<usize>> = vec![];
        let mut depth = vec![0; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                assert!(parent < at, "parents come before their children");
                children[parent].push(at);
                depth[at] = depth[parent] + 1;
            }
            if depths.len() <= depth[at] {
                depths.push(vec![]);
            }
            depths[depth[at]].push(at);
        }
        let count = nodes.len();
        let (upward, last) = (vec![vec![]; count], vec![vec![]; count]);
        Tree { model: model.clone(), nodes, children, depths, upward, last }
    }

    /// Its model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Its nodes, parents before their children.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The children of a node.
    #[must_use]
    pub fn children(&self, node: usize) -> &[usize] {
        &self.children[node]
    }

    pub(crate) fn state(&self, node: usize) -> &[State] {
        &self.last[node]
    }

    pub(crate) fn family<'t>(&'t self, node: usize, block: usize) -> Vec<Children<'t>> {
        let of =
            |child: &usize| Children { state: &self.upward[*child][block], count: self.nodes[*child].count };
        self.children[node].iter().map(of).collect()
    }

    fn go_up(&mut self, mut measured: Option<&mut Vec<Measured>>) -> Result<(), Contradicted> {
        for depth in (0..self.depths.len()).rev() {
            let found = parallel::map(&self.depths[depth], |node| self.upward_of(*node, measured.as_deref()));
            for (node, found) in self.depths[depth].clone().into_iter().zip(found) {
                let (states, values) = found.map_err(|values| Contradicted { node, values })?;
                self.upward[node] = states;
                if let Some(measured) = &mut measured {
                    measured[node] = Measured { gradient: values, exact: vec![] };
                }
            }
        }
        Ok(())
    }

    fn upward_of(
        &self,
        node: usize,
        measured: Option<&Vec<Measured>>,
    ) -> Result<(Vec<State>, Vec<f64>), Contradiction> {
        let class = &self.nodes[node].class;
        let mut values = vec![0.0; if measured.is_some() { self.model.space().cells() } else { 0 }];
        let mut sums = values.clone();
        let mut states = vec![];
        for (at, block) in self.model.blocks().iter().enumerate() {
            let knowledge = self.model.knowledge(at);
            let children = self.family(node, at);
            let sum = (!children.is_empty()).then(|| Sum::new(knowledge, &children));
            let upward = Upward::new(knowledge, &class.own[at], sum.as_ref());
            if let Some(measured) = measured {
                let sum = sum.as_ref().map(|sum| {
                    self.sum_values(node, at, sum, |child| &measured[child].gradient, &mut sums);
                    (sum, &sums[..])
                });
                let Measured { gradient, exact } = &measured[node];
                upward_values(block, &class.own[at], &upward, sum, gradient, exact, &mut values)?;
            }
            states.push(upward.state);
        }
        Ok((states, values))
    }

    /// The sum of the children's values, in the functionals of the sum.
    fn sum_values<'v>(
        &self,
        node: usize,
        at: usize,
        sum: &Sum,
        values: impl Fn(usize) -> &'v Vec<f64>,
        to: &mut [f64],
    ) {
        let block = &self.model.blocks()[at];
        to[block.range()].fill(0.0);
        for child in &self.children[node] {
            let known = &self.upward[*child][at].known;
            let values = values(*child);
            if Arc::ptr_eq(known, &sum.known) {
                let range = block.range();
                to[range.clone()].iter_mut().zip(&values[range]).for_each(|(s, x)| *s += x);
            } else {
                let turn = known.express(&sum.known.rows);
                for copy in block.each_copy() {
                    turn.apply_add(&values[copy.start..][..known.count()], &mut to[copy]);
                }
            }
        }
    }

    fn go_down(&mut self, mut values: Option<&mut Vec<Vec<f64>>>) {
        for root in 0..self.nodes.len() {
            if self.nodes[root].parent.is_none() {
                self.last[root] = self.upward[root].clone();
                if let (Some(values), true) = (&mut values, self.nodes[root].count > 1.0) {
                    values[root].fill(0.0);
                }
            }
        }
        for depth in 0..self.depths.len() {
            let parents: Vec<usize> =
                self.depths[depth].iter().copied().filter(|node| !self.children[*node].is_empty()).collect();
            let found = parallel::map(&parents, |node| self.downward_of(*node, values.as_deref()));
            for (parent, family) in parents.into_iter().zip(found) {
                for (child, (states, of_child)) in self.children[parent].clone().into_iter().zip(family) {
                    self.last[child] = states;
                    if let Some(values) = &mut values {
                        values[child] = of_child;
                    }
                }
            }
        }
    }

    /// What is known in the end of each child of a node.
    fn downward_of(&self, node: usize, values: Option<&Vec<Vec<f64>>>) -> Family {
        let children = &self.children[node];
        let cells = if values.is_some() { self.model.space().cells() } else { 0 };
        let mut sums = vec![0.0; cells];
        let mut found: Family = children.iter().map(|_| (vec![], vec![0.0; cells])).collect();
        for at in 0..self.model.blocks().len() {
            let knowledge = self.model.knowledge(at);
            let family = self.family(node, at);
            let sum = Sum::new(knowledge, &family);
            let parent = &self.last[node][at];
            if let Some(values) = values {
                self.sum_values(node, at, &sum, |child| &values[child], &mut sums);
            }
            for (i, child) in children.iter().enumerate() {
                let downward = Downward::new(knowledge, &family, i, &sum, parent);
                if let Some(values) = values {
                    let shift_only = self.nodes[*child].count > 1.0;
                    self.downward_values(node, at, i, &downward, values, &sums, shift_only, &mut found[i].1);
                }
                // Of several leaves each has siblings like itself, so that they give nothing it does not see.
                debug_assert!(self.nodes[*child].count <= 1.0 || downward.from_others.is_none());
                found[i].0.push(downward.state);
            }
        }
        found
    }

    #[allow(clippy::too_many_arguments)]
    fn downward_values(
        &self,
        node: usize,
        at: usize,
        which: usize,
        downward: &Downward,
        values: &[Vec<f64>],
        sums: &[f64],
        shift_only: bool,
        to: &mut [f64],
    ) {
        let block = &self.model.blocks()[at];
        let child = self.children[node][which];
        let parent = &self.last[node][at].known;
        let from_parent = match parent.plain {
            true => downward.from_parent.clone(),
            false => downward.from_parent.times(&parent.lift),
        };
        let of_others = downward.from_others.as_ref().map(|by_rest| {
            let others = self.children[node].iter().filter(|other| **other != child);
            others.map(|other| (*other, self.upward[*other][at].known.express(by_rest))).collect::<Vec<_>>()
        });
        let (of_parent, of_child) = (&values[node], &values[child]);
        if block.dimension == 1 && downward.from_others.is_none() && downward.from_child.entries() == [1.0] {
            let gain = from_parent.entries().first().copied().unwrap_or(0.0);
            let back = downward.from_sum.entries().first().copied().unwrap_or(0.0);
            for i in block.range() {
                let own = if shift_only { 0.0 } else { of_child[i] };
                to[i] = own + gain * of_parent[i] - back * sums[i];
            }
            return;
        }
        for copy in block.each_copy() {
            let found = &mut to[copy.clone()];
            if !shift_only {
                downward.from_child.apply(&of_child[copy.start..][..downward.from_child.columns()], found);
            }
            from_parent.apply_add(&of_parent[copy.start..][..from_parent.columns()], found);
            for (i, x) in found.iter_mut().enumerate().take(downward.from_sum.rows()) {
                let back = downward.from_sum.row(i).iter().zip(&sums[copy.start..]);
                *x -= back.map(|(a, b)| a * b).sum::<f64>();
            }
            for (other, turn) in of_others.iter().flatten() {
                for (i, x) in found.iter_mut().enumerate().take(turn.rows()) {
                    let theirs = turn.row(i).iter().zip(&values[*other][copy.start..]);
                    *x -= theirs.map(|(a, b)| a * b).sum::<f64>();
                }
            }
        }
    }

    /// The coordinates of the estimate of a single unit.
    pub fn coordinates(&self, values: &Values, node: usize, to: &mut [f64]) {
        debug_assert!(self.nodes[node].count <= 1.0);
        to.copy_from_slice(&values.functionals[node]);
        self.lift(node, to);
    }

    /// The coordinates of the estimate of a leaf: one of those that a node stands for.
    pub fn leaf_coordinates(
        &self,
        values: &Values,
        node: usize,
        leaf: &Leaf,
        measured: &Measured,
        to: &mut [f64],
    ) -> Result<(), Contradiction> {
        debug_assert!(self.nodes[node].count > 1.0, "a single unit has its own coordinates");
        let shift = &values.functionals[node];
        for (at, block) in self.model.blocks().iter().enumerate() {
            let (own, upward) = (&leaf.class.own[at], &leaf.upward[at]);
            upward_values(block, own, upward, None, &measured.gradient, &measured.exact, to)?;
        }
        to.iter_mut().zip(shift).for_each(|(x, shift)| *x += shift);
        self.lift(node, to);
        Ok(())
    }

    /// Functionals of the last state to coordinates.
    fn lift(&self, node: usize, functionals: &mut [f64]) {
        for (block, state) in self.model.blocks().iter().zip(&self.last[node]) {
            if state.known.plain {
                continue;
            }
            let mut lifted = vec![0.0; block.dimension];
            for copy in block.each_copy() {
                state.known.lift.apply(&functionals[copy.start..][..state.known.count()], &mut lifted);
                functionals[copy].copy_from_slice(&lifted);
            }
        }
    }
}
