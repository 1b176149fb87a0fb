//! Wide Gaussian noise: a block from the integer level, a place in it, and a rejection.
//!
//! With `w = 2^s` such that `16 < σ/w ≤ 32`, a block `h ≥ 0` has weight `exp(−(hw)²/2σ²)`, a place `l` in it
//! is uniform on `[0, w)`, and `x = hw + l` is kept with probability `exp(−a)`, `a = l(2hw + l)/2σ²`; so `x`
//! has weight `exp(−x²/2σ²)`. A sign is drawn too, and a negative zero is thrown away. About one try in fifty
//! fails, whatever the value (X3).
//!
//! `1 − exp(−a)` is computed in 32-bit integers, within [`BAND`] of the truth (X4); only a random word that
//! falls into the band is extended and compared exactly.

use std::cmp::Ordering;

use num_bigint::BigUint;

use super::enclosure::{Enclosure, Fraction, Uniform, exp_minus, floor, minus};
use super::level::{Form, Level, Steps, Words};

/// How far [`Blocks::rejection`] is from `2³²(1 − exp(−a))` at most.
pub(super) const BAND: u32 = 8;

/// `⌊2³²/k!⌋`, k = 8 to 2.
pub(super) const FACTORIALS: [u32; 7] =
    [106_522, 852_176, 5_965_232, 35_791_394, 178_956_970, 715_827_882, 2_147_483_648];

/// Digits beyond the bits of a uniform number.
const GUARD: u64 = 64;

/// The law of σ² > 1024.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// The blocks.
    pub(super) level: Level,
    /// A block has `2^shift` places.
    pub(super) shift: u32,
    /// `⌊2⁴¹κ⌋`, `κ = w²/2σ²`.
    pub(super) kappa: u32,
    sigma2: Fraction,
}

impl Blocks {
    /// σ² above 1024 and at most 2⁴⁰.
    pub(super) fn new(sigma2: &Fraction, steps: Steps) -> Blocks {
        let Fraction { numerator, denominator } = sigma2;
        // The smallest s with σ² ≤ 1024·4^s.
        let fits = |s: &u32| *numerator <= denominator << (10 + 2 * s);
        let shift = (0..).find(fits).expect("powers grow");
        assert!((1..=15).contains(&shift), "sigma2 is out of range");
        let rate = Fraction { numerator: denominator << (2 * shift), denominator: numerator << 1u8 };
        let kappa = u32::try_from(floor(&rate, 41)).expect("kappa is below 2^-9");
        let level = Level::new(Form::gaussian(rate, false), steps);
        // What the proof of the band needs: blocks of eight bits, and a < 0.4 for all of them.
        assert!(level.sums().len() <= 256);
        assert!(u64::from(kappa) < (2 << 41) / 5 / (2 * level.sums().len() as u64));
        Blocks { level, shift, kappa, sigma2: sigma2.clone() }
    }

    /// `2³²(1 − exp(−a))` within [`BAND`], for a block that the integers of the level decide; `place` is
    /// `l/w·2³²`.
    #[inline]
    pub(super) fn rejection(&self, block: u32, place: u32) -> u32 {
        let a = high(high(place, (block << 24) + (place >> 9)), self.kappa);
        let mut s = FACTORIALS[0];
        for c in &FACTORIALS[1..] {
            s = c - high(a, s);
        }
        a - high(a, high(a, s))
    }

    /// The place in 32 bits that a word means: its first `shift` bits, the others zero.
    #[inline]
    pub(super) fn place(&self, word: u32) -> u32 {
        word >> (32 - self.shift) << (32 - self.shift)
    }

    /// What three words mean if the integers decide it, and if it is kept.
    #[inline]
    pub(super) fn find(&self, [block, test, place]: [u32; 3]) -> Option<i64> {
        let h = self.level.find(block >> 1)?;
        let place = self.place(place);
        let kept = test >= self.rejection(h, place) + BAND;
        let x = (u64::from(h) << self.shift) + u64::from(place >> (32 - self.shift));
        let negative = block & 1 == 1;
        (kept & !(negative & (x == 0))).then(|| signed(x, negative))
    }

    /// What three words and, if need be, further ones mean.
    pub(super) fn draw(&self, first: [u32; 3], words: &mut impl Words) -> i64 {
        let [mut block, mut test, mut place] = first;
        loop {
            let h = self.level.draw(block >> 1, words);
            let l = u64::from(self.place(place) >> (32 - self.shift));
            let x = (h << self.shift) + l;
            let negative = block & 1 == 1;
            if self.keeps(h, l, test, words) & !(negative & (x == 0)) {
                return signed(x, negative);
            }
            [block, test, place] = [words.next(), words.next(), words.next()];
        }
    }

    /// True with probability `exp(−a)`.
    fn keeps(&self, h: u64, l: u64, test: u32, words: &mut impl Words) -> bool {
        if l == 0 {
            return true;
        }
        if h < self.level.sums().len() as u64 {
            let rejection = self.rejection(h as u32, (l << (32 - self.shift)) as u32);
            if test < rejection.saturating_sub(BAND) {
                return false;
            }
            if test >= rejection + BAND {
                return true;
            }
        }
        let twice = BigUint::from(h) << (self.shift + 1);
        let a = Fraction {
            numerator: &self.sigma2.denominator * l * (twice + l),
            denominator: &self.sigma2.numerator << 1u8,
        };
        let mut u = Uniform::after(0);
        u.extend(test, 32);
        passes(&a, u, words)
    }
}

/// Whether a uniform number, of which the first bits are known, is at least `1 − exp(−a)`.
pub(super) fn passes(a: &Fraction, mut u: Uniform, words: &mut impl Words) -> bool {
    loop {
        let precision = u.known() + GUARD;
        let (kept, one) = (exp_minus(a, precision), Enclosure::one(precision));
        let rejected =
            Enclosure { lower: minus(&one.lower, &kept.upper), upper: minus(&one.upper, &kept.lower) };
        match u.compare(0, &one, &rejected) {
            Some(Ordering::Less) => return false,
            Some(_) => return true,
            None => u.extend(words.next(), 32),
        }
    }
}

/// The upper half of a product.
#[inline]
pub(super) fn high(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// `±magnitude`.
#[inline]
pub(super) fn signed(magnitude: u64, negative: bool) -> i64 {
    let magnitude = i64::try_from(magnitude).expect("2^60 random bits would be needed to get here");
    // Without a branch: a wrongly predicted one takes longer, so that the time would depend on the sign.
    let sign = -i64::from(negative);
    (magnitude ^ sign) - sign
}
