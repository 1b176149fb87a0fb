//! What the oracle says: exact values in the files of the directory `oracle`, for tests.

mod answers;
mod unchanged;

use serde_json::Value;

use crate::composition::Composition;
use crate::mechanism::{DiscreteGaussian, Gaussian, Mechanism};
use crate::number::Rational;

/// A file of the oracle's.
pub(crate) fn file(name: &str) -> Value {
    read(&format!("{}/../../oracle/{name}", env!("CARGO_MANIFEST_DIR")))
}

pub(crate) fn read(path: &str) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap()
}

/// A section of the file of guarantees.
pub(crate) fn guarantees(section: &str) -> Vec<Value> {
    file("guarantees.json")[section].as_array().unwrap().clone()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub(crate) fn exact(value: &Value) -> Rational {
    text(value).parse().unwrap()
}

/// Where a value lies: one that is printed is right to one unit in its last digit, a pair encloses it.
pub(crate) fn enclosure(value: &Value) -> (Rational, Rational) {
    if let Some(pair) = value.as_array() {
        return (exact(&pair[0]), exact(&pair[1]));
    }
    let exact = exact(value);
    let (mantissa, exponent) = text(value).split_once('e').unwrap_or((text(value), "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, part)| part.len() as i32);
    let unit = Rational::power_of_ten(exponent.parse::<i32>().unwrap() - places);
    (&exact - &unit, &exact + &unit)
}

/// Groups of `[sigma2, count, shift]`.
pub(crate) fn groups(value: &Value) -> Vec<(Mechanism, u64)> {
    let group = |g: &Value| {
        let noise = DiscreteGaussian::new(exact(&g[0]), g[2].as_u64().unwrap()).unwrap();
        (noise.into(), g[1].as_u64().unwrap())
    };
    value.as_array().unwrap().iter().map(group).collect()
}

/// A composition of either noise.
pub(crate) fn composition(case: &Value) -> Composition {
    if case["noise"] == "continuous" {
        let group = |g: &Value| (Gaussian::new(exact(&g[0]), exact(&g[2])).unwrap(), g[1].as_u64().unwrap());
        return Composition::new(case["groups"].as_array().unwrap().iter().map(group)).unwrap();
    }
    Composition::new(groups(&case["groups"])).unwrap()
}

/// The decimal exponent of a positive number and its mantissa in [1, 10): for numbers too small to be written
/// out.
pub(crate) fn scientific(text: &str) -> (i64, Rational) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    let significant: Rational = digits.parse().unwrap();
    let scale = Rational::power_of_ten(zeros as i32 + 1 - digits.len() as i32);
    (exponent.parse::<i64>().unwrap() + whole.len() as i64 - 1 - zeros as i64, significant * scale)
}
