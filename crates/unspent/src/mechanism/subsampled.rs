//! Mechanisms on a random part of the records, and bounds of mechanisms by Rényi divergence.

use crate::error::{Error, Result};
use crate::number::Rational;

use super::{DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Mechanism};

/// Noise on an answer over a Poisson sample: every record is in it with probability `q`, independently.
///
/// Neighbours add or remove one record. The two directions differ (`theory/mechanisms.md`, M2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subsampled {
    base: Base,
    q: Rational,
}

/// The noise of a subsampled mechanism.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Base {
    DiscreteGaussian(DiscreteGaussian),
    Gaussian(Gaussian),
    Laplace(Laplace),
    DiscreteLaplace(DiscreteLaplace),
}

impl Subsampled {
    /// A sampling probability above 0 and at most 1.
    pub fn new(base: Base, q: Rational) -> Result<Subsampled> {
        if !q.is_positive() || q > Rational::integer(1) {
            let hint = "q is the probability with which a record is in the sample: batch size / records";
            return Err(Error::input("q", q, "a probability above 0 and at most 1", hint));
        }
        Ok(Subsampled { base, q })
    }

    /// The noise.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The sampling probability.
    #[must_use]
    pub fn q(&self) -> &Rational {
        &self.q
    }

    /// The mechanism itself if all records are in the sample.
    pub(super) fn unsampled(&self) -> Option<Mechanism> {
        (self.q == Rational::integer(1)).then(|| self.base.clone().into())
    }
}

impl From<Base> for Mechanism {
    fn from(base: Base) -> Mechanism {
        match base {
            Base::DiscreteGaussian(noise) => noise.into(),
            Base::Gaussian(noise) => noise.into(),
            Base::Laplace(noise) => noise.into(),
            Base::DiscreteLaplace(noise) => noise.into(),
        }
    }
}

/// Any mechanism of which only ρ-zCDP is known.
///
/// That bounds the Rényi divergences of the pair, which is less than a pair: what is certified is an upper
/// end. The lower end is that of the other mechanisms, as if this one revealed nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZeroConcentratedDp {
    rho: Rational,
}

impl ZeroConcentratedDp {
    /// A positive ρ of at most 10⁶.
    pub fn new(rho: Rational) -> Result<ZeroConcentratedDp> {
        if !rho.is_positive() || rho > Rational::power_of_ten(6) {
            let hint = "rho is a zCDP budget, like 2.63; for Gaussian noise give the noise itself";
            return Err(Error::input("rho", rho, "a positive number of at most 1e6", hint));
        }
        Ok(ZeroConcentratedDp { rho })
    }

    /// ρ.
    #[must_use]
    pub fn rho(&self) -> &Rational {
        &self.rho
    }
}
