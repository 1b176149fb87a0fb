//! The worst unit of a list of units against the estimator's recursion on every unit.

use std::sync::Arc;

use super::cases::Case;
use super::random::{self, Draw};
use crate::answers::{Precision, SumOfCells};
use crate::design::judge::{Asked, Judge};
use crate::design::kinds::Kinds;
use crate::design::{UnitTree, Units};
use crate::model::Scratch;
use crate::tree::{Node, Tree};

#[test]
fn the_worst_unit_of_a_list_is_the_worst_of_all_its_units() {
    let (mut compared, mut unknown, mut exact, mut worst) = (0, 0, 0, 0.0f64);
    for seed in 0..random::cases(60) {
        let mut draw = Draw(7_000_000 + seed as u64);
        let roots = 1 + draw.below(2) as u32;
        let mut parents: Vec<Vec<u32>> = vec![];
        for _ in 0..draw.below(4) {
            let above = parents.last().map_or(roots, |level: &Vec<u32>| level.len() as u32);
            // Equal families, families of one, and large ones.
            let most = 1 + draw.below(4);
            let family = |unit: u32| std::iter::repeat_n(unit, 1 + draw.below(most));
            parents.push((0..above).flat_map(family).collect());
        }
        let tree = UnitTree { roots: u64::from(roots), parents };
        let case = Case::new(&mut draw, tree.per_level(), 12, false);
        let frame = &case.compiled.frame;
        let mut nodes = vec![];
        let mut starts = vec![0];
        for level in 0..case.units.len() {
            let class = case.class(level);
            for unit in 0..case.units[level] as usize {
                let parent =
                    level.checked_sub(1).map(|above| starts[above] + tree.parents[above][unit] as usize);
                nodes.push(Node { parent, class: class.clone(), count: 1.0 });
            }
            starts.push(nodes.len());
        }
        let all = Tree::new(&frame.model, nodes);
        let mut scratch = Scratch::default();
        let counted = case.asked.iter().filter(|asked| asked.weights.iter().any(|weight| *weight != 0));
        let sums: Vec<(usize, SumOfCells, Vec<f64>)> = counted
            .map(|asked| {
                let (sum, coordinates) = SumOfCells::new(&frame.model, &asked.weights, &mut scratch);
                (asked.level, sum, coordinates)
            })
            .collect();
        let asked = |(_, sum, coordinates): &(usize, SumOfCells, Vec<f64>)| {
            vec![Asked { sum: sum.clone(), coordinates: coordinates.clone(), margin: 1.0 }]
        };
        let judge = Judge {
            model: Arc::clone(&frame.model),
            asked: sums.iter().map(asked).collect(),
            levels: sums.iter().map(|(level, _, _)| *level).collect(),
            kinds: Kinds::new(&Units::Listed(tree)),
            exact: case.exact.clone(),
            variables: frame.variables.iter().map(|v| (v.level, v.query)).collect(),
        };
        let precisions: Vec<f64> = case.precisions.iter().map(crate::design::bound::double).collect();
        let verdicts = judge.verdicts(&precisions, &vec![false; sums.len()]);
        let tolerance = 1e-12 * (case.spread() / 100.0).max(1.0);
        for ((level, sum, _), verdict) in sums.iter().zip(verdicts) {
            let variance = |node: usize| match all.precision_of(node)(sum) {
                Precision::Unknown => f64::INFINITY,
                Precision::Exact => 0.0,
                Precision::Variance(variance) => variance,
            };
            let largest = (starts[*level]..starts[level + 1]).map(variance).fold(0.0f64, f64::max);
            let found = verdict.expect("no set of units").variance;
            compared += 1;
            if largest.is_infinite() || largest == 0.0 {
                *(if largest == 0.0 { &mut exact } else { &mut unknown }) += 1;
                assert_eq!(found, largest, "tree {seed}, level {level}");
            } else {
                let difference = (found / largest - 1.0).abs();
                worst = worst.max(difference);
                assert!(difference <= tolerance, "tree {seed}, level {level}: {found} {largest}");
            }
        }
    }
    println!("{compared} sums, {unknown} unknown, {exact} exact: worst unit within {worst:.1e}");
    assert!(compared > 100 && unknown > 10 && exact > 10, "{compared} {unknown} {exact}");
}
