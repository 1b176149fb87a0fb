//! Finitely many privacy losses.

use super::{Along, Grid, Loss, Remainder, Tilted, Way, bracket};
use num_bigint::BigInt;

use crate::error::{Error, Result};
use crate::mechanism::{
    ApproximateDp, DiscreteGaussian, DiscreteLaplace, Finite, RandomisedResponse, TruncatedDiscreteGaussian,
    Truth,
};
use crate::number::Rational;
use crate::number::float::{self, Complex, Dd, FUNCTION, PI, Sum, UNIT};
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
    /// `P[Q = 0]` and `Q[P = 0]`, within 64u relatively.
    p_only: f64,
    q_only: f64,
    /// Whether `q_only` is of the mechanism, and not a part of its tail that is treated as if it revealed.
    pub reveals: bool,
    /// The losses as exact fractions, if they are on a grid of fractions.
    pub grid: Option<Grid>,
}

/// One atom before it is listed.
struct Atom {
    loss: Dd,
    log: f64,
}

/// Tails of discrete noise below `e^{−CUT}` of the peak are treated as if they revealed the record (M6).
const CUT: f64 = 220.0;
/// Most atoms of a list.
const MAX_ATOMS: f64 = 2e6;

impl Atoms {
    fn new(mut atoms: Vec<Atom>, log_error: f64) -> Atoms {
        atoms.retain(|a| a.log > f64::NEG_INFINITY);
        atoms.sort_by(|a, b| a.loss.hi.total_cmp(&b.loss.hi).then(a.loss.lo.total_cmp(&b.loss.lo)));
        Atoms {
            near: atoms.iter().map(|a| a.loss.to_f64()).collect(),
            losses: atoms.iter().map(|a| a.loss).collect(),
            loss_error: 2.0 * UNIT,
            logs: atoms.iter().map(|a| a.log).collect(),
            log_error,
            p_only: 0.0,
            q_only: 0.0,
            reveals: true,
            grid: None,
        }
    }

    /// Two or three losses: −ε, 0 and ε.
    pub fn randomised_response(response: &RandomisedResponse) -> Atoms {
        let others = Rational::from(response.values() - 1);
        let zeros = response.values() - 2;
        let (epsilon, grid) = match response.truth() {
            Truth::Epsilon(epsilon) => {
                let step = if zeros == 0 { epsilon * &Rational::integer(2) } else { epsilon.clone() };
                let offset = &Rational::integer(0) - epsilon;
                (epsilon.to_dd(), Some(Grid { step, offset }))
            }
            Truth::Probability(truth) => {
                let other = &(&Rational::integer(1) - truth) / &others;
                ((truth / &other).to_dd().ln(), None)
            }
        };
        // ln r, r = 1/(e^ε + k − 1) the mass of each other value.
        let e = epsilon.to_f64();
        let log_r = -(e + float::ln1p(others.to_f64() * float::exp(-e)));
        let mut atoms =
            vec![Atom { loss: epsilon.neg(), log: e + log_r }, Atom { loss: epsilon, log: log_r }];
        if zeros > 0 {
            atoms.push(Atom { loss: Dd::ZERO, log: log_r + float::ln(zeros as f64) });
        }
        // ε is within u, the sum within a few, and each logarithm within FUNCTION of its size.
        let grid = grid.filter(|grid| grid.step.is_positive());
        Atoms { grid, ..Atoms::new(atoms, 16.0 * UNIT * (1.0 + e + 2.0 * float::ln(zeros.max(1) as f64))) }
    }

    /// The atomic part of Laplace noise: masses ½ and ½e^{−τ} at −τ and τ.
    pub fn of_laplace(tau: Dd) -> Atoms {
        let half = float::ln(0.5);
        let atoms = vec![Atom { loss: tau.neg(), log: half }, Atom { loss: tau, log: half - tau.to_f64() }];
        Atoms::new(atoms, 4.0 * UNIT * (1.0 + tau.hi))
    }

    /// The worst pair of all (ε, δ)-DP mechanisms.
    pub fn approximate_dp(event: &ApproximateDp) -> Atoms {
        let (epsilon, e) = (event.epsilon().to_dd(), event.epsilon().to_f64());
        let rest = (&Rational::integer(1) - event.delta()).to_f64();
        let log = |sign: f64| float::ln(rest) - float::ln1p(float::exp(-sign * e));
        let atoms = if event.epsilon().is_zero() {
            vec![Atom { loss: Dd::ZERO, log: float::ln(rest) }]
        } else {
            // e^ε/(1 + e^ε) at −ε, and 1/(1 + e^ε) = e^−ε/(1 + e^−ε) at ε.
            let low = Atom { loss: epsilon.neg(), log: log(1.0) };
            vec![low, Atom { loss: epsilon, log: log(1.0) - e }]
        };
        let delta = event.delta().to_f64();
        let grid = event.epsilon().is_positive().then(|| Grid {
            step: event.epsilon() * &Rational::integer(2),
            offset: &Rational::integer(0) - event.epsilon(),
        });
        Atoms {
            p_only: delta,
            q_only: delta,
            grid,
            ..Atoms::new(atoms, UNIT * (16.0 + 8.0 * float::ln(rest).abs() + 4.0 * e))
        }
    }

    pub fn finite(finite: &Finite) -> Atoms {
        let (mut atoms, mut p_only, mut q_only, mut largest) = (vec![], vec![], vec![], 0.0f64);
        for (p, q) in finite.p().iter().zip(finite.q()) {
            match (p.is_positive(), q.is_positive()) {
                (true, true) => {
                    let log = p.to_bounds().ln().upper();
                    largest = largest.max(log.abs());
                    atoms.push(Atom { loss: ln_ratio(q, p), log });
                }
                (true, false) => p_only.push(p.clone()),
                (false, true) => q_only.push(q.clone()),
                (false, false) => {}
            }
        }
        let total = |masses: &[Rational]| Rational::sum(masses).to_f64();
        let (p_only, q_only) = (total(&p_only), total(&q_only));
        Atoms { p_only, q_only, ..Atoms::new(atoms, UNIT * (8.0 + 8.0 * largest)) }
    }

    /// Losses (2k − Δ)/b for k = 0 … Δ.
    pub fn discrete_laplace(noise: &DiscreteLaplace) -> Atoms {
        let shift = noise.shift();
        let rate = (&Rational::integer(1) / noise.scale()).to_f64();
        // ln 1/(1+α) and ln (1−α)/(1+α), α = e^{−1/b}.
        let outer = -float::ln1p(float::exp(-rate));
        let inner = outer + float::ln(-float::expm1(-rate));
        let step = (&Rational::integer(1) / noise.scale()).to_dd();
        let atoms = (0..=shift).map(|k| {
            let loss = step.scale(2.0 * k as f64 - shift as f64);
            let log = if k == 0 {
                outer
            } else if k == shift {
                outer - rate * k as f64
            } else {
                inner - rate * k as f64
            };
            Atom { loss, log }
        });
        let size = rate * shift as f64 + outer.abs() + inner.abs();
        let grid = Some(Grid {
            step: &Rational::integer(2) / noise.scale(),
            offset: &Rational::integer(0) - &(&Rational::from(shift) / noise.scale()),
        });
        Atoms { grid, ..Atoms::new(atoms.collect(), UNIT * (16.0 + 8.0 * size)) }
    }

    pub fn truncated_discrete_gaussian(noise: &TruncatedDiscreteGaussian) -> Atoms {
        let bound = noise.bound() as f64;
        let mut atoms = Atoms::noise(noise.sigma2(), noise.shift(), bound, Tails::Cut);
        atoms.grid = Some(gaussian_grid(noise.sigma2(), noise.shift()));
        atoms
    }

    /// Discrete Gaussian noise, with far tails that are treated as if they revealed the record.
    pub fn discrete_gaussian(noise: &DiscreteGaussian) -> Result<Atoms> {
        let sigma2 = noise.sigma2().to_f64();
        let bound = (2.0 * CUT * sigma2).sqrt().ceil() + noise.shift() as f64;
        if bound > MAX_ATOMS {
            return Err(Error::input(
                "sigma2",
                noise.sigma2(),
                "a variance of subsampled discrete noise of at most about 1e9",
                "for so much noise use the Gaussian on the line",
            ));
        }
        let mut atoms = Atoms::noise(noise.sigma2(), noise.shift(), bound, Tails::Reveal);
        atoms.grid = Some(gaussian_grid(noise.sigma2(), noise.shift()));
        Ok(atoms)
    }

    /// Noise on `|x| ≤ bound`, without the record around 0, with it around the shift.
    fn noise(sigma2: &Rational, shift: u64, bound: f64, tails: Tails) -> Atoms {
        let half = (&Rational::integer(1) / &(sigma2 * &Rational::integer(2))).to_dd();
        let log = |x: f64| -(half.mul(Dd::from(x * x))).to_f64();
        let (mut inside, mut only) = (Sum::default(), Sum::default());
        let delta = shift as f64;
        let mut x = -bound;
        let mut atoms = vec![];
        while x <= bound {
            let weight = float::exp(log(x));
            inside.push(weight);
            if x < delta - bound {
                only.push(weight);
            } else {
                atoms.push(Atom { loss: half.mul(Dd::from(delta * (2.0 * x - delta))), log: log(x) });
            }
            x += 1.0;
        }
        let (mut total, mut only) = (inside.value(), only.value());
        if let Tails::Reveal = tails {
            // Beyond the bound the weights fall at least by e^{−(2·bound+1)/2σ²} a step.
            let beyond = float::exp(log(bound + 1.0)) / -float::expm1(-(2.0 * bound + 3.0) * half.hi);
            total += 2.0 * beyond;
            only += 2.0 * beyond * (1.0 + 1e-9);
        }
        let log_total = float::ln(total);
        for atom in &mut atoms {
            atom.log -= log_total;
        }
        let error = UNIT * (24.0 + 4.0 * half.hi * bound * bound + 4.0 * log_total.abs());
        let only = only / total;
        let reveals = matches!(tails, Tails::Cut);
        Atoms { p_only: only, q_only: only, reveals, ..Atoms::new(atoms, error) }
    }

    /// The same noise on a Poisson sample: `ln(1 − q + qe^L)` instead of L.
    pub fn subsampled(mut self, q: &Rational) -> Atoms {
        let (rest, dd) = ((&Rational::integer(1) - q).to_dd(), q.to_dd());
        for loss in &mut self.losses {
            // e^L beyond the doubles: ln q + L, up to e^−600.
            *loss = if loss.hi > 600.0 {
                loss.add(dd.ln())
            } else if loss.hi < -650.0 {
                rest.ln()
            } else {
                rest.add(dd.mul(loss.exp())).ln()
            };
        }
        self.near = self.losses.iter().map(|l| l.to_f64()).collect();
        // A loss near 0 has lost digits to the sum: it is known to 2⁻⁸⁷ absolutely.
        let least = self.near.iter().map(|l| l.abs()).filter(|l| *l > 0.0).fold(f64::INFINITY, f64::min);
        self.loss_error = 2.0 * UNIT + 2f64.powi(-86) / least.min(1.0);
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
        self.log_error += (self.loss_error + 2.0 * UNIT) * largest;
        self.losses.reverse();
        self.near.reverse();
        self.logs.reverse();
        std::mem::swap(&mut self.p_only, &mut self.q_only);
        self.grid =
            self.grid.map(|Grid { step, offset }| Grid { offset: &Rational::integer(0) - &offset, step });
        self
    }

    /// `Q[P = 0]`, within 64u.
    pub fn infinity(&self) -> f64 {
        self.q_only
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

#[derive(Clone, Copy)]
enum Tails {
    Cut,
    Reveal,
}

fn gaussian_grid(sigma2: &Rational, shift: u64) -> Grid {
    let shift = Rational::from(shift);
    let step = &shift / sigma2;
    let half = &(&step * &shift) / &Rational::integer(2);
    Grid { offset: &Rational::integer(0) - &half, step }
}

/// `ln(a/b)`, also where the quotient is no double.
fn ln_ratio(a: &Rational, b: &Rational) -> Dd {
    let ratio = a / b;
    let (mut scaled, mut twos) = (ratio.clone(), 0i32);
    let two = Rational::from_bigint(BigInt::from(1) << 512);
    while scaled.to_f64() > 2f64.powi(600) || scaled.to_f64().is_infinite() {
        scaled = &scaled / &two;
        twos += 512;
    }
    while scaled.to_f64() < 2f64.powi(-600) {
        scaled = &scaled * &two;
        twos -= 512;
    }
    let ln2 = Dd::from(2.0).ln();
    scaled.to_dd().ln().add(ln2.scale(f64::from(twos)))
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
        small.push(-self.p_only);
        small.push(c * self.p_only);
        small.push(-c * self.q_only);
        let lost = self.p_only * (1.0 + c.abs()) + c.abs() * self.q_only;
        error += 70.0 * UNIT * lost;
        for (l, log) in self.near.iter().zip(&self.logs) {
            let (value, off) = bracket(c, *l, self.loss_error);
            let mass = float::exp(*log);
            small.push(mass * value);
            error += mass * (off + value.abs() * (self.log_error + 8.0 * UNIT));
        }
        let small = small.value();
        let error = error * 1.01 + 4.0 * UNIT * small.abs();
        if small.abs() < 0.5 && error < 0.1 {
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
        let (mut weights, top) = self.weights(c);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let mean = weights.iter().zip(&self.near).map(|(w, l)| w * l).sum::<f64>();
        let errors = self.near.iter().map(|l| self.weight_error(c, *l, top) + 4.0 * UNIT).collect();
        let centred: Vec<f64> = self.near.iter().map(|l| l - mean).collect();
        let moved = self
            .near
            .iter()
            .zip(&centred)
            .map(|(l, a)| l.abs() * self.loss_error + 4.0 * UNIT * a.abs())
            .collect();
        let wide = centred.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        Box::new(AtomsLine { h: h.hi, weights, errors, centred, moved, mean, wide })
    }

    fn atoms(&self) -> Option<&Atoms> {
        Some(self)
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
        self.near.last().map_or(f64::NEG_INFINITY, |l| float::up(*l, 8.0))
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
        // Differences of sums up to `wide²` are off by at most 16u of that for each atom.
        let off = 16.0 * UNIT * a.len() as f64 * self.wide * self.wide;
        let v = (2.0 * (total - off) * (1.0 - 1e-9)).max(0.0);
        t1 * t1 / (PI * PI) * v
    }
}
