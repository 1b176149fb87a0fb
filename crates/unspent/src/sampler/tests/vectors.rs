//! Every path makes the same draws, and leaves the same ones.

use super::super::blocks::BAND;
use super::super::level::{Form, Level, Steps};
use super::super::{Block, GROUP, GROUPS, Law, One, Path};
use super::{LAWS, Random, Script, fraction, law, ratio};

/// Draws by their words, one or three each.
type Draws = Vec<Vec<u32>>;

/// The paths there are for this processor; those it lacks are named.
fn paths() -> Vec<Path> {
    #[cfg(target_arch = "x86_64")]
    for path in [Path::Avx2, Path::Avx512] {
        if !Path::available().contains(&path) {
            println!("skipped: this machine has no {path:?}");
        }
    }
    let paths = Path::available();
    assert_eq!(paths[0], Path::Scalar);
    paths
}

/// What the integers decide.
fn find(law: &Law, words: &[u32]) -> Option<i64> {
    match law {
        Law::Narrow(level) => {
            let m = i64::from(level.find(words[0] >> 1)?);
            Some(if words[0] & 1 == 1 { -m } else { m })
        }
        Law::Wide(blocks) => blocks.find([words[0], words[1], words[2]]),
        Law::Digits(digits) => {
            digits.find([words[0], words[1], words.get(2).copied().unwrap_or(0x5555_5555 & digits.mask())])
        }
    }
}

/// Only what a path decides by itself, and what it leaves.
fn integers(path: Path, law: &Law, blocks: &[Block], made: &mut [i64], left: &mut [u16]) {
    match path {
        Path::Scalar => law.scalar(blocks, made, left),
        #[cfg(target_arch = "x86_64")]
        _ => super::super::vector::draw(path, law, blocks, made, left),
    }
}

/// Whole groups of draws, the last filled up with random words.
fn pack(law: &Law, draws: &Draws, random: &mut Random) -> (Vec<Block>, Draws) {
    let mut draws = draws.clone();
    while !draws.len().is_multiple_of(GROUP) {
        draws.push((0..law.blocks_a_group()).map(|_| random.word()).collect());
    }
    let mut blocks = vec![];
    for group in draws.chunks_exact(GROUP) {
        for b in 0..law.blocks_a_group() {
            let mut block = Block::default();
            for (bytes, words) in block.chunks_exact_mut(4).zip(group) {
                bytes.copy_from_slice(&words[b].to_le_bytes());
            }
            blocks.push(block);
        }
    }
    (blocks, draws)
}

fn assert_paths_agree(law: &Law, draws: &Draws, exactly: bool, what: &str) {
    let mut random = Random(draws.len() as u64);
    let paths = paths();
    for draws in draws.chunks(GROUP * GROUPS) {
        let (blocks, draws) = pack(law, &draws.to_vec(), &mut random);
        let found: Vec<_> = draws.iter().map(|words| find(law, words)).collect();
        for path in &paths {
            let (mut made, mut left) = (vec![i64::MIN; draws.len()], vec![0; draws.len() / GROUP]);
            integers(*path, law, &blocks, &mut made, &mut left);
            for (i, found) in found.iter().enumerate() {
                let is_left = left[i / GROUP] >> (i % GROUP) & 1 == 1;
                assert_eq!(is_left, found.is_none(), "{what} on {path:?}: {:x?}", draws[i]);
                if let Some(x) = found {
                    assert_eq!(made[i], *x, "{what} on {path:?}: {:x?}", draws[i]);
                }
            }
            if exactly {
                law.draw(*path, &blocks, &mut made, &mut One(Script::new([], 9)));
                // The draws that need more take it from one reserve, the first ones first.
                let mut reserve = Script::new([], 9);
                for (i, x) in made.iter().enumerate() {
                    let words = &blocks[i / GROUP * law.blocks_a_group()..][..law.blocks_a_group()];
                    let expected = law.one(words, i % GROUP, &mut reserve);
                    assert_eq!(*x, expected, "{what} on {path:?}: {:x?}", draws[i]);
                }
            }
        }
    }
}

/// First words around all thresholds, with both signs, and the ends.
fn thresholds(sums: &[u32]) -> Vec<u32> {
    let mut words = vec![0, 1, 2, 3, u32::MAX, u32::MAX - 1, u32::MAX - 2, 1 << 31, (1 << 31) - 1];
    for sum in sums {
        let around = [sum.saturating_sub(1), *sum, sum + 1].map(|v| v.min(u32::MAX >> 1));
        words.extend(around.into_iter().flat_map(|v| [v << 1, v << 1 | 1]));
    }
    words
}

fn probes(law: &Law, random: &mut Random) -> Draws {
    let mut draws: Draws =
        (0..2_000).map(|_| (0..law.blocks_a_group()).map(|_| random.word()).collect()).collect();
    match law {
        Law::Narrow(level) => draws.extend(thresholds(level.sums()).into_iter().map(|word| vec![word])),
        Law::Wide(blocks) => {
            let unit = 1u32 << (32 - blocks.shift);
            for word in thresholds(blocks.level.sums()) {
                for place in [0, unit - 1, unit, u32::MAX, random.word()] {
                    let h = blocks.level.find(word >> 1).unwrap_or(0);
                    let rejection = blocks.rejection(h, blocks.place(place));
                    let near =
                        rejection.wrapping_add([0, BAND - 1, BAND, BAND + 1][random.below(4) as usize]);
                    let tests = [near, rejection + BAND, rejection + BAND - 1, random.word(), u32::MAX];
                    draws.extend(tests.map(|test| vec![word, test, place]));
                }
            }
        }
        Law::Digits(digits) => {
            let mut own = |block: u32, digit: u32, word: u32| {
                draws.push([block, digit, word][..law.blocks_a_group()].to_vec());
            };
            for block in thresholds(digits.level.sums()) {
                own(block, random.word(), random.word());
                own(block, 0, 0);
            }
            for digit in thresholds(digits.digit.sums()) {
                [0, 1, random.word()].into_iter().for_each(|block| own(block, digit, random.word()));
                [0, 1].into_iter().for_each(|block| own(block, digit, !digits.mask()));
            }
            let places: Vec<u32> = (0..200).map(|_| random.word() & digits.mask()).collect();
            for place in places.into_iter().chain([0, digits.mask()]) {
                let rejection = ((u64::from(place) * u64::from(digits.kappa)) >> 32) as u32;
                for test in [0, 1, rejection, rejection + 1, rejection + 2, rejection + 3, u32::MAX] {
                    own(random.word(), random.word(), place | test & !digits.mask());
                }
            }
        }
    }
    draws
}

#[test]
fn every_path_makes_the_draws_of_the_scalar_one() {
    let mut random = Random(51);
    for sigma2 in LAWS {
        let law = law(sigma2);
        let probes = probes(&law, &mut random);
        assert_paths_agree(&law, &probes, false, sigma2);
        // With what the integers leave, too: some of them, as they take long.
        let some: Draws =
            probes.chunks(probes.len().div_ceil(1_000)).map(|few| few[few.len() / 2].clone()).collect();
        assert_paths_agree(&law, &some, true, sigma2);
    }
}

#[test]
fn every_path_agrees_for_variances_of_all_sizes() {
    let mut random = Random(52);
    for _ in 0..120 {
        // From 1e-3 to 2^40, by the number of bits.
        let numerator = 1 + (random.long() >> (24 + random.below(40)));
        let sigma2 = format!("{numerator}/{}", 1 + random.below(1_000));
        // And b from 1e-3 to 2^20.
        let numerator = 1 + (random.long() >> (44 + random.below(20)));
        let scale = format!("b={numerator}/{}", 1 + random.below(1_000));
        for name in [sigma2, scale] {
            let law = law(&name);
            assert_paths_agree(&law, &probes(&law, &mut random), false, &name);
        }
    }
}

#[test]
fn every_path_finds_its_way_among_any_number_of_thresholds() {
    let mut random = Random(53);
    let plain = Level::new(Form::gaussian(fraction(&ratio("1/10")), true), Steps::WORDS);
    for count in 0..=320usize {
        for (least, spread) in
            [(0, 1 << 31), (0, 2 * count as u64 + 1), ((1 << 31) - 1 - count as u64, count as u64 + 1)]
        {
            let sum = |_| (least + random.below(spread)).min((1 << 31) - 1) as u32;
            let mut sums: Vec<u32> = (0..count).map(sum).collect();
            sums.sort_unstable();
            let level = plain.with_sums(sums);
            let words = thresholds(level.sums()).into_iter().chain((0..64).map(|_| random.word()));
            let draws = words.map(|word| vec![word]).collect();
            assert_paths_agree(&Law::Narrow(level), &draws, false, &format!("{count} thresholds"));
        }
    }
}

#[test]
fn a_sampler_makes_the_same_draws_on_every_path() {
    use super::super::Key;
    use super::sampler;
    for sigma2 in LAWS {
        let sampler = sampler(sigma2);
        let mut all = paths().into_iter().map(|path| {
            let mut noise = vec![0; 50_001];
            Key::not_private(54).noise(&sampler.on(path)).fill(&mut noise).unwrap();
            noise
        });
        let scalar = all.next().unwrap();
        assert!(all.all(|noise| noise == scalar), "{sigma2}");
    }
}
