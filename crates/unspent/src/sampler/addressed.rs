//! Noise by address: a function of a release's key, the level, the query, the law, the unit and the cell.
//!
//! ```text
//! release key (256 bits)
//!   └ BLAKE3, keyed: what it is for, level, query, law  ─▶ key of the measurement
//!       └ BLAKE3, keyed: the unit's code                ─▶ key of the vector
//!           └ ChaCha20  nonce 0:      the words that almost all draws are made of
//!                       nonce 1 + c:  the reserve of chunk c
//! ```
//!
//! A [`Key`](super::Key) counts its streams, so that no draw is made twice: in one process. Where the same
//! count may be made ready several times, by several machines (a task that is tried again, or a table that is
//! computed again), it must get the same noise every time instead. Nothing is counted here: whoever has the
//! key makes the same noise for an address, in any order (X9 and X10 in `theory/sampler.md`).

use std::convert::Infallible;
use std::fmt;

use zeroize::Zeroizing;

use super::key::{Block, Reserve, Secret, Wiped, keystream, random, secret, system, wipe_stack};
use super::level::Words;
#[cfg(target_arch = "x86_64")]
use super::vector;
use super::{CHUNK, GROUP, GROUPS, Path, Reserves, Sampler};
use crate::error::Result;

/// What the key of a measurement is for. Another text is another noise, so it never changes.
const PURPOSE: &str = "unspent addressed noise v1";

/// 256 bits from which all noise of one release is made; whoever knows them can take the noise off again.
///
/// The same address has the same noise wherever it is made. So a key is for one release of one table: over
/// other counts it would publish their exact differences. Nothing finds that out: what is measured with a key
/// must not change while it is in use, and the key is to be forgotten at the end.
///
/// Its bytes are wiped when the key and all its noise are dropped; [`expose`](ReleaseKey::expose) is the only
/// way to them, for other processes that take part in the release.
///
/// ```
/// use unspent::sampler::{ReleaseKey, Sampler};
/// let (key, sampler) = (ReleaseKey::from_os()?, Sampler::new(&"5".parse()?)?);
/// let noise = key.noise("Block", "sex * age", &sampler);
/// let (mut both, mut second) = ([0; 8], [0; 4]);
/// noise.fill([&b"36001"[..], b"36002"], 4, &mut both);
/// noise.fill([&b"36002"[..]], 4, &mut second);
/// assert_eq!(both[4..], second);
/// # Ok::<(), unspent::Error>(())
/// ```
pub struct ReleaseKey {
    secret: Secret,
    private: bool,
}

impl ReleaseKey {
    /// A new key from the operating system.
    pub fn from_os() -> Result<ReleaseKey> {
        Ok(ReleaseKey { secret: random(system)?, private: true })
    }

    /// The same key whenever the seed is the same: for tests and demonstrations only.
    ///
    /// Noise from it hides nothing from anyone who can guess the seed.
    #[must_use]
    pub fn not_private(seed: u64) -> ReleaseKey {
        let filled = secret::<Infallible>(|bytes| {
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            bytes[8..].copy_from_slice(b" addressed, NOT PRIVATE ");
            Ok(())
        });
        let Ok(secret) = filled;
        ReleaseKey { secret, private: false }
    }

    /// Whether the key came from the operating system.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// The bytes, for another process that takes part in the release; with
    /// [`is_private`](ReleaseKey::is_private), which goes with them. They are never to be stored.
    #[must_use]
    pub fn expose(&self) -> Zeroizing<[u8; 32]> {
        (*self.secret).clone()
    }

    /// The key of a process that [exposed](ReleaseKey::expose) it.
    #[must_use]
    pub fn from_exposed(bytes: &[u8; 32], private: bool) -> ReleaseKey {
        let filled = secret::<Infallible>(|secret| {
            secret.copy_from_slice(bytes);
            Ok(())
        });
        let Ok(secret) = filled;
        ReleaseKey { secret, private }
    }

    /// The noise of a measurement: of a query at a level.
    #[must_use]
    pub fn noise(&self, level: &str, query: &str, sampler: &Sampler) -> AddressedNoise {
        // Every part with its length, so that no two lists of parts are one text.
        let mut message = vec![];
        for part in [PURPOSE, level, query, &sampler.name] {
            message.extend((part.len() as u64).to_le_bytes());
            message.extend(part.as_bytes());
        }
        let filled = secret::<Infallible>(|secret| {
            derive(&self.secret, &message, secret);
            Ok(())
        });
        wipe_stack();
        let Ok(key) = filled;
        AddressedNoise { sampler: sampler.clone(), key }
    }
}

impl fmt::Debug for ReleaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleaseKey {{ private: {}, .. }}", self.private)
    }
}

/// The key that another key has for a message.
// Not inlined, so that its part of the stack is wiped as well.
#[inline(never)]
fn derive(key: &[u8; 32], message: &[u8], derived: &mut [u8; 32]) {
    derived.copy_from_slice(blake3::keyed_hash(key, message).as_bytes());
}

/// The noise of one measurement, for any unit.
pub struct AddressedNoise {
    sampler: Sampler,
    key: Secret,
}

impl AddressedNoise {
    /// Makes `length` draws for each unit, one unit after the other. A shorter length makes the first of
    /// them; neither the other units nor their order matter.
    ///
    /// # Panics
    /// If there are not so many places for each code.
    pub fn fill<'c>(&self, codes: impl IntoIterator<Item = &'c [u8]>, length: usize, places: &mut [i64]) {
        self.make(&mut codes.into_iter(), length, places);
        wipe_stack();
    }

    // Not inlined, so that its part of the stack is wiped as well.
    #[inline(never)]
    fn make<'c>(&self, codes: &mut dyn Iterator<Item = &'c [u8]>, length: usize, places: &mut [i64]) {
        let mut pass = Pass::new(&self.sampler);
        let mut vectors = places.chunks_exact_mut(length);
        let mut some: Vec<&'c [u8]> = Vec::with_capacity(GROUP);
        let mut keys = Keys::default();
        loop {
            some.clear();
            some.extend(codes.take(GROUP));
            if some.is_empty() {
                break;
            }
            keys.make(self.sampler.path, &self.key, &some, length.div_ceil(GROUP) * pass.blocks);
            for lane in 0..some.len() {
                let vector = vectors.next().expect("places for each code");
                for (chunk, places) in vector.chunks_mut(CHUNK).enumerate() {
                    pass.add(&keys, lane, chunk, places);
                }
            }
        }
        assert!(vectors.next().is_none() && vectors.into_remainder().is_empty(), "a code for all places");
        pass.draw();
    }
}

/// The keys of some vectors and, of short ones, all their words.
#[derive(Default)]
struct Keys {
    keys: Zeroizing<[[u8; 32]; GROUP]>,
    /// For each block of a vector, that of every vector, if these are made together.
    words: Wiped<Vec<Block>>,
    together: bool,
}

/// Blocks of a vector up to which those of 16 vectors are made together: beyond, the cipher makes those of
/// one together as fast.
const SHORT: usize = 4;

impl Keys {
    /// Makes those of up to 16 units, whose vectors are made of so many blocks.
    fn make(&mut self, path: Path, key: &[u8; 32], codes: &[&[u8]], blocks: usize) {
        self.together = false;
        if path == Path::Scalar || codes.len() == 1 || codes.iter().any(|code| code.len() > ONE_BLOCK) {
            codes.iter().zip(&mut *self.keys).for_each(|(code, made)| derive(key, code, made));
            return;
        }
        #[cfg(target_arch = "x86_64")]
        self.make_together(path, key, codes, blocks);
    }

    #[cfg(target_arch = "x86_64")]
    fn make_together(&mut self, path: Path, key: &[u8; 32], codes: &[&[u8]], blocks: usize) {
        let mut of_key = Zeroizing::new([0; 8]);
        for (word, bytes) in of_key.iter_mut().zip(key.chunks_exact(4)) {
            *word = little(bytes);
        }
        let (mut messages, mut lengths) = ([[0; GROUP]; 16], [0; GROUP]);
        for (lane, code) in codes.iter().enumerate() {
            lengths[lane] = code.len() as u32;
            for (row, bytes) in messages.iter_mut().zip(code.chunks(4)) {
                row[lane] = little(bytes);
            }
        }
        let keys = Zeroizing::new(vector::hash(path, &of_key, &messages, &lengths));
        for (lane, key) in self.keys.iter_mut().enumerate() {
            for (bytes, row) in key.chunks_exact_mut(4).zip(&*keys) {
                bytes.copy_from_slice(&row[lane].to_le_bytes());
            }
        }
        self.together = blocks <= SHORT;
        if !self.together {
            return;
        }
        // All of this call's are of the same length, so that nothing moves or is left behind.
        self.words.0.resize(GROUP * blocks, Block::default());
        let mut words = Zeroizing::new([[0; GROUP]; 16]);
        for (block, made) in self.words.0.chunks_exact_mut(GROUP).enumerate() {
            vector::blocks(path, &keys, block as u32, &mut words);
            for (lane, made) in made.iter_mut().enumerate() {
                for (bytes, row) in made.chunks_exact_mut(4).zip(&*words) {
                    bytes.copy_from_slice(&row[lane].to_le_bytes());
                }
            }
        }
    }
}

/// Bytes of a block of BLAKE3.
const ONE_BLOCK: usize = 64;

/// Up to four bytes as a word, the missing ones zero.
#[cfg(target_arch = "x86_64")]
fn little(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word[..bytes.len()].copy_from_slice(bytes);
    u32::from_le_bytes(word)
}

/// Vectors, or chunks of them, whose draws are made together.
struct Pass<'s, 'p> {
    sampler: &'s Sampler,
    /// Blocks of words a group.
    blocks: usize,
    parts: Vec<Part<'p>>,
    /// The key of each part.
    keys: Zeroizing<[[u8; 32]; GROUPS]>,
    /// Groups of draws of all parts.
    groups: usize,
    /// Their words, and room for a block that nobody needs.
    words: Wiped<Vec<Block>>,
    made: Zeroizing<Vec<i64>>,
}

/// A chunk of a vector.
struct Part<'p> {
    chunk: usize,
    /// Where its groups begin among those of the pass.
    start: usize,
    places: &'p mut [i64],
}

impl<'s, 'p> Pass<'s, 'p> {
    fn new(sampler: &'s Sampler) -> Pass<'s, 'p> {
        let blocks = sampler.law.blocks_a_group();
        Pass {
            sampler,
            blocks,
            parts: Vec::with_capacity(GROUPS),
            keys: Zeroizing::new([[0; 32]; GROUPS]),
            groups: 0,
            words: Wiped(vec![Block::default(); GROUPS * blocks + 1]),
            made: Zeroizing::new(vec![0; CHUNK]),
        }
    }

    /// Adds a chunk of a vector, after making what there is no room for beside it.
    fn add(&mut self, keys: &Keys, lane: usize, chunk: usize, places: &'p mut [i64]) {
        let groups = places.len().div_ceil(GROUP);
        if self.groups + groups > GROUPS {
            self.draw();
        }
        let (count, words) = (groups * self.blocks, &mut self.words.0[self.groups * self.blocks..]);
        if !keys.together {
            let first = (chunk * GROUPS * self.blocks) as u64;
            // Two blocks are made sooner than one; the next words are written over what is too much.
            let words = &mut words[..count.next_multiple_of(2)];
            keystream(self.sampler.path, &keys.keys[lane], 0, first, words);
        } else {
            let made = keys.words.0.iter().skip(lane).step_by(GROUP);
            words.iter_mut().zip(made).for_each(|(word, made)| *word = *made);
        }
        self.keys[self.parts.len()] = keys.keys[lane];
        self.parts.push(Part { chunk, start: self.groups, places });
        self.groups += groups;
    }

    /// Makes the draws of all parts.
    fn draw(&mut self) {
        let Sampler { law, path, .. } = self.sampler;
        let words = &self.words.0[..self.groups * self.blocks];
        let made = &mut self.made[..self.groups * GROUP];
        let mut reserves = PartReserves { parts: &self.parts, keys: &self.keys, open: None };
        law.draw(*path, words, made, &mut reserves);
        for part in self.parts.drain(..) {
            let count = part.places.len();
            part.places.copy_from_slice(&self.made[part.start * GROUP..][..count]);
        }
        self.groups = 0;
    }
}

/// The reserves of the parts of a pass, each from its beginning.
struct PartReserves<'r, 'p> {
    parts: &'r [Part<'p>],
    keys: &'r [[u8; 32]; GROUPS],
    /// That of the last group that was asked for, and the number of its part.
    open: Option<(usize, Reserve)>,
}

impl Reserves for PartReserves<'_, '_> {
    fn of(&mut self, group: usize) -> &mut impl Words {
        let part = self.parts.partition_point(|part| part.start <= group) - 1;
        if self.open.as_ref().is_none_or(|(open, _)| *open != part) {
            let nonce = 1 + self.parts[part].chunk as u64;
            self.open = Some((part, Reserve::new(&self.keys[part], nonce)));
        }
        let (_, reserve) = self.open.as_mut().expect("was opened");
        reserve
    }
}
