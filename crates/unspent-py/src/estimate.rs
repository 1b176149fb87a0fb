//! The best estimates of counts from noisy measurements, as tables.
//!
//! ```text
//! folders ─▶ Estimate ─▶ Estimates ─┬▶ units of a level, areas of the maps ─▶ EstimateTable (Python)
//!                                   └▶ other areas: estimated again with them
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use unspent::{Error, Result};
use unspent_data::estimate::{AnswerRow, AreaName, EstimateManifest, NamedArea};
use unspent_data::{Estimate, Quiet};

use crate::accuracy::Accuracy;
use crate::answers::{Numbers, UnitRows, builders};
use crate::certificate::dictionary;
use crate::error::{OrRaise, exception};
use crate::measure::{raised, to_the_end};
use crate::measurements::Measurements;
use crate::number::{rational, wrong_type};
use crate::texts::{strings, texts};
use crate::whole::{self, WholeTables};
use crate::work::interruptible;

/// The map of areas that are given as a dict.
const DISTRICT: &str = "district";

/// The best unbiased estimate of every count from noisy measurements, with its variance and intervals.
///
/// A count is measured many times over: by its own query, by sums of finer ones, by the units above and
/// below. The estimate collects all of it (generalised least squares, exactly). It reads only what was
/// published, so that it spends no budget.
///
/// `noisy` is a folder of noisy measurements, as `measure` writes it with `out`, or published ones; `more`
/// are others of the same records. With `out` a directory is written as the command does, which must not
/// exist and appears whole or not at all; `levels` are those whose estimates are written, all unless given;
/// whole tables are written of all levels. `queries` are those that are answered, all unless given; with
/// `leaf_cells` also the full table, which is else not written for the smallest units. The Estimates read the
/// folder again for the smallest units and for other areas: it must stay as it is.
///
/// `sums` are other sums of cells, each a name and a predicate: 'adults: age = "adult"'. `ratios` are
/// ratios of two sums: "adults / total". `districts` says which units make areas: a CSV file or several,
/// with the code of a unit and then the areas that it is in; or a dict of names and codes. `differences`
/// are pairs of such areas, for the directory. Without `structural_zeros` it is not used that some
/// combinations of values cannot occur.
///
/// With `tables` the result also has `tables`: a table of whole people, or of whatever is counted, for every
/// unit of every level. No count is negative and everything adds up exactly. This has a price: small counts
/// are biased upward and large ones downward, and no interval of an estimate applies to the tables.
/// `bounds` are limits that they must meet, one CSV file or several with the columns
/// level,geocode,query,answer,at_least,at_most. With `replicates` noise is added to the tables so many times
/// and all is done again, to find how far they may be from the truth: a simulation, no guarantee, with noise
/// from `seed`, which need not be secret. `own_measurements` makes each table from its unit's own
/// measurements and its parent's table alone, as the 2020 system did. `published` and `records` write the
/// tables in the form of the redistricting file, and a record for each one that they count, to `out`.
///
/// >>> import tempfile, unspent
/// >>> towns = unspent.Allocation.parse('''
/// ... name = "Towns"
/// ... neighbours = "add-remove"
/// ... delta = "1e-10"
/// ... [queries]
/// ... total = []
/// ... [[levels]]
/// ... name = "County"
/// ... sigma2 = { total = 4 }
/// ... [[levels]]
/// ... name = "Town"
/// ... sigma2 = { total = 4 }
/// ... [table]
/// ... code = "town"
/// ... cells = [{ column = "people" }]
/// ... [table.levels]
/// ... County = 1
/// ... Town = 2
/// ... ''')
/// >>> place = tempfile.TemporaryDirectory()
/// >>> table = {"town": ["1a", "1b"], "people": [1200, 0]}
/// >>> written = unspent.measure(table, towns, place.name + "/noisy")
/// >>> estimates = unspent.estimate(written.path)
/// >>> town = estimates.table("Town", "total")
/// >>> print(town["geocode"], town["variance"].round(3))
/// ['1a' '1b'] [2.667 2.667]
/// >>> both = estimates.district(["1a", "1b"])
/// >>> print(both["variance"].round(3), estimates.covariance("1a", "1b")["covariance"].round(3))
/// [2.667] [-1.333]
/// >>> whole = unspent.estimate(written.path, tables=True).tables
/// >>> bool(whole.dense("Town").sum() == whole.dense("County").sum())
/// True
/// >>> place.cleanup()
#[pyfunction]
#[pyo3(
    signature = (
        noisy, *more, out=None, confidence=None, sums=None, ratios=None, districts=None, differences=None,
        levels=None, queries=None, structural_zeros=true, leaf_cells=false, tables=false,
        own_measurements=false, bounds=None, replicates=0, seed=None, published=false, records=false
    ),
    text_signature = "(noisy, *more, out=None, confidence='0.95', sums=(), ratios=(), districts=None, \
                      differences=(), levels=None, queries=None, structural_zeros=True, leaf_cells=False, \
                      tables=False, own_measurements=False, bounds=None, replicates=0, seed=1, \
                      published=False, records=False)"
)]
#[allow(clippy::too_many_arguments)] // Keywords, each with its name.
pub fn estimate<'py>(
    py: Python<'py>,
    noisy: &Bound<'py, PyAny>,
    more: Vec<Bound<'py, PyAny>>,
    out: Option<PathBuf>,
    confidence: Option<&Bound<'py, PyAny>>,
    sums: Option<&Bound<'py, PyAny>>,
    ratios: Option<&Bound<'py, PyAny>>,
    districts: Option<&Bound<'py, PyAny>>,
    differences: Option<Vec<(String, String)>>,
    levels: Option<&Bound<'py, PyAny>>,
    queries: Option<&Bound<'py, PyAny>>,
    structural_zeros: bool,
    leaf_cells: bool,
    tables: bool,
    own_measurements: bool,
    bounds: Option<&Bound<'py, PyAny>>,
    replicates: u32,
    seed: Option<u64>,
    published: bool,
    records: bool,
) -> PyResult<Estimates> {
    let wanted = whole::Wanted { own_measurements, bounds, replicates, seed, published, records };
    let (maps, areas) = districts.map_or(Ok((vec![], vec![])), maps)?;
    let first = folder(noisy)?;
    let mut question = Estimate {
        structural_zeros,
        leaf_cells,
        levels: texts("levels", levels)?,
        queries: texts("queries", queries)?,
        sums: texts("sums", sums)?,
        ratios: texts("ratios", ratios)?,
        maps,
        areas,
        differences: differences.unwrap_or_default(),
        tables: wanted.question(py, tables)?,
        ..Estimate::new(&first)
    };
    question.noisy.extend(more.iter().map(folder).collect::<PyResult<Vec<_>>>()?);
    if let Some(confidence) = confidence {
        question.confidence = rational("confidence", confidence)?;
    }
    let only_written = [
        ("levels", !question.levels.is_empty(), "what is returned has table(level)"),
        ("differences", !question.differences.is_empty(), "what is returned has difference(a, b)"),
        ("published", published, "what is returned has tables.published(name, level)"),
        ("records", records, "give a path that does not exist"),
    ];
    if let (None, Some((field, _, instead))) = (&out, only_written.iter().find(|(_, given, _)| *given)) {
        let hint = format!("it is for the directory; {instead}");
        return Err(exception(py, &Error::stated(format!("{field} is given without out"), hint)));
    }
    let asked = question.clone();
    // Other areas are estimated without making tables again.
    question.tables = None;
    let made = match out {
        None => interruptible(py, move || {
            let made = asked.estimates(&mut Quiet)?;
            asked.ratios.iter().try_for_each(|ratio| made.check_ratio(ratio))?;
            let tables = asked.tables.is_some().then(|| made.tables_and_errors(&mut Quiet)).transpose()?;
            Ok((made, tables, None))
        }),
        Some(out) => to_the_end(py, move || {
            let (made, tables, report) = asked.estimates_in_directory(&out, &mut Quiet)?;
            Ok((made, tables.map(|tables| (tables, report.table_errors)), Some(report.manifest)))
        }),
    }?;
    let (made, tables, manifest) = made.map_err(|error| raised(py, error, false))?;
    let made = Arc::new(made);
    let tables = tables.map(|found| Py::new(py, WholeTables::new(made.clone(), found))).transpose()?;
    Ok(Estimates { question, manifest, made, tables })
}

/// A folder of noisy measurements.
fn folder(given: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    if given.is_instance_of::<Measurements>() {
        let cause = "noisy: measurements in memory cannot be estimated";
        let hint = "give measure out=, a folder, and estimate that folder";
        return Err(exception(given.py(), &Error::stated(cause, hint)));
    }
    given.extract().map_err(|_| wrong_type("noisy", given, "a folder; give a path, as str or pathlib.Path"))
}

/// The code of a unit, or several.
fn codes(field: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    strings(field, given, "a code, or several; give them as str, with their leading zeros")
}

/// Files with maps, or areas by name.
fn maps(given: &Bound<'_, PyAny>) -> PyResult<(Vec<PathBuf>, Vec<NamedArea>)> {
    if let Ok(path) = given.extract() {
        return Ok((vec![path], vec![]));
    }
    if let Ok(areas) = given.cast::<PyDict>() {
        let area = |(name, units): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name = AreaName { map: DISTRICT.into(), area: name.str()?.extract()? };
            Ok(NamedArea { name, codes: codes("districts", &units)? })
        };
        return Ok((vec![], areas.iter().map(area).collect::<PyResult<_>>()?));
    }
    let allowed = "a map; give the path of a CSV file, several paths, or a dict of names and codes";
    given.extract().map(|paths| (paths, vec![])).map_err(|_| wrong_type("districts", given, allowed))
}

/// The best estimates of counts, to be asked one after the other.
///
/// What is asked for comes as an EstimateTable: columns by name, as NumPy's arrays. A value and its variance
/// are nan where the measurements do not determine them. `lower` and `upper` are right about as often as the
/// confidence says, `lower_guaranteed` and `upper_guaranteed` at least so often; they are whole counts, or
/// nan where no count is near enough.
#[pyclass(frozen, module = "unspent")]
pub struct Estimates {
    question: Estimate,
    manifest: Option<EstimateManifest>,
    made: Arc<unspent_data::estimate::Estimates>,
    tables: Option<Py<WholeTables>>,
}

/// An area that was asked for.
enum Area {
    /// One of the maps.
    Named(String),
    /// Other units, and what they are called in messages.
    Codes(String, Vec<String>),
}

#[pymethods]
impl Estimates {
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let queries = self.queries().join(", ");
        let warning = self.warning().unwrap_or_default().to_string();
        let mut rows = vec![
            ("levels", self.levels().join(", ")),
            ("queries", queries),
            ("areas", self.areas().join(", ")),
            ("warning", warning),
        ];
        rows.retain(|(_, text)| !text.is_empty());
        builders(py)?.call_method1("named", (rows,))?.extract()
    }

    /// The names of the levels, from the largest areas to the smallest.
    #[getter]
    fn levels(&self) -> Vec<String> {
        self.made.levels().to_vec()
    }

    /// The names of the queries and sums that are answered.
    #[getter]
    fn queries(&self) -> Vec<&str> {
        self.made.queries().map(|(name, _)| name).collect()
    }

    /// The areas of the maps, each as "map:area".
    #[getter]
    fn areas(&self) -> Vec<String> {
        self.made.areas().iter().map(full).collect()
    }

    /// What must be said of the noise; None if it is private, or of others.
    #[getter]
    fn warning(&self) -> Option<&str> {
        self.made.warning()
    }

    /// What was written, as in manifest.json: a dict; None without `out`.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.manifest.as_ref().map(|manifest| dictionary(py, manifest)).transpose()
    }

    /// Whole tables that add up over all levels: WholeTables, if `tables=True` was given.
    #[getter]
    fn tables(&self, py: Python<'_>) -> PyResult<Py<WholeTables>> {
        whole::made(
            py,
            self.tables.as_ref().map(|tables| tables.clone_ref(py)),
            "whole tables",
            "tables=True",
        )
    }

    /// What the answers of a query count, in words, in the order of `cell`.
    fn labels(&self, py: Python<'_>, query: &str) -> PyResult<Vec<String>> {
        self.made.check_query(query).or_raise(py)?;
        Ok(self.made.labels(query).to_vec())
    }

    /// How precise the estimates are, by level and query: an Accuracy, as `accuracy` gives it beforehand.
    fn accuracy(&self, py: Python<'_>) -> PyResult<Accuracy> {
        let made = self.made.clone();
        Ok(Accuracy(interruptible(py, move || Ok(made.accuracy()))?.or_raise(py)?))
    }

    /// The answers for every unit of a level, to all queries or to one: level, geocode, query, cell (its
    /// place in the query, the last attribute changing fastest), value, variance, lower, upper,
    /// lower_guaranteed and upper_guaranteed.
    #[pyo3(signature = (level, query=None))]
    fn table<'py>(
        &self,
        py: Python<'py>,
        level: String,
        query: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (made, of_level) = (self.made.clone(), level.clone());
        let rows = interruptible(py, move || {
            let names: Vec<String> = made.queries().map(|(name, _)| name.to_string()).collect();
            let mut rows = UnitRows::default();
            made.units(&of_level, query.as_deref(), &mut |code, query, answers| {
                rows.push(code, names.iter().position(|name| name == query).unwrap_or_default(), answers);
            })?;
            Ok(rows)
        })?
        .or_raise(py)?;
        let UnitRows { codes, queries, lengths, numbers } = rows;
        let blocks = (codes, PyArray1::from_vec(py, queries), PyArray1::from_vec(py, lengths));
        let numbers = numbers.arrays(py)?;
        builders(py)?.call_method1("units", (level, self.queries(), blocks, numbers, self.warning()))
    }

    /// The answers for an area: a code of a unit, small or large, or several; or an area of a map, as
    /// "map:area". Every unit counts once. `name` is what the column `area` says.
    ///
    /// Other areas than those of the maps are estimated together with everything else, which reads the
    /// folder again.
    #[pyo3(signature = (codes, name=None))]
    fn district<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        name: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let area = self.area("codes", codes)?;
        let name = name.unwrap_or_else(|| match &area {
            Area::Named(name) => name.clone(),
            Area::Codes(_, codes) if codes.len() == 1 => codes[0].clone(),
            Area::Codes(..) => DISTRICT.into(),
        });
        let found = self.asked(py, vec![area], |made, names| made.area(&names[0]))?;
        let areas = vec![("area", vec![name; found.len()])];
        self.answered(py, areas, found, None)
    }

    /// The answers for all areas of the maps: map, area, and then as for one of them.
    fn districts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.made.clone();
        let found = interruptible(py, move || {
            made.areas()
                .iter()
                .map(|area| Ok((area.clone(), made.area(&full(area))?)))
                .collect::<Result<Vec<_>>>()
        })?
        .or_raise(py)?;
        let column = |pick: fn(&AreaName) -> &String| {
            found.iter().flat_map(|(area, rows)| rows.iter().map(move |_| pick(area).clone())).collect()
        };
        let areas = vec![("map", column(|area| &area.map)), ("area", column(|area| &area.area))];
        self.answered(py, areas, found.into_iter().flat_map(|(_, rows)| rows).collect(), None)
    }

    /// The answers for an area less those for another: query, cell, label, the numbers of a table, and the
    /// covariance of the two answers. Areas are given as for `district`, and may overlap.
    fn difference<'py>(
        &self,
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let areas = vec![self.area("a", a)?, self.area("b", b)?];
        let found = self.asked(py, areas, |made, names| made.difference(&names[0], &names[1]))?;
        let covariances = found.iter().map(|row| row.covariance.unwrap_or(f64::NAN)).collect();
        self.answered(py, vec![], found.into_iter().map(|row| row.difference).collect(), Some(covariances))
    }

    /// The covariance of each answer for an area with that for another: query, cell, label and covariance,
    /// which is nan where one of the answers is not determined.
    fn covariance<'py>(
        &self,
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        builders(py)?.call_method1("covariances", (self.difference(py, a, b)?,))
    }

    /// The ratios that were asked for, by Fieller's method, in every area of the maps and every unit above
    /// the smallest level, whose map is its level: map, area, ratio, value, lower, upper, lower_guaranteed,
    /// upper_guaranteed, and a note where there is no interval.
    fn ratios<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (made, asked) = (self.made.clone(), self.question.ratios.clone());
        let found = interruptible(py, move || made.ratios(&asked))?.or_raise(py)?;
        let numbers = |pick: fn(&unspent_data::estimate::RatioRow) -> Option<f64>| {
            PyArray1::from_iter(py, found.iter().map(|row| pick(row).unwrap_or(f64::NAN)))
        };
        let columns = PyDict::new(py);
        columns.set_item("map", found.iter().map(|row| row.name.map.as_str()).collect::<Vec<_>>())?;
        columns.set_item("area", found.iter().map(|row| row.name.area.as_str()).collect::<Vec<_>>())?;
        columns.set_item("ratio", found.iter().map(|row| row.ratio.as_str()).collect::<Vec<_>>())?;
        columns.set_item("value", numbers(|row| row.value))?;
        columns.set_item("lower", numbers(|row| row.normal.map(|ends| ends.0)))?;
        columns.set_item("upper", numbers(|row| row.normal.map(|ends| ends.1)))?;
        columns.set_item("lower_guaranteed", numbers(|row| row.guaranteed.map(|ends| ends.0)))?;
        columns.set_item("upper_guaranteed", numbers(|row| row.guaranteed.map(|ends| ends.1)))?;
        columns.set_item("note", found.iter().map(|row| row.note.as_str()).collect::<Vec<_>>())?;
        builders(py)?.call_method1("ratios", (columns, self.warning()))
    }

    fn __repr__(&self) -> String {
        let (levels, queries) = (self.made.levels().len(), self.made.queries().count());
        format!("<Estimates: {levels} levels, {queries} queries>")
    }
}

impl Estimates {
    /// The area that was given.
    fn area(&self, field: &str, given: &Bound<'_, PyAny>) -> PyResult<Area> {
        let codes = codes(field, given)?;
        if given.is_instance_of::<PyString>() && self.made.areas().iter().any(|area| full(area) == codes[0]) {
            return Ok(Area::Named(codes[0].clone()));
        }
        if codes.is_empty() {
            let hint = "an area has at least one unit";
            return Err(exception(given.py(), &Error::stated(format!("{field}: there is no code"), hint)));
        }
        Ok(Area::Codes(field.into(), codes))
    }

    /// What is asked of areas, by their names. If they are not all of the maps, everything is estimated
    /// again.
    fn asked<T: Send + 'static>(
        &self,
        py: Python<'_>,
        areas: Vec<Area>,
        ask: impl FnOnce(&unspent_data::estimate::Estimates, &[String]) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let mut question = self.question.clone();
        let mut map = String::from("given");
        while self.made.areas().iter().any(|area| area.map == map) {
            map.push_str(" here");
        }
        let mut others = vec![];
        let mut name = |area| match area {
            Area::Named(name) => name,
            Area::Codes(area, codes) => {
                let name = AreaName { map: map.clone(), area };
                let named = full(&name);
                others.push(NamedArea { name, codes });
                named
            }
        };
        let names: Vec<String> = areas.into_iter().map(&mut name).collect();
        if others.len() == names.len() {
            // Fewer areas, fewer kinds of leaves.
            (question.maps, question.areas) = (vec![], vec![]);
        }
        let again = !others.is_empty();
        question.areas.extend(others);
        let made = self.made.clone();
        interruptible(py, move || match again {
            true => ask(&question.estimates(&mut Quiet)?, &names),
            false => ask(&made, &names),
        })?
        .or_raise(py)
    }

    /// Answers for areas as a table.
    fn answered<'py>(
        &self,
        py: Python<'py>,
        areas: Vec<(&str, Vec<String>)>,
        rows: Vec<AnswerRow>,
        covariances: Option<Vec<f64>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let columns = PyDict::new(py);
        for (name, texts) in areas {
            columns.set_item(name, texts)?;
        }
        columns.set_item("query", rows.iter().map(|row| row.query.as_str()).collect::<Vec<_>>())?;
        columns.set_item("cell", PyArray1::from_iter(py, rows.iter().map(|row| row.cell as i64)))?;
        columns.set_item("label", rows.iter().map(|row| row.label.as_str()).collect::<Vec<_>>())?;
        let mut numbers = Numbers::default();
        rows.iter().for_each(|row| numbers.push(row.answer.as_ref()));
        let covariances = covariances.map(|covariances| PyArray1::from_vec(py, covariances));
        let numbers = numbers.arrays(py)?;
        builders(py)?.call_method1("answers", (columns, numbers, covariances, self.warning()))
    }
}

/// `map:area`.
fn full(name: &AreaName) -> String {
    format!("{}:{}", name.map, name.area)
}
