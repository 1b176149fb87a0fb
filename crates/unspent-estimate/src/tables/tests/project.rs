//! The projection against the conditions for a minimum, in dense matrices and without a basis.

use super::Random;
use crate::matrix::Matrix;
use crate::model::{Model, Scratch};
use crate::space::tests::crossing;
use crate::tables::{
    Bound, DenseFamily, Family, Isolate, Kind, Limits, Quality, Support, UnitBounds, UnitLimits,
};

fn model() -> Model {
    Model::new(crossing()).unwrap()
}

fn kind(model: &Model, random: &mut Random) -> Kind {
    let definite = |n: usize, random: &mut Random| {
        let root = Matrix::new(n, n, (0..n * n).map(|_| random.between(0.0, 1.0) - 0.5).collect());
        let mut found = root.times_transposed(&root);
        found.add(&Matrix::identity(n), 0.05 + random.between(0.0, 1.0));
        found
    };
    let precision: Vec<Matrix> =
        model.blocks().iter().map(|block| definite(block.dimension, random)).collect();
    let unseen = precision.iter().map(|_| None).collect();
    Kind { precision, unseen, total_variance: 1.0 }
}

/// A parent's table with about this share of its cells, and estimates of its children near to parts of it.
struct Case {
    model: Model,
    support: Support,
    kinds: Vec<Kind>,
    children: Vec<(u32, crate::tables::ChildEstimate)>,
}

impl Case {
    fn new(children: usize, kinds: usize, share: f64, random: &mut Random) -> Case {
        let model = model();
        let cells = model.space().cells();
        let mut table: Vec<(u32, i64)> = vec![];
        for cell in 0..cells as u32 {
            if random.between(0.0, 1.0) < share {
                table.push((cell, 1 + (random.between(0.0, 1.0) * 6.0 * children as f64) as i64));
            }
        }
        if table.is_empty() {
            table.push((7, 3));
        }
        let support = Support::new(&model, &table);
        let kinds: Vec<Kind> = (0..kinds).map(|_| kind(&model, random)).collect();
        let mut scratch = Scratch::default();
        let child = |at: usize| {
            let mut near: Vec<f64> = (0..cells).map(|_| 4.0 * (random.between(0.0, 1.0) - 0.5)).collect();
            for (cell, count) in &table {
                near[*cell as usize] += *count as f64 / children as f64;
            }
            let mut coordinates = vec![0.0; cells];
            model.basis().coordinates(&mut near, &mut vec![], &mut coordinates);
            let kind = at % kinds.len();
            (kind as u32, support.child(&model, &kinds[kind], &mut coordinates, &mut scratch))
        };
        let children = (0..children).map(child).collect();
        Case { model, support, kinds, children }
    }

    fn family(&self, isolate: bool) -> Family<'_> {
        Family {
            support: &self.support,
            kinds: self.kinds.iter().collect(),
            children: self.children.clone(),
            isolate: Isolate::Fixed(isolate),
            limits: None,
        }
    }
}

/// The slope of the cost at some tables.
fn slope(of: &DenseFamily, tables: &[f64]) -> Vec<f64> {
    let n = of.children;
    let cells = of.counts.len();
    let mut found = vec![0.0; tables.len()];
    for c in 0..n {
        let precision = &of.precision[of.kind_of[c] as usize];
        for i in 0..cells {
            let row = (0..cells).map(|j| precision[(i, j)] * (tables[j * n + c] - of.near[j * n + c]));
            found[i * n + c] = row.sum::<f64>() - of.slope[i * n + c];
        }
    }
    found
}

/// Prices of cells and of children that explain the slope wherever tables are above 0, found by turns; the
/// slope less the prices is 0 there, and not negative elsewhere.
fn check_minimum(of: &DenseFamily, tables: &[f64]) {
    let (n, cells) = (of.children, of.counts.len());
    let slope = slope(of, tables);
    let (mut of_cell, mut of_child) = (vec![0.0; cells], vec![0.0; n]);
    let is_free = |i: usize, c: usize| tables[i * n + c] > 1e-3;
    for _ in 0..if of.totals.is_some() { 20_000 } else { 1 } {
        for i in 0..cells {
            let free: Vec<usize> = (0..n).filter(|c| is_free(i, *c)).collect();
            let sum: f64 = free.iter().map(|c| slope[i * n + c] - of_child[*c]).sum();
            of_cell[i] = if free.is_empty() { f64::INFINITY } else { sum / free.len() as f64 };
        }
        if of.totals.is_some() {
            for c in 0..n {
                let free: Vec<usize> = (0..cells).filter(|i| is_free(*i, c)).collect();
                let sum: f64 = free.iter().map(|i| slope[i * n + c] - of_cell[*i]).sum();
                of_child[c] = if free.is_empty() { 0.0 } else { sum / free.len() as f64 };
            }
        }
    }
    for i in (0..cells).filter(|i| of.counts[*i] > 0) {
        // Nothing can be said of the price of a child without anybody.
        let is_empty = |c: &usize| of.totals.as_ref().is_some_and(|totals| totals[*c] == 0);
        for c in (0..n).filter(|c| !is_empty(c)) {
            let rest = slope[i * n + c] - of_cell[i] - of_child[c];
            match is_free(i, c) {
                true => assert!(rest.abs() < 2e-2, "cell {i} of child {c}: {rest}"),
                false => assert!(rest > -2e-2, "cell {i} of child {c}, which is 0: {rest}"),
            }
        }
    }
}

fn cost(of: &DenseFamily, tables: &[f64]) -> f64 {
    let (n, cells) = (of.children, of.counts.len());
    let mut cost = of.cost;
    for c in 0..n {
        let d: Vec<f64> = (0..cells).map(|i| tables[i * n + c] - of.near[i * n + c]).collect();
        let mut product = vec![0.0; cells];
        of.precision[of.kind_of[c] as usize].apply(&d, &mut product);
        cost += (0..cells).map(|i| d[i] * (0.5 * product[i] - of.slope[i * n + c])).sum::<f64>();
    }
    cost
}

#[test]
fn projections_meet_the_conditions_for_a_minimum() {
    let mut random = Random::new(3);
    for (children, kinds, share) in
        [(2, 1, 0.5), (5, 1, 0.2), (6, 6, 0.6), (40, 2, 0.3), (9, 3, 1.0), (3, 2, 0.02)]
    {
        let case = Case::new(children, kinds, share, &mut random);
        for isolate in [false, true] {
            let family = case.family(isolate);
            let (dense, tables, quality) = family.projected(false).unwrap();
            assert!(quality.relative_gap() <= 1e-6, "{quality:?}");
            assert!((cost(&dense, &tables) - quality.cost).abs() <= 1e-9 * quality.cost.max(1.0));
            // Sums hold.
            for (row, count) in tables.chunks_exact(children).zip(&dense.counts) {
                assert!(row.iter().all(|x| *x >= 0.0));
                assert!((row.iter().sum::<f64>() - *count as f64).abs() < 1e-6);
            }
            for (c, total) in dense.totals.iter().flatten().enumerate() {
                let sum: f64 = tables.chunks_exact(children).map(|row| row[c]).sum();
                assert!((sum - *total as f64).abs() < 1e-4, "{sum} {total}");
            }
            check_minimum(&dense, &tables);
        }
    }
}

#[test]
fn tables_do_not_depend_on_the_number_of_threads() {
    let mut random = Random::new(8);
    // More children than fit into one chunk.
    let case = Case::new(900, 40, 0.7, &mut random);
    for isolate in [false, true] {
        let family = case.family(isolate);
        let (one, all) = (family.solve(false).unwrap(), family.solve(true).unwrap());
        assert_eq!(one.tables, all.tables);
        assert_eq!(one.quality, all.quality);
    }
}

#[test]
fn few_people_among_many_children_take_few_steps() {
    let mut random = Random::new(11);
    let mut case = Case::new(700, 1, 0.5, &mut random);
    // Most cells have so few people that most children have none.
    case.support.counts.iter_mut().enumerate().for_each(|(cell, count)| {
        *count = if cell % 3 == 0 { *count } else { (*count).min(4) };
    });
    for isolate in [false, true] {
        let (_, _, quality) = case.family(isolate).projected(true).unwrap();
        assert!(quality.relative_gap() <= 1e-6, "{quality:?}");
        // Without prices (Lemma T3a) it takes 180 steps and more.
        assert!(quality.steps <= 60, "{quality:?}");
    }
}

#[test]
fn limits_to_groups_take_part_in_the_projection() {
    let mut random = Random::new(5);
    let case = Case::new(4, 1, 0.9, &mut random);
    // Groups by the first axis of the space; the second child has nobody in the first group, and few in the
    // next.
    let sizes: Vec<usize> = case.model.space().axes.iter().map(|axis| axis.values.len()).collect();
    let inner: usize = sizes[1..].iter().product();
    let cells = case.model.space().cells();
    let group_of: Vec<u32> = (0..cells).map(|cell| (cell / inner) as u32).collect();
    let mut groups = vec![Bound::FREE; sizes[0]];
    (groups[0], groups[1]) = (Bound::ZERO, Bound { lower: 3, upper: 5 });
    let parents = [None, Some(0), Some(0), Some(0), Some(0)];
    let limits = Limits::new(sizes[0], &parents, vec![UnitBounds { unit: 2, total: Bound::FREE, groups }]);
    let of = UnitLimits { limits: &limits, unit: 0, group_of: &group_of };
    let free = case.family(false).solve(false).unwrap();
    let family = Family { limits: Some(of), ..case.family(false) };
    let found = family.solve(false).unwrap();
    assert!(found.quality.relative_gap() <= 1e-6, "{:?}", found.quality);
    assert!(found.quality.cost >= free.quality.cost, "less is allowed");
    let sum = |group: u32| -> i64 {
        let inside = |(cell, _): &&(u32, i64)| group_of[*cell as usize] == group;
        found.tables[1].iter().filter(inside).map(|(_, count)| count).sum()
    };
    assert_eq!(sum(0), 0);
    assert!((3..=5).contains(&sum(1)), "{}", sum(1));
}

#[test]
fn a_gap_is_a_share_of_what_the_signs_cost() {
    let quality = Quality { cost: 5.0, unsigned: 3.0, gap: 0.5, steps: 1 };
    assert_eq!(quality.relative_gap(), 0.25);
    assert_eq!(Quality { gap: -0.5, ..quality }.relative_gap(), 0.0);
    // Where signs cost next to nothing.
    assert_eq!(Quality { unsigned: 5.0, ..quality }.relative_gap(), 500.0);
}
