//! Tables of counts become noisy measurements: as a directory, or as NumPy's arrays.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use unspent::allocation::ExactValues;
use unspent::schema::{Rows, Schema};
use unspent::{Delta, Error, ErrorKind};
use unspent_data::measurements::RowNoise;
use unspent_data::{
    BypassRule, Input, LevelMeasurements, Manifest, Measure, QueryMeasurements, Quiet, RowOrder, UnitList,
};

use crate::allocation::Allocation;
use crate::certificate::dictionary;
use crate::columns::{input, unit_input};
use crate::error::{OrRaise, exception};
use crate::noise::{int64, seeded, threads_given};
use crate::number::{fraction, rational};
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
        return Ok(Bound::new(py, Measurements::new(py, found)?)?.into_any());
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
fn rule(given: &Bound<'_, PyAny>) -> PyResult<BypassRule> {
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
fn to_the_end<T: Send + 'static>(
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

/// Reads a directory of noisy measurements, as `measure` and the command write it, and checks it against its
/// manifest.
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
    let found = interruptible(py, move || unspent_data::Measurements::read(&directory))?.or_raise(py)?;
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

/// Noisy measurements, by level and query: `measurements["County"]["total"].values`.
///
/// A level is a dict of NoisyMeasurement, by the name of the query.
#[pyclass(frozen, mapping, module = "unspent")]
pub struct Measurements {
    manifest: Manifest,
    levels: Py<PyDict>,
}

impl Measurements {
    fn new(py: Python<'_>, found: unspent_data::Measurements) -> PyResult<Measurements> {
        let dtype = int64(py, found.manifest.warning.as_deref())?;
        let levels = PyDict::new(py);
        for LevelMeasurements { level, codes, queries } in found.levels {
            let units = codes.len();
            let codes = py.import("numpy")?.call_method1("array", (codes, "str"))?;
            let of_level = PyDict::new(py);
            for query in queries {
                let QueryMeasurements { name, shape, noises, noise_of, values } = query;
                let sizes: Vec<usize> =
                    [units].into_iter().chain(shape.iter().map(|n| *n as usize)).collect();
                let values = PyArray1::from_vec(py, values).reshape(sizes)?;
                // What is said of noise that is not private stays with views and copies.
                let values = values.call_method1("view", (&dtype,))?;
                let (level, codes) = (level.clone(), codes.clone().unbind());
                let measurement = NoisyMeasurement {
                    level,
                    query: name.clone(),
                    codes,
                    values: values.unbind(),
                    noises,
                    noise_of,
                };
                of_level.set_item(name, Bound::new(py, measurement)?)?;
            }
            levels.set_item(level, of_level)?;
        }
        Ok(Measurements { manifest: found.manifest, levels: levels.unbind() })
    }
}

#[pymethods]
impl Measurements {
    /// The names of the levels, from the largest areas to the smallest.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.levels.bind(py).keys()
    }

    /// Whether the noise came from a key that nobody knows.
    #[getter]
    fn private(&self) -> bool {
        self.manifest.private
    }

    /// What was released, as in manifest.json: a dict. In memory there are no files.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.manifest)
    }

    /// One row for each value, as a pandas DataFrame: level, geocode, query, cell (its place in the query,
    /// the last attribute changing fastest), value and variance.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("unspent._frames")?.call_method1("noisy", (&self.levels,))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, level: &str) -> PyResult<Bound<'py, PyAny>> {
        let levels = self.levels.bind(py);
        levels.get_item(level)?.ok_or_else(|| {
            let known: Vec<String> = levels.keys().iter().map(|name| name.to_string()).collect();
            PyKeyError::new_err(format!("level `{level}`: the levels are {}", known.join(", ")))
        })
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.levels.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.levels.bind(py).try_iter()
    }

    fn __contains__(&self, py: Python<'_>, level: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.levels.bind(py).contains(level)
    }

    fn __repr__(&self) -> String {
        let Manifest { allocation, levels, .. } = &self.manifest;
        let values: u64 =
            levels.iter().flat_map(|level| &level.queries).map(|query| query.measurements).sum();
        format!("<Measurements '{allocation}': {} levels, {values} values>", levels.len())
    }
}

/// A query asked of every unit of a level, with noise on every value. It unpacks into codes and values.
#[pyclass(frozen, module = "unspent")]
pub struct NoisyMeasurement {
    /// The name of the level.
    #[pyo3(get)]
    level: String,
    /// The name of the query.
    #[pyo3(get)]
    query: String,
    /// The codes of the units, an array of str.
    #[pyo3(get)]
    codes: Py<PyAny>,
    /// The noisy counts, an int64 array: the first axis is the unit, the others are the query's attributes.
    #[pyo3(get)]
    values: Py<PyAny>,
    noises: Vec<RowNoise>,
    /// Which of them each unit has.
    noise_of: Vec<u16>,
}

impl NoisyMeasurement {
    /// The noise of all units, if they have the same.
    fn noise(&self) -> Option<&RowNoise> {
        let first = self.noise_of.first().copied().unwrap_or(0);
        let same = self.noise_of.iter().all(|noise| *noise == first);
        self.noises.get(usize::from(first)).filter(|_| same)
    }
}

#[pymethods]
impl NoisyMeasurement {
    /// The variance of the noise on each value, a float; None if units have different noise: see variances.
    #[getter]
    fn variance(&self) -> Option<f64> {
        self.noise().map(|noise| noise.variance)
    }

    /// The variance of the noise on each value of a unit, a float64 array with one for each unit.
    #[getter]
    fn variances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let of = |noise: &u16| self.noises[usize::from(*noise)].variance;
        PyArray1::from_vec(py, self.noise_of.iter().map(of).collect())
    }

    /// The parameter of the noise on each value, a Fraction; None if units have different noise.
    #[getter]
    fn sigma2<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let sigma2 = self.noise().and_then(|noise| noise.sigma2.as_ref());
        sigma2.map(|sigma2| fraction(py, sigma2)).transpose()
    }

    /// What the query has spent at this level in zCDP, a Fraction; None if units have spent different
    /// amounts.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let rho = self.noise().and_then(|noise| noise.rho.as_ref());
        rho.map(|rho| fraction(py, rho)).transpose()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyTuple::new(py, [&self.codes, &self.values])?.try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.values.bind(py).getattr("shape")?;
        Ok(format!("<NoisyMeasurement '{}' at '{}': values of shape {shape}>", self.query, self.level))
    }
}
