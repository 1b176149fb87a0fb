//! Noise by address: a function of the key and the address, however and wherever it is made (X9).

use std::collections::HashSet;

use super::super::oracle::{self, chacha20};
use super::super::{AddressedNoise, Path, ReleaseKey, Sampler, vector};
use super::{Random, TRUTHS, exact, sampler};

/// One of each kind.
const KINDS: [&str; 5] = ["5", "1e6", "b=5", "b=100", "b=5000"];

/// Around the borders of groups and chunks.
const LENGTHS: [usize; 16] =
    [1, 2, 15, 16, 17, 27, 63, 252, 1_000, 1_008, 1_009, 1_023, 1_024, 1_025, 2_016, 3_000];

fn noise_of(sampler: &Sampler) -> AddressedNoise {
    ReleaseKey::not_private(71).noise("Block", "sex * age", sampler)
}

fn made(noise: &AddressedNoise, codes: &[&str], length: usize) -> Vec<i64> {
    let mut places = vec![i64::MIN; codes.len() * length];
    noise.fill(codes.iter().map(|code| code.as_bytes()), length, &mut places);
    places
}

fn codes(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{:015}", 360_610_001_001_000 + i)).collect()
}

fn texts(codes: &[String]) -> Vec<&str> {
    codes.iter().map(String::as_str).collect()
}

#[test]
fn noise_of_an_address_is_the_one_it_was() {
    // Another version that made other noise for an address would publish a second answer to one question.
    let long = "x".repeat(200);
    let units = ["", "01", "360610001001000", "Zürich", long.as_str()];
    for (name, known) in KNOWN {
        let noise = noise_of(&sampler(name));
        for (code, known) in units.iter().zip(known) {
            let found = made(&noise, &[code], 2_016);
            let found: [i64; 6] = [0, 1, 15, 16, 1_024, 2_015].map(|i| found[i]);
            assert_eq!(found, known, "{name}: unit `{code}`");
        }
    }
}

/// Draws 0, 1, 15, 16, 1,024 and 2,015 of five units, for a law of each kind.
const KNOWN: [(&str, [[i64; 6]; 5]); 5] = [
    (
        "5",
        [
            [0, 2, 1, 1, -2, 4],
            [-4, -2, 1, -1, 0, 2],
            [2, -1, 2, -1, 2, 0],
            [-1, -1, 1, -4, 4, 4],
            [0, 1, -2, -6, 0, 1],
        ],
    ),
    (
        "1e6",
        [
            [110, 28, 630, 142, -1172, -1648],
            [1009, 1808, -295, -475, 1114, -856],
            [719, -222, -659, -913, 371, 137],
            [737, -408, 678, -1103, -862, -511],
            [1659, 564, 477, 1312, -1708, 159],
        ],
    ),
    (
        "b=5",
        [
            [7, -4, -1, 3, 11, -3],
            [1, -7, 5, 11, -9, -3],
            [-4, 18, -11, -3, -7, 11],
            [11, -6, -1, -6, -5, 5],
            [-3, -3, -5, 1, -7, 6],
        ],
    ),
    (
        "b=100",
        [
            [134, 81, -132, -6, 88, -7],
            [48, 4, -179, -45, 12, -52],
            [-23, -59, -38, 32, 57, -422],
            [43, -33, 143, 105, 159, -26],
            [63, -56, -111, -46, 160, -48],
        ],
    ),
    (
        "b=5000",
        [
            [-228, -11205, 4487, -3326, -1370, 6160],
            [-8213, -14478, 869, 1283, 1544, -14],
            [-626, -6306, 595, 935, -9440, 978],
            [24508, -17605, 2697, -4991, 4525, -7406],
            [8187, -115, 8951, 13082, 68, 6887],
        ],
    ),
];

#[test]
fn keys_are_blake3s() {
    // The published test vectors for keyed hashes.
    let key = b"whats the Elvish word for friend";
    for (length, hex) in [
        (0, "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26"),
        (1, "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b"),
    ] {
        let input: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        assert_eq!(blake3::keyed_hash(key, &input).to_hex().as_str(), hex);
    }
}

/// A key as X9 has it, of parts with their lengths.
fn measurement_key(key: &ReleaseKey, level: &str, query: &str, law: &str) -> [u8; 32] {
    let mut message = vec![];
    for part in ["unspent addressed noise v1", level, query, law] {
        message.extend(part.len().to_le_bytes());
        message.extend(part.bytes());
    }
    *blake3::keyed_hash(&key.expose(), &message).as_bytes()
}

/// Draws of a vector as X9 and the oracle have them.
fn vector(truth: &oracle::Law, key: &[u8; 32], length: usize) -> Vec<i64> {
    let words = truth.words() as u64;
    let mut draws = vec![];
    for chunk in 0..length.div_ceil(1_024) as u64 {
        let mut used = 0;
        for group in 64 * chunk..(64 * (chunk + 1)).min(length.div_ceil(16) as u64) {
            let blocks: Vec<_> = (words * group..words * (group + 1)).map(|b| chacha20(key, 0, b)).collect();
            for lane in 0..16 {
                let own: Vec<u32> = blocks.iter().map(|block| block[lane]).collect();
                draws.push(truth.draw(&own, || {
                    used += 1;
                    chacha20(key, 1 + chunk, (used - 1) / 16)[(used - 1) as usize % 16]
                }));
            }
        }
    }
    draws.truncate(length);
    draws
}

#[test]
fn draws_are_those_that_the_oracle_makes_of_the_keys() {
    let key = ReleaseKey::not_private(71);
    for (name, truth) in &*TRUTHS {
        let law = match name.strip_prefix("b=") {
            Some(scale) => format!("discrete laplace, scale = {}", fraction(scale)),
            None => format!("discrete gaussian, sigma2 = {}", fraction(name)),
        };
        let measurement = measurement_key(&key, "Block", "sex * age", &law);
        let noise = noise_of(&sampler(name));
        let code = "360610001001000";
        let own = *blake3::keyed_hash(&measurement, code.as_bytes()).as_bytes();
        assert_eq!(made(&noise, &[code], 1_030), vector(truth, &own, 1_030), "{name}: unit `{code}`");
    }
}

/// Numerator and denominator in lowest terms.
fn fraction(text: &str) -> String {
    let exact = exact(text);
    format!("{}/{}", exact.numerator(), exact.denominator())
}

#[test]
fn draws_are_the_same_alone_together_and_in_part_on_every_path() {
    // One that is longer than a block among the others.
    let mut all = codes(70);
    all[20] = "y".repeat(65);
    let all = texts(&all);
    for name in KINDS {
        let sampler = sampler(name);
        // Every vector alone, by the slowest path.
        let alone = noise_of(&sampler.on(Path::Scalar));
        let longest: Vec<Vec<i64>> = all.iter().map(|code| made(&alone, &[code], 3_000)).collect();
        for path in Path::available() {
            let noise = noise_of(&sampler.on(path));
            for length in LENGTHS {
                let expected: Vec<i64> = longest.iter().flat_map(|v| v[..length].iter().copied()).collect();
                assert!(made(&noise, &all, length) == expected, "{name}, {length} on {path:?}");
                for part in [0..1, 1..4, 13..70, 69..70, 30..30] {
                    let expected = &expected[part.start * length..part.end * length];
                    assert!(
                        made(&noise, &all[part.clone()], length) == expected,
                        "{name}, {length}: {part:?}"
                    );
                }
            }
            let reversed: Vec<&str> = all.iter().rev().copied().collect();
            let expected: Vec<i64> = longest.iter().rev().flat_map(|v| v[..5].iter().copied()).collect();
            assert_eq!(made(&noise, &reversed, 5), expected);
        }
    }
}

#[test]
fn another_address_or_key_is_another_noise() {
    let key = ReleaseKey::not_private(1);
    let other = ReleaseKey::not_private(2);
    let five = || sampler("5");
    let noises = [
        key.noise("Block", "sex * age", &five()),
        // Parts that make the same text.
        key.noise("Blocks", "ex * age", &five()),
        key.noise("Bloc", "ksex * age", &five()),
        key.noise("", "Blocksex * age", &five()),
        key.noise("Block", "sex * age ", &five()),
        key.noise("block", "sex * age", &five()),
        key.noise("sex * age", "Block", &five()),
        key.noise("Block", "sex * age", &sampler("5.000000000001")),
        key.noise("Block", "sex * age", &sampler("b=5")),
        other.noise("Block", "sex * age", &five()),
    ];
    let units = ["01", "1", "01 ", "", "0", "010", "Ol", "é", "e\u{301}"];
    let mut seen = HashSet::new();
    for noise in &noises {
        for vector in made(noise, &units, 64).chunks_exact(64) {
            // 64 draws of σ² = 5 are equal with probability below 2⁻¹⁰⁰.
            assert!(seen.insert(vector.to_vec()));
        }
    }
    // The same number is the same address, however it is written.
    let written = ["5", "5.0", "10/2"].map(|sigma2| made(&noise_of(&sampler(sigma2)), &["1"], 64));
    assert!(written.iter().all(|vector| *vector == written[0]));
}

#[test]
fn a_key_goes_to_another_process_by_name_only() {
    let key = ReleaseKey::from_os().unwrap();
    let there = ReleaseKey::from_exposed(&key.expose(), key.is_private());
    assert!(key.is_private() && there.is_private());
    let vector = |key: &ReleaseKey| made(&key.noise("a", "b", &sampler("5")), &["1"], 64);
    assert_eq!(vector(&key), vector(&there));
    assert_ne!(vector(&key), vector(&ReleaseKey::from_os().unwrap()));
    assert_eq!(format!("{key:?}"), "ReleaseKey { private: true, .. }");
    let seeded = ReleaseKey::not_private(3);
    assert!(!ReleaseKey::from_exposed(&seeded.expose(), seeded.is_private()).is_private());
    // A key of this kind and one whose streams are counted are not the same, for any seed.
    let mut streams = vec![0; 64];
    let counted = super::super::Key::not_private(3);
    assert_ne!(counted.stream().key[8..], seeded.expose()[8..]);
    counted.noise(&sampler("5")).fill(&mut streams).unwrap();
    assert_ne!(streams, vector(&seeded));
}

#[test]
#[should_panic(expected = "places for each code")]
fn every_unit_has_its_places() {
    noise_of(&sampler("5")).fill([&b"1"[..], b"2"], 4, &mut [0; 7]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn keys_and_words_that_are_made_together_are_the_same() {
    let mut random = Random(73);
    for path in Path::available().into_iter().skip(1) {
        for _ in 0..200 {
            let key: [u8; 32] = std::array::from_fn(|_| random.below(256) as u8);
            let of_key = words(&key);
            let (mut messages, mut lengths) = ([[0; 16]; 16], [0; 16]);
            let texts: [Vec<u8>; 16] =
                std::array::from_fn(|_| (0..random.below(65)).map(|_| random.below(256) as u8).collect());
            for (lane, text) in texts.iter().enumerate() {
                let mut block = [0; 64];
                block[..text.len()].copy_from_slice(text);
                lengths[lane] = text.len() as u32;
                messages.iter_mut().zip(words::<16>(&block)).for_each(|(row, word)| row[lane] = word);
            }
            let hashes = vector::hash(path, &of_key, &messages, &lengths);
            let column = |lane: usize| hashes.map(|row| row[lane]);
            let number = random.below(5) as u32;
            let mut made = [[0; 16]; 16];
            vector::blocks(path, &hashes, number, &mut made);
            for (lane, text) in texts.iter().enumerate() {
                let expected = *blake3::keyed_hash(&key, text).as_bytes();
                assert_eq!(column(lane), words(&expected), "{path:?}: {text:x?}");
                let expected = chacha20(&expected, 0, number.into());
                assert_eq!(made.map(|row| row[lane]), expected, "{path:?}");
            }
        }
    }
}

/// The words of bytes.
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..][..4].try_into().unwrap()))
}
