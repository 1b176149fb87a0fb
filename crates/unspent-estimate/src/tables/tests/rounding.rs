use super::{Random, cost, every};
use crate::tables::{Arc, Network, Rows, Unequal, nearest_whole};

/// The sums of each cell over the children, and of each group for each child.
fn sums(children: usize, groups: usize, group_of: &[u32], table: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let columns = table.chunks(children).map(|column| column.iter().sum()).collect();
    let mut rows = vec![0; groups * children];
    for (column, group) in table.chunks(children).zip(group_of) {
        for (child, count) in column.iter().enumerate() {
            rows[*group as usize * children + child] += count;
        }
    }
    (columns, rows)
}

#[test]
fn no_other_whole_table_is_nearer() {
    let mut rng = Random::new(1);
    for case in 0..600 {
        let (children, cells) = (1 + rng.below(3), 1 + rng.below(3));
        let most = if children * cells > 6 { 2 } else { 3 };
        let groups = 1 + rng.below(2);
        let group_of: Vec<u32> = (0..cells).map(|_| rng.below(groups) as u32).collect();
        let truth: Vec<i64> = (0..children * cells).map(|_| rng.count(most)).collect();
        let (columns, rows) = sums(children, groups, &group_of, &truth);
        let spread = [0.5, 2.0, 9.0][rng.below(3)];
        let near: Vec<f64> = truth.iter().map(|y| *y as f64 + rng.between(-spread, spread)).collect();
        // An entry is at most its column.
        let highest = columns.iter().copied().max().unwrap();
        if (highest + 1).pow((children * cells) as u32) > 300_000 {
            continue;
        }
        let (mut free, mut fixed) = (f64::INFINITY, f64::INFINITY);
        for table in every(children * cells, highest) {
            let found = sums(children, groups, &group_of, &table);
            if found.0 == columns {
                let cost = cost(&table, &near);
                free = free.min(cost);
                if found.1 == rows {
                    fixed = fixed.min(cost);
                }
            }
        }
        let y = nearest_whole(children, &near, &columns, None).unwrap();
        assert_eq!(sums(children, groups, &group_of, &y).0, columns);
        assert!(y.iter().all(|y| *y >= 0) && (cost(&y, &near) - free).abs() < 1e-9, "case {case}: {y:?}");
        let given = Rows { group_of: &group_of, sums: &rows };
        let y = nearest_whole(children, &near, &columns, Some(given)).unwrap();
        assert_eq!(sums(children, groups, &group_of, &y), (columns, rows));
        assert!(y.iter().all(|y| *y >= 0) && (cost(&y, &near) - fixed).abs() < 1e-9, "case {case}: {y:?}");
    }
}

/// Large enough for prices in many rounds, against flows through rows and columns.
#[test]
fn large_tables_cost_as_much_as_a_flow() {
    let mut rng = Random::new(7);
    for (children, cells, spread) in [(60, 40, 0.6), (30, 80, 4.0), (100, 25, 1.5)] {
        let truth: Vec<i64> =
            (0..children * cells).map(|_| if rng.below(2) == 0 { 0 } else { rng.count(9) }).collect();
        let near: Vec<f64> = truth.iter().map(|y| *y as f64 + rng.between(-spread, spread)).collect();
        let group_of = vec![0; cells];
        let (columns, rows) = sums(children, 1, &group_of, &truth);
        let mut network = Network::default();
        let end = network.node();
        let of_child: Vec<usize> = (0..children).map(|_| network.node()).collect();
        for (cell, column) in columns.iter().enumerate() {
            let node = network.node();
            network.arc(Arc { from: end, to: node, lower: *column, upper: *column, wanted: None });
            for child in 0..children {
                let wanted = Some(near[cell * children + child]);
                network.arc(Arc { from: node, to: of_child[child], lower: 0, upper: *column, wanted });
            }
        }
        for (child, sum) in of_child.iter().zip(&rows) {
            network.arc(Arc { from: *child, to: end, lower: *sum, upper: *sum, wanted: None });
        }
        let flow = network.nearest().unwrap();
        let wanted = |(arc, flow): (&Arc, &i64)| arc.wanted.map(|wanted| (*flow as f64 - wanted).powi(2));
        let best: f64 = network.arcs().iter().zip(&flow).filter_map(wanted).sum();
        let given = Rows { group_of: &group_of, sums: &rows };
        let y = nearest_whole(children, &near, &columns, Some(given)).unwrap();
        assert_eq!(sums(children, 1, &group_of, &y), (columns, rows));
        assert!((cost(&y, &near) - best).abs() < 1e-9 * best, "{} instead of {best}", cost(&y, &near));
    }
}

#[test]
fn sums_hold_however_far_the_numbers_are() {
    let mut rng = Random::new(2);
    for scale in [0.0, 1.0, 1e3, 1e9, 1e15, 1e300] {
        let (children, cells) = (20, 15);
        let group_of: Vec<u32> = (0..cells as u32).map(|cell| cell % 3).collect();
        let truth: Vec<i64> =
            (0..children * cells).map(|_| if rng.below(3) > 0 { 0 } else { rng.count(40) }).collect();
        let near: Vec<f64> = truth.iter().map(|y| *y as f64 + scale * rng.between(-1.0, 1.0)).collect();
        let (columns, rows) = sums(children, 3, &group_of, &truth);
        let y = nearest_whole(children, &near, &columns, None).unwrap();
        assert_eq!(sums(children, 3, &group_of, &y).0, columns);
        let given = Rows { group_of: &group_of, sums: &rows };
        let y = nearest_whole(children, &near, &columns, Some(given)).unwrap();
        assert_eq!(sums(children, 3, &group_of, &y), (columns, rows));
        assert!(y.iter().all(|y| *y >= 0));
    }
}

#[test]
fn whole_tables_stay_and_ties_go_to_the_first() {
    let near = [0.5, 0.5, 0.5, 0.5, 2.0, 3.0, 0.0, 0.0];
    assert_eq!(nearest_whole(4, &near, &[2, 5], None).unwrap(), [1, 1, 0, 0, 2, 3, 0, 0]);
    let rows = Rows { group_of: &[0, 0], sums: &[2, 3, 1, 1] };
    assert_eq!(nearest_whole(4, &near, &[2, 5], Some(rows)).unwrap(), [0, 0, 1, 1, 2, 3, 0, 0]);
}

#[test]
fn sums_that_differ_are_refused() {
    let rows = Rows { group_of: &[0, 1], sums: &[1, 1, 2, 3] };
    let unequal = nearest_whole(2, &[0.0; 4], &[2, 6], Some(rows)).unwrap_err();
    assert_eq!(unequal, Unequal { group: 1, cells: 6, children: 5 });
    assert_eq!(unequal.to_string(), "group 1: its cells have 6 in all, the sums of the children 5");
}
