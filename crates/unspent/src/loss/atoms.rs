//! Finitely many privacy losses.

mod made;

pub(super) use made::ln_ratio;

use super::cells::{self, Cell, Cells};
use super::{Along, Grid, Loss, Remainder, Tilted, Way, bracket};
use crate::number::float::{self, Complex, Dd, FUNCTION, PI, Sum, UNIT};
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::transform::ln_one_plus;

/// A law of the privacy loss with finitely many finite values, ascending.
#[derive(Clone, Debug)]
pub(crate) struct Atoms {
    /// Each within `2⁻⁸⁸(1 + |loss|)`.
    pub losses: Vec<Dd>,
    /// The same as doubles, each within `loss_error` relatively.
    near: Vec<f64>,
    loss_error: f64,
    /// `ln` of the mass under P, each within `log_error`.
    pub logs: Vec<f64>,
    pub log_error: f64,
    /// `P[Q = 0]` and `Q[P = 0]`.
    p_only: Only,
    q_only: Only,
    /// Whether `q_only` is of the mechanism, and not a part of its tail that is treated as if it revealed.
    pub reveals: bool,
    /// The losses as exact fractions, if they are on a grid of fractions.
    pub grid: Option<Grid>,
}

/// One atom before it is listed.
struct Atom {
    loss: Dd,
    /// The loss as a double, within `loss_error` relatively however small it is.
    near: f64,
    log: f64,
}

impl Atom {
    /// With a loss of full relative precision.
    fn new(loss: Dd, log: f64) -> Atom {
        Atom { loss, near: loss.to_f64(), log }
    }
}

/// A probability of outcomes that only one of the laws has. It may be below every double.
#[derive(Clone, Copy, Debug)]
struct Only {
    /// Within 64u relatively, or 2⁻¹⁰⁰⁰.
    near: f64,
    bounds: Bounds<Magnitude>,
}

impl Only {
    fn none() -> Only {
        Only::exactly(&Rational::integer(0))
    }

    fn exactly(probability: &Rational) -> Only {
        Only { near: probability.to_f64(), bounds: probability.to_bounds() }
    }

    /// `e^log·sum`, where the logarithm is known to within `error`, and the sum to 48u.
    fn scaled(log: f64, sum: f64, error: f64) -> Only {
        let end = |steps: f64, round| {
            let factor = Magnitude::from_f64(sum * (1.0 + steps * UNIT));
            Magnitude::exp(Dd::from(log), error, round).mul(factor, round)
        };
        let bounds = Bounds::new(end(-60.0, Round::Down), end(60.0, Round::Up));
        Only { near: bounds.upper().to_f64(Round::Up), bounds }
    }
}

/// Logarithm of masses below which products with them are formed in the exponent.
const DEEP: f64 = -600.0;

impl Atoms {
    fn new(mut atoms: Vec<Atom>, log_error: f64) -> Atoms {
        atoms.retain(|a| a.log > f64::NEG_INFINITY);
        atoms.sort_by(|a, b| a.loss.hi.total_cmp(&b.loss.hi).then(a.loss.lo.total_cmp(&b.loss.lo)));
        Atoms {
            near: atoms.iter().map(|a| a.near).collect(),
            losses: atoms.iter().map(|a| a.loss).collect(),
            loss_error: 2.0 * UNIT,
            logs: atoms.iter().map(|a| a.log).collect(),
            log_error,
            p_only: Only::none(),
            q_only: Only::none(),
            reveals: true,
            grid: None,
        }
    }

    /// The nodes of a quadrature: losses within `loss_error` relatively, and logarithms of masses. Only tilts
    /// and lines are asked of such a list.
    pub fn of_nodes(nodes: Vec<(f64, f64)>, log_error: f64, loss_error: f64) -> Atoms {
        let atoms = nodes.into_iter().map(|(loss, log)| Atom::new(Dd::from(loss), log)).collect();
        Atoms { loss_error, ..Atoms::new(atoms, log_error) }
    }

    /// The same noise on a Poisson sample: `ln(1 − q + qe^L)` instead of L.
    pub fn subsampled(mut self, q: &Rational) -> Atoms {
        let one = Rational::integer(1);
        let (ln_rest, ln_q) = (ln_ratio(&(&one - q), &one), ln_ratio(q, &one));
        let near_q = q.to_f64();
        self.loss_error = 8.0 * UNIT;
        for (loss, near) in self.losses.iter_mut().zip(&mut self.near) {
            // ln(1 − q) and ln q + L: the larger, and ln(1 + e^−d), d ≥ 0 their distance.
            let with = ln_q.add(*loss);
            let (top, d) =
                if with.hi > ln_rest.hi { (with, ln_rest.sub(with)) } else { (ln_rest, with.sub(ln_rest)) };
            let exact = if d.hi < -600.0 { top } else { top.add(Dd::from(1.0).add(d.exp()).ln()) };
            // Near 0 that has lost its digits, and v = q(e^L − 1) has not. The relative error of v is that of
            // expm1, whose argument is within 2u, and |v|/((1+v)|ln(1+v)|) ≤ 2 for v ≥ −½.
            let v = near_q * float::expm1(near.min(700.0));
            let small = v.abs() < 0.5;
            let error = if small { UNIT * (8.0 * (1.0 + near.abs()) + 16.0) } else { 8.0 * UNIT };
            self.loss_error = self.loss_error.max(error);
            *near = if small { float::ln1p(v) } else { exact.to_f64() };
            *loss = exact;
        }
        // The mass outside the list is the same under P, under Q and so under their mixture.
        self.grid = None;
        self
    }

    /// The other direction: P and Q exchanged.
    pub fn directed(mut self, way: Way) -> Atoms {
        if way == Way::Remove {
            return self;
        }
        for ((loss, near), log) in self.losses.iter_mut().zip(&mut self.near).zip(&mut self.logs) {
            *log += *near;
            *loss = loss.neg();
            *near = -*near;
        }
        let largest = self.near.iter().fold(0.0f64, |a, l| a.max(l.abs()));
        let deepest = self.logs.iter().fold(0.0f64, |a, l| a.max(l.abs()));
        self.log_error += (self.loss_error + 2.0 * UNIT) * largest + 2.0 * UNIT * deepest;
        self.losses.reverse();
        self.near.reverse();
        self.logs.reverse();
        std::mem::swap(&mut self.p_only, &mut self.q_only);
        self.grid =
            self.grid.map(|Grid { step, offset }| Grid { offset: &Rational::integer(0) - &offset, step });
        self
    }

    /// Along a line, with a phase of slope `mean` taken out.
    pub fn along(&self, c: f64, h: Dd, mean: f64) -> Box<dyn Along + '_> {
        let (mut weights, top) = self.weights(c);
        let mut total = Sum::default();
        weights.iter().for_each(|w| total.push(*w));
        let total = total.value();
        weights.iter_mut().for_each(|w| *w /= total);
        let errors = self.near.iter().map(|l| self.weight_error(c, *l, top) + 4.0 * UNIT).collect();
        let centred: Vec<f64> = self.near.iter().map(|l| l - mean).collect();
        let moved: Vec<f64> = self
            .near
            .iter()
            .zip(&centred)
            .map(|(l, a)| l.abs() * self.loss_error + 4.0 * UNIT * a.abs())
            .collect();
        let wide = centred.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        Box::new(AtomsLine { h: h.hi, weights, errors, centred, moved, mean, wide })
    }

    #[cfg(test)]
    pub fn near(&self) -> &[f64] {
        &self.near
    }

    /// `Q[P = 0]`.
    pub fn infinity(&self) -> Bounds<Magnitude> {
        self.q_only.bounds
    }

    fn weights(&self, c: f64) -> (Vec<f64>, f64) {
        let exponents: Vec<f64> = self.near.iter().zip(&self.logs).map(|(l, log)| c * l + log).collect();
        let top = exponents.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        (exponents.iter().map(|e| float::exp(e - top)).collect(), top)
    }

    /// Relative error of a tilted weight.
    fn weight_error(&self, c: f64, near: f64, top: f64) -> f64 {
        self.log_error + (c * near).abs() * (self.loss_error + UNIT) + 4.0 * UNIT * (2.0 + top.abs())
    }
}

impl Loss for Atoms {
    fn tilt(&self, c: f64) -> Tilted {
        let (weights, top) = self.weights(c);
        let total: f64 = weights.iter().sum();
        let mean = weights.iter().zip(&self.near).map(|(w, l)| w * l).sum::<f64>() / total;
        let variance =
            weights.iter().zip(&self.near).map(|(w, l)| w * (l - mean) * (l - mean)).sum::<f64>() / total;
        // Φ(c) − 1 in parts of one sign (M5), unless it is large.
        let (mut small, mut error) = (Sum::default(), 0.0);
        let (p_only, q_only) = (self.p_only.near, self.q_only.near);
        small.push(-p_only);
        small.push(c * p_only);
        small.push(-c * q_only);
        let lost = p_only * (1.0 + c.abs()) + c.abs() * q_only;
        // A tail that is treated as if it revealed is known from above only.
        error += if self.reveals { 70.0 * UNIT * lost } else { lost };
        for (l, log) in self.near.iter().zip(&self.logs) {
            if *log < DEEP {
                // Such a mass may be no double, and e^{cl} times it an ordinary one: e^{log+cl} less
                // c·e^{log+l}, up to |c − 1| times the mass.
                let (a, b) = (float::exp(log + c * l), c * float::exp(log + l));
                small.push(a);
                small.push(-b);
                let relative = self.weight_error(c, *l, 0.0) + self.weight_error(1.0, *l, 0.0);
                error += (a + b.abs()) * relative + (c - 1.0).abs() * float::exp(DEEP);
                continue;
            }
            let (value, off) = bracket(c, *l, self.loss_error);
            let mass = float::exp(*log);
            small.push(mass * value);
            error += mass * (off + value.abs() * (self.log_error + 8.0 * UNIT));
        }
        let small = small.value();
        let error = error * 1.01 + 4.0 * UNIT * small.abs();
        if small.abs() < 0.5 && error < 0.05 {
            let log = float::ln1p(small);
            return Tilted {
                log: Dd::from(log),
                error: 1.2 * error / (1.0 + small) + FUNCTION * log.abs(),
                mean,
                variance,
            };
        }
        let spread: f64 =
            weights.iter().zip(&self.near).map(|(w, l)| w * self.weight_error(c, *l, top)).sum();
        let log = float::ln(total);
        let own = 1.2 * spread / total + UNIT * (8.0 + self.near.len() as f64) + FUNCTION * log.abs();
        Tilted { log: Dd::from(top).add(Dd::from(log)), error: own + 2.0 * UNIT * top.abs(), mean, variance }
    }

    fn line(&self, c: f64, h: Dd) -> Box<dyn Along + '_> {
        self.along(c, h, self.tilt(c).mean)
    }

    fn atoms(&self) -> Option<&Atoms> {
        Some(self)
    }

    /// The losses themselves, if they are not many more.
    fn cells(&self, number: usize) -> Option<Cells> {
        if self.near.len() > 4 * number {
            return None;
        }
        let list = |outward: f64| -> Vec<Cell> {
            let one = |(l, log): (&f64, &f64)| {
                let moved = l.abs() * (self.loss_error + UNIT);
                let slack = self.log_error + moved + UNIT * (16.0 + 4.0 * (log.abs() + l.abs()));
                Cell { loss: l + outward * moved, mass: float::exp(log + l + outward * slack) }
            };
            let mut all: Vec<Cell> = self.near.iter().zip(&self.logs).map(one).collect();
            // They ascend but for their errors.
            all.sort_by(|a, b| a.loss.total_cmp(&b.loss));
            all
        };
        let lower = list(-1.0).into_iter().filter(|cell| cell.mass >= cells::LEAST).collect();
        Some(Cells { lower, upper: list(1.0), missing: 1e-310 })
    }

    fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    fn largest_exact(&self) -> Option<Rational> {
        let grid = self.grid.as_ref()?;
        // The grid is exact and the loss is within far less than a step of it.
        let index = (self.losses.last()?.sub(grid.offset.to_dd()).to_f64() / grid.step.to_f64()).round();
        Some(&grid.offset + &(&grid.step * &Rational::from_f64("", index).ok()?))
    }

    fn largest(&self) -> f64 {
        self.near.last().map_or(f64::NEG_INFINITY, |l| float::up(*l, 2.0 * self.loss_error / UNIT))
    }
}

/// Tilted weights, and losses about their mean.
struct AtomsLine {
    h: f64,
    weights: Vec<f64>,
    errors: Vec<f64>,
    centred: Vec<f64>,
    /// Absolute errors of the centred losses.
    moved: Vec<f64>,
    mean: f64,
    wide: f64,
}

impl Along for AtomsLine {
    fn cost(&self) -> f64 {
        8.0 * self.weights.len() as f64
    }

    fn centre(&self) -> Dd {
        Dd::from(self.mean)
    }

    /// # Guarantee
    /// With true weights `w` (which sum to 1) `φ = 1 + Σ w(e^{ita} − 1)`: an error of a weight counts times
    /// `|e^{ita} − 1|`, one of a loss times t (M7).
    fn at(&mut self, k: u64) -> Remainder {
        let t = k as f64 * self.h;
        let (mut re, mut im) = (Sum::default(), Sum::default());
        let mut error = 0.0;
        for (((w, a), e), moved) in self.weights.iter().zip(&self.centred).zip(&self.errors).zip(&self.moved)
        {
            let (sin, cos) = float::sin_cos(0.5 * t * a);
            re.push(-2.0 * w * sin * sin);
            im.push(2.0 * w * sin * cos);
            error += w * (2.0 * sin.abs() * (e + 16.0 * UNIT) + t * moved);
        }
        let s = Complex::new(re.value(), im.value());
        // The weights were divided by their computed sum.
        let normal: f64 = self.weights.iter().zip(&self.errors).map(|(w, e)| w * e).sum();
        ln_one_plus(s, error * 1.01 + s.abs() * (normal + 8.0 * UNIT))
    }

    /// V7: with `R = π/t₂`, `−ln|φ(t)| ≥ (t²/π²)·E[(L−L′)²; |L−L′| ≤ R]`.
    fn decay(&self, t1: f64, t2: f64) -> f64 {
        let reach = PI / t2 * (1.0 - 1e-9);
        let most = |errors: &[f64]| errors.iter().fold(0.0f64, |a, b| a.max(*b));
        // Weights and distances have to be known to the 10⁻⁹ by which the bound is lowered.
        let (blur, relative) = (2.0 * most(&self.moved), most(&self.errors));
        if blur > 1e-10 * reach || relative > 1e-10 {
            return 0.0;
        }
        let a = &self.centred;
        let mut first = 0;
        let (mut w, mut m, mut s) = (0.0, 0.0, 0.0);
        let mut total = 0.0;
        for j in 0..a.len() {
            while a[j] - a[first] > reach {
                w -= self.weights[first];
                m -= self.weights[first] * a[first];
                s -= self.weights[first] * a[first] * a[first];
                first += 1;
            }
            total += self.weights[j] * (a[j] * a[j] * w - 2.0 * a[j] * m + s);
            w += self.weights[j];
            m += self.weights[j] * a[j];
            s += self.weights[j] * a[j] * a[j];
        }
        // Differences of sums up to `wide²` are off by at most 16u of that for each atom, and distances by
        // the errors of two losses.
        let off = 16.0 * UNIT * a.len() as f64 * self.wide * self.wide + 4.0 * blur * self.wide;
        let v = (2.0 * (total - off) * (1.0 - 1e-9)).max(0.0);
        t1 * t1 / (PI * PI) * v
    }
}
