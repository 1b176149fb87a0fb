//! X4: the rejection in 32-bit integers is within the band of the true one.

use dashu_int::IBig;

use super::super::blocks::{BAND, Blocks, FACTORIALS};
use super::super::level::Steps;
use super::super::{Law, oracle};
use super::{Random, fraction, law, ratio, truth};
use crate::number::float;

fn blocks(sigma2: &str) -> Blocks {
    let Law::Wide(blocks) = law(sigma2) else { panic!("{sigma2} is narrow") };
    blocks
}

/// `R̂ − 2³²(1 − exp(−a))` by the oracle, in units of 2⁻³².
fn gap(blocks: &Blocks, truth: &oracle::Law, h: u64, l: u64) -> f64 {
    let rejection = blocks.rejection(h as u32, (l << (32 - blocks.shift)) as u32);
    let gap = (IBig::from(rejection) << 32) - truth.rejected(h, l, 64, 160);
    i64::try_from(gap).unwrap() as f64 / 2f64.powi(32)
}

fn most(largest: &mut f64, gap: f64, what: impl Fn() -> String) {
    assert!(gap.abs() <= f64::from(BAND), "{} is off by {gap}", what());
    *largest = largest.max(gap.abs());
}

#[test]
fn the_constants_are_the_inverse_factorials() {
    let mut factorial = 1u64;
    for (k, constant) in (2u64..=8).zip(FACTORIALS.iter().rev()) {
        factorial *= k;
        assert_eq!(u64::from(*constant), (1 << 32) / factorial);
    }
}

#[test]
fn all_blocks_and_places_of_small_blocks_are_within_the_band() {
    let mut largest = 0f64;
    for sigma2 in ["1024.000001", "2000", "4096", "4096.1", "1e4", "65536.5", "123456789/1000", "1e6"] {
        let (blocks, truth) = (blocks(sigma2), truth(sigma2, 256));
        for h in 0..blocks.level.sums().len() as u64 {
            for l in 0..1 << blocks.shift {
                most(&mut largest, gap(&blocks, &truth, h, l), || format!("{sigma2}: {h}, {l}"));
            }
        }
    }
    println!("the largest error is {largest:.3} of {BAND}");
    // Were it much smaller than what was proved, something else than the proof's sum would have been
    // computed.
    assert!(largest > 1.0);
}

#[test]
fn places_of_the_widest_blocks_are_within_the_band() {
    let mut largest = 0f64;
    let mut random = Random(4);
    // 2^38 + 1/3 and 1e12 have blocks of 2^15; σ/w is 16 for the first.
    for sigma2 in ["824633720833/3", "5e11", "1e12", "1099511627776"] {
        let (blocks, truth) = (blocks_up_to_2_40(sigma2), truth(sigma2, 256));
        assert_eq!(blocks.shift, 15);
        let last = blocks.level.sums().len() as u64 - 1;
        let ends = [0, 1, last - 1, last]
            .into_iter()
            .flat_map(|h| [0, 1, 2, 1 << 14, 32_766, 32_767].map(|l| (h, l)));
        let any: Vec<_> = (0..5_000).map(|_| (random.below(last + 1), random.below(1 << 15))).collect();
        for (h, l) in ends.chain(any) {
            most(&mut largest, gap(&blocks, &truth, h, l), || format!("{sigma2}: {h}, {l}"));
        }
    }
    println!("the largest error is {largest:.3} of {BAND}");
}

/// Without the range that `Sampler::new` checks.
fn blocks_up_to_2_40(sigma2: &str) -> Blocks {
    Blocks::new(&fraction(&ratio(sigma2)), Steps::WORDS)
}

#[test]
fn all_places_of_all_blocks_of_every_width_are_within_the_band() {
    // In doubles, whose error is some 2⁻¹⁷ units; that is checked with the oracle.
    let mut largest = 0f64;
    let mut random = Random(8);
    for shift in 1..=15u32 {
        for sigma2 in [format!("{}/1000003", (1u128 << (8 + 2 * shift)) * 1_000_003 + 1), {
            (1u64 << (10 + 2 * shift)).to_string()
        }] {
            let blocks = blocks_up_to_2_40(&sigma2);
            let truth = truth(&sigma2, 256);
            let variance = super::exact(&sigma2).to_f64();
            for h in 0..blocks.level.sums().len() as u64 {
                for l in 0..1u64 << shift {
                    let rejection = blocks.rejection(h as u32, (l << (32 - shift)) as u32);
                    let a = (l * ((h << (shift + 1)) + l)) as f64 / (2.0 * variance);
                    let gap = f64::from(rejection) + 2f64.powi(32) * float::expm1(-a);
                    most(&mut largest, gap, || format!("{sigma2}: {h}, {l}"));
                    if random.below(1 << 16) == 0 {
                        assert!((gap - self::gap(&blocks, &truth, h, l)).abs() < 1e-4);
                    }
                }
            }
        }
    }
    println!("the largest error is {largest:.3} of {BAND}");
    assert!(largest <= f64::from(BAND) - 0.5, "{largest}");
}

#[test]
fn rejections_of_digits_are_decided_on_the_right_side_at_every_place() {
    // X8: what the integers keep or reject is what U ≥ 1 − exp(−a) says, and they leave only a few tests.
    for shift in 1..=11u32 {
        // The ends of the scales that have 2^shift places.
        for scale in
            [format!("{}/1000003", (1u64 << (8 + shift)) * 1_000_003 + 1), (1u64 << (9 + shift)).to_string()]
        {
            let name = format!("b={scale}");
            let Law::Digits(digits) = law(&name) else { panic!() };
            let truth = truth(&name, 256);
            let bits = 32 - shift;
            assert_eq!(digits.place_bits, shift);
            let mut most = 0;
            for l in 1..1u64 << shift {
                let place = (l << bits) as u32;
                let rejected = truth.rejected(0, l, bits as usize + 64, 256) >> 64;
                let rejected = u32::try_from(rejected).unwrap();
                // The test that the truth falls into is never decided.
                assert_eq!(digits.decided(place | rejected), None, "{name}: {l}");
                let open = |test: &u32| digits.decided(place | *test).is_none();
                let first = (0..=rejected).rev().take_while(open).last().unwrap();
                let last = (rejected..).take_while(open).last().unwrap();
                most = most.max(last - first + 1);
                for test in [first, rejected.saturating_sub(1)] {
                    assert_ne!(digits.decided(place | test), Some(true), "{name}: {l}, {test}");
                }
                for test in [0, first.saturating_sub(1)].into_iter().filter(|test| *test < first) {
                    assert_eq!(digits.decided(place | test), Some(false), "{name}: {l}, {test}");
                }
                for test in [last + 1, u32::MAX >> shift] {
                    assert_eq!(digits.decided(place | test), Some(true), "{name}: {l}, {test}");
                }
            }
            println!("{name}: at most {most} tests of 2^{bits} are left");
            // a²/2 < 2⁻¹⁷.
            assert!(most <= 5 + (1 << bits >> 17), "{name}: {most}");
        }
    }
}
