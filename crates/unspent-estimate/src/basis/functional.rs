//! Functionals in the coordinates of a basis: sums of cells, and values that a unit lacks.

use num_rational::BigRational;
use num_traits::{One, Zero};

use super::atoms::{Atom, Node, alone};
use super::{Basis, Block};
use crate::matrix::Matrix;
use crate::subspace::{Functional, Subspace, to_matrix};

/// What two functionals have in common in a block: `Σ v wᵀ` over its copies is `factor · first · secondᵀ`.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) block: usize,
    pub(crate) factor: BigRational,
    pub(crate) first: Functional,
    pub(crate) second: Functional,
}

/// How many values of each atom of each node are counted by two functionals, and by both.
#[derive(Clone, Copy)]
struct Pair<'s> {
    first: &'s [Vec<u32>],
    second: &'s [Vec<u32>],
    both: &'s [Vec<u32>],
}

/// A length: a double where rounding does not matter, exact where it does.
trait Length: Clone + Zero + One + std::ops::Sub<Output = Self> {
    fn ratio(numerator: u64, denominator: u64) -> Self;
}

impl Length for f64 {
    fn ratio(numerator: u64, denominator: u64) -> f64 {
        numerator as f64 / denominator as f64
    }
}

impl Length for BigRational {
    fn ratio(numerator: u64, denominator: u64) -> BigRational {
        BigRational::new(numerator.into(), denominator.into())
    }
}

impl Basis {
    /// For each block, the sum over its copies of `w wᵀ`, where `w` are the coordinates of the functional
    /// that counts, on each axis, some of the values; and the direction of every `w`.
    ///
    /// `counted` says for each axis which values are counted. Blocks where all are zero are left out.
    pub(crate) fn product_functional(&self, counted: &[Vec<bool>]) -> Vec<(usize, Matrix, Functional)> {
        let shares = self.shares(counted);
        let pair = Pair { first: &shares, second: &shares, both: &shares };
        let mut found = vec![];
        for (at, block) in self.blocks.iter().enumerate() {
            let factor: f64 = self.common_length(block, pair);
            let direction = self.direction(block, &shares);
            if factor == 0.0 || direction.iter().all(BigRational::is_zero) {
                continue;
            }
            let (mut gram, w) = (Matrix::zeros(block.dimension, block.dimension), doubles(&direction));
            for i in 0..block.dimension {
                for j in 0..block.dimension {
                    gram[(i, j)] = factor * w[i] * w[j];
                }
            }
            found.push((at, gram, direction));
        }
        found
    }

    /// What two functionals have in common, each of which counts some of the values on each axis: for each
    /// block, the sum over its copies of `v wᵀ` is a number times the product of two directions. Blocks where
    /// it is zero are left out.
    pub(crate) fn common(&self, first: &[Vec<bool>], second: &[Vec<bool>]) -> Vec<Common> {
        let both: Vec<Vec<bool>> =
            first.iter().zip(second).map(|(a, b)| a.iter().zip(b).map(|(a, b)| *a && *b).collect()).collect();
        let (first, second, both) = (self.shares(first), self.shares(second), self.shares(&both));
        let pair = Pair { first: &first, second: &second, both: &both };
        let mut found = vec![];
        for (at, block) in self.blocks.iter().enumerate() {
            let factor: BigRational = self.common_length(block, pair);
            let (first, second) = (self.direction(block, &first), self.direction(block, &second));
            let is_zero = |direction: &Functional| direction.iter().all(BigRational::is_zero);
            if !(factor.is_zero() || is_zero(&first) || is_zero(&second)) {
                found.push(Common { block: at, factor, first, second });
            }
        }
        found
    }

    /// What the values that are counted on an axis are in each of its nodes: how many of each atom.
    pub(crate) fn shares_on(&self, axis: usize, counted: &[bool]) -> Vec<Vec<u32>> {
        self.nodes.iter().filter(|node| node.axis == axis).map(|node| share(node, counted)).collect()
    }

    /// For each block, what the coordinates of a functional span, by its weight of each cell.
    pub(crate) fn directions(&self, weights: &[i32]) -> Vec<Subspace> {
        let mut rows: Vec<BigRational> =
            weights.iter().map(|weight| BigRational::from_integer((*weight).into())).collect();
        self.down_exactly(0, &mut rows);
        let span = |block: &Block| {
            let mut found: Vec<Functional> = vec![];
            for copy in self.places[block.range()].chunks_exact(block.dimension) {
                let row: Functional = copy.iter().map(|place| rows[*place as usize].clone()).collect();
                if row.iter().any(|x| !x.is_zero()) && !found.contains(&row) {
                    found.push(row);
                }
            }
            Subspace::span(block.dimension, &found)
        };
        self.blocks.iter().map(span).collect()
    }

    /// Means of atoms, and differences inside them, which span what contrasts do.
    fn down_exactly(&self, node: usize, cells: &mut [BigRational]) {
        let node = &self.nodes[node];
        let length = cells.len() / self.sizes[node.axis];
        if let Some(atoms) = &node.atoms {
            let from = cells.to_vec();
            let (mut sum_row, mut contrast_row) = (0, atoms.len());
            for atom in atoms {
                for i in 0..length {
                    let at = |value: &u32| &from[*value as usize * length + i];
                    let sum: BigRational = atom.values.iter().map(at).sum();
                    cells[sum_row * length + i] = sum / BigRational::from_integer(atom.values.len().into());
                    for (row, value) in atom.values[1..].iter().enumerate() {
                        cells[(contrast_row + row) * length + i] = at(value) - at(&atom.values[0]);
                    }
                }
                (sum_row, contrast_row) = (sum_row + 1, contrast_row + atom.values.len() - 1);
            }
        }
        for (row, next) in cells.chunks_exact_mut(length).zip(&node.next) {
            if let Some(next) = next {
                self.down_exactly(*next, row);
            }
        }
    }

    /// What the values that are counted are in each node: how many of each atom.
    fn shares(&self, counted: &[Vec<bool>]) -> Vec<Vec<u32>> {
        self.nodes.iter().map(|node| share(node, &counted[node.axis])).collect()
    }

    /// The inner product of the contrasts of two functionals over all copies of a block (Lemma E3b).
    fn common_length<N: Length>(&self, block: &Block, pair: Pair<'_>) -> N {
        // The ways through the tree of nodes to this block.
        let mut factor = N::zero();
        let mut walks = vec![(0usize, N::one(), 0usize)];
        while let Some((at, length, depth)) = walks.pop() {
            let node = &self.nodes[at];
            let mut go = |next: Option<usize>, length: N, depth: usize, alive: u128| {
                if length.is_zero() {
                    return;
                }
                match next {
                    Some(next) => walks.push((next, length, depth)),
                    None if depth == block.nodes.len() && alive == block.alive => {
                        factor = factor.clone() + length;
                    }
                    None => {}
                }
            };
            let Some(atoms) = &node.atoms else {
                // Each value is a coordinate of its own: those that both count have the product 1.
                let both = N::ratio(u64::from(pair.both[at][0]), 1);
                go(node.next[0], length * both, depth, node.alive);
                continue;
            };
            if block.nodes.get(depth) == Some(&at) {
                go(node.next[0], length.clone(), depth + 1, node.alive);
            }
            let mut contrast = atoms.len();
            for (i, atom) in atoms.iter().enumerate() {
                let size = atom.values.len();
                if size > 1 {
                    let counts = [pair.both[at][i], pair.first[at][i], pair.second[at][i]];
                    let [both, first, second] = counts.map(u64::from);
                    let inside = N::ratio(both, 1) - N::ratio(first * second, size as u64);
                    go(node.next[contrast], length.clone() * inside, depth, alone(node.alive, &atom.seen));
                }
                contrast += size - 1;
            }
        }
        factor
    }

    /// The means over the atoms of a block.
    fn direction(&self, block: &Block, shares: &[Vec<u32>]) -> Functional {
        let mut direction: Functional = vec![BigRational::one()];
        for node in &block.nodes {
            let mean = |(atom, count): (&Atom, &u32)| {
                BigRational::new((*count).into(), (atom.values.len() as u64).into())
            };
            let means: Functional = self.atoms(*node).iter().zip(&shares[*node]).map(mean).collect();
            direction = product(&direction, &means);
        }
        direction
    }

    /// What each block is of: for each axis that is not summed out, its number, and how many atoms are
    /// coordinates; none where its contrasts or values are copies.
    pub(crate) fn parts_of(&self, block: &Block) -> Vec<(usize, Option<usize>)> {
        let mut parts: Vec<(usize, Option<usize>)> = vec![];
        for axis in 0..self.sizes.len() {
            match block.nodes.iter().find(|node| self.nodes[**node].axis == axis) {
                None => parts.push((axis, None)),
                Some(node) => match self.atoms(*node).len() {
                    1 => {}
                    atoms => parts.push((axis, Some(atoms))),
                },
            }
        }
        parts
    }

    /// The functionals of a block that are zero for a unit that lacks values on an axis: the coordinates
    /// themselves, since no values of that axis are put together.
    pub(crate) fn lacking(&self, block: &Block, axis: usize, values: &[u32]) -> Vec<Functional> {
        let mut rows: Vec<Functional> = vec![vec![BigRational::one()]];
        let mut found = false;
        for node in &block.nodes {
            let atoms = self.atoms(*node);
            let on_axis = self.nodes[*node].axis == axis;
            found |= on_axis;
            let unit = |at: usize| -> Functional {
                let one = |i| if i == at { BigRational::one() } else { BigRational::zero() };
                (0..atoms.len()).map(one).collect()
            };
            let kept = |at: &usize| !on_axis || values.contains(&atoms[*at].values[0]);
            let factors: Vec<Functional> = (0..atoms.len()).filter(kept).map(unit).collect();
            rows = rows.iter().flat_map(|row| factors.iter().map(|f| product(row, f))).collect();
        }
        if found { rows } else { vec![] }
    }
}

/// How many values of each atom are counted; of all, where values are coordinates by themselves.
fn share(node: &Node, counted: &[bool]) -> Vec<u32> {
    let of_atom = |atom: &Atom| atom.values.iter().filter(|value| counted[**value as usize]).count() as u32;
    match &node.atoms {
        Some(atoms) => atoms.iter().map(of_atom).collect(),
        None => vec![counted.iter().filter(|counted| **counted).count() as u32],
    }
}

fn doubles(row: &Functional) -> Vec<f64> {
    let matrix = to_matrix(row.len(), std::slice::from_ref(row));
    matrix.entries().to_vec()
}

fn product(a: &Functional, b: &Functional) -> Functional {
    a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect()
}
