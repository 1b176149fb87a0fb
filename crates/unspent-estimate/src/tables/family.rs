//! The tables of a parent's children: projected, then rounded (Lemmas T1 to T6 of `theory/tables.md`).
//!
//! ```text
//! estimates of totals ─▶ whole totals, where these are well known
//!                            └▶ projection ─▶ whole sums of limited cells ─▶ whole tables
//! ```

use super::kind::Kind;
use super::limits::{Bound, Limits};
use super::network::Unmet;
use super::project::{Projection, Quality};
use super::rounding::{Rows, nearest_whole};
use super::signs::{GroupLimits, Signs};
use super::support::{ChildEstimate, Support};
use crate::matrix::Matrix;

/// Cells: their numbers in the space, ascending, and their counts, which are above 0.
pub type Table = Vec<(u32, i64)>;

/// The deviation of totals that are well known, as a share of their mean.
///
/// Totals that are not are better known by the cells, which are not negative: at a deviation of half the mean
/// deciding totals first doubles their error.
const WELL_KNOWN: f64 = 0.1;

/// When totals of children are decided before the rest of their tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolate {
    /// Where they are well known: the standard deviation of their estimates is below a tenth of their mean.
    WellKnown,
    /// Always, or never.
    Fixed(bool),
}

/// The children of a parent, and its table.
pub struct Family<'f> {
    /// The cells of the parent's table.
    pub support: &'f Support,
    /// How precisely children are known.
    pub kinds: Vec<&'f Kind>,
    /// Each child's kind, and what is estimated of it.
    pub children: Vec<(u32, ChildEstimate)>,
    /// Whether totals are decided first.
    pub isolate: Isolate,
    /// What is known of the children besides.
    pub limits: Option<UnitLimits<'f>>,
}

/// Limits to the tables of a unit and of all units in it.
#[derive(Clone, Copy)]
pub struct UnitLimits<'l> {
    /// Those of all units.
    pub limits: &'l Limits,
    /// Which unit it is there. Its children are in the order of the family.
    pub unit: usize,
    /// The group that each cell of the space is in.
    pub group_of: &'l [u32],
}

impl UnitLimits<'_> {
    pub(crate) fn group(&self, cell: u32) -> usize {
        self.group_of[cell as usize] as usize
    }

    pub(crate) fn groups(&self) -> usize {
        self.limits.groups_count()
    }
}

/// Tables of children.
#[derive(Clone, Debug)]
pub struct FamilyTables {
    /// One for each child.
    pub tables: Vec<Table>,
    /// How good the projection is.
    pub quality: Quality,
    /// Whether totals were decided first.
    pub isolated: bool,
}

/// The problem of a family in the cells of its support, without a basis.
///
/// Tables `x` minimise `Σ ½ (x − near)ᵀ K (x − near) − slope · (x − near)`, plus the cost; they are not
/// negative, and add up to the counts and to the totals. All values of a cell lie together.
#[derive(Clone, Debug)]
pub struct DenseFamily {
    /// How many children there are.
    pub children: usize,
    /// The matrix K of each kind of child.
    pub precision: Vec<Matrix>,
    /// The kind of each child.
    pub kind_of: Vec<u32>,
    /// What is estimated.
    pub near: Vec<f64>,
    /// What the cells outside of the support add to the slope.
    pub slope: Vec<f64>,
    /// And to the cost.
    pub cost: f64,
    /// The parent's counts.
    pub counts: Vec<i64>,
    /// The children's totals, if they were decided first.
    pub totals: Option<Vec<i64>>,
}

impl Family<'_> {
    /// The children's tables, on all cores if it is told to.
    pub fn solve(&self, on_all_cores: bool) -> Result<FamilyTables, Unmet> {
        let n = self.children.len();
        if n == 1 {
            let cells = self.support.cells.iter().copied().zip(self.support.counts.iter().copied());
            let table = cells.filter(|(_, count)| *count > 0).collect();
            return Ok(FamilyTables { tables: vec![table], quality: Quality::default(), isolated: false });
        }
        let isolated = self.isolates();
        let totals = match isolated {
            true => Some(self.totals()?),
            false => None,
        };
        let projection = self.projection(totals.as_deref());
        let projected = projection.solve(on_all_cores);
        let counts = self.round(&projected.tables, totals.as_deref())?;
        let mut tables: Vec<Table> = vec![vec![]; n];
        for (cell, row) in self.support.cells.iter().zip(counts.chunks_exact(n)) {
            for (table, count) in tables.iter_mut().zip(row).filter(|(_, count)| **count > 0) {
                table.push((*cell, *count));
            }
        }
        self.check(&tables, totals.as_deref());
        Ok(FamilyTables { tables, quality: projected.quality, isolated })
    }

    /// The projection by itself: the children's tables as real numbers, for comparison with other solvers.
    pub fn projected(&self, on_all_cores: bool) -> Result<(DenseFamily, Vec<f64>, Quality), Unmet> {
        let totals = if self.isolates() { Some(self.totals()?) } else { None };
        let projection = self.projection(totals.as_deref());
        let found = projection.solve(on_all_cores);
        let dense = DenseFamily {
            children: self.children.len(),
            precision: self.kinds.iter().map(|kind| self.support.dense(kind)).collect(),
            kind_of: projection.kind_of.clone(),
            near: projection.near.clone(),
            slope: projection.slope.clone(),
            cost: projection.cost,
            counts: self.support.counts.clone(),
            totals,
        };
        Ok((dense, found.tables, found.quality))
    }

    fn isolates(&self) -> bool {
        if self.limits.is_some_and(|of| of.limits.bounds_totals(of.unit)) {
            return true;
        }
        match self.isolate {
            Isolate::Fixed(isolate) => isolate,
            Isolate::WellKnown => {
                let n = self.children.len() as f64;
                let variances = self.children.iter().map(|(kind, _)| self.variance(*kind));
                let deviation = (variances.sum::<f64>() / n).sqrt();
                deviation < WELL_KNOWN * self.support.total() as f64 / n
            }
        }
    }

    fn variance(&self, kind: u32) -> f64 {
        self.kinds[kind as usize].total_variance()
    }

    /// Whole totals of the children.
    fn totals(&self) -> Result<Vec<i64>, Unmet> {
        let all = self.support.total();
        let estimates: Vec<(f64, f64)> =
            self.children.iter().map(|(kind, child)| (child.total, self.variance(*kind))).collect();
        let wanted = nearest_totals(&estimates, all as f64);
        match self.limits {
            Some(of) => of.limits.totals(of.unit, &self.group_counts(of), &wanted),
            None => Ok(nearest_whole(wanted.len(), &wanted, &[all], None).expect("no rows")),
        }
    }

    fn group_counts(&self, of: UnitLimits<'_>) -> Vec<i64> {
        let mut counts = vec![0; of.groups()];
        for (cell, count) in self.support.cells.iter().zip(&self.support.counts) {
            counts[of.group(*cell)] += count;
        }
        counts
    }

    /// The limits, if sums of groups have any.
    fn group_limits(&self) -> Option<UnitLimits<'_>> {
        self.limits.filter(|of| of.limits.bounds_groups(of.unit))
    }

    fn projection(&self, totals: Option<&[i64]>) -> Projection<'_> {
        let Family { support, kinds, children, .. } = self;
        let (n, cells) = (children.len(), support.size());
        let rows = |of: fn(&ChildEstimate) -> &Vec<f64>| -> Vec<f64> {
            (0..cells).flat_map(|cell| children.iter().map(move |(_, child)| of(child)[cell])).collect()
        };
        let all = support.total().max(1) as f64;
        // Tables like the parent's, of the right sizes.
        let shares: Vec<f64> = match totals {
            Some(totals) => totals.iter().map(|total| *total as f64 / all).collect(),
            None => {
                let sizes: Vec<f64> = children.iter().map(|(_, child)| child.total.max(0.0)).collect();
                let sum: f64 = sizes.iter().sum();
                let share = |size: &f64| if sum > 0.0 { size / sum } else { 1.0 / n as f64 };
                sizes.iter().map(share).collect()
            }
        };
        let counts = support.counts.iter();
        let anchor = counts.flat_map(|count| shares.iter().map(move |share| *count as f64 * share)).collect();
        Projection {
            part: &support.part,
            kinds: kinds.iter().map(|kind| support.precision(kind)).collect(),
            kind_of: children.iter().map(|(kind, _)| *kind).collect(),
            near: rows(|child| &child.near),
            slope: rows(|child| &child.slope),
            cost: children.iter().map(|(_, child)| child.cost).sum(),
            anchor,
            add_up: true,
            pinned: totals.map(|_| vec![false; support.axes]),
            signs: self.signs(),
        }
    }

    fn signs(&self) -> Signs {
        let allowed = self.support.counts.iter().map(|count| *count > 0).collect();
        let limits = self.group_limits().map(|of| {
            let mut groups = vec![vec![]; of.groups()];
            for (at, cell) in self.support.cells.iter().enumerate() {
                groups[of.group(*cell)].push(at as u32);
            }
            let bounds: Vec<Bound> =
                (0..groups.len()).flat_map(|group| of.limits.of_children(of.unit, group)).collect();
            GroupLimits::new(self.children.len(), groups, &bounds)
        });
        Signs { allowed, limits }
    }

    fn round(&self, near: &[f64], totals: Option<&[i64]>) -> Result<Vec<i64>, Unmet> {
        let n = self.children.len();
        let columns = &self.support.counts;
        let whole = match (self.group_limits(), totals) {
            (None, None) => nearest_whole(n, near, columns, None),
            (None, Some(sums)) => {
                let group_of = vec![0; columns.len()];
                nearest_whole(n, near, columns, Some(Rows { group_of: &group_of, sums }))
            }
            (Some(of), totals) => {
                let group_of: Vec<u32> =
                    self.support.cells.iter().map(|cell| of.group_of[*cell as usize]).collect();
                let mut wanted = vec![0.0; of.groups() * n];
                for (group, row) in group_of.iter().zip(near.chunks_exact(n)) {
                    let sums = wanted[*group as usize * n..][..n].iter_mut();
                    sums.zip(row).for_each(|(sum, x)| *sum += x);
                }
                let sums = of.limits.groups(of.unit, &self.group_counts(of), &wanted, totals)?;
                nearest_whole(n, near, columns, Some(Rows { group_of: &group_of, sums: &sums }))
            }
        };
        Ok(whole.expect("sums of rows and columns are those of the parent"))
    }

    /// All that must hold, in whole numbers.
    fn check(&self, tables: &[Table], totals: Option<&[i64]>) {
        let mut sums = vec![0i64; self.support.size()];
        for (child, table) in tables.iter().enumerate() {
            let mut total = 0;
            for (cell, count) in table {
                let at = self.support.cells.binary_search(cell).expect("a cell of the parent");
                assert!(*count > 0, "no count is negative");
                sums[at] += count;
                total += count;
            }
            assert!(totals.is_none_or(|totals| totals[child] == total), "a total is what was decided");
            if let Some(of) = self.group_limits() {
                let mut groups = vec![0; of.groups()];
                table.iter().for_each(|(cell, count)| groups[of.group(*cell)] += count);
                for (group, count) in groups.into_iter().enumerate() {
                    let Bound { lower, upper } = of.limits.of_children(of.unit, group)[child];
                    assert!(lower <= count && count <= upper, "limits are kept");
                }
            }
        }
        assert_eq!(sums, self.support.counts, "children add up to their parent");
    }
}

/// Totals ≥ 0 with a given sum, nearest to estimates with these variances: `max(0, t + v·m)` for one `m`.
fn nearest_totals(estimates: &[(f64, f64)], sum: f64) -> Vec<f64> {
    // Exact totals stay; what is not known at all takes what is left, in equal parts.
    let fixed: f64 = estimates.iter().filter(|(_, v)| *v == 0.0).map(|(t, _)| t.max(0.0)).sum();
    let unknown = estimates.iter().filter(|(_, v)| v.is_infinite()).count();
    if unknown > 0 {
        let known: f64 = estimates.iter().filter(|(_, v)| v.is_finite()).map(|(t, _)| t.max(0.0)).sum();
        let rest = (sum - known).max(0.0) / unknown as f64;
        return estimates.iter().map(|(t, v)| if v.is_infinite() { rest } else { t.max(0.0) }).collect();
    }
    let mut free: Vec<(f64, f64)> = estimates.iter().copied().filter(|(_, v)| *v > 0.0).collect();
    if free.is_empty() {
        return estimates.iter().map(|(t, _)| t.max(0.0)).collect();
    }
    // A total is above 0 while m is above −t/v: the last ones to be so come last.
    free.sort_by(|(t, v), (s, w)| (-t / v).total_cmp(&(-s / w)));
    let (mut totals, mut variances, mut m) = (0.0, 0.0, f64::NEG_INFINITY);
    for (t, v) in free {
        if totals + t + (variances + v) * (-t / v) > sum - fixed && variances > 0.0 {
            break;
        }
        (totals, variances) = (totals + t, variances + v);
        m = (sum - fixed - totals) / variances;
    }
    estimates.iter().map(|(t, v)| (t + if *v > 0.0 { v * m } else { 0.0 }).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_the_nearest_with_their_sum() {
        // Against a search for m.
        let estimates = [(5.0, 1.0), (-3.0, 2.0), (0.5, 4.0), (12.0, 0.5), (7.0, 0.0)];
        for sum in [8.0, 10.0, 20.0, 21.5, 40.0] {
            let found = nearest_totals(&estimates, sum);
            assert!((found.iter().sum::<f64>() - sum).abs() < 1e-9, "{sum}: {found:?}");
            let (mut low, mut high) = (-100.0, 100.0);
            let at = |m: f64| estimates.map(|(t, v): (f64, f64)| (t + v * m).max(0.0));
            for _ in 0..200 {
                let middle = (low + high) / 2.0;
                if at(middle).iter().sum::<f64>() < sum { low = middle } else { high = middle }
            }
            for (a, b) in found.iter().zip(at(low)) {
                assert!((a - b).abs() < 1e-9, "{sum}: {found:?}");
            }
        }
    }
}
