//! The discrete Gaussian: a theta function, in whichever of its two forms is short.
//!
//! With `w = zΔ/σ²`, write `E[e^{wX}] = Σ_x e^{−x²/2σ² + wx} / Σ_x e^{−x²/2σ²}`. Let `y` be the
//! integer nearest to `cΔ` and `φ = cΔ − y`. Two exact expressions (`theory/transform.md`, T3 and T4):
//!
//! ```text
//! S = Σ_{u≥1} e^{−Q_u}[4 sin²(A_u/2) − 4 cos A_u sinh²(B_u/2) + 2i sin A_u sinh B_u] / θ
//! dual    e^{σ²w²/2}            · (1 − S)  with
//!         Q_u = 2π²σ²u²,  A_u = 2πφu,  B_u = 2πσ²ϑu,   θ = 1 + 2Σ e^{−Q_u}
//! direct  e^{y²/2σ² + w₀y}      · (1 − S),  the same S with
//!         Q_u = u²/2σ²,   A_u = ϑu,    B_u = −φu/σ²,   w₀ = φ/σ² + iϑ
//! ```
//!
//! The dual form is used for σ² ≥ 1/2π and the direct one below; either way `Q_1 ≥ π`, and five
//! terms reach 2⁻⁸⁰. Written with sines and hyperbolic sines, `S` vanishes where `Φ = 1` (z = 0
//! and 1) *with small relative error*, so that a billion mechanisms multiply a relative error.

use super::{Remainder, Tilt, Transform};
use crate::number::Rational;
use crate::number::float::{self, Complex, Dd, PI, UNIT};

/// Terms below `e^{−56} < 2⁻⁸⁰` are left out, and bounded.
const CUT: f64 = 56.0;

/// Largest integer whose neighbours are doubles too.
const MAX_INTEGER: f64 = (1u64 << 53) as f64;

/// `S` above, for `Q_u = q·u²`, `q ≥ π`.
#[derive(Debug)]
struct Theta {
    q: f64,
    norm: f64,
}

impl Theta {
    fn new(q: f64) -> Theta {
        let tail: f64 = (1..9).map(|u| float::exp(-q * f64::from(u * u))).sum();
        Theta { q, norm: 1.0 + 2.0 * tail }
    }

    /// `S` at `A_u = 2π·turns·u`, `B_u = b·u`, for `|b| ≤ q(1 + 8u)`.
    ///
    /// # Guarantee
    /// The truth is within the returned error. Of the inputs, `turns` and `b` are assumed known
    /// to 8u relative, and besides to `blur` = (of turns, of b) absolutely; `q` to 6u.
    ///
    /// Derivation. Each summand is a sum of three products of the factors `e^{−Q/2}`,
    /// `sinh(B/2)`, `cosh(B/2)`, `sin`, `cos`. The exponentials carry at most `6uQ/2 + 8uB/2`
    /// from their arguments and `FUNCTION` of their own; twice that in a product of two. `sin`
    /// and `cos` of `A` carry at most `8u·|A|` absolutely, which relative to the majorants
    /// `min(1, |A|/2)` and 1 is at most `8u·max(2, |A|)`, `|A| ≤ 2πu·|turns|`. Adding up and
    /// rounding generously, every product is within `u·(60 + 60·index·(1+|turns|) + 10(Q + B))`
    /// of its majorant; the norm's own error (below 10u) is in the 60.
    fn deficit(&self, turns: f64, b: f64, blur: (f64, f64)) -> (Complex, f64) {
        let mut s = Complex::default();
        let mut error = 0.0;
        if b.is_nan() || b.abs() > self.q * (1.0 + 1e-9) {
            return (s, f64::INFINITY);
        }
        // |B_u| ≤ Q_u·(1 + 10⁻⁹)/u and q ≥ π: the sixth term is below the cut at the latest.
        for index in 1.. {
            let u = f64::from(index);
            let (q, big_b) = (self.q * u * u, b.abs() * u);
            if big_b - q < -CUT {
                // Σ over the rest of 4·cosh²(B/2)e^{−Q} ≤ 4e^{B−Q}·1.01, since Q_{u+1} − Q_u − b ≥ 2π.
                error += 4.1 * float::exp(big_b - q);
                break;
            }
            // e^{−Q/2}·(sinh, cosh)(B/2), without overflow and without cancellation.
            let (hs, hc) = if big_b < 1.0 {
                let e = float::exp(-0.5 * q);
                let (sh, ch) = float::sinh_cosh(0.5 * big_b);
                (e * sh, e * ch)
            } else {
                let plus = float::exp(0.5 * (big_b - q));
                let minus = float::exp(-0.5 * (big_b + q));
                (0.5 * (plus - minus), 0.5 * (plus + minus))
            };
            let (sin_half, cos_half) = float::sin_cos_pi(turns * u);
            let (sin, cos) = (2.0 * sin_half * cos_half, 1.0 - 2.0 * sin_half * sin_half);
            let weight = float::exp(-q);
            s.re += 4.0 * weight * sin_half * sin_half - 4.0 * cos * hs * hs;
            s.im += if b < 0.0 { -4.0 } else { 4.0 } * sin * hs * hc;
            let angle = (PI * u * turns.abs()).min(1.0);
            let size = 4.0 * weight * angle * angle + 4.0 * hs * hs + 8.0 * angle * hs * hc;
            error += UNIT * (60.0 + 60.0 * u * (1.0 + turns.abs()) + 10.0 * (q + big_b)) * size;
            // Derivatives in A and B are at most 4e^{−Q}·cosh B ≤ 8·hc².
            error += 8.0 * hc * hc * u * (2.0 * PI * blur.0 + blur.1) * 1.01;
        }
        (Complex::new(s.re / self.norm, s.im / self.norm), error)
    }

    /// `Σ_u 4·e^{B_u − Q_u}` over `u ≥ 1` at `b = 2q·turns`, a majorant of `|S|` in the dual form.
    fn majorant(&self, turns: f64) -> f64 {
        // The ratio of consecutive terms is at most e^{−2π} < 0.002.
        4.02 * float::exp(-self.q * (1.0 - 2.0 * turns.min(0.5)))
    }
}

/// `ln(1 − s)` for `s` known to within `error`.
fn ln_one_minus(s: Complex, error: f64) -> Remainder {
    let one_minus = Complex::new(1.0 - s.re, -s.im);
    let modulus = one_minus.abs();
    if modulus <= 4.0 * error {
        let value = Complex::new(float::ln(modulus + 1.01 * error + UNIT), 0.0);
        return Remainder { value, error: 0.0, modulus_only: true };
    }
    let im = float::atan2(one_minus.im, one_minus.re);
    let (re, own) = if modulus < 0.5 {
        // The two components of 1 − s are each within u.
        (float::ln(modulus), 4.0 * UNIT / modulus)
    } else {
        // |1 − s|² − 1 = −2 Re s + |s|², without cancellation where s is small: within 4u of the
        // sum of sizes, which ln1p magnifies by 1/|1−s|², and the half of it counts.
        let square = s.re * (s.re - 2.0) + s.im * s.im;
        let size = s.re.abs() * (2.0 + s.re.abs()) + s.im * s.im;
        (0.5 * float::ln1p(square), 2.0 * UNIT * size / (modulus * modulus))
    };
    // The logarithm moves by at most error/(modulus − error).
    let own = own + 6.0 * UNIT * (re.abs() + im.abs());
    Remainder {
        value: Complex::new(re, im),
        error: error / (modulus - error) * 1.01 + own,
        modulus_only: false,
    }
}

/// `ln(1 + s)` for `s` known to within `error`.
pub(crate) fn ln_one_plus(s: Complex, error: f64) -> Remainder {
    ln_one_minus(Complex::new(-s.re, -s.im), error)
}

/// `Σ_x e^{−x²/2σ²}`, within 16u relative.
pub(crate) fn normaliser(sigma2: f64) -> f64 {
    if sigma2 >= 0.5 / PI {
        (2.0 * PI * sigma2).sqrt() * Theta::new(2.0 * PI * PI * sigma2).norm
    } else {
        Theta::new(0.5 / sigma2).norm
    }
}

#[derive(Debug)]
pub(crate) struct DiscreteGaussianTransform {
    sigma2: f64,
    shift: f64,
    /// `a = Δ/σ²` and `1/2σ²`, for exponents.
    step: Dd,
    half_precision: Dd,
    theta: Theta,
    dual: bool,
    /// A lower bound of the variance of N_ℤ(φ, σ²) over every centre φ (T11).
    least_variance: f64,
    /// `ln` of the constant in the dual bound of the modulus (T12).
    dual_slack: f64,
}

impl DiscreteGaussianTransform {
    pub fn new(sigma2: &Rational, shift: u64) -> DiscreteGaussianTransform {
        let precision = &Rational::integer(1) / sigma2;
        let half_precision = (&precision / &Rational::integer(2)).to_dd();
        let step = (&precision * &Rational::from(shift)).to_dd();
        let sigma2 = sigma2.to_f64();
        let dual = sigma2 >= 0.5 / PI;
        let q = if dual { 2.0 * PI * PI * sigma2 } else { half_precision.to_f64() };
        let theta = Theta::new(q);
        // Both constants with a part in 10⁹ to spare for their own rounding.
        let least_variance = if dual {
            let sum: f64 =
                (1..12).map(|u| f64::from(u) * q / float::sinh_cosh((f64::from(u) * q).min(700.0)).0).sum();
            sigma2 * (1.0 - 2.0 * sum - 1e-9)
        } else {
            // Below σ² = 1/1200 it is as good as zero, and cosh² overflows.
            let cosh = float::sinh_cosh((0.25 / sigma2).min(300.0)).1;
            if sigma2 < 1.0 / 1200.0 { 0.0 } else { 0.25 / (cosh * cosh) * (1.0 - 1e-9) }
        };
        let dual_slack = if dual {
            let numerator = 2.0 + 2.02 * float::exp(-2.0 * q);
            let denominator = 1.0 - 2.02 * float::exp(-q);
            float::ln(numerator / denominator) + 1e-9
        } else {
            f64::INFINITY
        };
        DiscreteGaussianTransform {
            sigma2,
            shift: shift as f64,
            step,
            half_precision,
            theta,
            dual,
            least_variance: least_variance.max(0.0),
            dual_slack,
        }
    }

    /// `(A in turns, B)` of the first term of `S`, at the offset φ and the angle 2π·turns.
    fn arguments(&self, phi: f64, turns: f64) -> (f64, f64) {
        if self.dual {
            (phi, 2.0 * PI * self.sigma2 * (2.0 * PI * turns))
        } else {
            (turns, -phi / self.sigma2)
        }
    }
}

impl Transform for DiscreteGaussianTransform {
    fn curvature(&self) -> f64 {
        if self.dual { self.sigma2 } else { 0.0 }
    }

    fn is_quadratic(&self) -> bool {
        self.dual
    }

    fn tilt(&self, c: f64) -> Tilt {
        let nearest = (c * self.shift).round();
        if nearest.abs().is_nan() || nearest.abs() >= MAX_INTEGER {
            // Not every integer is a double any more, and nothing is known.
            return Tilt { error: f64::INFINITY, ..Tilt::default() };
        }
        let phi = c.mul_add(self.shift, -nearest);
        let (turns, b) = self.arguments(phi, 0.0);
        let (s, s_error) = self.theta.deficit(turns, b, (0.0, 0.0));
        let remainder = ln_one_minus(s, s_error);
        let one_minus = 1.0 - s.re;
        let mut tilt =
            Tilt { remainder: remainder.value.re, error: remainder.error, state: phi, ..Tilt::default() };
        // Derivatives of 1 − S in c, a few terms of them.
        let (mut first, mut second) = (0.0, 0.0);
        for u in (1..6).map(f64::from) {
            let weight = float::exp(-self.theta.q * u * u);
            if self.dual {
                let rate = 2.0 * PI * u * self.shift;
                let (sin, cos) = float::sin_cos_pi(2.0 * phi * u);
                first -= 2.0 * weight * rate * sin;
                second -= 2.0 * weight * rate * rate * cos;
            } else {
                let rate = u * self.step.hi;
                // e^{−Q}·(sinh, cosh)(B), |B| ≤ Q.
                let big_b = phi * u / self.sigma2;
                let plus = float::exp(big_b - self.theta.q * u * u);
                let minus = float::exp(-big_b - self.theta.q * u * u);
                first += rate * (plus - minus);
                second += rate * rate * (plus + minus);
            }
        }
        let first = first / (self.theta.norm * one_minus);
        tilt.slope = first;
        tilt.spread = second / (self.theta.norm * one_minus) - first * first;
        if self.dual {
            tilt.phase = c * self.shift;
            return tilt;
        }
        // log of the largest term: −[c(y−Δ)² + (1−c)y²]/2σ².
        let near = nearest - self.shift;
        let one_minus_c = Dd::sum(1.0, -c);
        let square = |x: f64| Dd::from(x).scale(x);
        let a = self.half_precision.mul(square(near)).scale(c);
        let b = self.half_precision.mul(square(nearest)).mul(one_minus_c);
        tilt.exponent = a.add(b).neg();
        tilt.magnitude = a.hi.abs() + b.hi.abs();
        tilt.phase = nearest;
        tilt.drift = self.step.scale(nearest);
        tilt.slope += self.step.hi * (nearest - 0.5 * self.shift);
        tilt
    }

    fn remainder(&self, tilt: &Tilt, turns: f64, blur: f64) -> Remainder {
        let (a, b) = self.arguments(tilt.state, turns);
        let blur = if self.dual { (0.0, 4.0 * PI * PI * self.sigma2 * blur) } else { (blur, 0.0) };
        let (s, error) = self.theta.deficit(a, b, blur);
        let mut remainder = ln_one_minus(s, error);
        remainder.value.re -= tilt.remainder;
        remainder.error += tilt.error + UNIT * remainder.value.re.abs();
        remainder
    }

    fn remainder_bound(&self, turns: f64) -> f64 {
        if !self.dual {
            return f64::INFINITY;
        }
        let m = self.theta.majorant(turns);
        if m < 0.5 { 2.0 * m / (1.0 - m) * (1.0 + 1e-9) } else { f64::INFINITY }
    }

    fn decay(&self, turns: f64) -> f64 {
        // sin² x ≥ x² − x⁴/3, which rises to 3/4 at x² = 3/2; and ≥ 4x²/π² up to x = π/2.
        let x2 = PI * PI * turns * turns;
        let series = if x2 < 1.5 { x2 - x2 * x2 / 3.0 } else { 0.75 };
        let sin2 = series.max(4.0 * turns * turns);
        let by_variance = 2.0 * self.least_variance * sin2;
        let by_dual = if self.dual { 2.0 * self.sigma2 * x2 - self.dual_slack } else { 0.0 };
        by_variance.max(by_dual) * (1.0 - 1e-12)
    }
}
