//! A number as reports show it: given and exact, or computed and certified.
//!
//! It is written as a pair of decimals that enclose it, whether for a person or for a program.

use num_bigint::BigInt;
use num_traits::{One, Zero};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::bounds::Bounds;
use super::magnitude::{Magnitude, Round};
use super::rational::Rational;
use super::serial::FULL;

/// A non-negative number that was given, or is known to lie between two ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// Given, and exact.
    Exact(Rational),
    /// Computed, and certified.
    Certified(Bounds<Magnitude>),
}

impl Number {
    /// A decimal that is not above the number.
    #[must_use]
    pub fn at_least(&self, digits: u32) -> String {
        match self {
            Number::Exact(x) => x.to_decimal(digits, Round::Down),
            Number::Certified(bounds) => bounds.lower().to_decimal(digits, Round::Down),
        }
    }

    /// A decimal that is not below the number.
    #[must_use]
    pub fn at_most(&self, digits: u32) -> String {
        match self {
            Number::Exact(x) => x.to_decimal(digits, Round::Up),
            Number::Certified(bounds) => bounds.upper().to_decimal(digits, Round::Up),
        }
    }

    /// Magnitudes that enclose it.
    pub fn bounds(&self) -> Bounds<Magnitude> {
        match self {
            Number::Exact(x) => x.to_bounds(),
            Number::Certified(bounds) => *bounds,
        }
    }

    /// Its lower end, exactly.
    #[must_use]
    pub fn lower(&self) -> Rational {
        match self {
            Number::Exact(x) => x.clone(),
            Number::Certified(bounds) => bounds.lower().to_rational(),
        }
    }

    /// Its upper end, exactly.
    #[must_use]
    pub fn upper(&self) -> Rational {
        match self {
            Number::Exact(x) => x.clone(),
            Number::Certified(bounds) => bounds.upper().to_rational(),
        }
    }

    /// The sum of numbers that are not negative, exact unless that would be a very long fraction.
    #[must_use]
    pub fn sum(terms: &[Rational]) -> Number {
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
                Number::Certified(Bounds::new(end(least).lower(), end(most).upper()))
            },
            Number::Exact,
        )
    }
}

impl From<Bounds<Magnitude>> for Number {
    fn from(bounds: Bounds<Magnitude>) -> Number {
        Number::Certified(bounds)
    }
}

impl From<Bounds<f64>> for Number {
    fn from(bounds: Bounds<f64>) -> Number {
        // An ε is never negative, even where its lower end is.
        let end = |x: f64| Magnitude::from_f64(x.max(0.0));
        Number::Certified(Bounds::new(end(bounds.lower()), end(bounds.upper())))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_struct("Number", 2)?;
        pair.serialize_field("lower", &self.at_least(FULL))?;
        pair.serialize_field("upper", &self.at_most(FULL))?;
        pair.end()
    }
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
    use super::Number;
    use crate::Rational;

    #[test]
    fn a_long_sum_is_enclosed() {
        let short: Vec<Rational> = (1..9u64).map(|i| &Rational::from(1) / &Rational::from(i)).collect();
        assert_eq!(Number::sum(&short), Number::Exact(Rational::sum(&short)));
        // 10^i + 1 have few common factors.
        let long: Vec<Rational> =
            (30..90).map(|i| &Rational::from(7) / &(Rational::power_of_ten(i) + Rational::from(1))).collect();
        let Number::Certified(bounds) = Number::sum(&long) else { panic!("a short sum") };
        let truth = Rational::sum(&long);
        assert!(bounds.lower().to_rational() <= truth && truth <= bounds.upper().to_rational());
        assert!(bounds.relative_width() < 1e-15);
    }
}
