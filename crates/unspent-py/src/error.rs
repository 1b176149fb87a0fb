//! The library's errors as exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;

create_exception!(
    unspent,
    UnspentError,
    PyValueError,
    "What was given makes no sense, or what was asked for cannot be had.\n\n\
     The message names the place, the value and what is allowed; ``hint`` is one line of advice, also part of it."
);
create_exception!(
    unspent,
    ToleranceError,
    UnspentError,
    "The certified bounds are wider than the tolerance that was asked for."
);
create_exception!(
    unspent,
    NotPrivateWarning,
    PyUserWarning,
    "Noise was made from a fixed seed: whoever knows the seed can take it off again."
);

/// The exception that an error is.
pub fn exception(py: Python<'_>, error: &unspent::Error) -> PyErr {
    let excerpt = error.excerpt().map_or_else(String::new, |excerpt| format!("{excerpt}\n"));
    let message = format!("{error}\n{excerpt}hint: {}", error.hint());
    let raised = if error.is_tolerance() {
        PyErr::new::<ToleranceError, _>(message)
    } else {
        PyErr::new::<UnspentError, _>(message)
    };
    match raised.value(py).setattr("hint", error.hint()) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// The value, or the exception.
pub trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for unspent::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
