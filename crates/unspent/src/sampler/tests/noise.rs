//! Keys, and the ways to take draws: however they are taken, they are the same, and each is taken once.

use std::num::NonZeroUsize;

use super::super::{Key, Noise, Sampler};
use super::{Random, exact, sampler};
use crate::error::Result;

/// A stream that is the same at every call.
fn noise(sigma2: &str) -> Noise {
    Key::not_private(71).noise(&sampler(sigma2))
}

fn filled(noise: &mut Noise, count: usize) -> Vec<i64> {
    let mut places = vec![0; count];
    noise.fill(&mut places).unwrap();
    places
}

/// One of each kind.
const KINDS: [&str; 5] = ["5", "1e6", "b=5", "b=100", "b=5000"];

#[test]
fn draws_of_a_seed_are_the_ones_they_were() {
    // Whoever repeats a demonstration gets the same noise from every version.
    for (name, known) in [
        ("5", [0, 2, -2, -1, 2, -3, 4, -1]),
        ("1e6", [138, 714, -848, -563, 757, -1146, 1757, -679]),
        ("b=5", [1, 4, -4, -3, 4, -7, 13, -3]),
        ("b=100", [14, 71, -84, -60, 92, -141, 244, -74]),
        ("b=5000", [933, 3573, -4408, -2857, 3898, -7021, 12558, -3763]),
    ] {
        assert_eq!(filled(&mut noise(name), 8), known, "{name}");
    }
}

#[test]
fn draws_are_the_same_in_pieces_of_any_size() {
    for sigma2 in KINDS {
        let whole = filled(&mut noise(sigma2), 20_000);
        for piece in [1, 7, 15, 16, 17, 31, 1_008, 1_023, 1_024, 1_025, 4_097] {
            let mut noise = noise(sigma2);
            let mut pieces = vec![];
            while pieces.len() < whole.len() {
                pieces.extend(filled(&mut noise, piece.min(whole.len() - pieces.len())));
            }
            assert_eq!(pieces, whole, "{sigma2} in pieces of {piece}");
        }
    }
}

#[test]
fn draws_are_the_same_one_at_a_time_and_mixed_with_pieces() {
    for sigma2 in KINDS {
        let whole = filled(&mut noise(sigma2), 30_000);
        let mut single = noise(sigma2);
        assert!(whole.iter().all(|x| single.sample().unwrap() == *x), "{sigma2}");
        let mut mixed = noise(sigma2);
        let mut random = Random(72);
        let mut found: Vec<i64> = vec![];
        while found.len() < whole.len() - 2_000 {
            let count = random.below(1_500) as usize;
            match random.below(4) {
                0 => found.extend((0..count).map(|_| mixed.sample().unwrap())),
                1 => found.extend(filled(&mut mixed, count)),
                2 => found.push(mixed.sample().unwrap()),
                _ => {
                    let draws = mixed.take(count as u64);
                    // Made after others were taken.
                    let next = mixed.sample().unwrap();
                    let mut places = vec![0; count];
                    draws.fill(&mut places).unwrap();
                    found.extend(places);
                    found.push(next);
                }
            }
        }
        assert_eq!(found, whole[..found.len()], "{sigma2}");
    }
}

#[test]
fn draws_are_the_same_on_threads_in_any_order() {
    for sigma2 in KINDS {
        let whole = filled(&mut noise(sigma2), 40_000);
        let mut noise = noise(sigma2);
        let sizes = [1, 5_000, 15, 1_024, 12_000, 16, 7, 17, 20_000, 1_920];
        assert_eq!(sizes.iter().sum::<usize>(), whole.len());
        let taken: Vec<_> = sizes.map(|size| (size, noise.take(size as u64))).into_iter().collect();
        let found: Vec<i64> = std::thread::scope(|scope| {
            // The last is begun first.
            let threads: Vec<_> = taken
                .into_iter()
                .rev()
                .map(|(size, draws)| {
                    scope.spawn(move || {
                        let mut places = vec![0; size];
                        draws.fill(&mut places).unwrap();
                        places
                    })
                })
                .collect();
            threads.into_iter().rev().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(found, whole, "{sigma2}");
    }
}

#[test]
fn draws_are_the_same_on_any_number_of_threads() {
    for sigma2 in KINDS {
        for count in [0, 1, 1_024, 1_025, 30_001] {
            let whole = filled(&mut noise(sigma2), 5 + count + 20);
            for threads in 1..=7 {
                let mut noise = noise(sigma2);
                let mut found = filled(&mut noise, 5);
                let mut places = vec![0; count];
                noise.fill_on(NonZeroUsize::new(threads).unwrap(), &mut places).unwrap();
                found.extend(places);
                found.extend(filled(&mut noise, 20));
                assert_eq!(found, whole, "{sigma2}: {count} on {threads} threads");
            }
        }
    }
}

#[test]
fn a_stream_ends_without_beginning_again() {
    for sigma2 in KINDS {
        let mut noise = noise(sigma2);
        noise.next = u64::MAX - 50;
        let last = noise.take(50);
        let mut places = [0; 50];
        last.fill(&mut places).unwrap();
        noise.next = u64::MAX - 50;
        let single: Vec<i64> = (0..50).map(|_| noise.sample().unwrap()).collect();
        assert_eq!(single, places);
        let after = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| noise.sample()));
        assert!(after.is_err(), "the stream began again");
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| noise.take(1))).is_err());
        assert!(noise.take(0).fill(&mut []).is_ok());
    }
}

#[test]
fn every_noise_of_a_key_is_another_one() {
    let key = Key::not_private(73);
    let sampler = sampler("100");
    let streams: Vec<_> = (0..20).map(|_| filled(&mut key.noise(&sampler), 64)).collect();
    for (i, stream) in streams.iter().enumerate() {
        assert!(streams[..i].iter().all(|other| other != stream));
        // Nor are they shifted against each other.
        for other in &streams[..i] {
            assert!(
                (1..48).all(|by| stream[by..by + 16] != other[..16] && other[by..by + 16] != stream[..16])
            );
        }
    }
    // The same key again, the same noise again; another one, another.
    assert_eq!(filled(&mut Key::not_private(73).noise(&sampler), 64), streams[0]);
    assert_ne!(filled(&mut Key::not_private(74).noise(&sampler), 64), streams[0]);
}

#[test]
fn streams_taken_on_many_threads_are_all_different() {
    let key = Key::not_private(75);
    let mut numbers: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..500).map(|_| key.stream().number).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..2_000));
}

#[test]
fn a_seed_source_that_fails_is_an_error_with_its_words() {
    let failed: Result<Key> = Key::from_source(|bytes| {
        bytes[..8].fill(1);
        Err("the well is dry".into())
    });
    let error = failed.unwrap_err();
    assert_eq!(error.to_string(), "the operating system gave no random key: the well is dry");
    assert!(error.hint().contains("no private noise"), "{}", error.hint());
    assert!(!error.is_input());
}

#[test]
fn a_key_is_all_that_its_source_gave() {
    let key = Key::from_source(|bytes| {
        assert_eq!(bytes.len(), 32);
        bytes.iter_mut().zip(0..).for_each(|(byte, i)| *byte = 200 - i);
        Ok(())
    });
    let key = key.unwrap();
    assert_eq!(**key.stream().key, std::array::from_fn(|i| 200 - i as u8));
}

#[test]
fn a_key_shows_nothing_of_itself() {
    let key = Key::from_source(|bytes| {
        bytes.fill(0xab);
        Ok(())
    });
    let shown = format!("{:?} {:#?}", key, key);
    let key = key.unwrap();
    assert_eq!(format!("{key:?}"), "Key { private: true, .. }");
    assert_eq!(format!("{:?}", Key::not_private(1)), "Key { private: false, .. }");
    for bytes in ["171", "ab", "AB", "0x"] {
        assert!(!shown.contains(bytes), "{shown}");
    }
}

#[test]
fn keys_of_the_operating_system_are_private_and_differ() {
    let keys: Vec<Key> = (0..8).map(|_| Key::from_os().unwrap()).collect();
    assert!(keys.iter().all(Key::is_private));
    assert!(!Key::not_private(0).is_private());
    let bytes: std::collections::HashSet<[u8; 32]> = keys.iter().map(|key| **key.stream().key).collect();
    assert_eq!(bytes.len(), keys.len());
    // No byte is left as it was before.
    assert!((0..32).all(|i| bytes.iter().any(|key| key[i] != 0)));
    let sampler = sampler("1000");
    assert_ne!(filled(&mut keys[0].noise(&sampler), 32), filled(&mut keys[1].noise(&sampler), 32));
}

#[test]
fn widths_that_are_in_range_are_taken_and_no_others() {
    for sigma2 in ["1e-3", "1e12", "1/999", "999999999999.999", "5"] {
        let sampler = Sampler::new(&exact(sigma2)).unwrap();
        filled(&mut Key::not_private(76).noise(&sampler), 100);
    }
    for scale in ["1e-3", "1e6", "1/999", "999999.999", "5"] {
        let sampler = Sampler::discrete_laplace(&exact(scale)).unwrap();
        filled(&mut Key::not_private(76).noise(&sampler), 100);
    }
    for scale in ["0", "-5", "1e-4", "1e7", "0.000999", "1000000.0000001"] {
        let error = Sampler::discrete_laplace(&exact(scale)).unwrap_err();
        assert!(error.is_input());
        let message = error.to_string();
        assert!(message.starts_with("scale: `"), "{message}");
        assert!(message.contains("a scale b between 1e-3 and 1e6"), "{message}");
    }
    for sigma2 in ["0", "-5", "1e-4", "1e13", "0.000999", "1000000000000.0000001", "-1e-3"] {
        let error = Sampler::new(&exact(sigma2)).unwrap_err();
        assert!(error.is_input());
        let message = error.to_string();
        assert!(message.starts_with("sigma2: `"), "{message}");
        assert!(message.ends_with("is not a variance between 1e-3 and 1e12"), "{message}");
    }
}

#[test]
fn nothing_is_taken_for_no_places() {
    for sigma2 in KINDS {
        let whole = filled(&mut noise(sigma2), 10);
        let mut noise = noise(sigma2);
        noise.fill(&mut []).unwrap();
        noise.take(0).fill(&mut []).unwrap();
        noise.fill_on(NonZeroUsize::new(3).unwrap(), &mut []).unwrap();
        assert_eq!(filled(&mut noise, 10), whole);
    }
}

#[test]
#[should_panic(expected = "a place for each draw")]
fn fewer_places_than_draws_panic() {
    let _ = noise("5").take(10).fill(&mut [0; 9]);
}

#[test]
#[should_panic(expected = "a place for each draw")]
fn more_places_than_draws_panic() {
    let _ = noise("5").take(10).fill(&mut [0; 11]);
}

#[test]
fn noise_of_another_process_is_refused() {
    let mut noise = noise("5");
    assert!(noise.sample().is_ok());
    let taken = noise.take(1);
    noise.stream.process ^= 1;
    let error = noise.sample().unwrap_err();
    assert!(error.to_string().starts_with("this noise belongs to process "), "{error}");
    assert!(error.hint().contains("make a key after the fork"));
    let mut places = [77; 5];
    assert!(noise.fill(&mut places).is_err());
    assert!(noise.fill_on(NonZeroUsize::new(2).unwrap(), &mut places).is_err());
    assert!(noise.take(5).fill(&mut places).is_err());
    assert_eq!(places, [77; 5]);
    assert!(taken.fill(&mut places[..1]).is_ok());
}
