use super::{Random, cost, every};
use crate::tables::{Arc, Bound, Limits, Network, Origin, UNBOUNDED, UnitBounds};

/// A tree of at most so many levels: the parent of each unit.
fn tree(rng: &mut Random, levels: usize, most: usize) -> Vec<Option<usize>> {
    let mut parents = vec![None];
    let mut level = vec![0];
    for _ in 1..levels {
        let mut next = vec![];
        for unit in level {
            // Some branches end early.
            for _ in 0..if rng.below(6) == 0 { 0 } else { 1 + rng.below(most) } {
                next.push(parents.len());
                parents.push(Some(unit));
            }
        }
        level = next;
    }
    parents
}

fn is_leaf(parents: &[Option<usize>], unit: usize) -> bool {
    !parents.contains(&Some(unit))
}

/// Tables of all units from those of the leaves.
fn add_up(parents: &[Option<usize>], tables: &mut [Vec<i64>]) {
    for unit in (1..parents.len()).rev() {
        let (before, after) = tables.split_at_mut(unit);
        before[parents[unit].unwrap()].iter_mut().zip(&after[0]).for_each(|(sum, x)| *sum += x);
    }
}

fn random_bound(rng: &mut Random, truth: i64, spread: i64) -> Bound {
    match rng.below(6) {
        0 => Bound::exactly(truth),
        1 => Bound { lower: truth - rng.count(spread), upper: UNBOUNDED },
        2 => Bound { lower: 0, upper: truth + rng.count(spread) },
        3 if truth == 0 => Bound::ZERO,
        3 | 4 => Bound { lower: truth - rng.count(spread), upper: truth + rng.count(spread) },
        _ => Bound::FREE,
    }
}

/// Bounds of some units around their tables.
fn bounds(rng: &mut Random, tables: &[Vec<i64>], spread: i64) -> Vec<UnitBounds> {
    let mut bounds = vec![];
    let shares = [rng.below(4), rng.below(4)];
    for (unit, table) in tables.iter().enumerate() {
        let [grouped, totalled] = shares.map(|share| rng.below(4) < share);
        if !grouped && !totalled {
            continue;
        }
        let total = match totalled {
            true => random_bound(rng, table.iter().sum(), spread),
            false => Bound::FREE,
        };
        let groups = match grouped {
            true => table.iter().map(|count| random_bound(rng, *count, spread)).collect(),
            false => vec![],
        };
        bounds.push(UnitBounds { unit, total, groups });
    }
    bounds
}

fn meets(bounds: &UnitBounds, table: &[i64]) -> bool {
    let within = |bound: &Bound, count: i64| bound.lower <= count && count <= bound.upper;
    within(&bounds.total, table.iter().sum())
        && bounds.groups.iter().zip(table).all(|(bound, count)| within(bound, *count))
}

/// Goes down from the root with random wishes; with totals first at some units.
fn go_down(
    rng: &mut Random,
    limits: &Limits,
    parents: &[Option<usize>],
    truth: &[Vec<i64>],
) -> Vec<Vec<i64>> {
    let groups = truth[0].len();
    let mut tables = vec![vec![0; groups]; parents.len()];
    let spread = [0.5, 3.0, 30.0][rng.below(3)];
    let mut wish = |count: i64| count as f64 + rng.between(-spread, spread);
    let wanted: Vec<f64> = truth[0].iter().map(|count| wish(*count)).collect();
    let total = (rng.below(2) == 0).then(|| truth[0].iter().sum());
    tables[0] = limits.root(0, &wanted, total).unwrap();
    for unit in 0..parents.len() {
        let children: Vec<usize> = (0..parents.len()).filter(|c| parents[*c] == Some(unit)).collect();
        if children.is_empty() {
            continue;
        }
        let mut wish = |count: i64| count as f64 + rng.between(-spread, spread);
        let by_child: Vec<f64> = children.iter().map(|c| wish(truth[*c].iter().sum())).collect();
        let wanted: Vec<f64> = (0..groups)
            .flat_map(|g| children.iter().map(move |c| (g, *c)))
            .map(|(g, c)| wish(truth[c][g]))
            .collect();
        let totals = (rng.below(2) == 0).then(|| limits.totals(unit, &tables[unit], &by_child).unwrap());
        let found = limits.groups(unit, &tables[unit], &wanted, totals.as_deref()).unwrap();
        for (at, child) in children.iter().enumerate() {
            tables[*child] = (0..groups).map(|group| found[group * children.len() + at]).collect();
            assert!(totals.as_ref().is_none_or(|totals| totals[at] == tables[*child].iter().sum::<i64>()));
        }
        for (group, count) in tables[unit].iter().enumerate() {
            assert_eq!(children.iter().map(|child| tables[*child][group]).sum::<i64>(), *count);
        }
    }
    tables
}

#[test]
fn going_down_never_gets_stuck() {
    let mut rng = Random::new(4);
    let mut opened = 0;
    for case in 0..600 {
        let levels = 2 + rng.below(3);
        let parents = tree(&mut rng, levels, 4);
        let groups = 2 + rng.below(3);
        let mut truth = vec![vec![0; groups]; parents.len()];
        for unit in (0..parents.len()).filter(|unit| is_leaf(&parents, *unit)) {
            truth[unit] = (0..groups).map(|_| if rng.below(2) == 0 { 0 } else { rng.count(9) }).collect();
        }
        add_up(&parents, &mut truth);
        let spread = rng.count(3);
        let bounds = bounds(&mut rng, &truth, spread);
        let limits = Limits::new(groups, &parents, bounds.clone());
        limits.check().unwrap_or_else(|unmet| panic!("case {case}: {unmet}"));
        opened += usize::from(!limits.shape(0).parts.is_empty());
        let tables = go_down(&mut rng, &limits, &parents, &truth);
        assert!(tables.iter().flatten().all(|count| *count >= 0));
        for bounds in &bounds {
            assert!(meets(bounds, &tables[bounds.unit]), "case {case}: {bounds:?} {:?}", tables[bounds.unit]);
        }
    }
    assert!(opened > 100, "{opened}");
}

/// Every unit with all arcs, nothing taken together.
fn whole_tree(groups: usize, parents: &[Option<usize>], bounds: &[UnitBounds]) -> Network {
    let mut network = Network::default();
    let end = network.node();
    let arc = |network: &mut Network, from, to, bound: Bound| {
        let Bound { lower, upper } = bound.and(Bound::FREE);
        network.arc(Arc { from, to, lower, upper, wanted: None });
    };
    let mut nodes: Vec<(Vec<usize>, usize)> = vec![];
    for (unit, parent) in parents.iter().enumerate() {
        let own = bounds.iter().find(|bounds| bounds.unit == unit);
        let inside: Vec<usize> = (0..groups).map(|_| network.node()).collect();
        let out = network.node();
        for (group, node) in inside.iter().enumerate() {
            let bound = own.and_then(|own| own.groups.get(group).copied()).unwrap_or(Bound::FREE);
            arc(&mut network, parent.map_or(end, |parent| nodes[parent].0[group]), *node, bound);
            if is_leaf(parents, unit) {
                arc(&mut network, *node, out, Bound::FREE);
            }
        }
        let bound = own.map_or(Bound::FREE, |own| own.total);
        arc(&mut network, out, parent.map_or(end, |parent| nodes[parent].1), bound);
        nodes.push((inside, out));
    }
    network
}

#[test]
fn contradictions_are_found_and_only_those() {
    let mut rng = Random::new(5);
    let mut found = [0, 0];
    for case in 0..800 {
        let levels = 2 + rng.below(3);
        let parents = tree(&mut rng, levels, 3);
        let groups = 2 + rng.below(2);
        // Bounds around tables that need not add up.
        let tables: Vec<Vec<i64>> = (0..parents.len())
            .map(|unit| {
                let size = if is_leaf(&parents, unit) {
                    4
                } else if unit == 0 {
                    30
                } else {
                    12
                };
                (0..groups).map(|_| rng.count(size)).collect()
            })
            .collect();
        let spread = rng.count(20);
        let bounds = bounds(&mut rng, &tables, spread);
        if bounds.iter().any(|own| own.groups.iter().chain([&own.total]).any(|b| b.lower > b.upper)) {
            continue;
        }
        let expected = whole_tree(groups, &parents, &bounds).check().is_ok();
        let limits = Limits::new(groups, &parents, bounds);
        assert_eq!(limits.check().is_ok(), expected, "case {case}");
        found[usize::from(expected)] += 1;
        if let Err(unmet) = limits.check() {
            assert!(unmet.lower > unmet.upper, "case {case}: {unmet}");
            assert!(unmet.stated.iter().any(|stated| stated.at_least), "case {case}: {unmet}");
        }
    }
    assert!(found[0] > 100 && found[1] > 100, "{found:?}");
}

#[test]
fn every_step_takes_the_nearest_of_all_that_can_be_completed() {
    let mut rng = Random::new(6);
    let mut found = [0, 0];
    for case in 0..400 {
        // A root, two or three children, leaves below some of them.
        let shapes: [&[Option<usize>]; 4] = [
            &[None, Some(0), Some(0)],
            &[None, Some(0), Some(0), Some(1), Some(1)],
            &[None, Some(0), Some(0), Some(1), Some(1), Some(2)],
            &[None, Some(0), Some(0), Some(0), Some(2), Some(2)],
        ];
        let parents = shapes[rng.below(4)];
        let leaves: Vec<usize> = (0..parents.len()).filter(|unit| is_leaf(parents, *unit)).collect();
        let tables: Vec<Vec<i64>> = (0..parents.len()).map(|_| vec![rng.count(2), rng.count(2)]).collect();
        let mut bounds = bounds(&mut rng, &tables, 1);
        bounds.retain(|bounds| bounds.unit != 0);
        // No leaf has more than 2 of a group, because the root has not.
        let total = random_bound(&mut rng, 3, 1);
        bounds.push(UnitBounds { unit: 0, total, groups: vec![Bound { lower: 0, upper: 2 }; 2] });
        let limits = Limits::new(2, parents, bounds.clone());
        let mut possible: Vec<Vec<Vec<i64>>> = vec![];
        for counts in every(2 * leaves.len(), 2) {
            let mut tables = vec![vec![0, 0]; parents.len()];
            leaves.iter().zip(counts.chunks(2)).for_each(|(leaf, table)| tables[*leaf] = table.to_vec());
            add_up(parents, &mut tables);
            if bounds.iter().all(|bounds| meets(bounds, &tables[bounds.unit])) {
                possible.push(tables);
            }
        }
        assert_eq!(limits.check().is_ok(), !possible.is_empty(), "case {case}");
        found[usize::from(possible.is_empty())] += 1;
        let wanted: Vec<f64> = (0..2).map(|_| rng.between(-1.0, 4.0)).collect();
        if possible.is_empty() {
            assert!(limits.root(0, &wanted, None).is_err());
            continue;
        }
        let least = |costs: &mut dyn Iterator<Item = f64>| costs.min_by(f64::total_cmp).unwrap();
        let root = limits.root(0, &wanted, None).unwrap();
        let best = least(&mut possible.iter().map(|tables| cost(&tables[0], &wanted)));
        assert!((cost(&root, &wanted) - best).abs() < 1e-9, "case {case}");
        possible.retain(|tables| tables[0] == root);
        let children: Vec<usize> = (1..parents.len()).filter(|unit| parents[*unit] == Some(0)).collect();
        let totals_of = |tables: &Vec<Vec<i64>>| -> Vec<i64> {
            children.iter().map(|child| tables[*child].iter().sum()).collect()
        };
        let groups_of = |tables: &Vec<Vec<i64>>| -> Vec<i64> {
            (0..2).flat_map(|group| children.iter().map(move |child| tables[*child][group])).collect()
        };
        let by_child: Vec<f64> = children.iter().map(|_| rng.between(-1.0, 3.0)).collect();
        let by_group: Vec<f64> = (0..2 * children.len()).map(|_| rng.between(-1.0, 3.0)).collect();
        let totals = limits.totals(0, &root, &by_child).unwrap();
        let best = least(&mut possible.iter().map(|tables| cost(&totals_of(tables), &by_child)));
        assert!((cost(&totals, &by_child) - best).abs() < 1e-9, "case {case}");
        let groups = limits.groups(0, &root, &by_group, None).unwrap();
        let best = least(&mut possible.iter().map(|tables| cost(&groups_of(tables), &by_group)));
        assert!((cost(&groups, &by_group) - best).abs() < 1e-9, "case {case}");
        possible.retain(|tables| totals_of(tables) == totals);
        let groups = limits.groups(0, &root, &by_group, Some(&totals)).unwrap();
        let best = least(&mut possible.iter().map(|tables| cost(&groups_of(tables), &by_group)));
        assert!((cost(&groups, &by_group) - best).abs() < 1e-9, "case {case}");
    }
    assert!(found[0] > 100 && found[1] > 30, "{found:?}");
}

#[test]
fn contradictions_are_named() {
    let parents = [None, Some(0), Some(0)];
    let of = |unit, total, groups: &[Bound]| UnitBounds { unit, total, groups: groups.to_vec() };
    let at_least = |lower| Bound { lower, upper: UNBOUNDED };
    let at_most = |upper| Bound { lower: 0, upper };
    // Parts against the unit's own bound.
    let bounds = vec![
        of(0, Bound::FREE, &[at_most(5), Bound::FREE]),
        of(1, Bound::FREE, &[at_least(4), Bound::FREE]),
        of(2, Bound::FREE, &[at_least(3), Bound::FREE]),
    ];
    let unmet = Limits::new(2, &parents, bounds).check().unwrap_err();
    assert_eq!((unmet.unit, unmet.group, unmet.lower, unmet.upper), (0, Some(0), 7, 5));
    assert_eq!((unmet.stated[0].from, unmet.stated[1].from), (Origin::Parts, Origin::Own));
    assert_eq!(
        unmet.to_string(),
        "unit 0, group 0: at least 7 are needed and at most 5 are possible: \
         unit 0 has at least 7 of group 0 (the sum of its parts), \
         unit 0 has at most 5 of group 0 (its own bound)"
    );
    // Only both kinds of bounds together contradict: unit 1 must have 6 but has at most 2 and 3.
    let bounds = vec![of(1, Bound::exactly(6), &[at_most(2), at_most(3)])];
    let unmet = Limits::new(2, &parents, bounds).check().unwrap_err();
    assert_eq!((unmet.unit, unmet.group, unmet.lower, unmet.upper), (1, None, 6, 5));
    // The children's totals leave no room for what the root has of group 0.
    let bounds = vec![
        of(0, Bound::FREE, &[at_least(5), Bound::FREE]),
        of(1, at_most(2), &[]),
        of(2, Bound::FREE, &[at_most(2), Bound::FREE]),
    ];
    let unmet = Limits::new(2, &parents, bounds).check().unwrap_err();
    assert_eq!((unmet.unit, unmet.lower, unmet.upper), (0, 5, 4));
    assert!(unmet.to_string().contains("unit 0 has at least 5 of group 0 (its own bound)"), "{unmet}");
    // A table that the children cannot make up.
    let bounds =
        vec![of(1, Bound::FREE, &[at_most(1), at_most(1)]), of(2, Bound::FREE, &[at_most(1), Bound::FREE])];
    let limits = Limits::new(2, &parents, bounds);
    let unmet = limits.groups(0, &[3, 0], &[0.0; 4], None).unwrap_err();
    assert_eq!((unmet.unit, unmet.group, unmet.lower, unmet.upper), (0, Some(0), 3, 2));
    // Unit 1 is to have 3 in all, but has at most 1 of each group.
    let unmet = limits.groups(0, &[2, 9], &[0.0; 4], Some(&[3, 8])).unwrap_err();
    assert!(unmet.lower > unmet.upper, "{unmet}");
    assert!(unmet.to_string().contains("unit 1 has at most 1 of group 1 (its own bound)"), "{unmet}");
    assert!(unmet.stated.iter().any(|stated| stated.from == Origin::Given), "{unmet}");
}

#[test]
fn trees_without_bounds_are_free() {
    let parents = [None, Some(0), Some(1), Some(1), Some(0)];
    let total = Bound::exactly(3);
    let limits = Limits::new(2, &parents, vec![UnitBounds { unit: 1, total, groups: vec![] }]);
    assert!(!limits.is_free(0) && limits.is_free(1) && limits.is_free(4));
    assert_eq!(limits.totals(0, &[4, 4], &[0.0, 0.0]).unwrap(), [3, 5]);
    assert_eq!(limits.groups(1, &[1, 2], &[0.9, 0.1, 1.0, 1.0], Some(&[1, 2])).unwrap(), [0, 1, 1, 1]);
}

#[test]
fn wishes_may_be_absurd() {
    let parents = [None, Some(0), Some(0), Some(1), Some(1)];
    let bounds = [
        UnitBounds { unit: 0, total: Bound::exactly(10), groups: vec![] },
        UnitBounds { unit: 3, total: Bound::exactly(4), groups: vec![Bound::exactly(1), Bound::FREE] },
        UnitBounds { unit: 2, total: Bound::FREE, groups: vec![Bound { lower: 0, upper: 3 }, Bound::FREE] },
    ];
    let limits = Limits::new(2, &parents, bounds.to_vec());
    let root = limits.root(0, &[1e300, -1e300], None).unwrap();
    assert_eq!(root, [7, 3]);
    assert_eq!(limits.totals(0, &root, &[-1e300, 1e300]).unwrap(), [7, 3]);
    assert_eq!(limits.groups(0, &root, &[-1e300, 0.0, 0.0, 1e300], None).unwrap(), [4, 3, 3, 0]);
}
