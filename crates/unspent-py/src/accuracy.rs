//! How far estimates will be from the true counts.

use std::path::PathBuf;

use pyo3::prelude::*;
use unspent::Error;
use unspent::schema::Schema;
use unspent_data::{BypassRule, Quiet, UnitsAccuracy};
use unspent_estimate::AccuracyQuestion;

use crate::allocation::Allocation;
use crate::certificate::{dictionary, frame, json};
use crate::columns::unit_input;
use crate::error::{OrRaise, exception};
use crate::measure::rule;
use crate::number::rational;
use crate::texts::texts;
use crate::work::{asked, interruptible};

/// How far every estimate will be from the true count, from an allocation and the units alone.
///
/// The best linear unbiased estimate uses all measurements of a count: its own query, sums of finer ones, the
/// units above and below. Its error follows from the noise: no data is needed. `units` is the list of all
/// units of the smallest level, a path or columns, of which only the codes are read; then every unit has its
/// exact variance. Without it all units of a level have equally many children: `per_level` says how many
/// units each level has, from the first on. For the levels of the 2020 Census its numbers are known.
///
/// `schema`, a file, says which values attributes have and how the list is read, unless the allocation does.
/// `bypass` is as in `measure`. `exact_totals` names levels whose totals are exact, besides those that the
/// allocation says. Without `structural_zeros` it is not used that some combinations of values cannot occur.
///
/// >>> import unspent
/// >>> census = unspent.preset("pl94-persons-us-2020")
/// >>> expected = unspent.accuracy(census, exact_totals="State")
/// >>> tract = expected.to_dict()["levels"][3]
/// >>> total = tract["queries"][0]
/// >>> tract["level"], total["query"], total["estimate"]["sd"] < total["noise"]["sd"]
/// ('Tract', 'total', True)
#[pyfunction]
#[pyo3(
    signature = (
        allocation, per_level=None, units=None, *, schema=None, bypass=None, exact_totals=None,
        confidence=None, structural_zeros=true
    ),
    text_signature = "(allocation, per_level=None, units=None, *, schema=None, bypass=None, exact_totals=(), \
                      confidence='0.95', structural_zeros=True)"
)]
#[allow(clippy::too_many_arguments)] // Keywords, each with its name.
pub fn accuracy<'py>(
    py: Python<'py>,
    allocation: &Bound<'py, Allocation>,
    per_level: Option<Vec<u64>>,
    units: Option<&Bound<'py, PyAny>>,
    schema: Option<PathBuf>,
    bypass: Option<&Bound<'py, PyAny>>,
    exact_totals: Option<&Bound<'py, PyAny>>,
    confidence: Option<&Bound<'py, PyAny>>,
    structural_zeros: bool,
) -> PyResult<Accuracy> {
    let schema = schema.map(|path| Schema::read(&path)).transpose().or_raise(py)?;
    let allocation = allocation.get().0.clone();
    let allocation = match schema.clone() {
        Some(schema) => allocation.with_schema(schema),
        None => allocation,
    };
    let question = AccuracyQuestion {
        confidence: confidence.map(|confidence| rational("confidence", confidence)).transpose()?,
        exact_totals: texts("exact_totals", exact_totals)?,
        structural_zeros: Some(structural_zeros),
        per_level,
        ..AccuracyQuestion::about(allocation.clone())
    };
    let refuse = |cause: &str, hint: &str| Err(exception(py, &Error::stated(cause, hint)));
    let Some(units) = units else {
        if bypass.is_some() {
            return refuse("bypass is given without units", "which units are bypassed is said of a list");
        }
        return asked(py, question).map(Accuracy);
    };
    if question.per_level.is_some() {
        return refuse("both per_level and units are given", "a list of units has its own numbers");
    }
    let bypass = bypass.map(rule).transpose()?;
    let column = bypass.iter().filter_map(|rule| match rule {
        BypassRule::Column(column) => Some(column.clone()),
        _ => None,
    });
    let units = unit_input(units, allocation.schema(), &column.collect::<Vec<_>>())?;
    let assumptions = question.assumptions();
    let asked = UnitsAccuracy { schema, bypass, assumptions, ..UnitsAccuracy::new(units, allocation) };
    interruptible(py, move || asked.answer(&mut Quiet))?.or_raise(py).map(Accuracy)
}

/// How far estimates will be from the true counts, by level and query; printed, a table.
#[pyclass(frozen, module = "unspent")]
pub struct Accuracy(pub unspent_estimate::Accuracy);

#[pymethods]
impl Accuracy {
    /// The names of the levels, from the largest areas to the smallest.
    #[getter]
    fn levels(&self) -> Vec<&str> {
        self.0.levels.iter().map(|level| level.level.as_str()).collect()
    }

    /// The report of `unspent accuracy --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    /// The same as JSON.
    fn to_json(&self) -> String {
        json(&self.0)
    }

    /// One row for each level and query, as a pandas DataFrame.
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
        format!("<Accuracy '{}': {} levels>", self.0.allocation, self.0.levels.len())
    }
}
