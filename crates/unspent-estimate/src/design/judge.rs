//! What becomes of needs on a tree of units, regular or listed: the unit that is known worst, and how often
//! its error is within the margin. It is the estimator's own recursion, in doubles.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::bound::double;
use super::compile::{Compiled, Part};
use super::kinds::{Form, Kinds, OfBlock};
use super::law;
use crate::answers::{Precision, SumOfCells};
use crate::family::{Own, State};
use crate::matrix::Matrix;
use crate::model::{Class, Model, UnitClass};

/// A part of a need as a sum of cells.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) sum: SumOfCells,
    /// The coordinates of its weights.
    pub(super) coordinates: Vec<f64>,
    /// In records.
    pub(super) margin: f64,
}

/// Judges precisions by all needs.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) model: Arc<Model>,
    /// For each need and each of its parts.
    pub(super) asked: Vec<Vec<Asked>>,
    /// The level of each need.
    pub(super) levels: Vec<usize>,
    pub(super) kinds: Kinds,
    /// For each level, the queries that are exact.
    pub(super) exact: Vec<Vec<usize>>,
    /// Level and query of each variable.
    pub(super) variables: Vec<(usize, usize)>,
}

/// What the worst unit has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// The variance of the part of a need that is farthest from its limit; infinite if it is not determined.
    pub(super) variance: f64,
    /// The margin of that part, in records.
    pub(super) margin: f64,
    /// How often its error is within the margin, with the lattice of the noise of the unit itself.
    pub(super) coverage: f64,
}

impl Judge {
    pub(super) fn new(compiled: &Compiled, needs: &super::Needs) -> Judge {
        let model = compiled.frame.model.clone();
        let asked = |part: &Part| {
            let counted: Vec<(f64, Vec<Vec<bool>>)> =
                part.counted.iter().map(|(factor, counted)| (double(factor), counted.clone())).collect();
            let (sum, coordinates) = SumOfCells::weighted(&model, &counted);
            Asked { sum, coordinates, margin: double(&part.margin) }
        };
        Judge {
            asked: compiled.needs.iter().map(|parts| parts.iter().map(asked).collect()).collect(),
            levels: needs.needs.iter().map(|need| need.level).collect(),
            kinds: Kinds::new(&needs.units),
            exact: compiled.frame.exact().to_vec(),
            variables: compiled.frame.variables.iter().map(|v| (v.level, v.query)).collect(),
            model,
        }
    }

    /// For each need that is about single units its worst unit, if measurements have these precisions.
    pub(super) fn verdicts(&self, precisions: &[f64], sets: &[bool]) -> Vec<Option<Verdict>> {
        let classes: Vec<Class> = (0..self.exact.len()).map(|level| self.class(level, precisions)).collect();
        let judged: Vec<usize> = (0..sets.len()).filter(|number| !sets[*number]).collect();
        // What is known of a block is found once for all needs that it is in.
        let mut blocks: BTreeMap<usize, OfBlock> = BTreeMap::new();
        let all = judged.iter().flat_map(|number| &self.asked[*number]);
        for (block, _) in all.flat_map(|asked| asked.sum.blocks()) {
            blocks.entry(block).or_insert_with(|| {
                let own: Vec<&Own> = classes.iter().map(|class| &class.own[block]).collect();
                OfBlock::new(&self.kinds, self.model.knowledge(block), &own)
            });
        }
        let mut variances: HashMap<(usize, usize), Vec<f64>> = HashMap::new();
        for (block, of_block) in &blocks {
            let mut forms = vec![];
            let mut owners = vec![];
            for number in &judged {
                let level = self.levels[*number];
                let known = of_block.known(&self.kinds, level);
                for (at, asked) in self.asked[*number].iter().enumerate() {
                    let sum = (variances.entry((*number, at)))
                        .or_insert_with(|| vec![0.0; self.kinds.count(level)]);
                    let in_block = asked.sum.blocks().filter(|(of, _)| of == block);
                    for (_, gram) in in_block {
                        if asked.sum.is_seen(*block, known) {
                            forms.push(Form { level, gram });
                            owners.push((*number, at));
                        } else {
                            sum.fill(f64::INFINITY);
                        }
                    }
                }
            }
            for (owner, values) in owners.into_iter().zip(of_block.values(&self.kinds, &forms)) {
                let sums = variances.get_mut(&owner).expect("made above");
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
        let mut states: HashMap<usize, HashMap<(usize, usize), State>> = HashMap::new();
        let mut verdict = |number: usize| {
            let mut worst: Option<(f64, usize, usize)> = None;
            for (at, Asked { margin, .. }) in self.asked[number].iter().enumerate() {
                for (unit, variance) in variances[&(number, at)].iter().enumerate() {
                    let ratio = variance / (margin * margin);
                    if worst.is_none_or(|(largest, _, _)| ratio > largest) {
                        worst = Some((ratio, at, unit));
                    }
                }
            }
            let Some((ratio, at, unit)) = worst else {
                return Verdict { variance: 0.0, margin: 1.0, coverage: 1.0 };
            };
            if ratio == f64::INFINITY {
                // Not determined for units with others beside them, of which there are some.
                let margin = self.asked[number][at].margin;
                return Verdict { variance: f64::INFINITY, margin, coverage: 0.0 };
            }
            let asked = &self.asked[number][at];
            let unit = (self.levels[number], unit);
            for (block, _) in asked.sum.blocks() {
                let of_block = states.entry(block).or_default();
                self.kinds.last(&blocks[&block], self.model.knowledge(block), unit, of_block);
            }
            let last = |block: usize| &states[&block][&unit];
            self.verdict(last, asked, unit.0, precisions)
        };
        (0..sets.len()).map(|number| (!sets[number]).then(|| verdict(number))).collect()
    }

    /// How often the error of a unit of a level is within the margin, if its last states are these.
    fn verdict<'s>(
        &self,
        last: impl Fn(usize) -> &'s State,
        asked: &Asked,
        level: usize,
        precisions: &[f64],
    ) -> Verdict {
        let margin = asked.margin;
        let mut covariances = vec![Matrix::default(); self.model.blocks().len()];
        for (block, _) in asked.sum.blocks() {
            covariances[block] = last(block).of_coordinates();
        }
        let known = |block: usize| &last(block).known;
        let precision =
            asked.sum.precision_of(|block| (&known(block).seen, &known(block).exact), &covariances);
        let (variance, coverage) = match precision {
            Precision::Unknown => (f64::INFINITY, 0.0),
            Precision::Exact => (0.0, 1.0),
            Precision::Variance(variance) => {
                let own = self.own_terms(&covariances, level, asked, precisions);
                (variance, law::with_lattice(&own, variance, margin))
            }
        };
        Verdict { variance, margin, coverage }
    }

    /// The weights that the estimate of a unit gives to its own noisy counts, with their σ².
    fn own_terms(
        &self,
        covariances: &[Matrix],
        level: usize,
        asked: &Asked,
        precisions: &[f64],
    ) -> Vec<(f64, f64)> {
        // The coordinates of the table whose answers, times precisions, are the weights (Lemma B6).
        let mut moved = vec![0.0; asked.coordinates.len()];
        for (at, _) in asked.sum.blocks() {
            for copy in self.model.blocks()[at].each_copy() {
                covariances[at].apply(&asked.coordinates[copy.clone()], &mut moved[copy]);
            }
        }
        let queries = self.model.space().queries().len();
        let mut wanted = vec![false; queries];
        let own: Vec<(usize, f64)> = (self.variables.iter().zip(precisions))
            .filter(|((of_level, _), w)| *of_level == level && **w > 0.0)
            .map(|((_, query), w)| (*query, *w))
            .collect();
        own.iter().for_each(|(query, _)| wanted[*query] = true);
        let mut scratch = crate::model::Scratch::default();
        let needed = self.model.space().needed(&wanted);
        let answered = self.model.answer(&moved, &needed, &mut scratch);
        let mut terms = vec![];
        for (query, precision) in own {
            terms.extend(answered.answers[query].iter().map(|x| (x * precision, 1.0 / precision)));
        }
        terms
    }

    /// What is known of a unit of a level without the units below it.
    fn class(&self, level: usize, precisions: &[f64]) -> Class {
        let mut class =
            UnitClass { variances: vec![None; self.model.space().queries().len()], ..UnitClass::default() };
        for ((of_level, query), w) in self.variables.iter().zip(precisions) {
            if *of_level == level && *w > 0.0 {
                class.add(*query, 1.0 / w);
            }
        }
        class.exact = self.exact[level].clone();
        self.model.class(class)
    }
}
