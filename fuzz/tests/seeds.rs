//! All targets with their seeds and a fixed number of mutations of them: always the same ones.
//!
//! `CASES` and `SEED` in the environment ask for others. A failure names its case.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use unspent_fuzz::{Random, TARGETS, Target, mutated};

/// Mutations of a target of which many are tried in a second, and of others.
const QUICK: u64 = 800;
const SLOW: u64 = 60;

fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

/// One of the target's seeds, mutated.
fn case(target: &Target, seeds: &[Vec<u8>], seed: u64, case: u64) -> Vec<u8> {
    let mut random = Random::new(seed.wrapping_mul(1 << 32).wrapping_add(case));
    let bytes = if seeds.is_empty() { vec![] } else { seeds[random.below(seeds.len())].clone() };
    mutated(&mut random, &bytes, seeds, target.is_text)
}

/// What went wrong, and the bytes, as a text as far as they are one.
fn fails(target: &Target, place: &str, bytes: &[u8]) -> Result<bool, String> {
    catch_unwind(AssertUnwindSafe(|| target.run(bytes))).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        format!("{}, {place}: {words}\n{}", target.name, String::from_utf8_lossy(bytes).escape_debug())
    })
}

fn tried(name: &str) {
    let target = Target::named(name).unwrap();
    let seeds = target.seeds();
    let mut good = 0;
    for (i, bytes) in seeds.iter().enumerate() {
        let found = fails(target, &format!("seed {i}"), bytes).unwrap_or_else(|words| panic!("{words}"));
        good += u32::from(found);
    }
    assert!(good > 0, "{name}: no seed is a good one");
    let cases = given("CASES").unwrap_or(if target.is_quick { QUICK } else { SLOW });
    let seed = given("SEED").unwrap_or(1);
    let (next, accepted) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        let mut failures = vec![];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= cases {
                return failures;
            }
            let bytes = case(target, &seeds, seed, number);
            match fails(target, &format!("case {number} of seed {seed}"), &bytes) {
                Ok(good) => drop(accepted.fetch_add(good.into(), Ordering::Relaxed)),
                Err(words) => failures.push(words),
            }
        }
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("panics are caught")).collect()
    });
    println!("{name}: {} seeds, {cases} mutations, {} of them good", seeds.len(), accepted.into_inner());
    assert!(failures.is_empty(), "{} failures, the first:\n{}", failures.len(), failures[0]);
}

macro_rules! tests {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            tried($name);
        })*

        #[test]
        fn every_target_is_tried() {
            assert_eq!(TARGETS.map(|target| target.name), [$($name),*]);
        }
    };
}

tests! {
    number "number"
    allocation "allocation"
    csv_allocation "csv-allocation"
    schema "schema"
    draft "draft"
    needs "needs"
    account "account"
    question "question"
    http "http"
    csv_table "csv-table"
    parquet_table "parquet-table"
    folder "folder"
    gaussian_answers "gaussian-answers"
    answers "answers"
    tradeoff "tradeoff"
    noise "noise"
    addressed_noise "addressed-noise"
}
