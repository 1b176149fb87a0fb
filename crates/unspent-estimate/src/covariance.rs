//! Variances and covariances of the estimates of a tree.

use crate::answers::{AnswerClasses, Precision, SumOfCells, coordinate_covariances};
use crate::family::{Downward, State, Sum};
use crate::matrix::Matrix;
use crate::tree::Tree;

impl Tree {
    /// How precisely the answers of queries are known for a unit, or a leaf, by their classes.
    #[must_use]
    pub fn precisions(&self, node: usize, answers: &[AnswerClasses]) -> Vec<Vec<Precision>> {
        let (states, covariances) = (&self.last[node], coordinate_covariances(&self.last[node]));
        let of_query = |query: &AnswerClasses| {
            query.classes.iter().map(|sum| sum.precision(states, &covariances)).collect()
        };
        answers.iter().map(of_query).collect()
    }

    /// How precisely sums of cells are known for a unit, or a leaf.
    pub fn precision_of(&self, node: usize) -> impl Fn(&SumOfCells) -> Precision {
        let states = &self.last[node];
        let covariances = coordinate_covariances(states);
        move |sum| sum.precision(states, &covariances)
    }

    /// How precisely a sum of cells is known for a unit, or a leaf.
    #[must_use]
    pub fn precision(&self, node: usize, sum: &SumOfCells) -> Precision {
        self.precision_of(node)(sum)
    }

    /// The covariances of the coordinates of a node, a matrix for each block: by what its subtree says, and
    /// in the end; none where not all of them are known.
    #[must_use]
    pub fn own_covariances(&self, node: usize) -> Vec<[Option<Matrix>; 2]> {
        let whole = |state: &State| state.known.seen.is_full().then(|| state.of_coordinates());
        let pairs = self.upward[node].iter().zip(&self.last[node]);
        pairs.map(|(upward, last)| [whole(upward), whole(last)]).collect()
    }

    /// For each child of a node, by how much its coordinates move with those of the node: a matrix for each
    /// block.
    #[must_use]
    pub fn gains(&self, node: usize) -> Vec<Vec<Matrix>> {
        let mut gains = vec![vec![]; self.children(node).len()];
        let blocks = if gains.is_empty() { 0 } else { self.model().blocks().len() };
        for block in 0..blocks {
            let family = self.family(node, block);
            let knowledge = self.model().knowledge(block);
            let sum = Sum::new(knowledge, &family);
            for (which, gains) in gains.iter_mut().enumerate() {
                let downward = Downward::new(knowledge, &family, which, &sum, &self.last[node][block]);
                gains.push(downward.state.known.lift.times(&downward.from_parent));
            }
        }
        gains
    }

    /// The covariances between the coordinates of two single units, a matrix for each block. They are right
    /// for functionals that are known in both.
    #[must_use]
    pub fn covariances(&self, first: usize, second: usize) -> Vec<Matrix> {
        (0..self.model().blocks().len()).map(|block| self.covariance(block, first, second)).collect()
    }

    fn covariance(&self, block: usize, first: usize, second: usize) -> Matrix {
        let line = |mut node: usize| {
            let mut line = vec![node];
            while let Some(parent) = self.nodes()[node].parent {
                line.push(parent);
                node = parent;
            }
            line.reverse();
            line
        };
        let (a, b) = (line(first), line(second));
        let d = self.model().blocks()[block].dimension;
        let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        if common == 0 {
            return Matrix::zeros(d, d);
        }
        let ancestor = &self.last[a[common - 1]][block];
        let mut middle = ancestor.of_coordinates();
        let (mut left, mut right) = (Matrix::identity(d), Matrix::identity(d));
        let (mut a, mut b) = (&a[common..], &b[common..]);
        if let ([child, rest_a @ ..], [other, rest_b @ ..]) = (a, b) {
            middle = self.between_siblings(block, *child, *other, &middle);
            (a, b) = (rest_a, rest_b);
        }
        for (way, product) in [(a, &mut left), (b, &mut right)] {
            for child in way {
                let downward = self.downward(block, *child).0;
                *product = downward.state.known.lift.times(&downward.from_parent).times(product);
            }
        }
        left.times(&middle).times_transposed(&right)
    }

    /// How the last state of a node follows from its parent's.
    fn downward(&self, block: usize, node: usize) -> (Downward, Sum, usize, usize) {
        let parent = self.nodes()[node].parent.expect("a child");
        let family = self.family(parent, block);
        let sum = Sum::new(self.model().knowledge(block), &family);
        let which = self.children(parent).iter().position(|child| *child == node).expect("a child");
        let downward =
            Downward::new(self.model().knowledge(block), &family, which, &sum, &self.last[parent][block]);
        (downward, sum, which, parent)
    }

    /// The covariance between the coordinates of two children of a unit, whose own is given.
    fn between_siblings(&self, block: usize, first: usize, second: usize, of_parent: &Matrix) -> Matrix {
        let (a, sum, at_a, parent) = self.downward(block, first);
        let (b, _, at_b, _) = self.downward(block, second);
        let mut found = a.from_parent.times(of_parent).times_transposed(&b.from_parent);
        // The functional on each child: its own on the first and second, less what all others are taken for.
        for (i, child) in self.family(parent, block).iter().enumerate() {
            let on = |which: usize, downward: &Downward| {
                if i == which {
                    return Some((downward.by_child.clone(), 1.0));
                }
                downward.from_others.clone().map(|rest| (rest, -1.0))
            };
            if let (Some((x, s)), Some((y, t))) = (on(at_a, &a), on(at_b, &b)) {
                found.add(&child.state.of(&x, &y), s * t * child.count);
            }
        }
        found.add(&a.with_sum.times(&sum.inverse).times_transposed(&b.with_sum), -1.0);
        a.state.known.lift.times(&found).times_transposed(&b.state.known.lift)
    }
}
