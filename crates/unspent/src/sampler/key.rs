//! Random words: ChaCha20 under a key of the operating system, addressed and never used twice.
//!
//! ```text
//! key (256 bits) ─▶ stream n, once each ─▶ block b ─▶ 16 words
//!                   nonce 2n:     the words that almost all draws are made of
//!                   nonce 2n + 1: block c is the key of chunk c's reserve, a stream of its own
//! ```
//!
//! So every draw has words that nothing else uses, as many as it asks for, and is a function of the key, the
//! stream and its index alone: those of a chunk that need further words take them from its reserve, one draw
//! after the other.

use std::convert::Infallible;
use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chacha20::ChaCha20LegacyCore;
use chacha20::cipher::array::Array;
use chacha20::cipher::consts::U64;
use chacha20::cipher::{KeyIvInit, StreamCipherCore};
use zeroize::{Zeroize, Zeroizing};

use super::level::Words;
use super::{GROUP, Path};
use crate::error::{Error, ErrorKind, Result};

/// 16 words of keystream.
pub(super) type Block = Array<u8, U64>;

/// Word `i` of a block.
#[inline]
pub(super) fn word(block: &Block, i: usize) -> u32 {
    u32::from_le_bytes(block[4 * i..4 * i + 4].try_into().expect("4 bytes"))
}

/// 256 bits from which noise is made; whoever knows them can take the noise off again.
///
/// A key cannot be copied, written or shown. Its bytes are in one place, which its streams share, and which
/// is wiped when the key and all its streams are dropped. What was computed with it is wiped at the end of
/// every call that draws. This cannot be said of registers, of memory that the system has moved to a disk, or
/// of a process that is killed. Every stream of noise made with a key is another one.
///
/// A copy of the process, made by a fork, is told by its process id and gets no noise. That does not find a
/// copy that has the same number in a namespace of its own, nor a process or a machine that was saved and is
/// restored twice: both would make the same noise. Make a new key after anything of that kind.
///
/// ```
/// use unspent::sampler::{Key, Sampler};
/// let key = Key::from_os()?;
/// let sampler = Sampler::new(&"5".parse()?)?;
/// let mut noise = [0; 1_000];
/// key.noise(&sampler).fill(&mut noise)?;
/// # assert!(noise.iter().any(|x| *x != 0));
/// # Ok::<(), unspent::Error>(())
/// ```
pub struct Key {
    secret: Secret,
    private: bool,
    streams: AtomicU64,
    /// Where it was made.
    process: u32,
}

/// The bytes of a key, which never move: a copy would be left wherever they have been.
pub(super) type Secret = Arc<Zeroizing<[u8; 32]>>;

/// A secret whose bytes are written where they stay.
pub(super) fn secret<E>(
    fill: impl FnOnce(&mut [u8; 32]) -> std::result::Result<(), E>,
) -> std::result::Result<Secret, E> {
    let mut secret = Secret::default();
    fill(Arc::get_mut(&mut secret).expect("nobody else has it yet"))?;
    Ok(secret)
}

/// Random bytes of the operating system.
pub(super) fn system(bytes: &mut [u8]) -> std::result::Result<(), String> {
    getrandom::fill(bytes).map_err(|e| e.to_string())
}

/// A secret from the operating system, or what stands for it in a test.
pub(super) fn random(fill: impl FnOnce(&mut [u8]) -> std::result::Result<(), String>) -> Result<Secret> {
    secret(|bytes| fill(bytes)).map_err(|error| {
        Error::of_kind(
            ErrorKind::NoNoise,
            format!("the operating system gave no random key: {error}"),
            "without one there is no private noise, and none was made",
        )
    })
}

impl Key {
    /// A new key from the operating system.
    pub fn from_os() -> Result<Key> {
        Key::from_source(system)
    }

    pub(super) fn from_source(
        fill: impl FnOnce(&mut [u8]) -> std::result::Result<(), String>,
    ) -> Result<Key> {
        let secret = random(fill)?;
        Ok(Key { secret, private: true, streams: AtomicU64::new(0), process: std::process::id() })
    }

    /// The same key whenever the seed is the same: for tests and demonstrations only.
    ///
    /// Noise from it hides nothing from anyone who can guess the seed.
    #[must_use]
    pub fn not_private(seed: u64) -> Key {
        let filled = secret::<Infallible>(|bytes| {
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            bytes[8..].copy_from_slice(b" this key is NOT PRIVATE");
            Ok(())
        });
        let Ok(secret) = filled;
        Key { secret, private: false, streams: AtomicU64::new(0), process: std::process::id() }
    }

    /// What must be said wherever noise from a fixed seed goes.
    #[must_use]
    pub fn not_private_warning(seed: u64) -> String {
        format!("NOT PRIVATE: the noise was made from the fixed seed {seed}, and can be taken off again")
    }

    /// Whether the key came from the operating system.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// The next stream that was not used yet.
    pub(super) fn stream(&self) -> Stream {
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        assert!(number < 1 << 63, "2^63 streams were used");
        // A copy of the process has a copy of the counter: its streams would be the same ones.
        Stream { key: self.secret.clone(), number, process: self.process }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key {{ private: {}, .. }}", self.private)
    }
}

/// One stream of a key.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) key: Secret,
    pub(super) number: u64,
    pub(super) process: u32,
}

impl Stream {
    /// An error in a copy of the process: both would make the same noise.
    pub(super) fn check(&self) -> Result<()> {
        let now = std::process::id();
        if now == self.process {
            return Ok(());
        }
        Err(Error::of_kind(
            ErrorKind::NoNoise,
            format!("this noise belongs to process {}, and was asked for in its copy {now}", self.process),
            "both would publish the same noise: make a key after the fork",
        ))
    }

    /// Blocks of words from block `first` on.
    pub(super) fn blocks(&self, path: Path, first: u64, blocks: &mut [Block]) {
        keystream(path, &self.key, self.number << 1, first, blocks);
    }

    /// The further words of a chunk of draws.
    pub(super) fn reserve(&self, chunk: u64) -> Reserve {
        let mut keys = cipher(&self.key, self.number << 1 | 1);
        keys.set_block_pos(chunk);
        let mut block = Wiped([Block::default()]);
        keys.write_keystream_block(&mut block.0[0]);
        Reserve::new(block.0[0][..32].try_into().expect("32 bytes"), 0)
    }
}

/// The cipher wipes its own copy of the key; where that has been before, [`wipe_stack`] does.
pub(super) fn cipher(key: &[u8; 32], nonce: u64) -> ChaCha20LegacyCore {
    ChaCha20LegacyCore::new(key.into(), &Array(nonce.to_le_bytes()))
}

/// Blocks of the cipher, from block `first` on.
///
/// The crate has code for AVX-512 too, but compiles it only where a flag of the whole build says so.
pub(super) fn keystream(path: Path, key: &[u8; 32], nonce: u64, first: u64, blocks: &mut [Block]) {
    #[cfg(target_arch = "x86_64")]
    let (first, blocks) = if path == Path::Avx512 {
        let (groups, rest) = blocks.as_chunks_mut();
        let mut next = first;
        for group in groups {
            super::vector::keystream(key, nonce, next, group);
            next = next.wrapping_add(GROUP as u64);
        }
        (next, rest)
    } else {
        (first, blocks)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let Path::Scalar = path;
    if !blocks.is_empty() {
        let mut cipher = cipher(key, nonce);
        cipher.set_block_pos(first);
        cipher.write_keystream_blocks(blocks);
    }
}

/// Blocks that are wiped when they are dropped.
#[derive(Default)]
pub(super) struct Wiped<B: AsMut<[Block]>>(pub(super) B);

impl<B: AsMut<[Block]>> Drop for Wiped<B> {
    fn drop(&mut self) {
        self.0.as_mut().iter_mut().for_each(|block| block.as_mut_slice().zeroize());
    }
}

/// The stack that is wiped, in words of eight bytes. A call that draws has eight kilobytes for a chunk of
/// draws there, and the cipher's blocks; `tests/memory.rs` looks whether it is enough.
const STACK: usize = 4_096;

/// Writes over the stack that a call has used which was made from the same place as this one.
#[inline(never)]
pub(super) fn wipe_stack() {
    let mut used = [0u64; STACK];
    black_box(&mut used).zeroize();
    black_box(&used);
}

/// Further words, as many as it takes.
pub(super) struct Reserve {
    cipher: ChaCha20LegacyCore,
    blocks: Wiped<[Block; RESERVED]>,
    next: usize,
}

/// Blocks of a reserve that are made at a time: enough for the rejections of a chunk, most of the time.
const RESERVED: usize = 8;

impl Reserve {
    /// The keystream under a key with a nonce that nothing else uses.
    pub(super) fn new(key: &[u8; 32], nonce: u64) -> Reserve {
        Reserve { cipher: cipher(key, nonce), blocks: Wiped(Default::default()), next: usize::MAX }
    }
}

impl Words for Reserve {
    fn next(&mut self) -> u32 {
        if self.next >= 16 * RESERVED {
            self.cipher.write_keystream_blocks(&mut self.blocks.0);
            self.next = 0;
        }
        self.next += 1;
        word(&self.blocks.0[(self.next - 1) / 16], (self.next - 1) % 16)
    }
}
