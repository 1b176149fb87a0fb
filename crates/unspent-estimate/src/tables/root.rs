//! The table of a unit that has no parent: a chain of sums, each one decided before the next finer one
//! (Lemma T4 of `theory/tables.md`).

use super::family::{Table, UnitLimits};
use super::kind::Kind;
use super::limits::Bound;
use super::network::Unmet;
use super::project::{Projection, Quality};
use super::rounding::nearest_whole;
use super::signs::{GroupLimits, Signs};
use crate::basis::Part;
use crate::matrix::Matrix;
use crate::model::{Model, Scratch};

/// The way to tables of units without a parent.
pub struct Roots<'m> {
    model: &'m Model,
    whole: Part,
    /// Sums over the longest axis, decided before the cells; none if no query has them.
    coarse: Option<Coarse>,
    /// Which cells may have anybody in them.
    allowed: Vec<bool>,
}

struct Coarse {
    told: Vec<bool>,
    part: Part,
    /// The sum that each cell is part of.
    sum_of: Vec<u32>,
}

impl<'m> Roots<'m> {
    /// Cells that are not `allowed` are 0.
    #[must_use]
    pub fn new(model: &'m Model, allowed: Vec<bool>, chain: bool) -> Roots<'m> {
        let basis = model.basis();
        let axes = &model.space().axes;
        let kept: Vec<Vec<u32>> = axes.iter().map(|axis| (0..axis.values.len() as u32).collect()).collect();
        let longest = (0..axes.len()).max_by_key(|axis| (axes[*axis].values.len(), axes.len() - axis));
        let told: Vec<bool> = (0..axes.len()).map(|axis| Some(axis) != longest).collect();
        let useful = chain && axes.iter().zip(&told).any(|(axis, told)| *told && axis.values.len() > 1);
        let coarse = (useful && model.space().is_known(&told)).then(|| Coarse {
            part: Part::of_sums(basis, &told),
            sum_of: basis.groups_by(&told),
            told,
        });
        Roots { model, whole: Part::of_values(basis, &kept), coarse, allowed }
    }

    /// The table of a root by its estimate.
    pub fn solve(
        &self,
        kind: &Kind,
        coordinates: &[f64],
        limits: Option<UnitLimits<'_>>,
    ) -> Result<(Table, Quality), Unmet> {
        let cells = self.allowed.len();
        let mut near = vec![0.0; cells];
        let mut scratch = Scratch::default();
        self.model.basis().to_cells(coordinates, &mut scratch.work, &mut near);
        let wanted: f64 = near.iter().sum();
        let total = self.total(wanted, &near, limits)?;
        if total == 0 {
            return Ok((vec![], Quality::default()));
        }
        let groups = limits.and_then(|of| Some((of, of.limits.of_groups(of.unit)?)));
        let one = vec![0; cells];
        let of_total =
            Given { sum_of: &one, sums: &[total], told: vec![false; self.model.space().axes.len()] };
        let mut worst = Quality::default();
        let coarse_sums;
        let given = match &self.coarse {
            // Sums that are limited are decided instead.
            Some(coarse) if groups.is_none() => {
                let (sums, quality) = self.coarse_sums(coarse, kind, &near, total);
                worst = quality;
                coarse_sums = sums;
                Given { sum_of: &coarse.sum_of, sums: &coarse_sums, told: coarse.told.clone() }
            }
            _ => of_total,
        };
        let allowed: Vec<usize> = (0..cells).filter(|cell| self.allowed[*cell]).collect();
        let mut members = vec![0.0; given.sums.len()];
        allowed.iter().for_each(|cell| members[given.sum_of[*cell] as usize] += 1.0);
        let mut anchor = vec![0.0; cells];
        for cell in &allowed {
            let sum = given.sum_of[*cell] as usize;
            anchor[*cell] = given.sums[sum] as f64 / members[sum];
        }
        let projection = Projection {
            part: &self.whole,
            kinds: vec![self.whole.of_blocks(&kind.precision)],
            kind_of: vec![0],
            near,
            slope: vec![0.0; cells],
            cost: 0.0,
            anchor,
            add_up: false,
            pinned: Some(given.told.clone()),
            signs: Signs { allowed: self.allowed.clone(), limits: groups.as_ref().map(sign_limits) },
        };
        let projected = projection.solve(true);
        if projected.quality.relative_gap() > worst.relative_gap() {
            worst = projected.quality;
        }
        let limited;
        let (sum_of, sums) = match groups {
            None => (given.sum_of, given.sums),
            Some((of, _)) => {
                let wanted = group_sums(of, &projected.tables);
                limited = of.limits.root(of.unit, &wanted, Some(total))?;
                (of.group_of, &limited[..])
            }
        };
        Ok((self.round(&projected.tables, sum_of, sums), worst))
    }

    /// A whole total near to the one wanted.
    fn total(&self, wanted: f64, near: &[f64], limits: Option<UnitLimits<'_>>) -> Result<i64, Unmet> {
        let total = wanted.round().max(0.0) as i64;
        let Some(of) = limits else { return Ok(total) };
        let wanted = group_sums(of, near);
        // If there are no tables with this total, then one near to the groups' sums.
        let found = of.limits.root(of.unit, &wanted, Some(total));
        let found = found.or_else(|_| of.limits.root(of.unit, &wanted, None))?;
        Ok(found.iter().sum())
    }

    /// Whole sums over the longest axis.
    fn coarse_sums(&self, coarse: &Coarse, kind: &Kind, near: &[f64], total: i64) -> (Vec<i64>, Quality) {
        let count = coarse.part.basis.cells();
        let mut sums = vec![0.0; count];
        let mut allowed = vec![false; count];
        for ((sum, x), ok) in coarse.sum_of.iter().zip(near).zip(&self.allowed) {
            sums[*sum as usize] += x;
            allowed[*sum as usize] |= ok;
        }
        let covariances: Vec<Matrix> = kind.precision.iter().map(Matrix::inverse).collect();
        let precision = coarse.part.of_blocks(&covariances).iter().map(Matrix::inverse).collect();
        let share = total as f64 / allowed.iter().filter(|ok| **ok).count() as f64;
        let projection = Projection {
            part: &coarse.part,
            kinds: vec![precision],
            kind_of: vec![0],
            near: sums,
            slope: vec![0.0; count],
            cost: 0.0,
            anchor: allowed.iter().map(|ok| if *ok { share } else { 0.0 }).collect(),
            add_up: false,
            pinned: Some(vec![false; coarse.told.len()]),
            signs: Signs { allowed: allowed.clone(), limits: None },
        };
        let projected = projection.solve(true);
        let members: Vec<usize> = (0..count).filter(|sum| allowed[*sum]).collect();
        let mut whole = vec![0; count];
        share_out(&projected.tables, &members, total, &mut whole);
        (whole, projected.quality)
    }

    /// Whole counts with the sums of groups of cells.
    fn round(&self, near: &[f64], group_of: &[u32], sums: &[i64]) -> Table {
        let mut members: Vec<Vec<usize>> = vec![vec![]; sums.len()];
        for (cell, group) in group_of.iter().enumerate().filter(|(cell, _)| self.allowed[*cell]) {
            members[*group as usize].push(cell);
        }
        let mut counts = vec![0; near.len()];
        for (members, sum) in members.iter().zip(sums) {
            share_out(near, members, *sum, &mut counts);
        }
        assert_eq!(counts.iter().sum::<i64>(), sums.iter().sum::<i64>(), "cells add up");
        let cells = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        cells.map(|(cell, count)| (cell as u32, count)).collect()
    }
}

fn group_sums(of: UnitLimits<'_>, near: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; of.groups()];
    of.group_of.iter().zip(near).for_each(|(group, x)| sums[*group as usize] += x);
    sums
}

fn sign_limits((of, bounds): &(UnitLimits<'_>, Vec<Bound>)) -> GroupLimits {
    let mut groups = vec![vec![]; of.groups()];
    (0..).zip(of.group_of).for_each(|(cell, group)| groups[*group as usize].push(cell));
    GroupLimits::new(1, groups, bounds)
}

struct Given<'g> {
    sum_of: &'g [u32],
    sums: &'g [i64],
    told: Vec<bool>,
}

/// Whole counts of some cells with a given sum.
fn share_out(near: &[f64], members: &[usize], sum: i64, to: &mut [i64]) {
    let own: Vec<f64> = members.iter().map(|cell| near[*cell]).collect();
    let whole = nearest_whole(own.len(), &own, &[sum], None).expect("no rows");
    members.iter().zip(whole).for_each(|(cell, count)| to[*cell] = count);
}
