//! Shares of groups and thresholds that people use: whether the largest group's share is about right, and
//! whether a group has the majority that it should have.

use std::path::PathBuf;

use serde::Serialize;
use unspent::{Error, Result};

use crate::estimate::{Answers, AreaName, Areas, Truth};
use crate::utility::NORMAL_95;

/// How far a share may be from the truth to count as about right.
pub(super) const NEAR: f64 = 0.05;

/// What was counted at a stage, over all trials, by level and band. Units with nobody in them do not count.
#[derive(Clone, Debug)]
pub(super) struct ShareSums {
    bands: usize,
    counts: Vec<ShareCounts>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShareCounts {
    /// Units, each as often as it was looked at.
    pub(super) units: u64,
    /// Those whose largest group's share is near the truth.
    pub(super) near: u64,
    /// Those in which a group has more than half.
    pub(super) majorities: u64,
    /// Those of them in which it no longer has.
    pub(super) lost: u64,
    /// Those in which a group has more than half that should not.
    pub(super) gained: u64,
}

impl ShareSums {
    pub(super) fn new(truth: &Truth) -> ShareSums {
        let bands = truth.bands.len();
        ShareSums { bands, counts: vec![ShareCounts::default(); truth.levels.len() * bands] }
    }

    pub(super) fn add(&mut self, truth: &Truth, answers: &Answers<'_>) {
        let Answers { level, unit, exact, found, .. } = *answers;
        if let Some(found) = found {
            self.counts[level * self.bands + truth.band(level, unit)].count(exact, found);
        }
    }

    /// Of units of one size, or of all.
    pub(super) fn of(&self, level: usize, band: Option<usize>) -> ShareCounts {
        let bands = band.map_or(0..self.bands, |band| band..band + 1);
        bands.fold(ShareCounts::default(), |sum, band| {
            let one = &self.counts[level * self.bands + band];
            ShareCounts {
                units: sum.units + one.units,
                near: sum.near + one.near,
                majorities: sum.majorities + one.majorities,
                lost: sum.lost + one.lost,
                gained: sum.gained + one.gained,
            }
        })
    }
}

impl ShareCounts {
    /// Looks at a unit or a district.
    fn count(&mut self, exact: &[f64], found: &[f64]) {
        let size: f64 = exact.iter().sum();
        if size <= 0.0 {
            return;
        }
        self.units += 1;
        let largest = (1..exact.len()).fold(0, |best, at| if exact[at] > exact[best] { at } else { best });
        let share = share(found, largest);
        // Beyond a half of an ulp or so, 0.05 is as near as it says.
        let near = share.is_some_and(|share| (share - exact[largest] / size).abs() <= NEAR + 1e-12);
        self.near += u64::from(near);
        let (should, has) = (majority(exact), majority(found));
        self.majorities += u64::from(should.is_some());
        self.lost += u64::from(should.is_some() && has != should);
        self.gained += u64::from(has.is_some() && has != should);
    }
}

/// Districts that are made of the smallest units.
#[derive(Clone, Debug)]
pub(super) struct Districts {
    /// The columns of the maps.
    pub(super) maps: Vec<String>,
    /// The map of each district.
    map_of: Vec<usize>,
    /// The districts of each unit.
    of_unit: Vec<Vec<u32>>,
}

impl Districts {
    /// Those of some maps, if there are any.
    pub(super) fn read(paths: &[PathBuf], truth: &Truth) -> Result<Option<Districts>> {
        if paths.is_empty() {
            return Ok(None);
        }
        let areas = Areas::read(paths, &[])?;
        let mut maps: Vec<String> = areas.areas.iter().map(|area| area.map.clone()).collect();
        maps.sort_unstable();
        maps.dedup();
        if let Some(level) = truth.levels.iter().find(|level| maps.contains(&level.name)) {
            let cause = format!("districts: a column of the map is called `{}`, as a level is", level.name);
            return Err(Error::stated(cause, "give the column another name"));
        }
        let map = |area: &AreaName| maps.iter().position(|map| *map == area.map).expect("one of them");
        let map_of = areas.areas.iter().map(map).collect();
        let leaves = &truth.levels.last().expect("a level").units;
        let of_unit = areas.of_leaves(leaves.iter().map(|unit| unit.code.as_str()))?;
        let of_unit = of_unit.into_iter().map(<[u32]>::to_vec).collect();
        Ok(Some(Districts { maps, map_of, of_unit }))
    }
}

/// What was counted of districts at a stage, by map; and the sums of the trial that is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct DistrictSums {
    pub(super) counts: Vec<ShareCounts>,
    /// True groups of each district, and as published; none if they are not determined.
    sums: Vec<(Vec<f64>, Option<Vec<f64>>)>,
}

impl DistrictSums {
    pub(super) fn new(districts: &Districts) -> DistrictSums {
        let mut sums =
            DistrictSums { counts: vec![ShareCounts::default(); districts.maps.len()], sums: vec![] };
        sums.clear(districts);
        sums
    }

    fn clear(&mut self, districts: &Districts) {
        self.sums = vec![(vec![], Some(vec![])); districts.map_of.len()];
    }

    /// Adds the groups of a unit of the smallest level.
    pub(super) fn add(&mut self, districts: &Districts, answers: &Answers<'_>) {
        let add = |to: &mut Vec<f64>, groups: &[f64]| {
            to.resize(groups.len(), 0.0);
            to.iter_mut().zip(groups).for_each(|(sum, group)| *sum += group);
        };
        for district in &districts.of_unit[answers.unit] {
            let (exact, published) = &mut self.sums[*district as usize];
            add(exact, answers.exact);
            match (published.as_mut(), answers.found) {
                (Some(sum), Some(found)) => add(sum, found),
                _ => *published = None,
            }
        }
    }

    /// Looks at all districts, and starts anew.
    pub(super) fn next_trial(&mut self, districts: &Districts) {
        for ((exact, found), map) in self.sums.iter().zip(&districts.map_of) {
            if let Some(found) = found {
                self.counts[*map].count(exact, found);
            }
        }
        self.clear(districts);
    }
}

/// A group's share; none if noise leaves nobody to have a share of.
fn share(groups: &[f64], group: usize) -> Option<f64> {
    let all: f64 = groups.iter().sum();
    (all > 0.0).then(|| groups[group] / all)
}

/// The group that has more than half.
fn majority(groups: &[f64]) -> Option<usize> {
    (0..groups.len()).find(|group| share(groups, *group).is_some_and(|share| share > 0.5 + 1e-12))
}

/// How often something is so in trials, with an interval of 95 % (Wilson).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Proportion {
    /// The number of units in a trial of which it can be so.
    pub of: f64,
    /// The number of those of which it is so, in a trial on average.
    pub units: f64,
    /// What part of them.
    pub share: f64,
    /// The lower end of the interval of the share.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
}

impl Proportion {
    /// So many of so many, in all trials together; none of none.
    pub(super) fn new(some: u64, all: u64, trials: u64) -> Option<Proportion> {
        if all == 0 {
            return None;
        }
        let (n, share, z) = (all as f64, some as f64 / all as f64, NORMAL_95);
        let scale = 1.0 + z * z / n;
        let middle = (share + z * z / (2.0 * n)) / scale;
        let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        let trials = trials as f64;
        Some(Proportion {
            of: n / trials,
            units: some as f64 / trials,
            share,
            lower: if some == 0 { 0.0 } else { (middle - half).max(0.0) },
            upper: if some == all { 1.0 } else { (middle + half).min(1.0) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_intervals_are_those_of_the_textbook() {
        // Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        let cases = [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ];
        for (some, all, lower, upper) in cases {
            let found = Proportion::new(some, all, 1).unwrap();
            assert!(
                (found.lower - lower).abs() < 5.1e-5 && (found.upper - upper).abs() < 5.1e-5,
                "{found:?}"
            );
        }
        assert_eq!(Proportion::new(0, 0, 3), None);
        let found = Proportion::new(12, 40, 4).unwrap();
        assert_eq!((found.of, found.units, found.share), (10.0, 3.0, 0.3));
    }

    #[test]
    fn a_majority_is_more_than_half() {
        assert_eq!(majority(&[2.0, 2.0]), None);
        assert_eq!(majority(&[2.0, 3.0, 0.5]), Some(1));
        // Below zero in sum, nobody has anything.
        assert_eq!(majority(&[-2.0, 1.0]), None);
        assert_eq!(share(&[0.0, 0.0], 0), None);
    }
}
