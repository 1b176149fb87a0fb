//! What a design says, and what is said of an allocation for which there are needs.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use unspent::Number;
use unspent_estimate::design;

use crate::bounds::Bounds;
use crate::certificate::{dictionary, frame, json, lists};
use crate::classes::Allocation;
use crate::number::fraction;

/// An allocation that meets needs, and how much less could meet them; printed, a report.
#[pyclass(frozen, module = "unspent")]
pub struct Design(pub design::Design);

#[pymethods]
impl Design {
    /// The allocation. All of its numbers are exact.
    #[getter]
    fn allocation(&self) -> Allocation {
        self.0.allocation.clone().into()
    }

    /// What it spends in zCDP, a Fraction.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.rho)
    }

    /// No allocation of the queries on offer meets the needs with less: a Fraction, computed exactly. None
    /// with a list of units, where there is no such bound.
    #[getter]
    fn least_rho<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.least_rho.as_ref().map(|rho| fraction(py, rho)).transpose()
    }

    /// The delta at which epsilon is quoted, a Fraction.
    #[getter]
    fn delta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, self.0.delta.value())
    }

    /// The epsilon of the allocation, certified.
    #[getter]
    fn epsilon(&self) -> Bounds {
        Bounds::at_most(Number::from(self.0.epsilon).bounds())
    }

    /// The common factor of all margins: 1 unless epsilon was given.
    #[getter]
    fn factor(&self) -> f64 {
        self.0.factor
    }

    /// What became of each need: a dict of columns.
    ///
    /// `asked` and `predicted` are margins, in records or, for shares, as a part of 1; `coverage` is how
    /// often an error is within the margin that was asked for; `budget` the part of the budget that the
    /// need accounts for; `tenth_wider_saves` how much less epsilon would do if the margin were wider by a
    /// tenth.
    #[getter]
    fn needs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        lists(py, &self.0.columns())
    }

    /// Every query at every level: a dict of columns.
    ///
    /// `rho` and `sigma2` are Fractions, None if it is not measured; `estimate_sd` is the standard deviation
    /// of the best estimate of its least known answer, None if that can no longer be answered.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        lists(py, &self.0.table_columns())
    }

    /// The report of `unspent design --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    /// The same as JSON.
    fn to_json(&self) -> String {
        json(&self.0)
    }

    /// One row for each need, as a pandas DataFrame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        frame(py, &self.0.columns())
    }

    fn __str__(&self) -> String {
        self.0.document().terminal()
    }

    fn _repr_html_(&self) -> String {
        self.0.document().fragment()
    }

    fn __repr__(&self) -> String {
        let rho = self.0.rho.to_decimal_or_fraction();
        format!("<Design '{}': {} needs, rho = {rho}>", self.0.allocation.name(), self.0.needs.len())
    }
}

/// Which needs an allocation meets; printed, a table.
#[pyclass(frozen, module = "unspent")]
pub struct Checked(pub design::Checked);

#[pymethods]
impl Checked {
    /// Whether it meets all of them.
    #[getter]
    fn met(&self) -> bool {
        self.0.all_met()
    }

    /// What the allocation spends in zCDP, a Fraction.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.rho)
    }

    /// Its epsilon, certified.
    #[getter]
    fn epsilon(&self) -> Bounds {
        Bounds::at_most(Number::from(self.0.epsilon).bounds())
    }

    /// How well each need is met: a dict of columns, as in a Design.
    #[getter]
    fn needs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        lists(py, &self.0.columns())
    }

    /// The report of `unspent design --check --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    /// The same as JSON.
    fn to_json(&self) -> String {
        json(&self.0)
    }

    /// One row for each need, as a pandas DataFrame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        frame(py, &self.0.columns())
    }

    fn __str__(&self) -> String {
        self.0.document().terminal()
    }

    fn _repr_html_(&self) -> String {
        self.0.document().fragment()
    }

    fn __repr__(&self) -> String {
        let met = self.0.needs.iter().filter(|need| need.met).count();
        format!("<Checked '{}': {met} of {} needs met>", self.0.allocation, self.0.needs.len())
    }
}

/// What an allocation is optimal for: how important each of its tables must be; printed, a table.
#[pyclass(frozen, module = "unspent")]
pub struct Explained(pub design::Explained);

#[pymethods]
impl Explained {
    /// What the allocation spends in zCDP, a Fraction.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.rho)
    }

    /// No allocation of the same queries has all deviations as small with less: a Fraction, computed exactly.
    #[getter]
    fn least_rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.least_rho)
    }

    /// Every query at every level, the most important first: a dict of columns.
    ///
    /// `importance` is the part of the budget that its accuracy accounts for, `own_noise` the part that is
    /// spent on its own noise, and `estimate_sd` the standard deviation of its least known answer.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        lists(py, &self.0.columns())
    }

    /// The report of `unspent design --explain --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    /// The same as JSON.
    fn to_json(&self) -> String {
        json(&self.0)
    }

    /// One row for each query at each level, as a pandas DataFrame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        frame(py, &self.0.columns())
    }

    fn __str__(&self) -> String {
        self.0.document().terminal()
    }

    fn _repr_html_(&self) -> String {
        self.0.document().fragment()
    }

    fn __repr__(&self) -> String {
        format!("<Explained '{}': {} tables>", self.0.allocation, self.0.tables.len())
    }
}
