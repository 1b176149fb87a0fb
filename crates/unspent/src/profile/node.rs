//! The integrand at one node of a tilted line, with the bound of its error.

use super::spectrum::Spectrum;
use crate::number::float::{self, Complex, DD_UNIT, Dd, FUNCTION, PI, UNIT};
use crate::transform::Tilt;

/// `Φ(c+it)/Φ(c)·e^{−it(x+…)}` at one node: within `size·relative` of `value`.
pub(super) struct Node {
    pub value: Complex,
    pub size: f64,
    pub relative: f64,
    pub modulus_only: bool,
}

/// What does not change from node to node.
pub(super) struct Line<'a> {
    pub spectrum: &'a Spectrum,
    /// μ² of the fictitious continuous Gaussian; 0 on a lattice.
    pub s2: f64,
    /// Bound of the remainders of the kinds that are not active.
    pub skipped: f64,
    pub c: f64,
    pub kappa: f64,
    pub drift: f64,
    pub drift_error: f64,
    pub active: Vec<(usize, Tilt)>,
    pub rates: Vec<Dd>,
    pub tilts: Vec<Tilt>,
    pub phase: Dd,
}

impl Line<'_> {
    /// Where every angle is below half a turn: one quadratic for all kinds, and the remainders of
    /// the few that have one.
    pub fn plain(&self, t: f64) -> Node {
        if t == 0.0 {
            return Node { value: Complex::new(1.0, 0.0), size: 1.0, relative: 0.0, modulus_only: false };
        }
        let mut exponent = Complex::new(-0.5 * self.kappa * t * t, t * self.drift);
        // t is within 4u; so the quadratic is within 12u of its size and the phase within 8u.
        let mut error =
            UNIT * (12.0 * exponent.re.abs() + 8.0 * exponent.im.abs()) + t * self.drift_error + self.skipped;
        let mut modulus_only = false;
        for (j, tilt) in &self.active {
            let kind = &self.spectrum.kinds[*j];
            let r = kind.transform.remainder(tilt, t * kind.rate.hi, 0.0);
            exponent.re += kind.count * r.value.re;
            exponent.im += kind.count * r.value.im;
            error += kind.count * (r.error + 4.0 * UNIT * (r.value.re.abs() + r.value.im.abs()));
            modulus_only |= r.modulus_only;
        }
        finish(exponent, error, modulus_only)
    }

    /// Anywhere: each kind at its own reduced angle.
    pub fn general(&self, k: u64, t: f64) -> Node {
        let k = k as f64;
        let spectrum = self.spectrum;
        let s2 = self.s2;
        // The smoothing Gaussian is not one of the kinds: s²(z² − z)/2.
        let mut exponent = Complex::new(-0.5 * s2 * t * t, s2 * (self.c - 0.5) * t);
        let mut error = UNIT * 12.0 * (exponent.re.abs() + exponent.im.abs());
        let turns = self.phase.scale(k);
        error += 2.0 * PI * (turns.hi.abs() * 8.0 * DD_UNIT + 2.0 * UNIT);
        exponent.im -= 2.0 * PI * turns.fraction();
        let mut moved = exponent.im.abs();
        let mut modulus_only = false;
        for ((kind, rate), tilt) in spectrum.kinds.iter().zip(&self.rates).zip(&self.tilts) {
            let turns = rate.scale(k);
            let (r, blur) = if kind.periodic {
                (turns.fraction(), turns.hi.abs() * 8.0 * DD_UNIT)
            } else {
                (turns.to_f64(), 0.0)
            };
            let angle = 2.0 * PI * r;
            let quadratic = -0.5 * kind.count * kind.curvature * angle * angle;
            let linear = kind.count * tilt.phase * angle;
            exponent.re += quadratic;
            exponent.im += linear;
            moved += linear.abs();
            // The angle is within 8u of its size and `blur` turns.
            let slope = kind.count * (kind.curvature * angle.abs() + tilt.phase.abs());
            error += UNIT * (24.0 * quadratic.abs() + 16.0 * linear.abs()) + slope * 2.0 * PI * blur;
            // A remainder this small is bounded instead of computed.
            let bound = kind.count * kind.transform.remainder_bound(r.abs());
            if bound <= UNIT / 4096.0 {
                error += bound;
                continue;
            }
            let rem = kind.transform.remainder(tilt, r, blur);
            exponent.re += kind.count * rem.value.re;
            exponent.im += kind.count * rem.value.im;
            error += kind.count * (rem.error + 4.0 * UNIT * (rem.value.re.abs() + rem.value.im.abs()));
            modulus_only |= rem.modulus_only;
        }
        // Adding up the real and imaginary parts, two roundings a kind.
        let n = spectrum.kinds.len() as f64;
        error += 2.0 * UNIT * n * (exponent.re.abs() + moved);
        finish(exponent, error, modulus_only)
    }
}

/// `e^{exponent}` for an exponent within `error` of the truth.
pub(super) fn finish(exponent: Complex, error: f64, modulus_only: bool) -> Node {
    if modulus_only || error > 0.5 {
        let size = float::exp(exponent.re + error);
        return Node { value: Complex::default(), size, relative: 1.0, modulus_only: true };
    }
    let size = float::exp(exponent.re);
    let (sin, cos) = float::sin_cos(exponent.im);
    // |e^w − 1| ≤ 1.3|w| for |w| ≤ 1/2; three functions and three roundings.
    let relative = 1.3 * error + 4.0 * FUNCTION;
    Node { value: Complex::new(size * cos, size * sin), size, relative, modulus_only: false }
}
