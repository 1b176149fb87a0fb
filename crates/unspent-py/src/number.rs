//! Exact numbers from Python's, and back.

use numpy::{PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString, PyType};
use unspent::{Error, Rational};

use crate::classes::{Bounds, BoundsArray};
use crate::error::{OrRaise, UnspentError};

static FRACTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static FLOATING: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A number, exactly: what an `int`, `str`, `Fraction` or `Decimal` says, and of a `float` the double that it
/// is.
pub fn rational(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Rational> {
    let py = value.py();
    let is = |lock: &PyOnceLock<Py<PyType>>, module, name| -> PyResult<bool> {
        value.is_instance(lock.import(py, module, name)?.as_any())
    };
    if value.is_instance_of::<PyBool>() {
        return Err(no_number(field, value));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Rational::parse(field, &text.to_string_lossy()).or_raise(py);
    }
    if let Ok(x) = value.cast::<PyFloat>() {
        return Rational::from_f64(field, x.value()).or_raise(py);
    }
    if is(&DECIMAL, "decimal", "Decimal")? {
        return Rational::parse(field, &value.str()?.to_string_lossy()).or_raise(py);
    }
    if is(&FRACTION, "fractions", "Fraction")? {
        let numerator = integer(field, &value.getattr("numerator")?)?;
        let denominator = integer(field, &value.getattr("denominator")?)?;
        // Fraction itself allows none of 0; what is derived from it may say anything.
        if denominator == Rational::integer(0) {
            let allowed = "a fraction with a denominator other than zero";
            let shown = format!("{numerator}/{denominator}");
            return Err(Error::input(field, shown, allowed, "check what made the Fraction")).or_raise(py);
        }
        return Ok(numerator / denominator);
    }
    // NumPy's doubles are floats; its shorter ones are doubles too. A long double may not be one.
    if is(&FLOATING, "numpy", "floating")? && value.getattr("itemsize")?.extract::<usize>()? <= 8 {
        return Rational::from_f64(field, value.extract()?).or_raise(py);
    }
    match value.hasattr("__index__")?.then(|| value.call_method0("__index__")) {
        Some(Ok(whole)) => integer(field, &whole),
        Some(Err(error)) if !error.is_instance_of::<PyTypeError>(py) => Err(error),
        _ => Err(no_number(field, value)),
    }
}

/// An `int`, exactly.
fn integer(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Rational> {
    if let Ok(short) = value.extract::<i64>() {
        return Ok(Rational::integer(short));
    }
    let py = value.py();
    // Python itself refuses to write very long ones.
    match value.str() {
        Ok(text) => Rational::parse(field, &text.to_string_lossy()).or_raise(py),
        Err(_) => Err(Error::input(
            field,
            format!("a number of {} bits", value.call_method0("bit_length")?),
            "a number of at most 4096 characters",
            "so many digits are rarely meant",
        ))
        .or_raise(py),
    }
}

fn no_number(field: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let allowed = if value.is_instance_of::<Bounds>() || value.is_instance_of::<BoundsArray>() {
        "one number; give one of its ends, .upper or .lower"
    } else {
        "a number; give an int, a str like '100000/9563', a Fraction, a Decimal, or a float (taken as \
         exactly the double it is)"
    };
    wrong_type(field, value, allowed)
}

/// `field` was given something of another type than is allowed.
pub fn wrong_type(field: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    const SHOWN: usize = 40;
    let kind = value.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    // What is long takes long to write, and is cut anyway.
    let shown = match value.len() {
        Ok(length) if length > SHOWN && !value.is_instance_of::<PyString>() => format!("{length} items"),
        _ => value.repr().map_or_else(|_| "…".into(), |text| text.to_string()),
    };
    let mut shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if shown.chars().count() > SHOWN {
        shown = shown.chars().take(SHOWN).collect::<String>() + "…";
    }
    PyTypeError::new_err(format!("{field}: `{shown}` ({kind}) is not {allowed}"))
}

/// A `Fraction`.
pub fn fraction<'py>(py: Python<'py>, value: &Rational) -> PyResult<Bound<'py, PyAny>> {
    FRACTION.import(py, "fractions", "Fraction")?.call1((value.to_string(),))
}

/// One number or an array of them.
pub enum Numbers {
    One(Rational),
    Many { shape: Vec<usize>, items: Items },
}

/// The numbers of an array. Doubles stay doubles until they are needed: as fractions they take ten times the
/// memory.
pub enum Items {
    Doubles(Vec<f64>),
    Exact(Vec<Rational>),
}

impl Items {
    pub fn len(&self) -> usize {
        match self {
            Items::Doubles(items) => items.len(),
            Items::Exact(items) => items.len(),
        }
    }

    pub fn get(&self, field: &str, i: usize) -> unspent::Result<Rational> {
        match self {
            Items::Doubles(items) => Rational::from_f64(field, items[i]),
            Items::Exact(items) => Ok(items[i].clone()),
        }
    }
}

/// A number, or numbers in anything that NumPy makes an array of.
pub fn numbers(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Numbers> {
    let py = value.py();
    let is_plain = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<Bounds>()
        || value.is_instance_of::<BoundsArray>();
    // Bytes are sequences of numbers, too, but are not meant so; nor is what a mask hides.
    let kind = value
        .getattr("dtype")
        .and_then(|dtype| dtype.getattr("kind"))
        .and_then(|kind| kind.extract::<char>());
    if value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>()
        || value.is_instance_of::<PyBytes>()
        || matches!(kind, Ok('m' | 'M' | 'b' | 'S' | 'V' | 'c'))
    {
        return Err(no_number(field, value));
    }
    if value.hasattr("mask")? && value.hasattr("filled")? {
        return Err(wrong_type(
            field,
            value,
            "an array without a mask; say what is meant with .compressed() or .filled()",
        ));
    }
    if is_plain || !(value.hasattr("__array__")? || value.hasattr("__len__")?) {
        return Ok(Numbers::One(rational(field, value)?));
    }
    if let Ok(array) = value.extract::<PyReadonlyArrayDyn<'_, f64>>()
        && array.ndim() > 0
    {
        let items = Items::Doubles(array.as_array().iter().copied().collect());
        return Ok(Numbers::Many { shape: array.shape().to_vec(), items });
    }
    // A set or a dict has a length too, but no order; NumPy takes it for one object.
    let numpy = py.import("numpy")?;
    let options = pyo3::types::PyDict::new(py);
    options.set_item("dtype", "object")?;
    let objects = numpy.call_method("asarray", (value,), Some(&options))?;
    let shape = objects.cast::<PyUntypedArray>()?.shape().to_vec();
    if shape.is_empty() {
        return Ok(Numbers::One(rational(field, &objects.call_method0("item")?)?));
    }
    let objects = objects.extract::<PyReadonlyArrayDyn<'_, Py<PyAny>>>()?;
    let mut items = vec![];
    for (i, object) in objects.as_array().iter().enumerate() {
        // Long lists take seconds, and Python waits.
        if i % (1 << 12) == 0 {
            py.check_signals()?;
        }
        items.push(rational(field, object.bind(py)).map_err(|error| at(py, i, error))?);
    }
    Ok(Numbers::Many { shape, items: Items::Exact(items) })
}

/// The same error, with the number of the item in front.
pub fn at(py: Python<'_>, i: usize, error: PyErr) -> PyErr {
    let message = format!("item {i}: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        return PyTypeError::new_err(message);
    }
    if !error.is_instance_of::<UnspentError>(py) {
        return error;
    }
    let placed = PyErr::new::<UnspentError, _>(message);
    let hint = error.value(py).getattr("hint").and_then(|hint| placed.value(py).setattr("hint", hint));
    hint.map_or_else(|other| other, |()| placed)
}

/// An array of that shape.
pub fn array<'py>(
    py: Python<'py>,
    shape: &[usize],
    values: Vec<f64>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    use numpy::{PyArray1, PyArrayMethods};
    PyArray1::from_vec(py, values).reshape(shape)
}
