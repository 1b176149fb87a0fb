//! Gaussian noise: on the integers, on the line, and truncated.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unspent::composition::Group;
use unspent::mechanism::Stated;
use unspent::{Error, Number, Rational, Rho, mechanism};

use crate::bounds::Bounds;
pub use crate::classes::{DiscreteGaussian, Gaussian, TruncatedDiscreteGaussian};
use crate::error::{OrRaise, exception};
use crate::group::{self, base};
use crate::number::{fraction, rational};

/// A whole number, read by the library's own rules; 1 if there is none.
pub fn whole(
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
pub fn moved<'a, 'py>(
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
    ($class:ident, $mechanism:expr, $sensitivity:expr, $shift:expr) => {
        impl $class {
            fn group(
                sigma2: Rational,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
                py: Python<'_>,
            ) -> PyResult<Group> {
                let make: fn(
                    Rational,
                    Option<&Bound<'_, PyAny>>,
                    Python<'_>,
                ) -> PyResult<unspent::Mechanism> = $mechanism;
                let mechanism = make(sigma2, shift, py)?;
                let count = whole("count", count, mechanism::parse_count)?;
                Ok(Group { mechanism, count })
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
            ) -> PyResult<PyClassInitializer<$class>> {
                keywords_only(stringify!($class), positional)?;
                let py = positional.py();
                let shift = moved(shift, sensitivity)?;
                let check: fn(&Bound<'_, PyAny>) -> PyResult<()> = $sensitivity;
                sensitivity.map_or(Ok(()), check)?;
                let group = $class::group(stated(py, sigma2, sigma, scale)?, count, shift, py)?;
                Ok(base(group).add_subclass($class))
            }

            /// From the zCDP budget that each of them spends: sigma2 = shift**2 / (2 * rho), exactly.
            #[staticmethod]
            #[pyo3(signature = (rho, count=None, shift=None), text_signature = "(rho, count=1, shift=1)")]
            fn from_rho<'py>(
                py: Python<'py>,
                rho: &Bound<'_, PyAny>,
                count: Option<&Bound<'_, PyAny>>,
                shift: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let rho = Rho::new(rational("rho", rho)?).or_raise(py)?;
                let moved = shift.map_or(Ok(Rational::integer(1)), |shift| rational("shift", shift))?;
                // The smallest noise on one answer: a discrete one of the same sigma2 spends the same.
                let noise = mechanism::Gaussian::spending(rho.value(), moved, 1).or_raise(py)?;
                group::mechanism(py, &$class::group(noise.sigma2().clone(), count, shift, py)?)
            }

            /// sigma2, a Fraction.
            #[getter]
            fn sigma2<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                fraction(slf.py(), sigma2_of(&slf.as_super().get().group))
            }

            /// Its square root, as Bounds: most are no fractions.
            #[getter]
            fn sigma(slf: &Bound<'_, Self>) -> Bounds {
                sigma(sigma2_of(&slf.as_super().get().group))
            }

            /// How far one record can move the answer.
            #[getter]
            fn shift<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                let shift = slf.as_super().get().group.mechanism.shift().expect("added noise");
                ($shift)(fraction(slf.py(), &shift)?)
            }

            /// What all of them together spend, in zCDP: count * shift**2 / (2 * sigma2), a Fraction.
            #[getter]
            fn rho<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                let Group { mechanism, count } = &slf.as_super().get().group;
                fraction(slf.py(), &mechanism.rho(*count).expect("Gaussian noise"))
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
    |sigma2, shift, py| {
        let shift = whole("shift", shift, mechanism::parse_shift)?;
        Ok(mechanism::DiscreteGaussian::new(sigma2, shift).or_raise(py)?.into())
    },
    check_integers,
    |shift: Bound<'py, PyAny>| shift.getattr("numerator")
);

shared!(
    Gaussian,
    |sigma2, shift, py| {
        let shift = shift.map_or(Ok(Rational::integer(1)), |shift| rational("shift", shift))?;
        Ok(mechanism::Gaussian::new(sigma2, shift).or_raise(py)?.into())
    },
    |_: &Bound<'_, PyAny>| Ok(()),
    |shift: Bound<'py, PyAny>| Ok(shift)
);
