//! The integer level: most of a law on 0, 1, 2, … in 31-bit integers, the rest decided exactly when it is
//! met.
//!
//! A law with `P[M = m] = p_m` and cumulative sums `C_m` gives every `m` the integer `q_m ≤ 2³¹p_m`. Of the
//! 2³¹ values of a random `v`, the first `q_0` mean 0, the next `q_1` mean 1, and so on: `m` is the number of
//! sums `S_j = q_0 + … + q_j` that are at most `v`. The few values that are left, `R = 2³¹ − S_{K−1}` of
//! them, share out what rounding down has left over: `v − S_{K−1}` is the whole part of a uniform number `u`
//! in `[0, R)`, and `m` is the first with `u < E_m = 2³¹C_m − S_{min(m, K−1)}`. Bits of `u` and digits of `E`
//! are added until every number that begins like `u` is on the same side (X1 and X2 in `theory/sampler.md`).

use std::cmp::Ordering;

use num_bigint::BigUint;
use num_traits::Zero;

use super::enclosure::{Enclosure, Fraction, Uniform, exp_minus, floor};
#[cfg(target_arch = "x86_64")]
use super::vector::Thresholds;

/// Random words, one after the other.
pub(super) trait Words {
    fn next(&mut self) -> u32;
}

/// How many bits are looked at: 31 at first, then 32 at a time. Tests take fewer, to try them all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub(super) first: u32,
    pub(super) more: u32,
}

impl Steps {
    pub(super) const WORDS: Steps = Steps { first: 31, more: 32 };
}

/// Digits beyond the bits of a uniform number, so that the bits and not the digits are what is missing.
const GUARD: u64 = 96;

/// The weights of a level, `c_m exp(−m²x)` or `c_m exp(−mx)`, with `x` the rate.
#[derive(Clone, Debug)]
pub(super) struct Form {
    rate: Fraction,
    /// `m²`, not `m`.
    squared: bool,
    /// `c_m = 2` from `m = 1` on: the law of |X| for an X of both signs. Otherwise all are 1.
    folded: bool,
    /// How many values there are, if not all of 0, 1, 2, …
    values: Option<usize>,
}

impl Form {
    /// Weights `exp(−m²·rate)`.
    pub(super) fn gaussian(rate: Fraction, folded: bool) -> Form {
        Form { rate, squared: true, folded, values: None }
    }

    /// Weights `exp(−m·rate)`.
    pub(super) fn geometric(rate: Fraction, folded: bool) -> Form {
        Form { rate, squared: false, folded, values: None }
    }

    /// Weights `exp(−m·rate)` of `m < values`: a digit of geometric noise (X7).
    pub(super) fn digit(rate: Fraction, values: usize) -> Form {
        Form { rate, squared: false, folded: false, values: Some(values) }
    }
}

/// A law on 0, 1, 2, …
#[derive(Clone, Debug)]
pub(super) struct Level {
    form: Form,
    steps: Steps,
    /// `S_0 ≤ S_1 ≤ … ≤ S_{K−1}`.
    sums: Vec<u32>,
    #[cfg(target_arch = "x86_64")]
    thresholds: Thresholds,
}

/// Enclosures of the weights, of their partial sums and of the whole sum.
pub(super) struct Weights {
    pub(super) terms: Vec<Enclosure>,
    pub(super) sums: Vec<Enclosure>,
    pub(super) total: Enclosure,
}

impl Level {
    /// A level with these weights.
    pub(super) fn new(form: Form, steps: Steps) -> Level {
        let mut level = Level {
            form,
            steps,
            sums: vec![],
            #[cfg(target_arch = "x86_64")]
            thresholds: Thresholds::new(&[]),
        };
        let weights = level.weights(GUARD);
        let mut sum = 0u32;
        for term in &weights.terms {
            let q = quotient(&term.lower, &weights.total.upper, steps.first);
            if q == 0 {
                break;
            }
            sum += q;
            level.sums.push(sum);
        }
        #[cfg(target_arch = "x86_64")]
        {
            level.thresholds = Thresholds::new(&level.sums);
        }
        level
    }

    /// The same level with other thresholds, wrong ones too.
    #[cfg(test)]
    pub(super) fn with_sums(&self, sums: Vec<u32>) -> Level {
        Level {
            #[cfg(target_arch = "x86_64")]
            thresholds: Thresholds::new(&sums),
            sums,
            ..self.clone()
        }
    }

    /// The same thresholds for registers.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// The thresholds `S_0 ≤ … ≤ S_{K−1}`.
    pub(super) fn sums(&self) -> &[u32] {
        &self.sums
    }

    /// The first `v` that the integers do not decide.
    pub(super) fn end(&self) -> u32 {
        self.sums.last().copied().unwrap_or(0)
    }

    /// The `m` that `v` means, if the integers decide it.
    #[inline]
    pub(super) fn find(&self, v: u32) -> Option<u32> {
        (v < self.end()).then(|| self.sums.partition_point(|sum| *sum <= v) as u32)
    }

    /// The `m` that `v` and further random words mean.
    ///
    /// # Guarantee
    /// For ideal random bits, `v` of the first step's length included, the result is `m` with probability
    /// `p_m`.
    pub(super) fn draw(&self, v: u32, words: &mut impl Words) -> u64 {
        if let Some(m) = self.find(v) {
            return m.into();
        }
        let Steps { first, more } = self.steps;
        let mut u = Uniform::after(v - self.end());
        let mut m = 0;
        loop {
            u.extend(words.next() >> (32 - more), more);
            // Whatever was decided with fewer bits stays decided: go on from there.
            let weights = self.weights(u.known() + GUARD);
            while m < weights.sums.len() {
                // Below R it is always: there is no other value.
                if self.form.values == Some(m + 1) {
                    return m as u64;
                }
                let offset = self.sums.get(m).copied().unwrap_or(self.end());
                let Enclosure { lower, upper } = &weights.sums[m];
                let bound = Enclosure { lower: lower << first, upper: upper << first };
                match u.compare(offset, &weights.total, &bound) {
                    Some(Ordering::Less) => return m as u64,
                    Some(_) => m += 1,
                    None => break,
                }
            }
        }
    }

    /// All weights, or those above `2^-precision`; squares at least until they fall by half from one to the
    /// next.
    pub(super) fn weights(&self, precision: u64) -> Weights {
        let Form { rate, squared, folded, values } = &self.form;
        let step = exp_minus(rate, precision);
        let square = squared.then(|| step.times(&step, precision));
        let half = BigUint::from(1u8) << (precision - 1);
        // 1/(1 − exp(−x)) ≤ 1 + 1/x.
        let beyond = floor(&rate.inverse(), 0) + 2u8;
        // exp(−m²x) or exp(−mx), and the factor exp(−(2m + 1)x) or exp(−x) to the next one.
        let (mut weight, mut factor) = (Enclosure::one(precision), step);
        let (mut terms, mut sums) = (vec![], vec![]);
        let mut total = Enclosure { lower: BigUint::zero(), upper: BigUint::zero() };
        loop {
            let term = if *folded && !terms.is_empty() { weight.double() } else { weight.clone() };
            total = total.add(&term);
            terms.push(term);
            sums.push(total.clone());
            if *values == Some(terms.len()) {
                return Weights { terms, sums, total };
            }
            weight = weight.times(&factor, precision);
            match &square {
                // From here on each is at most half the one before: together at most twice the next, doubled.
                Some(_) if weight.upper.bits() <= 2 && factor.upper <= half => {
                    total.upper += &weight.upper << 2u8;
                    return Weights { terms, sums, total };
                }
                // The next and all after it: 1/(1 − exp(−x)) < `beyond` times the next, doubled. Rounded up,
                // a weight does not fall below 1/(1 − exp(−x)) units.
                None if weight.upper <= &beyond << 2u8 => {
                    total.upper += (&weight.upper * &beyond) << 1u8;
                    return Weights { terms, sums, total };
                }
                Some(square) => factor = factor.times(square, precision),
                None => {}
            }
        }
    }
}

/// `⌊2^bits·x/y⌋` for `x < y`: bit by bit.
pub(super) fn quotient(x: &BigUint, y: &BigUint, bits: u32) -> u32 {
    let mut rest = x.clone();
    let mut quotient = 0;
    for _ in 0..bits {
        rest <<= 1u8;
        quotient <<= 1;
        if rest >= *y {
            rest -= y;
            quotient |= 1;
        }
    }
    quotient
}
