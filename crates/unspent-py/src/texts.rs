//! One text or several, as Python gives them.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::number::wrong_type;

/// One text, or several.
pub fn texts(field: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    given.map_or(Ok(vec![]), |given| strings(field, given, "a str, or several of them"))
}

/// One text, or several.
pub fn strings(field: &str, given: &Bound<'_, PyAny>, allowed: &str) -> PyResult<Vec<String>> {
    if given.is_instance_of::<PyString>() {
        return Ok(vec![given.extract()?]);
    }
    let found = given.try_iter().and_then(|items| items.map(|item| item?.extract()).collect());
    found.map_err(|_| wrong_type(field, given, allowed))
}
