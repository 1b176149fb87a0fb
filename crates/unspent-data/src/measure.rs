//! A table of counts becomes noisy measurements: as a directory that appears at the end, or in memory.
//!
//! ```text
//! table ─▶ Tabulation ─▶ noise ─▶ Parquet files ─▶ directory, with manifest and certificate
//!                              └▶ Measurements
//! ```

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use unspent::report::brief;
use unspent::report::document::{Document, Table as Lines};
use unspent::schema::{Rows, Schema};
use unspent::{Allocation, Certificate, Delta, Error, ErrorKind, Result, Round};

use crate::approval::{About, Approved, check_exact};
use crate::date;
use crate::directory::{self, Leftover, Unfinished};
use crate::manifest::{BypassedEntry, ExactEntry, LevelEntry, Manifest, assumes};
use crate::measurements::{BypassedUnits, Files, Kept, Measurements, Memory};
use crate::noise::{NoiseSource, Noises};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::run::{Sink, all_cores, run};
use crate::table::{Input, Table};
use crate::tabulation::{Feed, RowOrder};
use crate::units::{BypassRule, UnitColumns, UnitList, Units};

/// What is to be measured, and how.
///
/// ```
/// use unspent::Allocation;
/// use unspent_data::{Columns, Input, Measure, Quiet};
/// let allocation = Allocation::parse("budget.toml", r#"
///     name = "Towns"
///     neighbours = "add-remove"
///     delta = "1e-10"
///     [queries]
///     total = []
///     [[levels]]
///     name = "Town"
///     sigma2 = { total = 5 }
///     [table]
///     cells = [{ column = "people" }]
///     [table.levels]
///     Town = "town"
/// "#)?;
/// let towns = Columns::new(vec![
///     ("town".into(), vec!["a", "b"].into()),
///     ("people".into(), vec![120, 0].into()),
/// ])?;
/// let noisy = Measure::new(Input::Columns(towns), allocation).in_memory(&mut Quiet)?;
/// assert_eq!(noisy.levels[0].codes, ["a", "b"]);
/// assert!((noisy.levels[0].queries[0].values[0] - 120).abs() < 60);
/// # Ok::<(), unspent::Error>(())
/// ```
pub struct Measure {
    /// The table.
    pub table: Input,
    /// What is asked, and with what noise.
    pub allocation: Allocation,
    /// How the table is read; as the allocation or a file beside the table says, unless given.
    pub schema: Option<Schema>,
    /// What a row is; as the schema says, unless given.
    pub rows: Option<Rows>,
    /// The order in which the rows come, where they are not units.
    pub order: RowOrder,
    /// The list of all units of the smallest level, which is public.
    pub units: UnitList,
    /// A column of the list of units that says how many records each has, to be checked.
    pub check_total: Option<String>,
    /// Which units are bypassed. Unless given: the only children of their parents, if the allocation is for a
    /// system that bypasses units and there is a list of units; otherwise none.
    pub bypass: Option<BypassRule>,
    /// The δ of the certificate; that of the allocation unless given.
    pub delta: Option<Delta>,
    /// Where the noise comes from.
    pub noise: NoiseSource,
    /// How many threads.
    pub threads: NonZeroUsize,
    /// Measures although the ε that the allocation states is not kept.
    pub break_promise: bool,
}

/// What was measured and written.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was released.
    pub manifest: Manifest<Certificate>,
    /// The directory.
    pub path: PathBuf,
}

impl Measured {
    /// What was released, for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let Measured { manifest, path } = self;
        let mut text = Document::default();
        text.line(&manifest.allocation);
        if let Some(warning) = &manifest.warning {
            text.line(format!("WARNING: {warning}."));
        }
        text.line("");
        let noises = || manifest.levels.iter().flat_map(|level| level.queries.iter().map(|q| &q.noise));
        let laplace = noises().any(|noise| noise.scale.is_some());
        let noise = if laplace { "noise" } else { "sigma2" };
        let mut table = Lines::new(&["level", "units", "query", "values", noise, "measurements"]);
        for level in &manifest.levels {
            for (i, query) in level.queries.iter().enumerate() {
                let first = |text: String| if i == 0 { text } else { String::new() };
                table.row(vec![
                    first(level.level.clone()),
                    first(level.units.to_string()),
                    query.query_name.clone(),
                    query.query_shape.iter().map(u32::to_string).collect::<Vec<_>>().join(" × "),
                    // The manifest has it exactly.
                    match (&query.noise.sigma2, &query.noise.scale) {
                        (Some(sigma2), _) if laplace => format!("sigma2 = {}", brief(sigma2, Round::Up)),
                        (Some(sigma2), _) => brief(sigma2, Round::Up),
                        (None, Some(scale)) => format!("Laplace, b = {}", brief(scale, Round::Up)),
                        (None, None) => String::new(),
                    },
                    query.measurements.to_string(),
                ]);
            }
        }
        text.table(table);
        text.line("");
        for level in &manifest.levels {
            for budget in level.larger_budgets.iter().filter(|budget| budget.units > 0) {
                text.line(format!(
                    "Units of {} that have the budget of {} too, because their only part is bypassed: {} of \
                     {}.",
                    level.level,
                    budget.levels[1..].join(", "),
                    budget.units,
                    level.units,
                ));
            }
        }
        if let Some(BypassedEntry { file, levels }) = &manifest.bypassed {
            let levels: Vec<String> =
                levels.iter().map(|level| format!("{} of {}", level.units, level.level)).collect();
            text.line(format!("Units that are bypassed: {}. {file} lists them.", levels.join(", ")));
        }
        for level in &manifest.exact {
            let names: Vec<&str> = level.queries.iter().map(|query| query.query_name.as_str()).collect();
            text.line(format!("Published exactly for {}: {}.", level.level, names.join(", ")));
        }
        if manifest.private {
            text.line(format!("{} certificate.md has the rest.", manifest.certificate.in_short()));
            text.line(&manifest.assumes);
        } else {
            text.line("This output is not differentially private.");
        }
        text.line("Measuring the same records again spends the same budget again.");
        text.line(format!("Written to {}.", path.display()));
        text
    }
}

/// All that can be checked before anything is made.
struct Checked {
    approved: Approved,
    /// The list of units, if there is one.
    units: Option<Units>,
    /// Those of its units that are not measured, by level.
    bypassed: Vec<BypassedUnits>,
    /// Whether the units are those of the table.
    of_table: bool,
    order: RowOrder,
    /// The table's name.
    name: String,
    noise: NoiseSource,
    threads: NonZeroUsize,
}

/// A run that came to its end.
struct Ran {
    rows: u64,
    started: String,
    finished: String,
}

impl Measure {
    /// With private noise, on all cores.
    #[must_use]
    pub fn new(table: Input, allocation: Allocation) -> Measure {
        Measure {
            table,
            allocation,
            schema: None,
            rows: None,
            order: RowOrder::Any,
            units: UnitList::Rows,
            check_total: None,
            bypass: None,
            delta: None,
            noise: NoiseSource::Private,
            threads: all_cores(),
            break_promise: false,
        }
    }

    /// Measures into the directory `out`, which must not exist, and appears whole or not at all.
    pub fn to_directory(self, out: &Path, progress: &mut dyn Progress) -> Result<Measured> {
        // Without a dot at the end, which could not be renamed to.
        let path: PathBuf = out.components().collect();
        check_target(&path)?;
        let (checked, table) = self.check(progress)?;
        // Nothing is made on the disk before this, and nothing is checked after it but the rows.
        let unfinished = Unfinished::create(&path)?;
        #[cfg(debug_assertions)]
        crate::panics::injected("start");
        let (folder, warning) = (unfinished.folder(), checked.noise.warning());
        let Approved { plan, allocation, .. } = &checked.approved;
        let files = || Files::new(plan, &path, folder, allocation, warning.as_deref());
        let (files, ran) = checked.run(table, files, progress)?;
        let (levels, exact) = files.entries();
        let mut manifest = checked.manifest(ran, levels, exact);
        for (name, text) in checked.approved.files(&mut manifest, &checked.bypassed) {
            folder.write(&name, &text).map_err(|error| directory::failed(&path, error))?;
        }
        unfinished.finish()?;
        Ok(Measured { manifest, path })
    }

    /// Measures without writing anything.
    pub fn in_memory(self, progress: &mut dyn Progress) -> Result<Measurements> {
        let (checked, table) = self.check(progress)?;
        let plan = &checked.approved.plan;
        let (memory, ran) = checked.run(table, || Ok(Memory::new(plan)), progress)?;
        let Kept { entries, exact_entries, levels, exact } = memory.into_levels(plan);
        let manifest = checked.manifest(ran, entries, exact_entries);
        let value = |certificate| serde_json::to_value(certificate).expect("strings, numbers and lists");
        let bypassed = checked.bypassed;
        Ok(Measurements { manifest: manifest.with_certificate(value), levels, exact, bypassed })
    }

    /// Checks all but the rows, and reads the list of units.
    fn check(self, progress: &mut dyn Progress) -> Result<(Checked, Table)> {
        let name = self.table.name();
        let allocation = match self.table.schema(self.schema, Some(&self.allocation))? {
            Some(schema) => self.allocation.with_schema(schema),
            None => self.allocation,
        };
        let allocation = match self.rows {
            Some(rows) => allocation.with_rows(rows),
            None => allocation,
        };
        let rule = self.bypass.unwrap_or(match (&self.units, &allocation.production().bypass) {
            (UnitList::List(_), Some(_)) => BypassRule::OnlyChildren,
            _ => BypassRule::None,
        });
        let all_measured = Plan::of(&allocation.without_bypass())?;
        check_exact(&allocation, &all_measured, self.check_total.as_deref())?;
        let of_table = matches!(self.units, UnitList::Table);
        let (units, allocation) = match self.units {
            UnitList::List(input) => {
                let bypassed = if let BypassRule::Column(column) = &rule { Some(column) } else { None };
                let columns = UnitColumns { total: self.check_total.as_ref(), bypassed };
                let units = Units::read(input, &all_measured, columns, progress)?;
                let (units, allocation) = units.bypass(&rule, &all_measured, &allocation)?;
                (Some(units), allocation)
            }
            _ => {
                let needed = !matches!(rule, BypassRule::None) || self.check_total.is_some();
                if needed || !all_measured.public().is_empty() {
                    return Err(Error::stated(
                        format!(
                            "{name}: bypassed units, check totals and exact columns need a list of units"
                        ),
                        "give a list of all units of the smallest level, in a table of its own",
                    ));
                }
                (None, allocation.without_bypass())
            }
        };
        let plan = Plan::of(&allocation)?;
        let bypassed = units.as_ref().map_or(Ok(vec![]), |units| units.bypassed_units(&plan))?;
        if of_table && matches!(plan.layout().rows(), Rows::Records(_)) {
            return Err(Error::stated(
                format!("{name}: a table of records cannot be the list of its own units"),
                "units with nobody in them have no record: give a list of all units of the smallest level",
            ));
        }
        let approved = Approved::new(allocation, plan, self.delta, self.break_promise)?;
        let table = Table::open(self.table, approved.plan.columns())?;
        let (noise, threads, order) = (self.noise, self.threads, self.order);
        let checked = Checked { approved, units, bypassed, of_table, order, name, noise, threads };
        checked.feed()?;
        Ok((checked, table))
    }
}

impl Checked {
    /// Measures; nothing is left of the key at the end.
    fn run<S: Sink>(
        &self,
        table: Table,
        sink: impl FnOnce() -> Result<S>,
        progress: &mut dyn Progress,
    ) -> Result<(S, Ran)> {
        let key = self.noise.release_key(progress)?;
        let started = date::now();
        let sink = sink()?;
        let noises = Noises::new(&self.approved.plan, &key)?;
        let levels = self.approved.plan.levels().len();
        let rows = run(self.feed()?, levels, table, &noises, self.threads, &sink, progress)?;
        Ok((sink, Ran { rows, started, finished: date::now() }))
    }

    fn feed(&self) -> Result<Feed<'_>> {
        Feed::new(&self.name, &self.approved.plan, self.units.as_ref(), self.of_table, self.order)
    }

    fn manifest(&self, ran: Ran, levels: Vec<LevelEntry>, exact: Vec<ExactEntry>) -> Manifest<Certificate> {
        let Approved { plan, .. } = &self.approved;
        let about = About {
            table: self.name.clone(),
            rows: matches!(plan.layout().rows(), Rows::Units(_)).then_some(ran.rows),
            warning: self.noise.warning(),
            started: ran.started,
            finished: ran.finished,
            assumes: assumes(plan, self.units.is_some()),
        };
        self.approved.manifest(about, levels, exact, BypassedEntry::new(&self.bypassed))
    }
}

/// Fails if there is anything where the directory is to be, or what another run has left beside it.
fn check_target(target: &Path) -> Result<()> {
    let refuse = |cause: String, hint: &str| Err(Error::of_kind(ErrorKind::Output, cause, hint));
    if directory::check(target)? {
        return refuse(
            format!("`{}` exists already", target.display()),
            "choose another name; what was released stays released, and measuring again spends the budget \
             again",
        );
    }
    let Some(leftover) = Leftover::find(target) else { return Ok(()) };
    let path = leftover.path.display();
    match leftover.at_work {
        Some(true) => refuse(
            format!("another run is at work in `{path}`"),
            "wait for it, or choose another name; each run is a release of its own",
        ),
        _ => refuse(
            format!("`{path}` was left by a run that was killed: {}", Leftover::WHAT),
            "account for it as one more release of these records, or delete it if nobody has read it; then \
             run again",
        ),
    }
}
