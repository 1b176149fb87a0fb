//! Mechanisms, with their number.

use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unspent::composition::Group;
use unspent::mechanism::Stated;
use unspent::{Error, Mechanism, Number, Rational, Rho, mechanism};

use crate::bounds::Bounds;
pub use crate::classes::{DiscreteGaussian, Gaussian};
use crate::composition::Composition;
use crate::error::{OrRaise, exception};
use crate::group::{as_group, repeated};
use crate::number::{fraction, rational};

/// A whole number, read by the library's own rules.
fn whole(
    field: &str,
    value: Option<&Bound<'_, PyAny>>,
    parse: fn(&str) -> unspent::Result<u64>,
) -> PyResult<u64> {
    let Some(value) = value else { return Ok(1) };
    parse(&rational(field, value)?.to_decimal_or_fraction()).or_raise(value.py())
}

/// sigma2 of noise that is stated as one of three.
pub fn stated(
    py: Python<'_>,
    sigma2: Option<&Bound<'_, PyAny>>,
    sigma: Option<&Bound<'_, PyAny>>,
    scale: Option<&Bound<'_, PyAny>>,
) -> PyResult<Rational> {
    let given = [(Stated::Sigma2, sigma2), (Stated::Sigma, sigma), (Stated::Scale, scale)];
    let given = given.into_iter().filter_map(|(stated, number)| Some((stated, number?)));
    let (stated, number) = Stated::only(given).or_raise(py)?;
    stated.sigma2(rational(stated.name(), number)?).or_raise(py)
}

/// Refuses a number without a name: to most libraries it would be sigma, to some sigma2.
pub fn keywords_only(called: &str, positional: &Bound<'_, PyTuple>) -> PyResult<()> {
    if positional.is_empty() {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "{called}() takes keywords only, so that sigma is not taken for its square: \
         write sigma2=… (the variance) or sigma=… (the standard deviation)"
    )))
}

/// The standard deviation parameter, the square root of sigma2.
pub fn sigma(sigma2: &Rational) -> Bounds {
    Bounds::at_least(Number::from(sigma2.square_root()).bounds())
}

/// Refuses any L2 sensitivity of integers but 1, which is one answer moved by 1, in any dimension (N11).
fn check_integers(sensitivity: &Bound<'_, PyAny>) -> PyResult<()> {
    let given = rational("sensitivity", sensitivity)?;
    let squared = (&given * &given).to_f64();
    let whole = |x: f64| x.round().clamp(2.0, 1e15) as u64;
    let hint = if given == Rational::integer(1) {
        return Ok(());
    } else if given.to_f64().fract() == 0.0 && given > Rational::integer(1) {
        let (n, k) = (whole(given.to_f64()), whole(squared));
        format!(
            "one answer that moves by {n} is shift={n}; {k} that move by 1 are count={k}, and cost another \
             epsilon"
        )
    } else if squared > 1.5 && (squared - squared.round()).abs() < 1e-6 * squared {
        format!("{k} answers that move by 1 are count={k}", k = whole(squared))
    } else {
        "say how far one record moves each answer, shift=…, and how many answers it moves, count=…".into()
    };
    let allowed = "1, the only L2 sensitivity of integers that says which answers move";
    Err(exception(sensitivity.py(), &Error::input("sensitivity", given, allowed, hint)))
}

/// How far one record moves the answer, given under one of two names.
fn moved<'a, 'py>(
    shift: Option<&'a Bound<'py, PyAny>>,
    sensitivity: Option<&'a Bound<'py, PyAny>>,
) -> PyResult<Option<&'a Bound<'py, PyAny>>> {
    match (shift, sensitivity) {
        (Some(_), Some(_)) => Err(PyTypeError::new_err("shift and sensitivity are given: give one of them")),
        (shift, sensitivity) => Ok(shift.or(sensitivity)),
    }
}

/// What both kinds have.
macro_rules! shared {
    ($class:ident, $name:literal, $mechanism:expr, $sensitivity:expr, $shift:expr) => {
        impl $class {
            fn make(
                sigma2: Rational,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
                py: Python<'_>,
            ) -> PyResult<$class> {
                let make: fn(Rational, Option<&Bound<'_, PyAny>>, Python<'_>) -> PyResult<Mechanism> =
                    $mechanism;
                let mechanism = make(sigma2, shift, py)?;
                let count = whole("count", count, mechanism::parse_count)?;
                Ok($class { group: Group { mechanism, count } })
            }
        }

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(
                signature = (
                    *positional, sigma2=None, sigma=None, scale=None, count=None, shift=None, sensitivity=None
                ),
                text_signature = "(*, sigma2=None, sigma=None, scale=None, count=1, shift=1, \
                 sensitivity=None)"
            )]
            fn new(
                positional: &Bound<'_, PyTuple>,
                sigma2: Option<&Bound<'_, PyAny>>,
                sigma: Option<&Bound<'_, PyAny>>,
                scale: Option<&Bound<'_, PyAny>>,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
                sensitivity: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<$class> {
                keywords_only($name, positional)?;
                let py = positional.py();
                let shift = moved(shift, sensitivity)?;
                let check: fn(&Bound<'_, PyAny>) -> PyResult<()> = $sensitivity;
                sensitivity.map_or(Ok(()), check)?;
                $class::make(stated(py, sigma2, sigma, scale)?, count, shift, py)
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
                // The smallest noise on one answer: a discrete one of the same sigma2 spends the same.
                let noise = mechanism::Gaussian::spending(rho.value(), moved, 1).or_raise(py)?;
                $class::make(noise.sigma2().clone(), count, shift, py)
            }

            /// sigma2, a Fraction.
            #[getter]
            fn sigma2<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                fraction(py, sigma2_of(&self.group))
            }

            /// Its square root, as Bounds: most are no fractions.
            #[getter]
            fn sigma(&self) -> Bounds {
                sigma(sigma2_of(&self.group))
            }

            /// How far one record can move the answer.
            #[getter]
            fn shift<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                ($shift)(fraction(py, &self.group.mechanism.shift().expect("added noise"))?)
            }

            /// How many there are.
            #[getter]
            fn count(&self) -> u64 {
                self.group.count
            }

            /// What all of them together spend, in zCDP: count * shift**2 / (2 * sigma2), a Fraction.
            #[getter]
            fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                fraction(py, &self.group.mechanism.rho(self.group.count).expect("Gaussian noise"))
            }

            /// So many times as many.
            fn __mul__(&self, times: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let py = times.py();
                match repeated(&self.group, times)? {
                    Some(group) => $class { group }.into_py_any(py),
                    None => Ok(py.NotImplemented()),
                }
            }

            fn __rmul__(&self, times: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                self.__mul__(times)
            }

            /// Both, released together.
            fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let py = other.py();
                match as_group(other) {
                    Some(other) => {
                        Composition::new(py, vec![self.group.clone(), other], None)?.into_py_any(py)
                    }
                    None => Ok(py.NotImplemented()),
                }
            }

            fn __repr__(&self) -> String {
                let mechanism = &self.group.mechanism;
                let sigma2 = sigma2_of(&self.group).to_decimal_or_fraction();
                let shift = mechanism.shift().expect("added noise");
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
                    sigma2_of(group).to_string(),
                    group.count,
                    group.mechanism.shift().expect("added noise").to_string(),
                );
                Ok((slf.get_type().getattr("_restore")?, arguments.into_pyobject(slf.py())?))
            }

            /// What `__reduce__` took apart.
            #[staticmethod]
            fn _restore(
                py: Python<'_>,
                sigma2: &Bound<'_, PyAny>,
                count: &Bound<'_, PyAny>,
                shift: &Bound<'_, PyAny>,
            ) -> PyResult<$class> {
                $class::make(rational("sigma2", sigma2)?, Some(count), Some(shift), py)
            }
        }
    };
}

/// Both classes are Gaussian noise.
fn sigma2_of(group: &Group) -> &Rational {
    group.mechanism.sigma2().expect("Gaussian noise")
}

shared!(
    DiscreteGaussian,
    "DiscreteGaussian",
    |sigma2, shift, py| {
        let shift = whole("shift", shift, mechanism::parse_shift)?;
        Ok(mechanism::DiscreteGaussian::new(sigma2, shift).or_raise(py)?.into())
    },
    check_integers,
    |shift: Bound<'py, PyAny>| shift.getattr("numerator")
);

shared!(
    Gaussian,
    "Gaussian",
    |sigma2, shift, py| {
        let shift = shift.map_or(Ok(Rational::integer(1)), |shift| rational("shift", shift))?;
        Ok(mechanism::Gaussian::new(sigma2, shift).or_raise(py)?.into())
    },
    |_: &Bound<'_, PyAny>| Ok(()),
    |shift: Bound<'py, PyAny>| Ok(shift)
);
