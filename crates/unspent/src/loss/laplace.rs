//! Laplace noise on the line: atoms at ±τ and a density between them.

use super::cells::{Cells, Noise, Sampling};
use super::{Along, Atoms, Loss, Remainder, Segment, Tilted};
use crate::mechanism::Laplace;
use crate::number::Rational;
use crate::number::float::{self, Complex, DD_UNIT, Dd, FUNCTION, UNIT};

/// `Φ(z) = e^{−τ/2}·[cosh wτ + sinh(wτ)/2w]`, `w = z − ½` (M3).
#[derive(Debug)]
pub(crate) struct LaplaceLoss {
    fraction: Rational,
    exact: Dd,
    /// The same, within u.
    tau: f64,
    atoms: Atoms,
    segment: Segment,
}

/// Below this the difference of hyperbolic functions is summed as a series.
const SERIES: f64 = 1.0;

impl LaplaceLoss {
    pub fn new(noise: &Laplace) -> LaplaceLoss {
        let fraction = noise.largest_loss();
        let exact = fraction.to_dd();
        LaplaceLoss {
            fraction,
            exact,
            tau: exact.to_f64(),
            atoms: Atoms::of_laplace(exact),
            segment: Segment { tau: exact },
        }
    }

    /// `ln f(w) − |w|τ`, `f(w) = cosh wτ + sinh(wτ)/2w`, for real w; within 16u.
    fn log_scaled(&self, w: f64) -> f64 {
        let x = w.abs() * self.tau;
        let e = float::exp(-2.0 * x);
        // (1 − e^{−2x})/4w, which is τ/2 at w = 0.
        let tail = if w == 0.0 { 0.5 * self.tau } else { -float::expm1(-2.0 * x) / (4.0 * w.abs()) };
        float::ln(0.5 * (1.0 + e) + tail)
    }

    /// `e^{−|w|τ}` times `cosh Wτ` and `sinh(Wτ)/2W` at `W = w + it`, the atomic and the continuous part of
    /// `f`, each with the bound of its error.
    fn scaled(&self, w: f64, t: f64) -> [(Complex, f64); 2] {
        let sign = if w < 0.0 { -1.0 } else { 1.0 };
        // f is even: take the real part of w non-negative.
        let z = Complex::new(w.abs(), sign * t);
        let theta = z.im * self.tau;
        let (sin, cos) = float::sin_cos(theta);
        let e = float::exp(-2.0 * z.re * self.tau);
        let cosh = Complex::new(0.5 * (1.0 + e) * cos, 0.5 * (1.0 - e) * sin);
        let sinh = Complex::new(0.5 * (1.0 - e) * cos, 0.5 * (1.0 + e) * sin);
        let modulus = z.abs();
        // τ and t are within u and 4u; the sines move by the angle's error.
        let blur = 8.0 * UNIT * theta.abs() + 8.0 * UNIT * (1.0 + z.re * self.tau * e);
        let (half, own) = if modulus * self.tau < 0.1 {
            // sinh(x)/2w = (τ/2)·Σ x^{2k}/(2k+1)!, times e^{−|w|τ}.
            let x2 = {
                let x = Complex::new(z.re * self.tau, theta);
                x.mul(x)
            };
            let mut sum = Complex::new(1.0, 0.0);
            for k in (1..=6).rev() {
                let d = f64::from(2 * k * (2 * k + 1));
                sum = Complex::new(1.0, 0.0).plus(Complex::new(x2.re / d, x2.im / d).mul(sum));
            }
            let scale = 0.5 * self.tau * float::exp(-z.re * self.tau);
            (Complex::new(scale * sum.re, scale * sum.im), 24.0 * UNIT * scale)
        } else {
            let half = sinh.div(Complex::new(2.0 * z.re, 2.0 * z.im));
            (half, 0.5 / modulus * blur + 24.0 * UNIT * 0.5 * (1.0 + e) / modulus)
        };
        let own = own + 0.5 * self.tau * blur * if modulus * self.tau < 0.1 { 1.0 } else { 0.0 };
        [(cosh, blur + 8.0 * UNIT), (half, own)]
    }
}

impl Loss for LaplaceLoss {
    fn tilt(&self, c: f64) -> Tilted {
        let tau = self.tau;
        let w = c - 0.5;
        // Φ(c) − 1 = e^{−τ/2}[2 sinh(cτ/2) sinh((c−1)τ/2) + (τ/2)(sinhc wτ − sinhc τ/2)], two terms of
        // one sign (M4).
        let (log, error) = if w.abs() * tau < SERIES && tau < SERIES {
            let (a, b) = (w * w * tau * tau, 0.25 * tau * tau);
            let (mut sum, mut inner, mut factorial, mut power) = (0.0, 1.0, 6.0, 1.0);
            for k in 1..14 {
                sum += inner / factorial;
                power *= b;
                inner = inner * a + power;
                factorial *= f64::from((2 * k + 2) * (2 * k + 3));
            }
            let first = 2.0 * float::sinh_cosh(0.5 * c * tau).0 * float::sinh_cosh(0.5 * (c - 1.0) * tau).0;
            let second = 0.5 * tau * tau * tau * c * (c - 1.0) * sum;
            let small = float::exp(-0.5 * tau) * (first + second);
            let log = float::ln1p(small);
            (log, 60.0 * UNIT * small.abs() / (1.0 + small.min(0.0)) + FUNCTION * log.abs())
        } else {
            let log = self.log_scaled(w);
            (log, 24.0 * UNIT + FUNCTION * log.abs())
        };
        let (exact, error) = if w.abs() * tau < SERIES && tau < SERIES {
            (Dd::from(log), error)
        } else {
            // |w| − ½, which is c − 1 or −c: below a quarter c − ½ is rounded.
            let less = if c < 0.5 { Dd::from(-c) } else { Dd::sum(c, -1.0) };
            let exponent = self.exact.mul(less);
            (exponent.add(Dd::from(log)), error + 16.0 * DD_UNIT * exponent.hi.abs())
        };
        // Mean and variance from a few points: they only steer.
        const POINTS: u32 = 24;
        let mut points = vec![(-tau, float::ln(0.5) - c * tau), (tau, float::ln(0.5) + (c - 1.0) * tau)];
        for i in 0..POINTS {
            let l = tau * ((2.0 * f64::from(i) + 1.0) / f64::from(POINTS) - 1.0);
            points.push((l, float::ln(0.5 * tau / f64::from(POINTS)) - 0.5 * tau + w * l));
        }
        let top = points.iter().fold(f64::NEG_INFINITY, |a, p| a.max(p.1));
        let moment =
            |f: &dyn Fn(f64) -> f64| points.iter().map(|p| float::exp(p.1 - top) * f(p.0)).sum::<f64>();
        let total = moment(&|_| 1.0);
        let mean = moment(&|l| l) / total;
        let variance = moment(&|l| (l - mean) * (l - mean)) / total;
        Tilted { log: exact, error, mean, variance }
    }

    fn line(&self, c: f64, h: Dd) -> Box<dyn Along + '_> {
        let mean = self.tilt(c).mean;
        let w = c - 0.5;
        Box::new(LaplaceLine { law: self, w, h: h.hi, mean, here: self.log_scaled(w) })
    }

    fn parts(&self) -> Option<(&Atoms, Option<&Segment>)> {
        Some((&self.atoms, Some(&self.segment)))
    }

    fn cells(&self, cells: usize) -> Option<Cells> {
        Some(Noise::laplace(self.tau, cells).sampled(&Sampling::ALL))
    }

    fn largest_exact(&self) -> Option<Rational> {
        Some(self.fraction.clone())
    }

    fn largest(&self) -> f64 {
        self.tau.next_up()
    }
}

struct LaplaceLine<'a> {
    law: &'a LaplaceLoss,
    w: f64,
    h: f64,
    mean: f64,
    here: f64,
}

impl LaplaceLine<'_> {
    /// `ln` of a value over that of the real tilt, less the phase; the value is within `error`.
    fn log(&self, t: f64, f: Complex, error: f64) -> Remainder {
        let modulus = f.abs();
        if modulus <= 4.0 * error {
            let value = Complex::new(float::ln(modulus + 1.01 * error) - self.here + 40.0 * UNIT, 0.0);
            return Remainder { value, error: 0.0, modulus_only: true };
        }
        let re = float::ln(modulus) - self.here;
        let phase = t * self.mean;
        let im = float::atan2(f.im, f.re) - phase;
        let own = 24.0 * UNIT + 8.0 * UNIT * (re.abs() + self.here.abs() + im.abs() + phase.abs());
        Remainder {
            value: Complex::new(re, im),
            error: 1.01 * error / (modulus - error) + own,
            modulus_only: false,
        }
    }
}

impl Along for LaplaceLine<'_> {
    fn centre(&self) -> Dd {
        Dd::from(self.mean)
    }

    fn at(&mut self, k: u64) -> Remainder {
        let t = k as f64 * self.h;
        let [(cosh, a), (half, b)] = self.law.scaled(self.w, t);
        self.log(t, cosh.plus(half), a + b)
    }

    fn cost(&self) -> f64 {
        40.0
    }

    fn parts(&self, k: u64) -> Option<[Remainder; 2]> {
        let t = k as f64 * self.h;
        Some(self.law.scaled(self.w, t).map(|(part, error)| self.log(t, part, error)))
    }

    fn atomic_mass(&self) -> Option<f64> {
        let e = float::exp(-2.0 * self.w.abs() * self.law.tau);
        Some((0.5 * (1.0 + e) * float::exp(-self.here) * (1.0 + 64.0 * UNIT)).min(1.0))
    }

    /// V9: an atomic part of tilted mass α, and a density of total variation V: `|φ| ≤ α + V/t`.
    fn decay(&self, t1: f64, _: f64) -> f64 {
        if t1 <= 0.0 {
            return 0.0;
        }
        let x = self.w.abs() * self.law.tau;
        let e = float::exp(-2.0 * x);
        let f = float::exp(self.here);
        // |cosh Wτ| ≤ cosh wτ and |sinh Wτ/2W| ≤ cosh wτ/2t.
        let bound = 0.5 * (1.0 + e) * (1.0 + 0.5 / t1) / f * (1.0 + 1e-12);
        if bound < 1.0 { -float::ln(bound) } else { 0.0 }
    }
}
