//! Laplace noise, on the line and on the integers.

use crate::error::{Error, Result};
use crate::number::float::sinh_cosh;
use crate::number::{Rational, Round};

use super::{Mechanism, parse_shift, shift_error};

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

    /// The variance of the noise, rounded; not a bound.
    #[must_use]
    pub fn variance(&self) -> f64 {
        (&(&self.scale * &self.scale) * &Rational::integer(2)).to_f64()
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

    /// The variance of the noise, within 16 roundings (16·2⁻⁵³ of itself); not a bound.
    ///
    /// `2α/(1 − α)² = 1/(2 sinh²(1/2b))` with `α = exp(−1/b)`.
    #[must_use]
    pub fn variance(&self) -> f64 {
        // The argument in two parts, since its rounding would count by its size where x is large.
        let x = (&Rational::integer(1) / &(&self.scale * &Rational::integer(2))).to_dd();
        let (sinh, cosh) = sinh_cosh(x.hi);
        let sinh = sinh + x.lo * cosh;
        0.5 / (sinh * sinh)
    }
}

/// Laplace noise on the line, or on the integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaplaceKind {
    /// Density `exp(−|x|/b)/2b`.
    Continuous,
    /// `P[X = x] ∝ exp(−|x|/b)`: geometric noise.
    Discrete,
}

impl LaplaceKind {
    /// Noise of scale b on an answer that one record can move by `shift`.
    pub fn with_scale(self, scale: Rational, shift: u64) -> Result<Mechanism> {
        Ok(match self {
            LaplaceKind::Continuous => Laplace::new(scale, Rational::from(shift))?.into(),
            LaplaceKind::Discrete => DiscreteLaplace::new(scale, shift)?.into(),
        })
    }

    /// The noise that is ε-differentially private if one record moves `moves` of the answers by `shift` each:
    /// b = mΔ/ε, as the largest losses Δ/b add up.
    pub fn spending(self, epsilon: &Rational, shift: u64, moves: u64) -> Result<Mechanism> {
        if !epsilon.is_positive() {
            let hint = "epsilon is a budget of pure differential privacy, like 0.5";
            return Err(Error::input("epsilon", epsilon, "a positive number", hint));
        }
        let scale = &(&Rational::from(shift) * &Rational::from(moves)) / epsilon;
        self.with_scale(scale.clone(), shift).map_err(|_| {
            let about = |x: &Rational| x.to_decimal(4, Round::Up);
            let (epsilon, scale) = (about(epsilon), about(&scale));
            let cause =
                format!("a budget of epsilon = {epsilon} means noise of scale {scale}, outside 1e-3 to 1e12");
            Error::stated(cause, "more budget means less noise: check epsilon")
        })
    }
}

impl Mechanism {
    /// b of Laplace noise.
    #[must_use]
    pub fn laplace_scale(&self) -> Option<&Rational> {
        match self {
            Mechanism::Laplace(m) => Some(m.scale()),
            Mechanism::DiscreteLaplace(m) => Some(m.scale()),
            _ => None,
        }
    }

    /// The ε for which Laplace noise is ε-differentially private, Δ/b: its largest loss.
    pub(crate) fn pure_epsilon(&self) -> Option<Rational> {
        Some(&self.shift()? / self.laplace_scale()?)
    }

    /// The variance of added noise, rounded; not a bound.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        match self {
            Mechanism::DiscreteGaussian(m) => Some(m.variance()),
            Mechanism::Gaussian(m) => Some(m.sigma2().to_f64()),
            Mechanism::Laplace(m) => Some(m.variance()),
            Mechanism::DiscreteLaplace(m) => Some(m.variance()),
            _ => None,
        }
    }
}

fn check_scale(scale: Rational) -> Result<Rational> {
    let range = Rational::power_of_ten(-3)..=Rational::power_of_ten(12);
    scale.within("scale", &range, "a scale b of Laplace noise between 1e-3 and 1e12")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::float::UNIT;

    /// Values of 60 digits, of another program.
    #[test]
    fn the_variance_is_that_of_the_law() {
        for (scale, truth) in [
            ("0.05", 4.122_307_261_870_533e-9),
            ("1/3", 0.110_282_011_004_119_53),
            ("1", 1.841_347_188_415_584_6),
            ("7/2", 24.334_011_408_054_38),
            ("16", 511.833_365_880_371_46),
            ("1000000", 1_999_999_999_999.833_3),
        ] {
            let found = DiscreteLaplace::parse(scale, "1").unwrap().variance();
            assert!((found - truth).abs() <= 16.0 * UNIT * truth, "{scale}: {found:e} {truth:e}");
        }
        assert_eq!(Laplace::new("3/2".parse().unwrap(), 1.into()).unwrap().variance(), 4.5);
    }

    /// ε buys b = mΔ/ε, which spends m(Δ/b)²/2 = ε²/2m in zCDP.
    #[test]
    fn budgets_buy_scales() {
        for kind in [LaplaceKind::Continuous, LaplaceKind::Discrete] {
            let noise = kind.spending(&"0.3".parse().unwrap(), 2, 3).unwrap();
            assert_eq!(noise.laplace_scale(), Some(&"20".parse().unwrap()));
            assert_eq!(noise.zcdp(3), Some("3/200".parse().unwrap()));
            assert_eq!(noise.pure_epsilon(), Some("0.1".parse().unwrap()));
        }
    }
}
