//! Margins of noise: how far a count is from the exact one, with a given confidence.
//!
//! A margin is a confidence statement about one draw of noise. It is not a certified bound of a privacy
//! quantity, and it never becomes one.

use std::collections::HashMap;

use crate::error::Result;
use crate::expected::Law;
use crate::mechanism::Mechanism;
use crate::number::{Rational, float};

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
    pub fn at_95(&mut self, noise: &Mechanism) -> Result<u64> {
        match noise {
            Mechanism::Laplace(noise) => Ok(laplace_95(noise.scale(), 1.0)),
            Mechanism::DiscreteLaplace(noise) => {
                // P[|X| > m] = 2α^(m+1)/(1 + α), α = e^(−1/b).
                let alpha = float::exp(-1.0 / noise.scale().to_f64());
                Ok(laplace_95(noise.scale(), (1.0 + alpha) / 2.0).saturating_sub(1))
            }
            _ => match noise.sigma2() {
                Some(sigma2) => self.gaussian_95(sigma2),
                None => Err(noise.refuses("margin")),
            },
        }
    }

    fn gaussian_95(&mut self, sigma2: &Rational) -> Result<u64> {
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

/// The smallest m, or one more, with `e^(−m/b) ≤ 0.05·by`: rounded up by far more than the doubles err.
fn laplace_95(scale: &Rational, by: f64) -> u64 {
    (scale.to_f64() * float::ln(20.0 / by) * (1.0 + 1e-12)).ceil().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Described;

    #[test]
    fn margins_of_laplace_noise_hold_and_no_smaller_ones_do() {
        for (text, b) in [("0.05", 0.05), ("0.5", 0.5), ("2", 2.0), ("7/3", 7.0 / 3.0), ("1000", 1000.0)] {
            let of = |kind: &str| Described::parse(&format!("{kind}:b={text}")).unwrap().mechanism;
            let beyond = |m: f64| 2.0 * float::exp(-(m + 1.0) / b) / (1.0 + float::exp(-1.0 / b));
            let margin = Margins::default().at_95(&of("discrete_laplace")).unwrap() as f64;
            assert!(beyond(margin) <= 0.05, "{text}: {margin}");
            assert!(margin == 0.0 || beyond(margin - 1.0) > 0.05, "{text}: {margin}");
            let margin = Margins::default().at_95(&of("laplace")).unwrap() as f64;
            assert!(float::exp(-margin / b) <= 0.05 && float::exp(-(margin - 1.0) / b) > 0.05, "{text}");
        }
    }
}
