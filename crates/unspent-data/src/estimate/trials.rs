//! Releases that are made again and again from known tables: noisy answers, estimates, whole tables.
//!
//! ```text
//! known tables ─▶ noisy answers ─▶ cut at zero
//!                      └▶ estimates ─▶ whole tables        each compared with the known answers
//! ```

use std::sync::Arc;

use serde::Serialize;
use unspent::schema::Schema;
use unspent::{Allocation, Result, stop};

use super::errors::{Answers, Truth};
use super::estimation::Estimation;
use super::input::Input;
use super::simulated::KnownUnit;
use super::whole::{self, Whole};
use super::{Estimate, WholeTables};
use crate::progress::Quiet;

/// What may be published of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The noisy answers as they are.
    Raw,
    /// The noisy answers, and zero where they are negative.
    Cut,
    /// The best linear unbiased estimates.
    Estimate,
    /// Whole tables that are not negative and add up.
    Whole,
}

impl Stage {
    /// From the noisy answers on.
    pub const ALL: [Stage; 4] = [Stage::Raw, Stage::Cut, Stage::Estimate, Stage::Whole];

    /// As it is called in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Raw => "raw",
            Stage::Cut => "cut at zero",
            Stage::Estimate => "estimate",
            Stage::Whole => "whole tables",
        }
    }

    /// Where it is among all of them.
    #[must_use]
    pub fn number(self) -> usize {
        self as usize
    }
}

/// Takes the answers of a unit at a stage.
pub(crate) type TakeAnswers<'t> = dyn FnMut(Stage, &Answers<'_>) + 't;

/// A release of known tables that can be made as often as one likes.
pub(crate) struct Simulation<'s> {
    input: &'s Input,
    known: &'s [Arc<Vec<KnownUnit>>],
    tables: WholeTables,
    structural_zeros: bool,
}

impl<'s> Simulation<'s> {
    pub(super) fn new(
        input: &'s Input,
        known: &'s [Arc<Vec<KnownUnit>>],
        tables: &WholeTables,
        structural_zeros: bool,
    ) -> Simulation<'s> {
        Simulation { input, known, tables: tables.clone(), structural_zeros }
    }

    /// Makes the release once, with the noise of a seed, and hands on the answers at some stages.
    pub(crate) fn trial(
        &self,
        truth: &Truth,
        seed: u64,
        stages: &[Stage],
        take: &mut TakeAnswers<'_>,
    ) -> Result<()> {
        stop::check();
        let (tables, structural_zeros) = (Some(self.tables.clone()), self.structural_zeros);
        let question = Estimate { structural_zeros, tables, ..Estimate::of_none() };
        let input = self.input.simulated(self.known, seed)?;
        let estimation = Estimation::simulated(&question, input)?;
        let mut compared = Compared { truth, exact: vec![], take };
        compared.noisy(&estimation, stages)?;
        if stages.contains(&Stage::Estimate) {
            compared.estimates(&estimation)?;
        }
        if stages.contains(&Stage::Whole) {
            let whole = whole::tables(&estimation, &self.tables, &mut Quiet)?;
            compared.whole(&estimation, &whole);
        }
        Ok(())
    }
}

/// Answers are compared with the true ones.
struct Compared<'c, 't> {
    truth: &'c Truth,
    exact: Vec<f64>,
    take: &'c mut TakeAnswers<'t>,
}

impl Compared<'_, '_> {
    fn pass(&mut self, stage: Stage, (level, unit, query): (usize, usize, usize), found: Option<&[f64]>) {
        let Compared { truth, exact, take } = self;
        truth.answers(&truth.levels[level].units[unit].table, query, exact);
        take(stage, &Answers { level, unit, query, exact, found });
    }

    fn noisy(&mut self, estimation: &Estimation, stages: &[Stage]) -> Result<()> {
        let input = &estimation.joined.first;
        for (level, of_level) in input.levels.iter().enumerate() {
            let by_name = of_level.queries.iter().map(|query| &query.by);
            let queries: Vec<usize> =
                by_name.map(|by| self.truth.query_by(&input.schema, by)).collect::<Result<_>>()?;
            let mut found = vec![];
            for part in 0..of_level.parts {
                input.each_unit(level, part, &mut |code, _, rows| {
                    let unit = self.truth.number(level, code);
                    for (query, row) in queries.iter().zip(rows) {
                        let at = (level, unit, *query);
                        for stage in [Stage::Raw, Stage::Cut] {
                            if !stages.contains(&stage) {
                                continue;
                            }
                            let least = if stage == Stage::Cut { 0 } else { i64::MIN };
                            found.clear();
                            found.extend(row.iter().map(|count| (*count).max(least) as f64));
                            self.pass(stage, at, Some(&found));
                        }
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn estimates(&mut self, estimation: &Estimation) -> Result<()> {
        let names: Vec<&str> = self.truth.queries.iter().map(|query| query.name.as_str()).collect();
        let only = vec![true; estimation.questions.asked.len()];
        let mut found = vec![];
        for level in 0..self.truth.levels.len() {
            estimation.each_unit(level, &only, &mut |code, query, answers| {
                let Some(query) = names.iter().position(|name| *name == query) else { return };
                let unit = self.truth.number(level, code);
                found.clear();
                found.extend(answers.iter().flatten().map(|answer| answer.value));
                let determined = found.len() == answers.len();
                self.pass(Stage::Estimate, (level, unit, query), determined.then_some(&found));
            })?;
        }
        Ok(())
    }

    fn whole(&mut self, estimation: &Estimation, whole: &Whole) {
        let space = estimation.joined.model.space();
        let mut found = vec![];
        for (level, units) in whole.levels.iter().enumerate() {
            for unit in units {
                let table = Whole::numbered(space, &unit.table);
                let number = self.truth.number(level, &unit.code);
                for query in 0..self.truth.queries.len() {
                    self.truth.answers(&table, query, &mut found);
                    self.pass(Stage::Whole, (level, number, query), Some(&found));
                }
            }
        }
    }
}

/// Tables that are known, and the releases of them whose errors are asked for.
pub(crate) struct Releases {
    inputs: Vec<Input>,
    known: Vec<Arc<Vec<KnownUnit>>>,
    structural_zeros: bool,
}

impl Releases {
    /// One release for each allocation; `levels` names the levels of the tables, and `asked` are answered
    /// besides the allocations' queries.
    pub(crate) fn new(
        schema: &Schema,
        allocations: &[Allocation],
        levels: &[String],
        known: Vec<Vec<KnownUnit>>,
        asked: &[(&str, &[String])],
    ) -> Result<Releases> {
        let known: Vec<Arc<Vec<KnownUnit>>> = known.into_iter().map(Arc::new).collect();
        let input = |allocation| Input::of_allocation(schema, allocation, levels, &known, asked);
        let inputs = allocations.iter().map(input).collect::<Result<_>>()?;
        Ok(Releases { inputs, known, structural_zeros: true })
    }

    pub(crate) fn truth(&self, bands: &[i64]) -> Result<Truth> {
        Truth::new(&self.inputs, &self.known, bands, &[])
    }

    pub(crate) fn simulations(&self, tables: &WholeTables) -> Vec<Simulation<'_>> {
        let of = |input| Simulation::new(input, &self.known, tables, self.structural_zeros);
        self.inputs.iter().map(of).collect()
    }
}
