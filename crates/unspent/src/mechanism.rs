//! Mechanisms: one noisy answer each. Parameters are exact, and errors name the one at fault.
//!
//! The *shift* of a mechanism is its sensitivity: how far one record can move the answer.

use std::fmt;
use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::number::float::{self, Dd, Sum};
use crate::number::{Rational, Round};
use crate::transform::{DiscreteGaussianTransform, GaussianTransform, Transform};

mod budget;
mod discrete;
mod laplace;
mod list;
mod open;
mod renyi;
mod subsampled;
mod text;

pub use discrete::{ApproximateDp, Finite, RandomisedResponse, TruncatedDiscreteGaussian, Truth};
pub use laplace::{DiscreteLaplace, Laplace, LaplaceKind};
pub use list::Entry;
pub use open::{Open, Sought};
pub use renyi::RenyiDp;
pub use subsampled::{Base, Subsampled, ZeroConcentratedDp};
pub use text::{Described, KINDS, kind_named};

/// Largest number of equal mechanisms in a group.
pub const MAX_COUNT: u64 = 1 << 63;
const MAX_SHIFT: u64 = 1_000_000;

pub(crate) fn check_sigma2(sigma2: Rational) -> Result<Rational> {
    sigma2.within("sigma2", &variances(), "a variance between 1e-3 and 1e12")
}

fn variances() -> RangeInclusive<Rational> {
    Rational::power_of_ten(-3)..=Rational::power_of_ten(12)
}

/// Under which name the width of noise is stated: as a standard deviation, or as its square.
///
/// These names mean the same in commands, files, tables and Python. Noise of σ = 5 has σ² = 25: whoever takes
/// one for the other has a fifth of the variance, or five times it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stated {
    /// `sigma2`, the parameter σ² (the variance).
    Sigma2,
    /// `sigma`, the parameter σ (the standard deviation).
    Sigma,
    /// `scale`, σ again, as other libraries call it.
    Scale,
}

impl Stated {
    /// All of them.
    pub const ALL: [Stated; 3] = [Stated::Sigma2, Stated::Sigma, Stated::Scale];

    /// What each name means; part of every hint that offers one of them.
    pub const MEANING: &str =
        "sigma and scale are the standard deviation, sigma2 is its square, the variance";

    /// How it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stated::Sigma2 => "sigma2",
            Stated::Sigma => "sigma",
            Stated::Scale => "scale",
        }
    }

    /// The one that is written so.
    #[must_use]
    pub fn named(name: &str) -> Option<Stated> {
        Stated::ALL.into_iter().find(|stated| stated.name() == name)
    }

    /// The only one that was given, of any number of places to give one.
    pub fn only<T>(given: impl IntoIterator<Item = (Stated, T)>) -> Result<(Stated, T)> {
        let mut given = given.into_iter();
        let hint = || format!("give one of sigma2, sigma and scale: {}", Stated::MEANING);
        let Some(first) = given.next() else {
            return Err(Error::stated("nothing says how wide the noise is", hint()));
        };
        match given.next() {
            None => Ok(first),
            Some((second, _)) if second == first.0 => {
                Err(Error::stated(format!("{} is given twice", second.name()), hint()))
            }
            Some((second, _)) => {
                let (first, second) = (first.0.name(), second.name());
                Err(Error::stated(format!("the noise is given twice, as {first} and as {second}"), hint()))
            }
        }
    }

    /// σ², exactly, of noise that is stated as this number.
    ///
    /// ```
    /// # use unspent::mechanism::Stated;
    /// assert_eq!(Stated::Sigma.sigma2("2.5".parse()?)?, "6.25".parse()?);
    /// assert_eq!(Stated::Sigma2.sigma2("2.5".parse()?)?, "2.5".parse()?);
    /// assert!(Stated::Scale.sigma2("-2.5".parse()?).is_err());
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn sigma2(self, value: Rational) -> Result<Rational> {
        if self == Stated::Sigma2 {
            return check_sigma2(value);
        }
        let squared = &value * &value;
        if value.is_positive() && variances().contains(&squared) {
            return Ok(squared);
        }
        let allowed = "a positive standard deviation whose square is between 1e-3 and 1e12";
        Err(Error::input(self.name(), value, allowed, Stated::MEANING))
    }

    /// Reads it from text.
    pub fn parse(self, text: &str) -> Result<Rational> {
        self.sigma2(Rational::parse(self.name(), text)?).map_err(|e| e.quoting(text))
    }
}

/// Discrete Gaussian noise N_ℤ(0, σ²) on an integer answer that one record can move by `shift`.
///
/// `sigma2` is the parameter σ² of the law `P[X = x] ∝ exp(−x²/2σ²)`. The variance is a little less: by a
/// factor below 10⁻⁶ from one for σ² ≥ 1, and far less than σ² for σ² ≪ 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiscreteGaussian {
    sigma2: Rational,
    shift: u64,
}

impl DiscreteGaussian {
    /// σ² between 10⁻³ and 10¹², shift between 1 and 10⁶.
    pub fn new(sigma2: Rational, shift: u64) -> Result<DiscreteGaussian> {
        let sigma2 = check_sigma2(sigma2)?;
        if !(1..=MAX_SHIFT).contains(&shift) {
            return Err(shift_error(shift));
        }
        Ok(DiscreteGaussian { sigma2, shift })
    }

    /// Reads both from text.
    ///
    /// ```
    /// # use unspent::DiscreteGaussian;
    /// let noise = DiscreteGaussian::parse("100000/9563", "1")?;
    /// let error = DiscreteGaussian::parse("0", "1").unwrap_err();
    /// assert_eq!(error.to_string(), "sigma2: `0` is not a variance between 1e-3 and 1e12");
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn parse(sigma2: &str, shift: &str) -> Result<DiscreteGaussian> {
        DiscreteGaussian::new(Stated::Sigma2.parse(sigma2)?, parse_shift(shift)?)
    }

    /// The noise that spends ρ, if one record moves `moves` of the answers by `shift` each: σ² = mΔ²/2ρ
    /// (`theory/neighbours.md`, N1).
    ///
    /// ```
    /// # use unspent::DiscreteGaussian;
    /// let noise = DiscreteGaussian::spending(&"0.1".parse()?, 1, 2)?;
    /// assert_eq!((noise.sigma2().to_string(), noise.rho(2).to_string()), ("10".into(), "1/10".into()));
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn spending(rho: &Rational, shift: u64, moves: u64) -> Result<DiscreteGaussian> {
        let sigma2 = sigma2_spending(rho, &Rational::from(shift), moves)?;
        DiscreteGaussian::new(sigma2, shift)
    }

    /// ρ that it spends if one record moves `moves` of the answers: mΔ²/2σ².
    #[must_use]
    pub fn rho(&self, moves: u64) -> Rational {
        half_ratio(&Rational::from(self.shift), moves, &self.sigma2)
    }

    /// σ².
    #[must_use]
    pub fn sigma2(&self) -> &Rational {
        &self.sigma2
    }

    /// How far one record can move the answer.
    #[must_use]
    pub fn shift(&self) -> u64 {
        self.shift
    }

    /// The variance of the noise, within 16 roundings (16·2⁻⁵³ of itself); not a bound.
    #[must_use]
    pub fn variance(&self) -> f64 {
        // By Poisson's formula the difference is some 8π²σ⁴exp(−2π²σ²), from 4 on far less than a double can
        // tell.
        let sigma2 = self.sigma2.to_dd();
        if sigma2.hi >= 4.0 {
            return sigma2.to_f64();
        }
        let (mut total, mut squares) = (Sum::default(), Sum::default());
        total.push(1.0);
        for m in 1..100 {
            let square = f64::from(m * m);
            // The exponent in two parts, since its rounding would count by its size; a weight is within 7u.
            let exponent = Dd::from(-square).div(sigma2.scale(2.0));
            let weight = 2.0 * (float::exp(exponent.hi) * (1.0 + exponent.lo));
            total.push(weight);
            squares.push(square * weight);
        }
        squares.value() / total.value()
    }
}

/// σ² of the noise that spends ρ, if one record moves `moves` of the answers by `shift` each.
fn sigma2_spending(rho: &Rational, shift: &Rational, moves: u64) -> Result<Rational> {
    if !rho.is_positive() {
        return Err(Error::input("rho", rho, "a positive number", "rho is a zCDP budget, like 2.63"));
    }
    let sigma2 = half_ratio(shift, moves, rho);
    check_sigma2(sigma2.clone()).map_err(|_| {
        let about = |x: &Rational| x.to_decimal(4, Round::Up);
        let (rho, variance) = (about(rho), about(&sigma2));
        let cause =
            format!("a budget of rho = {rho} means noise of variance {variance}, outside 1e-3 to 1e12");
        Error::stated(cause, "more budget means less noise: check rho")
    })
}

/// mΔ²/2x: of σ² it is ρ, and of ρ it is σ².
pub(crate) fn half_ratio(shift: &Rational, moves: u64, x: &Rational) -> Rational {
    &(&(shift * shift) * &Rational::from(moves)) / &(x * &Rational::integer(2))
}

/// Reads how far one record moves an answer: a whole number between 1 and 10⁶.
pub fn parse_shift(text: &str) -> Result<u64> {
    Rational::parse("shift", text)?
        .multiple_of(&Rational::integer(1))
        .filter(|n| (1..=MAX_SHIFT).contains(n))
        .ok_or_else(|| shift_error(text.trim()))
}

fn shift_error(value: impl fmt::Display) -> Error {
    Error::input(
        "shift",
        value,
        "a whole number between 1 and 1000000",
        "the shift is how far one record can move the answer; it is 1 for counts",
    )
}

/// Reads how many equal mechanisms there are: a whole number between 1 and 2⁶³.
pub fn parse_count(text: &str) -> Result<u64> {
    Rational::parse("count", text)?
        .multiple_of(&Rational::integer(1))
        .filter(|n| (1..=MAX_COUNT).contains(n))
        .ok_or_else(|| {
            Error::input(
                "count",
                text,
                "a whole number between 1 and 2^63",
                "the count says how many equal mechanisms there are",
            )
        })
}

/// Continuous Gaussian noise N(0, σ²) on an answer that one record can move by `shift`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gaussian {
    sigma2: Rational,
    shift: Rational,
}

impl Gaussian {
    /// σ² between 10⁻³ and 10¹², shift (the ℓ₂ sensitivity) between 10⁻⁶ and 10⁶.
    pub fn new(sigma2: Rational, shift: Rational) -> Result<Gaussian> {
        let range = Rational::power_of_ten(-6)..=Rational::power_of_ten(6);
        let shift = shift.within("shift", &range, "a number between 1e-6 and 1e6")?;
        Ok(Gaussian { sigma2: check_sigma2(sigma2)?, shift })
    }

    /// σ².
    #[must_use]
    pub fn sigma2(&self) -> &Rational {
        &self.sigma2
    }

    /// How far one record can move the answer.
    #[must_use]
    pub fn shift(&self) -> &Rational {
        &self.shift
    }

    /// The noise that spends ρ, if one record moves `moves` of the answers by `shift` each: σ² = mΔ²/2ρ.
    pub fn spending(rho: &Rational, shift: Rational, moves: u64) -> Result<Gaussian> {
        Gaussian::new(sigma2_spending(rho, &shift, moves)?, shift)
    }
}

/// A mechanism: a pair of laws, without and with one record, or the worst pair of those it may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Mechanism {
    DiscreteGaussian(DiscreteGaussian),
    Gaussian(Gaussian),
    Laplace(Laplace),
    DiscreteLaplace(DiscreteLaplace),
    RandomisedResponse(RandomisedResponse),
    ApproximateDp(ApproximateDp),
    Finite(Finite),
    TruncatedDiscreteGaussian(TruncatedDiscreteGaussian),
    Subsampled(Subsampled),
    ZeroConcentratedDp(ZeroConcentratedDp),
    RenyiDp(RenyiDp),
}

macro_rules! from {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Mechanism {
            fn from(mechanism: $kind) -> Mechanism {
                Mechanism::$kind(mechanism)
            }
        }
    )*};
}
from!(DiscreteGaussian, Gaussian, Laplace, DiscreteLaplace, RandomisedResponse, ApproximateDp, Finite);
from!(TruncatedDiscreteGaussian, ZeroConcentratedDp, RenyiDp);

impl From<Subsampled> for Mechanism {
    /// A sample of everything is no sample.
    fn from(mechanism: Subsampled) -> Mechanism {
        mechanism.unsampled().unwrap_or(Mechanism::Subsampled(mechanism))
    }
}

impl Mechanism {
    /// What it is, in a word or two.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Mechanism::DiscreteGaussian(_) => "discrete Gaussian",
            Mechanism::Gaussian(_) => "Gaussian",
            Mechanism::Laplace(_) => "Laplace",
            Mechanism::DiscreteLaplace(_) => "discrete Laplace",
            Mechanism::RandomisedResponse(_) => "randomised response",
            Mechanism::ApproximateDp(m) if m.delta().is_zero() => "pure DP",
            Mechanism::ApproximateDp(_) => "approximate DP",
            Mechanism::Finite(_) => "finite",
            Mechanism::TruncatedDiscreteGaussian(_) => "truncated discrete Gaussian",
            Mechanism::Subsampled(m) => match m.base() {
                Base::DiscreteGaussian(_) => "subsampled discrete Gaussian",
                Base::Gaussian(_) => "subsampled Gaussian",
                Base::Laplace(_) => "subsampled Laplace",
                Base::DiscreteLaplace(_) => "subsampled discrete Laplace",
            },
            Mechanism::ZeroConcentratedDp(_) => "zCDP event",
            Mechanism::RenyiDp(_) => "RDP event",
        }
    }

    /// σ² of Gaussian noise.
    #[must_use]
    pub fn sigma2(&self) -> Option<&Rational> {
        match self {
            Mechanism::DiscreteGaussian(m) => Some(&m.sigma2),
            Mechanism::Gaussian(m) => Some(&m.sigma2),
            _ => None,
        }
    }

    /// How far one record can move the answer, for added noise.
    #[must_use]
    pub fn shift(&self) -> Option<Rational> {
        match self {
            Mechanism::DiscreteGaussian(m) => Some(Rational::from(m.shift)),
            Mechanism::Gaussian(m) => Some(m.shift.clone()),
            Mechanism::Laplace(m) => Some(m.shift().clone()),
            Mechanism::DiscreteLaplace(m) => Some(Rational::from(m.shift())),
            _ => None,
        }
    }

    /// ρ that Gaussian noise spends if one record moves `moves` of the answers: mΔ²/2σ².
    #[must_use]
    pub fn rho(&self, moves: u64) -> Option<Rational> {
        Some(&(&self.mu_squared()? * &Rational::from(moves)) / &Rational::integer(2))
    }

    /// μ² = Δ²/σ² of Gaussian noise; it satisfies ρ-zCDP with ρ = μ²/2 and no smaller ρ.
    #[must_use]
    pub fn mu_squared(&self) -> Option<Rational> {
        let (shift, sigma2) = (self.shift()?, self.sigma2()?);
        Some(&(&shift * &shift) / sigma2)
    }

    /// The same Gaussian noise with another σ².
    pub fn with_sigma2(&self, sigma2: Rational) -> Result<Mechanism> {
        let sigma2 = check_sigma2(sigma2)?;
        match self {
            Mechanism::DiscreteGaussian(m) => Ok(DiscreteGaussian { sigma2, shift: m.shift }.into()),
            Mechanism::Gaussian(m) => Ok(Gaussian { sigma2, shift: m.shift.clone() }.into()),
            _ => Err(self.refuses("a variance sigma2")),
        }
    }

    /// That a question makes no sense for it.
    pub(crate) fn refuses(&self, what: &str) -> Error {
        self.has_no(what, "that is for Gaussian and discrete Gaussian noise")
    }

    /// That it lacks what a question needs, and what can be asked instead.
    pub(crate) fn has_no(&self, what: &str, hint: &str) -> Error {
        Error::stated(format!("{}: this mechanism has no {what}", self.name()), hint)
    }

    /// Whether the pair of laws is the same, up to names of outcomes, if the two are exchanged.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        !matches!(self, Mechanism::Finite(_) | Mechanism::Subsampled(_))
    }

    /// Whether no pair of laws is known, but bounds of Rényi divergences alone.
    #[must_use]
    pub fn is_one_sided(&self) -> bool {
        matches!(self, Mechanism::ZeroConcentratedDp(_) | Mechanism::RenyiDp(_))
    }

    /// Whether its noise is Gaussian, on the line or on the integers.
    pub(crate) fn is_gaussian(&self) -> bool {
        self.sigma2().is_some()
    }

    /// The step `a` of `Σ Δ X/σ²`, if it is discrete Gaussian noise.
    pub(crate) fn loss_step(&self) -> Option<Rational> {
        match self {
            Mechanism::DiscreteGaussian(m) => Some(&Rational::from(m.shift) / &m.sigma2),
            _ => None,
        }
    }

    /// `None` unless its noise is Gaussian.
    pub(crate) fn transform(&self) -> Option<Box<dyn Transform>> {
        Some(match self {
            Mechanism::DiscreteGaussian(m) => Box::new(DiscreteGaussianTransform::new(&m.sigma2, m.shift)),
            Mechanism::Gaussian(_) => Box::new(GaussianTransform::new(&self.mu_squared()?)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below σ² = 4, where variance and σ² differ, against sums of 200 bits; above, where they are the same
    /// double.
    #[test]
    fn the_variance_is_that_of_the_law() {
        use dashu_float::{FBig, round::mode::HalfEven};
        type Big = FBig<HalfEven, 2>;
        let big = |n: &num_bigint::BigInt| {
            let digits = dashu_int::IBig::from_str_radix(&n.to_string(), 10).unwrap();
            Big::from(digits).with_precision(200).value()
        };
        let exact = |sigma2: &Rational| {
            let twice = big(sigma2.numerator()) * big(&2.into()) / big(sigma2.denominator());
            let (mut total, mut squares) = (big(&1.into()), big(&0.into()));
            // e^−(60²/10) is below 2⁻⁵⁰⁰.
            for m in 1..=60i64 {
                let square = big(&(m * m).into());
                let weight = (-(&square / &twice)).exp() * big(&2.into());
                total += &weight;
                squares += square * weight;
            }
            squares / total
        };
        let check = |sigma2: Rational| {
            let found = DiscreteGaussian::new(sigma2.clone(), 1).unwrap().variance();
            let truth = exact(&sigma2).to_f64().value();
            assert!((found - truth).abs() <= 16.0 * float::UNIT * truth, "{sigma2}: {found:e} {truth:e}");
        };
        for k in 0..800u64 {
            check(&Rational::integer(1 + 5 * k) / &Rational::integer(1000));
        }
        for sigma2 in ["1/300", "1/7", "0.999999", "22/7", "3.9999999", "4", "4.5"] {
            check(sigma2.parse().unwrap());
        }
        // Small σ², where the variance is far below it.
        let variance = |sigma2: &str| DiscreteGaussian::parse(sigma2, "1").unwrap().variance();
        assert!((variance("0.1") / 0.013_296_725 - 1.0).abs() < 1e-7, "{}", variance("0.1"));
        assert!(variance("0.001") < 1e-216 && variance("0.001") > 1e-218);
        assert_eq!((variance("1000000"), variance("4.5")), (1e6, 4.5));
    }
}
