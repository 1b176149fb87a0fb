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

mod avx512 {
    use super::*;

    type Vector = __m512i;

    kernels!("avx512f", 16, by_16);

    operations! { "avx512f"
        fn load(bytes: &[u8]) -> Vector {
            assert_eq!(bytes.len(), 4 * LANES);
            // SAFETY: 64 bytes are there; they need not be aligned.
            unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
        }
        fn load_words(words: &[u32; LANES]) -> Vector {
            // SAFETY: 16 words are there; they need not be aligned.
            unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
        }
        fn store(x: Vector, places: &mut [i64]) {
            assert_eq!(places.len(), LANES);
            let halves = [_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x)];
            let [low, high] = halves.map(|x| _mm512_cvtepi32_epi64(x));
            // SAFETY: 16 places are there; they need not be aligned.
            unsafe {
                _mm512_storeu_si512(places.as_mut_ptr().cast(), low);
                _mm512_storeu_si512(places.as_mut_ptr().add(8).cast(), high);
            }
        }
        fn splat(x: u32) -> Vector { _mm512_set1_epi32(x.cast_signed()) }
        fn and(a: Vector, b: Vector) -> Vector { _mm512_and_si512(a, b) }
        fn xor(a: Vector, b: Vector) -> Vector { _mm512_xor_si512(a, b) }
        fn add(a: Vector, b: Vector) -> Vector { _mm512_add_epi32(a, b) }
        fn sub(a: Vector, b: Vector) -> Vector { _mm512_sub_epi32(a, b) }
        fn multiply(a: Vector, b: Vector) -> Vector { _mm512_mullo_epi32(a, b) }
        fn shift_right<const N: u32>(x: Vector) -> Vector { _mm512_srli_epi32::<N>(x) }
        fn shift_left<const N: u32>(x: Vector) -> Vector { _mm512_slli_epi32::<N>(x) }
        fn count(n: u32) -> __m128i { _mm_cvtsi32_si128(n.cast_signed()) }
        fn shift_right_by(x: Vector, n: __m128i) -> Vector { _mm512_srl_epi32(x, n) }
        fn shift_left_by(x: Vector, n: __m128i) -> Vector { _mm512_sll_epi32(x, n) }
        fn less_one_if_above(x: Vector, threshold: Vector, v: Vector) -> Vector {
            _mm512_mask_sub_epi32(x, _mm512_cmpgt_epu32_mask(threshold, v), x, _mm512_set1_epi32(1))
        }
        fn permute(table: Vector, index: Vector) -> Vector { _mm512_permutexvar_epi32(index, table) }
        /// One bit a lane: a ≥ b, without signs.
        fn at_least(a: Vector, b: Vector) -> u32 { _mm512_cmpge_epu32_mask(a, b).into() }
        fn product_of_even(a: Vector, b: Vector) -> Vector { _mm512_mul_epu32(a, b) }
        fn upper_half(x: Vector) -> Vector { _mm512_srli_epi64::<32>(x) }
        fn odd_halves(even: Vector, odd: Vector) -> Vector {
            _mm512_mask_blend_epi32(0b1010_1010_1010_1010, even, odd)
        }
    }
}
