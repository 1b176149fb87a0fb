//! The nearest tables without negative counts, in the metric of the estimates (Lemma T3 of
//! `theory/tables.md`).
//!
//! Children's tables `x ≥ 0` that add up to their parent's table, with some sums given, minimise
//! `Σ ½ (x − z)ᵀ K (x − z)`. This is solved by the alternating direction method of multipliers: one step has
//! no signs, and falls apart in the basis of the estimates; the other one has nothing but signs and limits.
//! The dual value that belongs to the multipliers says how far the solution is from the best one.

mod free;
mod prices;
mod step;

use unspent::{parallel, stop};

use self::free::Free;
use self::step::{Chunk, Gains};
use super::signs::{Signs, worth_of};
use crate::basis::Part;
use crate::matrix::Matrix;

/// What the solution may cost more than the best one, as a share of what the signs cost.
pub const TOLERANCE: f64 = 1e-6;
/// And how far one in so many counts that are known as precisely as most may be from the best one, in people.
const NEAR: f64 = 0.01;
const ONE_IN: f64 = 500.0;
/// Costs below this one are not told apart from it: a thousandth of what one cell's noise costs.
const SMALL: f64 = 1e-3;
/// How far sums of tables that are looked at may be from those that are given.
const SUMS: f64 = 1e-7;
/// Most steps. What is found until then is used, and the gap says how good it is.
const MAX_STEPS: usize = 3000;
/// Steps between two looks at the gap.
const LOOK: usize = 15;
/// The weight of the signs that the method begins with, beside typical precisions.
const WEIGHT: f64 = 2.0;
/// Steps between two changes of this weight. Residuals of the first steps say nothing of the later ones.
const CHANGE: usize = 60;
/// Steps in which what makes the method fast may be done. Then comes the plain one, which converges.
const FAST_STEPS: usize = 1500;

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
    /// What the least would cost if counts could be negative: all tables with the sums cost as much.
    pub unsigned: f64,
    /// How much more that is than the best can cost, at most.
    pub gap: f64,
    /// The steps that it took.
    pub steps: usize,
}

impl Quality {
    /// The gap as a share of what the signs cost.
    #[must_use]
    pub fn relative_gap(&self) -> f64 {
        self.gap.max(0.0) / (self.cost - self.unsigned).max(SMALL)
    }
}

/// How far the two solutions are from each other, and from the last ones, beside how large they are: sums of
/// squares.
#[derive(Clone, Copy, Default)]
struct Residuals {
    primal: f64,
    dual: f64,
    tables: f64,
    multipliers: f64,
}

/// Which sums a step takes care of when it cuts off negative counts, besides doing so when it has no signs.
#[derive(Clone, Copy)]
struct Priced {
    /// The children's, cell by cell.
    cells: bool,
    /// Given sums of groups of each child's cells.
    groups: bool,
}

impl Residuals {
    /// Whether the two solutions differ by less than a thousandth.
    fn is_near(&self) -> bool {
        self.primal <= 1e-6 * self.tables && self.dual <= 1e-6 * self.tables
    }

    /// By what the weight is to change so that both are equally small.
    fn factor(&self) -> f64 {
        let primal = self.primal / self.tables.max(f64::MIN_POSITIVE);
        let dual = self.dual / self.multipliers.max(f64::MIN_POSITIVE);
        let factor = (primal / dual.max(f64::MIN_POSITIVE)).sqrt().sqrt();
        if factor.is_finite() { factor.clamp(0.1, 10.0) } else { 1.0 }
    }
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
        let cell_sums = self.anchor.chunks_exact(self.children()).map(|row| row.iter().sum()).collect();
        let groups = pinned.map(|told| basis.groups_by(told));
        Run { of: self, free, cell_sums, groups, on_all_cores }.solve()
    }
}

struct Run<'r> {
    of: &'r Projection<'r>,
    free: Vec<Free<'r>>,
    /// What the children's values of each cell add up to, if they add up.
    cell_sums: Vec<f64>,
    /// The group that each cell is in, if sums of groups are given.
    groups: Option<Vec<u32>>,
    on_all_cores: bool,
}

impl Run<'_> {
    fn solve(&self) -> Projected {
        let mut chunks = self.chunks();
        let exact = self.gains(&chunks, 0.0);
        let mut weight = WEIGHT * self.typical_precision();
        let mut gains = self.gains(&chunks, weight);
        let unsigned = self.dual(&mut chunks, &exact, 0.0);
        let counts = (self.of.cells() * self.of.children()) as f64;
        let close = 0.5 * self.typical_precision() * NEAR * NEAR * (counts / ONE_IN).max(1.0);
        let mut best: Option<Projected> = None;
        for step in 1..=MAX_STEPS {
            stop::check();
            let is_fast = step <= FAST_STEPS;
            let residuals = self.step(&mut chunks, &gains, weight, self.priced(is_fast));
            if step % LOOK != 0 && residuals.primal > 0.0 {
                continue;
            }
            // A look costs as much as several steps: not before the two solutions are near to each other.
            if residuals.is_near() || step + LOOK > MAX_STEPS {
                let mut found = self.look(&mut chunks, &exact, weight);
                (found.quality.steps, found.quality.unsigned) = (step, unsigned);
                let Quality { gap, .. } = found.quality;
                let done = found.quality.relative_gap() <= TOLERANCE && gap <= close;
                if best.as_ref().is_none_or(|last| gap < last.quality.gap) {
                    best = Some(found);
                }
                if done {
                    break;
                }
            }
            let factor = if is_fast && step % CHANGE == 0 { residuals.factor() } else { 1.0 };
            if !(0.5..2.0).contains(&factor) {
                weight *= factor;
                gains = self.gains(&chunks, weight);
                for chunk in &mut chunks {
                    chunk.multiplier.iter_mut().for_each(|u| *u /= factor);
                }
            }
        }
        best.expect("looked at least once")
    }

    /// Limits are for the signs alone: prices would have to be found together with them. Prices of groups and
    /// of cells that are found one after the other make the method another one, which is fast (Lemma T3a).
    fn priced(&self, is_fast: bool) -> Priced {
        let unlimited = self.of.signs.limits.is_none();
        let cells = unlimited && self.of.add_up;
        Priced { cells, groups: unlimited && (is_fast || !cells) }
    }

    /// The dual value of Lemma T3: the least cost less the multipliers' part, without signs. With a weight of
    /// 0 it is what the least would cost if counts could be negative.
    fn dual(&self, chunks: &mut [Chunk], exact: &Gains, weight: f64) -> f64 {
        self.without_signs(chunks, exact, |chunk| {
            chunk.x.clear();
            chunk.x.extend(chunk.multiplier.iter().map(|u| -weight * u));
        });
        let duals = self.each_mut(chunks, |chunk| {
            chunk.x.iter_mut().zip(&chunk.anchor).for_each(|(x, p)| *x += p);
            let paid: f64 = chunk.multiplier.iter().zip(&chunk.x).map(|(u, x)| -weight * u * x).sum();
            let worth = worth_of(&self.of.signs, &chunk.children, &chunk.multiplier, weight);
            let x = std::mem::take(&mut chunk.x);
            let cost = self.cost_of(chunk, &x);
            chunk.x = x;
            cost - paid + worth
        });
        duals.iter().sum::<f64>() + self.of.cost
    }

    /// A solution from where the method is, and its gap.
    fn look(&self, chunks: &mut [Chunk], exact: &Gains, weight: f64) -> Projected {
        let dual = self.dual(chunks, exact, weight);
        let mut tables = self.collect(chunks);
        self.repair(&mut tables);
        let all = self.of.children();
        let costs = self.each_mut(chunks, |chunk| {
            let rows = tables.chunks_exact(all);
            let own: Vec<f64> = rows.flat_map(|row| row[chunk.children.clone()].iter().copied()).collect();
            self.cost_of(chunk, &own)
        });
        let cost = costs.iter().sum::<f64>() + self.of.cost;
        Projected { tables, quality: Quality { cost, gap: cost - dual, ..Quality::default() } }
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

    /// Scales tables that nearly have the sums that are given until they have them.
    fn repair(&self, tables: &mut [f64]) {
        let Projection { anchor, add_up, .. } = self.of;
        let (n, groups) = (self.of.children(), &self.groups);
        // One of the two sums is exact after each turn; with both, they meet each other.
        for _ in 0..if *add_up && groups.is_some() { 30 } else { 1 } {
            let mut worst = 0.0f64;
            if let Some(groups) = groups {
                let count = groups.iter().max().map_or(0, |last| *last as usize + 1);
                let mut sums = vec![(0.0, 0.0); count * n];
                for (cell, group) in groups.iter().enumerate() {
                    let rows = tables[cell * n..][..n].iter().zip(&anchor[cell * n..][..n]);
                    for (sum, (x, p)) in sums[*group as usize * n..][..n].iter_mut().zip(rows) {
                        *sum = (sum.0 + x, sum.1 + p);
                    }
                }
                worst = sums.iter().map(|(is, must)| (is - must).abs()).fold(worst, f64::max);
                for (cell, group) in groups.iter().enumerate() {
                    let rows = tables[cell * n..][..n].iter_mut().zip(&anchor[cell * n..][..n]);
                    for (sums, (x, p)) in sums[*group as usize * n..][..n].iter().zip(rows) {
                        scale(x, *p, *sums);
                    }
                }
            }
            if *add_up {
                let rows = tables.chunks_exact_mut(n).zip(anchor.chunks_exact(n));
                for ((row, anchor), must) in rows.zip(&self.cell_sums) {
                    let sums = (row.iter().sum::<f64>(), *must);
                    row.iter_mut().zip(anchor).for_each(|(x, p)| scale(x, *p, sums));
                }
            }
            if worst < SUMS {
                break;
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

/// A count times what its sum must be over what it is; the anchor's if all are 0.
fn scale(x: &mut f64, anchor: f64, (is, must): (f64, f64)) {
    *x = if is > 0.0 { *x * (must / is) } else { anchor };
}
