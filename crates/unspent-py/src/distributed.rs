//! A release that several processes measure, for `unspent.spark`: nothing here is called by anybody else.
//!
//! Arrays go in and out as NumPy's; texts come out as Arrow wants them, offsets and bytes.

use std::ffi::CString;
use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use unspent::schema::{Rows, Schema};
use unspent::{Delta, Error};
use unspent_data::Input;
use unspent_data::distributed::{self, Distributed, DistributedPlan, DistributedRun, ReadRows, UnitCounts};
use unspent_data::manifest::FileEntry;
use zeroize::Zeroize;

use crate::certificate::dictionary;
use crate::classes::Allocation;
use crate::columns::columns;
use crate::error::{NotPrivateWarning, OrRaise, exception};
use crate::number::rational;
use crate::work::interruptible;

/// 256 bits from which all noise of one release is made; whoever knows them can take the noise off again.
///
/// The same unit, query and cell has the same noise in every process that has the key. So a key is for one
/// release of one table, and is forgotten with it.
#[pyclass(frozen, module = "unspent._native")]
pub struct ReleaseKey(unspent::sampler::ReleaseKey);

#[pymethods]
impl ReleaseKey {
    /// A new key from the operating system. The process makes no core dumps from then on.
    #[staticmethod]
    fn from_os(py: Python<'_>) -> PyResult<ReleaseKey> {
        let key = unspent_data::NoiseSource::Private.release_key(&mut unspent_data::Quiet);
        key.map(ReleaseKey).or_raise(py)
    }

    /// The key of a seed, with a NotPrivateWarning: for tests and demonstrations only.
    #[staticmethod]
    fn not_private(py: Python<'_>, seed: u64) -> PyResult<ReleaseKey> {
        let text = CString::new(unspent::sampler::Key::not_private_warning(seed))?;
        PyErr::warn(py, py.get_type::<NotPrivateWarning>().as_any(), &text, 1)?;
        Ok(ReleaseKey(unspent::sampler::ReleaseKey::not_private(seed)))
    }

    /// The key of a process that exposed it, with what it said of is_private.
    #[staticmethod]
    fn from_exposed(py: Python<'_>, exposed: &[u8], private: bool) -> PyResult<ReleaseKey> {
        let Ok(bytes) = exposed.try_into() else {
            let cause = format!("a key has 32 bytes, not {}", exposed.len());
            return Err(exception(py, &Error::stated(cause, "ReleaseKey.expose() gives them")));
        };
        if private {
            unspent_data::noise::no_core_dumps();
        }
        Ok(ReleaseKey(unspent::sampler::ReleaseKey::from_exposed(bytes, private)))
    }

    /// Whether the key came from the operating system.
    #[getter]
    fn is_private(&self) -> bool {
        self.0.is_private()
    }

    /// The bytes, for another process that takes part in the release. They are never to be stored.
    fn expose<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &*self.0.expose())
    }

    fn __repr__(&self) -> &'static str {
        if self.0.is_private() { "<ReleaseKey, private>" } else { "<ReleaseKey, NOT PRIVATE>" }
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err("a ReleaseKey is not pickled or copied: expose() gives its bytes, by name"))
    }
}

/// A release that several processes measure, of which all was checked that can be checked beforehand.
#[pyclass(frozen, module = "unspent._native")]
pub struct ReleasePlan(Distributed);

#[pymethods]
impl ReleasePlan {
    #[new]
    #[pyo3(signature = (
        allocation, *, listed, schema=None, count=None, id=None, bypass=None, delta=None, break_promise=false
    ))]
    #[allow(clippy::too_many_arguments)] // Keywords, each with its name.
    fn new(
        py: Python<'_>,
        allocation: &Bound<'_, Allocation>,
        listed: bool,
        schema: Option<PathBuf>,
        count: Option<String>,
        id: Option<String>,
        bypass: Option<&str>,
        delta: Option<&Bound<'_, PyAny>>,
        break_promise: bool,
    ) -> PyResult<ReleasePlan> {
        let rows = match (count, id) {
            (Some(_), Some(_)) => {
                let hint = "count is for a row a combination of values, id for a row a record";
                return Err(exception(py, &Error::stated("both count and id are given", hint)));
            }
            (Some(count), None) => Some(Rows::Counts(count)),
            (None, id) => id.map(|id| Rows::Records(Some(id))),
        };
        if let Some(other) = bypass.filter(|bypass| *bypass != "none") {
            let hint = "leave it out, or measure on one machine";
            return Err(exception(py, &Error::input("bypass", other, "none: all units are measured", hint)));
        }
        let plan = DistributedPlan {
            allocation: allocation.get().0.clone(),
            schema: schema.map(|path| Schema::read(&path)).transpose().or_raise(py)?,
            rows,
            listed,
            without_bypass: bypass.is_some(),
            delta: delta.map(|d| Delta::new(rational("delta", d)?).or_raise(py)).transpose()?,
            break_promise,
        };
        Ok(ReleasePlan(interruptible(py, move || plan.approve())?.or_raise(py)?))
    }

    /// The allocation as it will be written: all that other processes need to know.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// What is asked of which units: a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0.described())
    }

    /// What the release guarantees: a dict, as in the manifest.
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, self.0.certificate())
    }

    /// All files of the directory but the measurements, by name.
    #[pyo3(signature = (
        *, table, levels, started, finished, exact=None, rows=None, not_private_seed=None
    ))]
    #[allow(clippy::too_many_arguments)] // Keywords, each with its name.
    fn files<'py>(
        &self,
        py: Python<'py>,
        table: String,
        levels: &Bound<'py, PyList>,
        started: String,
        finished: String,
        exact: Option<&Bound<'py, PyList>>,
        rows: Option<u64>,
        not_private_seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let run = DistributedRun {
            table,
            rows,
            not_private_seed,
            started,
            finished,
            levels: entries(levels)?,
            exact: exact.map(entries).transpose()?.unwrap_or_default(),
        };
        let made = PyDict::new(py);
        for (name, bytes) in self.0.files(run).or_raise(py)? {
            made.set_item(name, String::from_utf8(bytes).expect("texts"))?;
        }
        Ok(made)
    }
}

/// `[{"level": name, "files": [{"file": path, "rows": n, "units": n, "sha256": digits}]}]`.
fn entries(levels: &Bound<'_, PyList>) -> PyResult<Vec<(String, Vec<FileEntry>)>> {
    let file = |file: Bound<'_, PyAny>| {
        let [rows, units] =
            ["rows", "units"].map(|name| file.get_item(name).and_then(|n| n.extract::<u64>()));
        let [file, sha256] =
            ["file", "sha256"].map(|name| file.get_item(name).and_then(|text| text.extract()));
        Ok(FileEntry { file: file?, rows: rows?, units: units?, sha256: sha256? })
    };
    let level = |level: Bound<'_, PyAny>| {
        let files = level.get_item("files")?.try_iter()?.map(|of| file(of?)).collect::<PyResult<_>>()?;
        Ok((level.get_item("level")?.extract()?, files))
    };
    levels.iter().map(level).collect()
}

/// Reads rows of the table, or of the list of units, as `measure` does.
#[pyclass(frozen, module = "unspent._native")]
pub struct TableReader(distributed::TableReader);

#[pymethods]
impl TableReader {
    /// For the text of a plan.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<TableReader> {
        distributed::TableReader::new(text).map(TableReader).or_raise(py)
    }

    /// Rows of the table, in any order: codes at every level, and the counts that are not 0.
    fn read<'py>(&self, py: Python<'py>, table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let wanted = self.0.columns();
        let names: Vec<String> =
            wanted.codes.iter().chain(wanted.values).chain(wanted.counts).cloned().collect();
        let columns = in_memory(table, &names)?;
        let read = py.detach(|| self.0.rows(columns)).or_raise(py)?;
        let ReadRows { codes, rows, cells, counts, .. } = read;
        let made = with_codes(py, codes)?;
        for (name, numbers) in [("rows", rows), ("cells", cells), ("counts", counts)] {
            made.set_item(name, PyArray1::from_vec(py, numbers))?;
        }
        Ok(made)
    }

    /// Rows of the list of units, in any order: codes at every level, and the numbers that are published.
    fn units<'py>(&self, py: Python<'py>, table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let names: Vec<String> = self.0.columns().codes.iter().chain(self.0.public()).cloned().collect();
        let columns = in_memory(table, &names)?;
        let ReadRows { codes, public, .. } = py.detach(|| self.0.units(columns)).or_raise(py)?;
        let units = codes.first().map_or(0, |(_, texts)| texts.offsets.len() - 1);
        let made = with_codes(py, codes)?;
        let shape = [units, self.0.public().len()];
        made.set_item("public", PyArray1::from_vec(py, public).reshape(shape)?)?;
        Ok(made)
    }
}

fn in_memory(table: &Bound<'_, PyAny>, names: &[String]) -> PyResult<unspent_data::Columns> {
    match columns(table, names)? {
        Input::Columns(columns) => Ok(columns),
        _ => unreachable!("columns are in memory"),
    }
}

fn with_codes<'py>(
    py: Python<'py>,
    codes: Vec<(String, distributed::Texts)>,
) -> PyResult<Bound<'py, PyDict>> {
    let (made, levels) = (PyDict::new(py), PyDict::new(py));
    for (level, distributed::Texts { offsets, bytes }) in codes {
        levels.set_item(level, (PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, bytes)))?;
    }
    made.set_item("codes", levels)?;
    Ok(made)
}

/// Adds noise to units of one level: the same for the same key, wherever and however often it is made.
#[pyclass(frozen, module = "unspent._native")]
pub struct UnitNoise(distributed::UnitNoise);

#[pymethods]
impl UnitNoise {
    /// For the text of a plan.
    #[new]
    fn new(py: Python<'_>, text: &str, key: &ReleaseKey, level: &str) -> PyResult<UnitNoise> {
        distributed::UnitNoise::new(text, &key.0, level).map(UnitNoise).or_raise(py)
    }

    /// The noisy answers of each query, those of all units one after the other: a list of int64 arrays.
    fn noisy<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        entries: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.measured(py, codes, entries, None, false)
    }

    /// What is published exactly, likewise.
    #[pyo3(signature = (codes, entries, public=None))]
    fn exact<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        entries: &Bound<'py, PyAny>,
        public: Option<PyReadonlyArray2<'py, i64>>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.measured(py, codes, entries, public, true)
    }
}

impl UnitNoise {
    fn measured<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        entries: &Bound<'py, PyAny>,
        public: Option<PyReadonlyArray2<'py, i64>>,
        exact: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let codes = texts(codes)?;
        let mut cells = self.entries(entries, codes.len())?;
        let public = match (public, self.0.needs_public(exact)) {
            (None, false) => vec![],
            (Some(public), _) if public.shape() == [codes.len(), self.0.public()] => {
                public.as_array().iter().copied().collect()
            }
            _ => {
                let cause = format!("public: {} numbers of each unit are published", self.0.public());
                return Err(refused(py, cause, "give those of TableReader.units, a row a unit"));
            }
        };
        let width = if public.is_empty() { 0 } else { self.0.public() };
        let measured = py.detach(|| {
            let units = codes.iter().enumerate().map(|(unit, code)| {
                let cells = &cells.entries[cells.ends[unit]..cells.ends[unit + 1]];
                Ok(UnitCounts { code, cells, public: &public[unit * width..][..width] })
            });
            self.0.measure(units, exact)
        });
        cells.entries.iter_mut().for_each(|(cell, count)| (cell.zeroize(), count.zeroize()).0);
        let values = measured.or_raise(py)?.values;
        PyList::new(py, values.into_iter().map(|values| PyArray1::from_vec(py, values)))
    }

    /// The cells of units: (offsets of units, cells, counts), or a matrix of counts.
    fn entries(&self, given: &Bound<'_, PyAny>, units: usize) -> PyResult<Entries> {
        let py = given.py();
        if let Ok(matrix) = given.extract::<PyReadonlyArray2<'_, i64>>() {
            let cells = self.0.listed().unwrap_or_else(|| (0..self.0.cells()).collect());
            if matrix.shape() != [units, cells.len()] {
                let cause = format!("entries: a matrix of {} units × {} cells is wanted", units, cells.len());
                return Err(refused(py, cause, "a row a unit, a column a cell"));
            }
            let (mut entries, mut ends) = (Vec::with_capacity(matrix.len()), vec![0]);
            for row in matrix.as_array().rows() {
                entries
                    .extend(cells.iter().copied().zip(row.iter().copied()).filter(|(_, count)| *count != 0));
                ends.push(entries.len());
            }
            return Ok(Entries { entries, ends });
        }
        let (offsets, cells, counts): (
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, i64>,
        ) = given.extract().map_err(|_| {
            let hint = "(offsets of units, cells, counts), or a matrix of counts, all int64";
            refused(py, "entries: are not the cells of units".into(), hint)
        })?;
        let hint = "offsets ascend from 0 to the number of cells, one more than there are units";
        let wrong = || refused(py, "entries: offsets, cells and counts do not fit".into(), hint);
        let ends = ends(offsets.as_array().iter().copied(), cells.len()).ok_or_else(wrong)?;
        if ends.len() != units + 1 || counts.len() != cells.len() {
            return Err(wrong());
        }
        let (cells, counts) = (cells.as_array(), counts.as_array());
        // A negative number is beyond all cells, which is noticed.
        let entries = cells.iter().zip(counts).map(|(cell, count)| (cell.cast_unsigned(), *count)).collect();
        Ok(Entries { entries, ends })
    }
}

/// The cells of units, one unit after the other.
struct Entries {
    entries: Vec<(u64, i64)>,
    /// Where each unit begins, and the last ends.
    ends: Vec<usize>,
}

fn refused(py: Python<'_>, cause: String, hint: &str) -> PyErr {
    exception(py, &Error::stated(cause, hint))
}

/// Offsets that ascend from 0 to `all`.
fn ends(offsets: impl Iterator<Item = i64>, all: usize) -> Option<Vec<usize>> {
    let ends: Vec<usize> = offsets.map(|at| usize::try_from(at).ok()).collect::<Option<_>>()?;
    (ends.first() == Some(&0) && ends.last() == Some(&all) && ends.is_sorted()).then_some(ends)
}

/// Texts of a list, or of (offsets, bytes) as Arrow has them.
fn texts(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = given.py();
    if given.is_instance_of::<PyList>() {
        return given.extract();
    }
    let wrong = || {
        let hint = "a list of texts, or (offsets, bytes) as Arrow has them";
        refused(py, "codes: are not texts".into(), hint)
    };
    let (offsets, bytes): (Bound<'_, PyAny>, PyReadonlyArray1<'_, u8>) =
        given.extract().map_err(|_| wrong())?;
    let bytes = bytes.as_slice()?;
    let offsets: Vec<i64> = match offsets.extract::<PyReadonlyArray1<'_, i32>>() {
        Ok(offsets) => offsets.as_array().iter().map(|at| i64::from(*at)).collect(),
        Err(_) => {
            let offsets: PyReadonlyArray1<'_, i64> = offsets.extract().map_err(|_| wrong())?;
            offsets.as_array().to_vec()
        }
    };
    // A slice of an array begins where it begins, in the bytes of all.
    let (Some(first), Some(last)) = (offsets.first().copied(), offsets.last().copied()) else {
        return Err(wrong());
    };
    let range = usize::try_from(first).ok().zip(usize::try_from(last).ok());
    let own = range.and_then(|(first, last)| bytes.get(first..last)).ok_or_else(wrong)?;
    let ends = ends(offsets.iter().map(|at| at - first), own.len()).ok_or_else(wrong)?;
    let own = std::str::from_utf8(own).map_err(|_| wrong())?;
    ends.windows(2).map(|of| own.get(of[0]..of[1]).map(str::to_string).ok_or_else(wrong)).collect()
}
