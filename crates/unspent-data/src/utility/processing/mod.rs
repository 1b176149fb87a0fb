//! What noise does to tables as they are published: after estimation, and as whole tables that add up.
//!
//! ```text
//! table ─▶ KnownTables ─▶ trials ─▶ raw, cut at zero, estimate, whole tables ─▶ Processed ─▶ report
//! allocations ─▶ noise ──┘          (each with the noise of every allocation)
//! ```
//!
//! Expectations of whole tables cannot be summed, so that all here is simulated. The noise of all allocations
//! is made from the same random words in a trial: what changes is told better than each by itself.

mod document;
mod rows;
mod shares;

use std::path::PathBuf;

use unspent::schema::Schema;
use unspent::{Allocation, DiscreteGaussian, Error, Rational, Result};

pub use self::rows::{ErrorRow, ProcessingReport, ShareFigures, ShareRow};
pub use self::shares::Proportion;
use self::shares::{DistrictSums, Districts, ShareSums};
use super::evaluation::check_bands;
use crate::estimate::{ErrorFigures, KnownUnit, Releases, Stage, TrialErrors, TrialMean, Truth, WholeTables};
use crate::plan::{LevelQueries, Plan, Query, UnitBudget};
use crate::progress::Progress;
use crate::table::TakeRow;
use crate::tabulation::{Batch, Feed, RowOrder};
use crate::units::Units;

/// Most trials of one run.
pub const MAX_PROCESSING_TRIALS: u64 = 10_000;

/// How many trials there are unless it is said otherwise.
pub const PROCESSING_TRIALS: u64 = 10;

/// What is asked of a table.
#[derive(Clone, Debug)]
pub struct ProcessingQuestion {
    /// How the table is read.
    pub schema: Schema,
    /// The releases that are compared; the first is what the others are compared with. No unit is bypassed.
    pub allocations: Vec<Allocation>,
    /// Where bands of the units' sizes begin, ascending from 0.
    pub bands: Vec<u64>,
    /// What tells the groups apart whose shares are looked at; unless given, the first attribute with more
    /// than two values.
    pub shares_of: Option<Vec<String>>,
    /// Maps of the smallest units to districts, whose shares are looked at too: CSV files with a unit's code
    /// in the first column and a district in every other.
    pub districts: Vec<PathBuf>,
    /// What is looked at.
    pub stages: Vec<Stage>,
    /// How many times everything is done.
    pub trials: u64,
    /// The seed of the noise.
    pub seed: u64,
}

/// A question that was checked, and how the table is read for it.
pub struct Processing {
    question: ProcessingQuestion,
    plan: Plan,
    all: Vec<String>,
}

/// What was read.
pub struct KnownTables {
    processing: Processing,
    rows: u64,
    levels: Vec<Vec<KnownUnit>>,
}

/// Errors of every release at every stage.
pub struct Processed {
    truth: Truth,
    rows: u64,
    trials: u64,
    bands: Vec<u64>,
    shares_of: Vec<String>,
    stages: Vec<Stage>,
    /// For each release and each stage.
    errors: Vec<Vec<TrialErrors>>,
    shares: Vec<Vec<ShareSums>>,
    /// The columns of the maps, and what was counted of their districts.
    maps: Vec<String>,
    districts: Vec<Vec<DistrictSums>>,
}

impl Processing {
    /// Checks the question.
    pub fn new(question: ProcessingQuestion) -> Result<Processing> {
        check_bands(&question.bands)?;
        if question.trials == 0 || question.trials > MAX_PROCESSING_TRIALS {
            let allowed = format!("a whole number between 1 and {MAX_PROCESSING_TRIALS}");
            return Err(Error::input("trials", question.trials, allowed, "10 are enough for most"));
        }
        let attributes = question.schema.attributes();
        if let Some(optional) = attributes.iter().find(|attribute| attribute.optional) {
            return Err(Error::stated(
                format!(
                    "attribute `{}`: records may lack it, so that no table has all of them",
                    optional.name
                ),
                "give such records a value of their own in the schema",
            ));
        }
        let all: Vec<String> = attributes.iter().map(|attribute| attribute.name.clone()).collect();
        let Some(layout) = question.schema.layout() else {
            let cause = "the schema does not say how a table is read";
            return Err(Error::stated(cause, "add a [table] to it; examples/blocks.toml is an example"));
        };
        let has = |allocation: &Allocation, name: &str| allocation.levels().iter().any(|l| l.name == name);
        let levels = layout.levels().iter().map(|level| level.name.as_str());
        let levels: Vec<&str> =
            levels.filter(|name| question.allocations.iter().all(|a| has(a, name))).collect();
        if levels.is_empty() {
            return Err(Error::stated(
                "no level of the table is a level of every allocation",
                "name the levels of both alike",
            ));
        }
        // Noise has no part in it: the plan tabulates.
        let noise = (DiscreteGaussian::new(Rational::from(1), 1)?, Rational::from(1));
        let level = |level| LevelQueries {
            level,
            budgets: vec![UnitBudget { levels: vec![String::from(level)] }],
            queries: vec![Query {
                name: "cells",
                by: &all,
                noises: vec![(noise.0.clone().into(), noise.1.clone())],
            }],
            exact: vec![],
        };
        let plan = Plan::new(&question.schema, levels.into_iter().map(level))?;
        Ok(Processing { question, plan, all })
    }

    /// What is tabulated, and from which columns.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Reads a table: `rows` gives each row's codes and counts to what it is given.
    ///
    /// Without a list of units, the units are those of the table.
    pub fn read(
        self,
        units: Option<&Units>,
        rows: impl FnOnce(&mut TakeRow<'_>) -> Result<()>,
    ) -> Result<KnownTables> {
        let mut levels: Vec<Vec<KnownUnit>> = self.plan.levels().iter().map(|_| vec![]).collect();
        let cells = self.plan.levels()[0].queries[0].length();
        let mut full = |batch: Batch| {
            for (code, values) in batch.codes().iter().zip(batch.exact(0).chunks_exact(cells)) {
                let counted = values.iter().zip(0..).filter(|(count, _)| **count != 0);
                let table = counted.map(|(count, cell)| (cell, *count)).collect();
                levels[batch.level()].push(KnownUnit { code: code.clone(), noise: Some(0), table });
            }
            Ok(())
        };
        let mut feed = match units {
            Some(_) => Feed::new("table", &self.plan, units, false, RowOrder::Any)?,
            None => Feed::of_table(&self.plan)?,
        };
        rows(&mut |row| feed.row(row, &mut full))?;
        let rows = feed.finish(&mut full)?;
        Ok(KnownTables { processing: self, rows, levels })
    }

    /// What tells the groups apart whose shares are looked at; nothing if there are no groups.
    fn groups(&self) -> Vec<String> {
        let attributes = self.question.schema.attributes();
        let many = attributes.iter().find(|attribute| attribute.values.len() > 2);
        let first = many.or(attributes.first()).map(|attribute| attribute.name.clone());
        self.question.shares_of.clone().unwrap_or_else(|| first.into_iter().collect())
    }
}

impl KnownTables {
    /// How many cells the smallest units have, all together.
    #[must_use]
    pub fn cells(&self) -> u64 {
        let units = self.levels.last().map_or(0, Vec::len);
        (units * self.processing.plan.levels()[0].queries[0].length()) as u64
    }

    /// The same with another number of trials, at least one.
    #[must_use]
    pub fn with_trials(mut self, trials: u64) -> KnownTables {
        self.processing.question.trials = trials.clamp(1, MAX_PROCESSING_TRIALS);
        self
    }

    /// Makes every release again and again.
    pub fn simulate(self, progress: &mut dyn Progress) -> Result<Processed> {
        let KnownTables { processing, rows, levels: known } = self;
        let shares_of = processing.groups();
        let Processing { question, plan, all } = processing;
        let ProcessingQuestion { schema, allocations, bands, stages, trials, seed, districts, .. } = question;
        let names: Vec<String> = plan.levels().iter().map(|level| level.name.clone()).collect();
        // Whole tables are of all attributes: their cells are looked at as well.
        let cells = all.join(" * ");
        let groups = shares_of.join(" * ");
        let asked = [(unspent_estimate::TOTAL, &[][..]), (&groups, &shares_of), (&cells, &all)];
        let releases = Releases::new(&schema, &allocations, &names, known, &asked)?;
        let from = |from: &u64| i64::try_from(*from).unwrap_or(i64::MAX);
        let truth = releases.truth(&bands.iter().map(from).collect::<Vec<_>>())?;
        let by_groups = truth.query_by(&schema, &shares_of)?;
        let maps = Districts::read(&districts, &truth)?;
        let smallest = truth.levels.len() - 1;
        let sums = maps.as_ref().map(DistrictSums::new).unwrap_or_default();
        let mut districts = vec![vec![sums; Stage::ALL.len()]; allocations.len()];
        let tables = WholeTables::default();
        let simulations = releases.simulations(&tables);
        let of_each = |count: usize| -> Vec<Vec<TrialErrors>> {
            vec![vec![TrialErrors::new(&truth); Stage::ALL.len()]; count]
        };
        let mut errors = of_each(simulations.len());
        let mut shares = vec![vec![ShareSums::new(&truth); Stage::ALL.len()]; simulations.len()];
        for trial in 0..trials {
            let each = simulations.iter().zip(&mut errors).zip(&mut shares).zip(&mut districts);
            for (((simulation, errors), shares), districts) in each {
                errors.iter_mut().for_each(TrialErrors::next_trial);
                simulation.trial(&truth, seed.wrapping_add(trial), &stages, &mut |stage, answers| {
                    errors[stage.number()].add(&truth, answers);
                    if answers.query == by_groups && !shares_of.is_empty() {
                        shares[stage.number()].add(&truth, answers);
                        if let Some(maps) = maps.as_ref().filter(|_| answers.level == smallest) {
                            districts[stage.number()].add(maps, answers);
                        }
                    }
                })?;
                if let Some(maps) = &maps {
                    stages.iter().for_each(|stage| districts[stage.number()].next_trial(maps));
                }
            }
            progress.rows(trial + 1, Some((trial + 1) as f64 / trials as f64));
        }
        let maps = maps.map_or(vec![], |districts| districts.maps);
        Ok(Processed { truth, rows, trials, bands, shares_of, stages, errors, shares, maps, districts })
    }
}

impl Processed {
    fn place(&self, level: &str, query: &str) -> Option<(usize, usize)> {
        let level = self.truth.levels.iter().position(|known| known.name == level)?;
        Some((level, self.truth.queries.iter().position(|known| known.name == query)?))
    }

    /// The names of the levels, from the largest areas to the smallest, and how many units they have.
    pub fn levels(&self) -> impl Iterator<Item = (&str, usize)> {
        self.truth.levels.iter().map(|level| (level.name.as_str(), level.units.len()))
    }

    /// How many times everything was done.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.trials
    }

    /// The names of the queries.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.truth.queries.iter().map(|query| query.name.as_str())
    }

    /// The errors of a release, for all sizes of units together.
    #[must_use]
    pub fn figures(&self, release: usize, stage: Stage, level: &str, query: &str) -> Option<ErrorFigures> {
        let (level, query) = self.place(level, query)?;
        self.errors[release][stage.number()].figures(level, query, None)
    }

    /// What part of the mean absolute error goes from the first release to another.
    #[must_use]
    pub fn reduction(&self, release: usize, stage: Stage, level: &str, query: &str) -> Option<TrialMean> {
        let (level, query) = self.place(level, query)?;
        let [before, after] = [0, release].map(|release| &self.errors[release][stage.number()]);
        before.reduction(after, (level, query, None))
    }
}
