//! Errors of many units, put together by level and query.

use super::{Accuracy, Deviation, LevelAccuracy, Prospect, QueryAccuracy, TreeKind};
use crate::answers::{AnswerClasses, Precision};
use crate::tree::Tree;

/// Errors of the units that were added so far.
#[derive(Debug)]
pub struct Tally<'p> {
    prospect: &'p Prospect,
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

impl<'p> Tally<'p> {
    /// Of no unit yet.
    #[must_use]
    pub fn new(prospect: &'p Prospect) -> Tally<'p> {
        let queries = prospect.answers.len();
        let level = |_| LevelTally {
            units: 0,
            bypassed: 0,
            noise: vec![Spread::default(); queries],
            estimates: vec![Spread::default(); queries],
        };
        Tally { prospect, levels: prospect.allocation.levels().iter().map(level).collect() }
    }

    /// Adds a node of a tree: so many units of a level that are known equally well.
    pub fn add(&mut self, tree: &Tree, node: usize, level: usize, units: u64, bypassed: bool) {
        let to = &mut self.levels[level];
        to.units += units;
        to.bypassed += if bypassed { units } else { 0 };
        let class = &tree.nodes()[node].class.spec;
        let precisions = tree.precisions(node, &self.prospect.answers);
        for (query, (answers, precisions)) in self.prospect.answers.iter().zip(precisions).enumerate() {
            to.estimates[query].add_answers(answers, &precisions, units);
            let own = match class.exact.contains(&query) {
                true => Some(Precision::Exact),
                false => class.variances[query].map(Precision::Variance),
            };
            if let Some(own) = own {
                to.noise[query].add(own, units as f64);
            }
        }
    }

    /// All that was added.
    #[must_use]
    pub fn accuracy(self, tree: TreeKind) -> Accuracy {
        let Tally { prospect, levels } = self;
        let Prospect { allocation, model, answers, confidence, structural_zeros } = prospect;
        let of_query = |level: &LevelTally, query: usize| {
            // A query whose answers are all impossible is exactly 0.
            let estimate = level.estimates[query].deviation().unwrap_or(Deviation::Exact);
            let (sd, largest) = match estimate {
                Deviation::NotDetermined => (None, None),
                Deviation::Exact => (Some(0.0), Some(0.0)),
                // An answer that is not determined has no margin.
                Deviation::Estimated { sd, largest, .. } => (Some(sd), Some(largest)),
            };
            QueryAccuracy {
                query: model.space().queries()[query].name.clone(),
                answers: answers[query].class_of.iter().flatten().count() as u64,
                noise: level.noise[query].deviation(),
                estimate,
                margin: sd.map(|sd| confidence.normal(sd)),
                guaranteed_margin: largest.map(|sd| confidence.guaranteed(sd)),
            }
        };
        let of_level = |(level, name): (LevelTally, String)| LevelAccuracy {
            level: name,
            units: level.units,
            bypassed: level.bypassed,
            queries: (0..answers.len()).map(|query| of_query(&level, query)).collect(),
        };
        let names = allocation.levels().iter().map(|level| level.name.clone());
        Accuracy {
            allocation: allocation.name().into(),
            tree,
            confidence: confidence.level().clone(),
            structural_zeros: *structural_zeros,
            exact_totals: allocation.production().exact_totals.clone(),
            levels: levels.into_iter().zip(names).map(of_level).collect(),
        }
    }
}
