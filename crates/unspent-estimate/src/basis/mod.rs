//! The basis in which the cells fall apart into small blocks (Lemmas E1 and E4 of `theory/estimates.md`).
//!
//! On every axis, values that no query of a branch tells apart in different ways make an *atom*. The new
//! coordinates are the sum of each atom, and orthonormal (Helmert) contrasts inside atoms. A contrast is seen
//! only by queries that tell the values of its atom apart one by one, so that the axes after it have fewer
//! queries to serve: the tree of these branches is the basis.

mod atoms;
mod functional;
mod part;

use std::collections::HashMap;
use std::ops::Range;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use self::atoms::{Atom, Builder, Node, Seen, alone, atom_information, atom_of, atom_rows};
pub(crate) use self::part::{Part, Pinned};
use crate::matrix::Matrix;
use crate::space::Space;
use crate::subspace::Subspace;

/// Most queries that are measured or exact; a set of them is the bits of a word.
const MAX_QUERIES: usize = 128;

/// Copies of a small problem that share every matrix.
#[derive(Debug)]
pub(crate) struct Block {
    /// The number of coordinates of a copy.
    pub(crate) dimension: usize,
    pub(crate) copies: usize,
    /// Where its coordinates begin; those of a copy lie together.
    pub(crate) start: usize,
    /// What the measured queries say of it.
    pub(crate) queries: Vec<BlockQuery>,
    /// The nodes whose atoms are its coordinates.
    nodes: Vec<usize>,
    alive: u128,
    /// The way to its first coordinate: one for each axis.
    steps: Vec<Step>,
}

/// What a coordinate is of on an axis.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sums of the atoms of a node.
    Sums(usize),
    /// A contrast inside the atom of a node.
    Contrast { node: usize, atom: usize },
    /// A value by itself.
    Value,
}

/// What a query says of a block, for noise of variance 1.
#[derive(Debug)]
pub(crate) struct BlockQuery {
    pub(crate) query: usize,
    /// The information: a Kronecker product.
    factors: Vec<Matrix>,
    /// The functionals that it sees.
    pub(crate) seen: Subspace,
}

impl BlockQuery {
    /// Its information.
    pub(crate) fn information(&self) -> Matrix {
        self.factors.iter().fold(Matrix::identity(1), |product, factor| kronecker(&product, factor))
    }

    /// The same, exactly: every entry is 0 or one over a whole number, and was rounded once for each factor.
    pub(crate) fn exact_information(&self) -> Vec<Vec<BigRational>> {
        let information = self.information();
        let exact = |x: &f64| match *x {
            0.0 => BigRational::zero(),
            x => BigRational::new(BigInt::one(), BigInt::from((1.0 / x).round() as u64)),
        };
        (0..information.rows()).map(|row| information.row(row).iter().map(exact).collect()).collect()
    }
}

impl Block {
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.dimension * self.copies
    }

    /// The coordinates of each copy.
    pub(crate) fn each_copy(&self) -> impl Iterator<Item = Range<usize>> {
        let dimension = self.dimension;
        self.range().step_by(dimension).map(move |start| start..start + dimension)
    }

    /// `Σ v wᵀ` over the copies.
    pub(crate) fn gram(&self, v: &[f64], w: &[f64]) -> Matrix {
        let mut gram = Matrix::zeros(self.dimension, self.dimension);
        for copy in self.each_copy() {
            for i in 0..self.dimension {
                for j in 0..self.dimension {
                    gram[(i, j)] += v[copy.start + i] * w[copy.start + j];
                }
            }
        }
        gram
    }

    pub(crate) fn query(&self, query: usize) -> Option<&BlockQuery> {
        self.queries.iter().find(|q| q.query == query)
    }
}

/// The basis of a space.
#[derive(Debug)]
pub(crate) struct Basis {
    nodes: Vec<Node>,
    sizes: Vec<usize>,
    /// The node of an axis for the queries that are alive.
    node_of: HashMap<(usize, u128), usize>,
    pub(crate) blocks: Vec<Block>,
    /// A block by the queries that are alive and the nodes whose atoms are its coordinates.
    block_of: HashMap<(u128, Vec<usize>), usize>,
    /// For each coordinate, block by block, its place after the transform.
    places: Vec<u32>,
    /// 1/√(j(j + 1)): contrast j is so many times the sum of j values less j times the next.
    scales: Vec<f64>,
}

impl Basis {
    pub(crate) fn new(space: &Space) -> unspent::Result<Basis> {
        let known: Vec<usize> =
            (0..space.queries().len()).filter(|query| space.queries()[*query].known).collect();
        if known.len() > MAX_QUERIES {
            return Err(unspent::Error::stated(
                format!("{} queries are measured or exact; at most {MAX_QUERIES} can be", known.len()),
                "leave some out with --queries",
            ));
        }
        let mut builder = Builder { space, known, nodes: vec![], made: HashMap::new() };
        let all = builder.known.iter().enumerate().fold(0u128, |set, (i, _)| set | 1 << i);
        builder.node(0, all);
        let Builder { nodes, known, made, .. } = builder;
        let sizes: Vec<usize> = space.axes.iter().map(|axis| axis.values.len()).collect();
        Ok(Basis::of_nodes(nodes, sizes, made, &known))
    }

    fn of_nodes(
        nodes: Vec<Node>,
        sizes: Vec<usize>,
        node_of: HashMap<(usize, u128), usize>,
        known: &[usize],
    ) -> Basis {
        let scale = |j: usize| 1.0 / (j as f64 * (j as f64 + 1.0)).sqrt();
        let scales = (0..sizes.iter().copied().max().unwrap_or(0)).map(scale).collect();
        let (blocks, block_of, places) = (vec![], HashMap::new(), vec![]);
        let mut basis = Basis { nodes, sizes, node_of, blocks, block_of, places, scales };
        basis.find_blocks(known);
        basis
    }

    /// The number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.sizes.iter().product()
    }

    fn find_blocks(&mut self, known: &[usize]) {
        let cells = self.cells();
        let mut found: Vec<(Block, Places)> = vec![];
        let mut made: HashMap<(u128, Vec<usize>), usize> = HashMap::new();
        let whole =
            Walk { node: 0, place: 0, length: cells, copy: 0, index: 0, nodes: vec![], steps: vec![] };
        let mut walks = vec![whole];
        while let Some(walk) = walks.pop() {
            let node = &self.nodes[walk.node];
            let length = walk.length / self.sizes[node.axis];
            let sums = node.atoms.as_ref().map_or(0, Vec::len);
            for (row, next) in node.next.iter().enumerate() {
                let (mut nodes, mut steps) = (walk.nodes.clone(), walk.steps.clone());
                let (mut copy, mut index) = (walk.copy, walk.index);
                if row < sums {
                    nodes.push(walk.node);
                    index = index * sums + row;
                } else {
                    copy += row * length;
                }
                steps.push(match &node.atoms {
                    None => Step::Value,
                    Some(_) if row < sums => Step::Sums(walk.node),
                    Some(atoms) => Step::Contrast { node: walk.node, atom: atom_of(atoms, row - sums) },
                });
                let place = walk.place + row * length;
                match next {
                    Some(next) => walks.push(Walk { node: *next, place, length, copy, index, nodes, steps }),
                    None => {
                        let alive = self.alive_after(node, row);
                        let block = *made.entry((alive, nodes.clone())).or_insert_with(|| {
                            found.push((self.block(nodes, steps, alive, known), vec![]));
                            found.len() - 1
                        });
                        found[block].1.push((copy as u32, index as u32, place as u32));
                    }
                }
            }
        }
        // Blocks in the order of their first coordinate.
        found.iter_mut().for_each(|(_, places)| places.sort_unstable());
        found.sort_by_key(|(_, places)| places[0]);
        for (mut block, places) in found {
            block.start = self.places.len();
            block.copies = places.len() / block.dimension;
            self.places.extend(places.iter().map(|(_, _, place)| *place));
            self.block_of.insert((block.alive, block.nodes.clone()), self.blocks.len());
            self.blocks.push(block);
        }
    }

    fn alive_after(&self, node: &Node, row: usize) -> u128 {
        let Some(atoms) = &node.atoms else { return node.alive };
        match row.checked_sub(atoms.len()) {
            None => node.alive,
            Some(contrast) => alone(node.alive, &atoms[atom_of(atoms, contrast)].seen),
        }
    }

    fn block(&self, nodes: Vec<usize>, steps: Vec<Step>, alive: u128, known: &[usize]) -> Block {
        let dimension = nodes.iter().map(|node| self.atoms(*node).len()).product();
        let living = known.iter().enumerate().filter(|(bit, _)| alive >> bit & 1 == 1);
        let queries = living.map(|(bit, query)| self.block_query(&nodes, dimension, bit, *query)).collect();
        Block { dimension, copies: 0, start: 0, queries, nodes, alive, steps }
    }

    fn block_query(&self, nodes: &[usize], dimension: usize, bit: usize, query: usize) -> BlockQuery {
        let factors = nodes.iter().map(|node| atom_information(self.atoms(*node), bit)).collect();
        let alone = |node: &usize| self.atoms(*node).iter().all(|atom| atom.seen[bit] == Seen::Alone);
        let seen = match nodes.iter().all(alone) {
            true => Subspace::Full(dimension),
            false => {
                let of_node = |node: &usize| {
                    let atoms = self.atoms(*node);
                    Subspace::span(atoms.len(), &atom_rows(atoms, bit))
                };
                nodes.iter().map(of_node).reduce(|a, b| a.product(&b)).expect("one node at least")
            }
        };
        BlockQuery { query, factors, seen }
    }

    fn atoms(&self, node: usize) -> &[Atom] {
        self.nodes[node].atoms.as_ref().expect("its atoms are coordinates")
    }

    /// Gradients by cells to gradients by coordinates, block by block: the transpose of [`to_cells`].
    ///
    /// [`to_cells`]: Basis::to_cells
    pub(crate) fn gradient(&self, cells: &mut [f64], work: &mut Vec<f64>, coordinates: &mut [f64]) {
        self.down(0, cells, work, Sums::Mean);
        coordinates.iter_mut().zip(&self.places).for_each(|(x, place)| *x = cells[*place as usize]);
    }

    /// Cells to coordinates, block by block.
    pub(crate) fn coordinates(&self, cells: &mut [f64], work: &mut Vec<f64>, coordinates: &mut [f64]) {
        self.down(0, cells, work, Sums::Sum);
        coordinates.iter_mut().zip(&self.places).for_each(|(x, place)| *x = cells[*place as usize]);
    }

    /// Coordinates, block by block, to cells.
    pub(crate) fn to_cells(&self, coordinates: &[f64], work: &mut Vec<f64>, cells: &mut [f64]) {
        coordinates.iter().zip(&self.places).for_each(|(x, place)| cells[*place as usize] = *x);
        self.up(0, cells, work, Sums::Sum);
    }

    /// Gradients by coordinates, block by block, to gradients by cells: the transpose of [`coordinates`].
    ///
    /// [`coordinates`]: Basis::coordinates
    pub(crate) fn gradient_to_cells(&self, gradient: &[f64], work: &mut Vec<f64>, cells: &mut [f64]) {
        gradient.iter().zip(&self.places).for_each(|(x, place)| cells[*place as usize] = *x);
        self.up(0, cells, work, Sums::Mean);
    }

    fn down(&self, node: usize, cells: &mut [f64], work: &mut Vec<f64>, sums: Sums) {
        let node = &self.nodes[node];
        let length = cells.len() / self.sizes[node.axis];
        if let Some(atoms) = &node.atoms {
            work.clear();
            work.extend_from_slice(cells);
            let (to_sums, to_contrasts) = cells.split_at_mut(atoms.len() * length);
            let mut contrasts = to_contrasts.chunks_exact_mut(length);
            for (atom, sum) in atoms.iter().zip(to_sums.chunks_exact_mut(length)) {
                forward(atom, &self.scales, work, sum, &mut contrasts, sums);
            }
        }
        for (row, next) in cells.chunks_exact_mut(length).zip(&node.next) {
            if let Some(next) = next {
                self.down(*next, row, work, sums);
            }
        }
    }

    fn up(&self, node: usize, cells: &mut [f64], work: &mut Vec<f64>, sums_are: Sums) {
        let node = &self.nodes[node];
        let length = cells.len() / self.sizes[node.axis];
        for (row, next) in cells.chunks_exact_mut(length).zip(&node.next) {
            if let Some(next) = next {
                self.up(*next, row, work, sums_are);
            }
        }
        let Some(atoms) = &node.atoms else { return };
        work.clear();
        work.extend_from_slice(cells);
        let (sums, contrasts) = work.split_at_mut(atoms.len() * length);
        let mut contrasts = contrasts.chunks_exact(length);
        for (atom, sum) in atoms.iter().zip(sums.chunks_exact_mut(length)) {
            backward(atom, &self.scales, sum, &mut contrasts, cells, sums_are);
        }
    }
}

/// For each coordinate of a block, the place of its copy, its number in the copy, and its place after the
/// transform.
type Places = Vec<(u32, u32, u32)>;

/// A way from the first axis to a coordinate.
struct Walk {
    node: usize,
    place: usize,
    length: usize,
    /// The place of the copy's first coordinate.
    copy: usize,
    /// The coordinate's number in the copy.
    index: usize,
    nodes: Vec<usize>,
    steps: Vec<Step>,
}

/// What becomes of the values of an atom that are put together.
#[derive(Clone, Copy)]
enum Sums {
    Sum,
    Mean,
}

fn row_of(cells: &[f64], row: usize, length: usize) -> &[f64] {
    &cells[row * length..][..length]
}

/// The sum of an atom's rows, and their contrasts.
fn forward<'c>(
    atom: &Atom,
    scales: &[f64],
    from: &[f64],
    sum: &mut [f64],
    contrasts: &mut impl Iterator<Item = &'c mut [f64]>,
    sums: Sums,
) {
    let length = sum.len();
    sum.copy_from_slice(row_of(from, atom.values[0] as usize, length));
    for (before, value) in atom.values.iter().enumerate().skip(1) {
        let j = before as f64;
        let scale = scales[before];
        let contrast = contrasts.next().expect("one for each value but the first");
        let row = row_of(from, *value as usize, length);
        for ((contrast, sum), x) in contrast.iter_mut().zip(sum.iter_mut()).zip(row) {
            *contrast = (*sum - j * x) * scale;
            *sum += x;
        }
    }
    if let Sums::Mean = sums {
        let share = 1.0 / atom.values.len() as f64;
        sum.iter_mut().for_each(|sum| *sum *= share);
    }
}

/// The rows of an atom from their sum and contrasts. The sum becomes the part that is left.
fn backward<'c>(
    atom: &Atom,
    scales: &[f64],
    sum: &mut [f64],
    contrasts: &mut impl Iterator<Item = &'c [f64]>,
    cells: &mut [f64],
    sums_are: Sums,
) {
    let length = sum.len();
    if let Sums::Sum = sums_are {
        let share = 1.0 / atom.values.len() as f64;
        sum.iter_mut().for_each(|sum| *sum *= share);
    }
    let contrasts: Vec<&[f64]> = contrasts.take(atom.values.len() - 1).collect();
    for (before, value) in atom.values.iter().enumerate().skip(1).rev() {
        let j = before as f64;
        let scale = scales[before];
        let row = &mut cells[*value as usize * length..][..length];
        for ((x, sum), contrast) in row.iter_mut().zip(sum.iter_mut()).zip(contrasts[before - 1]) {
            *x = *sum - j * scale * contrast;
            *sum += scale * contrast;
        }
    }
    cells[atom.values[0] as usize * length..][..length].copy_from_slice(sum);
}

fn kronecker(a: &Matrix, b: &Matrix) -> Matrix {
    let mut found = Matrix::zeros(a.rows() * b.rows(), a.columns() * b.columns());
    for i in 0..found.rows() {
        for j in 0..found.columns() {
            found[(i, j)] = a[(i / b.rows(), j / b.columns())] * b[(i % b.rows(), j % b.columns())];
        }
    }
    found
}
