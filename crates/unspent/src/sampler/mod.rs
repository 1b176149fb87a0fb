//! The noise itself: exact draws of discrete Gaussian and discrete Laplace noise, some hundred million a
//! second.
//!
//! ```text
//! σ² or b (exact) ─▶ Sampler ─┐
//! key (OS)        ─▶ Key ─────┴▶ Noise, a stream of its own ─▶ Draws i..j ─▶ i64, on any thread
//! ```
//!
//! # Guarantee
//! Given ideal random bits, every draw has exactly the law `P[X = x] ∝ exp(−x²/2σ²)`, or `∝ exp(−|x|/b)`, on
//! all integers: no floating-point number takes part, nothing is cut off. The bits are ChaCha20's under a key
//! from the operating system. Draw `i` is a function of the key, the stream and `i`: the same on any number
//! of threads and with any instruction set.
//!
//! Up to σ² = 1024 or b = 16 a draw is one random word, looked up in a table of integers that holds all but
//! some 10⁻⁸ of the law; what the table does not decide is decided exactly with further words. Beyond, it is
//! a block from such a table, a place in the block (for Laplace noise from a second table first), and a
//! rejection. With AVX2 or AVX-512 no branch and no address depends on the value drawn, but for draws that
//! the integers leave over: at most one in 10⁷ from one word, and otherwise those whose first try was
//! rejected, up to 3 %, which are done again one at a time.
//! `theory/sampler.md` has the proofs.

mod addressed;
mod blocks;
mod digits;
mod enclosure;
mod key;
mod level;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vector;

use std::cell::LazyCell;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

pub use addressed::{AddressedNoise, ReleaseKey};
use blocks::{Blocks, signed};
use digits::Digits;
use enclosure::Fraction;
pub use key::Key;
use key::{Block, Reserve, Stream, Wiped, wipe_stack, word};
use level::{Form, Level, Steps, Words};

use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::mechanism::{Mechanism, check_sigma2};
use crate::number::Rational;

/// Draws that share their blocks of words.
const GROUP: usize = 16;
/// Groups that share a reserve of further words.
const GROUPS: usize = 64;
/// Draws that share a reserve.
const CHUNK: usize = GROUP * GROUPS;

/// Exact draws of one law, made ready.
#[derive(Clone, Debug)]
pub struct Sampler {
    law: Arc<Law>,
    /// What an address calls the law: exactly, and the same in every version.
    name: Arc<str>,
    path: Path,
}

#[derive(Debug)]
enum Law {
    /// σ² ≤ 1024, b ≤ 16.
    Narrow(Level),
    /// σ² > 1024.
    Wide(Blocks),
    /// b > 16.
    Digits(Digits),
}

/// The instructions with which draws are made; the draws are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Any machine.
    Scalar,
    /// x86-64 with AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// x86-64 with AVX-512F.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Path {
    /// What this machine has, the slowest first.
    #[must_use]
    pub fn available() -> Vec<Path> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
        let mut paths = vec![Path::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx2") {
                paths.push(Path::Avx2);
            }
            if std::is_x86_feature_detected!("avx512f") {
                paths.push(Path::Avx512);
            }
        }
        paths
    }
}

impl Sampler {
    /// Discrete Gaussian noise N_ℤ(0, σ²); σ² between 10⁻³ and 10¹², taken exactly.
    pub fn new(sigma2: &Rational) -> Result<Sampler> {
        let sigma2 = check_sigma2(sigma2.clone())?;
        let name = format!("discrete gaussian, sigma2 = {}", exactly(&sigma2));
        Ok(Sampler::of(Law::gaussian(&sigma2, Steps::WORDS), name))
    }

    /// Discrete Laplace noise, `P[X = x] ∝ exp(−|x|/b)`; b between 10⁻³ and 10⁶, taken exactly.
    ///
    /// ```
    /// # use unspent::sampler::{Key, Sampler};
    /// let sampler = Sampler::discrete_laplace(&"7/3".parse()?)?;
    /// let mut noise = [0; 1_000];
    /// Key::from_os()?.noise(&sampler).fill(&mut noise)?;
    /// # assert!(noise.iter().any(|x| *x != 0));
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn discrete_laplace(scale: &Rational) -> Result<Sampler> {
        let range = Rational::power_of_ten(-3)..=Rational::power_of_ten(6);
        let allowed = "a scale b between 1e-3 and 1e6 of discrete Laplace noise that is drawn";
        let scale = scale.clone().within("scale", &range, allowed)?;
        let name = format!("discrete laplace, scale = {}", exactly(&scale));
        Ok(Sampler::of(Law::laplace(&scale, Steps::WORDS), name))
    }

    /// The noise of a mechanism that adds discrete Gaussian or discrete Laplace noise.
    pub fn drawing(mechanism: &Mechanism) -> Result<Sampler> {
        match mechanism {
            Mechanism::DiscreteGaussian(noise) => Sampler::new(noise.sigma2()),
            Mechanism::DiscreteLaplace(noise) => Sampler::discrete_laplace(noise.scale()),
            _ => Err(Error::stated(
                format!("{} noise cannot be drawn exactly", mechanism.name()),
                "the sampler draws discrete Gaussian and discrete Laplace noise, on the integers",
            )),
        }
    }

    fn of(law: Law, name: String) -> Sampler {
        let path = *Path::available().last().expect("there is always one");
        Sampler { law: Arc::new(law), name: name.into(), path }
    }

    /// The same draws with other instructions.
    ///
    /// # Panics
    /// If this machine does not have them.
    #[must_use]
    pub fn on(&self, path: Path) -> Sampler {
        assert!(Path::available().contains(&path), "this machine has no {path:?}");
        Sampler { path, ..self.clone() }
    }
}

/// Always a fraction in lowest terms.
fn exactly(x: &Rational) -> String {
    format!("{}/{}", x.numerator(), x.denominator())
}

impl Key {
    /// A stream of noise that no other use of this key repeats.
    #[must_use]
    pub fn noise(&self, sampler: &Sampler) -> Noise {
        Noise {
            sampler: sampler.clone(),
            stream: self.stream(),
            next: 0,
            ready: Zeroizing::default(),
            ready_from: 0,
        }
    }
}

/// A stream of independent draws; each can be taken once.
pub struct Noise {
    sampler: Sampler,
    stream: Stream,
    /// The draw that was not taken yet.
    next: u64,
    /// Draws `ready_from` and following.
    ready: Zeroizing<Vec<i64>>,
    ready_from: u64,
}

impl Noise {
    /// Takes one draw. [`Noise::fill`] takes many, faster.
    ///
    /// # Panics
    /// After 2⁶⁴ draws.
    pub fn sample(&mut self) -> Result<i64> {
        self.stream.check()?;
        let i = self.next;
        self.next = i.checked_add(1).expect("a stream has 2^64 draws");
        if i - self.ready_from >= self.ready.len() as u64 {
            self.ready.resize(CHUNK, 0);
            self.ready_from = i - i % CHUNK as u64;
            self.sampler.fill(&self.stream, self.ready_from, &mut self.ready);
        }
        Ok(self.ready[(i - self.ready_from) as usize])
    }

    /// Takes as many draws as there are places.
    pub fn fill(&mut self, places: &mut [i64]) -> Result<()> {
        self.take(places.len() as u64).fill(places)
    }

    /// The same, on several threads.
    pub fn fill_on(&mut self, threads: NonZeroUsize, places: &mut [i64]) -> Result<()> {
        let part = places.len().div_ceil(threads.get()).next_multiple_of(CHUNK).max(1);
        std::thread::scope(|scope| {
            let parts: Vec<_> = places
                .chunks_mut(part)
                .map(|places| {
                    let draws = self.take(places.len() as u64);
                    scope.spawn(|| draws.fill(places))
                })
                .collect();
            parts
                .into_iter()
                .try_for_each(|part| part.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
        })
    }

    /// Takes the next `count` draws, to be made later or on another thread.
    ///
    /// # Panics
    /// After 2⁶⁴ draws.
    pub fn take(&mut self, count: u64) -> Draws {
        let end = self.next.checked_add(count).expect("a stream has 2^64 draws");
        let draws = self.next..end;
        self.next = end;
        Draws { sampler: self.sampler.clone(), stream: self.stream.clone(), draws }
    }
}

/// Draws that were taken and are still to be made.
#[must_use]
pub struct Draws {
    sampler: Sampler,
    stream: Stream,
    draws: Range<u64>,
}

impl Draws {
    /// Makes them.
    ///
    /// # Panics
    /// If there are not as many places as draws.
    pub fn fill(self, places: &mut [i64]) -> Result<()> {
        assert_eq!(places.len() as u64, self.draws.end - self.draws.start, "a place for each draw");
        self.stream.check()?;
        self.sampler.fill(&self.stream, self.draws.start, places);
        Ok(())
    }
}

impl Sampler {
    /// Draws `first` and following, of which nothing is left but these.
    fn fill(&self, stream: &Stream, first: u64, places: &mut [i64]) {
        self.make(stream, first, places);
        wipe_stack();
    }

    // Not inlined, so that its part of the stack is wiped as well.
    #[inline(never)]
    fn make(&self, stream: &Stream, first: u64, places: &mut [i64]) {
        let law = &*self.law;
        let mut words = Wiped(vec![Block::default(); GROUPS * law.blocks_a_group()]);
        let mut made = Zeroizing::new([0i64; CHUNK]);
        let mut done = 0;
        while done < places.len() {
            let i = first + done as u64;
            let (chunk, skipped) = (i / CHUNK as u64, (i % CHUNK as u64) as usize);
            let count = (places.len() - done).min(CHUNK - skipped);
            // From the beginning of the chunk, as earlier draws may have taken from its reserve.
            let groups = (skipped + count).div_ceil(GROUP);
            let words = &mut words.0[..groups * law.blocks_a_group()];
            stream.blocks(self.path, chunk * (GROUPS * law.blocks_a_group()) as u64, words);
            let places = &mut places[done..done + count];
            let mut reserves = One(LazyCell::new(|| stream.reserve(chunk)));
            if count == CHUNK {
                law.draw(self.path, words, places, &mut reserves);
            } else {
                law.draw(self.path, words, &mut made[..groups * GROUP], &mut reserves);
                places.copy_from_slice(&made[skipped..skipped + count]);
            }
            done += count;
        }
    }
}

/// A reserve is rarely needed for narrow laws.
impl<F: FnOnce() -> Reserve> Words for LazyCell<Reserve, F> {
    fn next(&mut self) -> u32 {
        (**self).next()
    }
}

/// The reserves of groups of draws; groups are asked for in order.
trait Reserves {
    /// That of a group.
    fn of(&mut self, group: usize) -> &mut impl Words;
}

/// One reserve for all groups.
struct One<W>(W);

impl<W: Words> Reserves for One<W> {
    fn of(&mut self, _: usize) -> &mut impl Words {
        &mut self.0
    }
}

impl Law {
    fn gaussian(sigma2: &Rational, steps: Steps) -> Law {
        let sigma2 = Fraction::from(sigma2);
        if sigma2.numerator > &sigma2.denominator << 10u8 {
            return Law::Wide(Blocks::new(&sigma2, steps));
        }
        let rate = Fraction { numerator: sigma2.denominator, denominator: sigma2.numerator << 1u8 };
        Law::Narrow(Level::new(Form::gaussian(rate, true), steps))
    }

    fn laplace(scale: &Rational, steps: Steps) -> Law {
        let scale = Fraction::from(scale);
        if scale.numerator > &scale.denominator << 4u8 {
            return Law::Digits(Digits::new(&scale, steps));
        }
        Law::Narrow(Level::new(Form::geometric(scale.inverse(), true), steps))
    }

    /// How many blocks of words the draws of a group are made of.
    fn blocks_a_group(&self) -> usize {
        match self {
            Law::Narrow(_) => 1,
            Law::Wide(_) => 3,
            Law::Digits(digits) => digits.words(),
        }
    }

    /// Makes whole groups of draws from their words; those that these do not decide, with words from their
    /// reserves.
    fn draw(&self, path: Path, words: &[Block], made: &mut [i64], reserves: &mut impl Reserves) {
        let mut left = [0u16; GROUPS];
        let left = &mut left[..made.len() / GROUP];
        match path {
            Path::Scalar => self.scalar(words, made, left),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => vector::draw(path, self, words, made, left),
        }
        for (group, left) in left.iter().enumerate().filter(|(_, left)| **left != 0) {
            let words = &words[group * self.blocks_a_group()..][..self.blocks_a_group()];
            for lane in (0..GROUP).filter(|lane| left >> lane & 1 == 1) {
                let i = group * GROUP + lane;
                made[i] = self.one(words, lane, reserves.of(group));
            }
        }
    }

    /// What the integers decide; the others are left, as bits by group.
    fn scalar(&self, words: &[Block], made: &mut [i64], left: &mut [u16]) {
        let groups = made.chunks_exact_mut(GROUP).zip(words.chunks_exact(self.blocks_a_group()));
        for ((made, words), left) in groups.zip(left) {
            for (lane, made) in made.iter_mut().enumerate() {
                let words = own(words, lane);
                let found = match self {
                    Law::Narrow(level) => {
                        level.find(words[0] >> 1).map(|m| signed(m.into(), words[0] & 1 == 1))
                    }
                    Law::Wide(blocks) => blocks.find(words),
                    Law::Digits(digits) => digits.find(words),
                };
                match found {
                    Some(x) => *made = x,
                    None => *left |= 1 << lane,
                }
            }
        }
    }

    /// One draw, exactly, from its words in its group and its reserve.
    fn one(&self, words: &[Block], lane: usize, reserve: &mut impl Words) -> i64 {
        let words = own(words, lane);
        match self {
            Law::Narrow(level) => signed(level.draw(words[0] >> 1, reserve), words[0] & 1 == 1),
            Law::Wide(blocks) => blocks.draw(words, reserve),
            Law::Digits(digits) => digits.draw(words, reserve),
        }
    }
}

/// The words of a lane, one of each block; zeros where there are no more blocks.
#[inline]
fn own(words: &[Block], lane: usize) -> [u32; 3] {
    std::array::from_fn(|b| words.get(b).map_or(0, |block| word(block, lane)))
}
