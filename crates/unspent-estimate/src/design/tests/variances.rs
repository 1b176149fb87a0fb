//! The closed form of variances against the estimator's own recursion on a tree, and against the definition in
//! exact fractions.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed};
use unspent::{Allocation, Rational};

use super::dense::{Dense, Sum};
use super::random::{self, Draw};
use crate::allocation::exact_queries;
use crate::answers::{AnswerClasses, Precision, SumOfCells, coordinate_covariances};
use crate::design::bound::double;
use crate::design::compile::Compiled;
use crate::design::evaluator::{Evaluator, Limit};
use crate::design::exact::fraction;
use crate::design::program::Variance;
use crate::design::{Need, Quantity, Selection, Spread, UnitSet};
use crate::matrix::Matrix;
use crate::model::{Scratch, SharedClass, UnitClass};
use crate::space::Space;
use crate::tree::{Node, Tree};

/// The largest system that is solved densely in fractions.
const DENSE: usize = 26;

/// A sum of cells of a unit or of a set of units, with its variance: of `weights`, times `scale`.
struct Asked {
    level: usize,
    set: Option<UnitSet>,
    weights: Vec<i32>,
    scale: BigRational,
    variance: Variance,
}

struct Case {
    units: Vec<u64>,
    compiled: Compiled,
    /// 0 where nothing is measured.
    precisions: Vec<BigRational>,
    measured: Vec<bool>,
    exact: Vec<Vec<usize>>,
    asked: Vec<Asked>,
}

impl Case {
    fn new(draw: &mut Draw, units: Vec<u64>, cells: usize, sets: bool) -> Case {
        let levels = units.len();
        let offer = random::offer(draw, levels, cells, false);
        let mut needs: Vec<Need> = vec![];
        for level in 0..levels {
            if !sets {
                let tables = offer.queries().iter().map(|query| table(level, &query.by));
                needs.extend(tables);
            }
            let of_level: Vec<Need> = (0..4)
                .map(|_| random::need(draw, &offer, &units, sets))
                .filter(|need| !matches!(need.quantity, Quantity::Table { .. }))
                .collect();
            needs.extend(of_level);
        }
        let compiled = Compiled::new(&offer, units.clone(), &needs).unwrap();
        let space = compiled.frame.model.space();
        let exact = offer
            .levels()
            .iter()
            .map(|level| exact_queries(&offer, &level.name).map(|name| space.query(name).unwrap()).collect());
        let exact = exact.collect();
        let drawn = random::precisions(draw, compiled.frame.variables.len());
        let measured = drawn.iter().map(Option::is_some).collect();
        let precisions = drawn.into_iter().map(Option::unwrap_or_default).collect();
        let asked = asked(&compiled, &offer, &needs);
        Case { units, compiled, precisions, measured, exact, asked }
    }

    fn class(&self, level: usize) -> SharedClass {
        let model = &self.compiled.frame.model;
        let mut variances = vec![None; model.space().queries().len()];
        for (variable, precision) in self.compiled.frame.variables.iter().zip(&self.precisions) {
            if variable.level == level && precision.is_positive() {
                variances[variable.query] = Some(double(&(BigRational::one() / precision)));
            }
        }
        Arc::new(model.class(UnitClass { variances, exact: self.exact[level].clone(), lacking: vec![] }))
    }

    /// One node for each level, of as many units as lie in one above.
    fn regular(&self) -> Tree {
        let node = |level: usize| {
            let parent = level.checked_sub(1);
            let count = parent.map_or(1.0, |parent| self.units[level] as f64 / self.units[parent] as f64);
            Node { parent, class: self.class(level), count }
        };
        Tree::new(&self.compiled.frame.model, (0..self.units.len()).map(node).collect())
    }

    /// A node for each unit, and the first node of each level.
    fn explicit(&self) -> (Tree, Vec<usize>) {
        let (mut nodes, mut starts) = (vec![], vec![]);
        for (level, count) in self.units.iter().enumerate() {
            let class = self.class(level);
            let start = nodes.len();
            for unit in 0..*count as usize {
                let parent = (level > 0).then(|| {
                    let inside = (count / self.units[level - 1]) as usize;
                    starts[level - 1] + unit / inside
                });
                nodes.push(Node { parent, class: class.clone(), count: 1.0 });
            }
            starts.push(start);
        }
        (Tree::new(&self.compiled.frame.model, nodes), starts)
    }

    fn dense(&self) -> Dense<'_> {
        let frame = &self.compiled.frame;
        let measured = frame.variables.iter().zip(&self.precisions).filter(|(_, w)| w.is_positive());
        let exact = self.exact.iter().enumerate();
        Dense {
            space: frame.model.space(),
            units: &self.units,
            measured: measured.map(|(v, w)| (v.level, v.query, w.clone())).collect(),
            exact: exact.flat_map(|(level, of)| of.iter().map(move |query| (level, *query))).collect(),
        }
    }

    /// The largest precision over the smallest.
    fn spread(&self) -> f64 {
        let doubles = self.doubles();
        doubles.iter().fold(0.0f64, |x, y| x.max(*y)) / doubles.iter().fold(f64::MAX, |x, y| x.min(*y))
    }

    /// The precisions of what is measured, in doubles.
    fn doubles(&self) -> Vec<f64> {
        self.precisions.iter().filter(|w| w.is_positive()).map(double).collect()
    }
}

fn table(level: usize, by: &[String]) -> Need {
    Need {
        name: "table".into(),
        level,
        quantity: Quantity::Table { by: by.to_vec(), margin: Rational::integer(1) },
        set: None,
        confidence: "0.95".parse().unwrap(),
        all: false,
    }
}

/// How often each cell counts that has values of a selection.
fn weights(space: &Space, selection: &Selection) -> Vec<i32> {
    let mut found = vec![];
    space.each_cell(|_, places| {
        let mut all = true;
        for (axis, place) in space.axes.iter().zip(places) {
            for (attribute, value) in axis.attributes.iter().zip(&axis.values[*place]) {
                all &= selection.0.get(attribute).is_none_or(|chosen| chosen.contains(value));
            }
        }
        found.push(i32::from(all));
    });
    found
}

/// Every answer of every table, and every count and share, with the variance that was compiled for it.
fn asked(compiled: &Compiled, offer: &Allocation, needs: &[Need]) -> Vec<Asked> {
    let model = &compiled.frame.model;
    let space = model.space();
    let mut asked = vec![];
    for (need, parts) in needs.iter().zip(&compiled.needs) {
        let of = |weights, scale, variance: &Variance| Asked {
            level: need.level,
            set: need.set.clone(),
            weights,
            scale,
            variance: variance.clone(),
        };
        match &need.quantity {
            Quantity::Table { by, .. } => {
                let query = space.query(&format!("\u{1}{}", by.join("*"))).unwrap();
                let (class_of, _) = AnswerClasses::counted(model, query);
                for (answer, class) in class_of.iter().enumerate() {
                    let Some(class) = class else { continue };
                    let count = |cell| i32::from(space.place_of(query, cell) == Some(answer));
                    let weights = (0..space.cells()).map(count).collect();
                    asked.push(of(weights, BigRational::one(), &parts[*class as usize].variance));
                }
                // The table of the design has the same variances.
                let number = offer.queries().iter().position(|q| q.by == *by).unwrap();
                let table = compiled.tables.iter().find(|t| (t.level, t.query) == (need.level, number));
                let same = |variance: &Variance| parts.iter().any(|part| part.variance == *variance);
                let table = table.unwrap();
                assert!(table.variances.iter().all(same) && table.variances.len() <= parts.len());
                assert!(parts.iter().all(|part| table.variances.contains(&part.variance)));
            }
            Quantity::Count { of: selection, .. } => {
                let weights = weights(space, selection);
                asked.push(of(weights, BigRational::one(), &parts[0].variance));
            }
            Quantity::Share { of: selection, among, margin, about, .. } => {
                let [margin, low, high] = [
                    margin.clone(),
                    about.clone().unwrap_or(Rational::integer(0)),
                    about.clone().unwrap_or(Rational::integer(1)),
                ]
                .map(BigRational::from);
                let among = self::weights(space, among);
                let selected = self::weights(space, selection);
                for (end, part) in [low - &margin, high + &margin].iter().zip(parts) {
                    let [p, q]: [i32; 2] = [end.numer(), end.denom()].map(|x| x.try_into().unwrap());
                    let both = selected.iter().zip(&among);
                    let weights = both.map(|(s, a)| q * s * a - p * a).collect();
                    let scale = BigRational::new(1.into(), BigInt::from(q) * q);
                    asked.push(of(weights, scale, &part.variance));
                }
            }
        }
    }
    asked
}

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
}

fn relative(found: f64, wanted: &BigRational) -> f64 {
    let wanted = double(wanted);
    (found - wanted).abs() / wanted
}

/// Whether it may be 0: no other variance is so small.
fn is_zero([low, high]: &[BigRational; 2]) -> bool {
    !low.is_positive() && !high.is_negative() && double(&(high - low)) < 1e-40
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
    let evaluator = Evaluator::new(frame, &case.measured);
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
        assert_eq!(value.is_some(), frame.is_seen(&asked.variance, &case.measured), "{name}");
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
    let count = set.count as usize;
    if set.spread == Spread::Packed {
        return ((0..count).collect(), true);
    }
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
    for seed in 0..random::cases(150) {
        let mut draw = Draw(1_000_000 + seed as u64);
        let levels = 1 + draw.below(4);
        let small = seed % 3 == 0;
        let units = random::units(&mut draw, levels, true, if small { 8 } else { 64 });
        let cells = if small { DENSE / *units.last().unwrap() as usize } else { 8 };
        let case = Case::new(&mut draw, units, cells, true);
        check_sets(&mut draw, &case, &format!("tree {seed}"), small, &mut worst);
    }
    println!("{worst:?}");
    assert!(worst.even > 100 && worst.dense > 50 && worst.unknown > 30, "{worst:?}");
    assert!(worst.area < 1e-11, "{worst:?}");
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
        // No set of as many units is worse known than a scattered one, or better than a packed one.
        let Some([low, high]) = value else { continue };
        let mut all: Vec<usize> = (0..case.units[asked.level] as usize).collect();
        let any: Vec<usize> = (0..set.count).map(|_| all.swap_remove(draw.below(all.len()))).collect();
        let found = of(&any).variance();
        let side = match set.spread {
            Spread::Scattered => found.unwrap() * double(&asked.scale) <= double(&high) * (1.0 + 1e-9),
            Spread::Packed => {
                found.is_none_or(|found| found * double(&asked.scale) >= double(&low) * (1.0 - 1e-9))
            }
        };
        assert!(side, "{name}: {found:?} {low} {high}");
    }
}

#[test]
fn slopes_and_curvature_are_those_of_fractions() {
    let (mut compared, mut worst, mut curved) = (0, 0.0f64, 0.0f64);
    for seed in 0..random::cases(60) {
        let mut draw = Draw(2_000_000 + seed as u64);
        let levels = 1 + draw.below(3);
        let units = random::units(&mut draw, levels, false, 1_000);
        let case = Case::new(&mut draw, units, 12, false);
        let Compiled { frame, .. } = &case.compiled;
        let at = frame.exactly(&case.precisions);
        let seen: Vec<&Asked> =
            case.asked.iter().filter(|a| frame.is_seen(&a.variance, &case.measured)).collect();
        if seen.is_empty() {
            continue;
        }
        let variance = &seen[draw.below(seen.len())].variance;
        let value = frame.exact_value(variance, &at).unwrap();
        if is_zero(&value) {
            continue;
        }
        let one = BigRational::one();
        let exact = frame.exact_slopes(&[(&one, variance)], &at);
        let evaluator = Evaluator::new(frame, &case.measured);
        let doubles = case.doubles();
        let point = evaluator.at(&doubles);
        let limit = Limit::new(variance, 1.0);
        let slopes = evaluator.slopes(&limit, &point);
        let mut curvature = Matrix::zeros(doubles.len(), doubles.len());
        evaluator.add_curvature(&[limit], &[1.0], &point, &mut curvature);
        let variables: Vec<usize> = (0..case.measured.len()).filter(|j| case.measured[*j]).collect();
        let total = double(&value[1]);
        for (place, j) in variables.iter().enumerate() {
            let name = format!("tree {seed}, variable {j}");
            let w = &doubles[place];
            worst = worst.max((slopes[place] - double(&exact[*j])).abs() * w / total);
            // A difference quotient: between the slopes at both ends, as variances are convex.
            let mut moved = case.precisions.clone();
            let step = &moved[*j] / BigInt::from(1u64 << 30);
            moved[*j] += &step;
            let near = frame.exactly(&moved);
            let after = frame.exact_value(variance, &near).unwrap();
            let quotient = double(&((&value[1] - &after[1]) / &step));
            assert!((quotient - double(&exact[*j])).abs() * w <= 1e-8 * total, "{name}");
            let slopes_after = frame.exact_slopes(&[(&one, variance)], &near);
            for (other, k) in variables.iter().enumerate() {
                let quotient = double(&((&exact[*k] - &slopes_after[*k]) / &step));
                let difference = (quotient - curvature[(place, other)]).abs() * w * doubles[other];
                curved = curved.max(difference / total);
            }
            compared += 1;
        }
        // Homogeneous of degree −1 (Euler): the slopes make up the variance.
        let euler: BigRational = exact.iter().zip(&case.precisions).map(|(s, w)| s * w).sum();
        assert!(value[0] <= euler && euler <= value[1], "tree {seed}");
        let factor = fraction(draw.magnitude(4.0), 20);
        let scaled: Vec<BigRational> = case.precisions.iter().map(|w| w * &factor).collect();
        let found = frame.exact_value(variance, &frame.exactly(&scaled)).unwrap();
        assert!(value[0] <= &found[1] * &factor && &found[0] * &factor <= value[1], "tree {seed}");
        // Convex: half of the way, not above half of both.
        let other: Vec<BigRational> =
            case.precisions.iter().map(|w| w * fraction(draw.magnitude(3.0), 20)).collect();
        let middle =
            case.precisions.iter().zip(&other).map(|(a, b)| (a + b) / BigInt::from(2)).collect::<Vec<_>>();
        let [there, between] =
            [&other, &middle].map(|w| frame.exact_value(variance, &frame.exactly(w)).unwrap());
        assert!(&between[0] + &between[0] <= &value[1] + &there[1], "tree {seed}");
    }
    println!("{compared} slopes: worst {worst:.1e}, curvature {curved:.1e}");
    assert!(compared > 100 && worst < 1e-10 && curved < 1e-7, "{compared} {worst} {curved}");
}

#[test]
fn sets_of_units_are_convex_also_where_numbers_of_units_are_not_whole() {
    let mut draw = Draw(4_000_000);
    for seed in 0..random::cases(150) {
        let levels = 2 + draw.below(3);
        // Three units of which each has four, in fours of which each has three.
        let units = if seed == 0 { vec![3, 4, 12] } else { random::units(&mut draw, levels, false, 200) };
        let offer = random::offer(&mut draw, units.len(), 2, true);
        let need = |level: usize, count: u64, spread: Spread| Need {
            set: Some(UnitSet { count, spread }),
            ..table(level, &offer.queries()[0].by)
        };
        for level in 0..units.len() {
            let counts = (1..=units[level].min(20)).collect::<Vec<u64>>();
            for spread in [Spread::Scattered, Spread::Packed] {
                let needs: Vec<Need> =
                    counts.iter().map(|count| need(level, *count, spread.clone())).collect();
                let compiled = Compiled::new(&offer, units.clone(), &needs).unwrap();
                for (count, parts) in counts.iter().zip(&compiled.needs) {
                    let levels = &parts[0].variance.levels;
                    let name = format!("{units:?}: {count} {spread:?} of level {level}");
                    assert!(levels.iter().all(|c| !c.is_negative()), "{name}");
                    // Units that know nothing of each other: as many variances as there are units.
                    let one = levels.iter().enumerate().map(|(k, c)| c * compiled.frame.inside(k, level));
                    assert_eq!(
                        one.sum::<BigRational>(),
                        BigRational::from_integer((*count).into()),
                        "{name}"
                    );
                }
            }
        }
    }
}
