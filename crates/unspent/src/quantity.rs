//! ε, δ, α and ρ: exact numbers with a meaning and a range.
//!
//! Each is read from text and written as text, exactly, in files, on the command line and in JSON.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::number::{Rational, serial};

/// An ε ≥ 0, exact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epsilon(Rational);

/// A δ strictly between 0 and 1, exact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delta(Rational);

/// A rate of false alarms α between 0 and 1, exact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alpha(Rational);

/// A zCDP budget ρ > 0, exact.
///
/// ```
/// use unspent::{Delta, Rho};
/// // The signed certificate of the 2020 redistricting data prints ε = 17.14.
/// let rho = Rho::parse("293764/114921")?;
/// let delta = Delta::parse("1e-10")?;
/// assert_eq!(format!("{:.2}", rho.epsilon_canonne_kamath_steinke(&delta)), "17.14");
/// assert!(rho.epsilon_bun_steinke(&delta) > 17.8);
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rho(Rational);

impl Epsilon {
    /// ε between 0 and 10¹².
    pub fn new(epsilon: Rational) -> Result<Epsilon> {
        let range = Rational::integer(0)..=Rational::power_of_ten(12);
        epsilon.within("epsilon", &range, "a number between 0 and 1e12").map(Epsilon)
    }
}

impl Delta {
    /// δ strictly between 0 and 1.
    pub fn new(delta: Rational) -> Result<Delta> {
        if delta.is_positive() && delta < Rational::integer(1) {
            return Ok(Delta(delta));
        }
        let hint = if delta.is_zero() {
            "no finite epsilon meets delta = 0: the noise is unbounded, and so is the privacy loss"
        } else {
            "delta is a probability, like 1e-10"
        };
        Err(Error::input("delta", delta, "a number strictly between 0 and 1", hint))
    }
}

impl Alpha {
    /// α between 0 and 1, ends included.
    pub fn new(alpha: Rational) -> Result<Alpha> {
        let range = Rational::integer(0)..=Rational::integer(1);
        alpha.within("alpha", &range, "a rate between 0 and 1").map(Alpha)
    }
}

impl Rho {
    /// ρ above 0 and at most 10¹⁸.
    pub fn new(rho: Rational) -> Result<Rho> {
        if rho.is_positive() && rho <= Rational::power_of_ten(18) {
            return Ok(Rho(rho));
        }
        Err(Error::input("rho", rho, "a number above 0 and at most 1e18", "rho is a zCDP budget, like 2.63"))
    }
}

/// A quantity is read and written as the number that it is.
macro_rules! quantities {
    ($($quantity:ident $name:literal),*) => {$(
        impl $quantity {
            /// Reads it from text.
            pub fn parse(text: &str) -> Result<$quantity> {
                $quantity::new(Rational::parse($name, text)?).map_err(|e| e.quoting(text))
            }

            /// The exact value.
            #[must_use]
            pub fn value(&self) -> &Rational {
                &self.0
            }
        }

        impl fmt::Display for $quantity {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0.to_short())
            }
        }

        impl FromStr for $quantity {
            type Err = Error;
            fn from_str(text: &str) -> Result<$quantity> {
                $quantity::parse(text)
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<$quantity, D::Error> {
                serial::exact(d, $quantity::parse)
            }
        }
    )*};
}
quantities!(Epsilon "epsilon", Delta "delta", Alpha "alpha", Rho "rho");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_they_are_read() {
        assert_eq!("1e-10".parse::<Delta>().unwrap().to_string(), "1e-10");
        assert_eq!("104/7".parse::<Epsilon>().unwrap().to_string(), "104/7");
        assert_eq!("0.050".parse::<Alpha>().unwrap().to_string(), "0.05");
        assert_eq!("293764/114921".parse::<Rho>().unwrap().to_string(), "293764/114921");
        assert!("2".parse::<Delta>().unwrap_err().to_string().starts_with("delta: `2` is not"));
    }

    #[test]
    fn quantities_pass_through_json_and_no_double_does() {
        let delta: Delta = serde_json::from_str("\"1e-10\"").unwrap();
        assert_eq!(delta, Delta::parse("1e-10").unwrap());
        assert_eq!(serde_json::to_string(&delta).unwrap(), "\"1e-10\"");
        assert_eq!(serde_json::from_str::<Epsilon>("4").unwrap(), Epsilon::parse("4").unwrap());
        assert_eq!(serde_json::to_string(&Rho::parse("1/3").unwrap()).unwrap(), "\"1/3\"");
        assert!(serde_json::from_str::<Alpha>("0.05").unwrap_err().to_string().contains("as text"));
        let refused = serde_json::from_str::<Rho>("-1").unwrap_err().to_string();
        assert!(refused.starts_with("rho: `-1` is not a number above 0"), "{refused}");
    }
}
