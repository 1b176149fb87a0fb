//! How far an estimate is from the true count, with a given confidence (Lemma E8 of `theory/estimates.md`).

use unspent::{Error, Rational, Result};

/// More than all rounding errors of a variance and of what follows from it, relative.
const ROUNDING: f64 = 1e-9;

/// How often an interval is to contain the true count, and how wide it is for a deviation of 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Confidence {
    level: Rational,
    normal: f64,
    guaranteed: f64,
}

impl Confidence {
    /// The confidence is above 0 and below 1.
    pub fn new(level: Rational) -> Result<Confidence> {
        let missed = (&Rational::integer(1) - &level).to_f64();
        // Beyond this doubles are no longer told from 1, or from 0.
        if !(level > Rational::integer(0) && (1e-200..1.0).contains(&missed)) {
            let allowed = "a number above 0 and below 1 (by 1e-200 at least)";
            return Err(Error::input("confidence", level, allowed, "95 % is 0.95"));
        }
        let normal = std::f64::consts::SQRT_2 * pxfm::f_erfcinv(missed);
        let guaranteed = (2.0 * pxfm::f_log(2.0 / missed)).sqrt() * (1.0 + ROUNDING);
        Ok(Confidence { level, normal, guaranteed })
    }

    /// How often.
    #[must_use]
    pub fn level(&self) -> &Rational {
        &self.level
    }

    /// Half of the width of the interval that has this confidence if the error is normal. It is no guarantee.
    #[must_use]
    pub fn normal(&self, deviation: f64) -> f64 {
        self.normal * deviation
    }

    /// Half of the width of an interval that has at least this confidence.
    ///
    /// Discrete Gaussian noise of parameter σ² is sub-Gaussian with proxy σ², and so is every sum of it with
    /// the proxy V that is computed here as its variance: `P[|error| ≥ t] ≤ 2 exp(−t²/2V)`.
    #[must_use]
    pub fn guaranteed(&self, deviation: f64) -> f64 {
        self.guaranteed * deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_those_of_the_normal_law_and_of_the_sub_gaussian_bound() {
        let confidence = |text: &str| Confidence::new(text.parse().unwrap()).unwrap();
        assert!((confidence("0.95").normal(1.0) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!((confidence("0.9").normal(2.0) - 2.0 * 1.644_853_626_951_472).abs() < 1e-14);
        // √(2 ln 40) and √(2 ln 20), rounded up.
        let bound = confidence("0.95").guaranteed(1.0);
        assert!(bound > 2.716_203_031 && bound < 2.716_203_036, "{bound}");
        let bound = confidence("0.9").guaranteed(1.0);
        assert!(bound > 2.447_746_830 && bound < 2.447_746_834, "{bound}");
    }

    #[test]
    fn a_confidence_is_between_0_and_1() {
        for text in ["0", "1", "-0.5", "95"] {
            let error = Confidence::new(text.parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains("above 0 and below 1"), "{error}");
        }
    }
}
