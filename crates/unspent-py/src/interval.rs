//! Confidence intervals for the counts behind noisy ones.

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use unspent::{Error, Rational};
use unspent_data::Intervals;

use crate::certificate::dictionary;
use crate::error::{OrRaise, exception};
use crate::gaussian::stated;
use crate::number::{fraction, rational};

/// A confidence interval for the count behind a noisy one, or for the counts behind an array of them.
///
/// The shortest interval around the noisy count that contains the true one with this `confidence`, or more,
/// whatever the true count is. Counts are never negative, so it is clamped at zero. The noise is stated as
/// `sigma2`, its variance parameter, or as `sigma` or `scale`, its square root.
///
/// It is right as often as it says, and not always: it is no certified bound, and never becomes Bounds.
///
/// >>> import unspent
/// >>> print(unspent.interval(12, sigma2=5))
/// 8 to 16: 12 ± 4, clamped at zero. Of such intervals at least 0.95 contain the true count.
/// >>> found = unspent.interval([12, -3, -9], sigma2=5)
/// >>> print(found.lower, found.upper, found.empty)
/// [8 0 0] [16  1 -1] [False False  True]
#[pyfunction]
#[pyo3(
    signature = (count, *, sigma2=None, sigma=None, scale=None, confidence=None),
    text_signature = "(count, *, sigma2=None, sigma=None, scale=None, confidence='0.95')"
)]
pub fn interval<'py>(
    py: Python<'py>,
    count: &Bound<'py, PyAny>,
    sigma2: Option<&Bound<'py, PyAny>>,
    sigma: Option<&Bound<'py, PyAny>>,
    scale: Option<&Bound<'py, PyAny>>,
    confidence: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let sigma2 = stated(py, sigma2, sigma, scale)?;
    let confidence = match confidence {
        Some(confidence) => rational("confidence", confidence)?,
        None => "0.95".parse().or_raise(py)?,
    };
    let intervals = py.detach(|| Intervals::new(&sigma2, &confidence)).or_raise(py)?;
    if let Ok(one) = count.extract::<i64>()
        && !count.is_instance_of::<PyBool>()
        && !count.hasattr("shape").unwrap_or(false)
    {
        return Interval(intervals.of(one)).into_bound_py_any(py);
    }
    let numpy = py.import("numpy")?;
    let counts = numpy.call_method1("asarray", (count,))?.cast_into::<PyUntypedArray>()?;
    let kind: char = counts.dtype().getattr("kind")?.extract()?;
    let size: usize = counts.dtype().getattr("itemsize")?.extract()?;
    if kind != 'i' && !(kind == 'u' && size < 8) {
        let hint = "noise on the integers leaves integers";
        let shown = match counts.ndim() {
            0 => count.repr()?.to_string(),
            _ => format!("{} of {}", count.get_type().name()?, counts.dtype()),
        };
        let error = Error::input("count", shown, "a whole number or an array of them", hint);
        return Err(exception(py, &error));
    }
    let counts = counts.call_method1("astype", ("int64",))?.cast_into::<PyArrayDyn<i64>>()?;
    if counts.ndim() == 0 {
        return Interval(intervals.of(counts.call_method0("item")?.extract()?)).into_bound_py_any(py);
    }
    // No count is in an interval whose ends are 0 and −1.
    let ends = counts.readonly().as_array().mapv(|count| intervals.ends(count).unwrap_or((0, -1)));
    let array = |pick: fn((i64, i64)) -> i64| PyArrayDyn::from_owned_array(py, ends.mapv(pick)).unbind();
    let lower = array(|(lower, _)| lower);
    let upper = array(|(_, upper)| upper);
    let empty = PyArrayDyn::from_owned_array(py, ends.mapv(|(lower, upper)| lower > upper)).unbind();
    IntervalArray { sigma2, confidence, half_width: intervals.half_width(), lower, upper, empty }
        .into_bound_py_any(py)
}

/// A confidence interval for the count behind a noisy one.
#[pyclass(frozen, module = "unspent")]
pub struct Interval(unspent_data::Interval);

#[pymethods]
impl Interval {
    /// The noisy count.
    #[getter]
    fn count(&self) -> i64 {
        self.0.count
    }

    /// The lower end, at least 0; None if even the upper end is negative.
    #[getter]
    fn lower(&self) -> Option<i128> {
        self.0.lower
    }

    /// The upper end; None if it is negative.
    #[getter]
    fn upper(&self) -> Option<i128> {
        self.0.upper
    }

    /// The noisy count is within this of the true one as often as the confidence says.
    #[getter]
    fn half_width(&self) -> u64 {
        self.0.half_width
    }

    /// How often such intervals contain the true count, at least, a Fraction.
    #[getter]
    fn confidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.confidence)
    }

    /// The parameter of the noise, a Fraction.
    #[getter]
    fn sigma2<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.0.sigma2)
    }

    /// The report of `unspent interval --json`, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        match self.0.lower.zip(self.0.upper) {
            Some((lower, upper)) => format!("<Interval {lower} to {upper}>"),
            None => "<Interval of no count>".into(),
        }
    }
}

/// Confidence intervals for the counts behind an array of noisy ones.
#[pyclass(frozen, module = "unspent")]
pub struct IntervalArray {
    sigma2: Rational,
    confidence: Rational,
    /// A noisy count is within this of the true one as often as the confidence says.
    #[pyo3(get)]
    half_width: u64,
    /// The lower ends, at least 0, an int64 array.
    #[pyo3(get)]
    lower: Py<PyArrayDyn<i64>>,
    /// The upper ends, an int64 array; -1 where no count that is not negative is near enough.
    #[pyo3(get)]
    upper: Py<PyArrayDyn<i64>>,
    /// Where that is so, a bool array.
    #[pyo3(get)]
    empty: Py<PyArrayDyn<bool>>,
}

#[pymethods]
impl IntervalArray {
    /// How often such intervals contain the true count, at least, a Fraction.
    #[getter]
    fn confidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.confidence)
    }

    /// The parameter of the noise, a Fraction.
    #[getter]
    fn sigma2<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.sigma2)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.lower.bind(py).getattr("shape")?;
        Ok(format!("<IntervalArray of shape {shape}: ± {}>", self.half_width))
    }
}
