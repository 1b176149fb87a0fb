//! Exact numbers in JSON and other formats: written as text, read from text or from an integer.
//!
//! Never through a double: `2.3` in JSON is a double for most readers, and that is not 23/10.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::magnitude::{Magnitude, Round};
use super::rational::Rational;
use crate::error::Result;

impl Serialize for Rational {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_short())
    }
}

impl<'de> Deserialize<'de> for Rational {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Rational, D::Error> {
        exact(deserializer, |text| Rational::parse("number", text))
    }
}

/// Digits of numbers made to be read by programs.
pub(crate) const FULL: u32 = 17;

/// An upper bound, as 17 digits rounded up.
pub(crate) fn rounded_up<S: Serializer>(x: &Magnitude, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_str(&x.to_decimal(FULL, Round::Up))
}

/// The same of an upper bound that may be missing.
pub(crate) fn maybe_rounded_up<S: Serializer>(
    x: &Option<Magnitude>,
    s: S,
) -> std::result::Result<S::Ok, S::Error> {
    match x {
        Some(x) => rounded_up(x, s),
        None => s.serialize_none(),
    }
}

/// A lower bound, as 17 digits rounded down.
pub(crate) fn rounded_down<S: Serializer>(x: &Magnitude, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_str(&x.to_decimal(FULL, Round::Down))
}

/// Reads what `parse` makes of a text, or of an integer's digits.
pub(crate) fn exact<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T>,
) -> std::result::Result<T, D::Error> {
    deserializer.deserialize_any(Exact { parse, made: PhantomData })
}

struct Exact<F, T> {
    parse: F,
    made: PhantomData<T>,
}

impl<F: Fn(&str) -> Result<T>, T> Exact<F, T> {
    fn read<E: de::Error>(&self, text: &str) -> std::result::Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

impl<'de, F: Fn(&str) -> Result<T>, T> Visitor<'de> for Exact<F, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an exact number: text like \"3.65\" or \"104/4099\", or an integer")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<T, E> {
        self.read(text)
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> std::result::Result<T, E> {
        self.read(&n.to_string())
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> std::result::Result<T, E> {
        self.read(&n.to_string())
    }

    fn visit_f64<E: de::Error>(self, x: f64) -> std::result::Result<T, E> {
        Err(E::custom(format!("{x} is not exact as a double: write the number as text, like \"{x}\"")))
    }
}

#[cfg(test)]
mod tests {
    use crate::Rational;

    #[test]
    fn numbers_are_read_exactly_or_not_at_all() {
        let read = |json: &str| serde_json::from_str::<Rational>(json);
        for (json, text) in [("\"2.3\"", "23/10"), ("\"104/4099\"", "104/4099"), ("7", "7"), ("-7", "-7")] {
            assert_eq!(read(json).unwrap().to_string(), text);
        }
        assert_eq!(read("18446744073709551615").unwrap().to_string(), "18446744073709551615");
        // Written with a point, an exponent, or too large for an integer, a JSON number is a double.
        for json in ["2.3", "1e-10", "3.0", "18446744073709551616"] {
            let error = read(json).unwrap_err().to_string();
            assert!(error.contains("is not exact as a double: write the number as text"), "{error}");
        }
        for json in ["null", "true", "[1]", "{}"] {
            assert!(read(json).unwrap_err().to_string().contains("expected an exact number"), "{json}");
        }
        assert!(read("\"1/0\"").unwrap_err().to_string().starts_with("number: `1/0` is not a fraction"));
        for text in ["23/10", "104/4099", "1e-10", "0.0001", "123456789012345678901"] {
            let number: Rational = text.parse().unwrap();
            assert_eq!(read(&serde_json::to_string(&number).unwrap()).unwrap(), number);
        }
        assert_eq!(serde_json::to_string(&"23/10".parse::<Rational>().unwrap()).unwrap(), "\"2.3\"");
        assert_eq!(serde_json::to_string(&"1/3".parse::<Rational>().unwrap()).unwrap(), "\"1/3\"");
    }
}
