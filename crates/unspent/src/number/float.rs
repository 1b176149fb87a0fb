//! The one door to floating-point functions, and the few types the error analysis is written in.
//!
//! Contract, stated once. [`UNIT`] is the unit roundoff `u = 2⁻⁵³`: every `+ − × ÷ √` and `mul_add` of two
//! doubles is the exact result times `1 + θ`, `|θ| ≤ u`, barring overflow and underflow (IEEE 754). Every
//! elementary function below is assumed to return the exact value of the function at the given double times
//! `1 + θ`, `|θ| ≤ FUNCTION` = 4u, i.e. two units in the last place, unless that is subnormal; the `pxfm`
//! crate documents half a unit, so this leaves a factor of four. Nothing else about them is used.
//! `clippy.toml` bans the standard library's versions everywhere else.
//!
//! [`Dd`] is a double-double: an unevaluated sum of two doubles, good to about 2⁻¹⁰⁴ relative.
//! It carries exponents, whose *absolute* error is the relative error of the answer.

/// Unit roundoff of `f64`.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;
/// Assumed relative error of every elementary function in this module.
pub(crate) const FUNCTION: f64 = 4.0 * UNIT;
/// Relative error of one [`Dd`] operation, with respect to the magnitudes of its operands
/// (Joldes, Muller and Popescu 2017 prove between 2·2⁻¹⁰⁶ and 10·2⁻¹⁰⁶ for those used here).
pub(crate) const DD_UNIT: f64 = 1.0 / (1u128 << 102) as f64;

pub(crate) use std::f64::consts::PI;

/// `e^x`, also where that is subnormal: within 2⁻¹⁰⁷¹ there (`theory/rounding.md`, R2a).
pub(crate) fn exp(x: f64) -> f64 {
    // e^−708 is the last power above every subnormal; e^−745.2 is below half of the least.
    if x >= -708.0 || x.is_nan() {
        return pxfm::f_exp(x);
    }
    if x < -745.2 {
        return 0.0;
    }
    // There the library's own result is off by up to 0.84·2⁻¹⁰²² at some 3 in 10⁵ arguments (pxfm 0.1.30).
    let (r, k) = split_exponent(Dd::from(x));
    // Two factors, of which the first is exact: only the last product rounds.
    pxfm::f_exp(r) * 2f64.powi(k as i32 + 64) * 2f64.powi(-64)
}
pub(crate) fn expm1(x: f64) -> f64 {
    pxfm::f_expm1(x)
}
pub(crate) fn ln(x: f64) -> f64 {
    pxfm::f_log(x)
}
pub(crate) fn ln1p(x: f64) -> f64 {
    pxfm::f_log1p(x)
}
pub(crate) fn atan2(y: f64, x: f64) -> f64 {
    // Near the real axis, where most calls are, and where a correctly rounded function takes longest: with
    // r = y/x and |r| ≤ 2⁻⁹, r − r³/3 + r⁵/5 is within r⁶/7 < 2⁻⁵⁶ of atan r, relatively. The quotient is
    // within u, the bracket within u and its product within another: 3.1u in all.
    const NEAR: f64 = 1.0 / 512.0;
    if x > 0.0 && y.abs() <= NEAR * x {
        let r = y / x;
        let r2 = r * r;
        // Below 2⁻⁵⁰⁰ the square may vanish, and with it only what does not show.
        return r * (1.0 - r2 * (1.0 / 3.0 - 0.2 * r2));
    }
    pxfm::f_atan2(y, x)
}
/// `(sin x, cos x)`.
pub(crate) fn sin_cos(x: f64) -> (f64, f64) {
    pxfm::f_sincos(x)
}
/// `(sin πx, cos πx)`.
pub(crate) fn sin_cos_pi(x: f64) -> (f64, f64) {
    pxfm::f_sincospi(x)
}
/// `(sinh x, cosh x)`.
pub(crate) fn sinh_cosh(x: f64) -> (f64, f64) {
    (pxfm::f_sinh(x), pxfm::f_cosh(x))
}
/// `e^{x²} erfc(x)`, used only where any value is valid (choosing tilts and first guesses).
pub(crate) fn erfcx(x: f64) -> f64 {
    pxfm::f_erfcx(x)
}

/// `x` moved up by `steps` relative steps of [`UNIT`]: an upper bound of every real within
/// relative distance `steps·u` of `x`.
pub(crate) fn up(x: f64, steps: f64) -> f64 {
    (x + x.abs() * (steps * UNIT)).next_up()
}
/// As [`up`], downwards.
pub(crate) fn down(x: f64, steps: f64) -> f64 {
    (x - x.abs() * (steps * UNIT)).next_down()
}

/// A double-double `hi + lo`, `|lo| ≤ u·|hi|`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dd {
    pub hi: f64,
    pub lo: f64,
}

/// `a + b` exactly.
fn two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    let bb = hi - a;
    Dd { hi, lo: (a - (hi - bb)) + (b - bb) }
}

/// `a + b` exactly, for `|a| ≥ |b|`.
fn quick_two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    Dd { hi, lo: b - (hi - a) }
}

/// `a·b` exactly.
fn two_prod(a: f64, b: f64) -> Dd {
    let hi = a * b;
    Dd { hi, lo: a.mul_add(b, -hi) }
}

impl Dd {
    pub const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };

    /// `a + b`, exactly.
    pub fn sum(a: f64, b: f64) -> Dd {
        two_sum(a, b)
    }

    pub fn add(self, other: Dd) -> Dd {
        let s = two_sum(self.hi, other.hi);
        let t = two_sum(self.lo, other.lo);
        let s = quick_two_sum(s.hi, s.lo + t.hi);
        quick_two_sum(s.hi, s.lo + t.lo)
    }

    pub fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }

    pub fn sub(self, other: Dd) -> Dd {
        self.add(other.neg())
    }

    pub fn mul(self, other: Dd) -> Dd {
        let p = two_prod(self.hi, other.hi);
        quick_two_sum(p.hi, p.lo + (self.hi * other.lo + self.lo * other.hi))
    }

    pub fn scale(self, by: f64) -> Dd {
        self.mul(Dd::from(by))
    }

    pub fn div(self, by: Dd) -> Dd {
        let q1 = self.hi / by.hi;
        let r = self.sub(by.scale(q1));
        let q2 = r.hi / by.hi;
        let r = r.sub(by.scale(q2));
        quick_two_sum(q1, q2).add(Dd::from(r.hi / by.hi))
    }

    /// `self − ⌊self⌉` in `[−½, ½]`, rounded once to double; exact reduction as long as the
    /// integer part fits in 2⁵³.
    pub fn fraction(self) -> f64 {
        let whole = self.hi.round();
        // `hi − whole` is exact: either it is zero or the two are within a factor of two.
        let f = (self.hi - whole) + self.lo;
        if f > 0.5 {
            f - 1.0
        } else if f < -0.5 {
            f + 1.0
        } else {
            f
        }
    }

    pub fn to_f64(self) -> f64 {
        self.hi + self.lo
    }

    /// `e^self` for `|self| ≤ 660`, within 2⁻⁹⁰ relative (`theory/rounding.md`, R11).
    pub fn exp(self) -> Dd {
        let k = (self.hi / LN2[0]).round();
        let r = LN2.iter().fold(self, |r, part| r.sub(two_prod(k, *part)));
        // |r| ≤ 0.35: a 512th of it has a short series, and nine squarings undo that.
        let r = r.scale(1.0 / 512.0);
        let mut sum = Dd::ZERO;
        for i in (1..=11).rev() {
            sum = sum.add(Dd::from(1.0)).mul(r).div(Dd::from(f64::from(i)));
        }
        // expm1(2x) = e(2 + e) keeps the digits that 1 + e would lose.
        for _ in 0..9 {
            sum = sum.mul(sum.add(Dd::from(2.0)));
        }
        // Two factors: 2^k alone may be no double.
        let half = (k / 2.0).trunc();
        sum.add(Dd::from(1.0)).scale(2f64.powi(half as i32)).scale(2f64.powi((k - half) as i32))
    }

    /// `ln self` for a positive number between e^−660 and e^660, within `2⁻⁸⁹(1 + |ln self|)` (R11).
    pub fn ln(self) -> Dd {
        let first = Dd::from(ln(self.hi));
        // x = self·e^−first − 1 is a few u: ln(1 + x) = x − x²/2 + x³/3 up to 2⁻²⁰⁰.
        let x = self.mul(first.neg().exp()).sub(Dd::from(1.0));
        let series = x.sub(x.mul(x).scale(0.5)).add(x.mul(x).mul(x).scale(1.0 / 3.0));
        first.add(series)
    }
}

impl From<f64> for Dd {
    fn from(x: f64) -> Dd {
        Dd { hi: x, lo: 0.0 }
    }
}

/// `2π` to double-double.
pub(crate) const TWO_PI: Dd = Dd { hi: std::f64::consts::TAU, lo: 2.4492935982947064e-16 };

/// `ln 2` to double-double.
pub(crate) const LN_TWO: Dd = Dd { hi: LN2[0], lo: LN2[1] };

/// `ln 2` in three doubles, for reducing large exponents.
const LN2: [f64; 3] = [std::f64::consts::LN_2, 2.3190468138462996e-17, 5.707708438416212e-34];

/// Largest exponent magnitude that [`split_exponent`] reduces; beyond it callers saturate outward.
pub(crate) const EXPONENT_LIMIT: f64 = (1u64 << 61) as f64;

/// Writes `e^x` as `e^r · 2^k` with `|r| < 0.5`, for `|x| ≤` [`EXPONENT_LIMIT`].
///
/// # Guarantee
/// `|x − (r + k·ln 2)| ≤ UNIT + |x|·2⁻⁹⁸`: `k` is an integer that is a double, the three products
/// `k·LN2[i]` are formed exactly as pairs, and what is left of ln 2 is below 2⁻¹⁶⁰.
pub(crate) fn split_exponent(x: Dd) -> (f64, i64) {
    let reduce = |x: Dd, k: f64| LN2.iter().fold(x, |r, part| r.sub(two_prod(k, *part)));
    let first = (x.hi / LN2[0]).round();
    let r = reduce(x, first);
    // Beyond 2⁵³ the first quotient is a double but not the nearest integer.
    let second = (r.hi / LN2[0]).round();
    (reduce(r, second).to_f64(), first as i64 + second as i64)
}

/// A complex double.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub fn new(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    pub fn plus(self, o: Complex) -> Complex {
        Complex::new(self.re + o.re, self.im + o.im)
    }

    /// Relative error at most 4u of the modulus of the result.
    pub fn mul(self, o: Complex) -> Complex {
        Complex::new(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)
    }

    /// Relative error at most 8u of the modulus of the result.
    pub fn div(self, o: Complex) -> Complex {
        let n = o.re * o.re + o.im * o.im;
        Complex::new((self.re * o.re + self.im * o.im) / n, (self.im * o.re - self.re * o.im) / n)
    }

    /// Relative error at most 2u.
    pub fn abs(self) -> f64 {
        (self.re * self.re + self.im * self.im).sqrt()
    }
}

/// Compensated (Neumaier) summation: error at most `2u·|sum| + n²u²·Σ|terms|`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    total: f64,
    carry: f64,
}

impl Sum {
    pub fn push(&mut self, x: f64) {
        let s = two_sum(self.total, x);
        self.total = s.hi;
        self.carry += s.lo;
    }

    pub fn value(&self) -> f64 {
        self.total + self.carry
    }
}

#[cfg(test)]
mod elementary;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_double_division_undoes_multiplication() {
        let a = Dd::sum(1.0, 1e-17).div(Dd::from(3.0));
        let back = a.scale(3.0).sub(Dd::sum(1.0, 1e-17));
        assert!(back.to_f64().abs() < 4.0 * DD_UNIT);
    }

    /// R11, against 200 bits.
    #[test]
    fn double_double_exponentials_and_logarithms_are_within_their_errors() {
        use dashu_float::{FBig, round::mode::HalfEven};
        type Big = FBig<HalfEven, 2>;
        let big = |x: f64| Big::try_from(x).unwrap().with_precision(300).value();
        let of = |x: Dd| big(x.hi) + big(x.lo);
        for i in 0..400 {
            let x = Dd::from(f64::from(i - 200) * 3.2987).div(Dd::from(1.0 + f64::from(i % 7) * 0.37));
            let truth = of(x).exp();
            let off = ((of(x.exp()) - &truth) / &truth).to_f64().value().abs();
            assert!(off <= 2f64.powi(-90), "{x:?}: {:e}", off * 2f64.powi(90));
            let y = x.exp();
            let off = (of(y.ln()) - of(y).ln()).to_f64().value().abs();
            assert!(off <= 2f64.powi(-89) * (1.0 + x.hi.abs()), "ln {y:?}: {off:e}");
        }
    }

    #[test]
    fn fraction_reduces_across_the_low_part() {
        let x = Dd::sum(12345.0, 0.25e-17);
        assert_eq!(x.fraction(), 0.25e-17);
        let x = Dd::sum(0.5, 1e-17);
        assert!(x.fraction().abs() <= 0.5);
    }

    /// Every exponential that is subnormal, or nearly, against one computed with 200 bits (R2a); and
    /// logarithms of such.
    #[test]
    fn exponentials_near_the_smallest_doubles_are_what_they_are_said_to_be() {
        use dashu_float::{FBig, round::mode::HalfEven};
        type Big = FBig<HalfEven, 2>;
        let big = |x: f64| Big::try_from(x).unwrap().with_precision(200).value();
        let tiny = big(2f64.powi(-1000)) * big(2f64.powi(-71));
        let check = |x: f64| {
            let (found, truth) = (big(exp(x)), big(x).exp());
            let off = if found > truth { &found - &truth } else { &truth - &found };
            let allowed = if x < -708.0 { tiny.clone() } else { truth * big(FUNCTION) };
            assert!(off <= allowed, "exp({x:?}) = {:e}", exp(x));
        };
        for x in [-709.80394, -708.0, (-708f64).next_down(), -745.2, (-745.2f64).next_down(), -745.13, -1e300]
        {
            check(x);
        }
        let mut state = 1u64;
        for _ in 0..40_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            check(-707.0 - 39.0 * ((state >> 11) as f64 / (1u64 << 53) as f64));
        }
        assert_eq!((exp(f64::NEG_INFINITY), exp(0.0)), (0.0, 1.0));
        assert!(exp(f64::NAN).is_nan());
        for x in [f64::from_bits(1), f64::from_bits(12_345), 2f64.powi(-1030), f64::MIN_POSITIVE] {
            // These are their own arguments, and ln 2^−1074 is −1074 ln 2.
            assert!([expm1(x), ln1p(x), sinh_cosh(x).0].iter().all(|y| *y == x), "{x:e}");
            let truth = big(x).ln();
            let off = big(ln(x)) - &truth;
            assert!(off < -&truth * big(FUNCTION) && off > truth * big(FUNCTION), "{x:e}");
        }
    }

    #[test]
    fn split_exponent_reconstructs_its_argument() {
        for x in [-2e18, -1e15, -2.5e7, -1.0, 0.0, 0.3, 700.0, 1e14] {
            let (r, k) = split_exponent(Dd::from(x));
            assert!(r.abs() < 0.5, "{x} {r}");
            let (high, low) = ((k >> 30 << 30) as f64, (k & ((1 << 30) - 1)) as f64);
            let back = LN2
                .iter()
                .fold(Dd::from(r), |s, part| s.add(two_prod(high, *part)).add(two_prod(low, *part)));
            assert!(back.sub(Dd::from(x)).to_f64().abs() <= UNIT + x.abs() * 2f64.powi(-98));
        }
    }
}
