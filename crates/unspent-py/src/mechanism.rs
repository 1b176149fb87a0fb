//! Mechanisms, with their number: what all kinds share.

use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use unspent::Rational;
use unspent::composition::Group;
use unspent::mechanism::Described;

pub use crate::classes::Mechanism;
use crate::composition::Composition;
use crate::error::OrRaise;
use crate::group::{self, as_group, repeated};
use crate::number::fraction;

/// Parameters that are whole numbers.
const WHOLE: [&str; 2] = ["k", "bound"];

/// A number as it would be typed: a whole one, or a text that keeps every digit.
fn typed(name: &str, number: &str) -> String {
    if WHOLE.contains(&name) || (name == "shift" && !number.contains('/')) {
        return number.into();
    }
    let exact: Rational = number.parse().expect("a parameter is a number");
    format!("'{}'", exact.to_decimal_or_fraction())
}

/// As it would be typed; the shift comes last.
fn shown(group: &Group) -> String {
    let (name, mut list) = match &group.mechanism {
        unspent::Mechanism::Subsampled(sampled) => {
            let base = Group { mechanism: sampled.base().clone().into(), count: 1 };
            ("Subsampled", vec![shown(&base), format!("q={}", typed("q", &sampled.q().to_string()))])
        }
        mechanism => (group::class_name(mechanism), vec![]),
    };
    let of_sample = !list.is_empty();
    let mut shift = None;
    for (name, value) in group.mechanism.parameters().into_iter().filter(|_| !of_sample) {
        let numbers: Vec<String> = value.split(';').map(|number| typed(name, number)).collect();
        match (name, &group.mechanism) {
            ("shift", _) => shift = Some(format!("shift={}", numbers[0])),
            (_, unspent::Mechanism::Finite(_) | unspent::Mechanism::RenyiDp(_)) => {
                list.push(format!("{name}=[{}]", numbers.join(", ")))
            }
            _ => list.push(format!("{name}={}", numbers[0])),
        }
    }
    // Which it is must be said.
    if let unspent::Mechanism::ApproximateDp(event) = &group.mechanism
        && *event.delta() == Rational::integer(0)
    {
        list.push("delta='0'".into());
    }
    list.push(format!("count={}", group.count));
    list.extend(shift);
    format!("{name}({})", list.join(", "))
}

#[pymethods]
impl Mechanism {
    /// Its kind, as files and the command call it: "laplace", "subsampled_gaussian", ….
    #[getter]
    fn kind(&self) -> &'static str {
        self.group.mechanism.kind()
    }

    /// Its parameters by the names that files and the command have for them: Fractions, ints, lists of them.
    ///
    /// >>> from unspent import Laplace
    /// >>> Laplace(scale="1.5", count=4).parameters
    /// {'scale': Fraction(3, 2), 'shift': Fraction(1, 1)}
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        let is_list =
            matches!(self.group.mechanism, unspent::Mechanism::Finite(_) | unspent::Mechanism::RenyiDp(_));
        for (name, value) in self.group.mechanism.parameters() {
            let one = |text: &str| {
                let number = fraction(py, &text.parse::<Rational>().or_raise(py)?)?;
                if WHOLE.contains(&name) { number.getattr("numerator") } else { Ok(number) }
            };
            if is_list {
                let masses: PyResult<Vec<_>> = value.split(';').map(one).collect();
                found.set_item(name, PyList::new(py, masses?)?)?;
            } else {
                found.set_item(name, one(&value)?)?;
            }
        }
        Ok(found)
    }

    /// How many there are.
    #[getter]
    fn count(&self) -> u64 {
        self.group.count
    }

    /// So many times as many.
    fn __mul__(&self, times: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = times.py();
        match repeated(&self.group, times)? {
            Some(group) => Ok(group::mechanism(py, &group)?.unbind()),
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
            Some(other) => Composition::of(py, vec![self.group.clone(), other])?.into_py_any(py),
            None => Ok(py.NotImplemented()),
        }
    }

    fn __repr__(&self) -> String {
        shown(&self.group)
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
        let Group { mechanism, count } = slf.get().group.clone();
        let arguments = (Described { mechanism, count }.to_string(),);
        Ok((slf.get_type().getattr("_restore")?, arguments.into_pyobject(slf.py())?))
    }

    /// What `__reduce__` wrote.
    #[staticmethod]
    fn _restore<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let Described { mechanism, count } = Described::parse(text).or_raise(py)?;
        group::mechanism(py, &Group { mechanism, count })
    }
}
