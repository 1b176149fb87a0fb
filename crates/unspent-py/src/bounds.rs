//! What an answer is: two ends, never one float.

use numpy::PyArrayDyn;
use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyIterator, PyList, PyTuple};
use unspent::report::{FULL, READABLE, padded};
use unspent::{Bounds as Ends, Magnitude, Round};
use unspent::{Error, Rational};

pub use crate::classes::{Bounds, BoundsArray, End};
use crate::error::{OrRaise, UnspentError, exception};
use crate::number::{array, fraction, rational};

impl End {
    fn restore(at_least: bool) -> End {
        if at_least { End::Lower } else { End::Upper }
    }
}

impl Bounds {
    /// Of what is the more private the less it is, as an epsilon.
    pub fn at_most(ends: Ends<Magnitude>) -> Bounds {
        Bounds { ends, guarantee: End::Upper }
    }

    /// Of what is the more private the more it is, as noise.
    pub fn at_least(ends: Ends<Magnitude>) -> Bounds {
        Bounds { ends, guarantee: End::Lower }
    }

    /// Both ends against another pair of ends; nothing where they overlap and it depends.
    fn is(&self, op: CompareOp, other: &Ends<Magnitude>) -> Option<bool> {
        let (a, b) = (&self.ends, other);
        match op {
            CompareOp::Lt if a.upper() < b.lower() => Some(true),
            CompareOp::Lt if a.lower() >= b.upper() => Some(false),
            CompareOp::Le if a.upper() <= b.lower() => Some(true),
            CompareOp::Le if a.lower() > b.upper() => Some(false),
            CompareOp::Gt => self.is(CompareOp::Le, other).map(|is| !is),
            CompareOp::Ge => self.is(CompareOp::Lt, other).map(|is| !is),
            _ => None,
        }
    }
}

/// Not one number, whatever is done with it.
fn two_ends() -> PyErr {
    PyTypeError::new_err("Bounds are not one number: say which end you mean, .upper or .lower")
}

#[pymethods]
impl Bounds {
    /// The truth is at least this: a float, rounded down.
    #[getter]
    fn lower(&self) -> f64 {
        self.ends.to_f64().lower()
    }

    /// The truth is at most this: a float, rounded up.
    ///
    /// What is too small for a float is the smallest positive one; `log10_upper` and `decimal()` know more.
    #[getter]
    fn upper(&self) -> f64 {
        self.ends.to_f64().upper()
    }

    /// The decimal logarithm of the lower end, rounded down; -inf if that is 0.
    #[getter]
    fn log10_lower(&self) -> f64 {
        self.ends.log10().lower()
    }

    /// The decimal logarithm of the upper end, rounded up.
    #[getter]
    fn log10_upper(&self) -> f64 {
        self.ends.log10().upper()
    }

    /// Both ends in decimal, at most `digits` of them, rounded outward: as small as they may be.
    ///
    /// >>> from unspent import Composition, DiscreteGaussian
    /// >>> Composition([DiscreteGaussian(sigma2=5)]).delta(200).decimal(6)
    /// ('6.04924e-43432', '6.04925e-43432')
    #[pyo3(signature = (digits=17))]
    fn decimal(&self, digits: u32) -> PyResult<(String, String)> {
        if !(1..=FULL).contains(&digits) {
            return Err(PyValueError::new_err(format!(
                "digits: `{digits}` is not a number of digits between 1 and {FULL}"
            )));
        }
        Ok((
            self.ends.lower().to_decimal(digits, Round::Down),
            self.ends.upper().to_decimal(digits, Round::Up),
        ))
    }

    /// Both ends exactly, as Fractions.
    fn fractions<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((power_of_two(py, self.ends.lower())?, power_of_two(py, self.ends.upper())?))
    }

    /// Whether a number lies inside, ends included.
    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = value.py();
        let value = match rational("value", value) {
            Ok(value) => value,
            // Too long to be read; Python can still compare it.
            Err(error) if error.is_instance_of::<UnspentError>(py) && value.hasattr("numerator")? => {
                let (lower, upper) = self.fractions(py)?;
                return Ok(lower.le(value)? && upper.ge(value)?);
            }
            Err(error) => return Err(error),
        };
        // The nearest magnitudes around the value: an end lies between them only if it is one of them.
        let near = value.to_bounds();
        let is_negative = value < Rational::integer(0);
        Ok(!is_negative && self.ends.lower() <= near.lower() && near.upper() <= self.ends.upper())
    }

    fn __format__(&self, py: Python<'_>, specification: &str) -> PyResult<String> {
        /// Digits that Python rounds: more than an end has.
        const DIGITS: u32 = 38;
        if specification.is_empty() {
            return Ok(self.__str__());
        }
        let (end, round) = match self.guarantee {
            End::Lower => (self.ends.lower(), Round::Down),
            End::Upper => (self.ends.upper(), Round::Up),
        };
        let text = end.to_decimal(DIGITS, round);
        let arguments = (text, specification, round == Round::Up);
        py.import("unspent._format")?.call_method1("rounded", arguments)?.extract()
    }

    fn __float__(&self) -> PyResult<f64> {
        Err(two_ends())
    }

    fn __int__(&self) -> PyResult<i64> {
        Err(two_ends())
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(two_ends())
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        match (other.cast::<Bounds>(), op) {
            (Ok(other), CompareOp::Eq) => (self.ends == other.get().ends).into_py_any(py),
            (Ok(other), CompareOp::Ne) => (self.ends != other.get().ends).into_py_any(py),
            (Err(_), CompareOp::Eq | CompareOp::Ne) => Ok(py.NotImplemented()),
            (Ok(bounds), _) => self.decided(op, &bounds.get().ends, other)?.into_py_any(py),
            (Err(_), _) => {
                let is_less = match other.cast::<PyFloat>() {
                    Ok(x) if x.value().is_infinite() => Some(x.value() > 0.0),
                    _ => None,
                };
                let value = if is_less.is_none() { rational("value", other)? } else { Rational::integer(0) };
                // Bounds are of what is never negative.
                let is_less = is_less.or((value < Rational::integer(0)).then_some(false));
                match is_less {
                    Some(less) => (less == matches!(op, CompareOp::Lt | CompareOp::Le)).into_py_any(py),
                    None => self.decided(op, &value.to_bounds(), other)?.into_py_any(py),
                }
            }
        }
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        let parts = |end: Magnitude| (end.parts().0.to_bits(), end.parts().1);
        (parts(self.ends.lower()), parts(self.ends.upper())).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let (lower, upper) = self.ends.to_decimal();
        format!("Bounds(lower={lower}, upper={upper})")
    }

    fn _repr_html_(&self) -> String {
        let (words, end) = match self.guarantee {
            End::Lower => ("at least", self.ends.lower().to_decimal(READABLE, Round::Down)),
            End::Upper => ("at most", self.ends.upper().to_decimal(READABLE, Round::Up)),
        };
        format!("<p>{}: {words} <b>{}</b></p>", self.__str__(), padded(&end))
    }

    fn __str__(&self) -> String {
        let lower = self.ends.lower().to_decimal(READABLE, Round::Down);
        let upper = self.ends.upper().to_decimal(READABLE, Round::Up);
        format!("[{}, {}]", padded(&lower), padded(&upper))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Bounds { ends, guarantee } = *slf.get();
        let arguments = (ends.lower().parts(), ends.upper().parts(), guarantee == End::Lower);
        Ok((slf.get_type().getattr("_restore")?, arguments.into_pyobject(slf.py())?))
    }

    /// What `__reduce__` took apart.
    #[staticmethod]
    #[pyo3(signature = (lower, upper, at_least=false))]
    fn _restore(lower: (f64, i64), upper: (f64, i64), at_least: bool) -> PyResult<Bounds> {
        Ok(Bounds { ends: restore(lower, upper)?, guarantee: End::restore(at_least) })
    }
}

impl Bounds {
    /// Where both ends agree: the answer. Elsewhere: an error that shows what was compared.
    fn decided(&self, op: CompareOp, with: &Ends<Magnitude>, shown: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.is(op, with).ok_or_else(|| {
            let error = Error::stated(
                format!("the bounds {} do not decide how the truth compares with {shown}", self.__str__()),
                "say which end you mean, .upper or .lower",
            );
            exception(shown.py(), &error)
        })
    }
}

/// A magnitude as a Fraction.
fn power_of_two<'py>(py: Python<'py>, end: Magnitude) -> PyResult<Bound<'py, PyAny>> {
    /// Bits of the longest fraction that is made: a megabyte.
    const LONGEST: u64 = 8_000_000;
    let (mantissa, exponent) = end.parts();
    if exponent.unsigned_abs() > LONGEST {
        let error = Error::input(
            "fractions",
            end.to_decimal(READABLE, Round::Down),
            format!("a number between 2^-{LONGEST} and 2^{LONGEST}"),
            "decimal() and log10_upper have no such limit",
        );
        return Err(exception(py, &error));
    }
    let mantissa = fraction(py, &Rational::from_f64("mantissa", mantissa).or_raise(py)?)?;
    mantissa.mul(fraction(py, &Rational::integer(2))?.pow(exponent, py.None())?)
}

fn restore(lower: (f64, i64), upper: (f64, i64)) -> PyResult<Ends<Magnitude>> {
    // Beyond 2^±2⁶² nothing is computed, and what such an end is in decimal could not be written.
    let fine = |(mantissa, exponent): (f64, i64)| {
        (mantissa == 0.0 || (1.0..2.0).contains(&mantissa)) && exponent.unsigned_abs() <= 1 << 62
    };
    let end = |(mantissa, exponent)| Magnitude::from_parts(mantissa, exponent);
    if !(fine(lower) && fine(upper) && end(lower) <= end(upper)) {
        return Err(PyValueError::new_err("these are not the parts of bounds"));
    }
    Ok(Ends::restored(end(lower), end(upper)))
}

impl BoundsArray {
    fn one(&self, ends: Ends<Magnitude>) -> Bounds {
        Bounds { ends, guarantee: self.guarantee }
    }

    fn map<'py>(
        &self,
        py: Python<'py>,
        f: impl Fn(&Ends<Magnitude>) -> f64 + Sync,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let values = py.detach(|| self.ends.iter().map(&f).collect());
        array(py, &self.shape, values)
    }
}

#[pymethods]
impl BoundsArray {
    /// The truths are at least these: floats, rounded down.
    #[getter]
    fn lower<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        self.map(py, |ends| ends.to_f64().lower())
    }

    /// The truths are at most these: floats, rounded up.
    #[getter]
    fn upper<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        self.map(py, |ends| ends.to_f64().upper())
    }

    /// The decimal logarithms of the lower ends, rounded down.
    #[getter]
    fn log10_lower<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        self.map(py, |ends| ends.log10().lower())
    }

    /// The decimal logarithms of the upper ends, rounded up.
    #[getter]
    fn log10_upper<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        self.map(py, |ends| ends.log10().upper())
    }

    /// The shape of the array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    fn __len__(&self) -> usize {
        self.shape[0]
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.shape.len() == 1 && key.is_exact_instance_of::<PyInt>() {
            let n = self.ends.len() as i64;
            let i = key.extract::<i64>().unwrap_or(i64::MAX);
            let i = if i < 0 { i + n } else { i };
            return match self.ends.get(usize::try_from(i).unwrap_or(usize::MAX)) {
                Some(ends) => self.one(*ends).into_bound_py_any(py),
                None => Err(PyIndexError::new_err(format!("index {key} is out of bounds of {n}"))),
            };
        }
        // Whatever NumPy understands, said of the places instead of the values.
        let places = py.import("numpy")?.call_method1("arange", (self.ends.len(),))?;
        let found = places.call_method1("reshape", (self.shape(py)?,))?.get_item(key)?;
        if found.hasattr("shape")? && found.getattr("ndim")?.extract::<usize>()? > 0 {
            let shape = found.getattr("shape")?.extract()?;
            let places: Vec<usize> = found.call_method0("ravel")?.call_method0("tolist")?.extract()?;
            let ends = places.into_iter().map(|i| self.ends[i]).collect();
            return BoundsArray { shape, ends, guarantee: self.guarantee }.into_bound_py_any(py);
        }
        self.one(self.ends[found.extract::<usize>()?]).into_bound_py_any(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let items: PyResult<Vec<_>> =
            (0..self.shape[0]).map(|i| self.__getitem__(py, i.into_pyobject(py)?.as_any())).collect();
        PyList::new(py, items?)?.into_any().try_iter()
    }

    /// Refuses: there are two arrays here, not one.
    #[pyo3(signature = (*_arguments, **_options))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyTuple>,
        _options: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err("bounds are not one array: say which ends you mean, .upper or .lower"))
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let equal = |other: &BoundsArray| self.shape == other.shape && self.ends == other.ends;
        match (other.cast::<BoundsArray>(), op) {
            (Ok(other), CompareOp::Eq) => equal(other.get()).into_py_any(py),
            (Ok(other), CompareOp::Ne) => (!equal(other.get())).into_py_any(py),
            (Err(_), CompareOp::Eq | CompareOp::Ne) => Ok(py.NotImplemented()),
            _ => Err(two_ends()),
        }
    }

    fn _repr_html_(&self) -> String {
        const SHOWN: usize = 10;
        let mut rows: String = self.ends.iter().take(SHOWN).fold(String::new(), |rows, ends| {
            let lower = ends.lower().to_decimal(READABLE, Round::Down);
            let upper = ends.upper().to_decimal(READABLE, Round::Up);
            rows + &format!("<tr><td>{}</td><td>{}</td></tr>", padded(&lower), padded(&upper))
        });
        if self.ends.len() > SHOWN {
            rows += "<tr><td>…</td><td>…</td></tr>";
        }
        let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        format!(
            "<table><thead><tr><th>at least</th><th>at most</th></tr></thead><tbody>{rows}</tbody></table>\
             <p>Bounds of shape ({})</p>",
            shape.join(", ")
        )
    }

    fn __repr__(&self) -> String {
        const SHOWN: usize = 6;
        let one = |ends: &Ends<Magnitude>| self.one(*ends).__str__();
        let mut shown: Vec<String> = self.ends.iter().take(SHOWN).map(one).collect();
        if self.ends.len() > SHOWN {
            shown.push("...".into());
        }
        let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        format!("<BoundsArray of shape ({}): {}>", shape.join(", "), shown.join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let this = slf.get();
        let parts = |end: fn(&Ends<Magnitude>) -> Magnitude| -> (Vec<f64>, Vec<i64>) {
            this.ends.iter().map(|ends| end(ends).parts()).unzip()
        };
        let at_least = this.guarantee == End::Lower;
        let arguments = (this.shape.clone(), parts(Ends::lower), parts(Ends::upper), at_least);
        Ok((slf.get_type().getattr("_restore")?, arguments.into_pyobject(slf.py())?))
    }

    /// What `__reduce__` took apart.
    #[staticmethod]
    #[pyo3(signature = (shape, lower, upper, at_least=false))]
    fn _restore(
        shape: Vec<usize>,
        lower: (Vec<f64>, Vec<i64>),
        upper: (Vec<f64>, Vec<i64>),
        at_least: bool,
    ) -> PyResult<BoundsArray> {
        let pairs = |(mantissas, exponents): (Vec<f64>, Vec<i64>)| mantissas.into_iter().zip(exponents);
        let ends: Vec<_> =
            pairs(lower).zip(pairs(upper)).map(|(l, u)| restore(l, u)).collect::<PyResult<_>>()?;
        let size = shape.iter().try_fold(1usize, |size, n| size.checked_mul(*n));
        if shape.is_empty() || size != Some(ends.len()) {
            return Err(PyValueError::new_err("these are not the parts of an array of bounds"));
        }
        Ok(BoundsArray { shape, ends, guarantee: End::restore(at_least) })
    }
}
