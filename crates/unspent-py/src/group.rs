//! Mechanisms with their number, in and out of Python.

use pyo3::prelude::*;
use pyo3::types::PyBool;
use unspent::composition::Group;
use unspent::{Rational, mechanism};

use crate::classes::{
    ApproximateDp, DiscreteGaussian, DiscreteLaplace, Finite, Gaussian, Laplace, Mechanism,
    RandomisedResponse, RenyiDp, Subsampled, TruncatedDiscreteGaussian, ZeroConcentratedDp,
};
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
    value.cast::<Mechanism>().map(|mechanism| mechanism.get().group.clone()).ok()
}

/// The same, or an error that says what is wanted.
pub fn group(value: &Bound<'_, PyAny>) -> PyResult<Group> {
    let allowed = "a mechanism; give a DiscreteGaussian, a Laplace, a Subsampled, …";
    as_group(value).ok_or_else(|| wrong_type("mechanisms", value, allowed))
}

/// What every class begins with.
pub fn base(group: Group) -> PyClassInitializer<Mechanism> {
    PyClassInitializer::from(Mechanism { group })
}

/// Every kind: its name in Python, and the object.
macro_rules! classes {
    ($($class:ident),*) => {
        /// The name of its class.
        pub fn class_name(mechanism: &unspent::Mechanism) -> &'static str {
            match mechanism {
                $(unspent::Mechanism::$class(_) => stringify!($class),)*
            }
        }

        /// The mechanism that a group is.
        pub fn mechanism<'py>(py: Python<'py>, group: &Group) -> PyResult<Bound<'py, PyAny>> {
            let base = base(group.clone());
            match group.mechanism {
                $(unspent::Mechanism::$class(_) => {
                    Ok(Bound::new(py, base.add_subclass($class))?.into_any())
                })*
            }
        }
    };
}
classes!(
    DiscreteGaussian,
    Gaussian,
    Laplace,
    DiscreteLaplace,
    RandomisedResponse,
    ApproximateDp,
    Finite,
    TruncatedDiscreteGaussian,
    Subsampled,
    ZeroConcentratedDp,
    RenyiDp
);
