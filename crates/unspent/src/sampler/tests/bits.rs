//! Scripted words: the sampler and the oracle must say the same, and ask for as many words.

use dashu_int::IBig;

use super::super::blocks::Blocks;
use super::super::digits::Digits;
use super::super::level::{Level, Steps, Words};
use super::super::oracle::{self, Ratio, fixed, words_of};
use super::super::{Block, Law};
use super::{PRECISION, Random, Script, TRUTHS, fraction, law, ratio, truth};

/// How many of the edges are followed to the end.
const DEEP: usize = 6;

/// A draw from its first words, one or three, and further ones.
pub(super) type Draw<'a> = &'a dyn Fn(&[u32], &mut Script) -> i64;

/// `Law::one` on the words of some lane.
pub(super) fn one(law: &Law, first: &[u32], script: &mut Script) -> i64 {
    let lane = first[0] as usize % 16;
    let mut blocks = vec![Block::default(); law.blocks_a_group()];
    for (block, word) in blocks.iter_mut().zip(first) {
        block[4 * lane..4 * lane + 4].copy_from_slice(&word.to_le_bytes());
    }
    law.one(&blocks, lane, script)
}

/// What the oracle draws, if the sampler draws it too and takes as many words.
fn compare(truth: &oracle::Law, draw: Draw, first: &[u32], script: &Script) -> Result<i64, String> {
    let (mut mine, mut its) = (script.clone(), script.clone());
    let expected = truth.draw(first, || its.next());
    let found = draw(first, &mut mine);
    if (found, mine.used) == (expected, its.used) {
        return Ok(expected);
    }
    Err(format!(
        "{found} with {} words instead of {expected} with {}, from {first:x?} and {:x?}",
        mine.used, its.used, script.words
    ))
}

/// All that can be known from a law's words: thresholds, remainder, edges followed to any depth, tails.
pub(super) fn check(truth: &oracle::Law, draw: Draw) -> Result<(), String> {
    match truth {
        oracle::Law::Narrow(level) => {
            for (i, (v, words)) in probes(level, 8).into_iter().enumerate() {
                let word = v << 1 | i as u32 & 1;
                compare(truth, draw, &[word], &Script::new(words, i as u64))?;
                if v < level.end() {
                    compare(truth, draw, &[word ^ 1], &Script::new([], 0))?;
                }
            }
            Ok(())
        }
        oracle::Law::Wide { level, shift, .. } => {
            let mut random = Random(1);
            // Any block, with any test and place.
            for (v, words) in probes(level, 3) {
                let places = [random.word(), 0, u32::MAX, 1 << (32 - shift)];
                let place = places[random.below(4) as usize];
                let test = [random.word(), 0, 7, u32::MAX][random.below(4) as usize];
                let word = v << 1 | random.word() & 1;
                compare(truth, draw, &[word, test, place], &Script::new(words, random.long()))?;
            }
            // A negative zero is thrown away, and the next three words are a draw.
            let next = [2, u32::MAX, 1 << (32 - shift)];
            for (word, test) in [(1, 0), (1, u32::MAX), (0, 0), (0, u32::MAX)] {
                compare(truth, draw, &[word, test, 0], &Script::new(next, 5))?;
            }
            follow_rejections(truth, draw, level, *shift, &mut random)
        }
        oracle::Law::Digits { level, digit, places, .. } => check_digits(truth, draw, level, digit, *places),
    }
}

/// Blocks and digits to any depth, and tests along the true probability of rejection.
fn check_digits(
    truth: &oracle::Law,
    draw: Draw,
    level: &oracle::Level,
    digit: &oracle::Level,
    places: u32,
) -> Result<(), String> {
    let mut random = Random(2);
    let first = |words: [u32; 3]| words[..truth.words()].to_vec();
    // A word that is surely kept: the largest test, at a place of its own.
    let kept = |random: &mut Random| random.word() | u32::MAX >> places;
    for (v, words) in probes(level, 3) {
        let word = v << 1 | random.word() & 1;
        let own = first([word, random.word(), kept(&mut random)]);
        compare(truth, draw, &own, &Script::new(words, random.long()))?;
    }
    for (v, words) in probes(digit, 8) {
        // Both signs of the first block and another one, and the ignored bit of the digit's word.
        let block = [0, 1, random.word() % (level.end() << 1)][random.below(3) as usize];
        let own = first([block, v << 1 | random.word() & 1, kept(&mut random)]);
        compare(truth, draw, &own, &Script::new(words, random.long()))?;
    }
    // Blocks and digits that the integers do not decide: one takes its words after the other.
    for _ in 0..20 {
        let [v, u] = [level, digit].map(|level| level.end() + random.below(level.rest().into()) as u32);
        compare(truth, draw, &first([v << 1, u << 1, random.word()]), &Script::new([], random.long()))?;
    }
    // A negative zero is thrown away, and the next words are a draw.
    for word in [0, 1] {
        let next = [2 * level.sums[0], 2 * digit.sums[0], u32::MAX];
        let script = Script::new(&next[..truth.words()], 5);
        compare(truth, draw, &first([word, word, u32::MAX >> places]), &script)?;
    }
    let bits = 32 - places as usize;
    for l in (0..1u64 << places).step_by(1 + (1 << places) / 40).chain([(1 << places) - 1]).skip(1) {
        let rejected = truth.rejected(0, l, 256, PRECISION);
        let own = |test: u32| first([4, 6, (l << bits) as u32 | test]);
        // All of a test's bits and up to five words, followed exactly or to a unit of the last.
        for (depth, delta) in depths(6) {
            let known = bits + 32 * (depth - 1);
            let test = (&rejected >> (256 - known)) + IBig::from(delta);
            if test < IBig::from(0) {
                continue;
            }
            let words = words_of(&(&test & ((IBig::from(1) << (known - bits)) - IBig::from(1))), depth - 1);
            let test = u32::try_from(&test >> (known - bits)).unwrap();
            compare(truth, draw, &own(test), &Script::new(words, random.long()))?;
        }
        // Around what the integers decide, and far from it.
        for delta in [-1 << 12, -40, -20, -5, -4, -3, -2, 2, 3, 4, 5, 20, 1 << 12] {
            let Ok(test) = u32::try_from((&rejected >> (256 - bits)) + IBig::from(delta)) else { continue };
            compare(truth, draw, &own(test), &Script::new([], random.long()))?;
        }
    }
    Ok(())
}

/// Tests along the true probability of rejection, to 1 to 6 words.
fn follow_rejections(
    truth: &oracle::Law,
    draw: Draw,
    level: &oracle::Level,
    shift: u32,
    random: &mut Random,
) -> Result<(), String> {
    let blocks = level.sums.len() as u64;
    for h in (0..blocks).step_by(blocks as usize / 8).chain([1, blocks - 1]) {
        for l in [1, (1 << shift) - 1, random.below(1 << shift).max(1)] {
            let place = (l << (32 - shift)) as u32;
            let start = if h == 0 { 0 } else { level.sums[h as usize - 1] };
            let block = start + random.below(u64::from(level.sums[h as usize] - start)) as u32;
            let rejected = truth.rejected(h, l, 256, PRECISION);
            for (depth, delta) in depths(6) {
                let test = (&rejected >> (256 - 32 * depth)) + IBig::from(delta);
                if test < IBig::from(0) {
                    continue;
                }
                let words = words_of(&test, depth);
                let sign = random.word() & 1;
                let script = Script::new(&words[1..], random.long());
                compare(truth, draw, &[block << 1 | sign, words[0], place], &script)?;
            }
            // Far outside of the band, and around its ends.
            for delta in [-1 << 20, -17, -16, -9, -8, -7, 7, 8, 9, 16, 17, 1 << 20] {
                let Ok(test) = u32::try_from((&rejected >> 224) + IBig::from(delta)) else { continue };
                compare(truth, draw, &[block << 1, test, place], &Script::new([], random.long()))?;
            }
        }
    }
    // Blocks that the integers do not decide: the edges' words first, then those of the test.
    let beyond = level.edges.len().min(level.sums.len() + 3);
    for m in (0..beyond).step_by(40).chain([level.sums.len() - 1, beyond - 1]) {
        let edge = &level.edges[m] >> (level.fraction - 64);
        for below in [true, false] {
            let y = words_of(&if below { &edge - IBig::from(1) } else { &edge + IBig::from(1) }, 3);
            let v = level.end() + y[0];
            let h = level.draw(v, 32, {
                let mut script = Script::new(&y[1..], 3);
                move || script.next()
            });
            let l = random.below(1 << shift).max(1);
            let rejected = truth.rejected(h, l, 256, PRECISION);
            for (depth, delta) in depths(4) {
                let test = (&rejected >> (256 - 32 * depth)) + IBig::from(delta);
                if test < IBig::from(0) {
                    continue;
                }
                let words = words_of(&test, depth);
                // The level takes one word or two.
                for taken in 1..=2 {
                    let script = Script::new([&y[1..=taken], &words[1..]].concat(), random.long());
                    let first = [v << 1 | 1, words[0], (l << (32 - shift)) as u32];
                    compare(truth, draw, &first, &script)?;
                }
            }
        }
    }
    Ok(())
}

/// 1 to `depth` words, followed exactly or to one unit of the last.
fn depths(depth: usize) -> impl Iterator<Item = (usize, i32)> {
    (1..=depth).flat_map(|depth| [-1, 0, 1].map(|delta| (depth, delta)))
}

/// First values and the words after them: around all thresholds, at both ends, all of the remainder, along
/// the edges to `depth` words, and the tail.
fn probes(level: &oracle::Level, depth: usize) -> Vec<(u32, Vec<u32>)> {
    let mut random = Random(level.end().into());
    let last = (1 << 31) - 1;
    let mut probes = vec![(0, vec![]), (last, vec![])];
    for sum in &level.sums {
        probes.extend([sum - 1, *sum, sum + 1].map(|v| (v.min(last), vec![])));
    }
    probes.extend((0..300).map(|_| (random.word() >> 1, vec![])));
    for r in 0..level.rest() {
        let ends = [vec![0, 0], vec![u32::MAX, u32::MAX]];
        let words = if r % 16 == 0 { ends.to_vec() } else { vec![vec![]] };
        probes.extend(words.into_iter().map(|words| (level.end() + r, words)));
    }
    // Every edge to a word or two, and some of them to all; also some beyond K, further and further apart.
    let last_integer = level.sums.len();
    let every = (last_integer / DEEP).max(1);
    let tail = (0..).map(|i| last_integer + (1 << i) - 1).take_while(|m| *m < level.edges.len());
    for m in (0..last_integer.min(level.edges.len())).chain(tail) {
        let deep = m % every == 0 || m.abs_diff(last_integer) <= 1;
        let to =
            if deep { depths(depth).collect() } else { vec![(1 + m % 2, [-1, 1][random.below(2) as usize])] };
        for (depth, delta) in to {
            let y = (&level.edges[m] >> (level.fraction - 32 * depth)) + IBig::from(delta);
            // None above the remainder, where there is nothing to follow any more, and none below zero.
            if y < IBig::from(0) || &y >> (32 * depth) >= IBig::from(level.rest()) {
                continue;
            }
            let words = words_of(&y, depth + 1);
            probes.push((level.end() + words[0], words[1..].to_vec()));
        }
    }
    // Ones, so that only the tail is left.
    for ones in 1..=depth {
        for last in [u32::MAX - 1, 0] {
            probes.push((level.end() + level.rest() - 1, [vec![u32::MAX; ones], vec![last]].concat()));
        }
    }
    probes
}

/// Checks the laws of one kind.
fn check_all(which: fn(&oracle::Law) -> bool) {
    let mut seen = 0;
    for (name, truth) in TRUTHS.iter().filter(|(_, truth)| which(truth)) {
        let law = law(name);
        check(truth, &|first, script| one(&law, first, script)).unwrap_or_else(|e| panic!("{name}: {e}"));
        seen += 1;
    }
    assert!(seen >= 7);
}

#[test]
fn scripted_narrow_draws_are_those_of_the_oracle_to_eight_words_of_refinement() {
    check_all(|truth| matches!(truth, oracle::Law::Narrow(_)));
}

#[test]
fn scripted_wide_draws_are_those_of_the_oracle_to_six_words_of_refinement() {
    check_all(|truth| matches!(truth, oracle::Law::Wide { .. }));
}

#[test]
fn scripted_draws_of_digits_are_those_of_the_oracle_to_six_words_of_refinement() {
    check_all(|truth| matches!(truth, oracle::Law::Digits { .. }));
}

#[test]
fn the_integers_are_the_floors_of_the_probabilities() {
    for (sigma2, truth) in &*TRUTHS {
        let law = law(sigma2);
        let level = level_of(&law);
        assert_eq!(level.sums(), truth.level().sums, "{sigma2}");
        assert_eq!(level.end(), truth.level().end());
        // The remainder's share, and no more blocks than X4 allows.
        assert!(f64::from(truth.level().rest()) / f64::from(1u32 << 31) < 1e-7, "{sigma2}");
        assert!(!matches!(law, Law::Wide(_)) || level.sums().len() <= 256, "{sigma2}");
        if let (Law::Digits(law), oracle::Law::Digits { digit, .. }) = (&law, truth) {
            assert_eq!(law.digit.sums(), digit.sums, "{sigma2}");
            assert_eq!(law.digit.sums().len(), 1 << law.digit_bits);
            assert!(digit.rest() <= 1 << law.digit_bits);
        }
    }
}

fn level_of(law: &Law) -> &Level {
    match law {
        Law::Narrow(level) => level,
        Law::Wide(blocks) => &blocks.level,
        Law::Digits(digits) => &digits.level,
    }
}

#[test]
fn the_tail_goes_on_to_probabilities_of_two_to_the_minus_2900() {
    // X = 1 has 2e^-500 at σ² = 1e-3, and X = 2 has 2e^-2000; each takes some hundred words of ones.
    for (sigma2, ones, tails) in
        [("1e-3", [21, 22, 89, 90], [0, 1, 1, 2]), ("0.01", [1, 2, 8, 20], [0, 1, 2, 3])]
    {
        let truth = truth(sigma2, 4_096);
        let law = law(sigma2);
        let last = u32::MAX >> 1;
        for (ones, tail) in ones.into_iter().zip(tails) {
            let script = Script::new(vec![u32::MAX; ones], 7);
            let x = compare(&truth, &|first, script| one(&law, first, script), &[last << 1 | 1], &script);
            assert_eq!(x, Ok(-tail), "{sigma2} after {ones} words of ones");
        }
    }
    // 2e^-1000 and 2e^-2000 for b = 1e-3; e^-100·k for b = 0.01.
    for (name, ones, tails) in
        [("b=1e-3", [44, 45, 89, 90], [0, 1, 1, 2]), ("b=0.01", [3, 4, 12, 40], [0, 1, 2, 9])]
    {
        let (truth, law) = (truth(name, 4_096), law(name));
        for (ones, tail) in ones.into_iter().zip(tails) {
            let script = Script::new(vec![u32::MAX; ones], 7);
            let draw: Draw = &|first, script| one(&law, first, script);
            let x = compare(&truth, draw, &[u32::MAX], &script);
            assert_eq!(x, Ok(-tail), "{name} after {ones} words of ones");
        }
    }
}

#[test]
fn random_words_give_the_draws_of_the_oracle() {
    for (sigma2, truth) in &*TRUTHS {
        let law = law(sigma2);
        let mut random = Random(11);
        for _ in 0..300 {
            let first: Vec<u32> = (0..law.blocks_a_group()).map(|_| random.word()).collect();
            let script = Script::new([], random.long());
            compare(truth, &|first, script| one(&law, first, script), &first, &script)
                .unwrap_or_else(|e| panic!("{sigma2}: {e}"));
        }
    }
}

#[test]
fn every_width_of_a_block_is_built_at_both_of_its_ends() {
    for shift in 1..=15u32 {
        for (numerator, expected) in [((1u128 << (8 + 2 * shift)) + 1, shift), (1 << (10 + 2 * shift), shift)]
        {
            // 1024·4^(s−1) + 1/1000003 and 1024·4^s.
            let above = numerator % 2 == 1;
            let sigma2 = if above {
                format!("{}/1000003", (numerator - 1) * 1_000_003 + 1)
            } else {
                numerator.to_string()
            };
            let sigma2 = ratio(&sigma2);
            let blocks = Blocks::new(&fraction(&sigma2), Steps::WORDS);
            assert_eq!(blocks.shift, expected);
            let oracle::Law::Wide { level, shift, .. } = oracle::Law::gaussian(&sigma2, 256) else {
                panic!()
            };
            assert_eq!((blocks.level.sums(), blocks.shift), (&level.sums[..], shift));
        }
    }
    for shift in 2..=17u32 {
        // 8·2^(s−1) + 1/1000003 and 8·2^s.
        let half = u64::from(1u32 << (2 + shift));
        for scale in [format!("{}/1000003", half * 1_000_003 + 1), (2 * half).to_string()] {
            let digits = Digits::new(&fraction(&ratio(&scale)), Steps::WORDS);
            assert_eq!(digits.digit_bits + digits.place_bits, shift);
            let oracle::Law::Digits { level, digit, bits, places, .. } =
                oracle::Law::laplace(&ratio(&scale), 256)
            else {
                panic!()
            };
            assert_eq!((digits.digit_bits, digits.place_bits), (bits, places));
            assert_eq!((digits.level.sums(), digits.digit.sums()), (&level.sums[..], &digit.sums[..]));
        }
    }
}

#[test]
fn a_probability_just_short_of_an_integer_is_rounded_down() {
    // σ² such that 2³¹p_0 = N − 2⁻¹¹⁰, found by bisection: too close for the digits that the integers are
    // made with.
    let (bits, precision) = (300, 512);
    let mut least = IBig::from(3) << bits;
    let mut most = IBig::from(4) << bits;
    let sigma2 = |tenths: &IBig| Ratio { numerator: tenths.clone(), denominator: IBig::from(10) << bits };
    let first = |tenths: &IBig| {
        let form = oracle::Form::gaussian(sigma2(tenths).times(2, 1).inverse(), true);
        fixed(&oracle::chances(&form, precision)[0], 31 + bits)
    };
    let whole = first(&((&least + &most) >> 1)) >> bits;
    let goal = (&whole << bits) - (IBig::from(1) << (bits - 110));
    // It falls as σ² grows.
    for _ in 0..bits {
        let middle = (&least + &most) >> 1;
        if first(&middle) > goal { least = middle } else { most = middle }
    }
    let sigma2 = sigma2(&most);
    let text = format!("{}/{}", sigma2.numerator, sigma2.denominator);
    let (truth, law) = (oracle::Law::gaussian(&sigma2, PRECISION), law(&text));
    assert_eq!(IBig::from(truth.level().sums[0]), &whole - IBig::from(1));
    assert_eq!(level_of(&law).sums(), truth.level().sums);
    // A word more than needed may be taken here, as E_0 is as close to an integer.
    for (i, (v, words)) in probes(truth.level(), 8).into_iter().enumerate() {
        let (mut mine, mut its) = (Script::new(words.clone(), i as u64), Script::new(words, i as u64));
        let expected = truth.draw(&[v << 1], || its.next());
        assert_eq!(one(&law, &[v << 1], &mut mine), expected);
        assert!(mine.used <= its.used + 3);
    }
}

#[test]
fn a_variance_of_two_thousand_digits_is_taken_as_it_is() {
    for sigma2 in [format!("1{:01999}/3{:01999}", 7, 1), format!("1{:01999}/3{:01989}", 7, 1)] {
        let (truth, law) = (truth(&sigma2, PRECISION), law(&sigma2));
        check(&truth, &|first, script| one(&law, first, script)).unwrap();
    }
}
