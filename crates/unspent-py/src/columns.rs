//! Tables in memory: a mapping of names to columns, a pandas DataFrame, or a structured array.
//!
//! Values may be confidential: an error names the column and the row, and never shows what is there.

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use unspent::Error;
use unspent::schema::Schema;
use unspent_data::table::Wanted;
use unspent_data::{Columns, Input, Plan, Values};

use crate::error::{OrRaise, exception};
use crate::number::wrong_type;

/// The table that was given: a path, or columns, of which those are taken that the schema reads.
pub fn input(table: &Bound<'_, PyAny>, schema: Option<&Schema>) -> PyResult<Input> {
    if let Ok(path) = table.extract() {
        return Ok(Input::File(path));
    }
    let py = table.py();
    let names = names(table)?;
    let read: Vec<String> = match schema {
        // Whoever measures says that there is none.
        None => vec![],
        Some(schema) => {
            let plan = Plan::new(schema, []).or_raise(py)?;
            let Wanted { codes, values, counts } = plan.columns();
            codes.iter().chain(values).chain(counts).cloned().collect()
        }
    };
    let (read, others): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| read.contains(name));
    let mut columns = vec![];
    for name in read {
        let values = values(&name, &table.get_item(&name)?)?;
        columns.push((name, values));
    }
    Ok(Input::Columns(Columns::new(columns).or_raise(py)?.beside(others)))
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

/// A column of whole numbers or of texts.
fn values(name: &str, column: &Bound<'_, PyAny>) -> PyResult<Values> {
    let py = column.py();
    let array = py.import("numpy")?.call_method1("asarray", (column,))?;
    let array = array.cast_into::<PyUntypedArray>()?;
    let refuse = |what: &str| {
        let hint = "counts are columns of integers; codes are texts or integers";
        Err(exception(py, &Error::stated(format!("table: column `{name}` {what}"), hint)))
    };
    if array.ndim() != 1 {
        return refuse("is not one column");
    }
    let kind: char = array.dtype().getattr("kind")?.extract()?;
    let size: usize = array.dtype().getattr("itemsize")?.extract()?;
    match kind {
        'i' => numbers(&array),
        'u' if size < 8 => numbers(&array),
        // Some may be too large for a count.
        'u' | 'O' => objects(name, &array),
        'U' => Ok(array.call_method0("tolist")?.extract::<Vec<String>>()?.into()),
        _ => refuse(&format!("is of {}, not of integers or texts", array.dtype())),
    }
}

fn numbers(array: &Bound<'_, PyUntypedArray>) -> PyResult<Values> {
    let array = array.call_method1("astype", ("int64",))?.cast_into::<PyArray1<i64>>()?;
    Ok(array.readonly().as_array().to_vec().into())
}

/// Python's own integers and texts, one by one.
fn objects(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<Values> {
    let py = array.py();
    let items: Vec<Bound<'_, PyAny>> = array.call_method0("tolist")?.extract()?;
    let refuse = |row: usize, allowed: &str| {
        let cause = format!("table: row {}: {name}: is not {allowed}", row + 1);
        exception(py, &Error::stated(cause, "every row has all codes and counts, none of them missing"))
    };
    if items.first().is_some_and(|first| first.is_instance_of::<PyString>()) {
        let text =
            |(row, item): (usize, &Bound<'_, PyAny>)| item.extract().map_err(|_| refuse(row, "a text"));
        return Ok(items.iter().enumerate().map(text).collect::<PyResult<Vec<String>>>()?.into());
    }
    let number = |(row, item): (usize, &Bound<'_, PyAny>)| match item.extract() {
        Ok(number) if !item.is_instance_of::<PyBool>() => Ok(number),
        _ => Err(refuse(row, "a count")),
    };
    Ok(items.iter().enumerate().map(number).collect::<PyResult<Vec<i64>>>()?.into())
}
