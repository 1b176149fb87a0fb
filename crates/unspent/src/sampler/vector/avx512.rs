//! The operations on sixteen words at a time, and the keystream of sixteen blocks.

use super::*;

type Vector = __m512i;

kernels!("avx512f", 16, by_16);

#[target_feature(enable = "avx512f")]
pub(super) fn keystream(key: &[u32; 8], nonce: u64, first: u64, blocks: &mut [Block; GROUP]) {
    let numbers: [u64; GROUP] = std::array::from_fn(|lane| first.wrapping_add(lane as u64));
    let mut start = [splat(0); 16];
    for (row, word) in start.iter_mut().zip(chacha::CONSTANTS.iter().chain(key)) {
        *row = splat(*word);
    }
    start[12] = load_words(&numbers.map(|n| n as u32));
    start[13] = load_words(&numbers.map(|n| (n >> 32) as u32));
    start[14] = splat(nonce as u32);
    start[15] = splat((nonce >> 32) as u32);
    for (x, block) in transposed(rounds(&start)).into_iter().zip(blocks) {
        // SAFETY: a block has 64 bytes; they need not be aligned.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), x) }
    }
}

/// Word `j` of row `i` becomes word `i` of row `j`: first within each quarter of the registers, where four
/// rows and their four words change places, then among the quarters.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(x: [Vector; 16]) -> [Vector; 16] {
    let mut t = x;
    for i in (0..16).step_by(4) {
        let (low, high) = (_mm512_unpacklo_epi32(x[i], x[i + 1]), _mm512_unpackhi_epi32(x[i], x[i + 1]));
        let (low_next, high_next) =
            (_mm512_unpacklo_epi32(x[i + 2], x[i + 3]), _mm512_unpackhi_epi32(x[i + 2], x[i + 3]));
        t[i] = _mm512_unpacklo_epi64(low, low_next);
        t[i + 1] = _mm512_unpackhi_epi64(low, low_next);
        t[i + 2] = _mm512_unpacklo_epi64(high, high_next);
        t[i + 3] = _mm512_unpackhi_epi64(high, high_next);
    }
    let mut made = x;
    for j in 0..4 {
        let even = _mm512_shuffle_i32x4::<0b10_00_10_00>(t[j], t[4 + j]);
        let odd = _mm512_shuffle_i32x4::<0b11_01_11_01>(t[j], t[4 + j]);
        let even_next = _mm512_shuffle_i32x4::<0b10_00_10_00>(t[8 + j], t[12 + j]);
        let odd_next = _mm512_shuffle_i32x4::<0b11_01_11_01>(t[8 + j], t[12 + j]);
        made[j] = _mm512_shuffle_i32x4::<0b10_00_10_00>(even, even_next);
        made[4 + j] = _mm512_shuffle_i32x4::<0b10_00_10_00>(odd, odd_next);
        made[8 + j] = _mm512_shuffle_i32x4::<0b11_01_11_01>(even, even_next);
        made[12 + j] = _mm512_shuffle_i32x4::<0b11_01_11_01>(odd, odd_next);
    }
    made
}

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
    fn store_words(x: Vector, words: &mut [u32]) {
        assert_eq!(words.len(), LANES);
        // SAFETY: 16 words are there; they need not be aligned.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), x) }
    }
    fn rotate_right<const N: i32>(x: Vector) -> Vector { _mm512_ror_epi32::<N>(x) }
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
