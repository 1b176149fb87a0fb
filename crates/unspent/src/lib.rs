//! Certified, tight privacy accounting for compositions of discrete Gaussian noise.
//!
//! ```text
//! allocation ─▶ mechanisms ─▶ transform Φ(z) ─▶ certified profile ─▶ trade-off, calibration ─▶ certificate
//! (exact         (exact)        (one factor        (δ(ε), ε(δ):
//!  fractions)                    per kind)          lower and upper)
//! ```
//!
//! One direction, no back and forth: a number is an exact rational until the transform and a
//! [`Bounds`] from the profile on. The exact value of everything this crate returns as bounds lies
//! inside them, floating-point error included.

mod effort;
mod envelope;
mod error;
mod margin;
mod named;
mod number;

pub mod allocation;
pub mod calibrate;
pub mod composition;
pub mod dominating;
pub mod expected;
pub mod file;
mod loss;
pub mod mechanism;
#[cfg(test)]
mod oracle;
pub mod parallel;
mod profile;
pub mod quantity;
pub mod question;
pub mod release;
pub mod report;
pub mod residual;
#[cfg(feature = "sampler")]
pub mod sampler;
pub mod schema;
mod scope;
mod spelling;
pub mod stop;
pub mod tradeoff;
mod transform;
pub mod worst;
pub mod zcdp;

/// The mathematics: numbered lemmas with their proofs, cited where the code relies on them.
pub mod theory {
    #[doc = include_str!("../theory/neighbours.md")]
    pub mod neighbours {}
    #[doc = include_str!("../theory/transform.md")]
    pub mod transform {}
    #[doc = include_str!("../theory/contour.md")]
    pub mod contour {}
    #[doc = include_str!("../theory/mechanisms.md")]
    pub mod mechanisms {}
    #[doc = include_str!("../theory/sieve.md")]
    pub mod sieve {}
    #[doc = include_str!("../theory/smoothing.md")]
    pub mod smoothing {}
    #[doc = include_str!("../theory/conditioning.md")]
    pub mod conditioning {}
    #[doc = include_str!("../theory/rounding.md")]
    pub mod rounding {}
    #[doc = include_str!("../theory/tradeoff.md")]
    pub mod tradeoff {}
    #[doc = include_str!("../theory/dominating.md")]
    pub mod dominating {}
    #[doc = include_str!("../theory/residual.md")]
    pub mod residual {}
    #[doc = include_str!("../theory/sampler.md")]
    pub mod sampler {}
}

pub use allocation::{Allocation, Neighbours};
pub use calibrate::{Calibration, Target};
pub use composition::{Composition, Group};
pub use dominating::DominatingLaw;
pub use effort::Effort;
pub use error::{Error, ErrorKind, Excerpt, Result};
pub use file::Preset;
pub use mechanism::{
    ApproximateDp, DiscreteGaussian, DiscreteLaplace, Finite, Gaussian, Laplace, Mechanism,
    RandomisedResponse, RenyiDp, Subsampled, TruncatedDiscreteGaussian, ZeroConcentratedDp,
};
pub use number::{Bounds, LogBounds, Magnitude, Number, Rational, Round};
pub use profile::{Direction, Method};
pub use quantity::{Alpha, Delta, Epsilon, Rho};
pub use question::{Ask, Question, Terms};
pub use release::Release;
pub use report::{
    Certificate, Comparison, Curve, Promise, PromiseCheck, Recalibration, Scaling, TradeoffCurve,
};
pub use scope::Scope;
pub use spelling::did_you_mean;
pub use stop::Stop;
pub use tradeoff::Knot;
pub use worst::WorstCase;
pub use zcdp::Conversion;

/// The code of the documentation's page about Rust, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/rust.md")]
struct Page;
