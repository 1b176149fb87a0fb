//! Tables of counts become noisy measurements: as a directory, or as NumPy's arrays.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::prelude::*;
use unspent::allocation::ExactValues;
use unspent::schema::{Rows, Schema};
use unspent::{Delta, Error, ErrorKind};
use unspent_data::measurements::{AnyMeasurements, read_any};
use unspent_data::{BypassRule, Input, Manifest, Measure, Quiet, RowOrder, UnitList};

use crate::allocation::Allocation;
use crate::certificate::dictionary;
use crate::columns::{input, unit_input};
use crate::error::{OrRaise, exception};
use crate::measurements::Measurements;
use crate::noise::{seeded, threads_given};
use crate::number::rational;
use crate::work::interruptible;

/// How often signals are looked for while an interrupted run clears up.
const PATIENCE: Duration = Duration::from_millis(50);

/// Adds exact discrete Gaussian noise to a table of counts, as an allocation says.
///
/// `table` is a path (CSV, which gzip may have packed, or Parquet if it ends so), or columns by name: a dict,
/// a DataFrame of pandas or polars, a table of pyarrow, whatever else lends Arrow's memory
/// (`__arrow_c_stream__`, which is not copied), or a structured array. It has a row for each record, with its
/// code and a value of each attribute; or for each combination of values, with `count`, the column that says
/// how many records have it; or for each smallest unit, with a column for every cell, sorted by code. The
/// schema of the allocation, or `schema`, a file, says which columns are what and how codes nest.
///
/// Records and counts may come in any order and need `units`: the list of all smallest units, also of those
/// with nobody in them, a path or columns like the table; or True if the table has a row for every unit. With
/// `sorted` they come in the order of the list, and memory holds one unit at a time. `id` is a column with a
/// number of its own for each record; `check_total` a column of the list with the number of records of each
/// unit. `bypass` says which units are not measured and give their budget to the one above: "none",
/// "only-children", "column:NAME" of the list, or a path or columns with level and code.
///
/// With `out` a directory is written, which must not exist and appears whole or not at all, and a Measured is
/// returned: `read_measurements` reads it. Without, the Measurements themselves. Every value has its noise
/// either way. Measuring the same records again spends the same budget again. With `not_private_seed` the
/// noise can be repeated, by anyone: a NotPrivateWarning says so.
///
/// Messages do not show values of the table unless `show_values` says so. The key of the noise is used once
/// and forgotten; so that it is not written to a disk, the process makes no core dumps from then on.
///
/// >>> import unspent
/// >>> towns = unspent.Allocation.parse('''
/// ... name = "Towns"
/// ... neighbours = "add-remove"
/// ... delta = "1e-10"
/// ... [queries]
/// ... total = []
/// ... [[levels]]
/// ... name = "Town"
/// ... sigma2 = { total = 5 }
/// ... [table]
/// ... cells = [{ column = "people" }]
/// ... [table.levels]
/// ... Town = "town"
/// ... ''')
/// >>> noisy = unspent.measure({"town": ["a", "b"], "people": [1200, 0]}, towns)
/// >>> noisy["Town"]["total"].values.shape
/// (2, 1)
/// >>> codes, values = noisy["Town"]["total"]
/// >>> print(codes, abs(values[0, 0] - 1200) < 100)
/// ['a' 'b'] True
#[pyfunction]
#[pyo3(signature = (
    table, allocation, out=None, *, schema=None, units=None, count=None, id=None, check_total=None,
    bypass=None, sorted=false, delta=None, threads=None, break_promise=false, not_private_seed=None,
    show_values=false
))]
#[allow(clippy::too_many_arguments)] // Keywords, each with its name.
pub fn measure<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    allocation: &Bound<'py, Allocation>,
    out: Option<PathBuf>,
    schema: Option<PathBuf>,
    units: Option<&Bound<'py, PyAny>>,
    count: Option<String>,
    id: Option<String>,
    check_total: Option<String>,
    bypass: Option<&Bound<'py, PyAny>>,
    sorted: bool,
    delta: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    break_promise: bool,
    not_private_seed: Option<&Bound<'py, PyAny>>,
    show_values: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let allocation = allocation.get().0.clone();
    let schema = schema.map(|path| Schema::read(&path)).transpose().or_raise(py)?;
    let threads = threads_given(py, threads)?;
    let rows = match (count, id) {
        (Some(_), Some(_)) => {
            let hint = "count is for a row a combination of values, id for a row a record";
            return Err(exception(py, &Error::stated("both count and id are given", hint)));
        }
        (Some(count), None) => Some(Rows::Counts(count)),
        (None, id) => id.map(|id| Rows::Records(Some(id))),
    };
    let bypass = bypass.map(rule).transpose()?;
    let effective = match &schema {
        Some(schema) => allocation.clone().with_schema(schema.clone()),
        None => allocation.clone(),
    };
    let effective = rows.clone().map_or(effective.clone(), |rows| effective.with_rows(rows));
    let known = effective.schema();
    let measure = Measure {
        rows,
        order: if sorted { RowOrder::Sorted } else { RowOrder::Any },
        units: unit_list(units, &effective, check_total.as_ref(), bypass.as_ref())?,
        check_total,
        bypass,
        delta: delta.map(|d| Delta::new(rational("delta", d)?).or_raise(py)).transpose()?,
        threads,
        break_promise,
        noise: seeded(py, not_private_seed)?,
        ..Measure::new(input(table, known)?, allocation)
    };
    let measure = Measure { schema, ..measure };
    let Some(out) = out else {
        let found = to_the_end(py, move || measure.in_memory(&mut Quiet))?;
        let found = found.map_err(|error| raised(py, error, show_values))?;
        return Ok(Bound::new(py, Measurements::new(py, AnyMeasurements::Own(Box::new(found)))?)?.into_any());
    };
    let found = to_the_end(py, move || measure.to_directory(&out, &mut Quiet))?;
    let found = found.map_err(|error| raised(py, error, show_values))?;
    Ok(Bound::new(py, Measured(found))?.into_any())
}

/// The list of units that was given.
fn unit_list(
    units: Option<&Bound<'_, PyAny>>,
    allocation: &unspent::Allocation,
    check_total: Option<&String>,
    bypass: Option<&BypassRule>,
) -> PyResult<UnitList> {
    let Some(units) = units else { return Ok(UnitList::Rows) };
    if let Ok(of_table) = units.extract::<bool>() {
        return Ok(if of_table { UnitList::Table } else { UnitList::Rows });
    }
    let mut others: Vec<String> = check_total.cloned().into_iter().collect();
    if let Some(BypassRule::Column(column)) = bypass {
        others.push(column.clone());
    }
    for invariant in &allocation.production().invariants {
        if let ExactValues::Columns(_, columns) = &invariant.values {
            others.extend(columns.iter().cloned());
        }
    }
    Ok(UnitList::List(unit_input(units, allocation.schema(), &others)?))
}

/// Which units are bypassed.
pub fn rule(given: &Bound<'_, PyAny>) -> PyResult<BypassRule> {
    let columns = ["level".to_string(), "code".to_string()];
    let Ok(text) = given.extract::<String>() else {
        return Ok(BypassRule::List(unit_input(given, None, &columns)?));
    };
    Ok(match (text.as_str(), text.strip_prefix("column:")) {
        ("none", _) => BypassRule::None,
        ("only-children", _) => BypassRule::OnlyChildren,
        (_, Some(column)) => BypassRule::Column(column.into()),
        (path, None) => BypassRule::List(Input::File(path.into())),
    })
}

/// The exception that an error of a table is.
pub fn raised(py: Python<'_>, error: Error, show_values: bool) -> PyErr {
    let error = if show_values { error.revealed() } else { error };
    let error = if error.kind() == ErrorKind::Output { error.at("out") } else { error };
    exception(py, &error)
}

/// The result of `work`, like [`interruptible`]. If Ctrl-C ends it, it has removed what it was writing when
/// this returns, unless Ctrl-C is pressed once more.
pub fn to_the_end<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> unspent::Result<T> + Send + 'static,
) -> PyResult<unspent::Result<T>> {
    let (works, mut ended) = sync_channel::<()>(0);
    let found = interruptible(py, move || {
        // Dropped when the work has ended, however it does.
        let _works = works;
        work()
    });
    if found.is_err() {
        loop {
            let still;
            (still, ended) = py.detach(move || (ended.recv_timeout(PATIENCE), ended));
            match still {
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                _ => break,
            }
        }
    }
    found
}

/// Reads a directory of noisy measurements: as `measure` and the command write it, checked against its
/// manifest; or a dataset of the Census Bureau's noisy measurement files of 2020 (US_Person_PL_PROD and
/// others), whose units each have the variance of their own rows.
///
/// >>> import tempfile, unspent
/// >>> towns = unspent.Allocation.parse('''
/// ... name = "Towns"
/// ... neighbours = "add-remove"
/// ... delta = "1e-10"
/// ... [queries]
/// ... total = []
/// ... [[levels]]
/// ... name = "Town"
/// ... sigma2 = { total = 5 }
/// ... [table]
/// ... cells = [{ column = "people" }]
/// ... [table.levels]
/// ... Town = "town"
/// ... ''')
/// >>> with tempfile.TemporaryDirectory() as place:
/// ...     written = unspent.measure({"town": ["a"], "people": [1200]}, towns, place + "/noisy")
/// ...     noisy = unspent.read_measurements(written.path)
/// >>> noisy.levels, noisy["Town"]["total"].sigma2
/// (['Town'], Fraction(5, 1))
#[pyfunction]
pub fn read_measurements(py: Python<'_>, directory: PathBuf) -> PyResult<Measurements> {
    let found = interruptible(py, move || read_any(&directory))?.or_raise(py)?;
    Measurements::new(py, found)
}

/// What was measured and written; printed, a table.
#[pyclass(frozen, module = "unspent")]
pub struct Measured(unspent_data::Measured);

#[pymethods]
impl Measured {
    /// The directory, a pathlib.Path.
    #[getter]
    fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether the noise came from a key that nobody knows.
    #[getter]
    fn private(&self) -> bool {
        self.0.manifest.private
    }

    /// What was released, as in manifest.json: a dict.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0.manifest)
    }

    fn __str__(&self) -> String {
        self.0.document().terminal()
    }

    fn __repr__(&self) -> String {
        let Manifest { allocation, levels, .. } = &self.0.manifest;
        format!("<Measured '{allocation}': {} levels in {}>", levels.len(), self.0.path.display())
    }
}
