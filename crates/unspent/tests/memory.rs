//! What is left of a key in memory once it is dropped: all of the process is looked through.
//!
//! A program of its own: no other test may have the keys that are looked for.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::thread;

use chacha20::ChaCha20LegacyCore;
use chacha20::cipher::array::Array;
use chacha20::cipher::{KeyIvInit, StreamCipherCore};
use unspent::sampler::{Key, Path, ReleaseKey, Sampler};

/// All memory that can be written, as a file: what is looked for must not be where it is looked for.
fn copied() -> File {
    let path = std::env::temp_dir().join(format!("unspent-memory-{}", std::process::id()));
    let mut copy = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let mut memory = File::open("/proc/self/mem").unwrap();
    let mut buffer = vec![0; 1 << 16];
    // It has a copy of what was read last.
    let own = buffer.as_ptr() as u64..buffer.as_ptr() as u64 + buffer.len() as u64;
    for line in fs::read_to_string("/proc/self/maps").unwrap().lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        if !rest.starts_with("rw") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let [mut at, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        memory.seek(SeekFrom::Start(at)).unwrap();
        while at < to {
            let end = to.min(at + buffer.len() as u64);
            let some = &mut buffer[..(end - at) as usize];
            if memory.read_exact(some).is_err() {
                break;
            }
            let (first, last) = (own.start.clamp(at, end), own.end.clamp(at, end));
            some[(first - at) as usize..(last - at) as usize].fill(0);
            copy.write_all(some).unwrap();
            at = end;
        }
    }
    copy
}

/// How often each of these is in the copy.
fn found(mut copy: File, needles: &[Vec<u8>]) -> Vec<usize> {
    let mut all = vec![];
    copy.seek(SeekFrom::Start(0)).unwrap();
    copy.read_to_end(&mut all).unwrap();
    assert!(all.len() > 1 << 16);
    let count = |needle: &Vec<u8>| all.windows(needle.len()).filter(|window| window == needle).count();
    needles.iter().map(count).collect()
}

/// The key of a seed; its first half, which registers hold by itself (the other is the same for all seeds,
/// and is left by this test); and the key of the reserve of its last draws.
fn secrets(seed: u64) -> Vec<Vec<u8>> {
    let mut key = *b"unspent: this key is NOT PRIVATE";
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut reserve = Array::default();
    let mut reserves = ChaCha20LegacyCore::new((&key).into(), &Array(1u64.to_le_bytes()));
    reserves.set_block_pos((TAKEN - 1) / 1_024);
    reserves.write_keystream_block(&mut reserve);
    vec![key.into(), key[..16].into(), reserve[..32].into()]
}

/// Draws that are taken from each key.
const TAKEN: u64 = 1 + 10_000 + 100_000 + 3_000;

#[test]
fn no_key_is_left_in_memory() {
    // A key that is in use is found, so that not finding one says something.
    let (seed, sampler) = (0x5eed_0fff, Sampler::new(&"5".parse().unwrap()).unwrap());
    let key = Key::not_private(seed);
    let mut noise = key.noise(&sampler);
    noise.sample().unwrap();
    let copy = copied();
    assert_eq!(found(copy, &secrets(seed)), [1, 1, 0], "one copy, that of the key itself");
    drop((key, noise));

    for (round, path) in Path::available().into_iter().enumerate() {
        // Wide noise takes from its reserve as well.
        let laws = ["5", "1e6"].map(|sigma2| (sigma2, Sampler::new(&sigma2.parse().unwrap())));
        let laplace = ("b = 5000", Sampler::discrete_laplace(&"5000".parse().unwrap()));
        for (law, (name, sampler)) in laws.into_iter().chain([laplace]).enumerate() {
            let seed = 0x5eed_1000 + (3 * round + law) as u64;
            let sampler = sampler.unwrap().on(path);
            {
                let key = Key::not_private(seed);
                let mut noise = key.noise(&sampler);
                noise.sample().unwrap();
                noise.fill(&mut vec![0; 10_000]).unwrap();
                noise.fill_on(4.try_into().unwrap(), &mut vec![0; 100_000]).unwrap();
                let (taken, other) = (noise.take(3_000), key.noise(&sampler));
                thread::spawn(move || taken.fill(&mut vec![0; 3_000])).join().unwrap().unwrap();
                drop(other);
            }
            let copy = copied();
            assert_eq!(found(copy, &secrets(seed)), [0; 3], "{path:?}, {name}");
        }
    }
    no_key_of_a_release_is_left_in_memory();
}

/// The key of a seed, that of its measurement and those of two of its vectors, and the first halves of these.
fn addressed(seed: u64, law: &str) -> Vec<Vec<u8>> {
    let mut key = *b"unspent: addressed, NOT PRIVATE ";
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut message = vec![];
    for part in ["unspent addressed noise v1", "Block", "total", law] {
        message.extend((part.len() as u64).to_le_bytes());
        message.extend(part.bytes());
    }
    let measurement = *blake3::keyed_hash(&key, &message).as_bytes();
    let vectors =
        ["0000000", "0004999"].map(|code| *blake3::keyed_hash(&measurement, code.as_bytes()).as_bytes());
    let keys = [measurement, vectors[0], vectors[1]];
    let halves = keys.iter().map(|key| key[..16].to_vec());
    [key.to_vec()].into_iter().chain(keys.iter().map(|key| key.to_vec())).chain(halves).collect()
}

/// One after the other: each looks for what the other has in use.
fn no_key_of_a_release_is_left_in_memory() {
    let codes: Vec<String> = (0..5_000).map(|unit| format!("{unit:07}")).collect();
    for (round, path) in Path::available().into_iter().enumerate() {
        for (law, (name, sigma2)) in
            [("discrete gaussian, sigma2 = 5/1", "5"), ("discrete gaussian, sigma2 = 5000/1", "5000")]
                .into_iter()
                .enumerate()
        {
            let seed = 0x5eed_2000 + (2 * round + law) as u64;
            let sampler = Sampler::new(&sigma2.parse().unwrap()).unwrap().on(path);
            {
                let key = ReleaseKey::not_private(seed);
                let noise = key.noise("Block", "total", &sampler);
                let exposed = ReleaseKey::from_exposed(&key.expose(), key.is_private());
                // Short vectors and long ones, alone and together.
                for (length, units) in [(1, 5_000), (40, 5_000), (1_500, 3), (16, 1)] {
                    let codes = codes.iter().rev().take(units).map(String::as_bytes);
                    noise.fill(codes, length, &mut vec![0; units * length]);
                }
                noise.fill([&b"0000000"[..]], 4, &mut [0; 4]);
                let copy = copied();
                assert!(found(copy, &addressed(seed, name))[0] >= 1, "a key in use is found");
                drop(exposed);
            }
            let copy = copied();
            assert_eq!(found(copy, &addressed(seed, name)), [0; 7], "{path:?}, {name}");
        }
    }
}
