//! A basis on a part of the cells: on some values of each axis, or on sums over whole axes (Lemmas T2 and T4
//! of `theory/tables.md`).
//!
//! A matrix that falls apart into blocks in the whole basis does so in that of the part too. The entries of
//! its blocks there are fixed combinations of entries here, which are found once for a part.

use super::atoms::{Atom, Node, alone};
use super::{Basis, Block, Step};
use crate::matrix::Matrix;

/// A part of the cells, with its basis.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) basis: Basis,
    /// For each block, its entries.
    entries: Vec<Vec<Entry>>,
}

/// An entry of a block of a part, and what it is in the blocks of the whole.
#[derive(Debug)]
struct Entry {
    row: usize,
    column: usize,
    terms: Vec<Term>,
}

#[derive(Clone, Copy, Debug)]
struct Term {
    factor: f64,
    block: usize,
    row: usize,
    column: usize,
}

/// Sums of coordinates of a block that are given: for each coordinate, the sum that it is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pinned {
    pub(crate) sums: usize,
    pub(crate) sum_of: Vec<usize>,
}

impl Part {
    /// The cells with some of the values of each axis. Matrices are those of quadratic forms on the cells.
    pub(crate) fn of_values(whole: &Basis, kept: &[Vec<u32>]) -> Part {
        let of_node = |node: &Node| {
            let kept = &kept[node.axis];
            let Some(atoms) = &node.atoms else {
                return Node { next: node.next[..kept.len()].to_vec(), ..node.clone() };
            };
            let (mut left, mut sums, mut contrasts) = (vec![], vec![], vec![]);
            let mut contrast = atoms.len();
            for (row, atom) in atoms.iter().enumerate() {
                let place = |value: &u32| kept.binary_search(value).ok().map(|place| place as u32);
                let values: Vec<u32> = atom.values.iter().filter_map(place).collect();
                if !values.is_empty() {
                    sums.push(node.next[row]);
                    contrasts.extend_from_slice(&node.next[contrast..][..values.len() - 1]);
                    left.push(Atom { values, seen: atom.seen.clone() });
                }
                contrast += atom.values.len() - 1;
            }
            Node { atoms: Some(left), next: [sums, contrasts].concat(), ..node.clone() }
        };
        let nodes = whole.nodes.iter().map(of_node).collect();
        let sizes = kept.iter().map(Vec::len).collect();
        let basis = Basis::of_nodes(nodes, sizes, whole.node_of.clone(), &[]);
        let restriction = Restriction { whole, part: &basis, kept };
        let entries = basis.blocks.iter().map(|block| restriction.entries(block)).collect();
        Part { basis, entries }
    }

    /// Sums over all axes but some. Matrices are covariances of coordinates.
    pub(crate) fn of_sums(whole: &Basis, told: &[bool]) -> Part {
        let of_node = |node: &Node| match told[node.axis] {
            true => node.clone(),
            false => {
                let all = Atom { values: vec![0], seen: vec![] };
                Node { atoms: Some(vec![all]), next: vec![node.next[0]], ..node.clone() }
            }
        };
        let nodes = whole.nodes.iter().map(of_node).collect();
        let size = |(size, told): (&usize, &bool)| if *told { *size } else { 1 };
        let sizes = whole.sizes.iter().zip(told).map(size).collect();
        let basis = Basis::of_nodes(nodes, sizes, whole.node_of.clone(), &[]);
        let entries = basis.blocks.iter().map(|block| sum_entries(whole, told, block)).collect();
        Part { basis, entries }
    }

    /// The blocks of a matrix in the basis of the part.
    pub(crate) fn of_blocks(&self, whole: &[Matrix]) -> Vec<Matrix> {
        let of_block = |(block, entries): (&Block, &Vec<Entry>)| {
            let mut found = Matrix::zeros(block.dimension, block.dimension);
            for Entry { row, column, terms } in entries {
                let sum = terms.iter().map(|t| t.factor * whole[t.block][(t.row, t.column)]).sum();
                (found[(*row, *column)], found[(*column, *row)]) = (sum, sum);
            }
            found
        };
        self.basis.blocks.iter().zip(&self.entries).map(of_block).collect()
    }
}

impl Basis {
    /// What a sum of squares of cells is in the coordinates of a block: a diagonal matrix.
    pub(crate) fn squares(&self, block: &Block) -> Vec<f64> {
        let mut found = vec![1.0];
        for node in &block.nodes {
            let sizes = self.atoms(*node).iter().map(|atom| atom.values.len() as f64);
            found = found.iter().flat_map(|x| sizes.clone().map(move |size| x / size)).collect();
        }
        found
    }

    /// The sums of coordinates of a block that are given if all sums over the other axes are; none if nothing
    /// of it is.
    ///
    /// A query with these sums must be among those that the basis was made for.
    pub(crate) fn pinned(&self, block: &Block, told: &[bool]) -> Option<Pinned> {
        // A single value is its own sum.
        let other = |(axis, step): (usize, &Step)| {
            !told[axis] && self.sizes[axis] > 1 && !matches!(step, Step::Sums(_))
        };
        if block.steps.iter().enumerate().any(other) {
            return None;
        }
        let mut found = Pinned { sums: 1, sum_of: vec![0] };
        for (axis, step) in block.steps.iter().enumerate() {
            let Step::Sums(node) = step else { continue };
            let atoms = self.atoms(*node).len();
            let finer = |sum: &usize| {
                let sum = *sum;
                (0..atoms).map(move |atom| if told[axis] { sum * atoms + atom } else { sum })
            };
            found.sum_of = found.sum_of.iter().flat_map(finer).collect();
            found.sums *= if told[axis] { atoms } else { 1 };
        }
        Some(found)
    }

    /// The groups of cells that sums over the other axes are of.
    pub(crate) fn groups_by(&self, told: &[bool]) -> Vec<u32> {
        let mut found = vec![0];
        for (size, told) in self.sizes.iter().zip(told) {
            let size = *size as u32;
            let finer = |group: &u32| {
                let group = *group;
                (0..size).map(move |value| if *told { group * size + value } else { group })
            };
            found = found.iter().flat_map(finer).collect();
        }
        found
    }

    /// The place of each coordinate after the transform.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Gradients of several tables by cells, to gradients by coordinates, in their places after the
    /// transform.
    ///
    /// All values of a cell lie together.
    pub(crate) fn gradients_in_place(&self, cells: &mut [f64], work: &mut Vec<f64>) {
        self.down(0, cells, work, super::Sums::Mean);
    }

    /// Several tables by cells, to coordinates, in their places after the transform.
    pub(crate) fn coordinates_in_place(&self, cells: &mut [f64], work: &mut Vec<f64>) {
        self.down(0, cells, work, super::Sums::Sum);
    }

    /// Back from coordinates in their places to cells.
    pub(crate) fn to_cells_in_place(&self, cells: &mut [f64], work: &mut Vec<f64>) {
        self.up(0, cells, work, super::Sums::Sum);
    }
}

/// Finds what entries of a part's blocks are, if the part has some of the values of each axis.
struct Restriction<'r> {
    whole: &'r Basis,
    part: &'r Basis,
    kept: &'r [Vec<u32>],
}

/// Where a walk through the axes is.
#[derive(Clone)]
struct Walk {
    axis: usize,
    alive: u128,
    factor: f64,
    nodes: Vec<usize>,
    row: usize,
    column: usize,
}

impl Restriction<'_> {
    fn entries(&self, block: &Block) -> Vec<Entry> {
        let lengths: Vec<usize> = block.nodes.iter().map(|node| self.part.atoms(*node).len()).collect();
        let alive = self.whole.nodes[0].alive;
        let mut found = vec![];
        for row in 0..block.dimension {
            for column in row..block.dimension {
                let start = Walk { axis: 0, alive, factor: 1.0, nodes: vec![], row: 0, column: 0 };
                let mut terms = vec![];
                let indices = (&digits(row, &lengths)[..], &digits(column, &lengths)[..]);
                self.walk(&block.steps, indices, start, &mut terms);
                found.push(Entry { row, column, terms });
            }
        }
        found
    }

    /// The form of two tables, each one sum or contrast on every axis, as Lemma T2 has it.
    fn walk(&self, steps: &[Step], (rows, columns): (&[usize], &[usize]), at: Walk, to: &mut Vec<Term>) {
        let Some(step) = steps.get(at.axis) else {
            let block = self.whole.block_of[&(at.alive, at.nodes)];
            to.push(Term { factor: at.factor, block, row: at.row, column: at.column });
            return;
        };
        let node = self.whole.node_of[&(at.axis, at.alive)];
        let whole = self.whole.nodes[node].atoms.as_deref();
        let next = Walk { axis: at.axis + 1, ..at.clone() };
        let inside = |atom: &Atom| Walk { alive: alone(at.alive, &atom.seen), ..next.clone() };
        match step {
            Step::Value => self.walk(steps, (rows, columns), next, to),
            Step::Contrast { node, atom } => {
                let value = self.first(at.axis, &self.part.atoms(*node)[*atom]);
                let next = whole.map_or(next.clone(), |atoms| inside(&atoms[holding(atoms, value)]));
                self.walk(steps, (rows, columns), next, to);
            }
            Step::Sums(of_part) => {
                let atoms = self.part.atoms(*of_part);
                let ((first, rows), (second, columns)) =
                    (rows.split_first().expect("a digit"), columns.split_first().expect("a digit"));
                let share = if first == second { 1.0 / atoms[*first].values.len() as f64 } else { 0.0 };
                let Some(whole) = whole else {
                    if share > 0.0 {
                        let next = Walk { factor: at.factor * share, ..next };
                        self.walk(steps, (rows, columns), next, to);
                    }
                    return;
                };
                let a = holding(whole, self.first(at.axis, &atoms[*first]));
                let b = holding(whole, self.first(at.axis, &atoms[*second]));
                let mut sums = next.clone();
                sums.nodes.push(node);
                (sums.row, sums.column) = (at.row * whole.len() + a, at.column * whole.len() + b);
                self.walk(steps, (rows, columns), sums, to);
                // A table that is the same for all values of the part's atom is no sum alone if there are
                // others.
                let rest = share - 1.0 / whole[a].values.len() as f64;
                let is_all = first == second && whole[a].values.len() == atoms[*first].values.len();
                if a == b && !is_all {
                    let contrast = Walk { factor: at.factor * rest, ..inside(&whole[a]) };
                    self.walk(steps, (rows, columns), contrast, to);
                }
            }
        }
    }

    /// A value of an atom of the part, in the whole.
    fn first(&self, axis: usize, atom: &Atom) -> u32 {
        self.kept[axis][atom.values[0] as usize]
    }
}

/// The entries of a block of sums: covariances of sums are sums of covariances.
fn sum_entries(whole: &Basis, told: &[bool], block: &Block) -> Vec<Entry> {
    // For each coordinate of the part, those of the whole that it is the sum of.
    let mut places: Vec<Vec<usize>> = vec![vec![0]];
    let (mut nodes, mut factor) = (vec![], 1.0);
    for (axis, step) in block.steps.iter().enumerate() {
        let Step::Sums(node) = step else { continue };
        let Some(atoms) = &whole.nodes[*node].atoms else {
            // All values by themselves: a sum of copies that are alike and independent.
            factor *= whole.sizes[axis] as f64;
            continue;
        };
        nodes.push(*node);
        let longer = |place: &usize, atom: usize| place * atoms.len() + atom;
        places = match told[axis] {
            true => {
                let of = |places: &Vec<usize>, atom| places.iter().map(|p| longer(p, atom)).collect();
                places.iter().flat_map(|p| (0..atoms.len()).map(move |atom| of(p, atom))).collect()
            }
            false => {
                let all = |p: &usize| {
                    let p = *p;
                    (0..atoms.len()).map(move |atom| longer(&p, atom))
                };
                places.iter().map(|p| p.iter().flat_map(all).collect()).collect()
            }
        };
    }
    let from = whole.block_of[&(block.alive, nodes)];
    let mut found = vec![];
    for row in 0..block.dimension {
        for column in row..block.dimension {
            let pairs = places[row].iter().flat_map(|row| places[column].iter().map(move |c| (*row, *c)));
            let terms = pairs.map(|(row, column)| Term { factor, block: from, row, column }).collect();
            found.push(Entry { row, column, terms });
        }
    }
    found
}

/// The digits of an index, the last one changing fastest.
fn digits(mut index: usize, lengths: &[usize]) -> Vec<usize> {
    let mut found = vec![0; lengths.len()];
    for (digit, length) in found.iter_mut().zip(lengths).rev() {
        *digit = index % length;
        index /= length;
    }
    found
}

/// The atom that has a value.
fn holding(atoms: &[Atom], value: u32) -> usize {
    atoms.iter().position(|atom| atom.values.contains(&value)).expect("every value is in an atom")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::tests::crossing as space;

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }

    fn definite(n: usize, state: &mut u64) -> Matrix {
        let root = Matrix::new(n, n, (0..n * n).map(|_| random(state)).collect());
        let mut found = root.times_transposed(&root);
        found.add(&Matrix::identity(n), 0.1);
        found
    }

    /// The value of a form, whose blocks are given, for two tables.
    fn form(basis: &Basis, blocks: &[Matrix], a: &[f64], b: &[f64]) -> f64 {
        let coordinates = |cells: &[f64]| {
            let mut found = vec![0.0; cells.len()];
            basis.coordinates(&mut cells.to_vec(), &mut vec![], &mut found);
            found
        };
        let (a, b) = (coordinates(a), coordinates(b));
        basis.blocks.iter().zip(blocks).map(|(block, matrix)| block.gram(&a, &b).inner(matrix)).sum()
    }

    #[test]
    fn a_form_on_some_values_has_blocks_in_the_basis_of_these_values() {
        let space = space();
        let whole = Basis::new(&space).unwrap();
        let mut state = 7;
        let blocks: Vec<Matrix> = whole.blocks.iter().map(|b| definite(b.dimension, &mut state)).collect();
        assert!(whole.blocks.iter().any(|block| block.dimension > 2));
        let sizes = whole.sizes.clone();
        for trial in 0..40 {
            let some = |size: &usize| -> Vec<u32> {
                let mut kept: Vec<u32> =
                    (0..*size as u32).filter(|_| trial == 0 || random(&mut state) > -0.1).collect();
                if kept.is_empty() {
                    kept.push(trial % *size as u32);
                }
                kept
            };
            let kept: Vec<Vec<u32>> = sizes.iter().map(some).collect();
            let part = Part::of_values(&whole, &kept);
            let of_part = part.of_blocks(&blocks);
            let cells: Vec<usize> = (0..part.basis.cells())
                .map(|cell| {
                    let at = digits(cell, &part.basis.sizes);
                    at.iter().zip(&kept).zip(&sizes).fold(0, |c, ((v, kept), n)| c * n + kept[*v] as usize)
                })
                .collect();
            let mut table = || -> (Vec<f64>, Vec<f64>) {
                let small: Vec<f64> = cells.iter().map(|_| random(&mut state)).collect();
                let mut large = vec![0.0; whole.cells()];
                cells.iter().zip(&small).for_each(|(cell, x)| large[*cell] = *x);
                (small, large)
            };
            let ((a, a_large), (b, b_large)) = (table(), table());
            let found = form(&part.basis, &of_part, &a, &b);
            let wanted = form(&whole, &blocks, &a_large, &b_large);
            assert!((found - wanted).abs() < 1e-12, "{kept:?}: {found} {wanted}");
            // And the sum of squares.
            let squares: Vec<Matrix> = (part.basis.blocks.iter())
                .map(|block| {
                    let diagonal = part.basis.squares(block);
                    let mut matrix = Matrix::zeros(block.dimension, block.dimension);
                    diagonal.iter().enumerate().for_each(|(i, x)| matrix[(i, i)] = *x);
                    matrix
                })
                .collect();
            let dot: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert!((form(&part.basis, &squares, &a, &b) - dot).abs() < 1e-12);
        }
    }

    #[test]
    fn covariances_of_sums_over_axes_are_sums() {
        let space = space();
        let whole = Basis::new(&space).unwrap();
        let mut state = 11;
        let blocks: Vec<Matrix> = whole.blocks.iter().map(|b| definite(b.dimension, &mut state)).collect();
        let sizes = whole.sizes.clone();
        for told in [[true, false, true], [false, true, false], [false; 3], [true, true, false]] {
            let part = Part::of_sums(&whole, &told);
            let of_part = part.of_blocks(&blocks);
            // A functional of the sums is one of the cells; its variance is a form in gradients.
            let weights: Vec<f64> = (0..part.basis.cells()).map(|_| random(&mut state)).collect();
            let spread: Vec<f64> = (0..whole.cells())
                .map(|cell| {
                    let at = digits(cell, &sizes);
                    let place = (at.iter().zip(&told).zip(&part.basis.sizes))
                        .fold(0, |c, ((v, told), n)| c * n + if *told { *v } else { 0 });
                    weights[place]
                })
                .collect();
            let variance = |basis: &Basis, blocks: &[Matrix], weights: &[f64]| -> f64 {
                let mut w = vec![0.0; weights.len()];
                basis.gradient(&mut weights.to_vec(), &mut vec![], &mut w);
                basis.blocks.iter().zip(blocks).map(|(b, m)| b.gram(&w, &w).inner(m)).sum()
            };
            let found = variance(&part.basis, &of_part, &weights);
            let wanted = variance(&whole, &blocks, &spread);
            assert!((found - wanted).abs() < 1e-12 * wanted, "{told:?}: {found} {wanted}");
        }
    }
}
