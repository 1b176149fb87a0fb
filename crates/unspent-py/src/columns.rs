//! Tables in memory: whatever lends Arrow's memory, as DataFrames do; a mapping of names to columns; or a
//! structured array.
//!
//! Values may be confidential: an error names the column and the row, and never shows what is there.

#![expect(unsafe_code, reason = "memory of NumPy's arrays")]

use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyString};
use unspent::Error;
use unspent::schema::Schema;
use unspent_data::table::{Content, Integers, Shared, Wanted};
use unspent_data::{Columns, Input, Plan, Values};

use crate::arrow;
use crate::error::{OrRaise, exception};
use crate::memory::borrowed;
use crate::number::wrong_type;

/// The table that was given: a path, or columns, of which those are taken that the schema reads.
pub fn input(table: &Bound<'_, PyAny>, schema: Option<&Schema>) -> PyResult<Input> {
    if let Ok(path) = table.extract() {
        return Ok(Input::File(path));
    }
    // Whoever measures says that there is none.
    let Some(schema) = schema.filter(|schema| schema.layout().is_some()) else {
        return columns(table, &[]);
    };
    let plan = Plan::new(schema, []).or_raise(table.py())?;
    let Wanted { codes, values, counts } = plan.columns();
    columns(table, &codes.iter().chain(values).chain(counts).cloned().collect::<Vec<_>>())
}

/// The list of units that was given: a path, or columns, of which the codes and `others` are taken.
pub fn unit_input(table: &Bound<'_, PyAny>, schema: Option<&Schema>, others: &[String]) -> PyResult<Input> {
    if let Ok(path) = table.extract() {
        return Ok(Input::File(path));
    }
    let Some(schema) = schema.filter(|schema| schema.layout().is_some()) else {
        return columns(table, others);
    };
    let plan = Plan::new(schema, []).or_raise(table.py())?;
    columns(table, &plan.columns().codes.iter().chain(others).cloned().collect::<Vec<_>>())
}

/// Columns in memory, of which those are taken that are read.
pub fn columns(table: &Bound<'_, PyAny>, read: &[String]) -> PyResult<Input> {
    let py = table.py();
    if let Some(columns) = lent(table, read)? {
        return Ok(Input::Columns(columns));
    }
    let (read, others): (Vec<String>, Vec<String>) =
        names(table)?.into_iter().partition(|name| read.contains(name));
    let mut columns = vec![];
    for name in read {
        let values = values(&name, &table.get_item(&name)?)?;
        columns.push((name, values));
    }
    Ok(Input::Columns(Columns::new(columns).or_raise(py)?.beside(others)))
}

/// The columns of a table that lends Arrow's memory; nothing if it does not.
fn lent(table: &Bound<'_, PyAny>, read: &[String]) -> PyResult<Option<Columns>> {
    if !table.hasattr("__arrow_c_stream__")? {
        return Ok(None);
    }
    let mut table = table.clone();
    let mut others = vec![];
    // pandas copies what is not in Arrow's layout: only what is read. It needs pyarrow, and refuses columns
    // of several types, which are looked at value by value then.
    let pandas = table.hasattr("keys")? && table.hasattr("iloc")?;
    if pandas {
        let (here, elsewhere): (Vec<String>, Vec<String>) =
            names(&table)?.into_iter().partition(|name| read.contains(name));
        table = table.get_item(here)?;
        others = elsewhere;
    }
    let capsule = match table.call_method0("__arrow_c_stream__") {
        Ok(capsule) => capsule.cast_into::<PyCapsule>()?,
        Err(error) if pandas && error.is_instance_of::<PyException>(table.py()) => return Ok(None),
        Err(error) => return Err(error),
    };
    let columns = arrow::columns(&capsule, |name| read.iter().any(|known| known == name))?;
    Ok(Some(if pandas { columns.beside(others) } else { columns }))
}

/// The names of the columns.
fn names(table: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let allowed = "a table; give a path, a dict of columns, a DataFrame or a structured array";
    let names = match table.getattr("dtype").and_then(|dtype| dtype.getattr("names")) {
        Ok(names) if !names.is_none() => names,
        _ if table.hasattr("keys")? => table.call_method0("keys")?,
        _ => return Err(wrong_type("table", &table.get_type(), allowed)),
    };
    let texts = names.try_iter()?.map(|name| name?.extract());
    texts.collect::<PyResult<_>>().map_err(|_| {
        let hint = "columns are called by texts";
        exception(table.py(), &Error::stated("table: a column has a name that is not a text", hint))
    })
}

/// A column of numbers or of texts.
fn values(name: &str, column: &Bound<'_, PyAny>) -> PyResult<Values> {
    let py = column.py();
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (column,))?.cast_into::<PyUntypedArray>()?;
    let refuse = |what: &str| {
        Err(exception(py, &Error::stated(format!("table: column `{name}` {what}"), arrow::TYPES)))
    };
    if array.ndim() != 1 {
        return refuse("is not one column");
    }
    let kind: char = array.dtype().getattr("kind")?.extract()?;
    let size: usize = array.dtype().getattr("itemsize")?.extract()?;
    // In this machine's order of bytes, side by side: the array itself if it is so already.
    let lies_well = || {
        let dtype = array.dtype().call_method1("newbyteorder", ("=",))?;
        numpy.call_method1("require", (&array, dtype, ["C", "A"]))
    };
    let content = match (kind, size) {
        ('i', 1) => Content::Integers(Integers::I8(numbers(&lies_well()?)?)),
        ('i', 2) => Content::Integers(Integers::I16(numbers(&lies_well()?)?)),
        ('i', 4) => Content::Integers(Integers::I32(numbers(&lies_well()?)?)),
        ('i', 8) => Content::Integers(Integers::I64(numbers(&lies_well()?)?)),
        ('u', 1) => Content::Integers(Integers::U8(numbers(&lies_well()?)?)),
        ('u', 2) => Content::Integers(Integers::U16(numbers(&lies_well()?)?)),
        ('u', 4) => Content::Integers(Integers::U32(numbers(&lies_well()?)?)),
        ('u', 8) => Content::Integers(Integers::U64(numbers(&lies_well()?)?)),
        ('f', 4) => Content::Floats(numbers(&lies_well()?)?),
        ('f', 8) => Content::Doubles(numbers(&lies_well()?)?),
        ('O', _) => return objects(name, &array),
        ('U', _) => return Ok(array.call_method0("tolist")?.extract::<Vec<String>>()?.into()),
        _ => return refuse(&format!("is of {}, not of integers or texts", array.dtype())),
    };
    Ok(content.into())
}

/// The memory of an array whose numbers lie side by side.
fn numbers<T: Element + Copy + Send + Sync + 'static>(array: &Bound<'_, PyAny>) -> PyResult<Shared<T>> {
    let array = array.cast::<PyArray1<T>>()?;
    // It was asked for so; if it is not, there is nothing to borrow.
    let start = if array.is_c_contiguous() { array.data().cast_const() } else { std::ptr::null() };
    // SAFETY: so many numbers lie there, for as long as there is the array, which cannot be resized while
    // somebody refers to it.
    let shared = unsafe { borrowed(start, array.len(), array.clone().unbind()) };
    shared.ok_or_else(|| PyException::new_err("numpy.require gave an array that is not contiguous"))
}

/// Python's own integers and texts, one by one.
fn objects(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<Values> {
    let py = array.py();
    let items: Vec<Bound<'_, PyAny>> = array.call_method0("tolist")?.extract()?;
    let refuse = |row: usize, allowed: &str| {
        let cause = format!("table: row {}: {name}: is not {allowed}", row + 1);
        exception(py, &Error::stated(cause, "a column is of texts or of integers; what is missing is None"))
    };
    if items.iter().find(|item| !item.is_none()).is_some_and(|first| first.is_instance_of::<PyString>()) {
        let text =
            |(row, item): (usize, &Bound<'_, PyAny>)| item.extract().map_err(|_| refuse(row, "a text"));
        return Ok(items.iter().enumerate().map(text).collect::<PyResult<Vec<Option<String>>>>()?.into());
    }
    let number = |(row, item): (usize, &Bound<'_, PyAny>)| match item.extract() {
        Ok(number) if !item.is_instance_of::<PyBool>() => Ok(number),
        _ => Err(refuse(row, "a count")),
    };
    Ok(items.iter().enumerate().map(number).collect::<PyResult<Vec<Option<i64>>>>()?.into())
}
