//! The least cost with which all variances are within their limits: a barrier method (Lemma B4 of
//! `theory/design.md`).
//!
//! Nothing that is claimed rests on it: precisions are checked, and multipliers are turned into a bound, in
//! exact fractions.

use unspent::stop;

use super::evaluator::{Evaluator, Limit, Point};
use crate::matrix::{Cholesky, Matrix};

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
    /// Of each variance.
    pub(super) multipliers: Vec<f64>,
    /// Of each linear limit.
    pub(super) linear: Vec<f64>,
}

/// How much steeper the cost becomes from one round to the next.
const STEEPER: f64 = 20.0;
/// The relative gap at which the method ends. It is far below what rounding of the answer costs.
const GAP: f64 = 2e-7;
/// The square of the Newton decrement at which a point is at the centre, and near to it.
const CENTRED: f64 = 1e-8;
const NEAR: f64 = 1e-2;
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

    /// From a point within all limits.
    pub(super) fn solve(&self, start: Vec<f64>) -> Solution {
        let count = self.cost.len();
        let terms = (self.limits.len() + self.linear.len() + count) as f64;
        let mut w = start;
        let mut state = self.state(&w).expect("the start is within all limits");
        let mut steepness = terms / dot(&self.cost, &w);
        let mut steps = 0;
        let mut centred = 1e-3;
        loop {
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
            let gap = terms / steepness / dot(&self.cost, &w);
            if centred <= CENTRED || steps > STEPS {
                break;
            }
            if gap < GAP {
                // Multipliers make a good bound at the centre only.
                centred = CENTRED;
                continue;
            }
            steepness *= STEEPER;
        }
        let multiplier = |(slack, limit): (&f64, &Limit)| 1.0 / (steepness * slack * limit.limit);
        let mut solution = Solution {
            multipliers: state.slack.iter().zip(&self.limits).map(multiplier).collect(),
            linear: state.linear.iter().map(|slack| 1.0 / (steepness * slack)).collect(),
            precisions: w,
        };
        self.balance(&state, steepness, &mut solution);
        solution
    }

    /// Changes the multipliers of variances, relatively as little as possible, so that costs and slopes are
    /// in balance.
    ///
    /// A slack is a difference of nearly equal numbers, so that multipliers made of slacks have few digits.
    /// The slopes have many.
    fn balance(&self, state: &State, steepness: f64, solution: &mut Solution) {
        let inner = self.evaluator.variables.len();
        let slopes: Vec<Vec<f64>> =
            self.limits.iter().map(|limit| self.evaluator.slopes(limit, &state.point)).collect();
        for _ in 0..BALANCINGS {
            let Solution { multipliers, linear, precisions, .. } = &*solution;
            // By how much the cost of a variable is above its slopes, less what the barrier is for.
            let left = |j: usize| {
                let promised: f64 = self.linear.iter().zip(linear).map(|(l, m)| m * l.coefficients[j]).sum();
                let bought: f64 = slopes.iter().zip(multipliers).map(|(s, y)| y * s[j]).sum();
                self.cost[j] + promised - 1.0 / (steepness * precisions[j]) - bought
            };
            let mut matrix = Matrix::zeros(inner, inner);
            for (slopes, y) in slopes.iter().zip(multipliers) {
                for i in 0..inner {
                    let a = y * slopes[i] / self.cost[i];
                    for j in 0..=i {
                        matrix[(i, j)] += a * (y * slopes[j] / self.cost[j]);
                    }
                }
            }
            for i in 0..inner {
                matrix[(i, i)] += 1e-13 * matrix[(i, i)] + f64::MIN_POSITIVE;
                for j in 0..i {
                    matrix[(j, i)] = matrix[(i, j)];
                }
            }
            let right = (0..inner).map(|j| left(j) / self.cost[j]).collect();
            let weights = Cholesky::new(&matrix).solve(&Matrix::new(inner, 1, right));
            let weights: Vec<f64> = weights.entries().iter().zip(&self.cost).map(|(x, c)| x / c).collect();
            for (slopes, y) in slopes.iter().zip(&mut solution.multipliers) {
                *y *= (1.0 + *y * dot(slopes, &weights)).clamp(0.25, 4.0);
            }
        }
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
    fn newton(&self, w: &[f64], state: &State, steepness: f64) -> (Vec<f64>, f64) {
        let count = w.len();
        let inner = self.evaluator.variables.len();
        let mut gradient: Vec<f64> = self.cost.iter().map(|cost| steepness * cost).collect();
        let mut curvature = Matrix::zeros(inner, inner);
        let weights: Vec<f64> =
            self.limits.iter().zip(&state.slack).map(|(l, slack)| 1.0 / (slack * l.limit)).collect();
        self.evaluator.add_curvature(&self.limits, &weights, &state.point, &mut curvature);
        for (limit, weight) in self.limits.iter().zip(&weights) {
            let mut slopes = self.evaluator.slopes(limit, &state.point);
            for (i, slope) in slopes.iter_mut().enumerate() {
                *slope *= weight;
                gradient[i] -= *slope;
            }
            for i in 0..inner {
                for j in 0..=i {
                    curvature[(i, j)] += slopes[i] * slopes[j];
                }
            }
        }
        let mut relative = Matrix::zeros(count, count);
        for i in 0..inner {
            for j in 0..=i {
                relative[(i, j)] = curvature[(i, j)];
            }
        }
        for (limit, slack) in self.linear.iter().zip(&state.linear) {
            for i in 0..count {
                gradient[i] += limit.coefficients[i] / slack;
                for j in 0..=i {
                    relative[(i, j)] += limit.coefficients[i] * limit.coefficients[j] / (slack * slack);
                }
            }
        }
        for i in 0..count {
            for j in 0..=i {
                relative[(i, j)] *= w[i] * w[j];
                relative[(j, i)] = relative[(i, j)];
            }
            relative[(i, i)] += 1.0;
        }
        let right: Vec<f64> = gradient.iter().zip(w).map(|(g, w)| 1.0 - g * w).collect();
        let direction = Cholesky::new(&relative).solve(&Matrix::new(count, 1, right.clone()));
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

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
