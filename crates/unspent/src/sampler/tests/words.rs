//! ChaCha20, and X6: which words a draw is made of.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::key::{Stream, word};
use super::super::level::Words;
use super::super::oracle::{self, chacha20};
use super::super::{Block, Key, Path};
use super::{TRUTHS, sampler, truth};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// Of this process, so that it may be used.
fn stream(key: [u8; 32], number: u64) -> Stream {
    Stream { key: Arc::new(key.into()), number, process: std::process::id() }
}

/// The same on every path.
fn blocks(stream: &Stream, first: u64, count: usize) -> Vec<[u32; 16]> {
    let on = |path| -> Vec<[u32; 16]> {
        let mut blocks = vec![Block::default(); count];
        stream.blocks(path, first, &mut blocks);
        blocks.iter().map(|block| std::array::from_fn(|i| word(block, i))).collect()
    };
    let found = on(Path::Scalar);
    for path in Path::available() {
        assert_eq!(on(path), found, "{path:?}");
    }
    found
}

fn reserve(stream: &Stream, chunk: u64, count: usize) -> Vec<u32> {
    let mut reserve = stream.reserve(chunk);
    (0..count).map(|_| reserve.next()).collect()
}

/// The further words of a chunk as X6 has them.
fn reserve_of(key: &[u8; 32], number: u64, chunk: u64) -> impl FnMut() -> u32 {
    let block = chacha20(key, 2 * number + 1, chunk);
    let mut own = [0; 32];
    for (bytes, word) in own.chunks_exact_mut(4).zip(block) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let mut used = 0;
    let mut words = [0; 16];
    move || {
        if used % 16 == 0 {
            words = chacha20(&own, 0, used / 16);
        }
        used += 1;
        words[(used - 1) as usize % 16]
    }
}

/// Keys, nonces and the keystream from the first block on: draft-strombergson-chacha-test-vectors-01 (TC1,
/// 256 bits), draft-agl-tls-chacha20poly1305-04, section 7.
const PUBLISHED: [(&str, &str, &str); 5] = [
    (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000",
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7\
         da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586\
         9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed\
         29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        "0000000000000000000000000000000000000000000000000000000000000001",
        "0000000000000000",
        "4540f05a9f1fb296d7736e7b208e3c96eb4fe1834688d2604f450952ed432d41\
         bbe2a0b6ea7566d2a5d1e7e20d42af2c53d792b1c43fea817e9ad275ae546963",
    ),
    (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000001",
        "de9cba7bf3d69ef5e786dc63973f653a0b49e015adbff7134fcb7df137821031\
         e85a050278a7084527214f73efc7fa5b5277062eb7a0433e445f41e3",
    ),
    (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000",
        "ef3fdfd6c61578fbf5cf35bd3dd33b8009631634d21e42ac33960bd138e50d32\
         111e4caf237ee53ca8ad6426194a88545ddc497a0b466e7d6bbdb0041b2f586b",
    ),
    (
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "0001020304050607",
        "f798a189f195e66982105ffb640bb7757f579da31602fc93ec01ac56f85ac3c1\
         34a4547b733b46413042c9440049176905d3be59ea1c53f15916155c2be8241a\
         38008b9a26bc35941e2444177c8ade6689de95264986d95889fb60e84629c9bd\
         9a5acb1cc118be563eb9b3a4a472f82e09a7e778492b562ef7130e88dfe031c7\
         9db9d4f7c7a899151b9a475032b63fc385245fe054e3dd5a97a5f576fe064025\
         d3ce042c566ab2c507b138db853e3d6959660996546cc9c4a6eafdc777c040d7\
         0eaf46f76dad3979e5c5360c3317166a1c894c94a371876a94df7628fe4eaaf2\
         ccb27d5aaae0ad7ad0f9d4b6ad3b54098746d4524d38407a6deb3ab78fab78c9",
    ),
];

#[test]
fn the_keystream_is_the_published_one() {
    for (key, nonce, keystream) in PUBLISHED {
        let key: [u8; 32] = bytes(key).try_into().unwrap();
        let nonce = u64::from_le_bytes(bytes(nonce).try_into().unwrap());
        let published = bytes(keystream);
        let by_oracle = (0..8).flat_map(|b| chacha20(&key, nonce, b)).flat_map(u32::to_le_bytes);
        assert!(by_oracle.take(published.len()).eq(published.iter().copied()), "{nonce:x}");
        let stream = stream(key, nonce >> 1);
        if nonce % 2 == 0 {
            let ours = blocks(&stream, 0, 8).into_iter().flatten().flat_map(u32::to_le_bytes);
            assert!(ours.take(published.len()).eq(published), "{nonce:x}");
        } else {
            // Odd nonces are the keys' of the reserves: half of the block.
            let own = published[..32].try_into().unwrap();
            assert_eq!(reserve(&stream, 0, 32), [chacha20(own, 0, 0), chacha20(own, 0, 1)].concat());
        }
    }
}

#[test]
fn blocks_are_chacha20s_wherever_they_begin_and_however_many_there_are() {
    let key = std::array::from_fn(|i| (7 * i + 3) as u8);
    for number in [0, 1, (1 << 31) - 1, 1 << 31, (1 << 63) - 1] {
        let stream = stream(key, number);
        // Where the counter is carried from its lower word to its upper one, and at its end.
        for start in [0, 5, (1 << 32) - 1, (1 << 32) - 7, (1 << 33) - 20, (7 << 32) - 64, u64::MAX - 255] {
            let counts: &[usize] =
                if number == 1 { &[1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 192] } else { &[1, 37] };
            for count in counts {
                let found = blocks(&stream, start, *count);
                for (b, block) in (start..).zip(found) {
                    assert_eq!(block, chacha20(&key, 2 * number, b), "{number} {start} {count}: {b}");
                }
            }
        }
    }
}

#[test]
fn the_reserve_of_a_chunk_is_a_stream_of_its_own() {
    let key = std::array::from_fn(|i| (11 * i + 1) as u8);
    for number in [0, 3, (1 << 63) - 1] {
        for chunk in [0, 1, 15, 16, (1 << 32) - 1, 1 << 32, u64::MAX >> 10, u64::MAX] {
            let mut expected = reserve_of(&key, number, chunk);
            for (n, word) in reserve(&stream(key, number), chunk, 500).into_iter().enumerate() {
                assert_eq!(word, expected(), "word {n} of {chunk} in {number}");
            }
        }
    }
}

#[test]
fn no_two_streams_or_reserves_share_words() {
    let key = Key::not_private(5);
    let mut seen = HashSet::new();
    let mut words = 0;
    let mut add = |block: &[u32]| {
        for pair in block.chunks_exact(2) {
            seen.insert((pair[0], pair[1]));
            words += 1;
        }
    };
    for n in 0..4 {
        let stream = key.stream();
        assert_eq!(stream.number, n);
        blocks(&stream, 0, 500).iter().for_each(|block| add(block));
        (0..500).for_each(|i| add(&reserve(&stream, i, 40)));
    }
    // Of 60,000 pairs of words some two would be equal with probability 1e-10.
    assert_eq!(seen.len(), words);
}

/// The draws of a chunk as X6 and the oracle have them, and how many words of the reserve they take.
fn chunk(truth: &oracle::Law, key: &[u8; 32], number: u64, chunk: u64) -> (Vec<i64>, usize) {
    let mut reserve = reserve_of(key, number, chunk);
    let mut used = 0;
    let mut draws = vec![];
    for group in 64 * chunk..64 * chunk + 64 {
        let words = truth.words() as u64;
        let blocks: Vec<_> =
            (words * group..words * (group + 1)).map(|b| chacha20(key, 2 * number, b)).collect();
        for lane in 0..16 {
            let words: Vec<u32> = blocks.iter().map(|block| block[lane]).collect();
            draws.push(truth.draw(&words, || {
                used += 1;
                reserve()
            }));
        }
    }
    (draws, used)
}

#[test]
fn draws_are_those_that_the_oracle_makes_of_chacha20() {
    for (sigma2, truth) in &*TRUTHS {
        let sampler = sampler(sigma2);
        let key = Key::not_private(6);
        // The block counter passes 2^32 in chunk 2^26, or earlier if there are more blocks a group.
        let carry = ((1 << 26) - 1) / truth.words() as u64;
        for (number, which) in [(0, 0), (1, carry), (2, u64::MAX >> 10)] {
            let mut noise = key.noise(&sampler);
            assert_eq!(noise.stream.number, number);
            let (expected, _) = chunk(truth, &noise.stream.key, number, which);
            // A part that does not begin or end with the chunk; the very last draw of a stream is never
            // taken.
            for part in [0..1_023, 0..1, 17..900, 1_000..1_023, 511..512] {
                noise.next = 1_024 * which + part.start as u64;
                let mut found = vec![0; part.len()];
                noise.fill(&mut found).unwrap();
                assert_eq!(found, expected[part], "{sigma2}: chunk {which}");
            }
            noise.next = 1_024 * which + 1_020;
            assert_eq!(noise.sample().unwrap(), expected[1_020]);
        }
    }
}

#[test]
fn a_reserve_goes_on_for_as_many_words_as_a_chunk_takes() {
    // Some 90 words a chunk for σ² = 1025, and 128 are made at a time: chunks that take more have to be
    // looked for.
    let (truth, sampler) = (truth("1025", 512), sampler("1025"));
    let mut noise = Key::not_private(7).noise(&sampler);
    let mut seen = 0;
    for which in 0..4_000 {
        let mut words = vec![Block::default(); 3 * 64];
        noise.stream.blocks(Path::Scalar, 3 * 64 * which, &mut words);
        let mut left = [0; 64];
        sampler.law.scalar(&words, &mut [0; 1_024], &mut left);
        if left.iter().map(|bits| bits.count_ones()).sum::<u32>() < 43 {
            continue;
        }
        let (expected, used) = chunk(&truth, &noise.stream.key, 0, which);
        assert!(used > 128);
        noise.next = 1_024 * which;
        let mut found = vec![0; 1_024];
        noise.fill(&mut found).unwrap();
        assert_eq!(found, expected, "chunk {which}");
        seen += 1;
    }
    assert!(seen > 1, "{seen}");
}
