//! Exact rationals, read from text.
//!
//! Everything a user says about a release (σ², shifts, counts, ρ, shares, ε, δ) is a rational
//! number written in decimal or as a fraction, and stays one until the transform. The double 2.3
//! is not 23/10; the text "2.3" is.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use super::decimal::{self, DecimalError, MAX_EXPONENT, ten_to};
use crate::error::{Error, Result};
use crate::stop;

/// Longest number accepted as text.
const MAX_TEXT: usize = 4_096;

/// An exact rational number.
///
/// ```
/// use unspent::Rational;
/// let share: Rational = "104/4099".parse()?;
/// let rho: Rational = "3.65".parse()?;
/// assert_eq!((share * rho).to_string(), "1898/20495");
/// assert_eq!("1e-3".parse::<Rational>()?.to_string(), "1/1000");
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rational(pub(super) BigRational);

/// An integer of the machine.
pub trait Whole {
    fn into_bigint(self) -> BigInt;
}

macro_rules! whole {
    ($($integer:ty)*) => {$(
        impl Whole for $integer {
            fn into_bigint(self) -> BigInt {
                self.into()
            }
        }
    )*};
}
whole!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl Rational {
    /// Reads `text` as a number; an error calls it `field`.
    pub fn parse(field: &str, text: &str) -> Result<Rational> {
        stop::check();
        let trimmed = text.trim();
        let refuse = |allowed: &str| {
            let hint = if trimmed.ends_with('%') {
                "write a part of 1: 50 % is 0.5"
            } else if trimmed.contains(',') {
                "write a decimal point, and no commas between digits"
            } else {
                "write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10"
            };
            Err(Error::input(field, text, allowed, hint))
        };
        if trimmed.len() > MAX_TEXT {
            return refuse(&format!("a number of at most {MAX_TEXT} characters"));
        }
        let parsed = match trimmed.split_once('/') {
            None => decimal::read(trimmed),
            Some((numerator, denominator)) => match (decimal::read(numerator), decimal::read(denominator)) {
                (Ok(_), Ok(d)) if d.is_zero() => {
                    return refuse("a fraction with a denominator other than zero");
                }
                (Ok(n), Ok(d)) => Ok(n / d),
                (Err(e), _) | (_, Err(e)) => Err(e),
            },
        };
        match parsed {
            Ok(value) => Ok(Rational(value)),
            Err(DecimalError::Syntax) => refuse("a number"),
            Err(DecimalError::Exponent) => {
                refuse(&format!("a number with a decimal exponent between ±{MAX_EXPONENT}"))
            }
        }
    }

    /// Refuses what lies outside `range`; the error calls it `field`.
    pub(crate) fn within(
        self,
        field: &str,
        range: &std::ops::RangeInclusive<Rational>,
        allowed: &str,
    ) -> Result<Rational> {
        if range.contains(&self) {
            return Ok(self);
        }
        let hint = if self.0.is_negative() {
            format!("{field} is never negative: check the sign")
        } else if self.0.is_zero() {
            format!("{field} must be positive")
        } else {
            format!("check the units of {field}")
        };
        Err(Error::input(field, &self, allowed, hint))
    }

    /// The integer `n`.
    #[must_use]
    pub fn integer(n: impl Whole) -> Rational {
        Rational::from_bigint(n.into_bigint())
    }

    pub(crate) fn from_bigint(n: BigInt) -> Rational {
        Rational(BigRational::from_integer(n))
    }

    /// `numerator/2^bits`, in lowest terms without a gcd.
    pub(crate) fn over_power_of_two(numerator: BigInt, bits: u32) -> Rational {
        let bits = u64::from(bits);
        let common = numerator.trailing_zeros().unwrap_or(bits).min(bits);
        Rational(BigRational::new_raw(numerator >> common, BigInt::from(1) << (bits - common)))
    }

    /// `10^exponent`.
    pub(crate) fn power_of_ten(exponent: i32) -> Rational {
        Rational(ten_to(exponent.into()))
    }

    /// The exact value of a finite double.
    ///
    /// A double is rarely the number its author wrote: `0.1` is
    /// 3602879701896397/36028797018963968. Prefer text.
    pub fn from_f64(field: &str, value: f64) -> Result<Rational> {
        BigRational::from_float(value).map(Rational).ok_or_else(|| {
            Error::input(field, value, "a finite number", "NaN and infinities have no exact value")
        })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.0.is_positive()
    }

    /// The sum, adding like to like: unlike denominators multiply, and are best multiplied late.
    pub(crate) fn sum(terms: &[Rational]) -> Rational {
        Rational::sum_within(terms, u64::MAX).expect("no limit")
    }

    /// The sum, or `None` if some partial sum has a denominator of more than `bits`.
    pub(crate) fn sum_within(terms: &[Rational], bits: u64) -> Option<Rational> {
        let mut like: HashMap<&BigInt, BigInt> = HashMap::new();
        for term in terms {
            *like.entry(term.0.denom()).or_default() += term.0.numer();
        }
        stop::check();
        let mut parts: Vec<Rational> =
            like.into_iter().map(|(d, n)| Rational(BigRational::new(n, d.clone()))).collect();
        while parts.len() > 1 {
            if parts.iter().any(|part| part.0.denom().bits() > bits) {
                return None;
            }
            parts = parts
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => a + b,
                    _ => pair[0].clone(),
                })
                .collect();
        }
        Some(parts.pop().unwrap_or_else(|| Rational::integer(0)))
    }

    /// The positive generator of `aℤ + bℤ`, for positive rationals.
    pub(crate) fn gcd(&self, other: &Rational) -> Rational {
        if let Some(((a, c), (b, d))) = small(self).zip(small(other)) {
            let numerator = gcd((a * d as i128).unsigned_abs(), (b * c as i128).unsigned_abs());
            if let Ok(numerator) = i128::try_from(numerator) {
                return reduced(numerator, c * d);
            }
        }
        stop::check();
        let (a, b) = (&self.0, &other.0);
        let numerator = (a.numer() * b.denom()).gcd(&(b.numer() * a.denom()));
        Rational(BigRational::new(numerator, a.denom() * b.denom()))
    }

    /// `self / step`, if that is an integer that fits.
    pub(crate) fn multiple_of(&self, step: &Rational) -> Option<u64> {
        let q = self / step;
        if q.0.is_integer() { q.0.to_integer().to_u64() } else { None }
    }

    /// `(⌊self⌋, self − ⌊self⌋)`.
    pub(crate) fn floor_and_fraction(&self) -> (BigInt, Rational) {
        let (q, r) = self.0.numer().div_mod_floor(self.0.denom());
        (q, Rational(BigRational::new_raw(r, self.0.denom().clone())))
    }

    /// `⌊self·2^bits⌋`.
    pub(crate) fn floor_scaled(&self, bits: u32) -> BigInt {
        (self.0.numer() << bits).div_floor(self.0.denom())
    }

    pub(crate) fn numerator(&self) -> &BigInt {
        self.0.numer()
    }

    pub(crate) fn denominator(&self) -> &BigInt {
        self.0.denom()
    }
}

impl FromStr for Rational {
    type Err = Error;
    fn from_str(text: &str) -> Result<Rational> {
        Rational::parse("number", text)
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// By the two parts, as it is in lowest terms; that of a `BigRational`, which need not be, divides them like
/// Euclid.
impl Hash for Rational {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.numer().hash(state);
        self.0.denom().hash(state);
    }
}

impl From<u64> for Rational {
    fn from(n: u64) -> Rational {
        Rational::integer(n)
    }
}

/// It must be in lowest terms, as all results of arithmetic are.
impl From<BigRational> for Rational {
    fn from(value: BigRational) -> Rational {
        Rational(value)
    }
}

impl From<Rational> for BigRational {
    fn from(value: Rational) -> BigRational {
        value.0
    }
}

/// Numerator and denominator, if both fit in 64 bits: most budgets do, and the bignum's gcd takes twenty
/// times as long.
fn small(x: &Rational) -> Option<(i128, u128)> {
    Some((x.0.numer().to_i64()?.into(), x.0.denom().to_u64()?.into()))
}

/// In lowest terms, as every `BigRational` must be.
fn reduced(numerator: i128, denominator: u128) -> Rational {
    let common = gcd(numerator.unsigned_abs(), denominator);
    let magnitude = BigInt::from(numerator.unsigned_abs() / common);
    let numerator = if numerator < 0 { -magnitude } else { magnitude };
    Rational(BigRational::new_raw(numerator, BigInt::from(denominator / common)))
}

/// Of two numbers that are not both 0. Euclid's, in 64 bits from the moment that these are enough.
fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > u64::MAX.into() {
        (a, b) = (b, a % b);
    }
    let (mut a, mut b) = if b == 0 { return a } else { ((a % b) as u64, b as u64) };
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b.into()
}

type Small = (i128, u128);

/// Sums may need one bit more than there is.
fn small_sum(a: Small, b: Small) -> Option<Rational> {
    let sum = (a.0 * b.1 as i128).checked_add(b.0 * a.1 as i128)?;
    Some(reduced(sum, a.1 * b.1))
}

fn small_product(a: Small, b: Small) -> Option<Rational> {
    Some(reduced(a.0 * b.0, a.1 * b.1))
}

fn small_quotient(a: Small, b: Small) -> Option<Rational> {
    let (n, d) = (a.0 * b.1 as i128, a.1 * b.0.unsigned_abs());
    (d != 0).then(|| reduced(if b.0 < 0 { -n } else { n }, d))
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $op:tt $small:expr),*) => {$(
        impl std::ops::$trait for Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational { &self $op &other }
        }
        impl std::ops::$trait<&Rational> for &Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                let both = small(self).zip(small(other));
                both.and_then(|(a, b)| $small(a, b)).unwrap_or_else(|| {
                    stop::check();
                    Rational(&self.0 $op &other.0)
                })
            }
        }
    )*};
}
arithmetic!(
    Add add + small_sum,
    Sub sub - |a, b: Small| small_sum(a, (-b.0, b.1)),
    Mul mul * small_product,
    Div div / small_quotient
);

impl Ord for Rational {
    fn cmp(&self, other: &Rational) -> Ordering {
        match small(self).zip(small(other)) {
            Some((a, b)) => (a.0 * b.1 as i128).cmp(&(b.0 * a.1 as i128)),
            None => self.0.cmp(&other.0),
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Rational) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use num_traits::One;

    use super::*;

    /// Small and large, near the edges of 64 bits, of either sign.
    fn any() -> impl proptest::strategy::Strategy<Value = Rational> {
        use proptest::prelude::*;
        let edge = prop_oneof![
            any::<i64>().prop_map(i128::from),
            (-3i128..4),
            (-3i128..4).prop_map(|i| i128::from(i64::MAX) + i),
            (-3i128..4).prop_map(|i| i128::from(i64::MIN) + i),
            (-3i128..4).prop_map(|i| i128::from(u64::MAX) + i),
            any::<i128>().prop_map(|i| i / 4),
        ];
        (edge.clone(), edge).prop_map(|(n, d)| {
            Rational(BigRational::new(BigInt::from(n), BigInt::from(if d == 0 { 1 } else { d })))
        })
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(20_000))]

        /// What fits in a machine's words comes out as the bignum crate has it.
        #[test]
        fn short_cuts_arrive_at_the_same_place(a in any(), b in any()) {
            let same = |short: Rational, long: BigRational| {
                assert!(*short.0.denom() > BigInt::zero());
                assert_eq!((short.0.numer(), short.0.denom()), (long.numer(), long.denom()));
            };
            same(&a + &b, &a.0 + &b.0);
            same(&a - &b, &a.0 - &b.0);
            same(&a * &b, &a.0 * &b.0);
            if !b.is_zero() {
                same(&a / &b, &a.0 / &b.0);
            }
            assert_eq!(a.cmp(&b), a.0.cmp(&b.0));
            if a.is_positive() && b.is_positive() {
                let common = a.gcd(&b);
                assert!((&a.0 / &common.0).is_integer() && (&b.0 / &common.0).is_integer());
                let (m, n) = ((&a.0 / &common.0).to_integer(), (&b.0 / &common.0).to_integer());
                assert!(m.gcd(&n).is_one());
            }
        }
    }

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn reads_decimals_fractions_and_exponents_exactly() {
        assert_eq!(r("3.65"), r("73/20"));
        assert_eq!(r("1e-10"), Rational::power_of_ten(-10));
        assert_eq!(r(" 104/4099 ").to_string(), "104/4099");
        assert_eq!(r("+.5"), r("1/2"));
        assert_eq!(r("5."), Rational::integer(5));
        assert_eq!(r("-2.50E+2"), Rational::integer(-250));
        assert_eq!(r("0.1/0.3"), r("1/3"));
    }

    #[test]
    fn refuses_what_is_not_a_number_by_name() {
        for text in ["", "NaN", "inf", "1/0", "1//2", "e5", "1e", "--1", "0x10", "1_000", "1e99999"] {
            let error = Rational::parse("sigma2", text).unwrap_err();
            assert!(error.is_input());
            assert!(error.to_string().starts_with(&format!("sigma2: `{text}` is not a")), "{error}");
        }
        assert!(Rational::parse("x", &"1".repeat(5000)).is_err());
        // The ends of what a 64-bit exponent can be, and the first beyond.
        for e in
            ["9223372036854775807", "-9223372036854775807", "-9223372036854775808", "-9223372036854775809"]
        {
            for text in [format!("1e{e}"), format!("0E{e}"), format!("1/1e{e}"), format!("-.5e{e}/2")] {
                let error = Rational::parse("sigma2", &text).unwrap_err().to_string();
                assert!(error.ends_with("is not a number with a decimal exponent between ±10000"), "{error}");
            }
        }
    }

    #[test]
    fn gcd_generates_both() {
        let g = r("1/6").gcd(&r("1/4"));
        assert_eq!(g, r("1/12"));
        assert_eq!(r("1/6").multiple_of(&g), Some(2));
        assert_eq!(r("1/7").multiple_of(&g), None);
    }
}
