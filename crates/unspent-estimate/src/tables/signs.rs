//! What a child's table must be besides its sums: not negative, and within limits.

use std::ops::Range;

use super::flow::UNBOUNDED;
use super::limits::Bound;

/// Which cells may be other than 0, and limits to sums of cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signs {
    /// For each cell, whether a child may have anybody in it.
    pub(crate) allowed: Vec<bool>,
    pub(crate) limits: Option<GroupLimits>,
}

/// Limits to sums of groups of cells, for each child.
#[derive(Clone, Debug)]
pub(crate) struct GroupLimits {
    pub(crate) children: usize,
    /// The cells of each group.
    pub(crate) groups: Vec<Vec<u32>>,
    /// For each group, the limits of each child.
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl GroupLimits {
    /// `bounds` are those of all children for each group.
    pub(crate) fn new(children: usize, groups: Vec<Vec<u32>>, bounds: &[Bound]) -> GroupLimits {
        let most = |bound: &Bound| if bound.upper == UNBOUNDED { f64::INFINITY } else { bound.upper as f64 };
        GroupLimits {
            children,
            groups,
            lower: bounds.iter().map(|bound| bound.lower as f64).collect(),
            upper: bounds.iter().map(most).collect(),
        }
    }

    fn of(&self, group: usize, child: usize) -> (f64, f64) {
        (self.lower[group * self.children + child], self.upper[group * self.children + child])
    }
}

/// The nearest tables with the right signs and within the limits. All values of a cell lie together.
pub(crate) fn project_signs(signs: &Signs, children: &Range<usize>, tables: &mut [f64]) {
    let n = children.len();
    if let Some(limits) = &signs.limits {
        let mut values = vec![];
        for (group, cells) in limits.groups.iter().enumerate() {
            for c in 0..n {
                let (lower, upper) = limits.of(group, children.start + c);
                if lower == 0.0 && upper == f64::INFINITY {
                    continue;
                }
                let own = cells.iter().filter(|cell| signs.allowed[**cell as usize]);
                values.clear();
                values.extend(own.clone().map(|cell| tables[*cell as usize * n + c]));
                let shift = shift_into(&mut values, lower, upper);
                own.for_each(|cell| tables[*cell as usize * n + c] += shift);
            }
        }
    }
    for (row, allowed) in tables.chunks_exact_mut(n).zip(&signs.allowed) {
        match allowed {
            true => row.iter_mut().for_each(|x| *x = x.max(0.0)),
            false => row.fill(0.0),
        }
    }
}

/// What must be added to all values so that the sum of the positive ones is within the limits.
fn shift_into(values: &mut [f64], lower: f64, upper: f64) -> f64 {
    let sum: f64 = values.iter().map(|x| x.max(0.0)).sum();
    let target = sum.clamp(lower, upper);
    if target == sum || values.is_empty() {
        return 0.0;
    }
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    if target == 0.0 {
        return -values[0];
    }
    // The largest k values stay positive.
    let mut total = 0.0;
    let mut shift = 0.0;
    for (k, x) in values.iter().enumerate() {
        total += x;
        let next = (target - total) / (k as f64 + 1.0);
        if k > 0 && x + next <= 0.0 {
            break;
        }
        shift = next;
    }
    shift
}

/// The least that multipliers are worth for tables with the right signs: a part of the dual value.
pub(crate) fn worth_of(signs: &Signs, children: &Range<usize>, multiplier: &[f64], weight: f64) -> f64 {
    let Some(limits) = &signs.limits else { return 0.0 };
    let n = children.len();
    let mut worth = 0.0;
    for (group, cells) in limits.groups.iter().enumerate() {
        for c in 0..n {
            let (lower, upper) = limits.of(group, children.start + c);
            let own = cells.iter().filter(|cell| signs.allowed[**cell as usize]);
            let least =
                own.map(|cell| -weight * multiplier[*cell as usize * n + c]).fold(f64::INFINITY, f64::min);
            if least.is_finite() {
                // Unlimited sums have multipliers that are not negative; a rounding error is nothing.
                let most = if upper == f64::INFINITY { 0.0 } else { upper };
                worth += if least >= 0.0 { least * lower } else { least * most };
            }
        }
    }
    worth
}
