//! Mistakes that the comparison with the oracle must notice, down to a unit of a threshold.

use super::super::Law;
use super::super::level::{Level, Steps};
use super::super::oracle;
use super::bits::{check, one};
use super::{PRECISION, Script, form, law, ratio, truth};

/// The level of |X|, with its own words.
fn narrow(name: &str, folded: bool) -> Level {
    let truth = match name.strip_prefix("b=") {
        Some(scale) => oracle::Form::geometric(ratio(scale).inverse(), folded),
        None => oracle::Form::gaussian(ratio(name).times(2, 1).inverse(), folded),
    };
    Level::new(form(&truth), Steps::WORDS)
}

/// Draws of a level, with a sign.
fn drawn_by(level: &Level, first: &[u32], script: &mut Script) -> i64 {
    let m = level.draw(first[0] >> 1, script) as i64;
    if first[0] & 1 == 1 { -m } else { m }
}

#[test]
fn a_unit_moved_between_two_integers_is_caught() {
    for sigma2 in ["0.3", "5", "456.62", "b=0.5", "b=11"] {
        let truth = truth(sigma2, PRECISION);
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
fn a_unit_moved_in_a_block_or_a_digit_is_caught() {
    for name in ["b=100", "b=5000"] {
        let truth = truth(name, PRECISION);
        let Law::Digits(digits) = law(name) else { panic!() };
        for inner in [false, true] {
            let level = if inner { &digits.digit } else { &digits.level };
            let count = level.sums().len();
            for j in [0, count / 2, count - 2] {
                let mut sums = level.sums().to_vec();
                sums[j] += 1;
                let mut moved = digits.clone();
                *(if inner { &mut moved.digit } else { &mut moved.level }) = level.with_sums(sums);
                let moved = Law::Digits(moved);
                let caught = check(&truth, &|first, script| one(&moved, first, script));
                assert!(caught.is_err(), "{name}: threshold {j} of the digit: {inner}");
            }
        }
        // A negative zero kept, and a rejection that a is taken for.
        let law = law(name);
        let zero = |first: &[u32], script: &mut Script| match first[..2] {
            [1, 0 | 1] if digits.place_bits == 0 || first[2] & digits.mask() == 0 => 0,
            _ => one(&law, first, script),
        };
        assert!(check(&truth, &zero).is_err(), "{name}");
        let blunt = |first: &[u32], script: &mut Script| {
            let mut own = first.to_vec();
            if let Some(word) = own.get_mut(2) {
                let (place, test) = (*word & digits.mask(), *word & !digits.mask());
                let rejected = u64::from(test) << 32 < u64::from(place) * u64::from(digits.kappa);
                *word = place | if rejected && place > 0 { 0 } else { !digits.mask() };
            }
            one(&law, &own, script)
        };
        assert_eq!(check(&truth, &blunt).is_err(), digits.place_bits > 0, "{name}");
    }
}

#[test]
fn a_dropped_remainder_is_caught() {
    for sigma2 in ["1e-3", "0.3", "5", "456.62", "b=0.5", "b=11"] {
        let truth = truth(sigma2, PRECISION);
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
    for sigma2 in ["0.3", "5", "456.62", "b=0.5", "b=11"] {
        let truth = truth(sigma2, PRECISION);
        let doubled = narrow(sigma2, false);
        assert!(check(&truth, &|first, script| drawn_by(&doubled, first, script)).is_err(), "{sigma2}");
    }
    let truth = truth("1e6", PRECISION);
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
    let truth = truth("1e6", PRECISION);
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
    for (sigma2, other) in [
        ("5", "5.00000005"),
        ("5", &least),
        ("456.62", "456.6200046"),
        ("1e6", "1000000.01"),
        ("b=5", "b=5.00000005"),
        ("b=100", "b=100.000001"),
        ("b=1000", "b=1000.00001"),
    ] {
        let truth = truth(sigma2, PRECISION);
        let law = law(other);
        assert!(check(&truth, &|first, script| one(&law, first, script)).is_err(), "{other} for {sigma2}");
    }
}
