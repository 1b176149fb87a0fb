//! Scripted words: the sampler and the oracle must say the same, and ask for as many words.

use dashu_int::IBig;

use super::super::blocks::Blocks;
use super::super::enclosure::Fraction;
use super::super::level::{Level, Steps, Words};
use super::super::oracle::{self, Ratio, fixed, words_of};
use super::super::{Block, Law};
use super::{PRECISION, Random, Script, TRUTHS, fraction, law, ratio};

/// How many of the edges are followed to the end.
const DEEP: usize = 6;

/// A draw from its first words, one or three, and further ones.
type Draw<'a> = &'a dyn Fn(&[u32], &mut Script) -> i64;

/// `Law::one` on the words of some lane.
fn one(law: &Law, first: &[u32], script: &mut Script) -> i64 {
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
fn check(truth: &oracle::Law, draw: Draw) -> Result<(), String> {
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
    }
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
    for m in (0..last_integer).chain(tail) {
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

/// The variances of one kind with their truths.
fn truths(wide: bool) -> impl Iterator<Item = &'static (&'static str, oracle::Law)> {
    TRUTHS.iter().filter(move |(_, truth)| matches!(truth, oracle::Law::Wide { .. }) == wide)
}

#[test]
fn scripted_narrow_draws_are_those_of_the_oracle_to_eight_words_of_refinement() {
    for (sigma2, truth) in truths(false) {
        let law = law(sigma2);
        check(truth, &|first, script| one(&law, first, script)).unwrap_or_else(|e| panic!("{sigma2}: {e}"));
    }
}

#[test]
fn scripted_wide_draws_are_those_of_the_oracle_to_six_words_of_refinement() {
    for (sigma2, truth) in truths(true) {
        let law = law(sigma2);
        check(truth, &|first, script| one(&law, first, script)).unwrap_or_else(|e| panic!("{sigma2}: {e}"));
    }
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
        assert!(level.sums().len() <= 256, "{sigma2}");
    }
}

fn level_of(law: &Law) -> &Level {
    match law {
        Law::Narrow(level) => level,
        Law::Wide(blocks) => &blocks.level,
    }
}

#[test]
fn the_tail_goes_on_to_probabilities_of_two_to_the_minus_2900() {
    // X = 1 has 2e^-500 at σ² = 1e-3, and X = 2 has 2e^-2000; each takes some hundred words of ones.
    for (sigma2, ones, tails) in
        [("1e-3", [21, 22, 89, 90], [0, 1, 1, 2]), ("0.01", [1, 2, 8, 20], [0, 1, 2, 3])]
    {
        let truth = oracle::Law::new(&ratio(sigma2), 4_096);
        let law = law(sigma2);
        let last = u32::MAX >> 1;
        for (ones, tail) in ones.into_iter().zip(tails) {
            let script = Script::new(vec![u32::MAX; ones], 7);
            let x = compare(&truth, &|first, script| one(&law, first, script), &[last << 1 | 1], &script);
            assert_eq!(x, Ok(-tail), "{sigma2} after {ones} words of ones");
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
            let oracle::Law::Wide { level, shift, .. } = oracle::Law::new(&sigma2, 256) else { panic!() };
            assert_eq!((blocks.level.sums(), blocks.shift), (&level.sums[..], shift));
        }
    }
}

/// The level of |X|, with its own words.
fn narrow(sigma2: &str, folded: bool) -> Level {
    let Fraction { numerator, denominator } = fraction(&ratio(sigma2));
    let rate = Fraction { numerator: denominator, denominator: numerator << 1u8 };
    Level::new(rate, folded, Steps::WORDS)
}

/// Draws of a level, with a sign.
fn drawn_by(level: &Level, first: &[u32], script: &mut Script) -> i64 {
    let m = level.draw(first[0] >> 1, script) as i64;
    if first[0] & 1 == 1 { -m } else { m }
}

#[test]
fn a_unit_moved_between_two_integers_is_caught() {
    for sigma2 in ["0.3", "5", "456.62"] {
        let truth = oracle::Law::new(&ratio(sigma2), PRECISION);
        let level = narrow(sigma2, true);
        assert_eq!(check(&truth, &|first, script| drawn_by(&level, first, script)), Ok(()));
        let count = level.sums().len();
        for j in [0, count / 2, count - 2] {
            for up in [true, false] {
                // q_j and q_{j+1} differ by one from what they are; the remainder is the same.
                let mut sums = level.sums().to_vec();
                sums[j] = if up { sums[j] + 1 } else { sums[j] - 1 };
                let moved = level.with_sums(sums);
                let caught = check(&truth, &|first, script| drawn_by(&moved, first, script));
                assert!(caught.is_err(), "{sigma2}: threshold {j}");
            }
        }
        // A unit moved from the last integer to the remainder or back, without E taking notice of it.
        let mut sums = level.sums().to_vec();
        sums[count - 1] -= 1;
        let shorter = level.with_sums(sums);
        let blind = |first: &[u32], script: &mut Script| {
            let v = (first[0] >> 1).max(shorter.end());
            let m = match shorter.find(first[0] >> 1) {
                Some(m) => m.into(),
                None => level.draw(v.max(level.end()), script),
            } as i64;
            if first[0] & 1 == 1 { -m } else { m }
        };
        assert!(check(&truth, &blind).is_err(), "{sigma2}");
    }
}

#[test]
fn a_dropped_remainder_is_caught() {
    for sigma2 in ["1e-3", "0.3", "5", "456.62"] {
        let truth = oracle::Law::new(&ratio(sigma2), PRECISION);
        let level = narrow(sigma2, true);
        let dropped = |first: &[u32], _: &mut Script| {
            let m = level.find(first[0] >> 1).map_or(level.sums().len() as i64, i64::from);
            if first[0] & 1 == 1 { -m } else { m }
        };
        assert!(check(&truth, &dropped).is_err(), "{sigma2}");
        // And one that is cut off at K: the tail is what is missing. At 1e-3 it begins after 80 words.
        let cut = |first: &[u32], script: &mut Script| {
            drawn_by(&level, first, script).clamp(-(level.sums().len() as i64), level.sums().len() as i64)
        };
        assert!(sigma2 == "1e-3" || check(&truth, &cut).is_err(), "{sigma2}");
    }
}

#[test]
fn a_zero_counted_with_both_signs_is_caught() {
    for sigma2 in ["0.3", "5", "456.62"] {
        let truth = oracle::Law::new(&ratio(sigma2), PRECISION);
        let doubled = narrow(sigma2, false);
        assert!(check(&truth, &|first, script| drawn_by(&doubled, first, script)).is_err(), "{sigma2}");
    }
    let truth = oracle::Law::new(&ratio("1e6"), PRECISION);
    let Law::Wide(blocks) = law("1e6") else { panic!() };
    let first = |words: &[u32]| [words[0], words[1], words[2]];
    assert_eq!(check(&truth, &|words, script| blocks.draw(first(words), script)), Ok(()));
    // A negative zero kept.
    let kept = |words: &[u32], script: &mut Script| {
        let place = words[2] >> (32 - blocks.shift);
        if blocks.level.find(words[0] >> 1) == Some(0) && place == 0 {
            return 0;
        }
        blocks.draw(first(words), script)
    };
    assert!(check(&truth, &kept).is_err());
}

#[test]
fn a_test_that_the_band_does_not_extend_is_caught() {
    let truth = oracle::Law::new(&ratio("1e6"), PRECISION);
    let Law::Wide(blocks) = law("1e6") else { panic!() };
    // What is decided by 32 bits where more are needed.
    let short = |words: &[u32], script: &mut Script| {
        let first = [words[0], words[1], words[2]];
        let Some(h) = blocks.level.find(words[0] >> 1) else { return blocks.draw(first, script) };
        let rejection = blocks.rejection(h, blocks.place(words[2]));
        let far = if words[1] >= rejection { u32::MAX } else { 0 };
        blocks.draw([words[0], far, words[2]], script)
    };
    assert!(check(&truth, &short).is_err());
}

#[test]
fn a_wrong_law_of_the_same_shape_is_caught() {
    // The parameter off by one part in 10⁸, which no statistics would see; and by 10⁻⁶⁰, which only the sixth
    // word does.
    let least = format!("5.{:060}", 1);
    for (sigma2, other) in
        [("5", "5.00000005"), ("5", &least), ("456.62", "456.6200046"), ("1e6", "1000000.01")]
    {
        let truth = oracle::Law::new(&ratio(sigma2), PRECISION);
        let law = law(other);
        assert!(check(&truth, &|first, script| one(&law, first, script)).is_err(), "{other} for {sigma2}");
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
        fixed(&oracle::chances(&sigma2(tenths).times(2, 1).inverse(), true, precision)[0], 31 + bits)
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
    let (truth, law) = (oracle::Law::new(&sigma2, PRECISION), law(&text));
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
        let (truth, law) = (oracle::Law::new(&ratio(&sigma2), PRECISION), law(&sigma2));
        check(&truth, &|first, script| one(&law, first, script)).unwrap();
    }
}
