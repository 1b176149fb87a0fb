//! From exact numbers to doubles, magnitudes and decimals, and from magnitudes back.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

use super::bounds::Bounds;
use super::decimal::{self, ten_to};
use super::float::Dd;
use super::magnitude::{Magnitude, Round};
use super::rational::Rational;
use crate::stop;

impl Rational {
    /// The nearest double-double, within 2⁻¹⁰⁴ relative.
    pub(crate) fn to_dd(&self) -> Dd {
        ratio_to_dd(self.0.numer(), self.0.denom())
    }

    /// The nearest double, within one unit in the last place.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        self.to_dd().to_f64()
    }

    /// Bounds of its square root, exact if that is a double. For numbers from 0 on.
    pub fn square_root(&self) -> Bounds<f64> {
        let root = self.to_f64().sqrt();
        let is_exact = BigRational::from_float(root).is_some_and(|root| &root * &root == self.0);
        if is_exact {
            return Bounds::new(root, root);
        }
        // A correctly rounded root of a double that is rounded outward is off by less than one unit.
        let (lower, upper) = self.to_f64_bounds();
        Bounds::new(lower.sqrt().next_down(), upper.sqrt().next_up())
    }

    /// Doubles `lower ≤ self ≤ upper`, equal if `self` is one.
    pub(crate) fn to_f64_bounds(&self) -> (f64, f64) {
        let x = self.to_f64();
        match BigRational::from_float(x) {
            Some(back) => match back.cmp(&self.0) {
                Ordering::Equal => (x, x),
                Ordering::Less => (x, x.next_up()),
                Ordering::Greater => (x.next_down(), x),
            },
            None => (f64::MAX, f64::INFINITY),
        }
    }

    /// Magnitudes `lower ≤ |self| ≤ upper`, equal if `|self|` has at most 53 bits.
    pub(crate) fn to_magnitude_bounds(&self) -> (Magnitude, Magnitude) {
        let (numerator, denominator) = (self.0.numer().magnitude(), self.0.denom().magnitude());
        if numerator.is_zero() {
            return (Magnitude::ZERO, Magnitude::ZERO);
        }
        let shift = 54 - (numerator.bits() as i64 - denominator.bits() as i64);
        let (quotient, remainder) = if shift >= 0 {
            (numerator << shift as u64).div_rem(denominator)
        } else {
            numerator.div_rem(&(denominator << (-shift) as u64))
        };
        let (mut low, dropped) = (quotient, !remainder.is_zero());
        let mut exponent = -shift;
        let mut inexact = dropped;
        while low.bits() > 53 {
            inexact |= low.is_odd();
            low >>= 1;
            exponent += 1;
        }
        let low = low.to_u64().expect("53 bits");
        (
            Magnitude::from_parts(low as f64, exponent),
            Magnitude::from_parts((low + u64::from(inexact)) as f64, exponent),
        )
    }

    /// Magnitudes around `|self|`, equal if it has at most 53 bits.
    pub fn to_bounds(&self) -> Bounds<Magnitude> {
        let (lower, upper) = self.to_magnitude_bounds();
        Bounds::new(lower, upper)
    }

    /// Decimal digits, at most `digits` of them, rounded in the given direction.
    ///
    /// ```
    /// use unspent::{Rational, Round};
    /// let third: Rational = "1/3".parse()?;
    /// assert_eq!(third.to_decimal(5, Round::Up), "0.33334");
    /// # Ok::<(), unspent::Error>(())
    /// ```
    #[must_use]
    pub fn to_decimal(&self, digits: u32, round: Round) -> String {
        if self.is_zero() {
            return "0".into();
        }
        if self.0.is_negative() {
            let away = if round == Round::Up { Round::Down } else { Round::Up };
            return format!("-{}", Rational(-self.0.clone()).to_decimal(digits, away));
        }
        let (numerator, denominator) = (self.0.numer().magnitude(), self.0.denom().magnitude());
        let estimate = self.to_magnitude_bounds().0.log10(Round::Down);
        decimal::write(estimate, digits, |power| {
            let ten = BigUint::from(10u8).pow(power.unsigned_abs());
            let (whole, rest) = if power >= 0 {
                (numerator * ten).div_rem(denominator)
            } else {
                numerator.div_rem(&(denominator * ten))
            };
            let n = whole.to_u128().unwrap_or(u128::MAX);
            if round == Round::Up && !rest.is_zero() { n.saturating_add(1) } else { n }
        })
    }

    /// Exactly: in at most 17 digits, as in `1e-10`, or as a fraction.
    #[must_use]
    pub fn to_short(&self) -> String {
        let text = self.to_decimal(17, Round::Down);
        if text == self.to_decimal(17, Round::Up) { text } else { self.to_string() }
    }

    /// Writes `self` in decimal if that is finite and short, as a fraction otherwise.
    #[must_use]
    pub fn to_decimal_or_fraction(&self) -> String {
        stop::check();
        let mut denominator = self.0.denom().clone();
        let mut places = 0usize;
        for prime in [2u8, 5] {
            let mut exponent = 0;
            while (&denominator % prime).is_zero() {
                denominator /= prime;
                exponent += 1;
            }
            places = places.max(exponent);
        }
        if !denominator.is_one() || places > 40 {
            return self.to_string();
        }
        let scaled = (self.0.clone() * ten_to(places as i64)).to_integer();
        let digits = scaled.magnitude().to_string();
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        let sign = if scaled.sign() == Sign::Minus { "-" } else { "" };
        if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
    }
}

/// `numerator/denominator` within 2⁻¹⁰⁴ relative, whether or not it is in lowest terms.
pub(crate) fn ratio_to_dd(numerator: &BigInt, denominator: &BigInt) -> Dd {
    if numerator.is_zero() {
        return Dd::ZERO;
    }
    // 118 or 119 significant bits, floored.
    let shift = 118 - (numerator.bits() as i64 - denominator.bits() as i64);
    let quotient = if shift >= 0 {
        (numerator << shift as u64).div_floor(denominator)
    } else {
        numerator.div_floor(&(denominator << (-shift) as u64))
    };
    let quotient = quotient.to_i128().expect("at most 119 bits");
    let hi = quotient as f64;
    let lo = (quotient - hi as i128) as f64;
    let scale = |x: f64| Magnitude::scale_by_power_of_two(x, -shift);
    Dd { hi: scale(hi), lo: scale(lo) }
}

impl Magnitude {
    /// The exact value.
    ///
    /// # Panics
    /// Beyond `2^±67108864`, which would take megabytes to write out: compare magnitudes instead.
    #[must_use]
    pub fn to_rational(self) -> Rational {
        let (mantissa, exponent) = self.parts();
        assert!(exponent.unsigned_abs() <= 1 << 26, "too far from 1 to be written out: 2^{exponent}");
        let m = Rational::integer((mantissa * 2f64.powi(52)) as u64);
        let e = exponent - 52;
        let power = Rational::from_bigint(BigInt::one() << e.unsigned_abs());
        if e < 0 { m / power } else { m * power }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn decimals_round_outward_at_every_scale() {
        for x in [1.0, 0.1, 1.0 / 3.0, 9.999999999999999e-5, 5e-324, 1.7976931348623157e308, 1e22, 123456.75]
        {
            let m = Magnitude::from_f64(x);
            let low: Rational = m.to_decimal(17, Round::Down).parse().unwrap();
            let high: Rational = m.to_decimal(17, Round::Up).parse().unwrap();
            assert!(low <= m.to_rational() && m.to_rational() <= high, "{x}: {low} {high}");
            let narrow = &(&high - &low) * &Rational::power_of_ten(16);
            assert!(narrow <= m.to_rational(), "{x}: {low} {high}");
        }
        assert_eq!(Magnitude::from_f64(0.5).to_decimal(17, Round::Up), "0.5");
        assert_eq!(Magnitude::from_f64(100.0).to_decimal(17, Round::Up), "100");
        assert_eq!(Magnitude::from_f64(9.995).to_decimal(3, Round::Up), "10");
    }

    #[test]
    fn conversions_enclose() {
        for text in ["1/3", "2/3", "1e-400", "123456789012345678901234567890/7", "5", "0.1"] {
            let x = r(text);
            let (low, high) = x.to_magnitude_bounds();
            assert!(low.to_rational() <= x && x <= high.to_rational(), "{text}");
            let gap = &high.to_rational() - &low.to_rational();
            assert!(gap <= &x * &Rational::integer(2).pow_of_two(-53));
            if !text.contains("400") {
                let dd = x.to_dd();
                let back = &Rational::from_f64("", dd.hi).unwrap() + &Rational::from_f64("", dd.lo).unwrap();
                let off = if back > x { &back - &x } else { &x - &back };
                assert!(off <= &x * &Rational::integer(1).pow_of_two(-104));
            }
        }
    }

    impl Rational {
        fn pow_of_two(self, e: i32) -> Rational {
            let two = Rational::integer(1u128 << e.unsigned_abs());
            if e < 0 { self / two } else { self * two }
        }
    }

    #[test]
    fn prints_short_decimals_as_decimals() {
        assert_eq!(r("73/20").to_decimal_or_fraction(), "3.65");
        assert_eq!(r("1/3").to_decimal_or_fraction(), "1/3");
        assert_eq!(r("1e-10").to_decimal_or_fraction(), "0.0000000001");
        assert_eq!(r("-12").to_decimal_or_fraction(), "-12");
        assert_eq!(r("-12/7").to_decimal(3, Round::Up), "-1.71");
        assert_eq!(r("-12/7").to_decimal(3, Round::Down), "-1.72");
    }
}
