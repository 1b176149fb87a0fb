//! Laplace noise, on the line and on the integers.

use crate::error::{Error, Result};
use crate::number::Rational;

use super::{parse_shift, shift_error};

/// Largest shift of discrete Laplace noise: its loss has one value more than that.
const MAX_SHIFT: u64 = 100_000;

/// Laplace noise with density `exp(−|x|/b)/2b` on an answer that one record can move by `shift`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Laplace {
    scale: Rational,
    shift: Rational,
}

impl Laplace {
    /// The scale b between 10⁻³ and 10¹², the shift (the ℓ₁ sensitivity) between 10⁻⁶ and 10⁶.
    pub fn new(scale: Rational, shift: Rational) -> Result<Laplace> {
        let shifts = Rational::power_of_ten(-6)..=Rational::power_of_ten(6);
        let shift = shift.within("shift", &shifts, "a number between 1e-6 and 1e6")?;
        Ok(Laplace { scale: check_scale(scale)?, shift })
    }

    /// b.
    #[must_use]
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// How far one record can move the answer.
    #[must_use]
    pub fn shift(&self) -> &Rational {
        &self.shift
    }

    /// τ = Δ/b, the largest privacy loss.
    pub(crate) fn largest_loss(&self) -> Rational {
        &self.shift / &self.scale
    }
}

/// Discrete Laplace (geometric) noise, `P[X = x] ∝ exp(−|x|/b)`, on an integer answer that one record can
/// move by `shift`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiscreteLaplace {
    scale: Rational,
    shift: u64,
}

impl DiscreteLaplace {
    /// The scale b between 10⁻³ and 10¹², the shift between 1 and 10⁵.
    pub fn new(scale: Rational, shift: u64) -> Result<DiscreteLaplace> {
        if shift == 0 {
            return Err(shift_error(shift));
        }
        if shift > MAX_SHIFT {
            let hint =
                "a record that moves an integer so far is better protected by Laplace noise on the line";
            return Err(Error::input("shift", shift, "a whole number between 1 and 100000", hint));
        }
        Ok(DiscreteLaplace { scale: check_scale(scale)?, shift })
    }

    /// Reads both from text.
    pub fn parse(scale: &str, shift: &str) -> Result<DiscreteLaplace> {
        DiscreteLaplace::new(Rational::parse("scale", scale)?, parse_shift(shift)?)
    }

    /// b.
    #[must_use]
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// How far one record can move the answer.
    #[must_use]
    pub fn shift(&self) -> u64 {
        self.shift
    }
}

fn check_scale(scale: Rational) -> Result<Rational> {
    let range = Rational::power_of_ten(-3)..=Rational::power_of_ten(12);
    scale.within("scale", &range, "a scale b of Laplace noise between 1e-3 and 1e12")
}
