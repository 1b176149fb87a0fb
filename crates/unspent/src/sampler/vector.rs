//! The same integers, eight or sixteen draws at a time.
//!
//! The kernels are written once, over a handful of operations that AVX2 and AVX-512 each provide. A draw
//! looks its thresholds up in registers: first the block of thresholds that it is in, by comparing with all
//! the blocks' ends; then, for each place in a block, the threshold of its own block, by a permutation. So
//! neither a branch nor an address depends on the value; draws that the integers do not decide come back as
//! bits.
//!
//! This is the only module with unsafe code: reading and writing whole registers, of slices whose lengths are
//! checked, and calling the kernels once the instructions were found to be there.
#![expect(unsafe_code, reason = "loads and stores of registers, and calls of functions that need them")]

use std::arch::x86_64::*;

use zeroize::Zeroizing;

use super::blocks::{BAND, Blocks, FACTORIALS};
use super::digits::{Digits, SHORT};
use super::key::Block;
use super::level::Level;
use super::{GROUP, Law, Path};

/// Makes the draws that the integers decide; the others are left, as bits by group.
pub(super) fn draw(path: Path, law: &Law, words: &[Block], made: &mut [i64], left: &mut [u16]) {
    assert!(made.len() == GROUP * left.len() && words.len() == left.len() * law.blocks_a_group());
    // SAFETY: a sampler's path is one that this machine was found to have (`Path::available`).
    unsafe {
        match (path, law) {
            (Path::Avx512, Law::Narrow(level)) => avx512::narrow(level, words, made, left),
            (Path::Avx512, Law::Wide(blocks)) => avx512::wide(blocks, words, made, left),
            (Path::Avx512, Law::Digits(digits)) => avx512::digits(digits, words, made, left),
            (_, Law::Digits(digits)) => avx2::digits(digits, words, made, left),
            (_, Law::Narrow(level)) => avx2::narrow(level, words, made, left),
            (_, Law::Wide(blocks)) => avx2::wide(blocks, words, made, left),
        }
    }
}

/// For each lane BLAKE3's keyed hash of a message of one block: its words, after them zeros, and its length
/// in bytes. Word `i` of all lanes is in row `i`.
pub(super) fn hash(path: Path, key: &[u32; 8], messages: &Lanes<16>, lengths: &[u32; GROUP]) -> Lanes<8> {
    let mut hashes = [[0; GROUP]; 8];
    // SAFETY: as above.
    unsafe {
        match path {
            Path::Avx512 => avx512::hash(key, messages, lengths, &mut hashes),
            _ => avx2::hash(key, messages, lengths, &mut hashes),
        }
    }
    hashes
}

/// For each lane a block of ChaCha20 under a key of its own, with nonce 0.
pub(super) fn blocks(path: Path, keys: &Lanes<8>, block: u32, words: &mut Lanes<16>) {
    // SAFETY: as above.
    unsafe {
        match path {
            Path::Avx512 => avx512::blocks(keys, block, words),
            _ => avx2::blocks(keys, block, words),
        }
    }
}

/// Sixteen blocks of ChaCha20 in a row, for [`Path::Avx512`].
pub(super) fn keystream(key: &[u8; 32], nonce: u64, first: u64, blocks: &mut [Block; GROUP]) {
    let mut of_key = Zeroizing::new([0; 8]);
    for (word, bytes) in of_key.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    // SAFETY: as above.
    unsafe { avx512::keystream(&of_key, nonce, first, blocks) }
}

/// The thresholds of a level, laid out for each width of registers.
#[derive(Clone, Debug)]
pub(super) struct Thresholds {
    by_8: Rows<8>,
    by_16: Rows<16>,
}

impl Thresholds {
    pub(super) fn new(sums: &[u32]) -> Thresholds {
        Thresholds { by_8: Rows::new(sums), by_16: Rows::new(sums) }
    }
}

/// Thresholds in `N` blocks, those beyond the last filled with one that nothing reaches: row `r` has the
/// threshold at place `r` of every block.
#[derive(Clone, Debug)]
struct Rows<const N: usize>(Vec<[u32; N]>);

impl<const N: usize> Rows<N> {
    fn new(sums: &[u32]) -> Rows<N> {
        let count = sums.len().div_ceil(N).max(1);
        let mut rows = vec![[i32::MAX as u32; N]; count];
        for (i, sum) in sums.iter().enumerate() {
            rows[i % count][i / count] = *sum;
        }
        Rows(rows)
    }
}

/// Words of all lanes of a group, in rows.
pub(super) type Lanes<const N: usize> = [[u32; GROUP]; N];

/// Columns and diagonals of a state of 16 words.
const QUARTERS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// BLAKE3, section 2 of its specification.
mod blake3 {
    pub const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];
    pub const ROUNDS: usize = 7;
    pub const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    /// The only block of the only chunk of a keyed hash: start, end, root, keyed.
    pub const KEYED_ROOT: u32 = 1 | 2 | 8 | 16;
}

mod chacha {
    pub const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
    pub const DOUBLE_ROUNDS: usize = 10;
}

macro_rules! kernels {
    ($features:literal, $lanes:literal, $rows:ident) => {
        const LANES: usize = $lanes;
        /// A bit for each lane.
        const ALL: u32 = ((1u64 << LANES) - 1) as u32;

        /// For σ² ≤ 1024 or b ≤ 16: one word a draw.
        #[target_feature(enable = $features)]
        pub(super) fn narrow(level: &Level, words: &[Block], made: &mut [i64], left: &mut [u16]) {
            let table = Table::new(level);
            let end = splat(level.end());
            for ((words, made), left) in words.iter().zip(made.chunks_exact_mut(GROUP)).zip(left) {
                for half in 0..GROUP / LANES {
                    let word = load(&words[4 * LANES * half..][..4 * LANES]);
                    let v = shift_right::<1>(word);
                    let magnitude = table.find(v);
                    store(signed(magnitude, word), &mut made[LANES * half..][..LANES]);
                    *left |= (at_least(v, end) << (LANES * half)) as u16;
                }
            }
        }

        /// For σ² > 1024: three words a draw, one from each of three blocks of words.
        #[target_feature(enable = $features)]
        pub(super) fn wide(blocks: &Blocks, words: &[Block], made: &mut [i64], left: &mut [u16]) {
            let table = Table::new(&blocks.level);
            let end = splat(blocks.level.end());
            let (kappa, band) = (splat(blocks.kappa), splat(BAND));
            let mask = splat(blocks.place(u32::MAX));
            let (shift, down) = (count(blocks.shift), count(32 - blocks.shift));
            for ((words, made), left) in words.chunks_exact(3).zip(made.chunks_exact_mut(GROUP)).zip(left) {
                for half in 0..GROUP / LANES {
                    let [block, test, place] =
                        [0, 1, 2].map(|b| load(&words[b][4 * LANES * half..][..4 * LANES]));
                    let v = shift_right::<1>(block);
                    let h = table.find(v);
                    let place = and(place, mask);
                    // `Blocks::rejection`, step by step.
                    let a = high(high(place, add(shift_left::<24>(h), shift_right::<9>(place))), kappa);
                    let mut s = splat(FACTORIALS[0]);
                    for c in &FACTORIALS[1..] {
                        s = sub(splat(*c), high(a, s));
                    }
                    let rejection = sub(a, high(a, high(a, s)));
                    let x = add(shift_left_by(h, shift), shift_right_by(place, down));
                    store(signed(x, block), &mut made[LANES * half..][..LANES]);
                    let kept = at_least(test, add(rejection, band));
                    let open = !kept | negative_zeros(x, block) | at_least(v, end);
                    *left |= ((open & ALL) << (LANES * half)) as u16;
                }
            }
        }

        /// For b > 16: two words a draw, or three.
        #[target_feature(enable = $features)]
        pub(super) fn digits(digits: &Digits, words: &[Block], made: &mut [i64], left: &mut [u16]) {
            let (blocks, inner) = (Table::new(&digits.level), Table::new(&digits.digit));
            let (end, inner_end) = (splat(digits.level.end()), splat(digits.digit.end()));
            let (kappa, short) = (splat(digits.kappa), splat(SHORT));
            let (mask, rest) = (splat(digits.mask()), splat(!digits.mask()));
            let (digit_bits, place_bits) = (count(digits.digit_bits), count(digits.place_bits));
            let down = count(32 - digits.place_bits);
            let words = words.chunks_exact(digits.words());
            for ((words, made), left) in words.zip(made.chunks_exact_mut(GROUP)).zip(left) {
                for half in 0..GROUP / LANES {
                    let own = |block: &Block| load(&block[4 * LANES * half..][..4 * LANES]);
                    let block = own(&words[0]);
                    let (v, u) = (shift_right::<1>(block), shift_right::<1>(own(&words[1])));
                    let mut x = add(shift_left_by(blocks.find(v), digit_bits), inner.find(u));
                    let mut open = at_least(v, end) | at_least(u, inner_end);
                    if let Some(word) = words.get(2) {
                        let word = own(word);
                        let place = and(word, mask);
                        let rejection = add(high(place, kappa), short);
                        open |= !at_least(and(word, rest), rejection);
                        x = add(shift_left_by(x, place_bits), shift_right_by(place, down));
                    }
                    store(signed(x, block), &mut made[LANES * half..][..LANES]);
                    *left |= (((open | negative_zeros(x, block)) & ALL) << (LANES * half)) as u16;
                }
            }
        }

        #[target_feature(enable = $features)]
        pub(super) fn hash(
            key: &[u32; 8],
            messages: &Lanes<16>,
            lengths: &[u32; GROUP],
            hashes: &mut Lanes<8>,
        ) {
            for half in 0..GROUP / LANES {
                let mut m = [splat(0); 16];
                let mut x = [splat(0); 16];
                for i in 0..16 {
                    m[i] = load_words(part(&messages[i], half));
                }
                for i in 0..8 {
                    x[i] = splat(key[i]);
                }
                for i in 0..4 {
                    x[8 + i] = splat(blake3::IV[i]);
                }
                x[14] = load_words(part(lengths, half));
                x[15] = splat(blake3::KEYED_ROOT);
                for _ in 0..blake3::ROUNDS {
                    for (i, [a, b, c, d]) in QUARTERS.into_iter().enumerate() {
                        quarter(&mut x, [a, b, c, d], m[2 * i], m[2 * i + 1]);
                    }
                    let before = m;
                    for i in 0..16 {
                        m[i] = before[blake3::PERMUTATION[i]];
                    }
                }
                for i in 0..8 {
                    store_words(xor(x[i], x[8 + i]), &mut hashes[i][LANES * half..][..LANES]);
                }
            }
        }

        /// BLAKE3's quarter round.
        #[inline]
        #[target_feature(enable = $features)]
        fn quarter(x: &mut [Vector; 16], [a, b, c, d]: [usize; 4], first: Vector, second: Vector) {
            x[a] = add(add(x[a], x[b]), first);
            x[d] = rotate_right::<16>(xor(x[d], x[a]));
            x[c] = add(x[c], x[d]);
            x[b] = rotate_right::<12>(xor(x[b], x[c]));
            x[a] = add(add(x[a], x[b]), second);
            x[d] = rotate_right::<8>(xor(x[d], x[a]));
            x[c] = add(x[c], x[d]);
            x[b] = rotate_right::<7>(xor(x[b], x[c]));
        }

        #[target_feature(enable = $features)]
        pub(super) fn blocks(keys: &Lanes<8>, block: u32, words: &mut Lanes<16>) {
            for half in 0..GROUP / LANES {
                let mut start = [splat(0); 16];
                for i in 0..4 {
                    start[i] = splat(chacha::CONSTANTS[i]);
                }
                for i in 0..8 {
                    start[4 + i] = load_words(part(&keys[i], half));
                }
                start[12] = splat(block);
                for (i, x) in rounds(&start).into_iter().enumerate() {
                    store_words(x, &mut words[i][LANES * half..][..LANES]);
                }
            }
        }

        /// ChaCha20 of a state in each lane.
        #[inline]
        #[target_feature(enable = $features)]
        fn rounds(start: &[Vector; 16]) -> [Vector; 16] {
            let mut x = *start;
            for _ in 0..chacha::DOUBLE_ROUNDS {
                for [a, b, c, d] in QUARTERS {
                    x[a] = add(x[a], x[b]);
                    x[d] = rotate_right::<16>(xor(x[d], x[a]));
                    x[c] = add(x[c], x[d]);
                    x[b] = rotate_right::<20>(xor(x[b], x[c]));
                    x[a] = add(x[a], x[b]);
                    x[d] = rotate_right::<24>(xor(x[d], x[a]));
                    x[c] = add(x[c], x[d]);
                    x[b] = rotate_right::<25>(xor(x[b], x[c]));
                }
            }
            for i in 0..16 {
                x[i] = add(x[i], start[i]);
            }
            x
        }

        #[inline]
        fn part(row: &[u32; GROUP], half: usize) -> &[u32; LANES] {
            row[LANES * half..][..LANES].try_into().expect("so many lanes")
        }

        /// One bit a lane: a zero with a negative sign, where x + (1 − sign) is zero.
        #[inline]
        #[target_feature(enable = $features)]
        fn negative_zeros(x: Vector, word: Vector) -> u32 {
            let one = splat(1);
            !at_least(add(x, sub(one, and(word, one))), one)
        }

        /// The thresholds in registers.
        struct Table<'t> {
            rows: &'t [[u32; LANES]],
            ends: [Vector; LANES - 1],
            count: Vector,
        }

        impl Table<'_> {
            #[target_feature(enable = $features)]
            fn new(level: &Level) -> Table<'_> {
                let rows = &level.thresholds().$rows.0;
                let last = &rows[rows.len() - 1];
                let ends = std::array::from_fn(|block| splat(last[block]));
                Table { rows, ends, count: splat(rows.len() as u32) }
            }

            /// How many thresholds are at most `v`.
            #[inline]
            #[target_feature(enable = $features)]
            fn find(&self, v: Vector) -> Vector {
                let mut block = splat(LANES as u32 - 1);
                for end in self.ends {
                    block = less_one_if_above(block, end, v);
                }
                let mut place = self.count;
                for row in self.rows {
                    place = less_one_if_above(place, permute(load_words(row), block), v);
                }
                add(multiply(block, self.count), place)
            }
        }

        /// `x` with the sign that the last bit of `word` says.
        #[inline]
        #[target_feature(enable = $features)]
        fn signed(x: Vector, word: Vector) -> Vector {
            let sign = sub(splat(0), and(word, splat(1)));
            sub(xor(x, sign), sign)
        }

        /// The upper halves of the products.
        #[inline]
        #[target_feature(enable = $features)]
        fn high(a: Vector, b: Vector) -> Vector {
            let even = product_of_even(a, b);
            let odd = product_of_even(upper_half(a), upper_half(b));
            odd_halves(upper_half(even), odd)
        }
    };
}

/// Functions that are inlined into the kernels and need the same instructions.
macro_rules! operations {
    ($features:literal $(
        $(#[$doc:meta])*
        fn $name:ident $(<const $n:ident: $i:ty>)? ($($x:ident: $t:ty),*) $(-> $r:ty)? $body:block
    )*) => {
        $($(#[$doc])*
        #[inline]
        #[target_feature(enable = $features)]
        fn $name$(<const $n: $i>)?($($x: $t),*) $(-> $r)? $body)*
    };
}

mod avx2 {
    use super::*;

    type Vector = __m256i;

    kernels!("avx2", 8, by_8);

    operations! { "avx2"
        fn load(bytes: &[u8]) -> Vector {
            assert_eq!(bytes.len(), 4 * LANES);
            // SAFETY: 32 bytes are there; they need not be aligned.
            unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
        }
        fn load_words(words: &[u32; LANES]) -> Vector {
            // SAFETY: 8 words are there; they need not be aligned.
            unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
        }
        fn store(x: Vector, places: &mut [i64]) {
            assert_eq!(places.len(), LANES);
            let halves = [_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)];
            let [low, high] = halves.map(|x| _mm256_cvtepi32_epi64(x));
            // SAFETY: 8 places are there; they need not be aligned.
            unsafe {
                _mm256_storeu_si256(places.as_mut_ptr().cast(), low);
                _mm256_storeu_si256(places.as_mut_ptr().add(4).cast(), high);
            }
        }
        fn store_words(x: Vector, words: &mut [u32]) {
            assert_eq!(words.len(), LANES);
            // SAFETY: 8 words are there; they need not be aligned.
            unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), x) }
        }
        fn rotate_right<const N: i32>(x: Vector) -> Vector {
            let (n, rest) = (count(N.cast_unsigned()), count(32 - N.cast_unsigned()));
            _mm256_or_si256(shift_right_by(x, n), shift_left_by(x, rest))
        }
        fn splat(x: u32) -> Vector { _mm256_set1_epi32(x.cast_signed()) }
        fn and(a: Vector, b: Vector) -> Vector { _mm256_and_si256(a, b) }
        fn xor(a: Vector, b: Vector) -> Vector { _mm256_xor_si256(a, b) }
        fn add(a: Vector, b: Vector) -> Vector { _mm256_add_epi32(a, b) }
        fn sub(a: Vector, b: Vector) -> Vector { _mm256_sub_epi32(a, b) }
        fn multiply(a: Vector, b: Vector) -> Vector { _mm256_mullo_epi32(a, b) }
        fn shift_right<const N: i32>(x: Vector) -> Vector { _mm256_srli_epi32::<N>(x) }
        fn shift_left<const N: i32>(x: Vector) -> Vector { _mm256_slli_epi32::<N>(x) }
        fn count(n: u32) -> __m128i { _mm_cvtsi32_si128(n.cast_signed()) }
        fn shift_right_by(x: Vector, n: __m128i) -> Vector { _mm256_srl_epi32(x, n) }
        fn shift_left_by(x: Vector, n: __m128i) -> Vector { _mm256_sll_epi32(x, n) }
        /// Both below 2³¹, so that their signs do not matter.
        fn less_one_if_above(x: Vector, threshold: Vector, v: Vector) -> Vector {
            _mm256_add_epi32(x, _mm256_cmpgt_epi32(threshold, v))
        }
        fn permute(table: Vector, index: Vector) -> Vector { _mm256_permutevar8x32_epi32(table, index) }
        /// One bit a lane: a ≥ b, without signs.
        fn at_least(a: Vector, b: Vector) -> u32 {
            let larger = _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a);
            _mm256_movemask_ps(_mm256_castsi256_ps(larger)).cast_unsigned()
        }
        fn product_of_even(a: Vector, b: Vector) -> Vector { _mm256_mul_epu32(a, b) }
        fn upper_half(x: Vector) -> Vector { _mm256_srli_epi64::<32>(x) }
        fn odd_halves(even: Vector, odd: Vector) -> Vector { _mm256_blend_epi32::<0b1010_1010>(even, odd) }
    }
}

mod avx512;
