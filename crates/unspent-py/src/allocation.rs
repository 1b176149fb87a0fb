//! Allocations of a budget, published or not.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use unspent::file::FileDigest;
use unspent::question::CalibrationQuestion;
use unspent::{Conversion, Delta, Epsilon, Neighbours, Preset, Release, Scaling, Scope};
use unspent_estimate::design::explain;

use crate::bounds::Bounds;
use crate::certificate::{self, Certificate, Recalibration};
pub use crate::classes::Allocation;
use crate::composition::Composition;
use crate::design::Explained;
use crate::error::{OrRaise, exception};
use crate::gaussian;
use crate::number::{fraction, rational};
use crate::units::units_of;
use crate::work::{asked, interruptible};
use crate::worst::WorstCase;

/// The names of the published allocations, for `preset`.
///
/// >>> import unspent
/// >>> unspent.presets()[0]
/// 'pl94-persons-us-2020'
#[pyfunction]
pub fn presets() -> Vec<&'static str> {
    Preset::ALL.iter().map(|preset| preset.name).collect()
}

/// A published allocation.
///
/// >>> import unspent
/// >>> census = unspent.preset("pl94-persons-us-2020")
/// >>> census.rho, census.neighbours
/// (Fraction(293764, 114921), 'bounded')
#[pyfunction]
pub fn preset(py: Python<'_>, name: &str) -> PyResult<Allocation> {
    let preset = Preset::find(name).or_raise(py)?;
    let file = FileDigest::of(&format!("preset {name}"), preset.text);
    Ok(Allocation(preset.allocation().or_raise(py)?, Some(file)))
}

#[pymethods]
impl Allocation {
    /// Reads an allocation file (TOML), or a table of budgets (.csv), which needs `neighbours` besides:
    /// "bounded" or "add-remove".
    #[staticmethod]
    #[pyo3(signature = (path, *, neighbours=None))]
    fn read(py: Python<'_>, path: PathBuf, neighbours: Option<&str>) -> PyResult<Allocation> {
        let neighbours = neighbours.map(Neighbours::parse).transpose().or_raise(py)?;
        let read = py.detach(|| unspent::Allocation::read_with_digest(&path, neighbours)).or_raise(py)?;
        Ok(Allocation(read.0, Some(read.1)))
    }

    /// Reads the text of an allocation file (TOML).
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Allocation> {
        py.detach(|| unspent::Allocation::parse("text", text)).or_raise(py).map(Allocation::from)
    }

    /// The text of an allocation file that says the same.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_file().or_raise(py)
    }

    /// What it is called.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Where its figures come from, if that is known.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.0.source()
    }

    /// What one record is, like "person".
    #[getter]
    fn record(&self) -> &str {
        self.0.record()
    }

    /// "bounded" or "add-remove".
    #[getter]
    fn neighbours(&self) -> &'static str {
        self.0.neighbours().name()
    }

    /// The delta at which its epsilon is quoted, a Fraction; None if it states none.
    #[getter]
    fn delta<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.delta().map(|delta| fraction(py, delta.value())).transpose()
    }

    /// The whole budget in zCDP, a Fraction.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.rho())
    }

    /// The names of its levels, from the largest areas to the smallest.
    #[getter]
    fn levels(&self) -> Vec<&str> {
        self.0.levels().iter().map(|level| level.name.as_str()).collect()
    }

    /// The names of its queries.
    #[getter]
    fn queries(&self) -> Vec<&str> {
        self.0.queries().iter().map(|query| query.name.as_str()).collect()
    }

    /// The names of its attributes.
    #[getter]
    fn attributes(&self) -> Vec<&str> {
        self.0.attributes().iter().map(String::as_str).collect()
    }

    /// Every query at every level, with its budget and its noise.
    #[getter]
    fn measurements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all: Vec<_> = self
            .0
            .measurements()
            .map(|(level, query, measurement)| Measurement {
                level: level.name.clone(),
                query: query.name.clone(),
                shift: query.shift,
                measurement: measurement.clone(),
            })
            .collect();
        PyList::new(py, all.into_iter().map(|m| Bound::new(py, m)).collect::<PyResult<Vec<_>>>()?)
    }

    /// How many paths through the geography its noise may take: 1 if no unit was bypassed.
    #[getter]
    fn paths(&self) -> usize {
        self.0.paths().len()
    }

    /// The epsilon that it states, a Fraction; None if it states none.
    #[getter]
    fn epsilon<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.epsilon().map(|epsilon| fraction(py, epsilon.value())).transpose()
    }

    /// The same allocation, of whose records one record of a release can change so many, 1 or 2: for
    /// `certificate` with a product of other records.
    fn touching(&self, py: Python<'_>, touches: u64) -> PyResult<Allocation> {
        self.0.clone().touching(touches).or_raise(py).map(Allocation::from)
    }

    /// The worst of all compositions that neighbours can come down to: of the whole release or, with one of
    /// `level`, `keeping`, `attribute` and `within`, of a part of it.
    ///
    /// `level`: to a reader of that level only. `keeping`: the record changes inside one unit of that level,
    /// whose total stays. `attribute`: the secret is its value. `within`: the secret is the place inside one
    /// unit of that level.
    ///
    /// >>> import unspent
    /// >>> census = unspent.preset("pl94-persons-us-2020")
    /// >>> print(census.worst_case(keeping="State").epsilon("1e-10"))
    /// [13.125942, 13.125943]
    #[pyo3(signature = (*, level=None, keeping=None, attribute=None, within=None))]
    fn worst_case(
        &self,
        py: Python<'_>,
        level: Option<String>,
        keeping: Option<String>,
        attribute: Option<String>,
        within: Option<String>,
    ) -> PyResult<WorstCase> {
        let scope = scope(py, level, keeping, attribute, within)?;
        let release = Release::from(self.0.clone());
        let found = interruptible(py, move || release.worst_case(&scope))?.or_raise(py)?;
        Ok(WorstCase(Arc::new(found)))
    }

    /// What one record can move, as one composition: of all of the release or of a part of it, as in
    /// `worst_case`.
    ///
    /// Where units were bypassed there is one composition for each pair of paths, and this raises:
    /// `worst_case` answers for all of them. `path="main"` gives the one of the path that keeps all levels,
    /// which is no guarantee for others.
    ///
    /// >>> import unspent
    /// >>> census = unspent.preset("dhc-persons-us-2020")
    /// >>> print(census.composition(level="State", path="main").epsilon("1e-10"))
    /// [11.148729, 11.148730]
    /// >>> print(census.worst_case(level="State").epsilon("1e-10"))
    /// [24.188244, 24.188245]
    #[pyo3(signature = (*, level=None, keeping=None, attribute=None, within=None, path=None))]
    fn composition(
        &self,
        py: Python<'_>,
        level: Option<String>,
        keeping: Option<String>,
        attribute: Option<String>,
        within: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Composition> {
        let scope = scope(py, level, keeping, attribute, within)?;
        let stated = |cause: String, hint: &str| Err(exception(py, &unspent::Error::stated(cause, hint)));
        match path {
            None if self.0.paths().len() > 1 => {
                return stated(
                    format!(
                        "composition: the noise may take {} paths through the geography",
                        self.0.paths().len()
                    ),
                    "worst_case() answers for all pairs of them; path=\"main\" gives that of the main path \
                     alone",
                );
            }
            None | Some("main") => {}
            Some(other) => {
                return stated(format!("path: `{other}` is not \"main\""), "leave it out, or say \"main\"");
            }
        }
        let release = Release::from(self.0.clone());
        let made = py.detach(|| release.main_path(&scope)).or_raise(py)?;
        Ok(Composition::wrap(made, None))
    }

    /// What it promises: in total, by level, attribute and place, by the published conversions and tight; and
    /// the removable noise.
    ///
    /// `delta` is that of the allocation unless given; `conversion` the one whose epsilon counts as
    /// published.
    ///
    /// >>> import unspent
    /// >>> certificate = unspent.preset("pl94-persons-us-2020").certificate()
    /// >>> print(certificate.total.tight)
    /// [16.467751, 16.467752]
    #[pyo3(signature = (*, delta=None, conversion=None))]
    fn certificate(
        slf: &Bound<'_, Self>,
        delta: Option<&Bound<'_, PyAny>>,
        conversion: Option<&str>,
    ) -> PyResult<Certificate> {
        let allocations = PyTuple::new(slf.py(), [slf])?;
        certificate::certificate(slf.py(), &allocations, delta, conversion)
    }

    /// The allocation with less noise that spends what was promised.
    ///
    /// What is kept is `epsilon` or, without one, what `conversion` (that of the allocation unless given)
    /// publishes. All variances are scaled alike or, with `each_level`, those of every level so that it keeps
    /// what it would publish by itself.
    ///
    /// >>> import unspent
    /// >>> paper = unspent.preset("paper-2022-08-25")
    /// >>> less = paper.calibrate(epsilon="21.97", delta="1e-10")
    /// >>> round(float(less.factor), 6)
    /// 0.878207
    /// >>> print(less.allocation.composition().epsilon("1e-10"))
    /// [21.969999, 21.970000]
    #[pyo3(signature = (epsilon=None, delta=None, *, conversion=None, each_level=false))]
    fn calibrate(
        &self,
        py: Python<'_>,
        epsilon: Option<&Bound<'_, PyAny>>,
        delta: Option<&Bound<'_, PyAny>>,
        conversion: Option<&str>,
        each_level: bool,
    ) -> PyResult<Recalibration> {
        let question = CalibrationQuestion {
            epsilon: epsilon.map(|e| Epsilon::new(rational("epsilon", e)?).or_raise(py)).transpose()?,
            conversion: conversion.map(Conversion::parse).transpose().or_raise(py)?,
            delta: delta.map(|d| Delta::new(rational("delta", d)?).or_raise(py)).transpose()?,
            scaling: if each_level { Scaling::Level } else { Scaling::Total },
            ..CalibrationQuestion::about(self.0.clone())
        };
        Ok(Recalibration(asked(py, question)?))
    }

    /// What it is optimal for: how important each of its tables must be, for no other allocation to have all
    /// deviations as small with less.
    ///
    /// `units` and `schema` are as in `Needs`.
    ///
    /// >>> import unspent
    /// >>> explained = unspent.preset("pl94-persons-us-2020").explain()
    /// >>> explained.tables["level"][0], float(explained.least_rho / explained.rho) > 0.999
    /// ('State', True)
    #[pyo3(signature = (units=None, *, schema=None))]
    fn explain(
        &self,
        py: Python<'_>,
        units: Option<&Bound<'_, PyAny>>,
        schema: Option<PathBuf>,
    ) -> PyResult<Explained> {
        let allocation = self.0.clone();
        let units = units_of(py, units, schema, &allocation)?;
        interruptible(py, move || explain(&allocation, &units))?.or_raise(py).map(Explained)
    }

    /// The measurements as a pandas DataFrame.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("unspent._frames")?.call_method1("measurements", (slf,))
    }

    fn __richcmp__(&self, other: &Allocation, op: CompareOp) -> Option<bool> {
        match op {
            CompareOp::Eq => Some(self.0 == other.0),
            CompareOp::Ne => Some(self.0 != other.0),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "<Allocation '{}': {} levels, {} measurements, rho = {}, {} neighbours>",
            self.0.name(),
            self.0.levels().len(),
            self.0.measurements().count(),
            self.0.rho().to_decimal_or_fraction(),
            self.0.neighbours().name()
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Allocation(allocation, file) = slf.get();
        let file = file.as_ref().map(|file| (&file.name, &file.sha256));
        let arguments = (allocation.to_file().or_raise(slf.py())?, file);
        Ok((slf.get_type().getattr("_restore")?, arguments.into_pyobject(slf.py())?))
    }

    /// What `__reduce__` took apart.
    #[staticmethod]
    fn _restore(py: Python<'_>, text: &str, file: Option<(String, String)>) -> PyResult<Allocation> {
        let allocation = unspent::Allocation::parse("text", text).or_raise(py)?;
        Ok(Allocation(allocation, file.map(|(name, sha256)| FileDigest { name, sha256 })))
    }
}

/// The part that was named; the whole, if none was.
fn scope(
    py: Python<'_>,
    level: Option<String>,
    keeping: Option<String>,
    attribute: Option<String>,
    within: Option<String>,
) -> PyResult<Scope> {
    let named = [
        level.map(Scope::Level),
        keeping.map(Scope::Keeping),
        attribute.map(Scope::Attribute),
        within.map(Scope::Within),
    ];
    let mut named = named.into_iter().flatten();
    match (named.next(), named.next()) {
        (scope, None) => Ok(scope.unwrap_or(Scope::Total)),
        _ => {
            let error = unspent::Error::stated(
                "level, keeping, attribute, within: more than one part was named",
                "name one of them, or none for the whole release",
            );
            Err(exception(py, &error))
        }
    }
}

/// One query at one level.
#[pyclass(frozen, module = "unspent")]
pub struct Measurement {
    /// The name of the level.
    #[pyo3(get)]
    level: String,
    /// The name of the query.
    #[pyo3(get)]
    query: String,
    /// How far one record moves a cell.
    #[pyo3(get)]
    shift: u64,
    measurement: unspent::allocation::Measurement,
}

#[pymethods]
impl Measurement {
    /// What it may spend in zCDP, a Fraction.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.measurement.rho)
    }

    /// The kind of the noise: discrete_gaussian, laplace or discrete_laplace.
    #[getter]
    fn mechanism(&self) -> &'static str {
        self.measurement.noise.kind()
    }

    /// The noise that spends it, a Fraction; None for Laplace noise.
    #[getter]
    fn sigma2<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.measurement.noise.sigma2().map(|sigma2| fraction(py, sigma2)).transpose()
    }

    /// Its square root, as Bounds: most are no fractions.
    #[getter]
    fn sigma(&self) -> Option<Bounds> {
        self.measurement.noise.sigma2().map(gaussian::sigma)
    }

    /// The scale b of Laplace noise, a Fraction; None for Gaussian noise.
    #[getter]
    fn scale<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.measurement.noise.laplace_scale().map(|scale| fraction(py, scale)).transpose()
    }

    fn __repr__(&self) -> String {
        let noise = &self.measurement.noise;
        let width = match noise.laplace_scale() {
            Some(scale) => format!("{} of scale {}", noise.name(), scale.to_decimal_or_fraction()),
            None => {
                let sigma2 = noise.sigma2().map(unspent::Rational::to_decimal_or_fraction);
                format!("sigma2 = {}", sigma2.unwrap_or_default())
            }
        };
        format!("<Measurement '{}' at '{}': {width}>", self.query, self.level)
    }
}
