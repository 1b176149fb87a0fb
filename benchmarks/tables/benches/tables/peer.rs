//! A family's problem for clarabel, an interior-point solver.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};
use unspent_estimate::tables::DenseFamily;

/// As tight as it goes: beyond this it stops for lack of progress.
const TOLERANCE: f64 = 1e-12;
/// What is good enough where it cannot do better.
const REDUCED: f64 = 1e-9;

/// Values that may be other than 0, child by child: the cell and the child.
struct Variables {
    of: Vec<(usize, usize)>,
    /// The first one of each child, and their number at the end.
    starts: Vec<usize>,
}

impl Variables {
    fn new(family: &DenseFamily) -> Variables {
        let (mut of, mut starts) = (vec![], vec![0]);
        for child in 0..family.children {
            let empty = family.totals.as_ref().is_some_and(|totals| totals[child] == 0);
            let cells = (0..family.counts.len()).filter(|cell| !empty && family.counts[*cell] > 0);
            of.extend(cells.map(|cell| (cell, child)));
            starts.push(of.len());
        }
        Variables { of, starts }
    }
}

/// The best tables by clarabel, and whether it says that they are within its tolerance.
///
/// Its unknowns are differences `d` from the estimates, which are as large as noise is. Values that are 0 for
/// certain are left out: an interior-point solver needs an interior.
pub fn solve(family: &DenseFamily) -> (Vec<f64>, bool) {
    let DenseFamily { children, near, counts, totals, .. } = family;
    let n = *children;
    let variables = Variables::new(family);
    let m = variables.of.len();
    // Where there is nobody, the difference is what is estimated.
    let mut fixed: Vec<f64> = near.iter().map(|z| -z).collect();
    variables.of.iter().for_each(|(cell, child)| fixed[cell * n + child] = 0.0);
    let slope = slope_at(family, &fixed);
    let q: Vec<f64> = variables.of.iter().map(|(cell, child)| slope[cell * n + child]).collect();

    // Sums of cells, of children if they are given, and signs. The last child's sum follows from the others.
    let mut row_of_cell = vec![usize::MAX; counts.len()];
    let mut b = vec![];
    for (cell, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        row_of_cell[cell] = b.len();
        b.push(*count as f64);
    }
    let mut row_of_child = vec![usize::MAX; n];
    if let Some(totals) = totals {
        let some: Vec<usize> = (0..n).filter(|child| totals[*child] > 0).collect();
        for child in &some[..some.len() - 1] {
            row_of_child[*child] = b.len();
            b.push(totals[*child] as f64);
        }
    }
    let sums = b.len();
    for (cell, child) in &variables.of {
        let z = near[cell * n + child];
        b[row_of_cell[*cell]] -= z;
        if row_of_child[*child] != usize::MAX {
            b[row_of_child[*child]] -= z;
        }
        b.push(z);
    }
    let mut a = Columns::default();
    let mut p = Columns::default();
    for (at, (cell, child)) in variables.of.iter().enumerate() {
        a.entries.push((row_of_cell[*cell], 1.0));
        if row_of_child[*child] != usize::MAX {
            a.entries.push((row_of_child[*child], 1.0));
        }
        a.entries.push((sums + at, -1.0));
        a.end_column();
        let precision = &family.precision[family.kind_of[*child] as usize];
        for (row, (other, _)) in
            (variables.starts[*child]..).zip(&variables.of[variables.starts[*child]..=at])
        {
            p.entries.push((row, precision[(*other, *cell)]));
        }
        p.end_column();
    }

    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .max_iter(500)
        .tol_gap_abs(TOLERANCE)
        .tol_gap_rel(TOLERANCE)
        .tol_feas(TOLERANCE)
        .reduced_tol_gap_abs(REDUCED)
        .reduced_tol_gap_rel(REDUCED)
        .reduced_tol_feas(REDUCED)
        .build()
        .expect("settings that exist");
    let cones = [ZeroConeT(sums), NonnegativeConeT(m)];
    let (p, a) = (p.matrix(m), a.matrix(sums + m));
    let mut solver = DefaultSolver::new(&p, &q, &a, &b, &cones, settings).expect("a problem of one size");
    solver.solve();
    let mut tables = vec![0.0; near.len()];
    for ((cell, child), d) in variables.of.iter().zip(&solver.solution.x) {
        tables[cell * n + child] = near[cell * n + child] + d;
    }
    (tables, matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved))
}

/// What tables cost.
pub fn cost(family: &DenseFamily, tables: &[f64]) -> f64 {
    let from: Vec<f64> = tables.iter().zip(&family.near).map(|(x, z)| x - z).collect();
    // ½ dᵀK d − s·d is half of d times the slope K d − s, less half of s·d.
    let slopes = slope_at(family, &from);
    let sum: f64 = (from.iter().zip(&slopes).zip(&family.slope)).map(|((d, g), s)| 0.5 * d * (g - s)).sum();
    sum + family.cost
}

/// The slope of the cost at a difference from the estimates.
fn slope_at(family: &DenseFamily, from: &[f64]) -> Vec<f64> {
    let n = family.children;
    let mut slope: Vec<f64> = family.slope.iter().map(|s| -s).collect();
    for (child, kind) in family.kind_of.iter().enumerate() {
        let precision = &family.precision[*kind as usize];
        for cell in 0..family.counts.len() {
            let product =
                (0..family.counts.len()).map(|other| precision[(cell, other)] * from[other * n + child]);
            slope[cell * n + child] += product.sum::<f64>();
        }
    }
    slope
}

/// A sparse matrix, column by column.
#[derive(Default)]
struct Columns {
    entries: Vec<(usize, f64)>,
    ends: Vec<usize>,
}

impl Columns {
    fn end_column(&mut self) {
        self.ends.push(self.entries.len());
    }

    fn matrix(self, rows: usize) -> CscMatrix {
        let starts = std::iter::once(0).chain(self.ends.iter().copied()).collect();
        let (places, values) = self.entries.into_iter().unzip();
        CscMatrix::new(rows, self.ends.len(), starts, places, values)
    }
}
