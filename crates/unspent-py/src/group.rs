//! Mechanisms with their number, in and out of Python.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use unspent::composition::Group;
use unspent::{Mechanism, Rational, mechanism};

use crate::classes::{DiscreteGaussian, Gaussian};
use crate::error::OrRaise;
use crate::number::{rational, wrong_type};

/// The group, a whole number of times; `None` if that is none.
pub fn repeated(group: &Group, times: &Bound<'_, PyAny>) -> PyResult<Option<Group>> {
    if times.is_instance_of::<PyBool>() || !times.hasattr("__index__")? {
        return Ok(None);
    }
    let count = &rational("count", times)? * &Rational::from(group.count);
    let count = mechanism::parse_count(&count.to_string()).or_raise(times.py())?;
    Ok(Some(Group { mechanism: group.mechanism.clone(), count }))
}

/// The group that a mechanism is; `None` if it is none.
pub fn as_group(value: &Bound<'_, PyAny>) -> Option<Group> {
    let discrete = value.cast::<DiscreteGaussian>().map(|mechanism| mechanism.get().group.clone());
    discrete.or_else(|_| value.cast::<Gaussian>().map(|mechanism| mechanism.get().group.clone())).ok()
}

/// The same, or an error that says what is wanted.
pub fn group(value: &Bound<'_, PyAny>) -> PyResult<Group> {
    let allowed = "a mechanism; give a DiscreteGaussian or a Gaussian";
    as_group(value).ok_or_else(|| wrong_type("mechanisms", value, allowed))
}

/// The mechanism that a group is.
pub fn mechanism<'py>(py: Python<'py>, group: &Group) -> PyResult<Bound<'py, PyAny>> {
    match group.mechanism {
        Mechanism::DiscreteGaussian(_) => DiscreteGaussian { group: group.clone() }.into_bound_py_any(py),
        _ => Gaussian { group: group.clone() }.into_bound_py_any(py),
    }
}
