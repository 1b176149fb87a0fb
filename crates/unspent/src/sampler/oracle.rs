//! The laws of `theory/sampler.md` once more, to check the sampler with: another bignum, with an exponential
//! and a division of its own, every weight by itself, every comparison with all digits at once. And ChaCha20
//! as its author defined it.

use std::cmp::Ordering;

use dashu_float::round::mode::HalfEven;
use dashu_float::{Context, FBig};
use dashu_int::{IBig, UBig};

/// A number of as many bits as it was made with.
pub(super) type Real = FBig<HalfEven, 2>;

/// A fraction.
#[derive(Clone, Debug)]
pub(super) struct Ratio {
    pub(super) numerator: IBig,
    pub(super) denominator: IBig,
}

impl Ratio {
    /// From `n` or `n/d`, whole numbers in decimal.
    pub(super) fn read(text: &str) -> Ratio {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        Ratio { numerator: numerator.parse().unwrap(), denominator: denominator.parse().unwrap() }
    }

    pub(super) fn times(&self, numerator: impl Into<IBig>, denominator: impl Into<IBig>) -> Ratio {
        Ratio {
            numerator: &self.numerator * numerator.into(),
            denominator: &self.denominator * denominator.into(),
        }
    }

    pub(super) fn inverse(&self) -> Ratio {
        Ratio { numerator: self.denominator.clone(), denominator: self.numerator.clone() }
    }

    pub(super) fn at_most(&self, bound: impl Into<IBig>) -> bool {
        self.numerator <= &self.denominator * bound.into()
    }

    pub(super) fn real(&self, precision: usize) -> Real {
        real(&self.numerator, precision) / real(&self.denominator, precision)
    }
}

pub(super) fn real(n: &IBig, precision: usize) -> Real {
    Context::<HalfEven>::new(precision).convert_int(n.clone()).value()
}

/// `exp(−x)`.
pub(super) fn exp_minus(x: &Ratio, precision: usize) -> Real {
    (-x.real(precision)).exp()
}

/// `⌊2^bits·x⌋`.
pub(super) fn fixed(x: &Real, bits: usize) -> IBig {
    let (significand, exponent) = x.repr().clone().into_parts();
    let shift = exponent + bits as isize;
    // A shift of a negative number to the right rounds down.
    if shift >= 0 { significand << shift as usize } else { significand >> shift.unsigned_abs() }
}

/// Digits that a fixed-point number does not have of the `precision` bits it was computed with: for the whole
/// part, for rounding, and to spare.
const SPARE: usize = 96;
/// Fixed-point numbers that are closer than `2^CLOSE` units are not told apart: the oracle stops.
const CLOSE: usize = 16;
/// Edges that are closer to R than `2^NEXT` units are not told from it.
const NEXT: usize = 24;

/// How two fixed-point numbers compare, if that is certain.
fn certain(x: &IBig, y: &IBig) -> Ordering {
    let gap = x - y;
    let close = IBig::from(1) << CLOSE;
    assert!(gap > close || gap < -close, "more digits are needed to be certain");
    x.cmp(y)
}

/// The weights of a level: `exp(−m²x)`, `exp(−mx)` or their folded ones.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) x: Ratio,
    /// Of m: 1 or 2.
    pub(super) power: u32,
    pub(super) folded: bool,
    /// How many there are, if there is an end.
    pub(super) values: Option<u64>,
}

impl Form {
    pub(super) fn gaussian(x: Ratio, folded: bool) -> Form {
        Form { x, power: 2, folded, values: None }
    }

    pub(super) fn geometric(x: Ratio, folded: bool) -> Form {
        Form { x, power: 1, folded, values: None }
    }

    pub(super) fn digit(x: Ratio, values: u64) -> Form {
        Form { x, power: 1, folded: false, values: Some(values) }
    }
}

/// `w_m` of a level until they vanish.
pub(super) fn weights(form: &Form, precision: usize) -> Vec<Real> {
    let vanishing = real(&IBig::from(1), precision) >> precision as isize;
    let mut weights = vec![];
    for m in 0..form.values.unwrap_or(u64::MAX) {
        let weight = exp_minus(&form.x.times(m.pow(form.power), 1), precision);
        if weight < vanishing {
            break;
        }
        weights.push(if form.folded && m > 0 { weight << 1 } else { weight });
    }
    weights
}

/// `p_m` of a level until they vanish.
pub(super) fn chances(form: &Form, precision: usize) -> Vec<Real> {
    let weights = weights(form, precision);
    // The smallest first, so as to lose nothing.
    let total = weights.iter().rev().fold(real(&IBig::from(0), precision), |sum, w| sum + w);
    weights.iter().map(|w| w / &total).collect()
}

/// A level.
pub(super) struct Level {
    /// The last value, if there is one.
    pub(super) last: Option<u64>,
    /// B.
    bits: u32,
    /// `p_m` until they vanish.
    pub(super) chances: Vec<Real>,
    /// `S_0, …, S_{K−1}`, with `q_m = ⌊2^B p_m⌋`.
    pub(super) sums: Vec<u32>,
    /// `E_m` in units of `2^-fraction`, until they cannot be told from R.
    pub(super) edges: Vec<IBig>,
    pub(super) fraction: usize,
}

impl Level {
    pub(super) fn new(form: &Form, bits: u32, precision: usize) -> Level {
        let chances = chances(form, precision);
        let fraction = precision - SPARE;
        let mut sums: Vec<u32> = vec![];
        for p in &chances {
            let q = fixed(p, bits as usize + fraction);
            let floor = &q >> fraction;
            // It is the floor unless the next integer is too close.
            certain(&q, &(&floor << fraction));
            certain(&q, &((&floor + IBig::from(1)) << fraction));
            if floor == IBig::from(0) {
                break;
            }
            sums.push(sums.last().unwrap_or(&0) + u32::try_from(floor).unwrap());
        }
        let end = sums.last().copied().unwrap_or(0);
        let whole = IBig::from((1u64 << bits) - u64::from(end)) << fraction;
        let mut cumulative = real(&IBig::from(0), precision);
        let mut edges: Vec<IBig> = vec![];
        for (m, p) in chances.iter().enumerate() {
            cumulative += p;
            let sum = IBig::from(sums.get(m).copied().unwrap_or(end)) << fraction;
            let edge = fixed(&cumulative, bits as usize + fraction) - sum;
            if &whole - &edge <= IBig::from(1) << NEXT {
                break;
            }
            edges.push(edge);
        }
        Level { last: form.values.map(|n| n - 1), bits, chances, sums, edges, fraction }
    }

    pub(super) fn end(&self) -> u32 {
        self.sums.last().copied().unwrap_or(0)
    }

    /// R.
    pub(super) fn rest(&self) -> u32 {
        ((1u64 << self.bits) - u64::from(self.end())) as u32
    }

    /// The `m` that `v < S_{K−1}` means: counted.
    pub(super) fn first(&self, v: u32) -> Option<u64> {
        (v < self.end()).then(|| self.sums.iter().filter(|sum| **sum <= v).count() as u64)
    }

    /// The `m` that every `u` in `[y, y + 1)·2^-known` means, if it is the same one.
    pub(super) fn decide(&self, y: &IBig, known: usize) -> Option<u64> {
        let unit = self.fraction - known;
        let (low, high) = (y << unit, (y + IBig::from(1)) << unit);
        // u < E_m for all of them, and for none of them u < E_{m−1}.
        let m = self.edges.partition_point(|edge| certain(&low, edge).is_gt());
        let below = match self.edges.get(m) {
            Some(edge) => certain(&high, edge).is_lt(),
            // Above the last edge but one there is nothing else.
            None if self.last == Some(m as u64) => true,
            // The first edge that has no digits of its own is next to R.
            None => high + (IBig::from(1) << (NEXT + 1)) < IBig::from(self.rest()) << self.fraction,
        };
        below.then_some(m as u64)
    }

    /// The `m` that `v` and the words that follow mean, and how many of these it takes: as few as decide it,
    /// but one at least if the first one does not.
    pub(super) fn draw(&self, v: u32, more: u32, mut words: impl FnMut() -> u32) -> u64 {
        if let Some(m) = self.first(v) {
            return m;
        }
        let mut y = IBig::from(v - self.end());
        let mut known = 0;
        loop {
            y = (y << more as usize) + IBig::from(words() >> (32 - more));
            known += more as usize;
            if let Some(m) = self.decide(&y, known) {
                return m;
            }
        }
    }
}

/// N_ℤ(0, σ²) or discrete Laplace noise from 32-bit words.
pub(super) enum Law {
    /// σ² ≤ 1024 or b ≤ 16: the law of |X|.
    Narrow(Level),
    /// σ² > 1024: blocks of `2^shift`.
    Wide { level: Level, shift: u32, twice: Ratio },
    /// b > 16: blocks of digits of `2^places`.
    Digits { level: Level, digit: Level, bits: u32, places: u32, scale: Ratio },
}

impl Law {
    pub(super) fn gaussian(sigma2: &Ratio, precision: usize) -> Law {
        let twice = sigma2.times(2, 1);
        if sigma2.at_most(1024) {
            return Law::Narrow(Level::new(&Form::gaussian(twice.inverse(), true), 31, precision));
        }
        // 16 < σ/w ≤ 32.
        let shift = (1..).find(|s| sigma2.at_most(IBig::from(1024) << (2 * s))).unwrap() as u32;
        let x = twice.inverse().times(IBig::from(1) << (2 * shift as usize), 1);
        Law::Wide { level: Level::new(&Form::gaussian(x, false), 31, precision), shift, twice }
    }

    pub(super) fn laplace(scale: &Ratio, precision: usize) -> Law {
        if scale.at_most(16) {
            return Law::Narrow(Level::new(&Form::geometric(scale.inverse(), true), 31, precision));
        }
        // 4 < b/w ≤ 8.
        let shift = (1..).find(|s| scale.at_most(IBig::from(8) << s)).unwrap();
        let rate = |bits: usize| scale.inverse().times(IBig::from(1) << bits, 1);
        let (bits, places) = (shift.min(6), shift.saturating_sub(6));
        Law::Digits {
            level: Level::new(&Form::geometric(rate(shift), false), 31, precision),
            digit: Level::new(&Form::digit(rate(places), 1 << bits), 31, precision),
            bits: bits as u32,
            places: places as u32,
            scale: scale.clone(),
        }
    }

    pub(super) fn level(&self) -> &Level {
        match self {
            Law::Narrow(level) | Law::Wide { level, .. } | Law::Digits { level, .. } => level,
        }
    }

    /// How many words a draw begins with.
    pub(super) fn words(&self) -> usize {
        match self {
            Law::Narrow(_) => 1,
            Law::Wide { .. } => 3,
            Law::Digits { places, .. } => {
                if *places == 0 {
                    2
                } else {
                    3
                }
            }
        }
    }

    /// `2^bits·(1 − exp(−a))`, rounded down, of place `l` in block `h`.
    pub(super) fn rejected(&self, h: u64, l: u64, bits: usize, precision: usize) -> IBig {
        let a = match self {
            Law::Narrow(_) => panic!("there is no rejection"),
            Law::Wide { shift, twice, .. } => {
                twice.inverse().times(IBig::from(l) * ((IBig::from(h) << (*shift as usize + 1)) + l), 1)
            }
            Law::Digits { scale, .. } => scale.inverse().times(l, 1),
        };
        fixed(&(real(&IBig::from(1), precision) - exp_minus(&a, precision)), bits)
    }

    /// What the first words mean, one to three, and the ones that follow.
    pub(super) fn draw(&self, first: &[u32], mut words: impl FnMut() -> u32) -> i64 {
        let signed = |x: u64, word: u32| if word & 1 == 1 { -(x as i64) } else { x as i64 };
        let mut own = first.to_vec();
        loop {
            let h = self.level().draw(own[0] >> 1, 32, &mut words);
            let (x, kept) = match self {
                Law::Narrow(_) => return signed(h, own[0]),
                Law::Wide { shift, .. } => {
                    let l = u64::from(own[2]) >> (32 - shift);
                    ((h << shift) + l, self.keeps(h, l, own[1], 32, &mut words))
                }
                Law::Digits { digit, bits, places, .. } => {
                    let d = digit.draw(own[1] >> 1, 32, &mut words);
                    // The place in the upper bits of the word, the test in the lower.
                    let word = own.get(2).copied().map_or(0, u64::from);
                    let (l, test) = (word >> (32 - places), word & ((1 << (32 - places)) - 1));
                    let kept = self.keeps(h, l, test as u32, 32 - *places as usize, &mut words);
                    ((h << (bits + places)) + (d << places) + l, kept)
                }
            };
            if kept && !(x == 0 && own[0] & 1 == 1) {
                return signed(x, own[0]);
            }
            own.fill_with(&mut words);
        }
    }

    /// Whether `U ≥ 1 − exp(−a)`, with as few words as decide it; `test` has the first bits of `U`.
    fn keeps(&self, h: u64, l: u64, test: u32, bits: usize, mut words: impl FnMut() -> u32) -> bool {
        if l == 0 {
            return true;
        }
        let mut y = IBig::from(test);
        for known in (bits..).step_by(32) {
            // Digits enough to be certain, unless it is very close.
            let unit = 128;
            let rejected = self.rejected(h, l, known + unit, known + unit + SPARE);
            if certain(&(&y << unit), &rejected).is_gt() {
                return true;
            }
            if certain(&((&y + IBig::from(1)) << unit), &rejected).is_lt() {
                return false;
            }
            y = (y << 32) + IBig::from(words());
        }
        unreachable!()
    }
}

/// A nonnegative integer, in words of 32 bits, the highest first, as many as asked for.
pub(super) fn words_of(x: &IBig, count: usize) -> Vec<u32> {
    let x = UBig::try_from(x.clone()).unwrap();
    let low = UBig::from(u32::MAX);
    (0..count).rev().map(|i| u32::try_from((&x >> (32 * i)) & &low).unwrap()).collect()
}

/// Block `counter` of ChaCha20 with a nonce of 64 bits: D. J. Bernstein, "ChaCha, a variant of
/// Salsa20", 2008.
pub(super) fn chacha20(key: &[u8; 32], nonce: u64, counter: u64) -> [u32; 16] {
    let mut start = [0u32; 16];
    start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    for (word, bytes) in start[4..12].iter_mut().zip(key.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().unwrap());
    }
    start[12..].copy_from_slice(&[
        counter as u32,
        (counter >> 32) as u32,
        nonce as u32,
        (nonce >> 32) as u32,
    ]);
    let mut x = start;
    let mut quarter = |a: usize, b: usize, c: usize, d: usize| {
        for (i, j, k, by) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
            x[i] = x[i].wrapping_add(x[j]);
            x[k] = (x[k] ^ x[i]).rotate_left(by);
        }
    };
    for _ in 0..10 {
        for i in 0..4 {
            quarter(i, 4 + i, 8 + i, 12 + i);
        }
        for i in 0..4 {
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
        }
    }
    std::array::from_fn(|i| x[i].wrapping_add(start[i]))
}
