//! The law of one mechanism's privacy loss, in one direction, for mechanisms that are not Gaussian noise.
//!
//! A mechanism is an ordered pair (P, Q), `L = ln dQ/dP`, `Φ(z) = E_P[e^{zL}; L finite]`. What is integrated
//! needs three things of it: `ln Φ(c)` on the real axis; `ln Φ(c+it) − ln Φ(c) − itm` along a line, `m` a
//! number near the mean of the tilted law; and a lower bound of how fast `|Φ(c+it)|` falls. The mathematics
//! is in `theory/mechanisms.md`.

mod atoms;
mod cells;
mod gaussian;
mod laplace;
mod subsampled;
#[cfg(test)]
mod tests;

pub(crate) use atoms::Atoms;
pub(crate) use cells::{Cell, Cells};
pub(crate) use gaussian::GaussianLoss;
pub(crate) use laplace::LaplaceLoss;
pub(crate) use subsampled::{SubsampledGaussianLoss, SubsampledLaplaceLoss};

use crate::error::{Error, Result};
use crate::mechanism::{Base, Mechanism, Subsampled};
use crate::number::Rational;
use crate::number::float::{self, Dd, UNIT};
pub(crate) use crate::transform::Remainder;

/// Which record is compared with which: the one direction of a pair, or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// P without the record, Q with it: what removing the record hides.
    Remove,
    /// P with the record, Q without it: what adding it hides.
    Add,
}

impl Way {
    pub fn other(self) -> Way {
        match self {
            Way::Remove => Way::Add,
            Way::Add => Way::Remove,
        }
    }
}

/// `ln Φ` at a real tilt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tilted {
    /// Within `error` of the truth.
    pub log: Dd,
    pub error: f64,
    /// Mean and variance of the tilted law, about: they only steer.
    pub mean: f64,
    pub variance: f64,
}

/// The law of a privacy loss.
pub(crate) trait Loss: Send + Sync + std::fmt::Debug {
    fn tilt(&self, c: f64) -> Tilted;

    /// Along `c + ikh`, `k = 0, 1, …`.
    fn line(&self, c: f64, h: Dd) -> Box<dyn Along + '_>;

    /// The finite losses, if there are finitely many and no others.
    fn atoms(&self) -> Option<&Atoms> {
        None
    }

    /// The atomic part of the law and, if there is more, the segment `[−τ, τ]` on which the rest has the
    /// density `¼e^{−(l+τ)/2}` under P (M8).
    fn parts(&self) -> Option<(&Atoms, Option<&Segment>)> {
        self.atoms().map(|atoms| (atoms, None))
    }

    /// About so many cells whose lists bound the law from either side, without what reveals for certain.
    fn cells(&self, _: usize) -> Option<Cells> {
        None
    }

    /// The losses as fractions, if they are on a grid of fractions.
    fn grid(&self) -> Option<&Grid> {
        None
    }

    /// The largest loss, if that is a fraction.
    fn largest_exact(&self) -> Option<Rational> {
        None
    }

    /// An upper bound of all finite losses.
    fn largest(&self) -> f64 {
        f64::INFINITY
    }
}

/// The law of a mechanism that is used `count` times; `None` for one that has no pair.
pub(crate) fn of(mechanism: &Mechanism, count: f64, way: Way) -> Result<Option<Box<dyn Loss>>> {
    let atoms = |atoms: Atoms| -> Option<Box<dyn Loss>> { Some(Box::new(atoms.directed(way))) };
    Ok(match mechanism {
        Mechanism::DiscreteGaussian(_) | Mechanism::Gaussian(_) => {
            GaussianLoss::new(mechanism).map(|law| Box::new(law) as Box<dyn Loss>)
        }
        Mechanism::Laplace(noise) => Some(Box::new(LaplaceLoss::new(noise))),
        Mechanism::DiscreteLaplace(noise) => atoms(Atoms::discrete_laplace(noise)),
        Mechanism::RandomisedResponse(response) => atoms(Atoms::randomised_response(response)),
        Mechanism::ApproximateDp(event) => atoms(Atoms::approximate_dp(event)),
        Mechanism::Finite(finite) => atoms(Atoms::finite(finite)),
        Mechanism::TruncatedDiscreteGaussian(noise) => atoms(Atoms::truncated_discrete_gaussian(noise)),
        Mechanism::ZeroConcentratedDp(_) | Mechanism::RenyiDp(_) => None,
        Mechanism::Subsampled(sampled) if *sampled.q() == Rational::integer(1) => {
            return of(&sampled.base().clone().into(), count, way);
        }
        Mechanism::Subsampled(sampled) => match check_sampled(sampled)?.base() {
            Base::Gaussian(noise) => {
                let sigma2 = noise.sigma2() / &(noise.shift() * noise.shift());
                Some(Box::new(SubsampledGaussianLoss::new(&sigma2, sampled.q(), count, way)))
            }
            Base::DiscreteGaussian(noise) => atoms(Atoms::discrete_gaussian(noise)?.subsampled(sampled.q())),
            Base::DiscreteLaplace(noise) => atoms(Atoms::discrete_laplace(noise).subsampled(sampled.q())),
            Base::Laplace(noise) => Some(Box::new(SubsampledLaplaceLoss::new(noise, sampled.q(), way))),
        },
    })
}

/// Probabilities of being in the sample, and of not being in it, that are too small to be told from 0.
fn check_sampled(sampled: &Subsampled) -> Result<&Subsampled> {
    let (least, one) = (Rational::power_of_ten(-100), Rational::integer(1));
    let rest = &one - sampled.q();
    if *sampled.q() < least || rest < least {
        let hint = "a probability that is so near to 0 or 1 is not worth telling from it";
        return Err(Error::input(
            "q",
            sampled.q().to_short(),
            "q and 1 − q of at least 1e-100, or q = 1",
            hint,
        ));
    }
    Ok(sampled)
}

/// The continuous part of a law: `¼e^{−(l+τ)/2}` on `[−τ, τ]`, under P.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub tau: Dd,
}

/// One law along one line.
pub(crate) trait Along {
    /// The slope `m` of the phase that is taken out; by definition the double at hand.
    fn centre(&self) -> Dd;

    /// Says up to which k it will be asked.
    fn prepare(&mut self, _last: u64) {}

    /// `ln Φ(c+it) − ln Φ(c) − itm` at `t = kh`, asked for in ascending k.
    fn at(&mut self, k: u64) -> Remainder;

    /// About how much work a node is, in units of a few nanoseconds.
    fn cost(&self) -> f64 {
        20.0
    }

    /// `ln` of the atomic and of the continuous part of `Φ(c+it)`, each over `Φ(c)e^{itm}`, where the law has
    /// both (M8).
    fn parts(&self, _: u64) -> Option<[Remainder; 2]> {
        None
    }

    /// The tilted mass of the atomic part, from above, where the law has both.
    fn atomic_mass(&self) -> Option<f64> {
        None
    }

    /// A lower bound of `−ln(|Φ(c+it)|/Φ(c))` over `t₁ ≤ t ≤ t₂`; `t₂` may be infinite.
    fn decay(&self, t1: f64, t2: f64) -> f64;
}

/// `e^{cl} − 1 − c(e^l − 1)`, which has the sign of c(c−1), and the bound of its error if `l` is known to
/// within `error`, relatively (M5).
pub(super) fn bracket(c: f64, l: f64, error: f64) -> (f64, f64) {
    // e^{cl} − 1 − c(e^l − 1) = c(c−1)·Σ_{k≥2} (1 + c + … + c^{k−2})·l^k/k!.
    let size = l.abs() * c.abs().max(1.0);
    if size < 1e-140 {
        // Its square may be no double.
        return (0.0, 1e-279);
    }
    if size < 0.5 {
        let (mut term, mut power) = (0.5 * l * l, 1.0);
        let (mut geometric, mut majorant) = (1.0, 1.0);
        let (mut sum, mut sizes) = (0.0, 0.0);
        for k in 3..30 {
            sum += term * geometric;
            sizes += term.abs() * majorant;
            power *= c;
            geometric += power;
            majorant += power.abs();
            term *= l / f64::from(k);
            if term.abs() * majorant <= 1e-18 * sizes {
                break;
            }
        }
        let value = c * (c - 1.0) * sum;
        // Each part has at most 3k roundings and k errors of l; parts fall like size^k/k!. Errors above a
        // hundredth are not small enough for that.
        let error = if error < 0.01 { error } else { f64::INFINITY };
        let bound = (c * (c - 1.0)).abs() * sizes * (UNIT * 24.0 + 2.6 * error);
        return (value, bound);
    }
    let (a, b) = (float::expm1(c * l), float::expm1(l));
    let value = a - c * b;
    // The derivative in l is c(e^{cl} − e^l).
    let moved = (c * l).abs() * (a - b).abs() * (error + UNIT);
    (value, 6.0 * UNIT * (a.abs() + (c * b).abs()) + 1.01 * moved + UNIT * (c * l).abs() * (1.0 + a.abs()))
}

/// Losses `offset + step·k` of whole k.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub step: Rational,
    pub offset: Rational,
}
