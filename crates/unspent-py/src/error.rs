//! The library's errors as exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use unspent::ErrorKind;

create_exception!(
    unspent,
    UnspentError,
    PyValueError,
    "What was given makes no sense, or what was asked for cannot be had.\n\n\
     The message names the place, the value and what is allowed; ``hint`` is one line of advice, also part \
     of it."
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

/// The hint of an error, in words of this package.
fn hint(error: &unspent::Error) -> String {
    match error.kind() {
        ErrorKind::NoDelta => "give delta=\"1e-10\"".into(),
        ErrorKind::NoPromise => "give the promise to keep: epsilon, or conversion".into(),
        ErrorKind::NoTable => "give schema=, a file whose [table] says how the table is read".into(),
        ErrorKind::NoUnits => {
            "give units=, the list of all units of the smallest level: a path or columns; it is public \
             and must not depend on the records. If the table itself has a row for every unit: units=True"
                .into()
        }
        ErrorKind::NoQuery => error.hint().replacen("name one", "give query=, one of", 1),
        ErrorKind::NoVariance => {
            "give an allocation that has a level of the table, or sigma2={level: (before, after)}".into()
        }
        ErrorKind::PromiseNotKept => {
            "calibrate() finds noise that keeps it; break_promise=True measures all the same".into()
        }
        ErrorKind::NoPreset => format!("{} (presets() lists them)", error.hint()),
        ErrorKind::NoAllocation => format!("{}; presets() lists what needs no file", error.hint()),
        _ => error.hint().into(),
    }
}

/// The exception that an error is.
pub fn exception(py: Python<'_>, error: &unspent::Error) -> PyErr {
    let excerpt = error.excerpt().map_or_else(String::new, |excerpt| format!("{excerpt}\n"));
    let hint = hint(error);
    let message = format!("{error}\n{excerpt}hint: {hint}");
    let raised = if error.is_tolerance() {
        PyErr::new::<ToleranceError, _>(message)
    } else {
        PyErr::new::<UnspentError, _>(message)
    };
    match raised.value(py).setattr("hint", hint) {
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
