//! Complex double-doubles, as far as they are needed.

use crate::number::float::{self, Complex, Dd, TWO_PI};

/// A complex number of two double-doubles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wide {
    pub re: Dd,
    pub im: Dd,
}

/// Relative error of what is computed here, and absolute error of its logarithms: the sums of `Wide::exp` are
/// those of [`Dd::exp`], which is within 2⁻⁹⁰, and no more than some hundred operations follow (R13).
pub(super) const WIDE_UNIT: f64 = 1.0 / (1u128 << 80) as f64;

impl Wide {
    pub fn new(re: Dd, im: Dd) -> Wide {
        Wide { re, im }
    }

    pub fn plus(self, o: Wide) -> Wide {
        Wide::new(self.re.add(o.re), self.im.add(o.im))
    }

    pub fn neg(self) -> Wide {
        Wide::new(self.re.neg(), self.im.neg())
    }

    pub fn conjugate(self) -> Wide {
        Wide::new(self.re, self.im.neg())
    }

    pub fn times(self, o: Wide) -> Wide {
        Wide::new(self.re.mul(o.re).sub(self.im.mul(o.im)), self.re.mul(o.im).add(self.im.mul(o.re)))
    }

    pub fn scale(self, by: f64) -> Wide {
        Wide::new(self.re.scale(by), self.im.scale(by))
    }

    pub fn over(self, o: Wide) -> Wide {
        let n = o.re.mul(o.re).add(o.im.mul(o.im));
        let top = self.times(o.conjugate());
        Wide::new(top.re.div(n), top.im.div(n))
    }

    pub fn near(self) -> Complex {
        Complex::new(self.re.to_f64(), self.im.to_f64())
    }

    /// For real parts between −660 and 660.
    pub fn exp(self) -> Wide {
        let turns = self.im.div(TWO_PI);
        let angle = turns.sub(Dd::from(turns.hi.round())).mul(TWO_PI);
        // A 32nd of the angle is below 0.1, and (0.1)¹⁶/17! below 2⁻¹⁰⁰ of the first term.
        let x = angle.scale(1.0 / 32.0);
        let x2 = x.mul(x);
        let (mut cosine, mut sine) = (Dd::ZERO, Dd::ZERO);
        for k in (1..=8).rev() {
            let (a, b) = (f64::from(2 * k), f64::from(2 * k + 1));
            // 1 − x²/((2k)(2k−1))·(…) and 1 − x²/((2k)(2k+1))·(…), both less their 1.
            cosine = x2.mul(cosine.add(Dd::from(1.0))).div(Dd::from(-a * (a - 1.0)));
            sine = x2.mul(sine.add(Dd::from(1.0))).div(Dd::from(-a * b));
        }
        // e^{iθ} − 1, doubled five times by e(2 + e).
        let mut e = Wide::new(cosine, x.mul(sine.add(Dd::from(1.0))));
        for _ in 0..5 {
            e = e.times(Wide::new(e.re.add(Dd::from(2.0)), e.im));
        }
        let size = self.re.exp();
        Wide::new(e.re.add(Dd::from(1.0)).mul(size), e.im.mul(size))
    }

    /// The logarithm, of numbers of modulus between e^−600 and e^600.
    pub fn ln(self) -> Wide {
        let near = self.near();
        // The modulus may be no double when squared.
        let scale = near.re.abs().max(near.im.abs());
        let unit = Complex::new(near.re / scale, near.im / scale);
        let start = (float::ln(scale) + float::ln(unit.abs()), float::atan2(near.im, near.re));
        let start = Wide::new(Dd::from(start.0), Dd::from(start.1));
        // x = self·e^−start − 1 is a few units: ln(1 + x) = x − x²/2 + x³/3 up to 2⁻²⁰⁰.
        let product = self.times(start.neg().exp());
        let x = Wide::new(product.re.sub(Dd::from(1.0)), product.im);
        let x2 = x.times(x);
        start.plus(x).plus(x2.scale(-0.5)).plus(x2.times(x).scale(1.0 / 3.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(a: Wide, b: Wide) -> f64 {
        let d = a.plus(b.neg()).near();
        d.abs() / b.near().abs().max(1e-300)
    }

    #[test]
    fn exponentials_and_logarithms_are_within_their_error() {
        // e^{iπ/3} has the real part ½, and its cube is −1.
        let sixth = Wide::new(Dd::ZERO, TWO_PI.div(Dd::from(6.0))).exp();
        assert!(sixth.re.sub(Dd::from(0.5)).to_f64().abs() < 2f64.powi(-95), "{sixth:?}");
        let cube = sixth.times(sixth).times(sixth);
        assert!(off(cube, Wide::new(Dd::from(-1.0), Dd::ZERO)) < 2f64.powi(-95));
        for i in 0..200 {
            let z = Wide::new(
                Dd::from(f64::from(i - 100) * 0.731).div(Dd::from(3.0)),
                Dd::from(f64::from(i % 23) * 1.173 - 12.0).div(Dd::from(7.0)),
            );
            let (e, back) = (z.exp(), z.neg().exp());
            assert!(off(e.times(back), Wide::new(Dd::from(1.0), Dd::ZERO)) < 2f64.powi(-86));
            // Addition of exponents, and the double functions.
            let (one, other) = (z.scale(0.25).exp(), z.scale(0.75).exp());
            assert!(off(one.times(other), e) < 2f64.powi(-86));
            let (sin, cos) = float::sin_cos(z.im.to_f64());
            let size = float::exp(z.re.to_f64());
            let near = Wide::new(Dd::from(size * cos), Dd::from(size * sin));
            assert!(off(near, e) < 1e-13);
            let turns = (z.im.hi / TWO_PI.hi).round();
            let principal = Wide::new(z.re, z.im.sub(TWO_PI.scale(turns)));
            let found = e.ln().plus(principal.neg()).near().abs();
            assert!(found < WIDE_UNIT / 8.0, "{z:?}: {found:e}");
        }
    }
}
