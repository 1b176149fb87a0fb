//! Ratios and shares of two estimates, by Fieller's method (Lemma E9 of `theory/estimates.md`).
//!
//! A ratio r of two true counts makes `a − r b` an estimate of 0, with variance `Vaa − 2 r Vab + r² Vbb`. Every
//! r for which that estimate is not too far from 0 is in the set. Nothing is linearised, so that the
//! confidence is kept however small the denominator is; but the set may then be unbounded.

use std::fmt;
use std::ops::{Mul, Sub};

use num_bigint::BigInt;
use num_traits::{Float, Signed, ToPrimitive, Zero};

use crate::Confidence;

/// More than the rounding errors of variances and covariances, relative to the variances.
const ROUNDING: f64 = 1.0 / (1u64 << 30) as f64;
/// More than the rounding errors of a root whose coefficients are exact, relative.
const ROOT_ROUNDING: f64 = 1.0 / (1u64 << 48) as f64;

/// An estimate and its variance, which is 0 if it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The estimate.
    pub value: f64,
    /// Its variance.
    pub variance: f64,
}

/// The ratio of two counts that are estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The count above.
    pub numerator: Estimated,
    /// The count below.
    pub denominator: Estimated,
    /// The covariance of both.
    pub covariance: f64,
    /// Whether every record that is counted above is also counted below, so that the ratio is between 0 and 1.
    pub share: bool,
}

/// Where a ratio is, with some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RatioSet {
    /// From the lower end to the upper one.
    Interval {
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
    },
    /// At most `lower`, or at least `upper`: the denominator may be 0, or have either sign.
    Outside {
        /// The end of the lower part.
        lower: f64,
        /// The beginning of the upper part.
        upper: f64,
    },
    /// Any value is possible.
    Any,
    /// There is no ratio: the denominator is exactly 0.
    Undefined,
}

impl fmt::Display for RatioSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RatioSet::Interval { lower, upper } => write!(f, "{lower} to {upper}"),
            RatioSet::Outside { lower, upper } => write!(f, "at most {lower}, or at least {upper}"),
            RatioSet::Any => f.write_str("any value: the denominator may be 0"),
            RatioSet::Undefined => f.write_str("none: the denominator is exactly 0"),
        }
    }
}

impl RatioSet {
    /// Whether a ratio is in it.
    #[must_use]
    pub fn contains(&self, ratio: f64) -> bool {
        match self {
            RatioSet::Interval { lower, upper } => (*lower..=*upper).contains(&ratio),
            RatioSet::Outside { lower, upper } => ratio <= *lower || ratio >= *upper,
            RatioSet::Any => true,
            RatioSet::Undefined => false,
        }
    }

    /// What is left between 0 and 1, where a share is. If nothing is, the share that is nearest to it.
    fn of_share(self) -> RatioSet {
        match self {
            RatioSet::Interval { lower, upper } => {
                RatioSet::Interval { lower: lower.clamp(0.0, 1.0), upper: upper.clamp(0.0, 1.0) }
            }
            RatioSet::Outside { lower, upper } => match (lower >= 0.0, upper <= 1.0) {
                _ if lower >= 1.0 || upper <= 0.0 => RatioSet::Any,
                (true, true) => self,
                (true, false) => RatioSet::Interval { lower: 0.0, upper: lower },
                (false, true) => RatioSet::Interval { lower: upper, upper: 1.0 },
                (false, false) => RatioSet::Any,
            },
            other => other,
        }
    }
}

impl Ratio {
    /// The ratio of the estimates; none if the denominator is 0. It is not unbiased.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        (self.denominator.value != 0.0).then(|| self.numerator.value / self.denominator.value)
    }

    /// The set that has this confidence if errors are normal. It is no guarantee.
    #[must_use]
    pub fn normal(&self, confidence: &Confidence) -> RatioSet {
        self.set(confidence.normal(1.0))
    }

    /// A set that has at least this confidence.
    ///
    /// `a − r b` is a sum of noise for the true ratio, so that the bound of [`Confidence::guaranteed`] holds.
    #[must_use]
    pub fn guaranteed(&self, confidence: &Confidence) -> RatioSet {
        self.set(confidence.guaranteed(1.0))
    }

    /// All r with `(a − r b)² ≤ q² (Vaa − 2 r Vab + r² Vbb)`, and a little more.
    fn set(&self, q: f64) -> RatioSet {
        let (a, b) = (self.numerator, self.denominator);
        let numbers = [a.value, a.variance, b.value, b.variance, self.covariance, q];
        if !(numbers.iter().all(|x| x.is_finite()) && a.variance >= 0.0 && b.variance >= 0.0) {
            return RatioSet::Any;
        }
        let set = match (a.variance == 0.0, b.variance == 0.0) {
            (_, true) if b.value == 0.0 => return RatioSet::Undefined,
            // Whatever the denominator is.
            (true, _) if a.value == 0.0 => RatioSet::Interval { lower: 0.0, upper: 0.0 },
            (true, true) => quotient(a.value, b.value),
            (false, false) => fieller(a, b, self.covariance, q),
            // What is exact has no covariance.
            _ => fieller(a, b, 0.0, q),
        };
        if self.share { set.of_share() } else { set }
    }
}

/// `.0 · 2^.1`: doubles, and what becomes of them without any rounding.
#[derive(Clone, Debug)]
struct Dyadic(BigInt, i64);

impl Dyadic {
    /// As a multiple of a power of 2 that is not larger than its own.
    fn in_units_of(self, exponent: i64) -> BigInt {
        self.0 << (self.1 - exponent)
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: &Dyadic) -> Dyadic {
        Dyadic(&self.0 * &other.0, self.1 + other.1)
    }
}

impl Sub for Dyadic {
    type Output = Dyadic;
    fn sub(self, other: Dyadic) -> Dyadic {
        let exponent = self.1.min(other.1);
        Dyadic(self.in_units_of(exponent) - other.in_units_of(exponent), exponent)
    }
}

fn exact(x: f64) -> Dyadic {
    let (mantissa, exponent, sign) = x.integer_decode();
    Dyadic(BigInt::from(mantissa) * sign, exponent.into())
}

/// A double within 2⁻⁵² of the number, relative; none if doubles have not their full precision there.
fn double(Dyadic(number, exponent): &Dyadic) -> Option<f64> {
    if number.is_zero() {
        return Some(0.0);
    }
    let left_out = number.bits().saturating_sub(64) as i64;
    let exponent = exponent + left_out;
    let leading = (number >> left_out).to_f64().filter(|_| exponent.abs() < 2_000)?;
    // In two steps, of which neither leaves the doubles if the result does not.
    let half = exponent as i32 / 2;
    let found = leading * 2f64.powi(half) * 2f64.powi(exponent as i32 - half);
    Some(found).filter(|x| x.is_normal())
}

/// The quotient of two exact numbers.
fn quotient(a: f64, b: f64) -> RatioSet {
    let found = a / b;
    if !found.is_normal() {
        return RatioSet::Any;
    }
    match (&exact(found) * &exact(b) - exact(a)).0.is_zero() {
        true => RatioSet::Interval { lower: found, upper: found },
        false => RatioSet::Interval { lower: found.next_down(), upper: found.next_up() },
    }
}

/// The inequality as `A r² − 2 B r + C ≤ 0`.
fn fieller(a: Estimated, b: Estimated, covariance: f64, q: f64) -> RatioSet {
    let (q2, more) = (&exact(q) * &exact(q), exact(1.0 + ROUNDING));
    let coefficient = |x: f64, y: f64, variance: &Dyadic| &exact(x) * &exact(y) - &q2 * variance;
    let quadratic = coefficient(b.value, b.value, &(&exact(b.variance) * &more));
    let linear = coefficient(a.value, b.value, &exact(covariance));
    let constant = coefficient(a.value, a.value, &(&exact(a.variance) * &more));
    let discriminant = &linear * &linear - &quadratic * &constant;
    // A half line, which no rounded number can tell from the rest; or every r.
    if quadratic.0.is_zero() || discriminant.0.is_negative() {
        return RatioSet::Any;
    }
    let Some((lower, upper)) = roots(&quadratic, &linear, &constant, &discriminant) else {
        return RatioSet::Any;
    };
    let (down, up) = (|x: f64| x - x.abs() * ROOT_ROUNDING, |x: f64| x + x.abs() * ROOT_ROUNDING);
    if quadratic.0.is_positive() {
        return RatioSet::Interval { lower: down(lower), upper: up(upper) };
    }
    match (up(lower), down(upper)) {
        (lower, upper) if lower < upper => RatioSet::Outside { lower, upper },
        _ => RatioSet::Any,
    }
}

/// Both roots, the smaller one first; none if doubles have not their full precision there.
///
/// The one whose terms have the same sign is computed as usual, and the other by the product of both: no
/// digits cancel.
fn roots(a: &Dyadic, b: &Dyadic, c: &Dyadic, discriminant: &Dyadic) -> Option<(f64, f64)> {
    let (a, b, c, root) = (double(a)?, double(b)?, double(c)?, double(discriminant)?.sqrt());
    let sum = if b < 0.0 { b - root } else { b + root };
    let one = normal(sum / a, sum == 0.0)?;
    // If the sum is 0 so are the linear term and the discriminant, and with them the constant.
    let other = if sum == 0.0 { 0.0 } else { normal(c / sum, c == 0.0)? };
    Some((one.min(other), one.max(other)))
}

fn normal(x: f64, is_zero: bool) -> Option<f64> {
    if is_zero { Some(0.0) } else { Some(x).filter(|x| x.is_normal()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform from 0 to 1.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        /// Normal, by the polar form.
        fn normal(&mut self) -> f64 {
            let (radius, angle) =
                (pxfm::f_log(1.0 - self.next()) * -2.0, self.next() * std::f64::consts::TAU);
            radius.sqrt() * pxfm::f_cos(angle)
        }

        fn sign(&mut self) -> f64 {
            if self.next() < 0.5 { -1.0 } else { 1.0 }
        }
    }

    fn confidence(level: &str) -> Confidence {
        Confidence::new(level.parse().unwrap()).unwrap()
    }

    fn ratio((a, vaa): (f64, f64), (b, vbb): (f64, f64), covariance: f64) -> Ratio {
        let (numerator, denominator) =
            (Estimated { value: a, variance: vaa }, Estimated { value: b, variance: vbb });
        Ratio { numerator, denominator, covariance, share: false }
    }

    /// How often the true ratio is in the set; the noise is the same in `a` and `b` where both have a weight.
    fn coverage(
        random: &mut Random,
        noise: impl Fn(&mut Random) -> f64,
        truth: (f64, f64),
        weights: [(f64, f64); 3],
        set: impl Fn(&Ratio) -> RatioSet,
    ) -> (f64, f64) {
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| -> f64 { weights.iter().map(of).sum() };
        let (vaa, vbb, vab) = (sum(&|w| w.0 * w.0), sum(&|w| w.1 * w.1), sum(&|w| w.0 * w.1));
        let draws = 40_000;
        let (mut hit, mut bounded) = (0, 0);
        for _ in 0..draws {
            let (mut a, mut b) = truth;
            for (on_a, on_b) in weights {
                let error = noise(random);
                (a, b) = (a + on_a * error, b + on_b * error);
            }
            let set = set(&ratio((a, vaa), (b, vbb), vab));
            hit += u32::from(set.contains(truth.0 / truth.1));
            bounded += u32::from(matches!(set, RatioSet::Interval { .. }));
        }
        (f64::from(hit) / f64::from(draws), f64::from(bounded) / f64::from(draws))
    }

    /// True counts and weights of three sources of noise: from precise denominators to such that may be 0, with
    /// covariances of both signs.
    const PROBLEMS: [((f64, f64), [(f64, f64); 3]); 5] = [
        ((30.0, 100.0), [(3.0, 0.0), (0.0, 4.0), (1.0, 1.0)]),
        ((95.0, 100.0), [(8.0, 8.0), (1.0, 0.0), (0.0, 2.0)]),
        ((4.0, 6.0), [(2.0, -2.0), (1.0, 0.0), (0.0, 2.0)]),
        ((40.0, 2.0), [(3.0, 2.5), (1.0, 0.0), (0.0, 2.0)]),
        ((-5.0, 0.5), [(1.0, 1.0), (1.0, -1.0), (2.0, 0.0)]),
    ];

    #[test]
    fn normal_errors_are_covered_as_often_as_is_said() {
        let mut random = Random(1);
        let mut least_bounded: f64 = 1.0;
        for (truth, weights) in PROBLEMS {
            for (level, text) in [(0.95, "0.95"), (0.8, "0.8")] {
                let confidence = confidence(text);
                let normal = |ratio: &Ratio| ratio.normal(&confidence);
                let (covered, bounded) = coverage(&mut random, Random::normal, truth, weights, normal);
                // Four standard errors of a frequency.
                let margin: f64 = 4.0 * (level * (1.0 - level) / 40_000f64).sqrt();
                assert!((covered - level).abs() < margin, "{truth:?} at {level}: {covered}");
                least_bounded = least_bounded.min(bounded);
            }
        }
        assert!(least_bounded < 0.5, "some sets are unbounded");
    }

    #[test]
    fn guaranteed_sets_cover_more_often_than_is_said_for_any_sub_gaussian_noise() {
        let mut random = Random(2);
        let confidence = confidence("0.9");
        for (truth, weights) in PROBLEMS {
            let guaranteed = |ratio: &Ratio| ratio.guaranteed(&confidence);
            for noise in [Random::normal, Random::sign] {
                let (covered, _) = coverage(&mut random, noise, truth, weights, guaranteed);
                assert!(covered > 0.9, "{truth:?}: {covered}");
            }
        }
    }

    #[test]
    fn sets_are_where_the_inequality_holds() {
        let mut random = Random(3);
        let (mut kinds, mut compared) = ([0; 3], 0);
        for _ in 0..3_000 {
            let scale = |random: &mut Random| pxfm::f_exp10(8.0 * random.next() - 2.0);
            let (a, b) = (scale(&mut random) * random.sign(), scale(&mut random) * random.sign());
            let (vaa, vbb) = (scale(&mut random), scale(&mut random));
            let vab = (vaa * vbb).sqrt() * (2.0 * random.next() - 1.0);
            let set = ratio((a, vaa), (b, vbb), vab).set(2.0);
            kinds[match set {
                RatioSet::Interval { .. } => 0,
                RatioSet::Outside { .. } => 1,
                _ => 2,
            }] += 1;
            for _ in 0..20 {
                let r = scale(&mut random) / scale(&mut random) * random.sign();
                let (left, right) = ((a - r * b).powi(2), 4.0 * (vaa - 2.0 * r * vab + r * r * vbb));
                let terms = a * a + r * r * b * b + 4.0 * (vaa + r * r * vbb);
                if (left - right).abs() > 1e-8 * terms {
                    assert_eq!(set.contains(r), left < right, "{a} {b} {vaa} {vbb} {vab} {r}: {set}");
                    compared += 1;
                }
            }
        }
        assert!(kinds.iter().all(|count| *count > 300) && compared > 50_000, "{kinds:?} {compared}");
    }

    #[test]
    fn ends_do_not_lose_digits() {
        // The denominator is 1, nearly exactly; the numerator less twice its deviation nearly cancels.
        let set = ratio((2e8, 1e16), (1.0, 1e-30), 0.0).set(2.0);
        let RatioSet::Interval { lower, upper } = set else { panic!("{set}") };
        // 2e8 ∓ 2e8 · √(1 + 2⁻³⁰).
        let more = 1e8 / f64::from(1 << 30);
        assert!((lower / -more - 1.0).abs() < 1e-9, "{lower}");
        assert!((upper / (4e8 + more) - 1.0).abs() < 1e-14, "{upper}");
    }

    #[test]
    fn what_is_exact_needs_no_margin() {
        let exact = |a: f64, b: f64| ratio((a, 0.0), (b, 0.0), 0.0).set(3.0);
        assert_eq!(exact(1.0, 4.0), RatioSet::Interval { lower: 0.25, upper: 0.25 });
        let RatioSet::Interval { lower, upper } = exact(1.0, 3.0) else { panic!() };
        assert!(lower < 1.0 / 3.0 && 1.0 / 3.0 < upper && upper - lower < 1e-15);
        assert_eq!([exact(0.0, 0.0), exact(2.0, 0.0)], [RatioSet::Undefined; 2]);
        // An exact denominator: a/b ± q sd/b. Covariances with what is exact are rounding errors.
        let set = ratio((10.0, 4.0), (5.0, 0.0), 1e-14).set(2.0);
        let RatioSet::Interval { lower, upper } = set else { panic!("{set}") };
        assert!((lower - 1.2).abs() < 1e-8 && lower < 1.2 && (upper - 2.8).abs() < 1e-8 && upper > 2.8);
        // An exact numerator of 0, over whatever is not 0.
        assert_eq!(
            ratio((0.0, 0.0), (1.0, 9.0), 0.0).set(2.0),
            RatioSet::Interval { lower: 0.0, upper: 0.0 }
        );
        // An exact numerator: 10 over 4 to 6, and over −1 to 11.
        let RatioSet::Interval { lower, upper } = ratio((10.0, 0.0), (5.0, 0.25), 0.0).set(2.0) else {
            panic!()
        };
        assert!((lower - 10.0 / 6.0).abs() < 1e-8 && (upper - 2.5).abs() < 1e-8);
        let RatioSet::Outside { lower, upper } = ratio((10.0, 0.0), (5.0, 9.0), 0.0).set(2.0) else {
            panic!()
        };
        assert!((lower + 10.0).abs() < 1e-7 && (upper - 10.0 / 11.0).abs() < 1e-8);
    }

    #[test]
    fn a_share_is_between_0_and_1() {
        let share = |a: (f64, f64), b: (f64, f64), covariance: f64| {
            Ratio { share: true, ..ratio(a, b, covariance) }.set(2.0)
        };
        let RatioSet::Interval { lower, upper } = share((95.0, 25.0), (100.0, 25.0), 20.0) else { panic!() };
        assert!(lower > 0.8 && lower < 0.95 && upper == 1.0);
        // The estimate is far outside: the nearest share.
        let one = RatioSet::Interval { lower: 1.0, upper: 1.0 };
        assert_eq!(share((150.0, 1.0), (100.0, 1.0), 0.0), one);
        assert_eq!(share((3.0, 0.0), (2.0, 0.0), 0.0), one);
        // The denominator may be 0: only the part between 0 and 1 is left.
        let RatioSet::Interval { lower, upper } = share((10.0, 0.01), (5.0, 9.0), 0.0) else { panic!() };
        assert!(lower > 0.8 && lower < 10.0 / 11.0 && upper == 1.0);
        assert_eq!(share((1.0, 9.0), (2.0, 9.0), 0.0), RatioSet::Any);
        let half = RatioSet::Outside { lower: 0.25, upper: 0.5 };
        assert_eq!(half.of_share(), half);
        let left = RatioSet::Outside { lower: 0.25, upper: 1.5 };
        assert_eq!(left.of_share(), RatioSet::Interval { lower: 0.0, upper: 0.25 });
        assert_eq!(RatioSet::Outside { lower: -2.0, upper: -1.0 }.of_share(), RatioSet::Any);
    }

    #[test]
    fn what_is_unbounded_is_said_in_words() {
        assert_eq!(
            ratio((1.0, 9.0), (0.0, 9.0), 0.0).set(2.0).to_string(),
            "any value: the denominator may be 0"
        );
        let outside = RatioSet::Outside { lower: -1.5, upper: 2.0 };
        assert_eq!(outside.to_string(), "at most -1.5, or at least 2");
        assert_eq!(RatioSet::Undefined.to_string(), "none: the denominator is exactly 0");
        // Nothing that is not a number makes a claim.
        for (variance, covariance) in [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (-1.0, 0.0), (1.0, f64::NAN)] {
            assert_eq!(ratio((1.0, variance), (1.0, 1.0), covariance).set(2.0), RatioSet::Any);
        }
        assert_eq!(ratio((1e300, 1.0), (1e300, 1.0), 0.0).set(2.0), RatioSet::Any);
    }

    #[test]
    fn the_estimate_is_the_ratio_of_the_estimates() {
        assert_eq!(ratio((1.0, 1.0), (4.0, 1.0), 0.0).estimate(), Some(0.25));
        assert_eq!(ratio((1.0, 1.0), (0.0, 1.0), 0.0).estimate(), None);
    }
}
