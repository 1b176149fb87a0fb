//! The way back from (ε, δ): the largest ρ of zCDP, and the largest μ of Gaussian DP.

use pyo3::prelude::*;
use unspent::{Composition, Conversion, Delta, Epsilon, Gaussian, Number, Rational, Round, Target};

use crate::error::OrRaise;
use crate::number::{fraction, rational};
use crate::work::interruptible;

/// Digits of what is returned: it can be written down.
const DIGITS: u32 = 12;

pub fn target(epsilon: &Bound<'_, PyAny>, delta: &Bound<'_, PyAny>) -> PyResult<Target> {
    let py = epsilon.py();
    Ok(Target {
        epsilon: Epsilon::new(rational("epsilon", epsilon)?).or_raise(py)?,
        delta: Delta::new(rational("delta", delta)?).or_raise(py)?,
    })
}

/// The largest rho, a Fraction of 12 digits, with which a published conversion from zCDP states no more than
/// epsilon at delta.
///
/// `conversion` is "canonne-kamath-steinke" or "bun-steinke". Neither is tight: noise itself, with
/// `Composition.calibrate`, keeps the same promise with a larger budget.
///
/// >>> from unspent import largest_rho
/// >>> float(largest_rho(epsilon=1, delta="1e-6"))
/// 0.0243559703595
#[pyfunction]
#[pyo3(signature = (epsilon, delta, conversion="canonne-kamath-steinke"))]
pub fn largest_rho<'py>(
    epsilon: &Bound<'py, PyAny>,
    delta: &Bound<'py, PyAny>,
    conversion: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = epsilon.py();
    let conversion = Conversion::parse(conversion).or_raise(py)?;
    let Target { epsilon, delta } = target(epsilon, delta)?;
    fraction(py, conversion.largest_rho(&epsilon, &delta).or_raise(py)?.value())
}

/// The largest mu, a Fraction of 12 digits, with which mu-Gaussian differential privacy is certified to be
/// (epsilon, delta)-differential privacy.
///
/// >>> from unspent import Composition, GaussianDp, largest_mu
/// >>> mu = largest_mu(epsilon=1, delta="1e-6")
/// >>> float(mu)
/// 0.236704380545
/// >>> Composition(GaussianDp(mu=mu)).delta(1) <= 1e-6
/// True
#[pyfunction]
#[pyo3(signature = (epsilon, delta))]
pub fn largest_mu<'py>(
    epsilon: &Bound<'py, PyAny>,
    delta: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = epsilon.py();
    let target = target(epsilon, delta)?;
    let found = interruptible(py, move || {
        let one = || Rational::integer(1);
        let noise = Composition::new([(Gaussian::new(one(), one())?, 1)])?;
        // mu = 1/sigma, and smaller ones are as good: it is rounded down.
        let squared = &one() / &noise.smallest_scale(&target)?.satisfying;
        let mu = Number::from(squared.square_root()).bounds().lower().to_decimal(DIGITS, Round::Down);
        Rational::parse("mu", &mu)
    })?;
    fraction(py, &found.or_raise(py)?)
}
