//! X5, and the little of the bignum that is used, against another bignum.

use std::cmp::Ordering;

use dashu_int::IBig;
use num_bigint::BigUint;

use super::super::enclosure::{Enclosure, Fraction, Uniform, exp_minus, floor, floor_by, minus};
use super::super::level::{Level, Steps, quotient};
use super::super::oracle::{self, fixed, real};
use super::{Random, form, fraction, ours, theirs};

/// Integers of up to `bits` bits: random ones, and such with long runs of ones and zeros, where carries go
/// far.
fn integer(random: &mut Random, bits: u64) -> BigUint {
    let bits = random.below(bits) + 1;
    let run = random.below(4);
    let digits = (0..bits.div_ceil(32))
        .map(|_| match (run, random.below(4)) {
            (0, _) | (_, 0) => random.word(),
            (1, _) | (_, 1) => 0,
            _ => u32::MAX,
        })
        .collect();
    BigUint::new(digits) >> ((32 - bits % 32) % 32)
}

#[test]
fn sums_products_shifts_and_comparisons_are_those_of_another_bignum() {
    let mut random = Random(31);
    for round in 0..10_000 {
        // Long ones too: multiplication changes its method with the length.
        let bits = if round % 100 == 0 { 40_000 } else { 2_500 };
        let (x, y) = (integer(&mut random, bits), integer(&mut random, bits));
        let (a, b) = (theirs(&x), theirs(&y));
        assert_eq!(ours(&a), x);
        assert_eq!(theirs(&(&x + &y)), &a + &b);
        assert_eq!(theirs(&(&x * &y)), &a * &b);
        assert_eq!(theirs(&(&x * 0x1234_5678_9abc_def0u64)), &a * IBig::from(0x1234_5678_9abc_def0u64));
        assert_eq!(x.cmp(&y), a.cmp(&b));
        assert_eq!(x >= y, a >= b);
        let zero = IBig::from(0);
        assert_eq!(theirs(&minus(&x, &y)), if a > b { &a - &b } else { zero.clone() });
        assert_eq!(theirs(&(&(&x + &y) - &y)), a);
        assert_eq!(theirs(&(&x + 1u8)), &a + IBig::from(1));
        let by = random.below(bits + 64);
        assert_eq!(theirs(&(&x << by)), &a << by as usize);
        assert_eq!(theirs(&(&x >> by)), &a >> by as usize);
        assert_eq!(theirs(&((&x << 32u32) | BigUint::from(7u32))), (&a << 32) + IBig::from(7));
        let length = x.bits() as usize;
        assert!(&a >> length == zero && (length == 0 || &a >> (length - 1) == IBig::from(1)));
    }
}

#[test]
fn floors_are_those_of_the_other_bignums_division() {
    let mut random = Random(32);
    for _ in 0..1_500 {
        let (numerator, denominator) = (integer(&mut random, 700), integer(&mut random, 700) + 1u8);
        let bits = random.below(600);
        let (n, d) = (theirs(&numerator), theirs(&denominator));
        let fraction = Fraction { numerator, denominator };
        assert_eq!(theirs(&floor(&fraction, bits)), (&n << bits as usize) / &d);
        let n = n * &d + IBig::from(random.below(2));
        let whole = Fraction { numerator: ours(&n), denominator: fraction.denominator };
        assert_eq!(theirs(&floor(&whole, bits)), (n << bits as usize) / d);
    }
    for _ in 0..20_000 {
        let x = integer(&mut random, 2_000);
        let n = [random.word(), random.word() >> 20, u32::MAX, 1][random.below(4) as usize].max(1);
        assert_eq!(theirs(&floor_by(&x, n)), theirs(&x) / IBig::from(n));
        assert_eq!(theirs(&floor_by(&(&x * n), n)), theirs(&x));
    }
    assert_eq!(floor_by(&BigUint::ZERO, 3), BigUint::ZERO);
}

#[test]
fn quotients_of_the_integer_level_are_those_of_the_other_bignum() {
    let mut random = Random(33);
    for _ in 0..20_000 {
        let (x, y) = (integer(&mut random, 300), integer(&mut random, 300));
        let (x, y) = if x < y { (x, y) } else { (y, x + 1u8) };
        let bits = random.below(31) as u32 + 1;
        assert_eq!(IBig::from(quotient(&x, &y, bits)), (theirs(&x) << bits as usize) / theirs(&y));
    }
    // The largest there is.
    assert_eq!(quotient(&BigUint::from(u64::MAX - 1), &BigUint::from(u64::MAX), 31), u32::MAX >> 1);
}

/// A fraction between 10⁻⁴ and 600, in short and long terms.
fn argument(random: &mut Random) -> oracle::Ratio {
    let size = [1, 100, 10_000, 6_000_000][random.below(4) as usize];
    let numerator = random.below(size) + 1;
    match random.below(3) {
        0 => oracle::Ratio { numerator: numerator.into(), denominator: 10_000.into() },
        1 => {
            let scale = theirs(&integer(random, 200)) + IBig::from(1);
            oracle::Ratio {
                numerator: IBig::from(numerator) * &scale + IBig::from(random.below(2)),
                denominator: scale * IBig::from(10_000),
            }
        }
        // Powers of two, at which the number of halvings changes.
        _ => oracle::Ratio { numerator: IBig::from(1) << random.below(10) as usize, denominator: 4.into() },
    }
}

#[test]
fn exponentials_hold_the_truth_within_four_units() {
    let mut random = Random(34);
    let mut widest = BigUint::ZERO;
    for round in 0..1_200 {
        let x = argument(&mut random);
        let precision = [32, 33, 64, 128, 159, 500, 2_000][round % 7];
        let Enclosure { lower, upper } = exp_minus(&fraction(&x), precision);
        let digits = precision as usize + 1_000;
        // In units of 2^-(precision + 100); the oracle's own error is far below one.
        let truth = fixed(&oracle::exp_minus(&x, digits), precision as usize + 100);
        assert!(theirs(&lower) << 100 <= truth, "{x:?} at {precision}");
        assert!(truth < theirs(&upper) << 100, "{x:?} at {precision}");
        widest = widest.max(minus(&upper, &lower));
    }
    assert!(widest <= BigUint::from(4u8), "{widest} units");
}

#[test]
fn exponentials_next_to_a_unit_hold_the_truth() {
    // x = ln(2^P/T) ± 2^-(P+200): the truth is T units, but for next to nothing.
    let mut random = Random(37);
    for round in 0..600 {
        let precision = [32, 64, 128][round % 3] as usize;
        let unit = (IBig::from(random.long()) << 64 | IBig::from(random.long())) >> (128 - precision);
        let digits = precision + 600;
        let (whole, scale) = (real(&unit, digits), real(&(IBig::from(1) << precision), digits));
        let exact = fixed(&(scale / whole).ln(), precision + 200);
        for above in [0, 1] {
            let x = oracle::Ratio {
                numerator: &exact + IBig::from(above),
                denominator: IBig::from(1) << (precision + 200),
            };
            let truth = fixed(&oracle::exp_minus(&x, digits), precision);
            // Just above for the smaller x, just below for the larger one.
            assert_eq!(truth, &unit - IBig::from(above));
            let Enclosure { lower, upper } = exp_minus(&fraction(&x), precision as u64);
            assert!(theirs(&lower) <= truth && truth < theirs(&upper), "{x:?} at {precision}");
        }
    }
}

#[test]
fn weights_their_sums_and_their_total_hold_the_truth() {
    type Make = fn(oracle::Ratio, bool) -> oracle::Form;
    let [square, linear]: [Make; 2] = [oracle::Form::gaussian, oracle::Form::geometric];
    let digit: Make = |x, _| oracle::Form::digit(x, 64);
    for (rate, folded, make) in [
        ("500", true, square),
        ("5/3", false, square),
        ("1/10", true, square),
        ("1/137", true, square),
        ("1/2048", false, square),
        ("1000", true, linear),
        ("5/3", true, linear),
        ("1/7", false, linear),
        ("1/16", true, linear),
        ("1/17", false, digit),
        ("1/511", false, digit),
    ] {
        let truly = make(oracle::Ratio::read(rate), folded);
        let level = Level::new(form(&truly), Steps::WORDS);
        for precision in [40, 96, 128, 300] {
            let weights = level.weights(precision);
            let (p, digits) = (precision as usize, precision as usize + 400);
            let truth = oracle::weights(&truly, digits);
            let mut widest = IBig::from(0);
            let mut assert_in = |x: &Enclosure, truth: &oracle::Real, what: &str| {
                let truth = fixed(truth, p + 100);
                assert!(theirs(&x.lower) << 100 <= truth, "{what} of {rate} at {precision}");
                assert!(truth <= theirs(&x.upper) << 100, "{what} of {rate} at {precision}");
                widest = widest.clone().max(theirs(&x.upper) - theirs(&x.lower));
            };
            let mut sum = real(&IBig::from(0), digits);
            for (m, weight) in truth.iter().enumerate() {
                sum += weight;
                if m < weights.terms.len() {
                    assert_in(&weights.terms[m], weight, "a weight");
                    assert_in(&weights.sums[m], &sum, "a sum");
                }
            }
            assert_in(&weights.total, &sum, "the total");
            assert!(truth.len() >= weights.terms.len());
            // Every term takes part in the errors of those after it: the square of their number, at most.
            let terms = IBig::from(weights.terms.len() + 4);
            assert!(widest < &terms * &terms * IBig::from(4), "{widest} units for {terms} terms of {rate}");
        }
    }
}

#[test]
fn sums_and_products_of_enclosures_hold_the_truth() {
    let mut random = Random(35);
    let inside = |x: &Enclosure, truth: &IBig| theirs(&x.lower) <= *truth && *truth <= theirs(&x.upper);
    for _ in 0..5_000 {
        let precision = random.below(600) + 1;
        let mut enclosure = || {
            let lower = integer(&mut random, precision + 3);
            let width = integer(&mut random, 40);
            Enclosure { upper: &lower + width, lower }
        };
        let (x, y) = (enclosure(), enclosure());
        let p = precision as usize;
        let product = x.times(&y, precision);
        for (a, b) in [(&x.lower, &y.lower), (&x.lower, &y.upper), (&x.upper, &y.lower), (&x.upper, &y.upper)]
        {
            let (a, b) = (theirs(a), theirs(b));
            assert!(inside(&x.add(&y), &(&a + &b)));
            assert!(inside(&x.double(), &(&a + &a)));
            let exact = a * b;
            assert!(theirs(&product.lower) << p <= exact && exact <= theirs(&product.upper) << p);
        }
        // No wider than rounding makes them.
        assert_eq!(theirs(&product.lower), (theirs(&x.lower) * theirs(&y.lower)) >> p);
        assert!(theirs(&product.upper) - ((theirs(&x.upper) * theirs(&y.upper)) >> p) <= IBig::from(1));
        let one = Enclosure::one(precision);
        assert_eq!((theirs(&one.lower), theirs(&one.upper)), (IBig::from(1) << p, IBig::from(1) << p));
    }
}

#[test]
fn a_comparison_is_decided_only_if_it_holds_for_all_that_begins_like_it() {
    let mut random = Random(36);
    let mut decided = [0; 3];
    for _ in 0..20_000 {
        let whole = random.below(4) as u32;
        let mut u = Uniform::after(whole);
        let mut bits = IBig::from(whole);
        for _ in 0..random.below(3) {
            let word = random.word();
            let count = random.below(32) as u32 + 1;
            u.extend(word >> (32 - count), count);
            bits = (bits << count as usize) + IBig::from(word >> (32 - count));
        }
        let known = u.known() as usize;
        let offset = random.below(3) as u32;
        let scale_lower = integer(&mut random, 8) + 1u8;
        let scale = Enclosure { upper: &scale_lower + (random.below(2) as u32), lower: scale_lower };
        // Often at the very place where it is decided.
        let y = &bits + (IBig::from(offset) << known);
        let near = ((&y + IBig::from(random.below(2))) * theirs(&scale.lower)) >> known;
        let near = near + IBig::from(random.below(3)) - IBig::from(1);
        let lower = if near < IBig::from(0) { BigUint::ZERO } else { ours(&near) };
        let bound = Enclosure { upper: &lower + (random.below(2) as u32), lower };
        // The numbers are those in [y, y + 1)·2^-known, the scales and bounds all in their enclosures.
        let (largest, smallest) = ((&y + IBig::from(1)) * theirs(&scale.upper), &y * theirs(&scale.lower));
        let always_less = largest <= theirs(&bound.lower) << known;
        let never_less = smallest >= theirs(&bound.upper) << known;
        let found = u.compare(offset, &scale, &bound);
        match found {
            Some(Ordering::Less) => assert!(always_less),
            Some(Ordering::Greater) => assert!(never_less),
            Some(Ordering::Equal) => panic!("never equal"),
            None => assert!(!always_less && !never_less),
        }
        decided[found.map_or(2, |order| usize::from(order.is_gt()))] += 1;
    }
    assert!(decided.iter().all(|count| *count > 1_000), "{decided:?}");
}

#[test]
fn the_oracles_exponential_is_that_of_its_series() {
    // Σ (−x)^j/j! in fractions of integers, so that the oracle's library is not believed either.
    for (numerator, denominator) in [(1, 3), (7, 2), (50, 1), (3, 1_000)] {
        let digits = 600;
        let mut term = IBig::from(1) << digits;
        let mut sum = term.clone();
        for j in 1..1_000 {
            term = -term * IBig::from(numerator) / IBig::from(denominator * j);
            sum += &term;
        }
        let x = oracle::Ratio { numerator: numerator.into(), denominator: denominator.into() };
        let gap = fixed(&oracle::exp_minus(&x, 700), digits) - sum;
        // Rounding is multiplied by exp(x) at most, a thousand times.
        let loss = IBig::from(1) << 90;
        assert!(gap < loss && gap > -loss, "{x:?}: {gap}");
    }
    assert_eq!(fixed(&real(&IBig::from(-3), 64), 2), IBig::from(-12));
    assert_eq!(fixed(&(real(&IBig::from(-3), 64) / real(&IBig::from(8), 64)), 2), IBig::from(-2));
}
