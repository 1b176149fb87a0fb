//! Non-negative numbers of any size, and the direction in which they are rounded.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

use super::decimal;
use super::float::{self, Dd};

/// A direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Towards −∞.
    Down,
    /// Towards +∞.
    Up,
}

impl Round {
    fn nudge(self, x: f64) -> f64 {
        match self {
            Round::Down => x.next_down(),
            Round::Up => x.next_up(),
        }
    }
}

/// A non-negative real `m·2^e` with a double `m` in `[1, 2)` and a 64-bit `e`: a probability of
/// 10⁻⁴⁰⁰ or 10⁻⁴⁰⁰⁰⁰⁰⁰ is as ordinary as one of 0.1.
#[derive(Clone, Copy, PartialEq)]
pub struct Magnitude {
    mantissa: f64,
    exponent: i64,
}

impl Magnitude {
    /// 0.
    pub const ZERO: Magnitude = Magnitude { mantissa: 0.0, exponent: 0 };
    /// 1.
    pub const ONE: Magnitude = Magnitude { mantissa: 1.0, exponent: 0 };
    /// Smaller than every positive magnitude that is computed; where exponents saturate.
    pub(crate) const TINIEST: Magnitude = Magnitude { mantissa: 1.0, exponent: -(1 << 62) };
    pub(crate) const HUGEST: Magnitude = Magnitude { mantissa: 1.0, exponent: 1 << 62 };

    /// Exactly `x`.
    ///
    /// # Panics
    /// If `x` is negative or not finite.
    #[must_use]
    pub fn from_f64(x: f64) -> Magnitude {
        assert!(x.is_finite() && x >= 0.0, "not a magnitude: {x}");
        Magnitude::from_parts(x, 0)
    }

    /// The mantissa, in `[1, 2)` or 0, and the exponent of two.
    #[must_use]
    pub fn parts(self) -> (f64, i64) {
        (self.mantissa, self.exponent)
    }

    /// Exactly `x·2^exponent`, for finite `x ≥ 0`.
    #[must_use]
    pub fn from_parts(x: f64, exponent: i64) -> Magnitude {
        assert!(x.is_finite() && x >= 0.0, "{x}");
        if x == 0.0 {
            return Magnitude::ZERO;
        }
        // Subnormals first, so that the exponent field is meaningful.
        let (x, exponent) = if x < f64::MIN_POSITIVE {
            (x * 2f64.powi(64), exponent.saturating_sub(64))
        } else {
            (x, exponent)
        };
        let bits = x.to_bits();
        let field = (bits >> 52) as i64;
        let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
        Magnitude { mantissa, exponent: exponent.saturating_add(field - 1023) }
    }

    /// `x·2^exponent` as a double, exact unless it under- or overflows.
    pub(crate) fn scale_by_power_of_two(x: f64, exponent: i64) -> f64 {
        let clamp = exponent.clamp(-2200, 2200) as i32;
        // In two or three steps, so that no intermediate factor leaves the range.
        let mut x = x;
        let mut left = clamp;
        while left != 0 {
            let step = left.clamp(-1000, 1000);
            x *= 2f64.powi(step);
            left -= step;
        }
        x
    }

    /// Whether this is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0.0
    }

    /// A double no larger (or no smaller) than this.
    #[must_use]
    pub fn to_f64(self, round: Round) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        if self.exponent > 1023 {
            return if round == Round::Up { f64::INFINITY } else { f64::MAX };
        }
        if self.exponent >= -1022 {
            return Magnitude::scale_by_power_of_two(self.mantissa, self.exponent);
        }
        if self.exponent < -1080 {
            return if round == Round::Up { f64::from_bits(1) } else { 0.0 };
        }
        let nearest = Magnitude::scale_by_power_of_two(self.mantissa, self.exponent);
        match (Magnitude::from_f64(nearest).partial_cmp(&self), round) {
            (Some(Ordering::Less), Round::Up) => nearest.next_up(),
            (Some(Ordering::Greater), Round::Down) => nearest.next_down(),
            _ => nearest,
        }
    }

    /// Natural logarithm, rounded outward; −∞ for 0.
    #[must_use]
    pub fn ln(self, round: Round) -> f64 {
        if self.is_zero() {
            return f64::NEG_INFINITY;
        }
        if self == Magnitude::ONE {
            return 0.0;
        }
        // ln m + e·ln 2: two roundings and one function, each at most 4u of a part.
        let a = float::ln(self.mantissa);
        let b = self.exponent as f64 * std::f64::consts::LN_2;
        outward(a + b, 16.0 * (a.abs() + b.abs()), round)
    }

    /// Decimal logarithm, rounded outward; −∞ for 0.
    #[must_use]
    pub fn log10(self, round: Round) -> f64 {
        let l = self.ln(round);
        if l == 0.0 || l.is_infinite() {
            return l;
        }
        outward(l * std::f64::consts::LOG10_E, 4.0 * l.abs(), round)
    }

    /// `e^x` for a double-double exponent known to within `error`, rounded outward.
    pub(crate) fn exp(x: Dd, error: f64, round: Round) -> Magnitude {
        if !x.hi.is_finite() || !error.is_finite() {
            return if round == Round::Up { Magnitude::HUGEST } else { Magnitude::ZERO };
        }
        if x.hi < -float::EXPONENT_LIMIT {
            return if round == Round::Up {
                // e^x is far below this; saying more is not needed anywhere.
                Magnitude { mantissa: 1.0, exponent: (-float::EXPONENT_LIMIT) as i64 }
            } else {
                Magnitude::ZERO
            };
        }
        if x.hi > float::EXPONENT_LIMIT {
            return if round == Round::Up {
                Magnitude::HUGEST
            } else {
                Magnitude { mantissa: 1.0, exponent: float::EXPONENT_LIMIT as i64 }
            };
        }
        let (r, k) = float::split_exponent(x);
        // |r − exact| ≤ UNIT + |x|·2⁻⁹⁸ + error; the exponential adds FUNCTION.
        let slack = error + x.hi.abs() * 2f64.powi(-98);
        let relative = slack * 1.01 + 8.0 * float::UNIT;
        let e = float::exp(r);
        if relative > 0.25 {
            // Too uncertain for a linear bound: put the whole slack into the exponent.
            let moved = match round {
                Round::Up => x.add(Dd::from(slack * 1.01)),
                Round::Down => x.sub(Dd::from(slack * 1.01)),
            };
            return Magnitude::exp(moved, 0.0, round);
        }
        let bounded = match round {
            Round::Up => e * (1.0 + relative),
            Round::Down => e * (1.0 - relative),
        };
        Magnitude::from_parts(round.nudge(bounded), k)
    }

    fn normal(x: f64, exponent: i64, round: Round) -> Magnitude {
        if x <= 0.0 {
            return Magnitude::ZERO;
        }
        let m = Magnitude::from_parts(round.nudge(x).max(0.0), exponent);
        if m < Magnitude::TINIEST {
            return if round == Round::Up { Magnitude::TINIEST } else { Magnitude::ZERO };
        }
        if m > Magnitude::HUGEST && round == Round::Down {
            return Magnitude::HUGEST;
        }
        m
    }

    /// `self·other`, rounded outward.
    pub(crate) fn mul(self, other: Magnitude, round: Round) -> Magnitude {
        if self.is_zero() || other.is_zero() {
            return Magnitude::ZERO;
        }
        if self == Magnitude::ONE {
            return other;
        }
        if other == Magnitude::ONE {
            return self;
        }
        Magnitude::normal(self.mantissa * other.mantissa, self.exponent.saturating_add(other.exponent), round)
    }

    /// `self/other` for `other > 0`, rounded outward.
    pub(crate) fn div(self, other: Magnitude, round: Round) -> Magnitude {
        if self.is_zero() {
            return Magnitude::ZERO;
        }
        Magnitude::normal(self.mantissa / other.mantissa, self.exponent.saturating_sub(other.exponent), round)
    }

    /// `self + other`, rounded outward.
    pub(crate) fn add(self, other: Magnitude, round: Round) -> Magnitude {
        self.combine(other, 1.0, round)
    }

    /// `max(0, self − other)`, rounded outward.
    pub(crate) fn sub(self, other: Magnitude, round: Round) -> Magnitude {
        if self <= other {
            return Magnitude::ZERO;
        }
        self.combine(other, -1.0, round)
    }

    fn combine(self, other: Magnitude, sign: f64, round: Round) -> Magnitude {
        if other.is_zero() {
            return self;
        }
        if self.is_zero() {
            return other;
        }
        let top = self.exponent.max(other.exponent);
        let a = Magnitude::scale_by_power_of_two(self.mantissa, (self.exponent - top).max(-200));
        let b = Magnitude::scale_by_power_of_two(other.mantissa, (other.exponent - top).max(-200));
        // With the exponent difference capped at 200 the smaller term is only ever replaced by
        // one below half a unit of the larger, and `nudge` moves by a whole unit.
        let s = a + sign * b;
        let exact = Dd::sum(a, sign * b).lo == 0.0 && (self.exponent - other.exponent).unsigned_abs() <= 200;
        if exact { Magnitude::from_parts(s, top) } else { Magnitude::normal(s, top, round) }
    }

    /// Decimal digits, at most `digits` of them, rounded in the given direction.
    ///
    /// ```
    /// use unspent::{Magnitude, Round};
    /// let x = Magnitude::from_f64(0.1); // a little more than one tenth
    /// assert_eq!(x.to_decimal(17, Round::Down), "0.1");
    /// assert_eq!(x.to_decimal(17, Round::Up), "0.10000000000000001");
    /// ```
    #[must_use]
    pub fn to_decimal(self, digits: u32, round: Round) -> String {
        if self.is_zero() {
            return "0".into();
        }
        decimal::write(self.log10(Round::Down), digits, |power| self.scaled_integer(power, round))
    }

    /// `⌊self·10^power⌋` or `⌈self·10^power⌉`, enclosed even when `10^power` is not exact.
    fn scaled_integer(self, power: i64, round: Round) -> u128 {
        let (low, high, shift) = decimal::power_of_ten(power.unsigned_abs());
        let mut numerator = BigUint::from((self.mantissa * 2f64.powi(52)) as u64);
        let mut denominator = BigUint::one();
        let mut exponent = self.exponent - 52;
        match (power >= 0, round) {
            (true, Round::Up) => numerator *= high,
            (true, Round::Down) => numerator *= low,
            (false, Round::Up) => denominator = low,
            (false, Round::Down) => denominator = high,
        }
        exponent += if power >= 0 { shift } else { -shift };
        if exponent >= 0 {
            numerator <<= exponent as u64;
        } else {
            denominator <<= exponent.unsigned_abs();
        }
        let (whole, rest) = numerator.div_rem(&denominator);
        let n = whole.to_u128().unwrap_or(u128::MAX);
        if round == Round::Up && !rest.is_zero() { n.saturating_add(1) } else { n }
    }
}

fn outward(x: f64, magnitude: f64, round: Round) -> f64 {
    match round {
        Round::Up => (x + magnitude * float::UNIT).next_up(),
        Round::Down => (x - magnitude * float::UNIT).next_down(),
    }
}

impl PartialOrd for Magnitude {
    fn partial_cmp(&self, other: &Magnitude) -> Option<Ordering> {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => match self.exponent.cmp(&other.exponent) {
                Ordering::Equal => self.mantissa.partial_cmp(&other.mantissa),
                unequal => Some(unequal),
            },
        }
    }
}

impl fmt::Debug for Magnitude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "≈{}", self.to_decimal(17, Round::Down))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_exponents_print_and_compare() {
        let tiny = Magnitude::exp(Dd::from(-2302585.0), 0.0, Round::Up);
        let text = tiny.to_decimal(17, Round::Up);
        assert!(text.ends_with("e-1000000") || text.ends_with("e-999999"), "{text}");
        assert_eq!(tiny.to_f64(Round::Down), 0.0);
        assert_eq!(tiny.to_f64(Round::Up), f64::from_bits(1));
        let further = Magnitude::exp(Dd::from(-2e16), 0.0, Round::Up);
        assert!(further.to_decimal(17, Round::Up).starts_with("2.79883580"), "{further:?}");
        let far = Magnitude::exp(Dd::from(-9e14), 0.0, Round::Down);
        assert!(far < tiny);
        let (low, high) = (far.to_decimal(17, Round::Down), far.to_decimal(17, Round::Up));
        assert!(low.contains("e-390865033712927") && high.contains("e-390865033712927"), "{low} {high}");
    }

    #[test]
    fn subtraction_is_outward_and_exact_where_it_can_be() {
        let a = Magnitude::from_f64(1.0);
        let b = Magnitude::from_f64(2f64.powi(-40));
        assert_eq!(a.sub(b, Round::Up), a.sub(b, Round::Down));
        let c = Magnitude::from_f64(1e-300);
        assert!(a.sub(c, Round::Up) >= a.sub(c, Round::Down));
        assert!(a.sub(c, Round::Down) < a);
        assert!(a.add(c, Round::Up) > a);
        assert_eq!(b.sub(a, Round::Up), Magnitude::ZERO);
    }

    #[test]
    fn logarithms_enclose() {
        let m = Magnitude::from_f64(1e-11);
        assert!(m.log10(Round::Down) <= -11.0 && m.log10(Round::Up) >= -11.000000000000002);
        assert_eq!(Magnitude::ZERO.ln(Round::Down), f64::NEG_INFINITY);
    }
}
