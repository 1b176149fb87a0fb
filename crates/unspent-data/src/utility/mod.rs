//! What noise does to a table of counts, with the noise of one allocation and with that of another.
//!
//! ```text
//! allocations, or noise as given ─▶ noise of each level ─▶ Evaluation ◀─ table
//!                                                          └▶ UtilityReport
//! ```

mod document;
mod errors;
mod estimation;
mod evaluation;
mod noises;
pub mod processing;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::Serialize;
use unspent::allocation::Level;
use unspent::mechanism::Stated;
use unspent::report::recalibration::Change;
use unspent::schema::{Rows, Schema};
use unspent::{Allocation, Delta, Error, ErrorKind, Promise, Rational, Result, Scaling};

pub(crate) use self::errors::NORMAL_95;
pub use self::errors::{Errors, Group, LevelErrors, NOT_PRIVATE, Pair, Simulated, SimulatedMean, Utility};
pub use self::estimation::{EstimateErrors, EstimatedFrom};
pub use self::evaluation::{Evaluation, LevelNoise, Question, TableRead};
pub(crate) use self::noises::variance;
pub use self::processing::ProcessingReport;
use self::processing::{PROCESSING_TRIALS, Processing, ProcessingQuestion};
use crate::estimate::Stage;
use crate::noise::NoiseSource;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::run::all_cores;
use crate::table::{Input, Table};
use crate::units::{UnitColumns, UnitList, Units};

/// Most trials of one run.
pub const MAX_TRIALS: u64 = 1_000_000;

/// Where bands of the units' sizes begin unless it is said otherwise.
pub const BANDS: [u64; 5] = [0, 1, 10, 100, 1_000];

/// A table, and the noise whose effect on it is asked for.
pub struct UtilityQuestion {
    /// The table.
    pub table: Input,
    /// How it is read; as the first allocation or a file beside the table says, unless given.
    pub schema: Option<Schema>,
    /// What a row is; as the schema says, unless given.
    pub rows: Option<Rows>,
    /// The list of all units of the smallest level. Without one, the units are those of the table.
    pub units: UnitList,
    /// The allocation whose noise it is before.
    pub before: Option<Allocation>,
    /// Whose noise it is after.
    pub after: After,
    /// Noise of single levels, given directly.
    pub given: Vec<GivenNoise>,
    /// The query whose noise is a level's; needed where queries have different noise.
    pub query: Option<String>,
    /// The attributes whose cells are looked at; all of the table's unless given.
    pub by: Option<Vec<String>>,
    /// Maps of the smallest units to districts, whose shares are looked at after processing.
    pub districts: Vec<PathBuf>,
    /// Where bands of the units' sizes begin.
    pub bands: Vec<u64>,
    /// The δ of every ε; that of the allocation unless given.
    pub delta: Option<Delta>,
    /// How many times the noise is drawn besides.
    pub trials: u64,
    /// Where that noise comes from.
    pub noise: NoiseSource,
    /// How many threads draw it.
    pub threads: NonZeroUsize,
}

/// Whose noise it is after.
#[derive(Clone, Debug)]
pub enum After {
    /// The same allocation, spending what it promises.
    Calibrated(Scaling),
    /// Another allocation.
    Allocation(Box<Allocation>),
}

/// The noise of a level, given directly.
#[derive(Clone, Debug)]
pub struct GivenNoise {
    /// Under which name it was given, for messages.
    pub stated: Stated,
    /// The level; capitals do not matter.
    pub level: String,
    /// σ² before.
    pub before: Rational,
    /// σ² after; unless given, it changes as that of the allocation does.
    pub after: Option<Rational>,
}

/// The errors of a table, and whose noise they are of.
#[derive(Clone, Debug, Serialize)]
pub struct UtilityReport {
    /// The errors.
    #[serde(flatten)]
    pub errors: Utility,
    /// None if the noise was given directly: no ε is known of it.
    pub change: Option<Change>,
    /// Levels of the allocation that the table does not have.
    #[serde(skip)]
    pub left_out: Vec<String>,
}

impl UtilityQuestion {
    /// About a table; nothing says yet whose noise.
    #[must_use]
    pub fn new(table: Input) -> UtilityQuestion {
        UtilityQuestion {
            table,
            schema: None,
            rows: None,
            units: UnitList::Rows,
            before: None,
            after: After::Calibrated(Scaling::Total),
            given: vec![],
            query: None,
            by: None,
            districts: vec![],
            bands: BANDS.to_vec(),
            delta: None,
            trials: 0,
            noise: NoiseSource::Private,
            threads: all_cores(),
        }
    }

    /// Reads the table and answers.
    pub fn answer(self, progress: &mut dyn Progress) -> Result<UtilityReport> {
        if self.trials > MAX_TRIALS {
            let allowed = format!("a whole number up to {MAX_TRIALS}");
            return Err(Error::input("trials", self.trials, allowed, "100 are enough for most"));
        }
        let schema = self.table.needed_schema(self.schema.clone(), self.before.as_ref())?;
        let schema = match &self.rows {
            Some(rows) => schema.with_rows(rows.clone()),
            None => schema,
        };
        let (after, change) = self.after()?;
        let layout = schema.layout().ok_or_else(|| self.table.no_layout())?;
        let (noises, left_out) = self.noises(layout, after.as_ref())?;
        // What the query is by whose noise it is, or all that is known.
        let query = self.query.as_ref().zip(self.before.as_ref());
        let query = query.and_then(|(name, a)| a.queries().iter().find(|query| query.name == *name));
        let by = self.by.or_else(|| query.map(|query| query.by.clone()));
        let by = by.unwrap_or_else(|| schema.attributes().iter().map(|a| a.name.clone()).collect());
        // With noise that is given directly the allocation's measurements are not those that are looked at.
        let releases = if self.given.is_empty() { self.before.zip(after).map(<[_; 2]>::from) } else { None };
        let question = Question { schema, by, noises, bands: self.bands, trials: self.trials, releases };
        let key = if self.trials > 0 { Some(self.noise.key(progress)?) } else { None };
        let evaluation = Evaluation::new(question, key.as_ref().map(|key| (key, self.threads)))?;
        let table = Table::open(self.table, evaluation.plan().columns())?;
        let units = read_units(self.units, evaluation.plan(), progress)?;
        let read = evaluation.read(units.as_ref(), |row| table.rows(progress, row))?;
        let errors = read.report(progress)?;
        Ok(UtilityReport { errors, change, left_out })
    }

    /// Reads the table, makes the tables that are published of it again and again with the noise before and
    /// after, and says how far they are from the truth.
    ///
    /// `by` tells the groups apart whose shares are looked at; `query` has no part in it.
    pub fn after_processing(self, progress: &mut dyn Progress) -> Result<ProcessingReport> {
        let schema = self.table.needed_schema(self.schema.clone(), self.before.as_ref())?;
        let schema = match &self.rows {
            Some(rows) => schema.with_rows(rows.clone()),
            None => schema,
        };
        if let Some(given) = self.given.first() {
            return Err(Error::stated(
                format!("{}: the noise of a level alone does not make tables", given.stated.name()),
                "give the allocations before and after, which say all that is measured",
            ));
        }
        let (after, change) = self.after()?;
        let Some((before, after)) = self.before.zip(after) else {
            let hint = "give an allocation: it says what is measured, and with what noise";
            return Err(Error::of_kind(ErrorKind::NoVariance, "no noise was given", hint));
        };
        let mut notes = vec![];
        if before.paths().len() > 1 || after.paths().len() > 1 {
            notes.push(
                "The allocation lets units be bypassed; here none is, and each has its level's noise.".into(),
            );
        }
        let allocations = vec![before.without_bypass(), after.without_bypass()];
        let layout = schema.layout().ok_or_else(|| self.table.no_layout())?;
        let has = |level: &Level| layout.levels().iter().any(|known| known.name == level.name);
        let left_out = allocations[0].levels().iter().filter(|level| !has(level));
        let left_out: Vec<&str> = left_out.map(|level| level.name.as_str()).collect();
        if !left_out.is_empty() {
            notes.push(format!("The table does not have the levels {}.", left_out.join(", ")));
        }
        let question = ProcessingQuestion {
            schema,
            allocations,
            bands: self.bands,
            shares_of: self.by,
            districts: self.districts,
            stages: Stage::ALL.to_vec(),
            trials: if self.trials == 0 { PROCESSING_TRIALS } else { self.trials },
            seed: self.noise.seed(progress),
        };
        let processing = Processing::new(question)?;
        let table = Table::open(self.table, processing.plan().columns())?;
        let units = read_units(self.units, processing.plan(), progress)?;
        let known = processing.read(units.as_ref(), |row| table.rows(progress, row))?;
        Ok(known.simulate(progress)?.report(1, change, notes))
    }

    /// The allocation after, and what the whole release delivers before and after.
    fn after(&self) -> Result<(Option<Allocation>, Option<Change>)> {
        let delta = self.delta.as_ref();
        match (&self.before, &self.after) {
            (None, _) => Ok((None, None)),
            (Some(before), After::Calibrated(scaling)) => {
                let promise = Promise::stated(before, delta, *scaling)?;
                let found = before.calibrate(&promise, *scaling, delta)?;
                let change = found.change();
                Ok((Some(found.allocation), Some(change)))
            }
            (Some(before), After::Allocation(after)) => {
                Ok((Some((**after).clone()), Change::between(before, after, delta)?))
            }
        }
    }
}

/// The list of units, if there is one.
fn read_units(units: UnitList, plan: &Plan, progress: &mut dyn Progress) -> Result<Option<Units>> {
    match units {
        UnitList::List(list) => Units::read(list, plan, UnitColumns::default(), progress).map(Some),
        _ => Ok(None),
    }
}
