//! The least cost with which all variances are within their limits: a barrier method (Lemma B4 of
//! `theory/design.md`).
//!
//! Nothing that is claimed rests on it: precisions are checked, and multipliers are turned into a bound, in
//! exact fractions.

use unspent::stop;

use super::evaluator::{Evaluator, Limit, Point};
use crate::matrix::{Cholesky, Matrix, dot};

/// A limit of a sum of variables.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) coefficients: Vec<f64>,
    pub(super) limit: f64,
}

/// Least `cost · w` with `variances(w) ≤ limits` and `linear(w) ≤ limits`, for positive w.
///
/// There may be more variables than precisions; those come last, and variances do not depend on them.
#[derive(Debug)]
pub(super) struct Problem<'e> {
    pub(super) evaluator: &'e Evaluator,
    pub(super) cost: Vec<f64>,
    pub(super) limits: Vec<Limit>,
    pub(super) linear: Vec<Linear>,
}

/// Where the method ended.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// Within all limits.
    pub(super) precisions: Vec<f64>,
    pub(super) multipliers: Multipliers,
    /// The relative gap of the last round.
    pub(super) gap: f64,
    /// The last centre whose gap is not below [`MIDWAY`]: where a problem with nearly the same limits starts.
    pub(super) midway: Start,
}

/// Where the method starts.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) w: Vec<f64>,
    /// The relative gap of the first round.
    pub(super) gap: f64,
}

/// What a bound of the least cost is made of.
#[derive(Clone, Debug)]
pub(super) struct Multipliers {
    /// The precisions at which slopes are taken.
    pub(super) at: Vec<f64>,
    /// Of each variance.
    pub(super) of_variances: Vec<f64>,
    /// Of each linear limit.
    pub(super) of_sums: Vec<f64>,
}

/// How much steeper the cost becomes from one round to the next.
pub(super) const STEEPER: f64 = 20.0;
/// The relative gap at which the method ends. It is far below what rounding of the answer costs.
pub(super) const GAP: f64 = 2e-7;
/// The relative gap that is small enough to see what limits should be.
pub(super) const COARSE: f64 = 1e-3;
/// The relative gap of a centre that is no farther from the centre of nearly the same problem than from its
/// own limits.
const MIDWAY: f64 = 1e-2;
/// The relative gap from which on it is tried how good the multipliers are.
const NARROW: f64 = 1e-4;
/// The square of the Newton decrement at which a point is at the centre, and near to it.
const CENTRED: f64 = 1e-8;
const NEAR: f64 = 1e-2;
/// The same where it only matters that the next centre is not far.
const ROUGHLY: f64 = 1e-1;
/// The slack, as a part of the limit, below which a limit is nearly reached.
const REACHED: f64 = 1e-2;
/// How often multipliers are brought into balance.
const BALANCINGS: usize = 3;
/// Most steps of a round, and of all rounds.
const ROUND_STEPS: usize = 60;
const STEPS: usize = 1_500;

struct State {
    point: Point,
    /// `1 − variance/limit` of each limit.
    slack: Vec<f64>,
    linear: Vec<f64>,
}

impl Problem<'_> {
    /// Precisions in the given proportions with which all variances are at most `part` of their limits.
    pub(super) fn scaled(&self, proportions: &[f64], part: f64) -> Vec<f64> {
        let point = self.evaluator.at(proportions);
        let worst =
            self.limits.iter().map(|l| self.evaluator.value(l, &point) / l.limit).fold(0.0f64, f64::max);
        proportions.iter().map(|w| w * worst / part).collect()
    }

    /// Whether a point is within all limits.
    pub(super) fn allows(&self, w: &[f64]) -> bool {
        self.state(w).is_some()
    }

    /// From a point within all limits, until the relative gap is below `until`.
    pub(super) fn solve(&self, start: Start, until: f64) -> Solution {
        let count = self.cost.len();
        let terms = (self.limits.len() + self.linear.len() + count) as f64;
        let mut midway = start.clone();
        let mut w = start.w;
        let mut state = self.state(&w).expect("the start is within all limits");
        let mut steepness = terms / (start.gap * dot(&self.cost, &w));
        let mut steps = 0;
        let mut best: Option<(f64, Multipliers)> = None;
        let gap = loop {
            let gap = terms / steepness / dot(&self.cost, &w);
            // Multipliers make a good bound at the centre only.
            let centred = if gap < NARROW { CENTRED } else { ROUGHLY };
            let mut least = f64::INFINITY;
            for _ in 0..ROUND_STEPS {
                stop::check();
                steps += 1;
                let (direction, decrement) = self.newton(&w, &state, steepness);
                // Near the centre rounding ends it: the decrement no longer falls.
                if decrement < centred || (decrement < 1e-6 && decrement > 0.5 * least) {
                    break;
                }
                least = decrement;
                let Some((next, at)) = self.step(&w, &state, steepness, &direction, decrement) else { break };
                (w, state) = (next, at);
            }
            if gap >= MIDWAY {
                midway = Start { w: w.clone(), gap };
            }
            if gap < NARROW || gap < until || steps > STEPS {
                // The steeper, the nearer is the centre to the best; but slacks lose digits.
                let found = self.balanced(&w, &state, steepness);
                if best.as_ref().is_none_or(|(bound, _)| found.0 > *bound) {
                    best = Some(found);
                }
            }
            if gap < until || steps > STEPS {
                break gap;
            }
            steepness *= STEEPER;
        };
        let (_, multipliers) = best.expect("the last round has multipliers");
        Solution { precisions: w, multipliers, gap, midway }
    }

    /// Multipliers at a point near the centre, and the bound that they give.
    ///
    /// A slack is a difference of nearly equal numbers, so that multipliers made of slacks have few digits.
    /// The slopes have many. So multipliers are changed, relatively as little as possible, to bring costs
    /// and slopes into balance, as long as the bound gets better.
    fn balanced(&self, w: &[f64], state: &State, steepness: f64) -> (f64, Multipliers) {
        let inner = self.evaluator.variables.len();
        // What each limit is for at each variable, as a part of the cost.
        let of_variance = |limit: &Limit| -> Vec<f64> {
            let slopes = self.evaluator.slopes(limit, &state.point);
            slopes.iter().zip(&self.cost).map(|(slope, cost)| slope / cost).collect()
        };
        let of_sum = |limit: &Linear| -> Vec<f64> {
            (0..inner).map(|j| -limit.coefficients[j] / self.cost[j]).collect()
        };
        let rows: Vec<Vec<f64>> =
            self.limits.iter().map(of_variance).chain(self.linear.iter().map(of_sum)).collect();
        let of_limit = |(slack, limit): (&f64, &Limit)| 1.0 / (steepness * slack * limit.limit);
        let of_linear = |slack: &f64| 1.0 / (steepness * slack);
        let mut all: Vec<f64> = (state.slack.iter().zip(&self.limits).map(of_limit))
            .chain(state.linear.iter().map(of_linear))
            .collect();
        let mut best = (self.bound(w, &rows, &all), all.clone());
        for _ in 0..BALANCINGS {
            // By how much the cost of a variable is above what it is for, less what the barrier is for.
            let left = |j: usize| {
                let bought: f64 = rows.iter().zip(&all).map(|(row, y)| y * row[j]).sum();
                1.0 - 1.0 / (steepness * w[j] * self.cost[j]) - bought
            };
            let mut squares = triangle(inner);
            for (row, y) in rows.iter().zip(&all) {
                add_square(&mut squares, &row.iter().map(|x| x * y).collect::<Vec<f64>>());
            }
            let mut matrix = Matrix::zeros(inner, inner);
            for (i, row) in squares.iter().enumerate() {
                for (j, x) in row.iter().enumerate() {
                    (matrix[(i, j)], matrix[(j, i)]) = (*x, *x);
                }
                matrix[(i, i)] += 1e-13 * row[i] + f64::MIN_POSITIVE;
            }
            let right = (0..inner).map(left).collect();
            let weights = Cholesky::new(&matrix).solve(&Matrix::new(inner, 1, right));
            for (row, y) in rows.iter().zip(&mut all) {
                *y *= (1.0 + *y * dot(row, weights.entries())).clamp(0.25, 4.0);
            }
            let bound = self.bound(w, &rows, &all);
            if bound > best.0 {
                best = (bound, all.clone());
            }
        }
        let (bound, mut of_variances) = best;
        let of_sums = of_variances.split_off(self.limits.len());
        (bound, Multipliers { at: w[..inner].to_vec(), of_variances, of_sums })
    }

    /// The bound of Lemma B5 in doubles; `rows` are slopes and coefficients as parts of the costs.
    fn bound(&self, w: &[f64], rows: &[Vec<f64>], multipliers: &[f64]) -> f64 {
        let variances = self.limits.len();
        let (mut sum, mut allowed, mut kept) = (0.0, 0.0, 0.0);
        for ((row, y), limit) in rows.iter().zip(multipliers).zip(&self.limits) {
            // A variance is made up of its slopes, as it is homogeneous.
            let value: f64 = row.iter().zip(w).zip(&self.cost).map(|((s, w), c)| s * w * c).sum();
            sum += y * value;
            allowed += y * limit.limit;
        }
        for (limit, y) in self.linear.iter().zip(&multipliers[variances..]) {
            kept += y * limit.limit;
        }
        let steepness = |j: usize| {
            let of =
                |range: std::ops::Range<usize>| -> f64 { range.map(|k| multipliers[k] * rows[k][j]).sum() };
            of(0..variances) / (1.0 - of(variances..rows.len()))
        };
        let steepest = (0..self.evaluator.variables.len()).map(steepness).fold(0.0f64, f64::max);
        sum * sum / (steepest * allowed) - kept
    }

    /// None if a limit is not kept.
    fn state(&self, w: &[f64]) -> Option<State> {
        let point = self.evaluator.at(&w[..self.evaluator.variables.len()]);
        let slack: Vec<f64> =
            self.limits.iter().map(|l| 1.0 - self.evaluator.value(l, &point) / l.limit).collect();
        let linear: Vec<f64> = self.linear.iter().map(|l| l.limit - dot(&l.coefficients, w)).collect();
        let inside = slack.iter().chain(&linear).chain(w).all(|x| *x > 0.0);
        inside.then_some(State { point, slack, linear })
    }

    fn barrier(&self, w: &[f64], state: &State, steepness: f64) -> f64 {
        let logs: f64 = state.slack.iter().chain(&state.linear).chain(w).map(|x| pxfm::f_log(*x)).sum();
        steepness * dot(&self.cost, w) - logs
    }

    /// The Newton step relative to w, and the square of its decrement.
    ///
    /// Second derivatives are `A + GᵀG`, with a row of G for each limit that is nearly reached, as long as
    /// 1 over its slack. Adding them up would leave no digit of A, which alone decides between measurements
    /// that are equally good. So A is factored, and then the small system `1 + GA⁻¹Gᵀ`.
    fn newton(&self, w: &[f64], state: &State, steepness: f64) -> (Vec<f64>, f64) {
        let count = w.len();
        let inner = self.evaluator.variables.len();
        let mut gradient: Vec<f64> = self.cost.iter().map(|cost| steepness * cost).collect();
        let mut curvature = Matrix::zeros(inner, inner);
        let weights: Vec<f64> =
            self.limits.iter().zip(&state.slack).map(|(l, slack)| 1.0 / (slack * l.limit)).collect();
        self.evaluator.add_curvature(&self.limits, &weights, &state.point, &mut curvature);
        let mut squares = triangle(count);
        let mut reached: Vec<Vec<f64>> = vec![];
        let mut add = |row: Vec<f64>, slack: f64| match slack < REACHED {
            true => reached.push(row),
            false => add_square(&mut squares, &row),
        };
        for ((limit, weight), slack) in self.limits.iter().zip(&weights).zip(&state.slack) {
            let mut row = vec![0.0; count];
            for (i, slope) in self.evaluator.slopes(limit, &state.point).iter().enumerate() {
                gradient[i] -= weight * slope;
                row[i] = -weight * slope * w[i];
            }
            add(row, *slack);
        }
        for (limit, slack) in self.linear.iter().zip(&state.linear) {
            gradient.iter_mut().zip(&limit.coefficients).for_each(|(g, x)| *g += x / slack);
            let row: Vec<f64> = limit.coefficients.iter().zip(w).map(|(x, w)| x / slack * w).collect();
            let longest = row.iter().fold(0.0f64, |longest, x| longest.max(x.abs()));
            add(row, 1.0 / longest);
        }
        let mut relative = Matrix::identity(count);
        for (i, row) in squares.iter().enumerate() {
            for (j, x) in row.iter().enumerate() {
                let curved = if i < inner { curvature[(i, j)] * w[i] * w[j] } else { 0.0 };
                relative[(i, j)] += x + curved;
                relative[(j, i)] = relative[(i, j)];
            }
        }
        let right: Vec<f64> = gradient.iter().zip(w).map(|(g, w)| 1.0 - g * w).collect();
        let factored = Cholesky::new(&relative);
        let mut direction = factored.solve(&Matrix::new(count, 1, right.clone()));
        if !reached.is_empty() {
            // With A = LLᵀ: GA⁻¹Gᵀ is the product of L⁻¹Gᵀ with its transpose.
            let rows = Matrix::new(reached.len(), count, reached.concat());
            let half = factored.first_half(&rows.transposed()).transposed();
            let mut small = Matrix::identity(reached.len());
            for i in 0..reached.len() {
                for j in 0..=i {
                    small[(i, j)] += dot(half.row(i), half.row(j));
                    small[(j, i)] = small[(i, j)];
                }
            }
            let back = Cholesky::new(&small).solve(&rows.times(&direction));
            direction.add(&factored.second_half(half.transposed().times(&back)), -1.0);
        }
        let decrement = dot(&right, direction.entries());
        (direction.entries().to_vec(), decrement)
    }

    /// The longest of a sequence of shorter and shorter steps that stays within all limits and lowers the
    /// barrier; none if rounding leaves none.
    fn step(
        &self,
        w: &[f64],
        state: &State,
        steepness: f64,
        direction: &[f64],
        decrement: f64,
    ) -> Option<(Vec<f64>, State)> {
        let before = self.barrier(w, state, steepness);
        let down = direction.iter().fold(0.0f64, |least, d| least.max(-d));
        let mut length = if down > 0.0 { 1f64.min(0.95 / down) } else { 1.0 };
        for _ in 0..40 {
            let next: Vec<f64> = w.iter().zip(direction).map(|(w, d)| w * (1.0 + length * d)).collect();
            // Near the centre the barrier itself is rounded more than it falls; Newton's method converges.
            if let Some(at) = self.state(&next)
                && (decrement < NEAR
                    || self.barrier(&next, &at, steepness) <= before - 0.1 * length * decrement)
            {
                return Some((next, at));
            }
            length *= 0.6;
        }
        None
    }
}

/// The rows of a lower triangle of zeros.
fn triangle(size: usize) -> Vec<Vec<f64>> {
    (1..=size).map(|length| vec![0.0; length]).collect()
}

/// Adds the lower triangle of `x xᵀ`.
fn add_square(to: &mut [Vec<f64>], x: &[f64]) {
    for (row, factor) in to.iter_mut().zip(x) {
        row.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
    }
}
