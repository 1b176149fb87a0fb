//! What noise does to a table of counts.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use unspent::mechanism::Stated;
use unspent::schema::Schema;
use unspent::{Delta, ErrorKind, Scaling};
use unspent_data::utility::{After, BANDS, GivenNoise};
use unspent_data::{Quiet, UtilityQuestion};

use crate::allocation::Allocation;
use crate::certificate::{dictionary, frame, json};
use crate::columns::input;
use crate::error::OrRaise;
use crate::measure::raised;
use crate::noise::{seeded, threads_given};
use crate::number::{rational, wrong_type};
use crate::work::interruptible;

/// What noise does to a table of counts: expected errors by level, cell and size of the unit.
///
/// Mean squared and absolute errors and bias, summed over the exact law of the noise, of raw noisy counts and
/// of counts that are clamped at zero; with the noise of the allocation `before` and with that of `after`:
/// another Allocation or, unless given, the same one calibrated to what it promises (all levels alike, or
/// `each_level` by itself). `query` names the query whose noise is a level's, where they differ. Noise of
/// single levels may be given directly: `sigma2={"Block": (456.62, 343.27)}`, before and after, or one number
/// to be changed as the allocation's is; `sigma` and `scale` likewise, as standard deviations.
///
/// Beside them stands the mean squared error after estimation, by level: the variance of the best linear
/// unbiased estimate on the tree of the table's units, from all measurements of the allocation or, if noise
/// is given directly, from the noisy counts alone. Where there is no estimate, the report says why.
///
/// `table`, `schema` and `show_values` are as in `measure`. `by` are the attributes whose cells are looked
/// at, all unless given; `bands` is where bands of the units' sizes begin. With `trials` noise is drawn so
/// many times besides.
///
/// What is reported is computed from the exact counts: for a confidential table it is NOT PRIVATE.
///
/// >>> import unspent
/// >>> towns = unspent.Allocation.parse('''
/// ... name = "Towns"
/// ... neighbours = "add-remove"
/// ... delta = "1e-10"
/// ... conversion = "canonne-kamath-steinke"
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
/// >>> report = unspent.utility({"town": ["a", "b"], "people": [1200, 0]}, towns)
/// >>> error = report.to_dict()["levels"][0]["all"]["plain"]
/// >>> round(error["before"]["mse"], 6), error["after"]["mse"] < 5
/// (5.0, True)
#[pyfunction]
#[pyo3(signature = (
    table, before=None, after=None, *, sigma2=None, sigma=None, scale=None, query=None, by=None, bands=None,
    each_level=false, delta=None, schema=None, trials=0, threads=None, not_private_seed=None,
    show_values=false
))]
#[allow(clippy::too_many_arguments)] // Keywords, each with its name.
pub fn utility<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    before: Option<&Bound<'py, Allocation>>,
    after: Option<&Bound<'py, Allocation>>,
    sigma2: Option<&Bound<'py, PyDict>>,
    sigma: Option<&Bound<'py, PyDict>>,
    scale: Option<&Bound<'py, PyDict>>,
    query: Option<String>,
    by: Option<&Bound<'py, PyAny>>,
    bands: Option<Vec<u64>>,
    each_level: bool,
    delta: Option<&Bound<'py, PyAny>>,
    schema: Option<PathBuf>,
    trials: u64,
    threads: Option<&Bound<'py, PyAny>>,
    not_private_seed: Option<&Bound<'py, PyAny>>,
    show_values: bool,
) -> PyResult<UtilityReport> {
    let before = before.map(|before| before.get().0.clone());
    let schema = schema.map(|path| Schema::read(&path)).transpose().or_raise(py)?;
    let known = schema.as_ref().or(before.as_ref().and_then(|before| before.schema()));
    let question = UtilityQuestion::new(input(table, known)?);
    let mut given = vec![];
    for (stated, levels) in [(Stated::Sigma2, sigma2), (Stated::Sigma, sigma), (Stated::Scale, scale)] {
        for (level, noise) in levels.into_iter().flatten() {
            given.push(given_noise(stated, level.extract()?, &noise)?);
        }
    }
    let question = UtilityQuestion {
        after: match after {
            Some(after) => After::Allocation(Box::new(after.get().0.clone())),
            None => After::Calibrated(if each_level { Scaling::Level } else { Scaling::Total }),
        },
        before,
        schema,
        given,
        query,
        by: by.map(names).transpose()?,
        bands: bands.unwrap_or_else(|| BANDS.to_vec()),
        delta: delta.map(|d| Delta::new(rational("delta", d)?).or_raise(py)).transpose()?,
        trials,
        threads: threads_given(py, threads)?,
        noise: seeded(py, not_private_seed)?,
        ..question
    };
    let found = interruptible(py, move || question.answer(&mut Quiet))?;
    found.map(UtilityReport).map_err(|error| match error.kind() {
        // What is promised cannot be said here.
        ErrorKind::NoPromise => {
            let hint = "give after=, an Allocation with the noise after";
            raised(py, error.with_kind(ErrorKind::Input).with_hint(hint), show_values)
        }
        _ => raised(py, error, show_values),
    })
}

/// One name, or several.
fn names(by: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if by.is_instance_of::<PyString>() {
        return Ok(vec![by.extract()?]);
    }
    by.extract().map_err(|_| wrong_type("by", by, "names of attributes; give a list of str"))
}

/// A number, or one before and one after.
fn given_noise(stated: Stated, level: String, noise: &Bound<'_, PyAny>) -> PyResult<GivenNoise> {
    let read = |number: &Bound<'_, PyAny>| {
        let field = format!("{}[{level:?}]", stated.name());
        stated
            .sigma2(rational(&field, number)?)
            .map_err(|error| error.at(format!("level `{level}`")))
            .or_raise(number.py())
    };
    let (before, after) = match noise.cast::<PyTuple>() {
        Ok(pair) if pair.len() == 2 => (read(&pair.get_item(0)?)?, Some(read(&pair.get_item(1)?)?)),
        Ok(_) => return Err(wrong_type(stated.name(), noise, "one number, or a pair: before and after")),
        Err(_) => (read(noise)?, None),
    };
    Ok(GivenNoise { stated, level, before, after })
}

/// The errors of a table, before and after; printed, tables. Computed from the exact counts: NOT PRIVATE.
#[pyclass(frozen, module = "unspent")]
pub struct UtilityReport(unspent_data::UtilityReport);

#[pymethods]
impl UtilityReport {
    /// The names of the levels with noise, from the largest areas to the smallest.
    #[getter]
    fn levels(&self) -> Vec<&str> {
        self.0.errors.levels.iter().map(|level| level.level.as_str()).collect()
    }

    /// What it must not be used for.
    #[getter]
    fn warning(&self) -> &'static str {
        self.0.errors.warning
    }

    /// The report as text; `level` is the one whose cells and sizes of units are shown, the smallest units
    /// unless given.
    #[pyo3(signature = (level=None))]
    fn text(&self, py: Python<'_>, level: Option<&str>) -> PyResult<String> {
        Ok(self.0.document(self.0.errors.level(level).or_raise(py)?).terminal())
    }

    /// The report of `unspent utility --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    /// The same as JSON.
    fn to_json(&self) -> String {
        json(&self.0)
    }

    /// One row for each level, cell and size of unit, raw ("plain") and clamped at zero ("cut"), as a pandas
    /// DataFrame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        frame(py, &self.0.errors.columns())
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, None)
    }

    fn __repr__(&self) -> String {
        let errors = &self.0.errors;
        format!("<UtilityReport: {} rows, {} levels; NOT PRIVATE>", errors.rows, errors.levels.len())
    }
}
