//! Tables of counts become noisy measurements: as a directory, or as NumPy's arrays.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use unspent::allocation::Schema;
use unspent::{Delta, Error, ErrorKind, Rational};
use unspent_data::{LevelMeasurements, Manifest, Measure, QueryMeasurements, Quiet};

use crate::allocation::Allocation;
use crate::certificate::dictionary;
use crate::columns::input;
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
/// (`__arrow_c_stream__`, which is not copied), or a structured array. It has one row for each smallest unit,
/// also for those with nobody in them, sorted by its code. `schema`, a file, or the allocation says in its
/// part [table] which columns make which cells and how codes nest.
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
    table, allocation, out=None, *, schema=None, delta=None, threads=None, break_promise=false,
    not_private_seed=None, show_values=false
))]
#[allow(clippy::too_many_arguments)] // Keywords, each with its name.
pub fn measure<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    allocation: &Bound<'py, Allocation>,
    out: Option<PathBuf>,
    schema: Option<PathBuf>,
    delta: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    break_promise: bool,
    not_private_seed: Option<&Bound<'py, PyAny>>,
    show_values: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let allocation = allocation.get().0.clone();
    let schema = schema.map(|path| Schema::read(&path)).transpose().or_raise(py)?;
    let threads = threads_given(py, threads)?;
    let measure = Measure {
        delta: delta.map(|d| Delta::new(rational("delta", d)?).or_raise(py)).transpose()?,
        threads,
        break_promise,
        noise: seeded(py, not_private_seed)?,
        ..Measure::new(input(table, schema.as_ref().or(allocation.table()))?, allocation)
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
                let QueryMeasurements { name, shape, sigma2, variance, rho, values } = query;
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
                    sigma2,
                    variance,
                    rho,
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
    /// The variance of the noise on each value, a float.
    #[pyo3(get)]
    variance: f64,
    sigma2: Rational,
    rho: Rational,
}

#[pymethods]
impl NoisyMeasurement {
    /// The parameter of the noise on each value, a Fraction.
    #[getter]
    fn sigma2<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.sigma2)
    }

    /// What the query has spent at this level in zCDP, a Fraction.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.rho)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyTuple::new(py, [&self.codes, &self.values])?.try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.values.bind(py).getattr("shape")?;
        Ok(format!("<NoisyMeasurement '{}' at '{}': values of shape {shape}>", self.query, self.level))
    }
}
