//! Speed of rounding to whole tables with fixed totals of the children, on one thread.
//! `cargo bench -p unspent-estimate --bench tables`. The real tables meet all sums and have fractions
//! everywhere. Tables that are far from the sums, or have many equal numbers, take longer.

use divan::Bencher;
use unspent_estimate::tables::{Rows, nearest_whole};

fn main() {
    divan::main();
}

/// Children and cells of a block group, a county, and the largest county.
const SIZES: [(usize, usize); 3] = [(47, 40), (200, 500), (2_500, 2_016)];

struct Problem {
    near: Vec<f64>,
    columns: Vec<i64>,
    rows: Vec<i64>,
}

/// Random whole tables, on average 2 people in a cell of a child, few cells much larger than most, and real
/// tables near them.
fn problem(children: usize, cells: usize) -> Problem {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut near = vec![];
    let mut columns = vec![0; cells];
    let mut rows = vec![0; children];
    for column in &mut columns {
        let size = 14.0 * uniform().powi(6);
        for row in &mut rows {
            let mean: f64 = size * (0.2 + 1.6 * uniform());
            let value = (mean + 3.0 * (uniform() - 0.5) * mean.sqrt()).max(0.0);
            let count = (value + uniform()).floor() as i64;
            *column += count;
            *row += count;
            near.push(value);
        }
    }
    for _ in 0..60 {
        for (of_cell, sum) in near.chunks_mut(children).zip(&columns) {
            let factor = *sum as f64 / of_cell.iter().sum::<f64>().max(1e-9);
            of_cell.iter_mut().for_each(|x| *x *= factor);
        }
        let mut sums = vec![0.0; children];
        near.chunks(children).for_each(|of| sums.iter_mut().zip(of).for_each(|(sum, x)| *sum += x));
        for of_cell in near.chunks_mut(children) {
            for (x, (sum, row)) in of_cell.iter_mut().zip(sums.iter().zip(&rows)) {
                *x *= *row as f64 / sum.max(1e-9);
            }
        }
    }
    Problem { near, columns, rows }
}

#[divan::bench(args = SIZES, max_time = 10)]
fn round_with_totals(bencher: Bencher, (children, cells): (usize, usize)) {
    let Problem { near, columns, rows } = problem(children, cells);
    let group_of = vec![0; cells];
    bencher.bench_local(move || {
        nearest_whole(children, &near, &columns, Some(Rows { group_of: &group_of, sums: &rows })).unwrap()
    });
}

#[divan::bench(args = SIZES, max_time = 10)]
fn round_columns_alone(bencher: Bencher, (children, cells): (usize, usize)) {
    let Problem { near, columns, .. } = problem(children, cells);
    bencher.bench_local(move || nearest_whole(children, &near, &columns, None).unwrap());
}
