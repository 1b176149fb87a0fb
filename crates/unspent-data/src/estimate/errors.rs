//! Errors of simulated releases: what the true answers are, sums of errors in each trial, and means over
//! trials with their standard errors.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use unspent::Result;
use unspent::schema::Schema;

use super::input::{Input, InputQuery};
use super::simulated::{KnownUnit, NOWHERE, places_of};

/// The true answers: known tables, and the queries that are asked of them.
pub(crate) struct Truth {
    pub(crate) levels: Vec<TrueLevel>,
    pub(crate) queries: Vec<TrueQuery>,
    /// Where bands of the units' sizes begin.
    pub(crate) bands: Vec<i64>,
}

/// The units of a level, whose tables are known.
pub(crate) struct TrueLevel {
    pub(crate) name: String,
    pub(crate) units: Arc<Vec<KnownUnit>>,
    /// The number of each unit, by its code.
    numbers: HashMap<String, u32>,
    /// The band of each unit.
    band_of: Vec<u32>,
}

/// A query, and which answer counts each combination of values.
pub(crate) struct TrueQuery {
    pub(crate) name: String,
    pub(crate) by: Vec<String>,
    pub(crate) length: usize,
    /// Whether anybody asked for it.
    pub(crate) asked: bool,
    places: Vec<u32>,
}

impl Truth {
    /// Of the queries that inputs of the same levels measure or are asked for, and of the total and others
    /// that nobody asked for.
    pub(super) fn new<'i>(
        inputs: &'i [Input],
        known: &[Arc<Vec<KnownUnit>>],
        bands: &[i64],
        others: &'i [InputQuery],
    ) -> Result<Truth> {
        let mut queries: Vec<TrueQuery> = vec![];
        let total = InputQuery { name: unspent_estimate::TOTAL.into(), by: vec![] };
        let measured = |input: &'i Input| input.levels.iter().flat_map(|level| &level.queries);
        let all = inputs.iter().flat_map(|input| input.asked.iter().chain(measured(input)));
        let all = all.map(|query| (query, true)).chain([(&total, false)]);
        let all = all.chain(others.iter().map(|query| (query, false)));
        let input = &inputs[0];
        for (InputQuery { name, by }, asked) in all {
            let places = places_of(&input.schema, by)?;
            if queries.iter().any(|known| known.places == places) {
                continue;
            }
            let length = input.schema.resolve(by)?.iter().map(|part| part.cells).product();
            queries.push(TrueQuery { name: name.clone(), by: by.clone(), length, asked, places });
        }
        let level = |(level, units): (&super::input::InputLevel, &Arc<Vec<KnownUnit>>)| {
            let band = |unit: &KnownUnit| bands.partition_point(|from| *from <= unit.size()) as u32 - 1;
            TrueLevel {
                name: level.name.clone(),
                units: units.clone(),
                numbers: units.iter().zip(0..).map(|(unit, number)| (unit.code.clone(), number)).collect(),
                band_of: units.iter().map(band).collect(),
            }
        };
        let levels = input.levels.iter().zip(known).map(level).collect();
        Ok(Truth { levels, queries, bands: bands.to_vec() })
    }

    /// The answers of a table to a query.
    pub(crate) fn answers(&self, table: &[(u32, i64)], query: usize, to: &mut Vec<f64>) {
        let TrueQuery { places, length, .. } = &self.queries[query];
        to.clear();
        to.resize(*length, 0.0);
        for (cell, count) in table {
            match places[*cell as usize] {
                NOWHERE => {}
                place => to[place as usize] += *count as f64,
            }
        }
    }

    /// The query that tells these apart.
    pub(crate) fn query_by(&self, schema: &Schema, by: &[String]) -> Result<usize> {
        let places = places_of(schema, by)?;
        Ok(self.queries.iter().position(|query| query.places == places).expect("is among them"))
    }

    /// The query by nothing.
    pub(crate) fn total(&self) -> usize {
        self.queries.iter().position(|query| query.by.is_empty()).expect("is among them")
    }

    pub(crate) fn band(&self, level: usize, unit: usize) -> usize {
        self.levels[level].band_of[unit] as usize
    }

    /// How many units of a level are in a band.
    pub(crate) fn units_in(&self, level: usize, band: usize) -> u64 {
        self.levels[level].band_of.iter().filter(|of| **of as usize == band).count() as u64
    }

    pub(super) fn number(&self, level: usize, code: &str) -> usize {
        *self.levels[level].numbers.get(code).expect("every unit of a release is known") as usize
    }
}

/// Sums of the errors of some answers in a trial.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    answers: u64,
    signed: f64,
    absolute: f64,
    squared: f64,
}

impl Sums {
    fn plus(self, other: &Sums) -> Sums {
        Sums {
            answers: self.answers + other.answers,
            signed: self.signed + other.signed,
            absolute: self.absolute + other.absolute,
            squared: self.squared + other.squared,
        }
    }
}

/// The errors of all answers, in each trial by level, query and band.
#[derive(Clone, Debug)]
pub(crate) struct TrialErrors {
    levels: usize,
    queries: usize,
    bands: usize,
    trials: Vec<Vec<Sums>>,
    /// Levels and queries of which some answers are not determined.
    undetermined: Vec<(usize, usize)>,
}

impl TrialErrors {
    pub(crate) fn new(truth: &Truth) -> TrialErrors {
        let (levels, queries, bands) = (truth.levels.len(), truth.queries.len(), truth.bands.len());
        TrialErrors { levels, queries, bands, trials: vec![], undetermined: vec![] }
    }

    /// How many trials there were.
    pub(crate) fn trials(&self) -> u32 {
        self.trials.len() as u32
    }

    /// What is added from now on is of another trial.
    pub(crate) fn next_trial(&mut self) {
        self.trials.push(vec![Sums::default(); self.levels * self.queries * self.bands]);
    }

    fn place(&self, level: usize, query: usize, band: usize) -> usize {
        (level * self.queries + query) * self.bands + band
    }

    /// Adds the answers of a unit; none if they are not determined.
    pub(crate) fn add(&mut self, truth: &Truth, answers: &Answers<'_>) {
        let Answers { level, unit, query, exact, found } = *answers;
        let Some(found) = found else {
            if !self.undetermined.contains(&(level, query)) {
                self.undetermined.push((level, query));
            }
            return;
        };
        let place = self.place(level, query, truth.band(level, unit));
        let sums = &mut self.trials.last_mut().expect("a trial was begun")[place];
        sums.answers += found.len() as u64;
        for (found, exact) in found.iter().zip(exact) {
            let error = found - exact;
            sums.signed += error;
            sums.absolute += error.abs();
            sums.squared += error * error;
        }
    }

    /// The errors of the answers to a query, of units of one size or of all; none if nobody answers it.
    pub(crate) fn figures(&self, level: usize, query: usize, band: Option<usize>) -> Option<ErrorFigures> {
        let means = |pick: fn(&Sums) -> f64| -> Option<Vec<f64>> {
            self.trials.iter().map(|trial| self.mean(trial, level, query, band, pick)).collect()
        };
        if self.undetermined.contains(&(level, query)) {
            return None;
        }
        let squared = TrialMean::of(&means(|sums| sums.squared)?);
        let rms = squared.mean.sqrt();
        // The root of a mean varies half as much as the mean, relatively.
        let standard_error = squared.standard_error.map(|se| if rms > 0.0 { se / 2.0 / rms } else { 0.0 });
        Some(ErrorFigures {
            mean_absolute: TrialMean::of(&means(|sums| sums.absolute)?),
            rms: TrialMean { mean: rms, standard_error },
            bias: TrialMean::of(&means(|sums| sums.signed)?),
        })
    }

    fn mean(
        &self,
        trial: &[Sums],
        level: usize,
        query: usize,
        band: Option<usize>,
        pick: fn(&Sums) -> f64,
    ) -> Option<f64> {
        let bands = band.map_or(0..self.bands, |band| band..band + 1);
        let sums = bands.map(|band| &trial[self.place(level, query, band)]);
        let sums = sums.fold(Sums::default(), Sums::plus);
        (sums.answers > 0).then(|| pick(&sums) / sums.answers as f64)
    }

    /// What part of the mean absolute error goes from here to there, where both have the same random words.
    pub(crate) fn reduction(
        &self,
        other: &TrialErrors,
        (level, query, band): (usize, usize, Option<usize>),
    ) -> Option<TrialMean> {
        let means = |errors: &TrialErrors| -> Option<Vec<f64>> {
            let trials = errors.trials.iter();
            trials.map(|trial| errors.mean(trial, level, query, band, |sums| sums.absolute)).collect()
        };
        if self.undetermined.contains(&(level, query)) || other.undetermined.contains(&(level, query)) {
            return None;
        }
        TrialMean::of_reduction(&means(self)?, &means(other)?)
    }
}

/// The answers of a unit to a query, and the true ones.
#[derive(Clone, Copy)]
pub(crate) struct Answers<'a> {
    pub(crate) level: usize,
    pub(crate) unit: usize,
    pub(crate) query: usize,
    pub(crate) exact: &'a [f64],
    /// None if they are not determined.
    pub(crate) found: Option<&'a [f64]>,
}

/// Errors of some answers, simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorFigures {
    /// The mean of the absolute errors.
    pub mean_absolute: TrialMean,
    /// The root of the mean squared error.
    pub rms: TrialMean,
    /// The mean error: above 0 if answers are too large.
    pub bias: TrialMean,
}

/// A mean over trials of a simulation, and how well the trials tell it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrialMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error; none of one trial.
    pub standard_error: Option<f64>,
}

impl TrialMean {
    /// Of independent trials, at least one.
    fn of(trials: &[f64]) -> TrialMean {
        let n = trials.len() as f64;
        let mean = trials.iter().sum::<f64>() / n;
        let squares: f64 = trials.iter().map(|x| (x - mean) * (x - mean)).sum();
        TrialMean { mean, standard_error: (n > 1.0).then(|| (squares / (n - 1.0) / n).sqrt()) }
    }

    /// Of what part of a mean goes, from pairs of before and after; none if there is nothing before.
    fn of_reduction(before: &[f64], after: &[f64]) -> Option<TrialMean> {
        let mean = TrialMean::of(before).mean;
        if mean == 0.0 || before.len() != after.len() {
            return None;
        }
        let ratio = TrialMean::of(after).mean / mean;
        // A ratio of means varies as the mean of what is left of each pair (delta method).
        let left: Vec<f64> = before.iter().zip(after).map(|(b, a)| (a - ratio * b) / mean).collect();
        Some(TrialMean { mean: 1.0 - ratio, ..TrialMean::of(&left) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_has_the_standard_error_of_its_pairs() {
        let close = |x: Option<f64>, y: f64| assert!((x.unwrap() - y).abs() < 1e-12, "{x:?} {y}");
        let mean = TrialMean::of(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!(mean.mean, 3.0);
        close(mean.standard_error, (14.0f64 / 3.0 / 4.0).sqrt());
        assert_eq!(TrialMean::of(&[2.0]).standard_error, None);
        // Pairs that move together say exactly what went; others do not.
        let exact = TrialMean::of_reduction(&[1.0, 3.0], &[0.5, 1.5]).unwrap();
        assert_eq!((exact.mean, exact.standard_error), (0.5, Some(0.0)));
        let loose = TrialMean::of_reduction(&[1.0, 3.0], &[1.5, 0.5]).unwrap();
        assert_eq!(loose.mean, 0.5);
        close(loose.standard_error, 0.5);
        assert_eq!(TrialMean::of_reduction(&[0.0, 0.0], &[0.0, 0.0]), None);
    }
}
