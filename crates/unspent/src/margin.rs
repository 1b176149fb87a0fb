//! Margins of noise: how far a count is from the exact one, with a given confidence.
//!
//! A margin is a confidence statement about one draw of noise. It is not a certified bound of a privacy
//! quantity, and it never becomes one.

use std::collections::HashMap;

use crate::error::Result;
use crate::expected::Law;
use crate::number::Rational;

/// Above this σ² the sum over the law is long, and the normal law's quantile is as good: `P[X ≥ m] ≤ P[N(0,
/// σ²) ≥ m − 1]` for every integer m (Canonne, Kamath and Steinke 2020, Proposition 25), so that it is never
/// too small.
const LONG: f64 = 1e6;

/// Rounded up: the normal law is within so many deviations with a probability of at least 95 %.
const NORMAL_95: f64 = 1.959_963_984_540_055;

/// Margins that were asked for before.
#[derive(Default)]
pub(crate) struct Margins(HashMap<Rational, u64>);

impl Margins {
    /// The noise is at most this, either way, with a probability of at least 95 %.
    pub fn at_95(&mut self, sigma2: &Rational) -> Result<u64> {
        if let Some(known) = self.0.get(sigma2) {
            return Ok(*known);
        }
        let margin = if sigma2.to_f64() <= LONG {
            Law::new(sigma2)?.half_width(&"0.95".parse()?)?
        } else {
            (NORMAL_95 * sigma2.to_f64_bounds().1.sqrt().next_up()).ceil() as u64
        };
        self.0.insert(sigma2.clone(), margin);
        Ok(margin)
    }
}
