//! Mechanisms, with their number.

use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unspent::composition::Group;
use unspent::{Error, Mechanism, Rational, Rho, mechanism};

use crate::error::{OrRaise, exception};
use crate::number::{fraction, rational, wrong_type};

/// A whole number, read by the library's own rules.
fn whole(
    field: &str,
    value: Option<&Bound<'_, PyAny>>,
    parse: fn(&str) -> unspent::Result<u64>,
) -> PyResult<u64> {
    let Some(value) = value else { return Ok(1) };
    parse(&rational(field, value)?.to_decimal_or_fraction()).or_raise(value.py())
}

/// `count` equal answers with discrete Gaussian noise N_Z(0, sigma2), each of which one record can move by `shift`.
///
/// `sigma2` is the parameter of P[X = x] ~ exp(-x**2 / (2 * sigma2)) on the integers. Numbers are exact: an int, a str like
/// "100000/9563", a Fraction, a Decimal; a float is taken as exactly the double it is.
///
/// >>> from unspent import DiscreteGaussian
/// >>> DiscreteGaussian("100000/9563", count=2)
/// DiscreteGaussian(sigma2='100000/9563', count=2, shift=1)
/// >>> DiscreteGaussian("0.1").sigma2, DiscreteGaussian(0.1).sigma2
/// (Fraction(1, 10), Fraction(3602879701896397, 36028797018963968))
#[pyclass(frozen, module = "unspent")]
pub struct DiscreteGaussian {
    pub group: Group,
}

/// `count` equal answers with continuous Gaussian noise N(0, sigma2), each of which one record can move by `shift`.
///
/// Here the shift need not be an integer; for a vector it is the L2 sensitivity.
///
/// >>> from unspent import Gaussian
/// >>> Gaussian(4, shift="1/2").rho
/// Fraction(1, 32)
#[pyclass(frozen, module = "unspent")]
pub struct Gaussian {
    pub group: Group,
}

/// What both kinds have.
macro_rules! shared {
    ($class:ident, $name:literal, $mechanism:expr, $shift:expr) => {
        impl $class {
            fn make(
                sigma2: Rational,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
                py: Python<'_>,
            ) -> PyResult<$class> {
                let make: fn(Rational, Option<&Bound<'_, PyAny>>, Python<'_>) -> PyResult<Mechanism> = $mechanism;
                let mechanism = make(sigma2, shift, py)?;
                Ok($class { group: Group { mechanism, count: whole("count", count, mechanism::parse_count)? } })
            }
        }

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (sigma2, count=None, shift=None), text_signature = "(sigma2, count=1, shift=1)")]
            fn new(
                py: Python<'_>,
                sigma2: &Bound<'_, PyAny>,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<$class> {
                $class::make(rational("sigma2", sigma2)?, count, shift, py)
            }

            /// From the standard deviation parameter, as OpenDP's `scale`: sigma2 = scale**2, exactly.
            #[staticmethod]
            #[pyo3(signature = (scale, count=None, shift=None), text_signature = "(scale, count=1, shift=1)")]
            fn from_scale(
                py: Python<'_>,
                scale: &Bound<'_, PyAny>,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<$class> {
                let scale = rational("scale", scale)?;
                if scale <= Rational::integer(0) {
                    let hint = "the scale is the square root of sigma2";
                    let error = Error::input("scale", scale, "a positive number", hint);
                    return Err(exception(py, &error));
                }
                $class::make(&scale * &scale, count, shift, py)
            }

            /// From the zCDP budget that each of them spends: sigma2 = shift**2 / (2 * rho), exactly.
            #[staticmethod]
            #[pyo3(signature = (rho, count=None, shift=None), text_signature = "(rho, count=1, shift=1)")]
            fn from_rho(
                py: Python<'_>,
                rho: &Bound<'_, PyAny>,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<$class> {
                let rho = Rho::new(rational("rho", rho)?).or_raise(py)?;
                let moved = shift.map_or(Ok(Rational::integer(1)), |shift| rational("shift", shift))?;
                let sigma2 = &(&moved * &moved) / &(&Rational::integer(2) * rho.value());
                $class::make(sigma2, count, shift, py)
            }

            /// sigma2, a Fraction.
            #[getter]
            fn sigma2<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                fraction(py, self.group.mechanism.sigma2())
            }

            /// How far one record can move the answer.
            #[getter]
            fn shift<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                ($shift)(fraction(py, &self.group.mechanism.shift())?)
            }

            /// How many there are.
            #[getter]
            fn count(&self) -> u64 {
                self.group.count
            }

            /// What all of them together spend, in zCDP: count * shift**2 / (2 * sigma2), a Fraction.
            #[getter]
            fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                let one = &self.group.mechanism.mu_squared() / &Rational::integer(2);
                fraction(py, &(&one * &Rational::from(self.group.count)))
            }

            fn __repr__(&self) -> String {
                let mechanism = &self.group.mechanism;
                let sigma2 = mechanism.sigma2().to_decimal_or_fraction();
                let shift = mechanism.shift();
                // As it would be typed: a whole number, or a text that keeps every digit.
                let shift = match shift.to_string() {
                    whole if !whole.contains('/') => whole,
                    _ => format!("'{}'", shift.to_decimal_or_fraction()),
                };
                format!(concat!($name, "(sigma2='{}', count={}, shift={})"), sigma2, self.group.count, shift)
            }

            fn __richcmp__(&self, other: &Self, op: CompareOp) -> Option<bool> {
                match op {
                    CompareOp::Eq => Some(self.group == other.group),
                    CompareOp::Ne => Some(self.group != other.group),
                    _ => None,
                }
            }

            fn __hash__(&self) -> u64 {
                use std::hash::{DefaultHasher, Hash, Hasher};
                let mut hasher = DefaultHasher::new();
                (&self.group.mechanism, self.group.count).hash(&mut hasher);
                hasher.finish()
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
                let group = &slf.get().group;
                let arguments = (
                    group.mechanism.sigma2().to_string(),
                    group.count,
                    group.mechanism.shift().to_string(),
                );
                Ok((slf.get_type().into_any(), arguments.into_pyobject(slf.py())?))
            }
        }
    };
}

shared!(
    DiscreteGaussian,
    "DiscreteGaussian",
    |sigma2, shift, py| {
        let shift = whole("shift", shift, mechanism::parse_shift)?;
        Ok(mechanism::DiscreteGaussian::new(sigma2, shift).or_raise(py)?.into())
    },
    |shift: Bound<'py, PyAny>| shift.getattr("numerator")
);

shared!(
    Gaussian,
    "Gaussian",
    |sigma2, shift, py| {
        let shift = shift.map_or(Ok(Rational::integer(1)), |shift| rational("shift", shift))?;
        Ok(mechanism::Gaussian::new(sigma2, shift).or_raise(py)?.into())
    },
    |shift: Bound<'py, PyAny>| Ok(shift)
);

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
        Mechanism::Gaussian(_) => Gaussian { group: group.clone() }.into_bound_py_any(py),
    }
}
