//! The closed form of variances against the estimator's own recursion on a tree, and against the definition
//! in exact fractions.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use super::cases::{Asked, Case, is_zero, table};
use super::dense::Sum;
use super::random::{self, Draw};
use crate::answers::{Precision, SumOfCells, coordinate_covariances};
use crate::design::bound::double;
use crate::design::compile::Compiled;
use crate::design::evaluator::{Evaluator, Limit};
use crate::design::{Need, UnitSet};
use crate::model::Scratch;

/// The largest system that is solved densely in fractions.
const DENSE: usize = 26;

/// The largest relative differences, and how many of each kind were compared.
#[derive(Debug, Default)]
struct Worst {
    doubles: f64,
    tree: f64,
    area: f64,
    /// How many differ by more than 10⁻¹², of the tree and of the closed form in doubles.
    rough: [usize; 2],
    compared: usize,
    unknown: usize,
    exact: usize,
    dense: usize,
    even: usize,
    parts: usize,
}

fn relative(found: f64, wanted: &BigRational) -> f64 {
    let wanted = double(wanted);
    (found - wanted).abs() / wanted
}

/// Compares a variance with what a tree says.
fn compare(precision: Precision, value: Option<&[BigRational; 2]>, scale: &BigRational, case: &str) -> f64 {
    match (precision, value) {
        (Precision::Unknown, None) => 0.0,
        (Precision::Exact, Some(value)) => {
            assert!(is_zero(value), "{case}");
            0.0
        }
        (Precision::Variance(variance), Some([low, high])) => {
            assert!(low.is_positive() && low <= high, "{case}");
            relative(variance, &(high / scale))
        }
        (precision, value) => panic!("{case}: {precision:?} {}", value.is_some()),
    }
}

fn check(case: &Case, name: &str, dense: bool, worst: &mut Worst) {
    let Compiled { frame, .. } = &case.compiled;
    let model = &frame.model;
    let at = frame.exactly(&case.precisions);
    let known = frame.known(&case.measured);
    let evaluator = Evaluator::new(frame, &case.measured, &known, &case.compiled.asked(false));
    let point = evaluator.at(&case.doubles());
    let tree = case.regular();
    let states: Vec<_> =
        (0..case.units.len()).map(|level| coordinate_covariances(tree.state(level))).collect();
    let mut scratch = Scratch::default();
    // Rounding errors grow with the condition of the systems that are solved.
    let tolerance = 1e-12 * (case.spread() / 100.0).max(1.0);
    for (number, asked) in case.asked.iter().enumerate() {
        let name = format!("{name}, sum {number} of level {}", asked.level);
        let value = frame.exact_value(&asked.variance, &at);
        assert_eq!(value.is_some(), frame.are_seen([&asked.variance], &known), "{name}");
        if asked.weights.iter().all(|weight| *weight == 0) {
            // Nothing is counted.
            assert!(is_zero(&value.unwrap()), "{name}");
            continue;
        }
        let (sum, _) = SumOfCells::new(model, &asked.weights, &mut scratch);
        let precision = sum.precision(tree.state(asked.level), &states[asked.level]);
        let difference = compare(precision, value.as_ref(), &asked.scale, &name);
        worst.tree = worst.tree.max(difference);
        worst.rough[0] += usize::from(difference > 1e-12);
        assert!(difference <= tolerance, "{name}: {difference:e}");
        worst.compared += 1;
        let Some(value) = value else {
            worst.unknown += 1;
            continue;
        };
        let found = evaluator.value(&Limit::new(&asked.variance, 1.0), &point);
        if is_zero(&value) {
            worst.exact += 1;
            // The directions are rounded, nothing else.
            let unit = 1.0 / case.doubles().into_iter().fold(f64::MAX, f64::min);
            assert!(found.abs() < 1e-24 * unit, "{name}: {found}");
        } else {
            let difference = relative(found, &value[1]);
            worst.doubles = worst.doubles.max(difference);
            worst.rough[1] += usize::from(difference > 1e-12);
            assert!(difference <= tolerance, "{name}: {difference:e}");
        }
    }
    let system = case.dense();
    if !dense || system.size() > DENSE {
        return;
    }
    let sum = |asked: &'_ Asked| (asked.level, asked.weights.clone());
    let listed: Vec<(usize, Vec<i32>)> = case.asked.iter().map(sum).collect();
    let sums: Vec<Sum<'_>> =
        listed.iter().map(|(level, weights)| Sum { level: *level, units: &[0], weights }).collect();
    for (number, (asked, found)) in case.asked.iter().zip(system.variances(&sums)).enumerate() {
        let value = frame.exact_value(&asked.variance, &at);
        within(value.as_ref(), found, &asked.scale, &format!("{name}, sum {number} densely"));
        worst.dense += 1;
    }
}

/// The fraction itself is between the ends.
fn within(value: Option<&[BigRational; 2]>, dense: Option<BigRational>, scale: &BigRational, name: &str) {
    match (value, dense) {
        (None, None) => {}
        (Some([low, high]), Some(dense)) => {
            let dense = dense * scale;
            assert!(*low <= dense && dense <= *high, "{name}: {low} {dense} {high}");
            assert!(double(&(high - low)) < 1e-40, "{name}: the ends are apart");
        }
        (value, dense) => panic!("{name}: {} {}", value.is_some(), dense.is_some()),
    }
}

#[test]
fn variances_are_those_of_the_estimator_and_of_the_definition() {
    let mut worst = Worst::default();
    for seed in 0..random::cases(150) {
        let mut draw = Draw(seed as u64);
        let levels = 1 + draw.below(4);
        // Small trees of whole numbers of units for the definition; others are larger.
        let small = seed % 3 == 0;
        let units = match small {
            true => random::units(&mut draw, levels, true, 8),
            false => random::units(&mut draw, levels, seed % 2 == 0, 10_000_000),
        };
        let cells = if small { DENSE / *units.last().unwrap() as usize } else { 24 };
        let case = Case::new(&mut draw, units, cells, false);
        check(&case, &format!("tree {seed}"), small, &mut worst);
    }
    println!("{worst:?}");
    assert!(worst.compared > 1_000 && worst.unknown > 100 && worst.exact > 10 && worst.dense > 100);
    assert!(worst.rough.iter().all(|rough| 50 * rough < worst.compared), "{worst:?}");
}

/// The units of a level that a set has, and whether it is exactly as the closed form takes it to be.
fn members(units: &[u64], level: usize, set: &UnitSet) -> (Vec<usize>, bool) {
    let count = match set {
        UnitSet::Scattered(count) => *count as usize,
        UnitSet::Packed(count) => return ((0..*count as usize).collect(), true),
        UnitSet::Parts(_) => return (vec![], false),
    };
    // Dealt out: the next unit goes to the unit above that has fewest, on every level.
    let mut taken: Vec<Vec<u64>> = units.iter().map(|units| vec![0; *units as usize]).collect();
    let mut found = vec![];
    for _ in 0..count {
        let mut inside = 0..units[0] as usize;
        for k in 0..=level {
            let next = inside.min_by_key(|unit| taken[k][*unit]).unwrap();
            taken[k][next] += 1;
            let children = if k < level { (units[k + 1] / units[k]) as usize } else { 1 };
            inside = next * children..(next + 1) * children;
            if k == level {
                found.push(next);
            }
        }
    }
    let even = taken[..=level].iter().all(|of| {
        let (least, most) = (of.iter().min().unwrap(), of.iter().max().unwrap());
        least == most || (*least == 0 && *most == 1)
    });
    (found, even)
}

#[test]
fn variances_of_sets_of_units_are_those_of_areas() {
    let mut worst = Worst::default();
    for seed in 0..random::cases(250) {
        let mut draw = Draw(1_000_000 + seed as u64);
        let levels = 1 + draw.below(4);
        let small = seed % 3 == 0;
        let units = random::units(&mut draw, levels, true, if small { 8 } else { 64 });
        let cells = if small { DENSE / *units.last().unwrap() as usize } else { 8 };
        let case = Case::new(&mut draw, units, cells, true);
        check_sets(&mut draw, &case, &format!("tree {seed}"), small, &mut worst);
    }
    println!("{worst:?}");
    assert!(worst.even > 100 && worst.dense > 50 && worst.unknown > 30 && worst.parts > 100, "{worst:?}");
    assert!(worst.area < 1e-11, "{worst:?}");
}

/// A set like this one, anywhere: the units of its level.
fn any_like(draw: &mut Draw, set: &UnitSet, units: &[u64], level: usize) -> Vec<usize> {
    let mut found = vec![];
    for (at, count) in set.parts(level) {
        let inside = (units[level] / units[at]) as usize;
        let is_free = |unit: &usize| !found.contains(&(unit * inside));
        let mut free: Vec<usize> = (0..units[at] as usize).filter(is_free).collect();
        for _ in 0..count {
            let unit = free.swap_remove(draw.below(free.len()));
            found.extend(unit * inside..(unit + 1) * inside);
        }
    }
    found
}

fn check_sets(draw: &mut Draw, case: &Case, name: &str, dense: bool, worst: &mut Worst) {
    let Compiled { frame, .. } = &case.compiled;
    let at = frame.exactly(&case.precisions);
    let (tree, starts) = case.explicit();
    let mut scratch = Scratch::default();
    for (number, asked) in case.asked.iter().enumerate() {
        let Some(set) = &asked.set else { continue };
        if asked.weights.iter().all(|weight| *weight == 0) {
            continue;
        }
        let name = format!("{name}, sum {number}: {set:?} of level {}", asked.level);
        let value = frame.exact_value(&asked.variance, &at);
        let (sum, _) = SumOfCells::new(&frame.model, &asked.weights, &mut scratch);
        let of = |members: &[usize]| {
            let nodes = members.iter().map(|unit| (starts[asked.level] + unit, 1.0));
            tree.area(&nodes.collect::<BTreeMap<_, _>>()).precision(&sum)
        };
        let (chosen, even) = members(&case.units, asked.level, set);
        if even {
            worst.even += 1;
            let found = of(&chosen);
            worst.unknown += usize::from(found == Precision::Unknown);
            worst.area = worst.area.max(compare(found, value.as_ref(), &asked.scale, &name));
            let system = case.dense();
            if dense && system.size() <= DENSE {
                let asked_of = Sum { level: asked.level, units: &chosen, weights: &asked.weights };
                let found = system.variances(&[asked_of]).remove(0);
                within(value.as_ref(), found, &asked.scale, &name);
                worst.dense += 1;
            }
        }
        // No set of as many units is worse known than a scattered one, or better than a packed one; none of
        // these parts is worse known.
        let Some([low, high]) = value else { continue };
        let found = of(&any_like(draw, set, &case.units, asked.level)).variance();
        let side = match set {
            UnitSet::Scattered(_) | UnitSet::Parts(_) => {
                worst.parts += usize::from(matches!(set, UnitSet::Parts(_)));
                found.unwrap() * double(&asked.scale) <= double(&high) * (1.0 + 1e-9)
            }
            UnitSet::Packed(_) => {
                found.is_none_or(|found| found * double(&asked.scale) >= double(&low) * (1.0 - 1e-9))
            }
        };
        assert!(side, "{name}: {found:?} {low} {high}");
    }
}

#[test]
fn sets_of_units_are_convex_also_where_numbers_of_units_are_not_whole() {
    let mut draw = Draw(4_000_000);
    for seed in 0..random::cases(150) {
        let levels = 2 + draw.below(3);
        // Three units of which each has four, in fours of which each has three.
        let units = if seed == 0 { vec![3, 4, 12] } else { random::units(&mut draw, levels, false, 200) };
        let offer = random::offer(&mut draw, units.len(), 2, true);
        for level in 0..units.len() {
            let counts = 1..=units[level].min(20);
            let sets = counts.flat_map(|count| [UnitSet::Scattered(count), UnitSet::Packed(count)]);
            let parts: Vec<UnitSet> =
                (0..10).map(|_| UnitSet::Parts(random::parts(&mut draw, &units, level))).collect();
            let sets: Vec<UnitSet> = sets.chain(parts).collect();
            let need =
                |set: &UnitSet| Need { set: Some(set.clone()), ..table(level, &offer.queries()[0].by) };
            let needs: Vec<Need> = sets.iter().map(need).collect();
            let compiled = Compiled::new(&offer, units.clone(), &needs).unwrap();
            for (set, parts) in sets.iter().zip(&compiled.needs) {
                let levels = &parts[0].variance.levels;
                let name = format!("{units:?}: {set:?} of level {level}");
                assert!(levels.iter().all(|c| !c.is_negative()), "{name}");
                // Units that know nothing of each other: as many variances as there are units.
                let inside = |k: usize| compiled.frame.inside(k, level);
                let one = levels.iter().enumerate().map(|(k, c)| c * inside(k));
                let all = set.parts(level).into_iter().map(|(at, count)| inside(at) * BigInt::from(count));
                assert_eq!(one.sum::<BigRational>(), all.sum::<BigRational>(), "{name}");
            }
        }
    }
}

/// By hand: two of four units of ten, and three units more, in one or both of the others.
#[test]
fn parts_are_as_far_apart_as_they_can_be() {
    let mut draw = Draw(5_000_000);
    let offer = random::offer(&mut draw, 3, 1, true);
    let set = |set: UnitSet| {
        let need = Need { set: Some(set), ..table(2, &offer.queries()[0].by) };
        let compiled = Compiled::new(&offer, vec![1, 4, 40], &[need]).unwrap();
        compiled.needs[0][0].variance.levels.clone()
    };
    let number = |n: i64, d: i64| BigRational::new(n.into(), d.into());
    // T = 23²/40, 20 + (3²/2)/10 and 23.
    let (root, middle) = (number(529, 40), number(409, 20));
    let wanted = [&root / BigInt::from(40), (&middle - &root) / BigInt::from(10), number(23, 1) - &middle];
    assert_eq!(set(UnitSet::Parts([(1, 2), (2, 3)].into())), wanted);
    // Units of the level alone are scattered.
    assert_eq!(set(UnitSet::Parts([(2, 7)].into())), set(UnitSet::Scattered(7)));
    // Whole units of a level above are those units.
    let whole = Need { set: Some(UnitSet::Scattered(3)), ..table(1, &offer.queries()[0].by) };
    let compiled = Compiled::new(&offer, vec![1, 4, 40], &[whole]).unwrap();
    assert_eq!(set(UnitSet::Parts([(1, 3)].into())), compiled.needs[0][0].variance.levels);
}
