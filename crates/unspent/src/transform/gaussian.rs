//! The continuous Gaussian: `Φ(z) = e^{μ²(z²−z)/2}`, all of it quadratic.

use super::{Remainder, Tilt, Transform};
use crate::number::Rational;
use crate::number::float::{Complex, PI};

#[derive(Debug)]
pub(crate) struct GaussianTransform {
    mu2: f64,
}

impl GaussianTransform {
    pub fn new(mu2: &Rational) -> GaussianTransform {
        GaussianTransform { mu2: mu2.to_f64() }
    }
}

impl Transform for GaussianTransform {
    fn curvature(&self) -> f64 {
        self.mu2
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn tilt(&self, c: f64) -> Tilt {
        Tilt { phase: c * self.mu2, ..Tilt::default() }
    }

    fn remainder(&self, _: &Tilt, _: f64, _: f64) -> Remainder {
        Remainder { value: Complex::default(), error: 0.0, modulus_only: false }
    }

    fn remainder_bound(&self, _: f64) -> f64 {
        0.0
    }

    fn decay(&self, turns: f64) -> f64 {
        // One part in 10¹² covers the half dozen roundings here.
        self.mu2 * 2.0 * PI * PI * turns * turns * (1.0 - 1e-12)
    }
}
