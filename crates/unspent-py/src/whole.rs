//! Whole tables that add up, and how far they may be from the truth.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unspent::report::columns::Columns;
use unspent::{Error, Result};
use unspent_data::estimate::{
    BoundsFile, Estimates, REPLICATES, TableErrors, Tables, UnitCells, WHOLE_METHOD,
};
use unspent_data::published::{self, PublishedTable};

use crate::answers::builders;
use crate::certificate::lists;
use crate::error::{OrRaise, exception};
use crate::number::wrong_type;

/// The seed of replicates, unless another is given.
const SEED: u64 = 1;

/// What was said about whole tables.
pub struct Wanted<'g, 'py> {
    pub own_measurements: bool,
    pub bounds: Option<&'g Bound<'py, PyAny>>,
    pub replicates: u32,
    pub seed: Option<u64>,
    pub published: bool,
    pub records: bool,
}

impl Wanted<'_, '_> {
    /// What is asked; nothing unless tables are to be made.
    pub fn question(self, py: Python<'_>, tables: bool) -> PyResult<Option<unspent_data::WholeTables>> {
        let refuse = |cause: String, hint: &str| Err(exception(py, &Error::stated(cause, hint)));
        let about_tables = [
            ("own_measurements", self.own_measurements),
            ("bounds", self.bounds.is_some()),
            ("replicates", self.replicates > 0),
            ("seed", self.seed.is_some()),
            ("published", self.published),
            ("records", self.records),
        ];
        if let (false, Some((field, _))) = (tables, about_tables.iter().find(|(_, given)| *given)) {
            let hint = "it is about whole tables: give tables=True";
            return refuse(format!("{field} is given without tables"), hint);
        }
        if self.seed.is_some() && self.replicates == 0 {
            let hint = "the seed is that of the replicates' noise: give replicates=25";
            return refuse("seed is given without replicates".into(), hint);
        }
        let bounds = self.bounds.map_or(Ok(vec![]), paths)?;
        let bounds = bounds.iter().map(|path| BoundsFile::read(path)).collect::<Result<_>>();
        let bounds = bounds.map_err(|error| exception(py, &error))?;
        Ok(tables.then_some(unspent_data::WholeTables {
            own_measurements: self.own_measurements,
            replicates: self.replicates,
            seed: self.seed.unwrap_or(SEED),
            bounds,
            published: self.published,
            records: self.records,
        }))
    }
}

/// Files of bounds.
fn paths(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let allowed = "a file of bounds; give the path of a CSV file, or several paths";
    let one = given.extract().map(|path| vec![path]);
    one.or_else(|_| given.extract()).map_err(|_| wrong_type("bounds", given, allowed))
}

/// What was made because an argument asked for it.
pub fn made<T>(py: Python<'_>, found: Option<T>, what: &str, argument: &str) -> PyResult<T> {
    found.ok_or_else(|| {
        let hint = format!("give estimate {argument}");
        exception(py, &Error::stated(format!("these estimates were made without {what}"), hint))
    })
}

/// Whole tables of every unit: no count is negative, and all of them add up over all levels.
///
/// They are made from the top down, each as near to the estimates as their covariances say. Every sum holds
/// exactly. This has a price: small counts are biased upward and large ones downward, because none may be
/// negative and all must add up. No interval of an estimate applies to them; `replicates` says how far they
/// may be from the truth.
///
/// What is asked for comes as a WholeTable: columns by name, as NumPy's arrays.
#[pyclass(frozen, module = "unspent")]
pub struct WholeTables {
    estimates: Arc<Estimates>,
    found: Tables,
    errors: Option<TableErrors>,
}

impl WholeTables {
    pub fn new(estimates: Arc<Estimates>, (found, errors): (Tables, Option<TableErrors>)) -> WholeTables {
        WholeTables { estimates, found, errors }
    }

    fn level(&self, py: Python<'_>, level: &str) -> PyResult<&[UnitCells]> {
        self.found.level(level).or_raise(py)
    }

    /// How many values each attribute has.
    fn shape(&self) -> Vec<usize> {
        self.estimates.schema().attributes().iter().map(|attribute| attribute.values.len()).collect()
    }

    /// What must be said of tables, as in the files.
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let notes = PyDict::new(py);
        notes.set_item("unspent.method", WHOLE_METHOD)?;
        if let Some(warning) = self.estimates.warning() {
            notes.set_item("unspent.warning", warning)?;
        }
        Ok(notes)
    }

    /// The code of each unit and how many cells it has, then the cells and their counts.
    fn cells_of<'py>(&self, py: Python<'py>, level: &str) -> PyResult<CellArrays<'py>> {
        let units = self.level(py, level)?;
        let codes = units.iter().map(|(code, _)| code.clone()).collect();
        let lengths = PyArray1::from_iter(py, units.iter().map(|(_, cells)| cells.len() as i64));
        let each = || units.iter().flat_map(|(_, cells)| cells);
        let cells = PyArray1::from_iter(py, each().map(|(cell, _)| i64::from(*cell)));
        Ok((codes, lengths, cells, PyArray1::from_iter(py, each().map(|(_, count)| *count))))
    }

    fn simulated<'py>(
        &self,
        py: Python<'py>,
        pick: fn(&TableErrors) -> Columns,
    ) -> PyResult<Bound<'py, PyAny>> {
        let errors = made(py, self.errors.as_ref(), "replicates", "tables=True, replicates=25")?;
        let notes = self.notes(py)?;
        notes.set_item("unspent.replicates", format!("{} replicates: {REPLICATES}", errors.replicates))?;
        builders(py)?.call_method1("simulated", (lists(py, &pick(errors))?, notes))
    }
}

type CellArrays<'py> =
    (Vec<String>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

#[pymethods]
impl WholeTables {
    /// The names of the levels, from the largest areas to the smallest.
    #[getter]
    fn levels(&self) -> Vec<&str> {
        self.found.levels.iter().map(|(level, _)| level.as_str()).collect()
    }

    /// How much more the tables of a parent's children cost before rounding than the best ones, at most: the
    /// largest share of the cost. It is proved, parent by parent, with a dual solution.
    #[getter]
    fn largest_gap(&self) -> f64 {
        self.found.largest_gap
    }

    /// What the cells are: cell, and a column for each attribute with its values in words. The last attribute
    /// changes fastest. An attribute that is itself called `cell` is `cell_`.
    #[getter]
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let attributes = self.estimates.schema().attributes();
        let values: Vec<(&str, &[String])> =
            attributes.iter().map(|a| (a.name.as_str(), &a.values[..])).collect();
        builders(py)?.call_method1("cells", (values, self.notes(py)?))
    }

    /// The codes of all units of a level, in the order of the tables; also of those that count nobody.
    fn codes<'py>(&self, py: Python<'py>, level: &str) -> PyResult<Bound<'py, PyAny>> {
        let codes: Vec<&str> = self.level(py, level)?.iter().map(|(code, _)| code.as_str()).collect();
        builders(py)?.call_method1("codes", (codes,))
    }

    /// The counts of every unit of a level: level, geocode, cell and count. Counts of 0 are left out.
    fn table<'py>(&self, py: Python<'py>, level: &str) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.cells_of(py, level)?;
        builders(py)?.call_method1("counts", (level, arrays, self.notes(py)?))
    }

    /// The same as an array, units by values of each attribute, with all counts of 0. The units are those of
    /// `codes`. It needs 8 bytes for each unit and cell.
    fn dense<'py>(&self, py: Python<'py>, level: &str) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.cells_of(py, level)?;
        builders(py)?.call_method1("dense", (self.shape(), arrays, self.notes(py)?))
    }

    /// A table in the form in which it is published: P1 to P5 of the redistricting file, or H1. The columns
    /// are geocode and the cells by their published codes, like P0010001; every unit has a row.
    fn published<'py>(&self, py: Python<'py>, name: &str, level: &str) -> PyResult<Bound<'py, PyAny>> {
        let table = published::named(self.estimates.schema(), name).or_raise(py)?;
        let units = self.level(py, level)?;
        let columns = py.detach(|| published_columns(&table, units)).or_raise(py)?;
        let counts = PyDict::new(py);
        for (cell, column) in table.cells().iter().zip(columns) {
            counts.set_item(&cell.code, PyArray1::from_vec(py, column))?;
        }
        let notes = self.notes(py)?;
        notes.set_item(
            "unspent.table",
            format!("{}: {} ({})", table.name(), table.title(), table.universe()),
        )?;
        let codes: Vec<&str> = units.iter().map(|(code, _)| code.as_str()).collect();
        builders(py)?.call_method1("published", (codes, counts, notes))
    }

    /// What the columns of published tables count: table, code, label and universe.
    #[getter]
    fn published_columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tables = published::needed_of_schema(self.estimates.schema()).or_raise(py)?;
        let row = |table: &PublishedTable, at: usize| {
            let cell = &table.cells()[at];
            (table.name(), cell.code.clone(), cell.label.clone(), table.universe())
        };
        let rows = tables.iter().flat_map(|table| (0..table.cells().len()).map(move |at| row(table, at)));
        builders(py)?.call_method1("published_columns", (rows.collect::<Vec<_>>(), self.notes(py)?))
    }

    /// How far the tables may be from the truth, by level and query, if `replicates` was given: level, query,
    /// units, answers, mean_absolute_error and rms_error, over units, answers and replicates, and
    /// plain_mean_absolute_error and plain_rms_error.
    ///
    /// This is a simulation, no guarantee: the tables stand for the truth, after counts too small to be told
    /// from nothing were dealt out to siblings; noise was added to them again, and all was done again. Plain
    /// errors are those with the tables as they are for the truth, from up to five replicates more; they are
    /// often too small.
    #[getter]
    fn replicates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.simulated(py, TableErrors::by_query)
    }

    /// The errors of totals by the size of the units, by the same simulation: level, size_from, size_to,
    /// units, bias and rms_error, plain_bias and plain_rms_error. The bias is above 0 where tables count too
    /// many.
    #[getter]
    fn replicates_by_size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.simulated(py, TableErrors::by_size)
    }

    fn __repr__(&self) -> String {
        let cells: usize = self.shape().iter().product();
        format!("<WholeTables: {} levels, {cells} cells>", self.found.levels.len())
    }
}

/// The columns of a published table, with a row for each unit.
fn published_columns(table: &PublishedTable, units: &[UnitCells]) -> Result<Vec<Vec<i64>>> {
    let mut columns = vec![Vec::with_capacity(units.len()); table.cells().len()];
    for (code, cells) in units {
        let row = table.row(cells).map_err(|error| error.at(format!("unit `{code}`")))?;
        columns.iter_mut().zip(row).for_each(|(column, count)| column.push(count));
    }
    Ok(columns)
}
