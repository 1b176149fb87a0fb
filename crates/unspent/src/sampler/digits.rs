//! Wide Laplace noise: a block, a digit and, of large blocks, a place, all independent.
//!
//! A geometric number has independent digits. With `w = 2^s` such that `4 < b/w ≤ 8`, a block `h ≥ 0` has
//! weight `exp(−hw/b)`; of the `w` places in it a digit `d` of up to 6 bits has weight `exp(−dv/b)`, `v`
//! being what is left of `w`. Both are looked up in integer levels. A place `l` on `[0, v)` is uniform and
//! kept with probability `exp(−l/b)`, which fails less than once in 500 tries. So `x = hw + dv + l` has
//! weight `exp(−x/b)`. A sign is drawn too, and a negative zero is thrown away (X7).
//!
//! As `a = l/b < 1/256`, its first two terms are enough to decide almost every rejection in integers (X8).

use super::blocks::{high, passes, signed};
use super::enclosure::{Fraction, Uniform, floor};
use super::level::{Form, Level, Steps, Words};

/// A digit has this many bits, where the block has as many.
const DIGIT: u32 = 6;

/// What [`Digits::rejection`] may lack of `2^-t(1 − exp(−a))`.
pub(super) const SHORT: u32 = 2;

/// The law of b > 16.
#[derive(Clone, Debug)]
pub(super) struct Digits {
    /// The blocks.
    pub(super) level: Level,
    /// The digits in a block.
    pub(super) digit: Level,
    /// A block has `2^digit_bits` digits.
    pub(super) digit_bits: u32,
    /// A digit has `2^place_bits` places.
    pub(super) place_bits: u32,
    /// `⌊2³²/b⌋`.
    pub(super) kappa: u32,
    scale: Fraction,
}

impl Digits {
    /// b above 16 and at most 2²⁰.
    pub(super) fn new(scale: &Fraction, steps: Steps) -> Digits {
        let Fraction { numerator, denominator } = scale;
        // The smallest s with b ≤ 8·2^s.
        let shift = (0..).find(|s: &u32| *numerator <= denominator << (3 + s)).expect("powers grow");
        // What the proofs need: at least one bit, and 21 bits of a word beside a place.
        assert!((2..=17).contains(&shift), "the scale is out of range");
        let digit_bits = shift.min(DIGIT);
        let place_bits = shift - digit_bits;
        let rate = |shift: u32| Fraction { numerator: denominator << shift, denominator: numerator.clone() };
        let kappa = u32::try_from(floor(&rate(0), 32)).expect("b is above 1");
        Digits {
            level: Level::new(Form::geometric(rate(shift), false), steps),
            digit: Level::new(Form::digit(rate(place_bits), 1 << digit_bits), steps),
            digit_bits,
            place_bits,
            kappa,
            scale: scale.clone(),
        }
    }

    /// Words a draw is made of: block and sign, digit, and place and test if there are places.
    pub(super) fn words(&self) -> usize {
        if self.place_bits == 0 { 2 } else { 3 }
    }

    /// The bits of the third word that are the place.
    #[inline]
    pub(super) fn mask(&self) -> u32 {
        !u32::MAX.unbounded_shr(self.place_bits)
    }

    /// `⌊place·κ⌋`, at most `2^t a` and short of it by less than [`SHORT`]; the test has `t` bits.
    #[inline]
    fn rejection(&self, place: u32) -> u32 {
        high(place, self.kappa)
    }

    /// `x`, of a block, a digit and a place in a word.
    #[inline]
    fn join(&self, block: u64, digit: u64, word: u32) -> u64 {
        let place = word.unbounded_shr(32 - self.place_bits);
        (((block << self.digit_bits) + digit) << self.place_bits) + u64::from(place)
    }

    /// What the words mean if the integers decide it, and if it is kept. The third is ignored where there
    /// are no places.
    #[inline]
    pub(super) fn find(&self, [block, digit, word]: [u32; 3]) -> Option<i64> {
        let (h, d) = (self.level.find(block >> 1)?, self.digit.find(digit >> 1)?);
        // `decided` without what is rejected, so that all paths leave the same draws.
        let (place, test) = (word & self.mask(), word & !self.mask());
        let kept = self.place_bits == 0 || test >= self.rejection(place) + SHORT;
        let x = self.join(h.into(), d.into(), word);
        let negative = block & 1 == 1;
        (kept & !(negative & (x == 0))).then(|| signed(x, negative))
    }

    /// What the words and, if need be, further ones mean.
    pub(super) fn draw(&self, first: [u32; 3], words: &mut impl Words) -> i64 {
        let [mut block, mut digit, mut word] = first;
        loop {
            let h = self.level.draw(block >> 1, words);
            let d = self.digit.draw(digit >> 1, words);
            let x = self.join(h, d, word);
            let negative = block & 1 == 1;
            if self.keeps(word, words) & !(negative & (x == 0)) {
                return signed(x, negative);
            }
            [block, digit] = [words.next(), words.next()];
            if self.place_bits > 0 {
                word = words.next();
            }
        }
    }

    /// Whether the place of a word is kept, if the integers decide it (X8).
    pub(super) fn decided(&self, word: u32) -> Option<bool> {
        let (place, test) = (word & self.mask(), word & !self.mask());
        let rejection = self.rejection(place);
        if place == 0 || test >= rejection + SHORT {
            return Some(true);
        }
        // a − a²/2 ≤ 1 − exp(−a).
        let square = u64::from(rejection) * u64::from(rejection);
        let half_square = (square >> (33 - self.place_bits)) + 1;
        (u64::from(test) + 1 + half_square <= u64::from(rejection)).then_some(false)
    }

    /// True with probability `exp(−l/b)`, for the place and the test of a word.
    fn keeps(&self, word: u32, words: &mut impl Words) -> bool {
        self.decided(word).unwrap_or_else(|| {
            let bits = 32 - self.place_bits;
            let a = Fraction {
                numerator: &self.scale.denominator * u64::from(word >> bits),
                denominator: self.scale.numerator.clone(),
            };
            let mut u = Uniform::after(0);
            u.extend(word & !self.mask(), bits);
            passes(&a, u, words)
        })
    }
}
