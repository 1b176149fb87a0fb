//! Nonnegative numbers enclosed between two integers times `2^-precision`, rounded outwards.
//!
//! Of the bignum crate only addition, subtraction, multiplication, shifts and comparisons are used, and
//! tested against another one: a division that was wrong in a rare case has biased a published sampler. The
//! two divisions that are needed, of a fraction to its bits and of a term by a small integer, are written out
//! here.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint};
use num_traits::Zero;

use crate::number::Rational;

/// A positive fraction, not necessarily in lowest terms.
#[derive(Clone, Debug)]
pub(super) struct Fraction {
    pub(super) numerator: BigUint,
    pub(super) denominator: BigUint,
}

impl Fraction {
    pub(super) fn inverse(&self) -> Fraction {
        Fraction { numerator: self.denominator.clone(), denominator: self.numerator.clone() }
    }
}

impl From<&Rational> for Fraction {
    /// Of a positive one.
    fn from(x: &Rational) -> Fraction {
        let part = |x: &BigInt| x.magnitude().clone();
        Fraction { numerator: part(x.numerator()), denominator: part(x.denominator()) }
    }
}

/// `lower·2^-precision ≤ x ≤ upper·2^-precision`; what the precision is, the context knows.
#[derive(Clone, Debug)]
pub(super) struct Enclosure {
    pub(super) lower: BigUint,
    pub(super) upper: BigUint,
}

impl Enclosure {
    pub(super) fn one(precision: u64) -> Enclosure {
        let one = BigUint::from(1u8) << precision;
        Enclosure { lower: one.clone(), upper: one }
    }

    pub(super) fn add(&self, other: &Enclosure) -> Enclosure {
        Enclosure { lower: &self.lower + &other.lower, upper: &self.upper + &other.upper }
    }

    pub(super) fn double(&self) -> Enclosure {
        Enclosure { lower: &self.lower << 1u8, upper: &self.upper << 1u8 }
    }

    pub(super) fn times(&self, other: &Enclosure, precision: u64) -> Enclosure {
        Enclosure {
            lower: (&self.lower * &other.lower) >> precision,
            upper: up(&(&self.upper * &other.upper), precision),
        }
    }
}

/// `x·2^-bits`, rounded up or one more.
fn up(x: &BigUint, bits: u64) -> BigUint {
    (x >> bits) + 1u8
}

/// `⌊fraction·2^bits⌋`: bit by bit, with comparisons and subtractions only.
pub(super) fn floor(fraction: &Fraction, bits: u64) -> BigUint {
    let Fraction { numerator, denominator } = fraction;
    // The whole part first: shift the denominator above the numerator and come down again.
    let above = (numerator.bits() + 1).saturating_sub(denominator.bits());
    let mut rest = numerator.clone();
    let mut quotient = BigUint::zero();
    let mut divisor = denominator << above;
    for _ in 0..=above {
        quotient <<= 1u8;
        if rest >= divisor {
            rest -= &divisor;
            quotient += 1u8;
        }
        divisor >>= 1u8;
    }
    for _ in 0..bits {
        quotient <<= 1u8;
        rest <<= 1u8;
        if rest >= *denominator {
            rest -= denominator;
            quotient += 1u8;
        }
    }
    quotient
}

/// `⌊x/n⌋`: long division, one digit of 32 bits after the other.
pub(super) fn floor_by(x: &BigUint, n: u32) -> BigUint {
    let mut digits = x.to_u32_digits();
    let mut rest = 0u64;
    for digit in digits.iter_mut().rev() {
        let dividend = rest << 32 | u64::from(*digit);
        *digit = (dividend / u64::from(n)) as u32;
        rest = dividend % u64::from(n);
    }
    BigUint::new(digits)
}

/// `exp(−x)` (X5).
pub(super) fn exp_minus(x: &Fraction, precision: u64) -> Enclosure {
    // y = x/2^halvings ≤ 1/2; what the squarings lose is made up for in advance.
    let halvings = (x.numerator.bits() + 2).saturating_sub(x.denominator.bits());
    let working = precision + 2 * halvings + 16;
    let halved = Fraction { numerator: x.numerator.clone(), denominator: &x.denominator << halvings };
    let lower = floor(&halved, working);
    let y = Enclosure { upper: &lower + 1u8, lower };
    // The terms y^j/j!, of even j in one sum and of odd j in the other.
    let mut term = Enclosure::one(working);
    let mut sums = [term.clone(), Enclosure { lower: BigUint::zero(), upper: BigUint::zero() }];
    for j in 1u32.. {
        let power = term.times(&y, working);
        term = Enclosure { lower: floor_by(&power.lower, j), upper: floor_by(&power.upper, j) + 1u8 };
        sums[j as usize % 2] = sums[j as usize % 2].add(&term);
        if term.upper.bits() <= 2 {
            break;
        }
    }
    // The terms left out are together at most as large as the last one.
    let [even, odd] = sums;
    let mut result = Enclosure {
        lower: minus(&even.lower, &(&odd.upper + &term.upper)),
        upper: minus(&(&even.upper + &term.upper), &odd.lower),
    };
    for _ in 0..halvings {
        result = result.times(&result, working);
    }
    Enclosure { lower: result.lower >> (working - precision), upper: up(&result.upper, working - precision) }
}

/// `max(x − y, 0)`.
pub(super) fn minus(x: &BigUint, y: &BigUint) -> BigUint {
    if x > y { x - y } else { BigUint::zero() }
}

/// A uniform number in [0, 1) of which only the first bits are known so far.
///
/// It stands for all numbers that begin with them, so that a comparison is decided only if it holds for each.
#[derive(Clone, Debug)]
pub(super) struct Uniform {
    /// The bits, with a whole part in front.
    bits: BigUint,
    known: u64,
}

impl Uniform {
    /// A whole part, and no bits.
    pub(super) fn after(whole: u32) -> Uniform {
        Uniform { bits: whole.into(), known: 0 }
    }

    /// The next `count` bits, given as an integer.
    pub(super) fn extend(&mut self, bits: u32, count: u32) {
        self.bits = (&self.bits << count) | BigUint::from(bits);
        self.known += u64::from(count);
    }

    /// Number of bits known.
    pub(super) fn known(&self) -> u64 {
        self.known
    }

    /// How `(self + offset)·scale` compares with `bound`, if the bits known decide it; `scale` and `bound`
    /// have the same precision. `Less` means less, `Greater` means greater or equal.
    pub(super) fn compare(&self, offset: u32, scale: &Enclosure, bound: &Enclosure) -> Option<Ordering> {
        let whole = &self.bits + (BigUint::from(offset) << self.known);
        if (&whole + 1u8) * &scale.upper <= &bound.lower << self.known {
            Some(Ordering::Less)
        } else if whole * &scale.lower >= &bound.upper << self.known {
            Some(Ordering::Greater)
        } else {
            None
        }
    }
}
