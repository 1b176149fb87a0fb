//! The sampler against the oracle, bit by bit; and what the oracle cannot say, by statistics with fixed
//! seeds.

mod addressed;
mod band;
mod bits;
mod enclosures;
mod mutations;
mod noise;
mod small;
mod statistics;
mod vectors;
mod words;

use std::sync::LazyLock;

use dashu_int::{IBig, UBig};
use num_bigint::BigUint;

use super::enclosure::Fraction;
use super::level::{Form, Steps, Words};
use super::{Law, Sampler, oracle};
use crate::number::Rational;

/// Laws of both kinds, variances σ² and, after `b=`, scales of Laplace noise. Of all sizes: decimals,
/// fractions, on both sides of every border, at both ends.
const LAWS: [&str; 35] = [
    "1e-3",
    "0.01",
    "0.1",
    "0.3",
    "1/3",
    "1",
    "5",
    "100000/9563",
    "68.49",
    "456.62",
    "1000",
    "1024",
    "1024.000001",
    "4096",
    "1e6",
    "123456789/1000",
    "31415926535897932384626433832795/27182818284590452353602",
    "1099511627776/3",
    "1e12",
    "b=1/500",
    "b=0.05",
    "b=1/3",
    "b=1",
    "b=5.5",
    "b=31415926535897932384626433832795/2718281828459045235360287471352",
    "b=16",
    "b=16.000001",
    "b=32",
    "b=100/3",
    "b=512",
    "b=512.000001",
    "b=1000",
    "b=123456.789",
    "b=524288",
    "b=1e6",
];

/// Bits of the oracle's numbers.
const PRECISION: usize = 1_024;

/// What the oracle knows about them, once for all tests.
static TRUTHS: LazyLock<Vec<(&str, oracle::Law)>> =
    LazyLock::new(|| LAWS.map(|name| (name, truth(name, PRECISION))).into_iter().collect());

fn exact(text: &str) -> Rational {
    text.parse().unwrap()
}

/// σ², or b after `b=`.
fn law(name: &str) -> Law {
    match name.strip_prefix("b=") {
        Some(scale) => Law::laplace(&exact(scale), Steps::WORDS),
        None => Law::gaussian(&exact(name), Steps::WORDS),
    }
}

/// The same law by the oracle.
fn truth(name: &str, precision: usize) -> oracle::Law {
    match name.strip_prefix("b=") {
        Some(scale) => oracle::Law::laplace(&ratio(scale), precision),
        None => oracle::Law::gaussian(&ratio(name), precision),
    }
}

/// A sampler of it.
fn sampler(name: &str) -> Sampler {
    let sampler = match name.strip_prefix("b=") {
        Some(scale) => Sampler::discrete_laplace(&exact(scale)),
        None => Sampler::new(&exact(name)),
    };
    sampler.unwrap_or_else(|e| panic!("{e}"))
}

/// A number, read by the oracle.
fn ratio(text: &str) -> oracle::Ratio {
    oracle::Ratio::read(&exact(text).to_string())
}

/// The form of the oracle's, for the sampler.
fn form(form: &oracle::Form) -> Form {
    let rate = fraction(&form.x);
    match (form.power, form.values) {
        (2, None) => Form::gaussian(rate, form.folded),
        (_, None) => Form::geometric(rate, form.folded),
        (_, Some(values)) => Form::digit(rate, values as usize),
    }
}

/// The same fraction for the sampler.
fn fraction(ratio: &oracle::Ratio) -> Fraction {
    Fraction { numerator: ours(&ratio.numerator), denominator: ours(&ratio.denominator) }
}

/// From the oracle's bignum to the sampler's.
fn ours(x: &IBig) -> BigUint {
    BigUint::from_bytes_le(&UBig::try_from(x.clone()).unwrap().to_le_bytes())
}

/// And back.
fn theirs(x: &BigUint) -> IBig {
    UBig::from_le_bytes(&x.to_bytes_le()).into()
}

/// Pseudo-random numbers for tests (SplitMix64).
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn long(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn word(&mut self) -> u32 {
        (self.long() >> 32) as u32
    }

    fn below(&mut self, n: u64) -> u64 {
        self.long() % n
    }
}

/// Words as they are written down, then pseudo-random ones.
#[derive(Clone)]
struct Script {
    words: Vec<u32>,
    then: Random,
    used: usize,
}

impl Script {
    fn new(words: impl Into<Vec<u32>>, seed: u64) -> Script {
        Script { words: words.into(), then: Random(seed), used: 0 }
    }
}

impl Words for Script {
    fn next(&mut self) -> u32 {
        self.used += 1;
        self.words.get(self.used - 1).copied().unwrap_or_else(|| self.then.word())
    }
}
