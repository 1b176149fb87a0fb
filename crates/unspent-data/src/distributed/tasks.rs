//! What one of several processes does: rows become codes and cells, and sums of units get their noise.

use std::collections::HashSet;

use unspent::sampler::ReleaseKey;
use unspent::{Allocation, Error, Result};

use crate::codes::{self, MAX_CODE};
use crate::noise::Noises;
use crate::plan::{CodeSource, Plan, RowSource};
use crate::progress::Quiet;
use crate::table::{Columns, Input, Table, Wanted};
use crate::tabulation::{Batch, NoisyBatch, RowReader, overflow};
use crate::units;

/// The plan of [a text](super::Distributed::text).
fn plan_of(text: &str) -> Result<Plan> {
    Plan::of(&Allocation::parse("allocation.toml", text)?.without_bypass())
}

/// Texts one after the other: where each begins, and where the last ends; and their bytes.
#[derive(Clone, Debug)]
pub struct Texts {
    /// One more than there are texts.
    pub offsets: Vec<i32>,
    /// All of them.
    pub bytes: Vec<u8>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts { offsets: vec![0], bytes: vec![] }
    }
}

impl Texts {
    fn push(&mut self, text: &str) -> Result<()> {
        self.bytes.extend(text.as_bytes());
        let end = i32::try_from(self.bytes.len())
            .map_err(|_| Error::stated("the codes of the rows are too long", "give fewer rows at a time"))?;
        self.offsets.push(end);
        Ok(())
    }
}

/// Rows that were read.
#[derive(Clone, Debug, Default)]
pub struct ReadRows {
    /// For each level that is measured, and the smallest, the code of every row's unit.
    pub codes: Vec<(String, Texts)>,
    /// Of each count that is not 0, the row; ascending.
    pub rows: Vec<i64>,
    /// Its cell.
    pub cells: Vec<i64>,
    /// The count.
    pub counts: Vec<i64>,
    /// The public numbers of units, one unit after the other.
    pub public: Vec<i64>,
}

/// Reads rows of the table, or of the list of units, in one of several processes.
pub struct TableReader {
    plan: Plan,
}

impl TableReader {
    /// A reader for the plan of [a text](super::Distributed::text).
    pub fn new(text: &str) -> Result<TableReader> {
        Ok(TableReader { plan: plan_of(text)? })
    }

    /// The columns that are read.
    #[must_use]
    pub fn columns(&self) -> Wanted<'_> {
        self.plan.columns()
    }

    /// The columns of the list of units that are published.
    #[must_use]
    pub fn public(&self) -> &[String] {
        self.plan.public()
    }

    /// Some rows of the table, which need not be sorted.
    ///
    /// That numbers of records are new is looked at among these rows only.
    pub fn rows(&self, columns: Columns) -> Result<ReadRows> {
        let mut read = self.nothing_yet();
        let mut reader = RowReader::new(&self.plan);
        let table = Table::open(Input::Columns(columns), self.plan.columns())?;
        let mut number = 0;
        table.rows(&mut Quiet, &mut |row| {
            self.push_codes(row.codes, &mut read)?;
            for (cell, count) in reader.read(&row)? {
                read.rows.push(number);
                read.cells.push(cell.cast_signed());
                read.counts.push(*count);
            }
            number += 1;
            Ok(())
        })?;
        Ok(read)
    }

    /// Some rows of the list of units, which need not be sorted.
    pub fn units(&self, columns: Columns) -> Result<ReadRows> {
        let mut read = self.nothing_yet();
        let wanted = Wanted { values: &[], counts: self.plan.public(), ..self.plan.columns() };
        let table = Table::open(Input::Columns(columns), wanted)?;
        table.rows(&mut Quiet, &mut |row| {
            self.push_codes(row.codes, &mut read)?;
            read.public.extend(row.counts);
            Ok(())
        })?;
        Ok(read)
    }

    /// The depth of every level whose codes are wanted.
    fn depths(&self) -> impl Iterator<Item = usize> {
        let smallest = self.plan.codes().len() - 1;
        let others = self.plan.levels().iter().map(|level| level.depth).filter(move |d| *d != smallest);
        others.chain([smallest])
    }

    fn nothing_yet(&self) -> ReadRows {
        let name = |depth: usize| self.plan.layout().levels()[depth].name.clone();
        let codes = self.depths().map(|depth| (name(depth), Texts::default())).collect();
        ReadRows { codes, ..ReadRows::default() }
    }

    fn push_codes(&self, row: &[&str], read: &mut ReadRows) -> Result<()> {
        units::write_key(row, &mut String::new())?;
        codes::check_length(&self.plan, row)?;
        let mut joined = String::new();
        for (depth, (name, texts)) in self.depths().zip(&mut read.codes) {
            let code = codes::code(&self.plan.codes()[depth], row, &mut joined);
            texts.push(code.map_err(|e| e.at(format!("level `{name}`")))?)?;
        }
        Ok(())
    }
}

/// A unit of a level: its code, and the counts of its cells that are not 0, in any order.
pub struct UnitCounts<'u> {
    /// Its code.
    pub code: &'u str,
    /// The numbers of cells, and counts.
    pub cells: &'u [(u64, i64)],
    /// What the list of units says of it that is published.
    pub public: &'u [i64],
}

/// Adds noise to units of one level, in one of several processes.
pub struct UnitNoise {
    plan: Plan,
    level: usize,
    noises: Noises,
}

impl UnitNoise {
    /// The noise of a level, for the plan of [a text](super::Distributed::text).
    pub fn new(text: &str, key: &ReleaseKey, level: &str) -> Result<UnitNoise> {
        let plan = plan_of(text)?;
        let Some(at) = plan.levels().iter().position(|known| known.name == level) else {
            let known: Vec<&str> = plan.levels().iter().map(|level| level.name.as_str()).collect();
            let allowed = format!("one of the levels {}", known.join(", "));
            return Err(Error::input("level", level, allowed, "the allocation says which are measured"));
        };
        let noises = Noises::of(&plan, key, |known| known.name == level)?;
        Ok(UnitNoise { plan, level: at, noises })
    }

    /// How many cells the histogram has.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.plan.cells().count()
    }

    /// The cells that a row has, where it is a unit.
    #[must_use]
    pub fn listed(&self) -> Option<Vec<u64>> {
        match self.plan.rows() {
            RowSource::Cells(sources) => Some(sources.iter().map(|source| source.cell).collect()),
            RowSource::Values { .. } => None,
        }
    }

    /// How many numbers of each unit of the list are published.
    #[must_use]
    pub fn public(&self) -> usize {
        self.plan.public().len()
    }

    /// Whether these are published at this level, as some of what is exact.
    #[must_use]
    pub fn needs_public(&self, exact: bool) -> bool {
        exact && self.plan.levels()[self.level].exact.iter().any(|query| query.public.is_some())
    }

    /// The noisy answers of all queries for these units; with `exact` what is published exactly of them.
    pub fn measure<'u>(
        &self,
        units: impl Iterator<Item = Result<UnitCounts<'u>>>,
        exact: bool,
    ) -> Result<NoisyBatch> {
        let mut batch = Batch::new(&self.plan, self.level, exact);
        for unit in units {
            let UnitCounts { code, cells, public } = unit?;
            self.check_code(code)?;
            if cells.iter().any(|(_, count)| *count < 0) {
                return Err(Error::stated("a count of a cell is negative", "counts are never negative"));
            }
            if cells.iter().any(|(cell, _)| *cell >= self.cells()) {
                let cause = format!("a cell has a number beyond {}", self.cells() - 1);
                return Err(Error::stated(cause, "cells are numbered as the plan says"));
            }
            let pushed = batch.push(&self.plan, code, 0, 0, cells, public);
            pushed.ok_or_else(|| overflow("a unit"))?;
        }
        // Twice the same noise would publish the difference of the counts.
        let mut codes = HashSet::with_capacity(batch.codes().len());
        let ascending = batch.codes().is_sorted_by(|a, b| a < b);
        if !ascending && !batch.codes().iter().all(|code| codes.insert(code)) {
            return Err(Error::stated("a unit comes twice", "add its counts up before its noise is made"));
        }
        batch.with_noise(&self.noises)
    }

    /// Another text is another unit, with another noise: only codes as they are published are taken.
    fn check_code(&self, code: &str) -> Result<()> {
        let level = &self.plan.levels()[self.level];
        let refuse = |allowed: String| {
            let error =
                Error::input("code", code, allowed, "codes are those of the table, cut for the level");
            Err(error.at(format!("level `{}`", level.name)).concealed())
        };
        match self.plan.codes()[level.depth] {
            CodeSource::Prefix { length, .. } if code.chars().count() != length => {
                return refuse(format!("a code of {length} characters"));
            }
            CodeSource::Prefix { length: 0, .. } => return Ok(()),
            _ => {}
        }
        if code.is_empty() || code.len() > MAX_CODE || code.chars().any(char::is_control) {
            return refuse(format!("a code of at most {MAX_CODE} bytes"));
        }
        Ok(())
    }
}
