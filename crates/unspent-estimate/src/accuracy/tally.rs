//! Errors of many units, put together by level and query.

use super::{Deviation, LevelAccuracy, QueryAccuracy};
use crate::answers::{AnswerClasses, Precision};
use crate::margin::Confidence;
use crate::tree::Tree;

/// Errors of the units that were added so far.
#[derive(Debug)]
pub struct Tally<'a> {
    answers: &'a [AnswerClasses],
    levels: Vec<LevelTally>,
}

#[derive(Debug)]
struct LevelTally {
    units: u64,
    bypassed: u64,
    noise: Vec<Spread>,
    estimates: Vec<Spread>,
}

/// Variances, each of so many answers.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    unknown: f64,
    exact: f64,
    noisy: f64,
    sum: f64,
    smallest: f64,
    largest: f64,
}

impl Spread {
    /// Adds the answers of a query, by the precision of each class, for so many units.
    pub fn add_answers(&mut self, answers: &AnswerClasses, precisions: &[Precision], units: u64) {
        let mut counts = vec![0u64; precisions.len()];
        answers.class_of.iter().flatten().for_each(|class| counts[usize::from(*class)] += 1);
        for (precision, count) in precisions.iter().zip(&counts) {
            self.add(*precision, units as f64 * *count as f64);
        }
    }

    fn add(&mut self, precision: Precision, answers: f64) {
        match precision {
            Precision::Unknown => self.unknown += answers,
            Precision::Exact => self.exact += answers,
            Precision::Variance(variance) => {
                self.smallest = if self.noisy > 0.0 { self.smallest.min(variance) } else { variance };
                self.largest = self.largest.max(variance);
                self.noisy += answers;
                self.sum += answers * variance;
            }
        }
    }

    /// None if nothing was added.
    #[must_use]
    pub fn deviation(&self) -> Option<Deviation> {
        let known = self.exact + self.noisy;
        Some(match (self.unknown > 0.0, self.exact > 0.0, self.noisy > 0.0) {
            (false, false, false) => return None,
            (true, false, false) => Deviation::NotDetermined,
            (false, true, false) => Deviation::Exact,
            _ => Deviation::Estimated {
                sd: (self.sum / known).sqrt(),
                smallest: if self.exact > 0.0 { 0.0 } else { self.smallest.sqrt() },
                largest: self.largest.sqrt(),
                undetermined: self.unknown / (self.unknown + known),
            },
        })
    }
}

impl<'a> Tally<'a> {
    /// Of no unit yet, for the answers of these queries at so many levels.
    #[must_use]
    pub fn new(answers: &'a [AnswerClasses], levels: usize) -> Tally<'a> {
        let level = |_| LevelTally {
            units: 0,
            bypassed: 0,
            noise: vec![Spread::default(); answers.len()],
            estimates: vec![Spread::default(); answers.len()],
        };
        Tally { answers, levels: (0..levels).map(level).collect() }
    }

    /// Adds a node of a tree: so many units of a level that are known equally well.
    pub fn add(&mut self, tree: &Tree, node: usize, level: usize, units: u64, bypassed: bool) {
        let to = &mut self.levels[level];
        to.units += units;
        to.bypassed += if bypassed { units } else { 0 };
        let class = &tree.nodes()[node].class.spec;
        let precisions = tree.precisions(node, self.answers);
        for (at, (answers, precisions)) in self.answers.iter().zip(precisions).enumerate() {
            let query = answers.query;
            to.estimates[at].add_answers(answers, &precisions, units);
            let own = match class.exact.contains(&query) {
                true => Some(Precision::Exact),
                false => class.variances[query].map(Precision::Variance),
            };
            if let Some(own) = own {
                to.noise[at].add(own, units as f64);
            }
        }
    }

    /// All that was added, for levels of these names.
    pub fn levels<'n>(
        self,
        tree: &Tree,
        confidence: &Confidence,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Vec<LevelAccuracy> {
        let Tally { answers, levels } = self;
        let of_query = |level: &LevelTally, at: usize| {
            // A query whose answers are all impossible is exactly 0.
            let estimate = level.estimates[at].deviation().unwrap_or(Deviation::Exact);
            let (sd, largest) = match estimate {
                Deviation::NotDetermined => (None, None),
                Deviation::Exact => (Some(0.0), Some(0.0)),
                // An answer that is not determined has no margin.
                Deviation::Estimated { sd, largest, .. } => (Some(sd), Some(largest)),
            };
            QueryAccuracy {
                query: tree.model().space().queries()[answers[at].query].name.clone(),
                answers: answers[at].class_of.iter().flatten().count() as u64,
                noise: level.noise[at].deviation(),
                estimate,
                margin: sd.map(|sd| confidence.normal(sd)),
                guaranteed_margin: largest.map(|sd| confidence.guaranteed(sd)),
            }
        };
        let of_level = |(level, name): (LevelTally, &str)| LevelAccuracy {
            level: name.into(),
            units: level.units,
            bypassed: level.bypassed,
            queries: (0..answers.len()).map(|query| of_query(&level, query)).collect(),
        };
        levels.into_iter().zip(names).map(of_level).collect()
    }
}
