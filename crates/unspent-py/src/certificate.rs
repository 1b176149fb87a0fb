//! Certificates and calibrated allocations: the library's reports, as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyClass, PyClassInitializer};
use serde::Serialize;
use unspent::question::{CertificateQuestion, Product};
use unspent::report::READABLE;
use unspent::report::certificate::Stamp;
use unspent::report::columns::{Columns, Values};
use unspent::{Conversion, Delta, Round};

use crate::bounds::Bounds;
use crate::classes::Allocation;
use crate::error::OrRaise;
use crate::number::{fraction, rational, wrong_type};
use crate::work::asked;

/// The dictionary that `unspent ... --json` writes.
pub fn dictionary<'py>(py: Python<'py>, report: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json(report),))
}

/// The JSON that `unspent ... --json` writes.
pub fn json(report: &impl Serialize) -> String {
    serde_json::to_string(report).expect("a report has only texts, numbers and lists")
}

/// Columns as a pandas DataFrame.
pub fn frame<'py>(py: Python<'py>, columns: &Columns) -> PyResult<Bound<'py, PyAny>> {
    py.import("unspent._frames")?.call_method1("frame", (lists(py, columns)?,))
}

/// Columns as lists by name.
pub fn lists<'py>(py: Python<'py>, columns: &Columns) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    for column in &columns.0 {
        let exact = |x: &Option<unspent::Rational>| x.as_ref().map(|x| fraction(py, x)).transpose();
        let values = match &column.values {
            Values::Text(values) => values.into_pyobject(py)?,
            Values::Flag(values) => values.into_pyobject(py)?,
            Values::Count(values) => values.into_pyobject(py)?,
            Values::Exact(values) => {
                values.iter().map(exact).collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?
            }
            Values::Rounded(values) => {
                let doubles: Vec<_> = values.iter().map(|x| x.as_ref().map(|(_, x)| *x)).collect();
                doubles.into_pyobject(py)?
            }
        };
        data.set_item(column.name, values)?;
    }
    Ok(data)
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
/// >>> redistricting, detailed = map(unspent.preset, ["pl94-persons-us-2020", "dhc-persons-us-2020"])
/// >>> both = unspent.certificate(redistricting, detailed)
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
        inputs.push(Product::from(allocation.get()));
    }
    let delta = delta.map(|d| Delta::new(rational("delta", d)?).or_raise(py)).transpose()?;
    let conversion = conversion.map(Conversion::parse).transpose().or_raise(py)?;
    let question = CertificateQuestion { delta, conversion, ..CertificateQuestion::about(inputs) };
    let report = asked(py, question.clone())?;
    Ok(Certificate { report, question, allocations: allocations.clone().unbind() })
}

/// A release and its guarantees; printed, a table.
#[pyclass(frozen, module = "unspent")]
pub struct Certificate {
    report: unspent::Certificate,
    question: CertificateQuestion,
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

    /// The removable noise at the same published epsilon: of all levels alike, and of each by itself.
    #[getter]
    fn reductions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.report.reductions, |reduction| Reduction(reduction.clone()))
    }

    /// Parts of which nothing is said, like "attribute race", each with its reason.
    #[getter]
    fn left_out(&self) -> Vec<(String, &str)> {
        self.report.left_out.iter().map(|left| (left.scope.to_string(), left.reason.as_str())).collect()
    }

    /// The same report as `unspent certificate --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.report)
    }

    /// The same report as `unspent certificate --json`, as a str.
    fn to_json(&self) -> String {
        json(&self.report)
    }

    /// The lines as a pandas DataFrame with the columns of `unspent certificate --csv`. Every epsilon in it
    /// is an upper bound, rounded up, but those whose names end in `lower`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        frame(py, &self.report.columns())
    }

    /// The certificate as Markdown, to be signed; `date` is that of the document.
    fn to_markdown(&self, date: &str) -> String {
        self.report.signed(&Stamp { date: date.into(), ..Stamp::default() }).markdown()
    }

    /// The certificate as a page of HTML, to be printed and signed; `date` is that of the document.
    fn to_html(&self, date: &str) -> String {
        let title = format!("Privacy certificate: {}", self.report.name);
        self.report.signed(&Stamp { date: date.into(), ..Stamp::default() }).html(&title)
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
        self.report.document().terminal()
    }

    fn _repr_html_(&self) -> String {
        self.report.document().fragment()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let CertificateQuestion { delta, conversion, .. } = &slf.get().question;
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
pub struct Line(unspent::report::certificate::Line);

#[pymethods]
impl Line {
    /// "total", "level", "keeping", "attribute" or "within".
    #[getter]
    fn scope(&self) -> &'static str {
        self.0.scope.kind()
    }

    /// The name of the level or attribute; None for the total.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.scope.name()
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

    /// The zCDP budget of what it can move; None if zCDP bounds nothing of some mechanism.
    #[getter]
    fn rho(&self) -> Option<Bounds> {
        self.0.rho.as_ref().map(|rho| Bounds::at_most(rho.bounds()))
    }

    /// Epsilon by Bun and Steinke's conversion, a float rounded up.
    #[getter]
    fn bun_steinke(&self) -> Option<f64> {
        self.0.bun_steinke.map(|epsilon| epsilon.to_f64(Round::Up))
    }

    /// Epsilon by Canonne, Kamath and Steinke's conversion, a float rounded up.
    #[getter]
    fn canonne_kamath_steinke(&self) -> Option<f64> {
        self.0.canonne_kamath_steinke.map(|epsilon| epsilon.to_f64(Round::Up))
    }

    /// The least epsilon: `.upper` is the guarantee.
    #[getter]
    fn tight(&self) -> Bounds {
        Bounds::at_most(self.0.tight.bounds())
    }

    /// Whether neighbours are known that have the epsilon of the worst case; if not, `tight.lower` is that of
    /// others.
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
pub struct Reduction(unspent::report::certificate::Reduction);

#[pymethods]
impl Reduction {
    /// "total" or "level".
    #[getter]
    fn scope(&self) -> &'static str {
        self.0.scope.kind()
    }

    /// The name of the level; None for all alike.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.scope.name()
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

    /// Right below it and certified to break the promise, a Fraction; None if the least noise allowed keeps
    /// it.
    #[getter]
    fn failing<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.failing.as_ref().map(|x| fraction(py, x)).transpose()
    }

    fn __repr__(&self) -> String {
        let name = self.0.scope.name().unwrap_or("all levels alike");
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
        Allocation::from(self.0.allocation.clone())
    }

    /// What all variances were multiplied with, a Fraction; None if the levels differ.
    #[getter]
    fn factor<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.rows[0].factor.as_ref().map(|x| fraction(py, x)).transpose()
    }

    /// Whether the whole release now exceeds what was published for it, as it may if each level was scaled by
    /// itself.
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
        frame(slf.py(), &slf.get().0.columns())
    }

    fn __str__(&self) -> String {
        self.0.document().terminal()
    }

    fn _repr_html_(&self) -> String {
        self.0.document().fragment()
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
pub struct CalibratedLine(unspent::report::recalibration::Row);

#[pymethods]
impl CalibratedLine {
    /// "total" or "level".
    #[getter]
    fn scope(&self) -> &'static str {
        self.0.scope.kind()
    }

    /// The name of the level; None for the total.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.scope.name()
    }

    /// The epsilon that is kept, a float rounded up; None if this part has no promise of its own.
    #[getter]
    fn promised(&self) -> Option<f64> {
        self.0.promised.as_ref().map(|number: &unspent::Number| number.bounds().to_f64().upper())
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
        let name = self.0.scope.name().unwrap_or("total");
        format!("<CalibratedLine '{name}': epsilon <= {}>", self.0.tight_after.at_most(READABLE))
    }
}
