//! Steps of the method, for some of the children at a time: their values lie together, so that all loops run
//! over children.

use std::ops::Range;

use super::free::Free;
use super::{Priced, Projection, Residuals, Run};
use crate::matrix::Matrix;
use crate::tables::kind::geometric_mean;
use crate::tables::signs::project_signs;

/// How far a step goes beyond the first solution; between 1 and 2 the method converges.
const RELAXED: f64 = 1.6;
/// Values that the tables of some children have together: they fit into a core's cache.
const CHUNK: usize = 1 << 15;

/// The inverses of `precision + weight · squares` for each kind and block, and those of their sums.
pub(super) struct Gains {
    of_kind: Vec<Vec<Matrix>>,
    of_sum: Vec<Matrix>,
    /// For each chunk whose children are of several kinds, and each block: entry by entry, those of all
    /// children together.
    of_children: Vec<Vec<Vec<f64>>>,
}

/// Some of the children, and where they are in the method.
pub(super) struct Chunk {
    number: usize,
    pub(super) children: Range<usize>,
    /// The kind of all of them, if it is one.
    one_kind: Option<usize>,
    /// The slope of the cost at the anchor, by coordinates in their places.
    slope: Vec<f64>,
    near: Vec<f64>,
    pub(super) anchor: Vec<f64>,
    slope_cells: Vec<f64>,
    /// The last solution without signs; in the course of a step, its coordinates.
    pub(super) x: Vec<f64>,
    pub(super) w: Vec<f64>,
    /// The sums of groups of cells that are given, group by group.
    pub(super) sums: Vec<f64>,
    pub(super) multiplier: Vec<f64>,
    work: Vec<f64>,
}

/// A block, and where a copy of it begins.
#[derive(Clone, Copy)]
struct At<'a> {
    at: usize,
    free: &'a Free<'a>,
    copy: usize,
}

impl Run<'_> {
    pub(super) fn chunks(&self) -> Vec<Chunk> {
        let (cells, children) = (self.of.cells(), self.of.children());
        let length = (CHUNK / cells).clamp(16, 256);
        let starts: Vec<(usize, usize)> = (0..children).step_by(length).enumerate().collect();
        self.each(&starts, |(number, start)| self.chunk(*number, *start..(start + length).min(children)))
    }

    fn chunk(&self, number: usize, children: Range<usize>) -> Chunk {
        let Projection { part, kind_of, near, slope, anchor, .. } = self.of;
        let all = self.of.children();
        let take = |from: &[f64]| -> Vec<f64> {
            from.chunks_exact(all).flat_map(|row| row[children.clone()].iter().copied()).collect()
        };
        let (near, slope_cells, anchor) = (take(near), take(slope), take(anchor));
        let kinds = &kind_of[children.clone()];
        let one_kind = kinds.iter().all(|kind| *kind == kinds[0]).then_some(kinds[0] as usize);
        let w: Vec<f64> = anchor.clone();
        let mut sums = vec![];
        if let Some(groups) = &self.groups {
            let n = children.len();
            sums.resize(groups.iter().max().map_or(0, |last| *last as usize + 1) * n, 0.0);
            for (row, group) in anchor.chunks_exact(n).zip(groups) {
                sums[*group as usize * n..][..n].iter_mut().zip(row).for_each(|(sum, p)| *sum += p);
            }
        }
        let mut work = vec![];
        let mut chunk = Chunk {
            number,
            one_kind,
            slope: slope_cells.clone(),
            x: near.iter().zip(&anchor).map(|(z, p)| z - p).collect(),
            multiplier: vec![0.0; near.len()],
            near,
            anchor,
            slope_cells,
            w,
            sums,
            work: vec![],
            children,
        };
        // The slope at the anchor: K (z − p) and what the other cells add.
        part.basis.gradients_in_place(&mut chunk.slope, &mut work);
        part.basis.coordinates_in_place(&mut chunk.x, &mut work);
        self.each_copy(&mut chunk, |free, rows, chunk, n| {
            for c in 0..n {
                let precision = &self.of.kinds[kind_of[chunk.children.start + c] as usize][free.at];
                for (i, to) in rows.iter().enumerate() {
                    let sum: f64 =
                        rows.iter().enumerate().map(|(j, from)| precision[(i, j)] * chunk.x[from + c]).sum();
                    chunk.slope[to + c] += sum;
                }
            }
        });
        chunk
    }

    /// Calls for each copy of each block, with the places of its coordinates' rows.
    fn each_copy(&self, chunk: &mut Chunk, mut f: impl FnMut(At<'_>, &[usize], &mut Chunk, usize)) {
        let n = chunk.children.len();
        let places = self.of.part.basis.places();
        let mut rows = vec![];
        for (at, free) in self.free.iter().enumerate() {
            for copy in free.block.each_copy() {
                rows.clear();
                rows.extend(places[copy.clone()].iter().map(|place| *place as usize * n));
                f(At { at, free, copy: copy.start }, &rows, chunk, n);
            }
        }
    }

    pub(super) fn gains(&self, chunks: &[Chunk], weight: f64) -> Gains {
        let of_kind = |kind: &Vec<Matrix>| -> Vec<Matrix> {
            let of_block = |(free, precision): (&Free<'_>, &Matrix)| {
                let mut sum = free.reduced(precision);
                sum.add(&free.squares, weight);
                if free.dimension == 0 { sum } else { sum.inverse() }
            };
            self.free.iter().zip(kind).map(of_block).collect()
        };
        let of_kind = self.each(&self.of.kinds, of_kind);
        let mut counts = vec![0.0; of_kind.len()];
        self.of.kind_of.iter().for_each(|kind| counts[*kind as usize] += 1.0);
        let of_sum = |(at, free): (usize, &Free<'_>)| {
            let mut sum = Matrix::zeros(free.dimension, free.dimension);
            of_kind.iter().zip(&counts).for_each(|(gains, count)| sum.add(&gains[at], *count));
            if free.dimension == 0 { sum } else { sum.inverse() }
        };
        let of_sum = self.free.iter().enumerate().map(of_sum).collect();
        let of_children = |chunk: &Chunk| {
            let kinds = &self.of.kind_of[chunk.children.clone()];
            let of_block = |at: usize| -> Vec<f64> {
                let entries = 0..self.free[at].dimension * self.free[at].dimension;
                let of_entry = |entry: usize| {
                    kinds.iter().map(|kind| &of_kind[*kind as usize]).map(move |of| of[at].entries()[entry])
                };
                entries.flat_map(of_entry).collect()
            };
            match chunk.one_kind {
                Some(_) => vec![],
                None => (0..self.free.len()).map(of_block).collect(),
            }
        };
        let of_children = self.each(chunks, of_children);
        Gains { of_kind, of_sum, of_children }
    }

    /// The geometric mean of the precisions of all coordinates.
    pub(super) fn typical_precision(&self) -> f64 {
        let kind = &self.of.kinds[self.of.kind_of[0] as usize];
        let of_block = |(free, precision): (&Free<'_>, &Matrix)| {
            let (precision, copies) = (free.reduced(precision), free.block.copies as f64);
            let of = |i: usize| (copies, precision[(i, i)] / free.squares[(i, i)]);
            (0..free.dimension).map(of).collect::<Vec<_>>()
        };
        geometric_mean(self.free.iter().zip(kind).flat_map(of_block))
    }

    /// One step of the method.
    pub(super) fn step(&self, chunks: &mut [Chunk], gains: &Gains, weight: f64, priced: Priced) -> Residuals {
        let add = |chunk: &mut Chunk| {
            let target = chunk.w.iter().zip(&chunk.multiplier).zip(&chunk.anchor);
            chunk.x.clear();
            chunk.x.extend(target.map(|((w, u), p)| weight * (w - u - p)));
        };
        self.without_signs(chunks, gains, add);
        let groups = self.groups.as_ref().filter(|_| priced.groups);
        self.each_mut(chunks, |chunk| {
            for i in 0..chunk.x.len() {
                chunk.x[i] += chunk.anchor[i];
                // What is not signed yet, in the place of the multiplier.
                chunk.multiplier[i] += RELAXED * chunk.x[i] + (1.0 - RELAXED) * chunk.w[i];
            }
            if let Some(groups) = groups {
                self.price_groups(chunk, groups);
            }
        });
        let prices = if priced.cells { self.cell_prices(chunks) } else { vec![] };
        let residuals = self.each_mut(chunks, |chunk| {
            let mut found = Residuals::default();
            let n = chunk.children.len();
            for (row, price) in chunk.multiplier.chunks_exact_mut(n).zip(&prices) {
                row.iter_mut().for_each(|v| *v -= price);
            }
            chunk.work.clear();
            chunk.work.extend_from_slice(&chunk.multiplier);
            project_signs(&self.of.signs, &chunk.children, &mut chunk.work);
            for i in 0..chunk.x.len() {
                let w = chunk.work[i];
                chunk.multiplier[i] -= w;
                found.primal += (chunk.x[i] - w) * (chunk.x[i] - w);
                found.dual += (w - chunk.w[i]) * (w - chunk.w[i]);
                found.tables += w * w;
                found.multipliers += chunk.multiplier[i] * chunk.multiplier[i];
                chunk.w[i] = w;
            }
            found
        });
        residuals.iter().fold(Residuals::default(), |a, b| Residuals {
            primal: a.primal + b.primal,
            dual: a.dual + b.dual,
            tables: a.tables + b.tables,
            multipliers: a.multipliers + b.multipliers,
        })
    }

    /// The tables that minimise the cost less a linear function, without regard to signs, as differences from
    /// the anchors. `linear` puts the gradient of this function into `x`.
    pub(super) fn without_signs(
        &self,
        chunks: &mut [Chunk],
        gains: &Gains,
        linear: impl Fn(&mut Chunk) + Sync,
    ) {
        let basis = &self.of.part.basis;
        let sums = self.each_mut(chunks, |chunk| {
            linear(chunk);
            let mut work = std::mem::take(&mut chunk.work);
            basis.gradients_in_place(&mut chunk.x, &mut work);
            chunk.work = work;
            chunk.x.iter_mut().zip(&chunk.slope).for_each(|(x, slope)| *x += slope);
            self.apply_gains(chunk, gains)
        });
        let mut common = vec![0.0; self.of.cells()];
        if self.of.add_up {
            for sum in &sums {
                common.iter_mut().zip(sum).for_each(|(x, y)| *x -= y);
            }
            for (free, gain) in self.free.iter().zip(&gains.of_sum).filter(|(free, _)| free.dimension > 0) {
                let mut found = vec![0.0; free.dimension];
                for copy in free.block.each_copy() {
                    let at = copy.start;
                    gain.apply(&common[at..at + free.dimension], &mut found);
                    common[at..at + free.dimension].copy_from_slice(&found);
                }
            }
        }
        self.each_mut(chunks, |chunk| {
            self.finish(chunk, gains, &common);
            let mut work = std::mem::take(&mut chunk.work);
            basis.to_cells_in_place(&mut chunk.x, &mut work);
            chunk.work = work;
        });
    }

    /// Gradients to free coordinates of each child by itself, and their sums over the children.
    fn apply_gains(&self, chunk: &mut Chunk, gains: &Gains) -> Vec<f64> {
        let mut sums = vec![0.0; self.of.cells()];
        let (mut r, mut a) = (vec![], vec![]);
        self.each_copy(chunk, |At { at, free, copy }, rows, chunk, n| {
            if free.dimension == 0 {
                return;
            }
            if let (1, 1, Some(kind)) = (free.dimension, rows.len(), chunk.one_kind) {
                let gain = gains.of_kind[kind][at].entries()[0];
                let row = &mut chunk.x[rows[0]..][..n];
                row.iter_mut().for_each(|x| *x *= gain);
                sums[copy] = row.iter().sum();
                return;
            }
            gather(&chunk.x, rows, n, free.lift.as_ref(), &mut r);
            a.clear();
            a.resize(free.dimension * n, 0.0);
            match chunk.one_kind {
                Some(kind) => multiply(&gains.of_kind[kind][at], &r, &mut a, n),
                None => multiply_each(&gains.of_children[chunk.number][at], &r, &mut a, n),
            }
            for (i, row) in a.chunks_exact(n).enumerate() {
                sums[copy + i] = row.iter().sum();
                chunk.x[rows[i]..][..n].copy_from_slice(row);
            }
        });
        sums
    }

    /// Adds what makes the children add up, and turns free coordinates to all of them.
    fn finish(&self, chunk: &mut Chunk, gains: &Gains, common: &[f64]) {
        let (mut shift, mut a) = (vec![], vec![]);
        self.each_copy(chunk, |At { at, free, copy }, rows, chunk, n| {
            let d = free.dimension;
            if d == 0 {
                return rows.iter().for_each(|row| chunk.x[*row..][..n].fill(0.0));
            }
            shift.clear();
            shift.resize(d, 0.0);
            let common = &common[copy..][..d];
            match (self.of.add_up, chunk.one_kind) {
                (false, _) => {}
                (true, Some(kind)) => {
                    gains.of_kind[kind][at].apply(common, &mut shift);
                    for (row, shift) in rows.iter().zip(&shift) {
                        chunk.x[*row..][..n].iter_mut().for_each(|x| *x += shift);
                    }
                }
                (true, None) => {
                    let gains = gains.of_children[chunk.number][at].chunks_exact(n);
                    for (entry, gain) in gains.enumerate() {
                        let (row, common) = (rows[entry / d], common[entry % d]);
                        let x = chunk.x[row..][..n].iter_mut();
                        x.zip(gain).for_each(|(x, gain)| *x += gain * common);
                    }
                }
            }
            if let Some(lift) = &free.lift {
                gather(&chunk.x, &rows[..d], n, None, &mut a);
                let mut all = vec![0.0; rows.len() * n];
                multiply(lift, &a, &mut all, n);
                for (row, all) in rows.iter().zip(all.chunks_exact(n)) {
                    chunk.x[*row..][..n].copy_from_slice(all);
                }
            }
        });
    }

    /// What tables of a chunk cost.
    pub(super) fn cost_of(&self, chunk: &mut Chunk, tables: &[f64]) -> f64 {
        let basis = &self.of.part.basis;
        let mut difference: Vec<f64> = tables.iter().zip(&chunk.near).map(|(x, z)| x - z).collect();
        let linear: f64 = difference.iter().zip(&chunk.slope_cells).map(|(d, l)| d * l).sum();
        basis.coordinates_in_place(&mut difference, &mut chunk.work);
        let mut cost = -linear;
        let (mut own, mut product) = (vec![], vec![]);
        self.each_copy(chunk, |At { at, .. }, rows, chunk, n| {
            product.clear();
            product.resize(rows.len() * n, 0.0);
            match chunk.one_kind {
                Some(kind) => {
                    gather(&difference, rows, n, None, &mut own);
                    multiply(&self.of.kinds[kind][at], &own, &mut product, n);
                }
                None => {
                    for (c, kind) in (0..n).zip(&self.of.kind_of[chunk.children.clone()]) {
                        let precision = &self.of.kinds[*kind as usize][at];
                        for i in 0..rows.len() {
                            let row = precision.row(i).iter().zip(rows);
                            product[i * n + c] = row.map(|(k, b)| k * difference[b + c]).sum();
                        }
                    }
                }
            }
            for (row, product) in rows.iter().zip(product.chunks_exact(n)) {
                let terms = difference[*row..][..n].iter().zip(product);
                cost += 0.5 * terms.map(|(x, y)| x * y).sum::<f64>();
            }
        });
        cost
    }
}

/// Rows one after the other, in free directions alone.
fn gather(from: &[f64], rows: &[usize], n: usize, lift: Option<&Matrix>, to: &mut Vec<f64>) {
    to.clear();
    match lift {
        None => rows.iter().for_each(|row| to.extend_from_slice(&from[*row..][..n])),
        Some(lift) => {
            to.resize(lift.columns() * n, 0.0);
            for (i, row) in rows.iter().enumerate() {
                for j in 0..lift.columns() {
                    let factor = lift[(i, j)];
                    if factor != 0.0 {
                        let to = &mut to[j * n..][..n];
                        to.iter_mut().zip(&from[*row..][..n]).for_each(|(x, y)| *x += factor * y);
                    }
                }
            }
        }
    }
}

/// A matrix times rows of as many values.
fn multiply(matrix: &Matrix, rows: &[f64], to: &mut [f64], n: usize) {
    for (i, to) in to.chunks_exact_mut(n).enumerate() {
        to.fill(0.0);
        for (factor, row) in matrix.row(i).iter().zip(rows.chunks_exact(n)) {
            to.iter_mut().zip(row).for_each(|(x, y)| *x += factor * y);
        }
    }
}

/// A matrix for each value times rows of as many values.
fn multiply_each(matrices: &[f64], rows: &[f64], to: &mut [f64], n: usize) {
    let d = rows.len() / n;
    for (entry, factors) in matrices.chunks_exact(n).enumerate() {
        let to = &mut to[entry / d * n..][..n];
        let row = &rows[entry % d * n..][..n];
        to.iter_mut().zip(factors).zip(row).for_each(|((x, factor), y)| *x += factor * y);
    }
}
