//! Statistics of ten million draws, with fixed seeds: the same outcome at every run.
//!
//! A right sampler fails one of these tests for one seed in 10⁹ (two for those with two sides). For a χ² with
//! `k` degrees of freedom and `t = ln 10⁹`, `P[χ² ≥ k + 2√(kt) + 2t] ≤ e^-t` and `P[χ² ≤ k − 2√(kt)] ≤ e^-t`
//! (Laurent and Massart, Annals of Statistics 28, 2000, Lemma 1). Pearson's statistic has that law in the
//! limit; at least a thousand draws are expected in every class. Signs are held to Hoeffding's bound, which
//! is no limit.

use super::super::oracle::{self, Form, chances};
use super::super::{AddressedNoise, Key, Path, ReleaseKey};
use super::{ratio, sampler};
use crate::number::float;

const DRAWS: usize = 10_000_000;
/// ln 10⁹.
const T: f64 = 20.723_265_836_946_41;

/// With the instructions that this machine prefers.
fn draws(sigma2: &str, seed: u64) -> Vec<i64> {
    draws_on(*Path::available().last().unwrap(), sigma2, seed)
}

fn draws_on(path: Path, sigma2: &str, seed: u64) -> Vec<i64> {
    let mut draws = vec![0; DRAWS];
    Key::not_private(seed).noise(&sampler(sigma2).on(path)).fill(&mut draws).unwrap();
    draws
}

/// `P[|X| = m]` for all `m` that matter.
fn magnitudes(sigma2: &str) -> Vec<f64> {
    let form = match sigma2.strip_prefix("b=") {
        Some(scale) => Form::geometric(ratio(scale).inverse(), true),
        None => Form::gaussian(ratio(sigma2).times(2, 1).inverse(), true),
    };
    let chances = chances(&form, 128);
    chances.iter().map(|p| p.to_f64().value()).collect()
}

/// Whether counts of classes fit their probabilities.
fn fit(counts: &[u64], chances: &[f64]) -> Result<(), String> {
    let n = counts.iter().sum::<u64>() as f64;
    assert_eq!(counts.len(), chances.len());
    assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let statistic: f64 = counts
        .iter()
        .zip(chances)
        .map(|(count, p)| {
            assert!(n * p >= 1_000.0, "a class with {} draws", n * p);
            (*count as f64 - n * p).powi(2) / (n * p)
        })
        .sum();
    within(statistic, counts.len() as f64 - 1.0)
}

fn within(statistic: f64, freedom: f64) -> Result<(), String> {
    let wide = 2.0 * (freedom * T).sqrt();
    if (freedom - wide..=freedom + wide + 2.0 * T).contains(&statistic) {
        return Ok(());
    }
    Err(format!("{statistic} with {freedom} degrees of freedom"))
}

/// Runs of integers of some probability at least, from the left to the right.
struct Classes {
    /// The first integer of every class but the first.
    starts: Vec<i64>,
    chances: Vec<f64>,
}

impl Classes {
    fn new(magnitudes: &[f64], least: f64) -> Classes {
        let last = magnitudes.len() as i64 - 1;
        let (mut starts, mut chances) = (vec![], vec![]);
        let mut chance = 0.0;
        for x in -last..=last {
            let both = magnitudes[x.unsigned_abs() as usize];
            if chance >= least {
                starts.push(x);
                chances.push(std::mem::take(&mut chance));
            }
            chance += if x == 0 { both } else { both / 2.0 };
        }
        // What is left at the right end goes to the class before.
        starts.pop();
        *chances.last_mut().unwrap() += chance;
        Classes { starts, chances }
    }

    fn of(&self, x: i64) -> usize {
        self.starts.partition_point(|start| *start <= x)
    }

    fn count(&self, draws: &[i64]) -> Vec<u64> {
        let mut counts = vec![0; self.chances.len()];
        draws.iter().for_each(|x| counts[self.of(*x)] += 1);
        counts
    }
}

/// Independence of draws at a distance, by the classes of both.
fn independent(draws: &[i64], classes: &Classes, distance: usize) -> Result<(), String> {
    let k = classes.chances.len();
    let mut counts = vec![0; k * k];
    // Every draw is in one pair only.
    for run in draws.chunks_exact(2 * distance) {
        for (x, y) in run[..distance].iter().zip(&run[distance..]) {
            counts[classes.of(*x) * k + classes.of(*y)] += 1;
        }
    }
    let chances: Vec<f64> =
        classes.chances.iter().flat_map(|p| classes.chances.iter().map(move |q| p * q)).collect();
    fit(&counts, &chances)
}

/// Half of the draws that are not zero are positive: Hoeffding, `P[|S| ≥ s] ≤ 2 exp(−s²/2n)`.
fn fair_signs(draws: &[i64]) -> Result<(), String> {
    let n = draws.iter().filter(|x| **x != 0).count() as f64;
    let sum: i64 = draws.iter().map(|x| x.signum()).sum();
    let bound = (2.0 * n * T).sqrt();
    if (sum as f64).abs() < bound { Ok(()) } else { Err(format!("{sum} of {n}")) }
}

/// The mean square against its exact value, in standard deviations of ten million draws; seven have 3e-12.
fn mean_square(draws: &[i64], magnitudes: &[f64]) -> Result<(), String> {
    let moment =
        |power: i32| -> f64 { magnitudes.iter().enumerate().map(|(m, p)| (m as f64).powi(power) * p).sum() };
    let (square, fourth) = (moment(2), moment(4));
    let found = draws.iter().map(|x| (x * x) as u128).sum::<u128>() as f64 / draws.len() as f64;
    let deviations = (found - square) / ((fourth - square * square) / draws.len() as f64).sqrt();
    if deviations.abs() < 7.0 { Ok(()) } else { Err(format!("{found} for {square}: {deviations}")) }
}

fn check(draws: &[i64], magnitudes: &[f64]) -> Result<(), String> {
    let fine = Classes::new(magnitudes, 2e3 / draws.len() as f64);
    fit(&fine.count(draws), &fine.chances).map_err(|e| format!("law: {e}"))?;
    let coarse = Classes::new(magnitudes, 0.03);
    for distance in [1, 8, 16] {
        independent(draws, &coarse, distance).map_err(|e| format!("distance {distance}: {e}"))?;
    }
    fair_signs(draws)?;
    mean_square(draws, magnitudes)
}

#[test]
fn ten_million_narrow_draws_have_the_law_and_are_independent() {
    for (sigma2, seed) in [("0.3", 1), ("5", 2), ("68.49", 3), ("1000", 4)] {
        check(&draws(sigma2, seed), &magnitudes(sigma2)).unwrap_or_else(|e| panic!("{sigma2}: {e}"));
    }
}

/// Each path by itself, with keys of its own: that all make the same draws is another test's affair.
#[test]
fn ten_million_draws_of_every_path_have_the_law_and_are_independent() {
    for (i, path) in Path::available().into_iter().enumerate() {
        for (name, seed) in [("5", 101), ("1025", 102), ("b=3", 103), ("b=250", 104)] {
            let seed = seed + 10 * i as u64;
            check(&draws_on(path, name, seed), &magnitudes(name))
                .unwrap_or_else(|e| panic!("{path:?}, {name}: {e}"));
            let noise = ReleaseKey::not_private(seed).noise("Block", "a", &sampler(name).on(path));
            addressed(name, &[noise]).unwrap_or_else(|e| panic!("{path:?}, {name}, by address: {e}"));
        }
    }
}

/// Vectors of 16 draws of several measurements, one after the other for each unit: so draws at a distance of
/// 1 or 8 are of neighbouring cells, and at 16 of two measurements or of neighbouring units.
fn addressed(name: &str, noises: &[AddressedNoise]) -> Result<(), String> {
    let units = DRAWS / 4 / 16 / noises.len();
    let codes: Vec<String> = (0..units).map(|unit| format!("{unit:015}")).collect();
    let mut draws = vec![0; units * 16 * noises.len()];
    for (i, noise) in noises.iter().enumerate() {
        let mut own = vec![0; units * 16];
        noise.fill(codes.iter().map(String::as_bytes), 16, &mut own);
        for (places, own) in draws.chunks_exact_mut(16).skip(i).step_by(noises.len()).zip(own.chunks(16)) {
            places.copy_from_slice(own);
        }
    }
    check(&draws, &magnitudes(name))
}

#[test]
fn draws_by_address_have_the_law_and_are_independent_between_cells_units_queries_levels_and_keys() {
    for (name, seed) in [("5", 31), ("1025", 32), ("b=3", 33), ("b=250", 34)] {
        let (sampler, key) = (sampler(name), ReleaseKey::not_private(seed));
        let of = |level: &str, query: &str| key.noise(level, query, &sampler);
        let other = ReleaseKey::not_private(seed + 10).noise("Block", "a", &sampler);
        for noises in [
            vec![of("Block", "a")],
            vec![of("Block", "a"), of("Block", "b")],
            vec![of("Block", "a"), of("Tract", "a")],
            vec![of("Block", "a"), other],
        ] {
            addressed(name, &noises).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

#[test]
fn ten_million_wide_draws_have_the_law_and_are_independent() {
    for (sigma2, seed) in [("1025", 5), ("4097", 6), ("1e5", 7)] {
        let draws = draws(sigma2, seed);
        check(&draws, &magnitudes(sigma2)).unwrap_or_else(|e| panic!("{sigma2}: {e}"));
    }
}

#[test]
fn ten_million_laplace_draws_have_the_law_and_are_independent() {
    for (name, seed) in [("b=0.4", 21), ("b=3", 22), ("b=16", 23)] {
        check(&draws(name, seed), &magnitudes(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn ten_million_wide_laplace_draws_have_the_law_and_are_independent() {
    for (name, seed) in [("b=17", 24), ("b=250", 25), ("b=1500", 26)] {
        check(&draws(name, seed), &magnitudes(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn the_widest_laplace_draws_have_the_law_of_the_exponential_in_runs() {
    let (scale, draws) = (1e6, draws("b=1e6", 27));
    // |X| ≥ x has 2α^x/(1 + α), α = e^-1/b, from x = 1 on. Runs that do not begin where a block does.
    let alpha = float::exp(-1.0 / scale);
    let at_least = |x: i64| float::exp(-x as f64 / scale) / (1.0 + alpha);
    let starts: Vec<i64> = (-60..=60).map(|k| 100_003 * k).collect();
    // P[X < start].
    let below = |x: i64| if x <= 0 { at_least(1 - x) } else { 1.0 - at_least(x) };
    let mut chances = vec![below(starts[0])];
    chances.extend(starts.windows(2).map(|pair| below(pair[1]) - below(pair[0])));
    chances.push(1.0 - below(*starts.last().unwrap()));
    let classes = Classes { starts, chances };
    fit(&classes.count(&draws), &classes.chances).unwrap();
    fair_signs(&draws).unwrap();
    // Residues mod 2^k, of which r has weight α^r among magnitudes.
    let positive: Vec<i64> = draws.iter().copied().filter(|x| *x > 0).collect();
    for (bits, from) in [(9, 0), (6, 5), (6, 11), (6, 14)] {
        let mut counts = vec![0; 1 << bits];
        positive.iter().for_each(|x| counts[((x - 1) >> from & ((1 << bits) - 1)) as usize] += 1);
        let rate = f64::from(1 << from) / scale;
        let whole = -float::expm1(-rate * f64::from(1 << bits)) / -float::expm1(-rate);
        let chances: Vec<f64> = (0..1 << bits).map(|r| float::exp(-rate * f64::from(r)) / whole).collect();
        fit(&counts, &chances).unwrap_or_else(|e| panic!("{bits} bits from {from}: {e}"));
    }
}

#[test]
fn the_widest_draws_have_the_law_of_the_normal_in_runs_and_are_uniform_within_blocks() {
    let (sigma, draws) = (1e6, draws("1e12", 8));
    // P[X ≤ x] = Φ((x + 1/2)/σ) up to some 1/24σ².
    let below = |x: f64| {
        let z = (x.abs() + 0.5 * x.signum()) / sigma / std::f64::consts::SQRT_2;
        let tail = 0.5 * float::exp(-z * z) * float::erfcx(z);
        if x < 0.0 { tail } else { 1.0 - tail }
    };
    // Runs that do not begin where a block of 32,768 does.
    let starts: Vec<i64> = (-46..=46).map(|k| 70_001 * k).collect();
    let mut chances = vec![];
    let mut done = 0.0;
    for start in &starts {
        let sum = below((start - 1) as f64);
        chances.push(sum - done);
        done = sum;
    }
    chances.push(1.0 - done);
    let classes = Classes { starts, chances };
    fit(&classes.count(&draws), &classes.chances).unwrap();
    independent(&draws, &coarser(&classes), 1).unwrap();
    fair_signs(&draws).unwrap();
    // For residues mod w ≤ σ/16 uniform is right up to exp(−2π²·256), by Poisson's summation.
    for bits in [1, 4, 9] {
        for from in [0, 15 - bits] {
            let mut counts = vec![0; 1 << bits];
            draws.iter().for_each(|x| counts[(x >> from & ((1 << bits) - 1)) as usize] += 1);
            fit(&counts, &vec![1.0 / f64::from(1 << bits); 1 << bits]).unwrap();
        }
    }
}

/// Every ten classes together.
fn coarser(classes: &Classes) -> Classes {
    let mut starts: Vec<i64> = classes.starts.iter().copied().step_by(10).collect();
    starts.retain(|x| x.abs() < 1_500_000);
    let at = |start: i64| classes.starts.iter().position(|x| *x == start).unwrap() + 1;
    let ends = starts.iter().map(|start| at(*start)).chain([classes.chances.len()]);
    let mut from = 0;
    let chances = ends
        .map(|end| {
            let chance = classes.chances[from..end].iter().sum();
            from = end;
            chance
        })
        .collect();
    Classes { starts, chances }
}

#[test]
fn the_laws_on_both_sides_of_the_border_are_the_same() {
    let magnitudes = magnitudes("1024");
    let classes = Classes::new(&magnitudes, 2e-4);
    let [below, above] = [("1024", 9), ("1024.000001", 10)].map(|(sigma2, seed)| {
        let draws = draws(sigma2, seed);
        // They differ by a billionth.
        check(&draws, &magnitudes).unwrap_or_else(|e| panic!("{sigma2}: {e}"));
        classes.count(&draws)
    });
    let gap = |(a, b): (&u64, &u64)| (*a as f64 - *b as f64).powi(2) / (a + b) as f64;
    let statistic = below.iter().zip(&above).map(gap).sum();
    within(statistic, below.len() as f64 - 1.0).unwrap();
}

#[test]
fn what_is_wrong_by_a_percent_is_caught() {
    let draws = draws("5", 11);
    check(&draws, &magnitudes("5")).unwrap();
    assert!(check(&draws, &magnitudes("5.05")).is_err());
    let laplace = self::draws("b=100", 28);
    check(&laplace, &magnitudes("b=100")).unwrap();
    assert!(check(&laplace, &magnitudes("b=100.5")).is_err());
    let bent: Vec<i64> =
        draws.iter().enumerate().map(|(i, x)| if i % 100 == 0 { x.abs() } else { *x }).collect();
    assert!(fair_signs(&bent).is_err());
    let mut repeated = draws.clone();
    (2..repeated.len()).step_by(50).for_each(|i| repeated[i + 1] = repeated[i]);
    let coarse = Classes::new(&magnitudes("5"), 0.03);
    assert!(independent(&repeated, &coarse, 1).is_err());
    // Fits that are too good are no better.
    let counts: Vec<u64> = coarse.chances.iter().map(|p| (p * 1e7).round() as u64).collect();
    assert!(fit(&counts, &coarse.chances).is_err() || counts.len() < 90);
    let even = vec![1.0 / 500.0; 500];
    assert!(fit(&vec![20_000; 500], &even).is_err());
}

#[test]
fn the_oracles_probabilities_add_up() {
    for sigma2 in ["0.3", "5", "1000"] {
        assert!((magnitudes(sigma2).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    // Poisson's summation: for σ² = 5 the sum of the weights is √(2πσ²), up to 2 exp(−2π²·5).
    let p0 = oracle::Level::new(&Form::gaussian(ratio("1/10"), true), 31, 256).chances[0].to_f64().value();
    assert!((p0 * (10.0 * float::PI).sqrt() - 1.0).abs() < 1e-14);
}
