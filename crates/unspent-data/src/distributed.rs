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

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use unspent::sampler::{Key, ReleaseKey};
use unspent::schema::{Rows, Schema};
use unspent::{Allocation, Certificate, Delta, Error, Rational, Result};

use crate::approval::{About, Approved, check_exact};
use crate::codes::{self, MAX_CODE};
use crate::manifest::{self, ExactEntry, FileEntry, LevelEntry, assumes};
use crate::measurements::notes;
use crate::noise::Noises;
use crate::plan::{CellSource, CodeSource, Plan, PlannedLevel, PlannedQuery, QueryNoise, RowSource};
use crate::progress::Quiet;
use crate::table::{Columns, Input, Table, Wanted};
use crate::tabulation::{Batch, NoisyBatch, RowReader};
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
        let mut written = levels.into_iter().collect::<HashMap<_, _>>();
        let mut written_exact = exact.into_iter().collect::<HashMap<_, _>>();
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
        let manifest = self.approved.manifest(about, noisy, declared, None);
        let value = |certificate| serde_json::to_value(certificate).expect("strings, numbers and lists");
        manifest
            .clone()
            .with_certificate(value)
            .check()
            .map_err(|cause| Error::stated(format!("{}: {cause}", manifest::FILE), NOT_ALL))?;
        Ok(self.approved.files(&manifest, &[]))
    }
}

/// Why a manifest cannot be made.
const NOT_ALL: &str = "every unit of every level has its row of every query, in files that are all named";

/// What else a release rests on that several processes measure.
const DETERMINISTIC: &str = "Noise was made by address on several machines: what they computed from the \
                             table must be the same whenever it is computed, and the table must not have \
                             changed meanwhile.";

/// A plan as plain data.
#[derive(Debug, Serialize)]
pub struct Described {
    name: String,
    neighbours: String,
    /// What a row is: `units`, `counts` or `records`.
    rows: &'static str,
    columns: DescribedColumns,
    /// The column with a number of its own for each record.
    id: Option<String>,
    /// The columns of the list of units that are published.
    public: Vec<String>,
    cells: DescribedCells,
    /// All levels of the table.
    code_levels: Vec<DescribedCode>,
    /// The levels that are measured.
    levels: Vec<DescribedLevel>,
    /// What every file of measurements says of itself, but whether its noise is private.
    file_metadata: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct DescribedColumns {
    codes: Vec<String>,
    values: Vec<String>,
    counts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DescribedCells {
    /// How many the histogram has.
    size: u64,
    /// Those that a row has, where it is a unit.
    listed: Option<Vec<u64>>,
    /// What makes each of these.
    columns: Option<Vec<DescribedCell>>,
}

/// A cell of a row: a column, less some others.
#[derive(Debug, Serialize)]
struct DescribedCell {
    column: String,
    minus: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DescribedCode {
    name: String,
    /// The first characters of a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    /// Columns, joined if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    joined: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct DescribedLevel {
    name: String,
    folder: String,
    exact_folder: Option<String>,
    smallest: bool,
    depth: usize,
    queries: Vec<DescribedQuery>,
    exact: Vec<DescribedExact>,
}

#[derive(Debug, Serialize)]
struct DescribedQuery {
    name: String,
    shape: Vec<u32>,
    length: usize,
    mechanism: &'static str,
    sigma2: Option<String>,
    scale: Option<String>,
    variance: f64,
    rho: String,
    plb: f64,
}

#[derive(Debug, Serialize)]
struct DescribedExact {
    name: String,
    shape: Vec<u32>,
    length: usize,
    /// Whether its values are copied from the list of units.
    public: bool,
}

impl Described {
    fn new(name: &str, approved: &Approved) -> Described {
        let plan = &approved.plan;
        let layout = plan.layout();
        let Wanted { codes, values, counts } = plan.columns();
        let columns =
            DescribedColumns { codes: codes.into(), values: values.into(), counts: counts.into() };
        let (rows, id) = match layout.rows() {
            Rows::Units(_) => ("units", None),
            Rows::Counts(_) => ("counts", None),
            Rows::Records(id) => ("records", id.clone()),
        };
        let sources = match plan.rows() {
            RowSource::Cells(sources) => Some(sources),
            RowSource::Values { .. } => None,
        };
        let cell = |source: &CellSource| DescribedCell {
            column: counts[source.column].clone(),
            minus: source.minus.iter().map(|less| counts[*less].clone()).collect(),
        };
        let cells = DescribedCells {
            size: plan.cells().count(),
            listed: sources.map(|sources| sources.iter().map(|source| source.cell).collect()),
            columns: sources.map(|sources| sources.iter().map(cell).collect()),
        };
        let code = |(source, level): (&CodeSource, &unspent::schema::UnitLevel)| match source {
            CodeSource::Prefix { column, length } => DescribedCode {
                name: level.name.clone(),
                prefix: Some(*length),
                column: Some(codes[*column].clone()),
                columns: None,
                joined: None,
            },
            CodeSource::Columns(columns) => DescribedCode {
                name: level.name.clone(),
                prefix: None,
                column: None,
                columns: Some(columns.iter().map(|column| codes[*column].clone()).collect()),
                joined: Some("-"),
            },
        };
        let level = |(level, folder): (&PlannedLevel, String)| DescribedLevel {
            name: level.name.clone(),
            exact_folder: (!level.exact.is_empty()).then(|| format!("exact-{folder}")),
            folder,
            smallest: level.depth + 1 == plan.codes().len(),
            depth: level.depth,
            queries: level.queries.iter().map(DescribedQuery::new).collect(),
            exact: level.exact.iter().map(DescribedExact::new).collect(),
        };
        Described {
            name: name.into(),
            neighbours: approved.allocation.neighbours().to_string(),
            rows,
            columns,
            id,
            public: plan.public().to_vec(),
            cells,
            code_levels: plan.codes().iter().zip(layout.levels()).map(code).collect(),
            levels: plan.levels().iter().zip(manifest::folders(plan)).map(level).collect(),
            file_metadata: notes(name).into_iter().collect(),
        }
    }
}

impl DescribedQuery {
    fn new(query: &PlannedQuery) -> DescribedQuery {
        let QueryNoise { mechanism, rho, variance, plb } = &query.noises[0];
        let text = |x: &Rational| x.to_decimal_or_fraction();
        DescribedQuery {
            name: query.name.clone(),
            shape: query.shape.clone(),
            length: query.length(),
            mechanism: mechanism.kind(),
            sigma2: mechanism.sigma2().map(text),
            scale: mechanism.laplace_scale().map(text),
            variance: *variance,
            rho: text(rho),
            plb: *plb,
        }
    }
}

impl DescribedExact {
    fn new(query: &PlannedQuery) -> DescribedExact {
        DescribedExact {
            name: query.name.clone(),
            shape: query.shape.clone(),
            length: query.length(),
            public: query.public.is_some(),
        }
    }
}

/// The plan of [a text](Distributed::text).
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
    /// A reader for the plan of [a text](Distributed::text).
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
    /// The noise of a level, for the plan of [a text](Distributed::text).
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
            pushed.ok_or_else(|| crate::tabulation::overflow("a unit"))?;
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
            let error = Error::input("code", code, allowed, "codes are those of the table, cut for the level");
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
