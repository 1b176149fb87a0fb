//! A release that several processes measure: what each of them needs, and nothing that a retry could double.
//!
//! ```text
//! one process:   allocation ─▶ Distributed (certificate, plan) ─▶ its text ──┐     files of the end
//! many:          rows ─▶ TableReader ─▶ codes and cells ─▶ sums by unit ─▶ UnitNoise ─▶ noisy values
//!                                                (their own business)       (key)
//! ```
//!
//! Rows are read, codes are cut, cells are added up to queries and noise is added by the same code as in
//! [`Measure`](crate::Measure): with the same key the values are the same. Who adds cells up by unit is
//! somebody else, who must see to it that each unit of a level has its noise made over one set of counts.

mod described;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use unspent::sampler::Key;
use unspent::schema::{Rows, Schema};
use unspent::{Allocation, Certificate, Delta, Error, Result};

pub use self::described::Described;
pub use self::tasks::{ReadRows, TableReader, Texts, UnitCounts, UnitNoise};
use crate::approval::{About, Approved, check_exact};
use crate::manifest::{self, ExactEntry, FileEntry, LevelEntry, assumes};
use crate::plan::{Plan, RowSource};
use crate::units;

/// What is to be measured by several processes.
pub struct DistributedPlan {
    /// What is asked, and with what noise.
    pub allocation: Allocation,
    /// How the table is read; as the allocation says, unless given.
    pub schema: Option<Schema>,
    /// What a row is; as the schema says, unless given.
    pub rows: Option<Rows>,
    /// Whether there is a list of all units of the smallest level.
    pub listed: bool,
    /// Measures all units, although the allocation is for a system that bypasses some.
    pub without_bypass: bool,
    /// The δ of the certificate; that of the allocation unless given.
    pub delta: Option<Delta>,
    /// Measures although the ε that the allocation states is not kept.
    pub break_promise: bool,
}

/// A release that may be measured by several processes: its certificate was made.
pub struct Distributed {
    approved: Approved,
    listed: bool,
}

/// What is said of a run that has come to its end.
#[derive(Clone, Debug)]
pub struct DistributedRun {
    /// The table's name.
    pub table: String,
    /// How many units the smallest level has, if the table has a row for each.
    pub rows: Option<u64>,
    /// The seed, if the key was made from one.
    pub not_private_seed: Option<u64>,
    /// As in `2020-04-01T12:00:00Z`.
    pub started: String,
    /// The same.
    pub finished: String,
    /// The files of each level, by its name.
    pub levels: Vec<(String, Vec<FileEntry>)>,
    /// The files of what is published exactly of each level that has something.
    pub exact: Vec<(String, Vec<FileEntry>)>,
}

impl DistributedPlan {
    /// Checks all that can be checked before a row is read, as [`Measure`](crate::Measure) does.
    pub fn approve(self) -> Result<Distributed> {
        let allocation = match self.schema {
            Some(schema) => self.allocation.with_schema(schema),
            None => self.allocation,
        };
        let allocation = match self.rows {
            Some(rows) => allocation.with_rows(rows),
            None => allocation,
        };
        if self.listed && !self.without_bypass && allocation.production().bypass.is_some() {
            return Err(Error::stated(
                format!("`{}` is for a system that bypasses units", allocation.name()),
                "several processes measure all units: say that none is bypassed, or measure on one machine",
            ));
        }
        let allocation = allocation.without_bypass();
        let plan = Plan::of(&allocation)?;
        check_exact(&allocation, &plan, None)?;
        if !self.listed && !plan.public().is_empty() {
            return Err(Error::stated(
                "exact columns need a list of units",
                "give a list of all units of the smallest level, in a table of its own",
            ));
        }
        if !self.listed && !matches!(plan.rows(), RowSource::Cells(_)) {
            return Err(units::no_list("table"));
        }
        let approved = Approved::new(allocation, plan, self.delta, self.break_promise)?;
        Ok(Distributed { approved, listed: self.listed })
    }
}

impl Distributed {
    /// The allocation as it is written beside the measurements: all that other processes need to know.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.approved.file
    }

    /// What the release guarantees.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.approved.certificate
    }

    /// What is asked of which units, as plain data.
    #[must_use]
    pub fn described(&self) -> Described {
        Described::new(self.approved.allocation.name(), &self.approved)
    }

    /// All files of the directory but the measurements, by name.
    ///
    /// Fails unless the files that were written have what the plan asks of each of their units.
    pub fn files(&self, run: DistributedRun) -> Result<Vec<(String, Vec<u8>)>> {
        let DistributedRun { table, rows, not_private_seed, started, finished, levels, exact } = run;
        let plan = &self.approved.plan;
        let (mut noisy, mut declared) = (vec![], vec![]);
        let (mut written, mut written_exact) = (by_level(levels)?, by_level(exact)?);
        for (level, folder) in plan.levels().iter().zip(manifest::folders(plan)) {
            let missing = || Error::stated(format!("level `{}` was not written", level.name), NOT_ALL);
            let files = written.remove(&level.name).ok_or_else(missing)?;
            let units = files.iter().map(|file| file.units).sum();
            if !level.exact.is_empty() {
                let exact = written_exact.remove(&level.name).ok_or_else(missing)?;
                let same = exact.iter().map(|file| file.units).sum::<u64>() == units;
                if !same || exact.iter().any(|file| file.rows != file.units * level.exact.len() as u64) {
                    let cause = format!("level `{}`: its exact values are of other units", level.name);
                    return Err(Error::stated(cause, NOT_ALL));
                }
                declared.push(ExactEntry::new(level, format!("exact-{folder}"), units, exact));
            }
            noisy.push(LevelEntry::new(level, folder, &[units], files));
        }
        if let Some(level) = written.into_keys().chain(written_exact.into_keys()).next() {
            return Err(Error::stated(format!("level `{level}` is not measured"), NOT_ALL));
        }
        let about = About {
            table,
            rows,
            warning: not_private_seed.map(Key::not_private_warning),
            started,
            finished,
            assumes: format!("{} {DETERMINISTIC}", assumes(plan, self.listed)),
        };
        let mut manifest = self.approved.manifest(about, noisy, declared, None);
        let value = |certificate| serde_json::to_value(certificate).expect("strings, numbers and lists");
        manifest
            .clone()
            .with_certificate(value)
            .check()
            .map_err(|cause| Error::stated(format!("{}: {cause}", manifest::FILE), NOT_ALL))?;
        Ok(self.approved.files(&mut manifest, &[]))
    }
}

fn by_level(levels: Vec<(String, Vec<FileEntry>)>) -> Result<HashMap<String, Vec<FileEntry>>> {
    let mut all = HashMap::new();
    for (level, files) in levels {
        if all.contains_key(&level) {
            return Err(Error::stated(format!("level `{level}` is there twice"), NOT_ALL));
        }
        all.insert(level, files);
    }
    Ok(all)
}

/// Why a manifest cannot be made.
const NOT_ALL: &str = "every unit of every level has its row of every query, in files that are all named";

/// What else a release rests on that several processes measure.
const DETERMINISTIC: &str = "Noise was made by address on several machines: what they computed from the \
                             table must be the same whenever it is computed, and the table must not have \
                             changed meanwhile.";
