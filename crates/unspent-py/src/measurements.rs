//! Noisy measurements as arrays: made here, read back, or published by others.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use unspent_data::measurements::{AnyMeasurements, ExactMeasurements, ExactValues, RowNoise};
use unspent_data::{LevelMeasurements, Manifest, QueryMeasurements};

use crate::certificate::dictionary;
use crate::error::OrRaise;
use crate::noise::int64;
use crate::number::{fraction, rational};
use crate::work::interruptible;

/// How often intervals contain the truth, unless it is said.
const CONFIDENCE: &str = "0.95";

/// Noisy measurements, by level and query: `measurements["County"]["total"].values`.
///
/// A level is a dict of NoisyMeasurement, by the name of the query.
#[pyclass(frozen, mapping, module = "unspent")]
pub struct Measurements {
    manifest: Option<Manifest>,
    levels: Py<PyDict>,
    exact: Py<PyDict>,
}

impl Measurements {
    pub(crate) fn new(py: Python<'_>, found: AnyMeasurements) -> PyResult<Measurements> {
        let (manifest, found, exact) = match found {
            AnyMeasurements::Own(own) => (Some(own.manifest), own.levels, own.exact),
            AnyMeasurements::Bureau(theirs) => (None, theirs.levels, theirs.exact),
        };
        let dtype = int64(py, manifest.as_ref().and_then(|manifest| manifest.warning.as_deref()))?;
        let levels = PyDict::new(py);
        for LevelMeasurements { level, codes, queries } in found {
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
        let exact_levels = PyDict::new(py);
        for ExactMeasurements { level, codes, queries } in exact {
            let units = codes.len();
            let codes = py.import("numpy")?.call_method1("array", (codes, "str"))?;
            let of_level = PyDict::new(py);
            for ExactValues { name, shape, values } in queries {
                let sizes: Vec<usize> =
                    [units].into_iter().chain(shape.iter().map(|n| *n as usize)).collect();
                let values = PyArray1::from_vec(py, values).reshape(sizes)?;
                of_level.set_item(name, (&codes, values))?;
            }
            exact_levels.set_item(level, of_level)?;
        }
        Ok(Measurements { manifest, levels: levels.unbind(), exact: exact_levels.unbind() })
    }
}

#[pymethods]
impl Measurements {
    /// The names of the levels, from the largest areas to the smallest.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.levels.bind(py).keys()
    }

    /// Whether the noise came from a key that nobody knows; None for files of others, which do not say.
    #[getter]
    fn private(&self) -> Option<bool> {
        self.manifest.as_ref().map(|manifest| manifest.private)
    }

    /// What was released, as in manifest.json: a dict. In memory there are no files. None for files of
    /// others.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.manifest.as_ref().map(|manifest| dictionary(py, manifest)).transpose()
    }

    /// What was published exactly, by level and name: codes and values, as arrays.
    #[getter]
    fn exact<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        self.exact.bind(py).clone()
    }

    /// One row for each value, as a pandas DataFrame: level, geocode, query, cell (its place in the query,
    /// the last attribute changing fastest), value and variance.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("unspent._frames")?.call_method1("noisy", (&self.levels,))
    }

    /// The same as a polars DataFrame.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("unspent._frames")?.call_method1("noisy_polars", (&self.levels,))
    }

    /// The same as a table of pyarrow.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("unspent._frames")?.call_method1("noisy_arrow", (&self.levels,))
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

    fn __repr__(&self, py: Python<'_>) -> String {
        let Some(Manifest { allocation, levels, .. }) = &self.manifest else {
            return format!("<Measurements of others: {} levels>", self.levels.bind(py).len());
        };
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

    /// A confidence interval for the count behind every value, from the noise of its own unit: the lower and
    /// the upper ends, int64 arrays like values. Where no count that is not negative is near enough, the
    /// upper end is below the lower one.
    #[pyo3(signature = (confidence=None), text_signature = "($self, confidence='0.95')")]
    fn interval<'py>(
        &self,
        py: Python<'py>,
        confidence: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let confidence = match confidence {
            Some(confidence) => rational("confidence", confidence)?,
            None => CONFIDENCE.parse().or_raise(py)?,
        };
        let noises = self.noises.clone();
        let widths = interruptible(py, move || {
            let width = |noise: &RowNoise| Ok(noise.intervals(&confidence)?.half_width());
            noises.iter().map(width).collect::<unspent::Result<Vec<u64>>>()
        })?
        .or_raise(py)?;
        let widths = self.noise_of.iter().map(|noise| widths[usize::from(*noise)] as i64).collect();
        let values = self.values.bind(py);
        py.import("unspent._frames")?
            .call_method1("ends", (values, PyArray1::from_vec(py, widths)))?
            .extract()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyTuple::new(py, [&self.codes, &self.values])?.try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.values.bind(py).getattr("shape")?;
        Ok(format!("<NoisyMeasurement '{}' at '{}': values of shape {shape}>", self.query, self.level))
    }
}
