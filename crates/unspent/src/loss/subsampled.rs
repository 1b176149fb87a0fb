//! Gaussian noise on a Poisson sample (DP-SGD): `Φ(z) = ∫ φ_σ(x)·y(x)^{±z…} dx`, `y = 1 − q + qe^Y`.
//!
//! The integral is a trapezoidal sum with a proved error. On the real axis the sum is of a bracket of one
//! sign, so that a million steps multiply a small relative error (M5). Along a line it is taken on a shifted
//! path `x + iη`, on which the number of nodes does not grow with t (Q2).

mod decay;
mod laplace;
mod line;
mod precise;
mod wide;

use std::sync::OnceLock;

use super::atoms::ln_ratio;
use super::cells::{Cells, Noise, Sampling};
use super::{Along, Loss, Tilted, Way, bracket};
use crate::number::Rational;
use crate::number::float::{self, Dd, FUNCTION, PI, Sum, UNIT};
use crate::stop;
pub(crate) use laplace::SubsampledLaplaceLoss;
use line::SubsampledLine;

/// The loss of one subsampled Gaussian mechanism. The shift is 1: it is divided out of σ.
#[derive(Debug)]
pub(crate) struct SubsampledGaussianLoss {
    way: Way,
    sigma: f64,
    /// `1/2σ²`, within 2u.
    half: f64,
    q: f64,
    /// `1 − q` and `ln q`.
    rest: f64,
    ln_q: f64,
    /// `1/2σ²`, q, 1 − q and ln q, to all digits.
    half_dd: Dd,
    q_dd: Dd,
    rest_dd: Dd,
    ln_q_dd: Dd,
    /// Logarithm of what quadrature may leave, relatively.
    accuracy: f64,
    /// Nodes of the real axis, for each halving of the step.
    axis: [OnceLock<Axis>; LEVELS],
}

/// Halvings of the step that are tried.
const LEVELS: usize = 5;

/// Nodes `x = j·step` of the real axis and what does not depend on the tilt.
#[derive(Debug)]
struct Axis {
    step: f64,
    /// Index of the first node.
    first: f64,
    /// `−x²/2σ²`, and ln y with the bound of its absolute error.
    gauss: Vec<f64>,
    logs: Vec<f64>,
    errors: Vec<f64>,
}

/// Deviations that are kept on either side: `e^{−REACH²/2}` is 2·10⁻³².
const REACH: f64 = 12.0;
/// Logarithm of densities below which products with them are formed in the exponent.
const DEEP: f64 = -600.0;
/// Most nodes of the real axis, or of a path: beyond, Φ is too large to be of use.
const MOST_NODES: f64 = 2e4;
/// Largest tilt whose nodes are kept from one answer to the next.
const USUAL_TILT: f64 = 64.0;

impl SubsampledGaussianLoss {
    /// `sigma2` is σ²/Δ²; `count` is how often the mechanism is used, which says how exact it has to be.
    pub fn new(sigma2: &Rational, q: &Rational, count: f64, way: Way) -> SubsampledGaussianLoss {
        let variance = sigma2.to_f64();
        let one = Rational::integer(1);
        let half_dd = (&one / &(sigma2 * &Rational::integer(2))).to_dd();
        let (q_dd, rest_dd, ln_q_dd) = (q.to_dd(), (&one - q).to_dd(), ln_ratio(q, &one));
        SubsampledGaussianLoss {
            way,
            sigma: variance.sqrt(),
            half: half_dd.to_f64(),
            q: q_dd.to_f64(),
            rest: rest_dd.to_f64(),
            ln_q: ln_q_dd.to_f64(),
            half_dd,
            q_dd,
            rest_dd,
            ln_q_dd,
            accuracy: 44.0 + float::ln(count.max(1.0)),
            axis: [const { OnceLock::new() }; LEVELS],
        }
    }

    fn variance(&self) -> f64 {
        self.sigma * self.sigma
    }

    /// The exponent of y at the tilt c: `Φ(c) = ∫ φ_σ y^e`.
    fn exponent(&self, c: f64) -> f64 {
        match self.way {
            Way::Remove => c,
            Way::Add => 1.0 - c,
        }
    }

    /// `ln y` at real x with its absolute error.
    fn log_y(&self, x: f64) -> (f64, f64) {
        // Y is within 4u.
        self.sampling().log_y((2.0 * x - 1.0) * self.half)
    }

    fn sampling(&self) -> Sampling {
        Sampling { q: self.q, rest: self.rest, ln_q: self.ln_q, way: self.way }
    }

    /// What the trapezoidal rule of a step leaves on the real axis, relatively to Φ (Q1).
    fn axis_error(&self, step: f64, e: f64) -> f64 {
        let s2 = self.variance();
        (1..=19)
            .map(|i| {
                let a = 0.05 * f64::from(i) * PI * s2;
                let theta = a / s2;
                let b = if e < 0.0 { e * float::ln(float::sin_cos(0.5 * theta).1) } else { 0.0 };
                // 1/(e^x − 1) is at most 1.01·e^{−x} from x = 5 on.
                let x = 2.0 * PI * a / step;
                if x < 5.0 { f64::INFINITY } else { 2.02 * float::exp(b + a * a / (2.0 * s2) - x) }
            })
            .fold(f64::INFINITY, f64::min)
    }

    /// What lies beyond the nodes from `−a` to `b`, relatively to Φ (Q3); `f` is the integrand over Φ.
    fn beyond(&self, (a, b): (f64, f64), (fa, fb): (f64, f64), step: f64, e: f64) -> f64 {
        let s2 = self.variance();
        let (up, down) = (e.max(0.0), (-e).max(0.0));
        // s(−a) = qe^Y/y is at most that over 1 − q, and at most 1.
        let share = (self.q * float::exp(-(2.0 * a + 1.0) * self.half) / self.rest.max(1e-300)).min(1.0);
        let (right, left) = (b - up, a - down * share);
        if right <= 0.0 || left <= 0.0 {
            return f64::INFINITY;
        }
        1.01 * (fb * (step + s2 / right) + fa * (step + s2 / left))
    }

    fn axis(&self, level: usize) -> &Axis {
        self.axis[level].get_or_init(|| {
            // The largest step that is enough for e ≥ 0; a step with few bits, so that nodes are exact.
            let s2 = self.variance();
            let mut step = 4.0 * self.sigma;
            let wanted = float::exp(-self.accuracy);
            while self.axis_error(step, 0.0) > wanted {
                step *= 0.97;
            }
            let step = few_bits(step) / 2f64.powi(level as i32);
            let reach = REACH * self.sigma + 1.0;
            let last = match self.way {
                Way::Remove => reach + USUAL_TILT.min(40.0 / s2.min(1.0)),
                Way::Add => reach,
            };
            self.nodes(step, reach, last)
        })
    }

    fn nodes(&self, step: f64, before: f64, after: f64) -> Axis {
        let (first, last) = (-(before / step).ceil(), (after / step).ceil());
        let mut axis = Axis { step, first, gauss: vec![], logs: vec![], errors: vec![] };
        let mut j = first;
        while j <= last {
            let x = j * step;
            let (log, error) = self.log_y(x);
            axis.gauss.push(-x * x * self.half);
            axis.logs.push(log);
            axis.errors.push(error);
            j += 1.0;
        }
        axis
    }

    /// The tilted law on the real axis.
    fn on_axis(&self, c: f64, axis: &Axis) -> Option<(Tilted, f64)> {
        let e = self.exponent(c);
        let step = axis.step;
        let norm = step / ((2.0 * PI).sqrt() * self.sigma);
        let top = axis.gauss.iter().zip(&axis.logs).fold(f64::NEG_INFINITY, |a, (g, l)| a.max(g + e * l));
        let (mut small, mut error) = (Sum::default(), 0.0);
        let (mut total, mut mean, mut square) = (0.0, 0.0, 0.0);
        let direct = top > 650.0;
        let mut spread = 0.0;
        for ((g, l), dl) in axis.gauss.iter().zip(&axis.logs).zip(&axis.errors) {
            let weight = float::exp(g + e * l - top);
            total += weight;
            mean += weight * l;
            square += weight * l * l;
            let own = UNIT * (12.0 + 6.0 * g.abs() + 2.0 * top.abs());
            spread += weight * (own + e.abs() * (dl + 2.0 * UNIT * l.abs()));
            if !direct && *g < DEEP {
                // The mass may be no double, and y^e times it an ordinary one; up to |e − 1| times the mass.
                let (a, b) = (float::exp(g + e * l), e * float::exp(g + l));
                small.push(a);
                small.push(-b);
                let relative = 2.0 * own + (e.abs() + 1.0) * (dl + 2.0 * UNIT * l.abs());
                error += (a + b.abs()) * relative + (e - 1.0).abs() * float::exp(DEEP);
            } else if !direct {
                let relative = if *l == 0.0 { 0.0 } else { dl / l.abs() };
                let (value, off) = bracket(e, *l, relative);
                let mass = float::exp(*g);
                small.push(mass * value);
                error += mass * (off + value.abs() * own);
            }
        }
        let (mean, square) = (mean / total, square / total);
        let variance = (square - mean * mean).max(1e-30 * square);
        let sign = if self.way == Way::Remove { 1.0 } else { -1.0 };
        let log_total = float::ln(norm * total) + top;
        // Everything relative to Φ, which is at least half of what the sum says if that is so exact.
        let end = |i: usize, power: f64| float::exp(axis.gauss[i] + power * axis.logs[i]) * norm / step;
        let ends = (-axis.first * step, (axis.first + axis.gauss.len() as f64 - 1.0) * step);
        let n = axis.gauss.len() - 1;
        let tail = |power: f64, scale: f64| {
            self.beyond(ends, (end(0, power) * scale, end(n, power) * scale), step, power)
                + self.axis_error(step, power)
        };
        let scale = float::exp(-log_total);
        let quadrature = tail(e, scale);
        if quadrature.is_nan() || quadrature >= 1e-3 {
            return None;
        }
        let small = norm * small.value();
        if !direct && small.abs() < 0.5 {
            // The rule is applied to y^e − ey + (e − 1) at once.
            let others = (e - 1.0).abs() * tail(0.0, 1.0) + e.abs() * tail(1.0, 1.0) + 2.0 * quadrature;
            let error = 1.01 * norm * error + 8.0 * UNIT * small.abs() + others;
            if error < 0.05 {
                let log = float::ln1p(small);
                let error = 1.2 * error / (1.0 + small) + FUNCTION * log.abs();
                // 1 − c is within u/2 for c in (0, 1).
                let error = error + UNIT * mean.abs();
                return Some((Tilted { log: Dd::from(log), error, mean: sign * mean, variance }, quadrature));
            }
        }
        let rounding = 1.1 * spread / total + UNIT * (16.0 + axis.gauss.len() as f64 + 4.0 * log_total.abs());
        let log = Dd::from(top).add(Dd::from(float::ln(norm * total)));
        let error = rounding + 2.1 * quadrature;
        Some((Tilted { log, error, mean: sign * mean, variance }, quadrature))
    }

    /// The tilted law, with as fine a grid and as long a range as it takes.
    fn tilted(&self, c: f64) -> Option<Tilted> {
        let e = self.exponent(c);
        let mut best: Option<(Tilted, f64)> = None;
        for level in 0..LEVELS {
            let axis = self.axis(level);
            let last = (axis.first + axis.gauss.len() as f64 - 1.0) * axis.step;
            let needed = e.max(1.0) + REACH * self.sigma;
            let found = if needed > last && self.way == Way::Remove {
                if needed / axis.step > MOST_NODES {
                    return None;
                }
                self.on_axis(c, &self.nodes(axis.step, -axis.first * axis.step, needed))
            } else {
                self.on_axis(c, axis)
            };
            if let Some(found) = found {
                let better = best.is_none_or(|b| found.1 < b.1);
                if better {
                    best = Some(found);
                }
                if found.1 <= 4.0 * float::exp(-self.accuracy) {
                    break;
                }
            }
        }
        best.map(|b| b.0)
    }

    /// Shift, step and error of the path off the real axis (Q2).
    fn path(&self, e: f64) -> Option<(f64, f64, f64)> {
        let s2 = self.variance();
        let mut best: Option<(f64, f64, f64)> = None;
        for i in 1..=15 {
            let eta = (0.1 * f64::from(i) * self.sigma).min(0.03 * f64::from(i) * PI * s2);
            for extra in [2.0, 3.5] {
                let step = few_bits(2.0 * PI * eta / (self.accuracy + extra));
                let inner = float::exp(-2.0 * PI * eta / step);
                let outer = (1..=19).map(|j| {
                    let a = 0.05 * f64::from(j) * (PI * s2 - eta);
                    let theta = (eta + a) / s2;
                    let b = if e < 0.0 { e * float::ln(float::sin_cos(0.5 * theta).1) } else { 0.0 };
                    let x = 2.0 * PI * a / step;
                    if x < 5.0 {
                        f64::INFINITY
                    } else {
                        float::exp(b + (eta + a) * (eta + a) / (2.0 * s2) - x)
                    }
                });
                let error = 1.01 * (inner + outer.fold(f64::INFINITY, f64::min));
                let good = error <= float::exp(-self.accuracy);
                let better = match best {
                    None => true,
                    Some((_, s, was)) => {
                        let was_good = was <= float::exp(-self.accuracy);
                        if good == was_good { if good { step > s } else { error < was } } else { good }
                    }
                };
                if better {
                    best = Some((eta, step, error));
                }
            }
        }
        best.filter(|b| b.2 < 1e-3)
    }
}

/// A double of 24 bits, a little below.
fn few_bits(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << 29) - 1))
}

impl Loss for SubsampledGaussianLoss {
    fn tilt(&self, c: f64) -> Tilted {
        stop::check();
        self.tilted(c).unwrap_or(Tilted { error: f64::INFINITY, mean: f64::NAN, ..Tilted::default() })
    }

    fn line(&self, c: f64, h: Dd) -> Box<dyn Along + '_> {
        Box::new(SubsampledLine::new(self, c, h))
    }

    fn cells(&self, cells: usize) -> Option<Cells> {
        Some(Noise::gaussian(self.sigma, self.half, cells)?.sampled(&self.sampling()))
    }

    fn largest(&self) -> f64 {
        match self.way {
            Way::Remove => f64::INFINITY,
            // 1 − q and q are each within u.
            Way::Add if self.q < 0.5 => -float::ln1p(-self.q) * (1.0 + 16.0 * UNIT),
            Way::Add => -float::ln(self.rest) * (1.0 + 16.0 * UNIT),
        }
    }
}
