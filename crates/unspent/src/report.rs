//! Numbers as reports show them: given and exact, or computed and certified.
//!
//! A figure is written as a pair of decimals that enclose it, whether for a person or for a program.

use num_bigint::BigInt;
use num_traits::{One, Zero};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::composition::Composition;
use crate::number::{Bounds, Magnitude, Rational, Round};

/// Digits of numbers made to be read by people.
pub const READABLE: u32 = 8;
/// Digits of numbers made to be read by programs.
pub const FULL: u32 = 17;

/// The same number with its trailing zeros, so that digits stand below digits.
#[must_use]
pub fn padded(number: &str) -> String {
    let (digits, exponent) = number.find('e').map_or((number, ""), |at| number.split_at(at));
    let significant = digits.trim_start_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count();
    let missing = if digits.contains('.') { (READABLE as usize).saturating_sub(significant) } else { 0 };
    format!("{digits}{}{exponent}", "0".repeat(missing))
}

/// A non-negative number that was given, or is known to lie between two ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Given, and exact.
    Exact(Rational),
    /// Computed, and certified.
    Between {
        /// It is at least this.
        lower: Magnitude,
        /// It is at most this.
        upper: Magnitude,
    },
}

impl Figure {
    /// A decimal that is not above the number.
    #[must_use]
    pub fn at_least(&self, digits: u32) -> String {
        match self {
            Figure::Exact(x) => x.to_decimal(digits, Round::Down),
            Figure::Between { lower, .. } => lower.to_decimal(digits, Round::Down),
        }
    }

    /// A decimal that is not below the number.
    #[must_use]
    pub fn at_most(&self, digits: u32) -> String {
        match self {
            Figure::Exact(x) => x.to_decimal(digits, Round::Up),
            Figure::Between { upper, .. } => upper.to_decimal(digits, Round::Up),
        }
    }

    /// Magnitudes that enclose it.
    pub fn bounds(&self) -> Bounds<Magnitude> {
        match self {
            Figure::Exact(x) => x.to_bounds(),
            Figure::Between { lower, upper } => Bounds::new(*lower, *upper),
        }
    }

    /// Its lower end, exactly.
    #[must_use]
    pub fn lower(&self) -> Rational {
        match self {
            Figure::Exact(x) => x.clone(),
            Figure::Between { lower, .. } => lower.to_rational(),
        }
    }

    /// Its upper end, exactly.
    #[must_use]
    pub fn upper(&self) -> Rational {
        match self {
            Figure::Exact(x) => x.clone(),
            Figure::Between { upper, .. } => upper.to_rational(),
        }
    }
}

/// The sum of numbers that are not negative, exact unless that would be a very long fraction.
#[must_use]
pub fn sum(terms: &[Rational]) -> Figure {
    /// The longest denominator that is written out.
    const LONGEST: u64 = 1 << 10;
    const BITS: u32 = 256;
    Rational::sum_within(terms, LONGEST).map_or_else(
        || {
            // Each term is cut below 2⁻²⁵⁶.
            let least = terms.iter().fold(BigInt::zero(), |sum, x| sum + x.floor_scaled(BITS));
            let most = &least + terms.len();
            let unit = Rational::from_bigint(BigInt::one() << BITS);
            let end = |n: BigInt| (&Rational::from_bigint(n) / &unit).to_bounds();
            Figure::Between { lower: end(least).lower(), upper: end(most).upper() }
        },
        Figure::Exact,
    )
}

/// ρ of a composition, exact unless that would be a very long fraction.
#[must_use]
pub fn rho(composition: &Composition) -> Figure {
    composition.short_rho().map_or_else(|| composition.rho_bounds().into(), Figure::Exact)
}

impl From<Bounds<Magnitude>> for Figure {
    fn from(bounds: Bounds<Magnitude>) -> Figure {
        Figure::Between { lower: bounds.lower(), upper: bounds.upper() }
    }
}

impl From<Bounds<f64>> for Figure {
    fn from(bounds: Bounds<f64>) -> Figure {
        // An ε is never negative, even where its lower end is.
        let end = |x: f64| Magnitude::from_f64(x.max(0.0));
        Figure::Between { lower: end(bounds.lower()), upper: end(bounds.upper()) }
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_struct("Figure", 2)?;
        pair.serialize_field("lower", &self.at_least(FULL))?;
        pair.serialize_field("upper", &self.at_most(FULL))?;
        pair.end()
    }
}

/// An upper bound, as 17 digits rounded up.
pub fn rounded_up<S: Serializer>(x: &Magnitude, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&x.to_decimal(FULL, Round::Up))
}

/// A lower bound, as 17 digits rounded down.
pub fn rounded_down<S: Serializer>(x: &Magnitude, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&x.to_decimal(FULL, Round::Down))
}

/// An exact number: a decimal of at most 17 digits if it is one, a fraction otherwise.
pub fn exactly<S: Serializer>(x: &Rational, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&x.to_short())
}

/// An exact number, or none.
pub fn perhaps<S: Serializer>(x: &Option<Rational>, serializer: S) -> Result<S::Ok, S::Error> {
    x.as_ref().map(Rational::to_decimal_or_fraction).serialize(serializer)
}

/// Ends of a decimal logarithm; `None` is −∞.
#[derive(Clone, Debug, Serialize)]
pub struct LogBounds {
    /// It is at least this.
    pub lower: Option<f64>,
    /// It is at most this.
    pub upper: Option<f64>,
}

impl From<Bounds<Magnitude>> for LogBounds {
    fn from(bounds: Bounds<Magnitude>) -> LogBounds {
        let finite = |x: f64| x.is_finite().then_some(x);
        let log = bounds.log10();
        LogBounds { lower: finite(log.lower()), upper: finite(log.upper()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, sum};
    use crate::Rational;

    #[test]
    fn a_long_sum_is_enclosed() {
        let short: Vec<Rational> = (1..9u64).map(|i| &Rational::from(1) / &Rational::from(i)).collect();
        assert_eq!(sum(&short), Figure::Exact(Rational::sum(&short)));
        // 10^i + 1 have few common factors.
        let long: Vec<Rational> =
            (30..90).map(|i| &Rational::from(7) / &(Rational::power_of_ten(i) + Rational::from(1))).collect();
        let Figure::Between { lower, upper } = sum(&long) else { panic!("a short sum") };
        let truth = Rational::sum(&long);
        assert!(lower.to_rational() <= truth && truth <= upper.to_rational());
        assert!(crate::Bounds::new(lower, upper).relative_width() < 1e-15);
    }
}
