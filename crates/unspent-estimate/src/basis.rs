//! The basis in which the cells fall apart into small blocks (Lemmas E1 and E4 of `theory/estimates.md`).
//!
//! On every axis, values that no query of a branch tells apart in different ways make an *atom*. The new
//! coordinates are the sum of each atom, and orthonormal (Helmert) contrasts inside atoms. A contrast is seen
//! only by queries that tell the values of its atom apart one by one, so that the axes after it have fewer
//! queries to serve: the tree of these branches is the basis.

use std::collections::HashMap;

use num_rational::BigRational;
use num_traits::{One, Zero};

use crate::matrix::Matrix;
use crate::space::{NOWHERE, Space};
use crate::subspace::{Functional, Subspace};

/// Most queries that are measured or exact; a set of them is the bits of a word.
const MAX_QUERIES: usize = 128;

/// How a query sees a value of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Seen {
    Not,
    Alone,
    With(u32),
}

/// A branch of the basis at an axis.
#[derive(Debug)]
struct Node {
    axis: usize,
    /// Values whose sum is a coordinate; none if all values are coordinates by themselves.
    atoms: Option<Vec<Atom>>,
    /// The node of each row after the transform; none after the last axis.
    next: Vec<Option<usize>>,
    /// The queries that are alive here.
    alive: u128,
}

#[derive(Debug)]
struct Atom {
    values: Vec<u32>,
    /// How each query sees its values.
    seen: Vec<Seen>,
}

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
}

impl Block {
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.dimension * self.copies
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
    pub(crate) blocks: Vec<Block>,
    /// For each coordinate, block by block, its place after the transform.
    places: Vec<u32>,
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
        let Builder { nodes, known, .. } = builder;
        let sizes = space.axes.iter().map(|axis| axis.values.len()).collect();
        let mut basis = Basis { nodes, sizes, blocks: vec![], places: vec![] };
        basis.find_blocks(space.cells(), &known);
        Ok(basis)
    }

    fn find_blocks(&mut self, cells: usize, known: &[usize]) {
        let mut found: Vec<(Block, Vec<(u32, u32, u32)>)> = vec![];
        let mut made: HashMap<(u128, Vec<usize>), usize> = HashMap::new();
        let whole = Walk { node: 0, place: 0, length: cells, copy: 0, index: 0, nodes: vec![] };
        let mut walks = vec![whole];
        while let Some(walk) = walks.pop() {
            let node = &self.nodes[walk.node];
            let length = walk.length / self.sizes[node.axis];
            let sums = node.atoms.as_ref().map_or(0, Vec::len);
            for (row, next) in node.next.iter().enumerate() {
                let mut nodes = walk.nodes.clone();
                let (mut copy, mut index) = (walk.copy, walk.index);
                if row < sums {
                    nodes.push(walk.node);
                    index = index * sums + row;
                } else {
                    copy += row * length;
                }
                let place = walk.place + row * length;
                match next {
                    Some(next) => walks.push(Walk { node: *next, place, length, copy, index, nodes }),
                    None => {
                        let alive = self.alive_after(node, row);
                        let block = *made.entry((alive, nodes.clone())).or_insert_with(|| {
                            found.push((self.block(nodes, alive, known), vec![]));
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

    fn block(&self, nodes: Vec<usize>, alive: u128, known: &[usize]) -> Block {
        let dimension = nodes.iter().map(|node| self.atoms(*node).len()).product();
        let living = known.iter().enumerate().filter(|(bit, _)| alive >> bit & 1 == 1);
        let queries = living.map(|(bit, query)| self.block_query(&nodes, dimension, bit, *query)).collect();
        Block { dimension, copies: 0, start: 0, queries, nodes, alive }
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
        self.up(0, cells, work);
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
                forward(atom, work, sum, &mut contrasts, sums);
            }
        }
        for (row, next) in cells.chunks_exact_mut(length).zip(&node.next) {
            if let Some(next) = next {
                self.down(*next, row, work, sums);
            }
        }
    }

    fn up(&self, node: usize, cells: &mut [f64], work: &mut Vec<f64>) {
        let node = &self.nodes[node];
        let length = cells.len() / self.sizes[node.axis];
        for (row, next) in cells.chunks_exact_mut(length).zip(&node.next) {
            if let Some(next) = next {
                self.up(*next, row, work);
            }
        }
        let Some(atoms) = &node.atoms else { return };
        work.clear();
        work.extend_from_slice(cells);
        let (sums, contrasts) = work.split_at_mut(atoms.len() * length);
        let mut contrasts = contrasts.chunks_exact(length);
        for (atom, sum) in atoms.iter().zip(sums.chunks_exact_mut(length)) {
            backward(atom, sum, &mut contrasts, cells);
        }
    }

    /// For each block, the sum over its copies of `w wᵀ`, where `w` are the coordinates of the functional
    /// that counts, on each axis, some of the values; and the direction of every `w`.
    ///
    /// `counted` says for each axis which values are counted. Blocks where all are zero are left out.
    pub(crate) fn product_functional(&self, counted: &[Vec<bool>]) -> Vec<(usize, Matrix, Functional)> {
        let shares = self.shares(counted);
        let mut found = vec![];
        for (at, block) in self.blocks.iter().enumerate() {
            let Some((factor, direction)) = self.block_share(block, &shares) else { continue };
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

    /// The squared length of the contrasts of all copies of a block, and the means over its atoms.
    fn block_share(&self, block: &Block, shares: &[Vec<u32>]) -> Option<(f64, Functional)> {
        // The ways through the tree of nodes to this block.
        let mut factor = 0.0;
        let mut walks = vec![(0usize, 1.0f64, 0usize)];
        while let Some((at, squared, depth)) = walks.pop() {
            let node = &self.nodes[at];
            let mut go = |next: Option<usize>, squared: f64, depth: usize, alive: u128| {
                if squared == 0.0 {
                    return;
                }
                match next {
                    Some(next) => walks.push((next, squared, depth)),
                    None if depth == block.nodes.len() && alive == block.alive => factor += squared,
                    None => {}
                }
            };
            let Some(atoms) = &node.atoms else {
                // Each value is a coordinate of its own: those that are counted have squared length 1.
                go(node.next[0], squared * f64::from(shares[at][0]), depth, node.alive);
                continue;
            };
            if block.nodes.get(depth) == Some(&at) {
                go(node.next[0], squared, depth + 1, node.alive);
            }
            let mut contrast = atoms.len();
            for (atom, count) in atoms.iter().zip(&shares[at]) {
                let size = atom.values.len();
                let count = f64::from(*count);
                if size > 1 {
                    let inside = count * (size as f64 - count) / size as f64;
                    go(node.next[contrast], squared * inside, depth, alone(node.alive, &atom.seen));
                }
                contrast += size - 1;
            }
        }
        if factor == 0.0 {
            return None;
        }
        let mut direction: Functional = vec![BigRational::one()];
        for node in &block.nodes {
            let mean = |(atom, count): (&Atom, &u32)| {
                BigRational::new((*count).into(), (atom.values.len() as u64).into())
            };
            let means: Functional = self.atoms(*node).iter().zip(&shares[*node]).map(mean).collect();
            direction = product(&direction, &means);
        }
        direction.iter().any(|x| !x.is_zero()).then_some((factor, direction))
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
    let matrix = crate::subspace::to_matrix(row.len(), std::slice::from_ref(row));
    matrix.entries().to_vec()
}

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
    from: &[f64],
    sum: &mut [f64],
    contrasts: &mut impl Iterator<Item = &'c mut [f64]>,
    sums: Sums,
) {
    let length = sum.len();
    sum.copy_from_slice(row_of(from, atom.values[0] as usize, length));
    for (before, value) in atom.values.iter().enumerate().skip(1) {
        let j = before as f64;
        let scale = 1.0 / (j * (j + 1.0)).sqrt();
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
    sum: &mut [f64],
    contrasts: &mut impl Iterator<Item = &'c [f64]>,
    cells: &mut [f64],
) {
    let length = sum.len();
    let share = 1.0 / atom.values.len() as f64;
    sum.iter_mut().for_each(|sum| *sum *= share);
    let contrasts: Vec<&[f64]> = contrasts.take(atom.values.len() - 1).collect();
    for (before, value) in atom.values.iter().enumerate().skip(1).rev() {
        let j = before as f64;
        let scale = 1.0 / (j * (j + 1.0)).sqrt();
        let row = &mut cells[*value as usize * length..][..length];
        for ((x, sum), contrast) in row.iter_mut().zip(sum.iter_mut()).zip(contrasts[before - 1]) {
            *x = *sum - j * scale * contrast;
            *sum += scale * contrast;
        }
    }
    cells[atom.values[0] as usize * length..][..length].copy_from_slice(sum);
}

/// The atom that a contrast belongs to.
fn atom_of(atoms: &[Atom], mut contrast: usize) -> usize {
    for (at, atom) in atoms.iter().enumerate() {
        match contrast.checked_sub(atom.values.len() - 1) {
            None => return at,
            Some(rest) => contrast = rest,
        }
    }
    unreachable!("as many contrasts as values without sums")
}

/// Of the queries that are alive those that see every value alone.
fn alone(alive: u128, seen: &[Seen]) -> u128 {
    let sees = |(bit, seen): (usize, &Seen)| u128::from(*seen == Seen::Alone) << bit;
    alive & seen.iter().enumerate().map(sees).fold(0, |a, b| a | b)
}

/// The information of a query about the sums of atoms, for noise of variance 1.
fn atom_information(atoms: &[Atom], query: usize) -> Matrix {
    let mut information = Matrix::zeros(atoms.len(), atoms.len());
    for (i, a) in atoms.iter().enumerate() {
        for (j, b) in atoms.iter().enumerate() {
            information[(i, j)] = match (a.seen[query], b.seen[query]) {
                // The sum of as many answers has as many times the variance.
                (Seen::Alone, _) if i == j => 1.0 / a.values.len() as f64,
                (Seen::With(a), Seen::With(b)) if a == b => 1.0,
                _ => 0.0,
            };
        }
    }
    information
}

/// The functionals of the sums of atoms that a query sees.
fn atom_rows(atoms: &[Atom], query: usize) -> Vec<Functional> {
    let mut rows: Vec<Functional> = vec![];
    for (i, atom) in atoms.iter().enumerate() {
        let with = |other: usize| match (atom.seen[query], atoms[other].seen[query]) {
            (Seen::Alone, _) => other == i,
            (Seen::With(a), Seen::With(b)) => a == b,
            _ => false,
        };
        let row: Functional = (0..atoms.len())
            .map(|other| if with(other) { BigRational::one() } else { BigRational::zero() })
            .collect();
        if !rows.contains(&row) && row.iter().any(|x| !x.is_zero()) {
            rows.push(row);
        }
    }
    rows
}

fn product(a: &Functional, b: &Functional) -> Functional {
    a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect()
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

struct Builder<'s> {
    space: &'s Space,
    known: Vec<usize>,
    nodes: Vec<Node>,
    made: HashMap<(usize, u128), usize>,
}

impl Builder<'_> {
    /// The node of an axis for the queries that are alive.
    fn node(&mut self, at: usize, alive: u128) -> usize {
        if let Some(node) = self.made.get(&(at, alive)) {
            return *node;
        }
        let axis = &self.space.axes[at];
        let living: Vec<bool> = (0..self.known.len()).map(|bit| alive >> bit & 1 == 1).collect();
        let seen: Vec<Vec<Seen>> = (0..self.known.len())
            .map(|bit| if living[bit] { sees(&axis.offsets[self.known[bit]]) } else { vec![] })
            .collect();
        let values = axis.values.len();
        let all_alone = seen.iter().all(|seen| seen.iter().all(|seen| *seen == Seen::Alone));
        let atoms = (axis.whole || !all_alone).then(|| {
            let mut atoms: Vec<Atom> = vec![];
            for value in 0..values {
                let of_value: Vec<Seen> =
                    seen.iter().map(|seen| seen.get(value).copied().unwrap_or(Seen::Not)).collect();
                match atoms.iter_mut().find(|atom| !axis.whole && atom.seen == of_value) {
                    Some(atom) => atom.values.push(value as u32),
                    None => atoms.push(Atom { values: vec![value as u32], seen: of_value }),
                }
            }
            atoms
        });
        let number = self.nodes.len();
        self.made.insert((at, alive), number);
        self.nodes.push(Node { axis: at, atoms: None, next: vec![], alive });
        let last = at + 1 == self.space.axes.len();
        let mut next = vec![];
        match &atoms {
            None => next.resize(values, if last { None } else { Some(self.node(at + 1, alive)) }),
            Some(atoms) => {
                let sums = if last { None } else { Some(self.node(at + 1, alive)) };
                next.resize(atoms.len(), sums);
                for atom in atoms {
                    let fewer = alone(alive, &atom.seen);
                    let contrasts = atom.values.len() - 1;
                    let after = if last || contrasts == 0 { None } else { Some(self.node(at + 1, fewer)) };
                    next.resize(next.len() + contrasts, after);
                }
            }
        }
        (self.nodes[number].atoms, self.nodes[number].next) = (atoms, next);
        number
    }
}

/// How a query sees each value of an axis.
fn sees(offsets: &[u32]) -> Vec<Seen> {
    let mut count: HashMap<u32, usize> = HashMap::new();
    offsets.iter().for_each(|offset| *count.entry(*offset).or_default() += 1);
    let sees = |offset: &u32| match *offset {
        NOWHERE => Seen::Not,
        offset if count[&offset] == 1 => Seen::Alone,
        offset => Seen::With(offset),
    };
    offsets.iter().map(sees).collect()
}
