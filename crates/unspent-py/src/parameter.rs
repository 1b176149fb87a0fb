//! One parameter of one mechanism, found for (ε, δ).

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use unspent::calibrate::{Next, Solution, solve};
use unspent::composition::Group;
use unspent::mechanism::{Described, Entry};
use unspent::{Direction, Effort, Error};

use crate::bounds::Bounds;
use crate::calibration::name_of;
use crate::composed::{Composition, groups};
use crate::conversions::target;
use crate::error::OrRaise;
use crate::group;
use crate::number::fraction;
use crate::work::interruptible;

/// The value of a parameter that keeps a promise, and the one beside it.
#[pyclass(frozen, module = "unspent")]
pub struct Parameter {
    name: String,
    found: Solution,
    /// Everything, with the value.
    #[pyo3(get)]
    composition: Py<PyAny>,
}

#[pymethods]
impl Parameter {
    /// The name of the parameter, as it was written.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Certified to keep the promise, a Fraction.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.found.value)
    }

    /// delta at the epsilon that was asked for, with the value: `.upper` is the guarantee.
    #[getter]
    fn delta(&self) -> Bounds {
        Bounds::at_most(self.found.delta)
    }

    /// The value beside it on the less private side, a Fraction; None if there is none in its range.
    #[getter]
    fn next_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.found.next.as_ref().map(|next| fraction(py, &next.value)).transpose()
    }

    /// delta with that; None if there is none.
    #[getter]
    fn next_delta(&self) -> Option<Bounds> {
        self.found.next.as_ref().map(|next| Bounds::at_most(next.delta))
    }

    /// Whether it is certified to break the promise. Otherwise it is only not certified to keep it: of some
    /// mechanism no lower bound is known.
    #[getter]
    fn next_fails(&self) -> bool {
        self.found.next.as_ref().is_some_and(|Next { fails, .. }| *fails)
    }

    /// What is known of all other values, as of `Calibration.shape`.
    #[getter]
    fn shape(&self) -> &'static str {
        name_of(&self.found.shape)
    }

    /// The mechanism with the value.
    #[getter]
    fn mechanism<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Described { mechanism, count } = self.found.found.clone();
        group::mechanism(py, &Group { mechanism, count })
    }

    fn __repr__(&self) -> String {
        format!("Parameter({}={})", self.name, self.found.value.to_decimal_or_fraction())
    }
}

/// The least private value of one parameter that is certified to keep (epsilon, delta), whatever the kind.
///
/// `mechanism` is a text as of `unspent account --mechanism`, in which `?` stands for the value; `beside` has
/// what else is released of the same record, a mechanism or several. That no other value would do is claimed
/// only where `shape` is "monotone".
///
/// >>> from unspent import Gaussian, parameter
/// >>> noise = parameter("laplace:b=?,count=10", epsilon=2, delta="1e-6", beside=Gaussian(sigma=4))
/// >>> noise.delta <= 1e-6, noise.next_fails, noise.shape
/// (True, True, 'monotone')
///
/// The noise multiplier of DP-SGD:
///
/// >>> steps = parameter("subsampled-gaussian:sigma=?,q=256/60000,count=1000", epsilon=1, delta="1e-5")
/// >>> steps.composition.epsilon("1e-5") <= 1
/// True
#[pyfunction]
#[pyo3(signature = (mechanism, *, epsilon, delta, beside=None, direction="both"))]
pub fn parameter(
    mechanism: &str,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
    beside: Option<&Bound<'_, PyAny>>,
    direction: &str,
) -> PyResult<Parameter> {
    let py = epsilon.py();
    let open = match Entry::parse(mechanism).or_raise(py)? {
        Entry::Open(open) => open,
        Entry::Known(_) => {
            let cause = format!("mechanism: `{mechanism}` has no `?`");
            return Err(Error::stated(cause, "write `?` for the value that is looked for")).or_raise(py);
        }
    };
    let direction: Direction = direction.parse().or_raise(py)?;
    let target = target(epsilon, delta)?;
    let rest = beside.map(groups).transpose()?.unwrap_or_default();
    let rest: Vec<Described> =
        rest.into_iter().map(|Group { mechanism, count }| Described { mechanism, count }).collect();
    let name = open.parameter().to_owned();
    let found = interruptible(py, move || solve(&rest, &open, &target, direction, Effort::Normal))?;
    let found = found.or_raise(py)?;
    let composition = Composition::wrap(found.composition.clone(), None).into_py_any(py)?;
    Ok(Parameter { name, found, composition })
}
