//! Shares of groups and thresholds that people use: whether the largest group's share is about right, and
//! whether a group has the majority that it should have.

use serde::Serialize;

use crate::estimate::{Answers, Truth};
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
        let Some(found) = found else { return };
        let size: f64 = exact.iter().sum();
        if size <= 0.0 {
            return;
        }
        let counts = &mut self.counts[level * self.bands + truth.band(level, unit)];
        counts.units += 1;
        let largest = (1..exact.len()).fold(0, |best, at| if exact[at] > exact[best] { at } else { best });
        let share = share(found, largest);
        // Beyond a half of an ulp or so, 0.05 is as near as it says.
        let near = share.is_some_and(|share| (share - exact[largest] / size).abs() <= NEAR + 1e-12);
        counts.near += u64::from(near);
        let (should, has) = (majority(exact), majority(found));
        counts.majorities += u64::from(should.is_some());
        counts.lost += u64::from(should.is_some() && has != should);
        counts.gained += u64::from(has.is_some() && has != should);
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
