//! The smallest noise that meets a target.

use pyo3::prelude::*;
use pyo3::types::PyList;
use unspent::calibrate::Shape;

use crate::number::fraction;

/// What is known of all other values, in a word.
pub fn name_of(shape: &Shape) -> &'static str {
    match shape {
        Shape::Monotone => "monotone",
        Shape::NotScanned => "not scanned",
        Shape::Scanned(_) => "scanned",
        Shape::Islands(_) => "islands",
    }
}

/// The smallest noise found to meet a target, and the witness that nothing was left on the table.
#[pyclass(frozen, module = "unspent")]
pub struct Calibration {
    pub found: unspent::Calibration,
    /// The composition with that noise.
    #[pyo3(get)]
    pub composition: Py<PyAny>,
}

#[pymethods]
impl Calibration {
    /// Certified to meet the target, a Fraction: the common factor of all sigma2, or the one sigma2.
    #[getter]
    fn smallest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fraction(py, &self.found.satisfying)
    }

    /// Right below it and certified to miss the target, a Fraction; None if the smallest noise that is
    /// allowed meets it.
    #[getter]
    fn failing<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.found.failing.as_ref().map(|x| fraction(py, x)).transpose()
    }

    /// Whether `smallest` is the least noise that is accounted for (sigma2 = 1e-3), not the least that would
    /// do.
    ///
    /// The target then asks for next to nothing: check its units. `failing` is None.
    #[getter]
    fn at_floor(&self) -> bool {
        self.found.failing.is_none()
    }

    /// Whether more noise is no worse: "monotone" (proved), "not scanned" (noise is not small), "scanned" (no
    /// smaller value was found that meets the target), or "islands" if smaller values meet the target too,
    /// with others in between that miss it.
    #[getter]
    fn shape(&self) -> &'static str {
        name_of(&self.found.shape)
    }

    /// Smaller values that meet the target too, Fractions.
    #[getter]
    fn islands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let islands = match &self.found.shape {
            Shape::Islands(islands) => islands.as_slice(),
            _ => &[],
        };
        let islands: PyResult<Vec<_>> = islands.iter().map(|x| fraction(py, x)).collect();
        PyList::new(py, islands?)
    }

    fn _repr_html_(&self) -> String {
        let row = |what: &str, value: String| format!("<tr><th>{what}</th><td>{value}</td></tr>");
        let mut rows =
            row("smallest noise that keeps it, certified", self.found.satisfying.to_decimal_or_fraction());
        rows += &match &self.found.failing {
            Some(failing) => row("just below: does not, certified", failing.to_decimal_or_fraction()),
            None => row("the least noise that is accounted for", "less may do: check the units".into()),
        };
        format!("<table><tbody>{rows}</tbody></table>")
    }

    fn __repr__(&self) -> String {
        let floor = if self.at_floor() { ", at_floor=True" } else { "" };
        format!("Calibration(smallest={}{floor})", self.found.satisfying.to_decimal_or_fraction())
    }
}
