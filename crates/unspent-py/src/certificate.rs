//! Certificates and calibrated allocations: the library's reports, as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{PyClass, PyClassInitializer};
use serde::Serialize;
use unspent::report::{Figure, READABLE, padded};
use unspent::{Conversion, Delta, Magnitude, Release, Round};

use crate::allocation::Allocation;
use crate::bounds::Bounds;
use crate::error::OrRaise;
use crate::number::{fraction, rational, wrong_type};
use crate::work::interruptible;

/// The dictionary that `unspent ... --json` writes.
fn dictionary<'py>(py: Python<'py>, report: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json(report),))
}

fn json(report: &impl Serialize) -> String {
    serde_json::to_string(report).expect("a report has only texts, numbers and lists")
}

fn list<'py, T, C: PyClass + Into<PyClassInitializer<C>>>(
    py: Python<'py>,
    items: &[T],
    class: impl Fn(&T) -> C,
) -> PyResult<Bound<'py, PyList>> {
    let items: PyResult<Vec<_>> = items.iter().map(|item| Bound::new(py, class(item))).collect();
    PyList::new(py, items?)
}

/// What allocations promise together, for the same record.
///
/// >>> import unspent
/// >>> both = unspent.certificate(unspent.preset("pl94-persons-us-2020"), unspent.preset("dhc-persons-us-2020"))
/// >>> print(both.total.tight)
/// [31.595558, 32.796865]
#[pyfunction]
#[pyo3(signature = (*allocations, delta=None, conversion=None))]
pub fn certificate(
    py: Python<'_>,
    allocations: &Bound<'_, PyTuple>,
    delta: Option<&Bound<'_, PyAny>>,
    conversion: Option<&str>,
) -> PyResult<Certificate> {
    let mut inputs = vec![];
    for (i, item) in allocations.iter().enumerate() {
        let Ok(allocation) = item.cast::<Allocation>() else {
            let allowed = "an Allocation; `preset` and `Allocation.read` give one";
            return Err(wrong_type(&format!("item {i}: allocations"), &item, allowed));
        };
        inputs.push(allocation.get().0.clone());
    }
    let delta = delta.map(|d| Delta::new(rational("delta", d)?).or_raise(py)).transpose()?;
    let conversion = conversion.map(Conversion::parse).transpose().or_raise(py)?;
    let question = (delta.clone(), conversion);
    let report = interruptible(py, move || {
        unspent::Certificate::new(&Release::new(inputs)?, delta.as_ref(), conversion)
    })?;
    let report = report.or_raise(py)?;
    Ok(Certificate { report, question, allocations: allocations.clone().unbind() })
}

/// A release and its guarantees; printed, a table.
#[pyclass(frozen, module = "unspent")]
pub struct Certificate {
    report: unspent::Certificate,
    question: (Option<Delta>, Option<Conversion>),
    /// What it is about.
    #[pyo3(get)]
    allocations: Py<PyTuple>,
}

#[pymethods]
impl Certificate {
    /// What was released.
    #[getter]
    fn name(&self) -> &str {
        &self.report.name
    }

    /// What one record is.
    #[getter]
    fn record(&self) -> &str {
        &self.report.record
    }

    /// "bounded" or "add-remove".
    #[getter]
    fn neighbours(&self) -> &'static str {
        self.report.neighbours.name()
    }

    /// The delta of every epsilon, a Fraction.
    #[getter]
    fn delta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, self.report.delta.value())
    }

    /// How the published epsilon was computed; None if that is not known.
    #[getter]
    fn published(&self) -> Option<&'static str> {
        self.report.published.map(Conversion::name)
    }

    /// Whether every epsilon that is stated is certified to be kept; None if none is stated.
    #[getter]
    fn kept(&self) -> Option<bool> {
        self.report.kept
    }

    /// What is stated and what is delivered, a line of text for each epsilon that is stated.
    #[getter]
    fn promises(&self) -> Vec<String> {
        self.report.promises.iter().map(|promise| promise.in_words()).collect()
    }

    /// What the certificate rests on and does not check.
    #[getter]
    fn assumptions(&self) -> Vec<&str> {
        self.report.assumptions.iter().map(String::as_str).collect()
    }

    /// Products of the same series, about the same people, that are not counted.
    #[getter]
    fn missing(&self) -> Vec<String> {
        self.report.missing.iter().map(|product| format!("{} ({})", product.name, product.about)).collect()
    }

    /// The line of the whole release.
    #[getter]
    fn total(&self) -> Line {
        Line(self.report.lines[0].clone())
    }

    /// The total, then every level, attribute and place.
    #[getter]
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.report.lines, |line| Line(line.clone()))
    }

    /// What noise could go at the same published epsilon: of all levels alike, and of each by itself.
    #[getter]
    fn reductions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.report.reductions, |reduction| Reduction(reduction.clone()))
    }

    /// Attributes of which nothing is said, because no query touches them or not all products know them by that name; and
    /// levels of which nothing is said of places inside them, each with its reason in `to_dict()`.
    #[getter]
    fn left_out(&self) -> Vec<&str> {
        let places = self.report.places_left_out.iter().map(|left| left.name.as_str());
        self.report.left_out.iter().map(String::as_str).chain(places).collect()
    }

    /// The same report as `unspent certificate --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.report)
    }

    /// The same report as `unspent certificate --json`, as a str.
    fn to_json(&self) -> String {
        json(&self.report)
    }

    /// The lines as a pandas DataFrame. Every epsilon in it but `tight_lower` is a guarantee, rounded up.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("unspent._frames")?.call_method1("certificate", (slf,))
    }

    fn __repr__(&self) -> String {
        let total = &self.report.lines[0];
        format!(
            "<Certificate of '{}': epsilon <= {} at delta = {}, {} neighbours>",
            self.report.name,
            total.tight.at_most(READABLE),
            self.report.delta.value().to_short(),
            self.report.neighbours.name()
        )
    }

    fn __str__(&self) -> String {
        let report = &self.report;
        let header =
            ["", "rho", "Bun-St.", "C.-K.-St.", "tight (<=)", "truth (>=)", "main path"].map(String::from);
        let up = |x: &Magnitude| padded(&x.to_decimal(READABLE, Round::Up));
        let rows = report.lines.iter().map(|line| {
            [
                line.label.clone(),
                line.rho.at_most(READABLE),
                up(&line.bun_steinke),
                up(&line.canonne_kamath_steinke),
                padded(&line.tight.at_most(READABLE)),
                padded(&line.tight.at_least(READABLE)) + if line.attained { "" } else { "*" },
                line.main_path.as_ref().map_or_else(String::new, |main| padded(&main.at_most(READABLE))),
            ]
        });
        let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
        let width =
            |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let mut text: String = report.promises.iter().map(|promise| promise.in_words() + "\n").collect();
        text += &format!(
            "{}\n{} neighbours, delta = {}; epsilon of\n",
            report.name,
            report.neighbours.name(),
            report.delta.value().to_short()
        );
        for row in &rows {
            let cells: Vec<String> =
                row.iter().enumerate().map(|(i, cell)| format!("{cell:<w$}", w = width(i))).collect();
            text += format!("  {}", cells.join("  ")).trim_end();
            text.push('\n');
        }
        text +=
            "Each epsilon but the truth (>=) and the main path's is a guarantee, rounded up, for all paths.";
        if report.lines.iter().any(|line| !line.attained) {
            text += "\n* No neighbours are known that attain the upper end.";
        }
        text
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let (delta, conversion) = &slf.get().question;
        let delta = delta.as_ref().map(|delta| delta.value().to_string());
        let arguments = (&slf.get().allocations, delta, conversion.map(Conversion::name));
        Ok((slf.get_type().getattr("_restore")?, arguments.into_pyobject(py)?))
    }

    /// What `__reduce__` took apart: the question, which has one answer.
    #[staticmethod]
    fn _restore(
        py: Python<'_>,
        allocations: &Bound<'_, PyTuple>,
        delta: Option<&Bound<'_, PyAny>>,
        conversion: Option<&str>,
    ) -> PyResult<Certificate> {
        certificate(py, allocations, delta, conversion)
    }
}

/// What one part of a release promises.
#[pyclass(frozen, module = "unspent")]
pub struct Line(unspent::certificate::Line);

#[pymethods]
impl Line {
    /// "total", "level", "keeping", "attribute" or "within".
    #[getter]
    fn scope(&self) -> &'static str {
        self.0.scope
    }

    /// The name of the level or attribute; None for the total.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// How a certificate calls it, like "Block-within-County".
    #[getter]
    fn label(&self) -> &str {
        &self.0.label
    }

    /// How many cells of each measurement its secret moves.
    #[getter]
    fn moves(&self) -> u64 {
        self.0.moves
    }

    /// The zCDP budget of what it can move.
    #[getter]
    fn rho(&self) -> Bounds {
        Bounds::at_most(self.0.rho.bounds())
    }

    /// Epsilon by Bun and Steinke's conversion, a float rounded up.
    #[getter]
    fn bun_steinke(&self) -> f64 {
        self.0.bun_steinke.to_f64(Round::Up)
    }

    /// Epsilon by Canonne, Kamath and Steinke's conversion, a float rounded up.
    #[getter]
    fn canonne_kamath_steinke(&self) -> f64 {
        self.0.canonne_kamath_steinke.to_f64(Round::Up)
    }

    /// The least epsilon: `.upper` is the guarantee.
    #[getter]
    fn tight(&self) -> Bounds {
        Bounds::at_most(self.0.tight.bounds())
    }

    /// Whether neighbours are known that have the epsilon of the worst case; if not, `tight.lower` is that of others.
    #[getter]
    fn attained(&self) -> bool {
        self.0.attained
    }

    /// How many compositions it is the largest of: one for each pair of paths.
    #[getter]
    fn cases(&self) -> usize {
        self.0.cases
    }

    /// The same on the path that keeps all levels, where there are others: no guarantee for those.
    #[getter]
    fn main_path(&self) -> Option<Bounds> {
        self.0.main_path.as_ref().map(|main| Bounds::at_most(main.bounds()))
    }

    /// How it was obtained.
    #[getter]
    fn method(&self) -> &'static str {
        self.0.method.name()
    }

    fn __repr__(&self) -> String {
        format!("<Line '{}': epsilon <= {}>", self.0.label, self.0.tight.at_most(READABLE))
    }
}

/// How much smaller the noise of a part could be.
#[pyclass(frozen, module = "unspent")]
pub struct Reduction(unspent::certificate::Reduction);

#[pymethods]
impl Reduction {
    /// "total" or "level".
    #[getter]
    fn scope(&self) -> &'static str {
        self.0.scope
    }

    /// The name of the level; None for all alike.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The promise that is kept, a float rounded up.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.0.epsilon.to_f64(Round::Up)
    }

    /// What all its variances can be multiplied with, a Fraction: certified to keep the promise.
    #[getter]
    fn factor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.factor)
    }

    /// Right below it and certified to break the promise, a Fraction; None if the least noise allowed keeps it.
    #[getter]
    fn failing<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.failing.as_ref().map(|x| fraction(py, x)).transpose()
    }

    fn __repr__(&self) -> String {
        let name = self.0.name.as_deref().unwrap_or("all levels alike");
        format!("<Reduction of '{name}': sigma2 times {}>", self.0.factor.to_decimal_or_fraction())
    }
}

/// An allocation before and after calibration.
#[pyclass(frozen, module = "unspent")]
pub struct Recalibration(pub unspent::Recalibration);

#[pymethods]
impl Recalibration {
    /// The result.
    #[getter]
    fn allocation(&self) -> Allocation {
        Allocation(self.0.allocation.clone())
    }

    /// What all variances were multiplied with, a Fraction; None if the levels differ.
    #[getter]
    fn factor<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.rows[0].factor.as_ref().map(|x| fraction(py, x)).transpose()
    }

    /// Whether the whole release now exceeds what was published for it, as it may if each level was scaled by itself.
    #[getter]
    fn exceeds(&self) -> bool {
        self.0.exceeds
    }

    /// The total, then every level.
    #[getter]
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.0.rows, |row| CalibratedLine(row.clone()))
    }

    /// The same report as `unspent calibrate --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    /// The lines as a pandas DataFrame.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("unspent._frames")?.call_method1("recalibration", (slf,))
    }

    fn __repr__(&self) -> String {
        let total = &self.0.rows[0];
        format!(
            "<Recalibration of '{}': epsilon <= {} before, {} after>",
            self.0.name,
            total.tight_before.at_most(READABLE),
            total.tight_after.at_most(READABLE)
        )
    }
}

/// One part of an allocation, before and after calibration.
#[pyclass(frozen, module = "unspent")]
pub struct CalibratedLine(unspent::calibrate::Row);

#[pymethods]
impl CalibratedLine {
    /// "total" or "level".
    #[getter]
    fn scope(&self) -> &'static str {
        self.0.scope
    }

    /// The name of the level; None for the total.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The epsilon that is kept, a float rounded up; None if this part has no promise of its own.
    #[getter]
    fn promised(&self) -> Option<f64> {
        self.0.promised.as_ref().map(|figure: &Figure| figure.bounds().to_f64().upper())
    }

    /// What its variances were multiplied with, a Fraction; None for a total whose levels differ.
    #[getter]
    fn factor<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.factor.as_ref().map(|x| fraction(py, x)).transpose()
    }

    /// The least epsilon before.
    #[getter]
    fn tight_before(&self) -> Bounds {
        Bounds::at_most(self.0.tight_before.bounds())
    }

    /// The least epsilon after: `.upper` is the guarantee.
    #[getter]
    fn tight_after(&self) -> Bounds {
        Bounds::at_most(self.0.tight_after.bounds())
    }

    fn __repr__(&self) -> String {
        let name = self.0.name.as_deref().unwrap_or("total");
        format!("<CalibratedLine '{name}': epsilon <= {}>", self.0.tight_after.at_most(READABLE))
    }
}
