//! The textbook sampler, as fast as it can be had without tables: Canonne, Kamath and Steinke, *The Discrete
//! Gaussian for Differential Privacy* (2020), Algorithms 1 to 3, in machine integers.
//!
//! A discrete Laplace draw of scale t = ⌊σ⌋ + 1 is accepted with probability exp(−(|y| − σ²/t)²/2σ²); what is
//! accepted has exactly the law N_ℤ(0, σ²). Bernoulli draws with probability exp(−γ) are made of Bernoulli
//! draws with rational probabilities, and these of whole random words: there is no rounding anywhere.

use chacha20::ChaCha20LegacyCore;
use chacha20::cipher::array::Array;
use chacha20::cipher::consts::U64;
use chacha20::cipher::{KeyIvInit, StreamCipherCore};

/// As many blocks as the cipher makes at its full speed.
const BLOCKS: usize = 64;

/// Exact draws from N_ℤ(0, σ²) by rejection, σ² = `numerator` / `denominator`.
pub struct Textbook {
    numerator: u64,
    denominator: u64,
    /// t = ⌊σ⌋ + 1.
    scale: u64,
    /// 2σ²t² times `denominator`², the denominator of every γ.
    rejection: u64,
    words: Words,
}

impl Textbook {
    pub fn new(numerator: u64, denominator: u64) -> Textbook {
        let scale = (numerator / denominator).isqrt() + 1;
        let rejection = [2, denominator, scale, scale].into_iter().try_fold(numerator, u64::checked_mul);
        let rejection = rejection.expect("a variance of few digits");
        Textbook { numerator, denominator, scale, rejection, words: Words::new() }
    }

    /// Laplace noise alone.
    pub fn laplace_of(scale: u64) -> Textbook {
        Textbook { numerator: 1, denominator: 1, scale, rejection: 1, words: Words::new() }
    }

    /// Algorithm 3.
    pub fn sample(&mut self) -> i64 {
        loop {
            let y = self.laplace();
            let distance = u128::from(y.unsigned_abs()) * u128::from(self.scale * self.denominator);
            let distance = distance.abs_diff(u128::from(self.numerator));
            if self.words.bernoulli_exp(distance * distance, self.rejection) {
                return y;
            }
        }
    }

    /// Algorithm 2: P[Y = y] ∝ exp(−|y|/t).
    pub fn laplace(&mut self) -> i64 {
        loop {
            let rest = self.words.below(self.scale);
            if !self.words.bernoulli_exp_small(rest, self.scale) {
                continue;
            }
            let mut whole = 0;
            while self.words.bernoulli_exp_small(1, 1) {
                whole += 1;
            }
            let magnitude = (rest + self.scale * whole) as i64;
            let negative = self.words.next() & 1 == 1;
            match (negative, magnitude) {
                (true, 0) => {} // zero has one sign, or it would be drawn twice as often
                (true, _) => return -magnitude,
                (false, _) => return magnitude,
            }
        }
    }
}

/// ChaCha20's keystream, 64 bits at a time.
pub struct Words {
    cipher: ChaCha20LegacyCore,
    blocks: [Array<u8, U64>; BLOCKS],
    next: usize,
}

impl Words {
    pub fn new() -> Words {
        let cipher = ChaCha20LegacyCore::new(&Array([7; 32]), &Array([0; 8]));
        Words { cipher, blocks: [Array([0; 64]); BLOCKS], next: 8 * BLOCKS }
    }

    /// The next blocks of the keystream, 4 KiB.
    pub fn refill(&mut self) -> &[Array<u8, U64>] {
        self.cipher.write_keystream_blocks(&mut self.blocks);
        self.next = 0;
        &self.blocks
    }

    fn next(&mut self) -> u64 {
        if self.next == 8 * BLOCKS {
            self.refill();
        }
        let (block, i) = (&self.blocks[self.next / 8], self.next % 8);
        self.next += 1;
        u64::from_le_bytes(block[8 * i..8 * i + 8].try_into().expect("8 bytes"))
    }

    /// Uniform on 0 .. `bound`, by a product instead of a division: Lemire, *Fast random integer generation
    /// in an interval* (2019).
    fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.next()) * u128::from(bound);
            let (high, low) = ((product >> 64) as u64, product as u64);
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return high;
            }
        }
    }

    /// Algorithm 1, any γ = p/q: true with probability exp(−γ), a factor 1/e for each whole of γ.
    fn bernoulli_exp(&mut self, mut p: u128, q: u64) -> bool {
        while p > u128::from(q) {
            if !self.bernoulli_exp_small(1, 1) {
                return false;
            }
            p -= u128::from(q);
        }
        self.bernoulli_exp_small(p as u64, q)
    }

    /// Algorithm 1, γ = p/q ≤ 1: the first k for which Bernoulli(γ/k) fails is odd with probability
    /// 1 − γ + γ²/2! − … = exp(−γ).
    fn bernoulli_exp_small(&mut self, p: u64, q: u64) -> bool {
        let mut k = 1;
        while self.below(q.checked_mul(k).expect("k stays small: it passes 20 once in 20! draws")) < p {
            k += 1;
        }
        k % 2 == 1
    }
}
