//! The nearest tables without negative counts, in the metric of the estimates (Lemma T3 of `theory/tables.md`).
//!
//! Children's tables `x ≥ 0` that add up to their parent's table, with some sums given, minimise
//! `Σ ½ (x − z)ᵀ K (x − z)`. This is solved by the alternating direction method of multipliers: one step has
//! no signs, and falls apart in the basis of the estimates; the other one has nothing but signs and limits.
//! The dual value that belongs to the multipliers says how far the solution is from the best one.

use std::ops::Range;

use unspent::parallel;

use super::signs::{Signs, project_signs, worth_of};
use crate::basis::{Basis, Block, Part, Pinned};
use crate::matrix::Matrix;

/// What the solution may cost more than the best one, as a share of the best.
pub(crate) const TOLERANCE: f64 = 1e-7;
/// Costs below this one are not told apart from it: a thousandth of what one cell's noise costs.
const SMALL: f64 = 1e-3;
/// Most steps. What is found until then is used, and the gap says how good it is.
const MAX_STEPS: usize = 3000;
/// Steps between two looks at the gap.
const LOOK: usize = 15;
/// How far a step goes beyond the first solution; between 1 and 2 the method converges.
const RELAXED: f64 = 1.6;
/// Values that the tables of some children have together: they fit into a core's cache.
const CHUNK: usize = 1 << 15;

/// A projection: children's estimates, and what their tables must add up to.
pub(crate) struct Projection<'p> {
    pub(crate) part: &'p Part,
    /// The precision of the estimates of each kind of child, one matrix for each block.
    pub(crate) kinds: Vec<Vec<Matrix>>,
    /// The kind of each child.
    pub(crate) kind_of: Vec<u32>,
    /// Estimates of the cells; those of all children for a cell lie together, as in all that follows.
    pub(crate) near: Vec<f64>,
    /// What cells that are not in the part add to the slope: `K z` of these alone.
    pub(crate) slope: Vec<f64>,
    /// And to the cost.
    pub(crate) cost: f64,
    /// Tables with the sums that are given.
    pub(crate) anchor: Vec<f64>,
    /// Whether the children's tables add up to what their anchors do.
    pub(crate) add_up: bool,
    /// Whether sums of each child's table are those of its anchor: by these axes.
    pub(crate) pinned: Option<Vec<bool>>,
    /// Which cells may be other than 0, and limits to sums of cells.
    pub(crate) signs: Signs,
}

/// Tables without negative counts.
#[derive(Clone, Debug)]
pub(crate) struct Projected {
    pub(crate) tables: Vec<f64>,
    pub(crate) quality: Quality,
}

/// How good a projection is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// What it costs: half the squared distance from the estimates, in units of their noise.
    pub cost: f64,
    /// How much more that is than the best can cost, at most.
    pub gap: f64,
    /// The steps that it took.
    pub steps: usize,
}

impl Quality {
    /// The gap as a share of the cost.
    #[must_use]
    pub fn relative_gap(&self) -> f64 {
        self.gap.max(0.0) / self.cost.max(SMALL)
    }
}

/// A block, without what is given of it.
struct Free<'b> {
    block: &'b Block,
    /// From free coordinates to all of them; none if all are free.
    lift: Option<Matrix>,
    squares: Matrix,
    dimension: usize,
}

impl<'b> Free<'b> {
    fn new(basis: &Basis, block: &'b Block, pinned: Option<&Vec<bool>>) -> Free<'b> {
        let d = block.dimension;
        let mut squares = Matrix::zeros(d, d);
        basis.squares(block).iter().enumerate().for_each(|(i, x)| squares[(i, i)] = *x);
        let lift = pinned.and_then(|told| basis.pinned(block, told)).map(|pinned| contrasts(&pinned));
        let dimension = lift.as_ref().map_or(d, Matrix::columns);
        let squares = lift.as_ref().map_or(squares.clone(), |lift| lift.transposed().around(&squares));
        Free { block, lift, squares, dimension }
    }

    fn reduced(&self, matrix: &Matrix) -> Matrix {
        self.lift.as_ref().map_or(matrix.clone(), |lift| lift.transposed().around(matrix))
    }
}

/// Orthonormal directions in which no given sum changes.
fn contrasts(pinned: &Pinned) -> Matrix {
    let d = pinned.sum_of.len();
    let mut columns: Vec<Vec<f64>> = vec![];
    for sum in 0..pinned.sums {
        let members: Vec<usize> = (0..d).filter(|i| pinned.sum_of[*i] == sum).collect();
        for j in 1..members.len() {
            let scale = 1.0 / (j as f64 * (j as f64 + 1.0)).sqrt();
            let mut column = vec![0.0; d];
            members[..j].iter().for_each(|i| column[*i] = scale);
            column[members[j]] = -(j as f64) * scale;
            columns.push(column);
        }
    }
    let mut lift = Matrix::zeros(d, columns.len());
    for (j, column) in columns.iter().enumerate() {
        column.iter().enumerate().for_each(|(i, x)| lift[(i, j)] = *x);
    }
    lift
}

/// The inverses of `precision + weight · squares` for each kind and block, and those of their sums.
struct Gains {
    of_kind: Vec<Vec<Matrix>>,
    of_sum: Vec<Matrix>,
    /// For each chunk whose children are of several kinds, and each block: entry by entry, those of all
    /// children together.
    of_children: Vec<Vec<Vec<f64>>>,
}

/// Some of the children, and where they are in the method.
struct Chunk {
    number: usize,
    children: Range<usize>,
    /// The kind of all of them, if it is one.
    one_kind: Option<usize>,
    /// The slope of the cost at the anchor, by coordinates in their places.
    slope: Vec<f64>,
    near: Vec<f64>,
    anchor: Vec<f64>,
    slope_cells: Vec<f64>,
    /// The last solution without signs; in the course of a step, its coordinates.
    x: Vec<f64>,
    w: Vec<f64>,
    multiplier: Vec<f64>,
    work: Vec<f64>,
}

/// How far the two solutions are from each other, and from the last ones.
#[derive(Clone, Copy, Default)]
struct Residuals {
    primal: f64,
    dual: f64,
}

impl Projection<'_> {
    fn children(&self) -> usize {
        self.kind_of.len()
    }

    fn cells(&self) -> usize {
        self.part.basis.cells()
    }

    /// Solves it; on all cores if it is told to.
    pub(crate) fn solve(&self, on_all_cores: bool) -> Projected {
        let pinned = self.pinned.as_ref();
        let basis = &self.part.basis;
        let free: Vec<Free<'_>> = basis.blocks.iter().map(|b| Free::new(basis, b, pinned)).collect();
        let run = Run { of: self, free, on_all_cores };
        run.solve()
    }
}

struct Run<'r> {
    of: &'r Projection<'r>,
    free: Vec<Free<'r>>,
    on_all_cores: bool,
}

impl Run<'_> {
    fn solve(&self) -> Projected {
        let mut chunks = self.chunks();
        let exact = self.gains(&chunks, 0.0);
        let mut weight = 3.0 * self.typical_precision();
        let mut gains = self.gains(&chunks, weight);
        let mut best: Option<Projected> = None;
        for step in 1..=MAX_STEPS {
            let residuals = self.step(&mut chunks, &gains, weight);
            if step % LOOK == 0 || residuals.primal == 0.0 {
                let mut found = self.look(&mut chunks, &exact, weight);
                found.quality.steps = step;
                let better = |last: &Projected| found.quality.gap < last.quality.gap;
                let done = found.quality.relative_gap() <= TOLERANCE;
                if best.as_ref().is_none_or(better) {
                    best = Some(found);
                }
                if done {
                    break;
                }
                let factor = match residuals.primal / residuals.dual.max(f64::MIN_POSITIVE) {
                    ratio if ratio > 5.0 => 2.0,
                    ratio if ratio < 0.2 => 0.5,
                    _ => continue,
                };
                weight *= factor;
                gains = self.gains(&chunks, weight);
                for chunk in &mut chunks {
                    chunk.multiplier.iter_mut().for_each(|u| *u /= factor);
                }
            }
        }
        best.expect("looked at least once")
    }

    fn chunks(&self) -> Vec<Chunk> {
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

    fn gains(&self, chunks: &[Chunk], weight: f64) -> Gains {
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
    fn typical_precision(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        let kind = &self.of.kinds[self.of.kind_of[0] as usize];
        for (free, precision) in self.free.iter().zip(kind) {
            let precision = free.reduced(precision);
            for i in 0..free.dimension {
                let copies = free.block.copies as f64;
                sum += copies * (precision[(i, i)] / free.squares[(i, i)]).ln();
                count += copies;
            }
        }
        if count == 0.0 { 1.0 } else { (sum / count).exp() }
    }

    /// One step of the method.
    fn step(&self, chunks: &mut [Chunk], gains: &Gains, weight: f64) -> Residuals {
        let add = |chunk: &mut Chunk| {
            let target = chunk.w.iter().zip(&chunk.multiplier).zip(&chunk.anchor);
            chunk.x.clear();
            chunk.x.extend(target.map(|((w, u), p)| weight * (w - u - p)));
        };
        self.without_signs(chunks, gains, add);
        let residuals = self.each_mut(chunks, |chunk| {
            let mut found = Residuals::default();
            let n = chunk.children.len();
            for i in 0..chunk.x.len() {
                chunk.x[i] += chunk.anchor[i];
                // What is not signed yet, in the place of the multiplier.
                chunk.multiplier[i] += RELAXED * chunk.x[i] + (1.0 - RELAXED) * chunk.w[i];
            }
            chunk.work.clear();
            chunk.work.extend_from_slice(&chunk.multiplier);
            project_signs(&self.of.signs, &chunk.children, &mut chunk.work);
            for i in 0..chunk.x.len() {
                let w = chunk.work[i];
                chunk.multiplier[i] -= w;
                found.primal = found.primal.max((chunk.x[i] - w).abs());
                found.dual = found.dual.max((w - chunk.w[i]).abs());
                chunk.w[i] = w;
            }
            debug_assert_eq!(chunk.x.len() % n, 0);
            found
        });
        residuals.iter().fold(Residuals::default(), |a, b| Residuals {
            primal: a.primal.max(b.primal),
            dual: a.dual.max(b.dual),
        })
    }

    /// The tables that minimise the cost less a linear function, without regard to signs, as differences from
    /// the anchors. `linear` puts the gradient of this function into `x`.
    fn without_signs(&self, chunks: &mut [Chunk], gains: &Gains, linear: impl Fn(&mut Chunk) + Sync) {
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

    /// A solution from where the method is, and its gap.
    fn look(&self, chunks: &mut [Chunk], exact: &Gains, weight: f64) -> Projected {
        let signs = &self.of.signs;
        // The dual value: the least cost less the multipliers' part, without signs.
        let linear = |chunk: &mut Chunk| {
            chunk.x.clear();
            chunk.x.extend(chunk.multiplier.iter().map(|u| -weight * u));
        };
        self.without_signs(chunks, exact, linear);
        let duals = self.each_mut(chunks, |chunk| {
            chunk.x.iter_mut().zip(&chunk.anchor).for_each(|(x, p)| *x += p);
            let paid: f64 = chunk.multiplier.iter().zip(&chunk.x).map(|(u, x)| -weight * u * x).sum();
            let worth = worth_of(signs, &chunk.children, &chunk.multiplier, weight);
            let x = std::mem::take(&mut chunk.x);
            let cost = self.cost_of(chunk, &x);
            chunk.x = x;
            cost - paid + worth
        });
        let mut tables = self.collect(chunks);
        self.repair(&mut tables);
        let all = self.of.children();
        let costs = self.each_mut(chunks, |chunk| {
            let rows = tables.chunks_exact(all);
            let own: Vec<f64> = rows.flat_map(|row| row[chunk.children.clone()].iter().copied()).collect();
            self.cost_of(chunk, &own)
        });
        let cost = costs.iter().sum::<f64>() + self.of.cost;
        let dual = duals.iter().sum::<f64>() + self.of.cost;
        Projected { tables, quality: Quality { cost, gap: cost - dual, steps: 0 } }
    }

    fn collect(&self, chunks: &[Chunk]) -> Vec<f64> {
        let mut tables = Vec::with_capacity(self.of.cells() * self.of.children());
        for cell in 0..self.of.cells() {
            for chunk in chunks {
                let n = chunk.children.len();
                tables.extend_from_slice(&chunk.w[cell * n..][..n]);
            }
        }
        tables
    }

    /// What tables of a chunk cost.
    fn cost_of(&self, chunk: &mut Chunk, tables: &[f64]) -> f64 {
        let basis = &self.of.part.basis;
        let mut difference: Vec<f64> = tables.iter().zip(&chunk.near).map(|(x, z)| x - z).collect();
        let linear: f64 = difference.iter().zip(&chunk.slope_cells).map(|(d, l)| d * l).sum();
        basis.coordinates_in_place(&mut difference, &mut chunk.work);
        let mut cost = -linear;
        self.each_copy(chunk, |At { at, .. }, rows, chunk, n| {
            for c in 0..n {
                let precision = &self.of.kinds[self.of.kind_of[chunk.children.start + c] as usize][at];
                for (i, a) in rows.iter().enumerate() {
                    let row = precision.row(i).iter().zip(rows);
                    let sum: f64 = row.map(|(k, b)| k * difference[b + c]).sum();
                    cost += 0.5 * difference[a + c] * sum;
                }
            }
        });
        cost
    }

    /// Scales tables that nearly have the sums that are given until they have them.
    fn repair(&self, tables: &mut [f64]) {
        let Projection { anchor, add_up, pinned, .. } = self.of;
        let n = self.of.children();
        let groups = pinned.as_ref().map(|told| self.of.part.basis.groups_by(told));
        for _ in 0..if *add_up && groups.is_some() { 30 } else { 1 } {
            if let Some(groups) = &groups {
                let count = groups.iter().max().map_or(0, |last| *last as usize + 1);
                let mut sums = vec![(0.0, 0.0); count * n];
                for (cell, group) in groups.iter().enumerate() {
                    for c in 0..n {
                        let sum = &mut sums[*group as usize * n + c];
                        *sum = (sum.0 + tables[cell * n + c], sum.1 + anchor[cell * n + c]);
                    }
                }
                for (cell, group) in groups.iter().enumerate() {
                    for c in 0..n {
                        scale(&mut tables[cell * n + c], anchor[cell * n + c], sums[*group as usize * n + c]);
                    }
                }
            }
            if *add_up {
                let rows = tables.chunks_exact_mut(n).zip(anchor.chunks_exact(n));
                for (row, anchor) in rows {
                    let sums = (row.iter().sum::<f64>(), anchor.iter().sum::<f64>());
                    row.iter_mut().zip(anchor).for_each(|(x, p)| scale(x, *p, sums));
                }
            }
        }
    }

    fn each<T: Sync, R: Send + Sync>(&self, items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
        if self.on_all_cores { parallel::map(items, f) } else { items.iter().map(f).collect() }
    }

    fn each_mut<R: Send + Sync>(&self, chunks: &mut [Chunk], f: impl Fn(&mut Chunk) -> R + Sync) -> Vec<R> {
        if self.on_all_cores && chunks.len() > 1 {
            let locked: Vec<std::sync::Mutex<&mut Chunk>> =
                chunks.iter_mut().map(std::sync::Mutex::new).collect();
            parallel::map(&locked, |chunk| f(*chunk.lock().expect("nobody else")))
        } else {
            chunks.iter_mut().map(f).collect()
        }
    }
}

/// A block, and where a copy of it begins.
#[derive(Clone, Copy)]
struct At<'a> {
    at: usize,
    free: &'a Free<'a>,
    copy: usize,
}

/// A count times what its sum must be over what it is; the anchor's if all are 0.
fn scale(x: &mut f64, anchor: f64, (is, must): (f64, f64)) {
    *x = if is > 0.0 { *x * (must / is) } else { anchor };
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
