//! One target of `unspent-fuzz`, that `UNSPENT_FUZZ_TARGET` names, under libFuzzer. Half of all mutations
//! are those of the tests, which know numbers, lines and fields; the other half are libFuzzer's.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use unspent_fuzz::{Random, Target, mutated};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("UNSPENT_FUZZ_TARGET").expect("UNSPENT_FUZZ_TARGET names a target");
    Target::named(&name).unwrap_or_else(|| panic!("there is no target `{name}`"))
});
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| TARGET.seeds());

fn start() {
    unspent_fuzz::end_at_a_panic();
    // libFuzzer reads the folder after this.
    if let Ok(folder) = std::env::var("UNSPENT_FUZZ_SEEDS") {
        for (i, seed) in SEEDS.iter().enumerate() {
            std::fs::write(format!("{folder}/seed-{i:03}"), seed).expect("the folder can be written");
        }
    }
}

fuzz_target!(init: start(), |data: &[u8]| {
    TARGET.run(data);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed.into());
    if random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let found = mutated(&mut random, &data[..size], &SEEDS, TARGET.is_text);
    let size = found.len().min(max_size);
    data[..size].copy_from_slice(&found[..size]);
    size
});
