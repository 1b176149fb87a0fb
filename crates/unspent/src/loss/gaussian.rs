//! Gaussian noise among other mechanisms.

use super::cells::{Cells, Noise, Sampling};
use super::{Along, Atoms, Grid, Loss, Remainder, Tilted};
use crate::mechanism::Mechanism;
use crate::number::float::{Complex, DD_UNIT, Dd, PI, TWO_PI, UNIT};
use crate::number::{Rational, Round};
use crate::transform::{Tilt, Transform};

/// The loss of Gaussian noise, on the line or on the integers: the transform that compositions of Gaussian
/// noise alone have, one mechanism at a time.
#[derive(Debug)]
pub(crate) struct GaussianLoss {
    transform: Box<dyn Transform>,
    mu2: Dd,
    /// `Δ/σ²` on the integers.
    step: Option<Dd>,
    shift: f64,
    pub grid: Option<Grid>,
    mechanism: Mechanism,
}

impl GaussianLoss {
    /// `None` unless the noise is Gaussian.
    pub fn new(mechanism: &Mechanism) -> Option<GaussianLoss> {
        let mu2 = mechanism.mu_squared()?;
        let step = mechanism.loss_step();
        let half = &mu2 / &Rational::integer(2);
        Some(GaussianLoss {
            transform: mechanism.transform()?,
            mu2: mu2.to_dd(),
            step: step.as_ref().map(Rational::to_dd),
            shift: mechanism.shift()?.to_f64(),
            grid: step.map(|step| Grid { step, offset: &Rational::integer(0) - &half }),
            mechanism: mechanism.clone(),
        })
    }

    fn kappa(&self) -> Dd {
        if self.transform.is_quadratic() { self.mu2 } else { Dd::ZERO }
    }
}

impl Loss for GaussianLoss {
    fn cells(&self, cells: usize) -> Option<Cells> {
        let Mechanism::DiscreteGaussian(noise) = &self.mechanism else {
            let half = 0.5 * self.mu2.to_f64();
            return Some(Noise::gaussian((0.5 / half).sqrt(), half, cells)?.sampled(&Sampling::ALL));
        };
        let atoms = Atoms::discrete_gaussian(noise).ok()?;
        let mut cut = atoms.cells(cells)?;
        // The tails that are not listed are taken for revealed.
        cut.missing += atoms.infinity().upper().to_f64(Round::Up);
        Some(cut)
    }

    fn tilt(&self, c: f64) -> Tilted {
        let tilt = self.transform.tilt(c);
        let kappa = self.kappa();
        let quadratic = kappa.mul(Dd::sum(c, -1.0).scale(c)).scale(0.5);
        Tilted {
            log: quadratic.add(tilt.exponent).add(Dd::from(tilt.remainder)),
            error: tilt.error + 16.0 * DD_UNIT * (quadratic.hi.abs() + tilt.magnitude),
            mean: kappa.hi * (c - 0.5) + tilt.slope,
            variance: kappa.hi + tilt.spread,
        }
    }

    fn line(&self, c: f64, h: Dd) -> Box<dyn Along + '_> {
        let tilt = self.transform.tilt(c);
        let centre = self.kappa().scale(c).add(tilt.drift).sub(self.mu2.scale(0.5));
        Box::new(GaussianLine { law: self, tilt, c, h, centre })
    }

    fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }
}

struct GaussianLine<'a> {
    law: &'a GaussianLoss,
    tilt: Tilt,
    c: f64,
    h: Dd,
    centre: Dd,
}

impl Along for GaussianLine<'_> {
    fn centre(&self) -> Dd {
        self.centre
    }

    fn at(&mut self, k: u64) -> Remainder {
        let t = self.h.scale(k as f64);
        let Some(step) = self.law.step else {
            let re = -0.5 * self.law.mu2.hi * t.hi * t.hi;
            let value = Complex::new(re, 0.0);
            return Remainder { value, error: 12.0 * UNIT * re.abs(), modulus_only: false };
        };
        let turns = step.mul(t).div(TWO_PI);
        let r = turns.fraction();
        let whole = (turns.hi - r).round();
        let blur = 16.0 * DD_UNIT * turns.hi.abs();
        let angle = 2.0 * PI * r;
        let curvature = self.law.transform.curvature();
        let quadratic = -0.5 * curvature * angle * angle;
        let remainder = self.law.transform.remainder(&self.tilt, r, blur);
        // With b the slope of the phase per angle (cΔ, or a whole number), whole turns add −2π·whole·b.
        let (phase, b) = if self.law.transform.is_quadratic() {
            let b = Dd::from(self.c).scale(self.law.shift);
            (-2.0 * PI * b.scale(whole).fraction(), b.hi.abs())
        } else {
            (0.0, self.tilt.phase.abs())
        };
        let moved = 2.0 * PI * blur * (curvature * angle.abs() + b)
            + 16.0 * UNIT * quadratic.abs()
            + 2.0 * PI * (8.0 * DD_UNIT * whole.abs() * b + 2.0 * UNIT)
            + 4.0 * UNIT * remainder.value.abs();
        Remainder {
            value: Complex::new(quadratic + remainder.value.re, phase + remainder.value.im),
            error: remainder.error + if whole == 0.0 { moved - 4.0 * PI * UNIT } else { moved }.max(0.0),
            modulus_only: remainder.modulus_only,
        }
    }

    fn decay(&self, t1: f64, t2: f64) -> f64 {
        let rate = self.law.step.map_or(1.0, |step| step.hi) / (2.0 * PI);
        let (x1, x2) = (t1 * rate * (1.0 - 1e-14), t2 * rate * (1.0 + 1e-14));
        let nearest = if self.law.step.is_some() {
            let below = x1.floor();
            (x1 - below).min(below + 1.0 - x2)
        } else {
            x1
        };
        if nearest > 0.0 { self.law.transform.decay(nearest) } else { 0.0 }
    }
}
