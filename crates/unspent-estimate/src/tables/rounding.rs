//! Whole tables nearest to real ones: the children's counts of each cell add up to the parent's, and each
//! child's counts of a group of cells to what is fixed for it.
//!
//! Without fixed sums every cell is a [share](super::share) of its own. With them every group is a
//! transportation problem with separable convex costs, solved exactly by successive shortest paths
//! (Lemma W2 of `theory/tables.md`): the sums hold in integers whatever the real tables are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use super::Distance;
use super::share::{cut, share};

/// What each child's counts add up to, group by group.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The group of each cell.
    pub group_of: &'a [u32],
    /// For each group the sum of each child: `sums[group * children + child]`.
    pub sums: &'a [i64],
}

/// The children's sums of a group and the counts of its cells do not have the same total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unequal {
    /// The group.
    pub group: usize,
    /// The total of its cells.
    pub cells: i128,
    /// The total of the children's sums.
    pub children: i128,
}

impl fmt::Display for Unequal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unequal { group, cells, children } = self;
        write!(f, "group {group}: its cells have {cells} in all, the sums of the children {children}")
    }
}

impl std::error::Error for Unequal {}

/// Whole numbers ≥ 0 `y[cell * children + child]` with the smallest Σ (y − near)² among all that have these
/// sums: `columns[cell]` over the children and, if given, [`Rows`] over the cells of each group.
///
/// `near` is finite, has the same layout, and need not have the sums. Of equal costs the smaller index wins.
///
/// # Errors
///
/// If the rows and columns of a group do not have the same total.
///
/// # Panics
///
/// If a sum is negative or if lengths do not fit.
pub fn nearest_whole(
    children: usize,
    near: &[f64],
    columns: &[i64],
    rows: Option<Rows<'_>>,
) -> Result<Vec<i64>, Unequal> {
    assert_eq!(near.len(), children * columns.len(), "a number for each cell and child");
    assert!(columns.iter().all(|sum| *sum >= 0), "a count of a cell is negative");
    let mut y = vec![0; near.len()];
    let mut steps = vec![];
    let Some(rows) = rows else {
        if let Some((cell, total)) = columns.iter().enumerate().find(|(_, x)| children == 0 && **x > 0) {
            return Err(Unequal { group: cell, cells: i128::from(*total), children: 0 });
        }
        for (cell, total) in columns.iter().enumerate().filter(|(_, total)| **total > 0) {
            let of = cell * children..(cell + 1) * children;
            let near = &near[of.clone()];
            share(*total, |at| near[at], |_| (0, i64::MAX), &mut y[of], &mut steps);
        }
        return Ok(y);
    };
    assert_eq!(rows.group_of.len(), columns.len(), "a group for each cell");
    assert!(rows.sums.iter().all(|sum| *sum >= 0), "a sum of a child is negative");
    let groups = rows.sums.len().checked_div(children).unwrap_or(0);
    assert_eq!(rows.sums.len(), groups * children, "a sum for each group and child");
    let mut cells_of = vec![vec![]; groups];
    let mut totals = vec![0i128; groups];
    for (cell, group) in rows.group_of.iter().enumerate().filter(|(cell, _)| columns[*cell] > 0) {
        cells_of[*group as usize].push(cell);
        totals[*group as usize] += i128::from(columns[cell]);
    }
    for (group, cells) in cells_of.iter().enumerate() {
        let sums = &rows.sums[group * children..(group + 1) * children];
        let of_children = sums.iter().map(|x| i128::from(*x)).sum();
        if totals[group] != of_children {
            return Err(Unequal { group, cells: totals[group], children: of_children });
        }
        // Only children and cells that have a count.
        let members: Vec<usize> = (0..children).filter(|child| sums[*child] > 0).collect();
        let of_members = |cell: &usize| {
            let first = cell * children;
            members.iter().map(move |child| first + child)
        };
        let places: Vec<usize> = cells.iter().flat_map(of_members).collect();
        let mut problem = Transport::new(
            members.iter().map(|child| sums[*child]).collect(),
            cells.iter().map(|cell| columns[*cell]).collect(),
            places.iter().map(|at| near[*at]).collect(),
        );
        problem.solve(&mut steps);
        places.iter().zip(&problem.y).for_each(|(at, count)| y[*at] = *count);
    }
    Ok(y)
}

/// Rows and columns set prices in turn while so many units are in the wrong rows, and each round puts so many
/// into the right ones. A round takes as long as some ten paths.
const WORTH_A_ROUND: i64 = 32;
/// After the first rounds prices go beyond what a round finds: the rounds' errors shrink by a steady factor.
const OVERSHOOT: f64 = 1.8;

/// One group: whole numbers with given sums of rows (children) and columns (cells). All sums are positive.
struct Transport {
    rows: Vec<i64>,
    columns: Vec<i64>,
    near: Vec<f64>,
    /// By column, then row, as `near`.
    y: Vec<i64>,
    row_price: Vec<f64>,
    column_price: Vec<f64>,
    /// What each row has too much.
    excess: Vec<i64>,
}

impl Transport {
    fn new(rows: Vec<i64>, columns: Vec<i64>, near: Vec<f64>) -> Transport {
        Transport {
            y: vec![0; near.len()],
            row_price: vec![0.0; rows.len()],
            column_price: vec![0.0; columns.len()],
            excess: vec![0; rows.len()],
            rows,
            columns,
            near,
        }
    }

    fn solve(&mut self, steps: &mut Vec<(f64, u32)>) {
        self.set_prices(steps);
        if self.excess.iter().any(|x| *x != 0) {
            let mut paths = Paths::new(self);
            while paths.move_units(self) {}
        }
    }

    /// Prices of the rows for which the columns, each sharing its count among the priced rows, come close to
    /// the sums of the rows. The columns' own shares are then optimal at these prices.
    fn set_prices(&mut self, steps: &mut Vec<(f64, u32)>) {
        let (n, m) = (self.rows.len(), self.columns.len());
        let mut by_row = vec![];
        let mut of_row = vec![0; m];
        let mut before = i64::MAX;
        for round in 0.. {
            self.excess.iter_mut().zip(&self.rows).for_each(|(excess, sum)| *excess = -sum);
            for (column, total) in self.columns.iter().enumerate() {
                let of = column * n..(column + 1) * n;
                let (near, y) = (&self.near[of.clone()], &mut self.y[of]);
                let priced = |row: usize| near[row] + self.row_price[row] / 2.0;
                share(*total, priced, |_| (0, i64::MAX), y, steps);
                self.column_price[column] = cut(priced, y).price();
                self.excess.iter_mut().zip(y).for_each(|(excess, y)| *excess += *y);
            }
            let wrong = self.excess.iter().map(|x| x.abs()).sum::<i64>();
            if wrong <= WORTH_A_ROUND || before - wrong < WORTH_A_ROUND {
                break;
            }
            before = wrong;
            if by_row.is_empty() {
                by_row = vec![0.0; n * m];
                for (row, to) in by_row.chunks_exact_mut(m).enumerate() {
                    to.iter_mut().enumerate().for_each(|(column, to)| *to = self.near[column * n + row]);
                }
            }
            // Rows that have their sum keep their price.
            for (row, near) in by_row.chunks_exact(m).enumerate().filter(|(row, _)| self.excess[*row] != 0) {
                let priced = |column: usize| near[column] + self.column_price[column] / 2.0;
                share(self.rows[row], priced, |_| (0, i64::MAX), &mut of_row, steps);
                let change = cut(priced, &of_row).price() - self.row_price[row];
                self.row_price[row] += change * if round < 2 { 1.0 } else { OVERSHOOT };
            }
        }
    }
}

const NOBODY: u32 = u32::MAX;

/// Shortest paths along which a unit moves from a row with too much to one with too little. An arc from a row
/// to a column takes a unit away, one from a column to a row gives it. Nodes: rows, then columns.
struct Paths {
    rows: usize,
    /// What a unit more costs, laid out as the table.
    more: Vec<f64>,
    /// For each row, the columns where it has something, with what a unit less costs.
    less: Vec<Vec<(u32, f64)>>,
    /// Arcs have costs that are not negative when the potential of their start is added and that of their end
    /// is taken away.
    potential: Vec<f64>,
    distance: Vec<f64>,
    before: Vec<u32>,
    settled: Vec<bool>,
    used: Vec<bool>,
    heap: BinaryHeap<Reverse<(Distance, u32)>>,
}

impl Paths {
    fn new(problem: &Transport) -> Paths {
        let n = problem.rows.len();
        let cost = |(y, near): (&i64, &f64)| 1.0 + 2.0 * (*y as f64 - near);
        let more: Vec<f64> = problem.y.iter().zip(&problem.near).map(cost).collect();
        let mut less = vec![vec![]; n];
        for (at, y) in problem.y.iter().enumerate().filter(|(_, y)| **y > 0) {
            less[at % n].push(((at / n) as u32, 1.0 - 2.0 * (*y as f64 - problem.near[at])));
        }
        let of_columns = problem.column_price.iter().map(|price| -price);
        let nodes = n + problem.columns.len();
        Paths {
            rows: n,
            more,
            less,
            potential: problem.row_price.iter().copied().chain(of_columns).collect(),
            distance: vec![0.0; nodes],
            before: vec![NOBODY; nodes],
            settled: vec![false; nodes],
            used: vec![false; nodes],
            heap: BinaryHeap::new(),
        }
    }

    /// Moves units along shortest paths that have no arc in common. False if no row has too much.
    fn move_units(&mut self, problem: &mut Transport) -> bool {
        let lacking = problem.excess.iter().filter(|excess| **excess < 0).count();
        let Some(goal) = (lacking > 0).then(|| lacking.div_ceil(2)) else { return false };
        let reached = self.search(&problem.excess, goal);
        for end in reached {
            let mut path = vec![];
            let mut row = end;
            while self.before[row as usize] != NOBODY {
                let column = self.before[row as usize];
                path.push((row, column));
                row = self.before[column as usize];
            }
            let free = path.iter().all(|(_, column)| !self.used[*column as usize]);
            if !free || problem.excess[row as usize] <= 0 {
                continue;
            }
            problem.excess[row as usize] -= 1;
            problem.excess[end as usize] += 1;
            for (to, column) in path {
                self.used[column as usize] = true;
                self.step(problem, to, column, 1);
                self.step(problem, self.before[column as usize], column, -1);
            }
        }
        true
    }

    fn step(&mut self, problem: &mut Transport, row: u32, node: u32, by: i64) {
        let column = node - self.rows as u32;
        let at = column as usize * self.rows + row as usize;
        problem.y[at] += by;
        let twice = 2.0 * (problem.y[at] as f64 - problem.near[at]);
        self.more[at] = 1.0 + twice;
        let less = &mut self.less[row as usize];
        match less.iter().position(|(other, _)| *other == column) {
            Some(place) if problem.y[at] == 0 => _ = less.swap_remove(place),
            Some(place) => less[place].1 = 1.0 - twice,
            None => less.push((column, 1.0 - twice)),
        }
    }

    /// Dijkstra's algorithm from all rows with too much, until so many rows with too little are reached:
    /// those, nearest first.
    fn search(&mut self, excess: &[i64], goal: usize) -> Vec<u32> {
        let n = self.rows;
        self.distance.fill(f64::INFINITY);
        self.before.fill(NOBODY);
        self.settled.fill(false);
        self.used.fill(false);
        self.heap.clear();
        for (row, _) in excess.iter().enumerate().filter(|(_, excess)| **excess > 0) {
            self.distance[row] = 0.0;
            self.heap.push(Reverse((Distance(0.0), row as u32)));
        }
        let mut reached = vec![];
        let mut last = 0.0;
        while let Some(Reverse((Distance(distance), node))) = self.heap.pop() {
            let from = node as usize;
            if self.settled[from] {
                continue;
            }
            self.settled[from] = true;
            last = distance;
            let here = distance + self.potential[from];
            if from >= n {
                let more = &self.more[(from - n) * n..(from - n + 1) * n];
                let rows = self.distance[..n].iter_mut().zip(more).zip(&self.potential[..n]);
                for (row, ((known, cost), potential)) in rows.enumerate() {
                    let length = here + cost - potential;
                    if length < *known && !self.settled[row] {
                        *known = length.max(distance);
                        self.before[row] = node;
                        self.heap.push(Reverse((Distance(*known), row as u32)));
                    }
                }
                continue;
            }
            if excess[from] < 0 {
                reached.push(node);
                if reached.len() == goal {
                    break;
                }
            }
            for (column, cost) in &self.less[from] {
                let to = n + *column as usize;
                let length = here + cost - self.potential[to];
                if length < self.distance[to] && !self.settled[to] {
                    self.distance[to] = length.max(distance);
                    self.before[to] = node;
                    self.heap.push(Reverse((Distance(self.distance[to]), to as u32)));
                }
            }
        }
        for (node, potential) in self.potential.iter_mut().enumerate().filter(|(node, _)| self.settled[*node])
        {
            *potential += self.distance[node] - last;
        }
        reached
    }
}
