//! Whole tables against `oracle/rounding.py`: the costs that a linear program finds, and all sums.

use std::fs;

use serde::Deserialize;
use unspent_estimate::tables::{Rows, nearest_whole};

#[derive(Deserialize)]
struct Problem {
    kind: String,
    children: usize,
    near: Vec<f64>,
    columns: Vec<i64>,
    group_of: Option<Vec<u32>>,
    rows: Option<Vec<i64>>,
    cost: f64,
}

#[test]
fn every_cost_of_the_oracle() {
    let path = std::env::var("UNSPENT_ORACLE_ROUNDING")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracle/rounding.jsonl").into());
    let text = fs::read_to_string(path).unwrap();
    assert!(text.lines().count() >= 1_000);
    for (line, text) in text.lines().enumerate() {
        let problem: Problem = serde_json::from_str(text).unwrap();
        let Problem { kind, children, near, columns, cost, .. } = &problem;
        let given = problem.group_of.as_deref().zip(problem.rows.as_deref());
        let rows = given.map(|(group_of, sums)| Rows { group_of, sums });
        let table = nearest_whole(*children, near, columns, rows).unwrap();
        assert!(table.iter().all(|count| *count >= 0));
        let found: Vec<i64> = table.chunks(*children).map(|column| column.iter().sum()).collect();
        assert_eq!(found, *columns, "{line}: {kind}");
        if let Some((group_of, sums)) = given {
            let mut found = vec![0; sums.len()];
            for (column, group) in table.chunks(*children).zip(group_of) {
                let of_group = &mut found[*group as usize * children..][..*children];
                of_group.iter_mut().zip(column).for_each(|(sum, count)| *sum += count);
            }
            assert_eq!(found, sums, "{line}: {kind}");
        }
        let ours: f64 = table.iter().zip(near).map(|(y, near)| (*y as f64 - near).powi(2)).sum();
        assert!((ours - cost).abs() <= 1e-9 * cost.max(1.0), "{line}: {kind}: {ours} instead of {cost}");
    }
}
