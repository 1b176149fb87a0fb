//! The sampler against the oracle, bit by bit; and what the oracle cannot say, by statistics with fixed
//! seeds.

mod band;
mod bits;
mod enclosures;
mod noise;
mod small;
mod statistics;
mod vectors;
mod words;

use std::sync::LazyLock;

use dashu_int::{IBig, UBig};
use num_bigint::BigUint;

use super::enclosure::Fraction;
use super::level::{Steps, Words};
use super::{Law, oracle};
use crate::number::Rational;

/// Variances of all sizes: decimals, fractions, on both sides of the border, at both ends.
const VARIANCES: [&str; 19] = [
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
];

/// Bits of the oracle's numbers.
const PRECISION: usize = 1_024;

/// What the oracle knows about them, once for all tests.
static TRUTHS: LazyLock<Vec<(&str, oracle::Law)>> = LazyLock::new(|| {
    VARIANCES.map(|sigma2| (sigma2, oracle::Law::new(&ratio(sigma2), PRECISION))).into_iter().collect()
});

fn exact(text: &str) -> Rational {
    text.parse().unwrap()
}

fn law(sigma2: &str) -> Law {
    Law::new(&exact(sigma2), Steps::WORDS)
}

/// σ², read by the oracle.
fn ratio(sigma2: &str) -> oracle::Ratio {
    oracle::Ratio::read(&exact(sigma2).to_string())
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
