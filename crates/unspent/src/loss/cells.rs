//! Laws of losses cut into cells: one list of atoms that reveals no more than the law, and one that reveals
//! no less (`theory/mechanisms.md`, M12).
//!
//! What a cell of outcomes has is merged into one outcome, which is post-processing; or spread to its two
//! ends so that it has the same masses under both laws, of which merging is the post-processing. A Poisson
//! sample of either is one of the law itself, so that noise is cut before it is sampled.

use super::Way;
use crate::number::float::{self, FUNCTION, PI, UNIT};
use crate::number::quadrature;
use crate::stop;

/// A loss, and its mass under Q.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub loss: f64,
    pub mass: f64,
}

/// The two lists, each ascending, and the mass under Q that is above all of `upper`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    pub lower: Vec<Cell>,
    pub upper: Vec<Cell>,
    pub missing: f64,
}

/// An outcome of noise: `ln dQ₀/dP₀` and `ln` of its mass under P₀, each within its error.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    loss: f64,
    loss_error: f64,
    log: f64,
    error: f64,
}

/// Noise, cut. The outcomes of `merged` and of `spread` ascend.
pub(super) struct Noise {
    merged: Vec<Outcome>,
    spread: Vec<Outcome>,
    /// Masses below and above: under P₀, and above under Q₀.
    below: f64,
    above: f64,
    above_q: f64,
}

/// A Poisson sample, and which of the pair's laws is which.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    pub q: f64,
    pub rest: f64,
    pub ln_q: f64,
    pub way: Way,
}

/// Masses below this are put where they cannot be missed.
pub(super) const LEAST: f64 = 1e-306;
/// Deviations that are kept on either side.
const REACH: f64 = 38.0;
/// Up to about so many deviations cells are of one size, and grow in proportion beyond.
const EVEN: f64 = 6.0;
/// Ellipses of the quadrature on a cell.
const RHO: [f64; 3] = [4.0, 8.0, 16.0];
/// Fewer cells of Gaussian noise would be wide.
const FEWEST: usize = 800;

impl Noise {
    /// Gaussian noise of variance σ² = 1/2·half, moved by 1; `None` if σ is so small that a cell is wide.
    pub fn gaussian(sigma: f64, half: f64, cells: usize) -> Option<Noise> {
        if REACH * sigma < 1.5 {
            return None;
        }
        let cells = cells.max(FEWEST);
        let angle = float::ln(REACH / EVEN + (1.0 + REACH * REACH / (EVEN * EVEN)).sqrt());
        let edge = |i: usize| {
            let theta = angle * (2.0 * i as f64 / cells as f64 - 1.0);
            // Any edges do; these have few bits.
            f64::from((0.5 + sigma * EVEN * float::sinh_cosh(theta).0) as f32)
        };
        let edges: Vec<f64> = (0..=cells).map(edge).collect();
        let at = |x: f64| ((2.0 * x - 1.0) * half, UNIT * 8.0 * (2.0 * x.abs() + 1.0) * half);
        let mut merged = vec![];
        let mut spread: Vec<Outcome> = edges
            .iter()
            .map(|x| {
                let (loss, loss_error) = at(*x);
                Outcome { loss, loss_error, log: f64::NEG_INFINITY, error: 0.0 }
            })
            .collect();
        for (i, ends) in edges.windows(2).enumerate() {
            stop::check();
            let (m, k) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
            if k <= 0.0 {
                continue;
            }
            let Piece { log, moment, left, right, error } = piece(m, k, half, sigma);
            let (loss, loss_error) = at(m);
            // An error of E[e^{rt} − 1] counts over E[e^{rt}] ≥ e^{−r}.
            let r = 2.0 * k * half;
            let moved = UNIT * 8.0 * moment.abs() + error * float::expm1(r) * float::exp(r);
            merged.push(Outcome { loss: loss + moment, loss_error: loss_error + moved, log, error });
            for (end, part) in [(i, left), (i + 1, right)] {
                let more = log + float::ln(part);
                let own = 2.0 * error + UNIT * (8.0 + 2.0 * log.abs());
                spread[end].log = add_logs(spread[end].log, more);
                spread[end].error = spread[end].error.max(own) + 8.0 * UNIT * (1.0 + more.abs());
            }
        }
        // 1 − N(z) ≤ e^{−z²/2}/2 for z ≥ 0.
        let tail = |distance: f64| float::exp(-distance * distance * half * (1.0 - 1e-12));
        let (first, last) = (edges[0], edges[cells]);
        Some(Noise { merged, spread, below: tail(first), above: tail(last), above_q: tail(last - 1.0) })
    }

    /// Laplace noise of largest loss τ: atoms at either end, and a density between them whose cells are
    /// closed (M12).
    pub fn laplace(tau: f64, cells: usize) -> Noise {
        let error = UNIT * (64.0 + 16.0 * tau);
        let ln_half = float::ln(0.5);
        let outcome = |loss: f64, log: f64| Outcome { loss, loss_error: 4.0 * UNIT * tau, log, error };
        let edge = |i: usize| if i == cells { tau } else { tau * (2.0 * i as f64 / cells as f64 - 1.0) };
        let mut spread: Vec<Outcome> = (0..=cells).map(|i| outcome(edge(i), f64::NEG_INFINITY)).collect();
        let ends = [outcome(-tau, ln_half), outcome(tau, ln_half - tau)];
        spread[0].log = ends[0].log;
        spread[cells].log = ends[1].log;
        let mut merged = vec![ends[0]];
        for i in 0..cells {
            stop::check();
            let (a, b) = (edge(i), edge(i + 1));
            let d = b - a;
            let mass = ln_half - 0.5 * (tau + a) + float::ln(-float::expm1(-0.5 * d));
            merged.push(outcome(0.5 * (a + b), mass));
            // Of the mass the part 1/(1 + e^{d/2}) goes to the upper end.
            let up = -float::ln1p(float::exp(0.5 * d));
            spread[i].log = add_logs(spread[i].log, mass + up + 0.5 * d);
            spread[i + 1].log = add_logs(spread[i + 1].log, mass + up);
        }
        merged.push(ends[1]);
        for outcome in &mut merged {
            // Cells are cut at doubles, and end within u of where they are said to.
            outcome.error += 64.0 * UNIT * cells as f64;
        }
        for outcome in &mut spread {
            outcome.error += 64.0 * UNIT * cells as f64;
        }
        Noise { merged, spread, below: 0.0, above: 0.0, above_q: 0.0 }
    }

    /// Q and the loss of a Poisson sample: `Q = (1 − q)P₀ + qQ₀` and `ln y` if the record is removed, P₀ and
    /// `−ln y` if it is added.
    pub fn sampled(&self, sampling: &Sampling) -> Cells {
        let sign = if sampling.way == Way::Remove { 1.0 } else { -1.0 };
        // More is certain above: a larger mass, a larger loss. So less is below.
        let end = |outcome: &Outcome, outward: f64| {
            let (log_y, error) = sampling.log_y(outcome.loss + sign * outward * outcome.loss_error);
            let log_y = log_y + sign * outward * error;
            let log = outcome.log + outward * outcome.error;
            let mass = if sign > 0.0 { log + log_y } else { log };
            let slack = UNIT * (16.0 + 4.0 * (mass.abs() + log_y.abs() + outcome.log.abs()));
            Cell { loss: sign * log_y, mass: float::exp(mass + outward * slack) }
        };
        let list = |outcomes: &[Outcome], outward: f64| {
            let mut cells: Vec<Cell> = outcomes.iter().map(|o| end(o, outward)).collect();
            cells.sort_by(|a, b| a.loss.total_cmp(&b.loss));
            cells
        };
        let lower = list(&self.merged, -1.0).into_iter().filter(|cell| cell.mass >= LEAST).collect();
        let mut upper = list(&self.spread, 1.0);
        // What is beyond the spread list on the side of small losses is taken for its least loss, which is
        // negative if the record is removed: there Q has less than P₀.
        let (small, missing) = match sampling.way {
            Way::Remove => (self.below, self.above + self.above_q),
            Way::Add => (self.above, self.below),
        };
        if let Some(first) = upper.first_mut() {
            first.mass += small;
        }
        let mut missing = missing;
        // What is not a number is kept, and then nothing is known.
        upper.retain(|cell| {
            let small = cell.mass < LEAST;
            missing += if small { cell.mass } else { 0.0 };
            !small
        });
        Cells { lower, upper, missing: float::up(missing, 8.0 + self.spread.len() as f64) + 1e-310 }
    }
}

impl Sampling {
    /// All records are in the sample.
    pub const ALL: Sampling = Sampling { q: 1.0, rest: 0.0, ln_q: 0.0, way: Way::Remove };

    /// `ln(1 − q + qe^Y)` with its absolute error.
    pub fn log_y(&self, y: f64) -> (f64, f64) {
        // All records are in the sample: then e^Y may be no ordinary double.
        if self.rest == 0.0 {
            return (y, 4.0 * UNIT * y.abs());
        }
        // Beyond 300 the first part is not seen (q is at least 10⁻¹⁰⁰).
        if y > 300.0 {
            return (y + self.ln_q, UNIT * (6.0 * y + 8.0 * self.ln_q.abs()));
        }
        let v = self.q * float::expm1(y);
        // Relative error of expm1 if Y is within 4u: 4u·|Y|e^Y/|expm1 Y| ≤ 4u(1 + |Y|), and its own.
        let relative = UNIT * (4.0 * (1.0 + y.abs()) + 8.0);
        if v > -0.5 {
            let log = float::ln1p(v);
            // |v|/((1+v)|ln(1+v)|) ≤ 1/(1+v) ≤ 2.
            (log, log.abs() * (2.0 * relative + FUNCTION))
        } else {
            let log = float::ln(self.rest + self.q * float::exp(y));
            (log, 2.0 * relative + FUNCTION * log.abs())
        }
    }
}

/// A cell of Gaussian noise: `ln` of its mass, how far its loss is above that of its middle, and the parts of
/// the mass that go to either end.
struct Piece {
    log: f64,
    moment: f64,
    left: f64,
    right: f64,
    /// Relative error of all of them; of the moment as a part of the cell.
    error: f64,
}

/// With `x = m + kt`, `f = e^{−(2mkt + k²t²)/2σ²}` and `r = k/σ²`: the mass is `φ(m)k∫f`, its mean of
/// `e^{rt}` says where it is, and of it the part `(e^{r(1+t)} − 1)/(e^{2r} − 1)` goes to the upper end.
fn piece(m: f64, k: f64, half: f64, sigma: f64) -> Piece {
    let r = 2.0 * k * half;
    let (mut mass, mut moment, mut left, mut right) = (0.0, 0.0, 0.0, 0.0);
    let down = -float::expm1(-2.0 * r);
    for (t, weight) in quadrature::nodes() {
        let f = weight * float::exp(-(2.0 * m * k * t + k * k * t * t) * half);
        mass += f;
        moment += f * float::expm1(r * t);
        left += f * -float::expm1(-r * (1.0 - t));
        right += f * -float::expm1(-r * (1.0 + t)) * float::exp(-r * (1.0 - t));
    }
    // On the ellipse |f| ≤ e^{(2|m|ka + k²b²)/2σ²} with half-axes a and b, and |e^z − 1| ≤ |z|e^{|z|}.
    let missed = RHO.map(|rho| {
        let (a, b) = quadrature::half_axes(rho);
        let size = (2.0 * m.abs() * k * a + k * k * b * b) * half;
        quadrature::missed(rho, size + 2.0 * r * (1.0 + a) + float::ln(1.0 + a) + 2.0)
    });
    let missed = missed.into_iter().fold(f64::INFINITY, f64::min);
    // Exponents of up to z are off by 8uz, and move by u(2|m|k + 2k²)/2σ² with a node.
    let z = (2.0 * m.abs() * k + k * k) * half;
    let least = mass.min(left / down).min(right / down);
    let error = UNIT * (64.0 + 16.0 * (z + r)) + 1.1 * missed / least;
    let norm = float::ln(k / ((2.0 * PI).sqrt() * sigma));
    let log = -m * m * half + norm + float::ln(mass);
    Piece {
        log,
        moment: float::ln1p(moment / mass),
        left: left / down / mass,
        right: right / down / mass,
        error: 2.2 * error + UNIT * (24.0 + 8.0 * (m * m * half + norm.abs())),
    }
}

/// `ln(e^a + e^b)`.
fn add_logs(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + float::ln1p(float::exp(low - high)) }
}
