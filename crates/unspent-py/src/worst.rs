//! The worst of all compositions that neighbours can come down to.

use std::sync::Arc;

use pyo3::prelude::*;
use unspent::{Alpha, Delta, Epsilon, Number};

use crate::bounds::Bounds;
use crate::error::OrRaise;
use crate::number::rational;
use crate::work::interruptible;

/// The worst of all compositions that neighbours can come down to: one for each pair of paths through the
/// geography.
///
/// From `Allocation.worst_case`. A guarantee holds for all of them: delta and epsilon are the largest, the
/// trade-off function the smallest.
#[pyclass(frozen, module = "unspent")]
pub struct WorstCase(pub Arc<unspent::WorstCase>);

impl WorstCase {
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&unspent::WorstCase) -> unspent::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let cases = self.0.clone();
        interruptible(py, move || question(&cases))?.or_raise(py)
    }
}

#[pymethods]
impl WorstCase {
    /// How many compositions it is the worst of.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    /// Whether neighbours are known that come down to the worst case. If not, lower ends are those of
    /// neighbours that are known.
    #[getter]
    fn attained(&self) -> bool {
        self.0.is_attained()
    }

    /// The largest zCDP budget of them.
    #[getter]
    fn rho(&self, py: Python<'_>) -> PyResult<Bounds> {
        Ok(Bounds::at_most(self.ask(py, unspent::WorstCase::rho)?.bounds()))
    }

    /// The least delta for which all of them are (epsilon, delta)-differentially private: `.upper` is the
    /// guarantee.
    fn delta(&self, py: Python<'_>, epsilon: &Bound<'_, PyAny>) -> PyResult<Bounds> {
        let epsilon = Epsilon::new(rational("epsilon", epsilon)?).or_raise(py)?;
        self.ask(py, move |cases| cases.delta(&epsilon)).map(Bounds::at_most)
    }

    /// The least epsilon for which all of them are (epsilon, delta)-differentially private: `.upper` is the
    /// guarantee.
    fn epsilon(&self, py: Python<'_>, delta: &Bound<'_, PyAny>) -> PyResult<Bounds> {
        let delta = Delta::new(rational("delta", delta)?).or_raise(py)?;
        let found = self.ask(py, move |cases| cases.epsilon(&delta))?;
        Ok(Bounds::at_most(Number::from(found).bounds()))
    }

    /// The trade-off function: how often the best attacker misses at a rate `alpha` of false alarms. `.lower`
    /// is the guarantee.
    fn tradeoff(&self, py: Python<'_>, alpha: &Bound<'_, PyAny>) -> PyResult<Bounds> {
        let alpha = Alpha::new(rational("alpha", alpha)?).or_raise(py)?;
        self.ask(py, move |cases| cases.tradeoff(&alpha)).map(Bounds::at_least)
    }

    /// The best attacker's power at a rate `alpha` of false alarms: `.upper` is the guarantee.
    fn power(&self, py: Python<'_>, alpha: &Bound<'_, PyAny>) -> PyResult<Bounds> {
        let alpha = Alpha::new(rational("alpha", alpha)?).or_raise(py)?;
        self.ask(py, move |cases| cases.power(&alpha)).map(Bounds::at_most)
    }

    fn __repr__(&self) -> String {
        format!("<WorstCase of {} compositions>", self.0.count())
    }
}
