//! Sums of units: districts, places, differences of two of them (Lemma E6 of `theory/estimates.md`).

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::Zero;

use crate::answers::{Precision, SumOfCells};
use crate::family::Sum;
use crate::matrix::Matrix;
use crate::subspace::{Functional, Subspace, to_matrix, unit};
use crate::tree::{Tree, Values};

/// A weighted sum of units, and how precisely its table is known.
#[derive(Debug)]
pub struct Area {
    /// For each block, the nodes whose estimates add up to that of the area, and how their coordinates count.
    weights: Vec<Vec<(usize, Matrix)>>,
    /// Of the coordinates of each block.
    covariances: Vec<Matrix>,
    /// The functionals of each block that are known, and those that are exact.
    known: Vec<(Subspace, Subspace)>,
}

/// What is known of the part of an area below a unit, for one block: the part is `total + from_unit · x`,
/// where x is the table of the unit and the covariance of `total` does not depend on it.
struct Below {
    from_unit: Matrix,
    covariance: Matrix,
    /// How the unit itself counts, apart from functionals that it sees, and from those that are exact.
    pure: [Pure; 2],
}

/// A matrix in exact numbers: mostly a multiple of the identity.
#[derive(Clone, Debug, PartialEq)]
enum Pure {
    Multiple(f64),
    Rows(Vec<Functional>),
}

impl Pure {
    const NONE: Pure = Pure::Multiple(0.0);

    fn rows(&self, dimension: usize) -> Vec<Functional> {
        match self {
            Pure::Rows(rows) => rows.clone(),
            Pure::Multiple(factor) => {
                let factor = BigRational::from_float(*factor).expect("weights are finite");
                let row = |at| unit(dimension, at).into_iter().map(|x| x * &factor).collect();
                (0..dimension).map(row).collect()
            }
        }
    }

    fn plus(&self, other: &Pure, dimension: usize, sign: f64) -> Pure {
        if let (Pure::Multiple(a), Pure::Multiple(b)) = (self, other) {
            return Pure::Multiple(a + sign * b);
        }
        let sign = BigRational::from_float(sign).expect("1 or −1");
        let sum = |(a, b): (&Functional, &Functional)| a.iter().zip(b).map(|(x, y)| x + y * &sign).collect();
        Pure::Rows(self.rows(dimension).iter().zip(&other.rows(dimension)).map(sum).collect())
    }

    fn is_zero(&self) -> bool {
        match self {
            Pure::Multiple(factor) => *factor == 0.0,
            Pure::Rows(rows) => rows.iter().flatten().all(BigRational::is_zero),
        }
    }

    fn to_matrix(&self, dimension: usize) -> Matrix {
        match self {
            Pure::Multiple(factor) => {
                let mut matrix = Matrix::zeros(dimension, dimension);
                (0..dimension).for_each(|i| matrix[(i, i)] = *factor);
                matrix
            }
            Pure::Rows(rows) => to_matrix(dimension, rows),
        }
    }
}

/// Takes from the parent what the children do not see: the functionals w for which some functional b of the
/// parent has `w · pure − b` seen by every child, and such a b for each, as a matrix.
fn from_parent(dimension: usize, children: &[(&Pure, &Subspace)]) -> (Subspace, Pure) {
    let mut distinct: Vec<(&Pure, &Subspace)> = vec![];
    for child in children.iter().filter(|(_, seen)| !seen.is_full()) {
        if !distinct.contains(child) {
            distinct.push(*child);
        }
    }
    let Some((first, _)) = distinct.first() else { return (Subspace::Full(dimension), Pure::NONE) };
    if distinct.iter().all(|(pure, _)| pure == first) {
        return (Subspace::Full(dimension), (*first).clone());
    }
    let multiples = distinct.iter().all(|(pure, _)| matches!(pure, Pure::Multiple(_)));
    if multiples && distinct.iter().filter(|(_, seen)| seen.is_zero()).count() > 1 {
        // Children that see nothing and count differently.
        return (Subspace::zero(dimension), Pure::NONE);
    }
    // Equations for (w, b): both are the same on whatever a child does not see.
    let mut equations: Vec<Functional> = vec![];
    for (pure, seen) in &distinct {
        let rows = pure.rows(dimension);
        for unseen in seen.unseen() {
            let of_w = rows.iter().map(|row| row.iter().zip(&unseen).map(|(x, y)| x * y).sum());
            let of_b = unseen.iter().map(|x: &BigRational| -x);
            equations.push(of_w.chain(of_b).collect());
        }
    }
    let solutions = Subspace::span(2 * dimension, &equations).unseen();
    let solutions = Subspace::span(2 * dimension, &solutions).rows();
    // In reduced form: those whose pivot is in w are a basis, each with its b.
    let mut taken = Pure::NONE.rows(dimension);
    let mut basis = vec![];
    for solution in &solutions {
        let pivot = solution.iter().position(|x| !x.is_zero()).expect("rows are not zero");
        if pivot < dimension {
            taken[pivot] = solution[dimension..].to_vec();
            basis.push(solution[..dimension].to_vec());
        }
    }
    (Subspace::span(dimension, &basis), Pure::Rows(taken))
}

/// The functionals w for which `w · pure` is in a subspace.
fn inside(dimension: usize, pure: &Pure, space: &Subspace) -> Subspace {
    if space.is_full() || pure.is_zero() {
        return Subspace::Full(dimension);
    }
    if let Pure::Multiple(_) = pure {
        return space.clone();
    }
    let rows = pure.rows(dimension);
    let equation = |unseen: &Functional| -> Functional {
        rows.iter().map(|row| row.iter().zip(unseen).map(|(x, y)| x * y).sum()).collect()
    };
    let equations: Vec<Functional> = space.unseen().iter().map(equation).collect();
    Subspace::span(dimension, &Subspace::span(dimension, &equations).unseen())
}

impl Tree {
    /// The sum of nodes with these weights; a node of several leaves counts with all of them.
    #[must_use]
    pub fn area(&self, weights: &BTreeMap<usize, f64>) -> Area {
        let mut area = Area { weights: vec![], covariances: vec![], known: vec![] };
        for block in 0..self.model().blocks().len() {
            self.area_block(block, weights, &mut area);
        }
        area
    }

    fn area_block(&self, block: usize, weights: &BTreeMap<usize, f64>, area: &mut Area) {
        let d = self.model().blocks()[block].dimension;
        let mut of_nodes: Vec<(usize, Matrix)> = vec![];
        let mut known = [Subspace::Full(d), Subspace::Full(d)];
        let mut covariance = Matrix::zeros(d, d);
        // From the last node to the first: children come before their parents.
        let mut waiting: BTreeMap<usize, BTreeMap<usize, Below>> =
            weights.keys().map(|node| (*node, BTreeMap::new())).collect();
        while let Some((node, children)) = waiting.pop_last() {
            let own = weights.get(&node).copied().unwrap_or(0.0);
            let mut below = match children.is_empty() {
                true => {
                    let nothing = Matrix::zeros(d, d);
                    Below { from_unit: nothing.clone(), covariance: nothing, pure: [Pure::NONE; 2] }
                }
                false => self.below(node, block, &children, &mut known, &mut of_nodes),
            };
            below.from_unit.add(&Matrix::identity(d), own);
            below.pure = below.pure.map(|pure| pure.plus(&Pure::Multiple(own), d, 1.0));
            match self.nodes()[node].parent {
                Some(parent) => _ = waiting.entry(parent).or_default().insert(node, below),
                None => {
                    let last = &self.state(node)[block];
                    let spaces = [&last.known.seen, &last.known.exact];
                    for ((known, pure), space) in known.iter_mut().zip(&below.pure).zip(spaces) {
                        *known = known.intersection(&inside(d, pure, space));
                    }
                    if !below.pure[0].is_zero() {
                        of_nodes.push((node, below.pure[0].to_matrix(d)));
                    }
                    covariance.add(&below.covariance, 1.0);
                    covariance.add(&below.from_unit.around(&last.of_coordinates()), 1.0);
                }
            }
        }
        let [seen, exact] = known;
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
        known: &mut [Subspace; 2],
        of_nodes: &mut Vec<(usize, Matrix)>,
    ) -> Below {
        let d = self.model().blocks()[block].dimension;
        let children = self.children(node);
        let family = self.family(node, block);
        let pure =
            |child: &usize, which: usize| parts.get(child).map_or(&Pure::NONE, |part| &part.pure[which]);
        // Whole units: nothing of the children remains.
        let first = pure(&children[0], 0);
        let whole = parts.len() == children.len()
            && parts.values().all(|part| part.pure[0] == *first && part.from_unit == first.to_matrix(d));
        let seen: Vec<(&Pure, &Subspace)> =
            children.iter().zip(&family).map(|(c, member)| (pure(c, 0), &member.state.known.seen)).collect();
        let exact: Vec<(&Pure, &Subspace)> =
            children.iter().zip(&family).map(|(c, member)| (pure(c, 1), &member.state.known.exact)).collect();
        let (seen, common) = if whole { (Subspace::Full(d), first.clone()) } else { from_parent(d, &seen) };
        // Once nothing is exact, nothing becomes so.
        let (exact, common_exact) = match known[1].is_zero() {
            true => (Subspace::zero(d), Pure::NONE),
            false => from_parent(d, &exact),
        };
        *known = [known[0].intersection(&seen), known[1].intersection(&exact)];
        let sum = Sum::new(self.model().knowledge(block), &family);
        let free = sum.known.free_rows();
        let from_common = common.to_matrix(d);
        let mut below = Below {
            from_unit: Matrix::zeros(d, d),
            covariance: Matrix::zeros(d, d),
            pure: [common.clone(), common_exact],
        };
        let mut with_sum = Matrix::zeros(d, sum.known.free_count());
        for (child, member) in children.iter().zip(&family) {
            let part = parts.get(child);
            let mut on_child = part.map_or_else(|| Matrix::zeros(d, d), |part| part.from_unit.clone());
            on_child.add(&from_common, -1.0);
            let rest = pure(child, 0).plus(&common, d, -1.0);
            if !rest.is_zero() {
                of_nodes.push((*child, rest.to_matrix(d)));
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
        below.from_unit.add(&from_common, 1.0);
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
                for copy in block.each_copy() {
                    weight.apply_add(&total[copy.clone()], &mut to[copy]);
                }
            }
        }
    }
}
