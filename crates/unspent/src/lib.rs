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

mod error;
mod float;

pub mod allocation;
pub mod bounds;
pub mod calibrate;
pub mod certificate;
pub mod comparison;
pub mod composition;
pub mod curve;
pub mod dominating;
pub mod exact;
pub mod expected;
pub mod mechanism;
pub mod parallel;
mod profile;
pub mod promise;
pub mod reading;
pub mod release;
pub mod report;
pub mod residual;
pub mod sampler;
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
    #[doc = include_str!("../theory/sieve.md")]
    pub mod sieve {}
    #[doc = include_str!("../theory/smoothing.md")]
    pub mod smoothing {}
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

pub use allocation::{Allocation, Neighbours, Preset};
pub use bounds::{Bounds, Magnitude, Round};
pub use calibrate::{Calibration, Promise, Recalibration, Target};
pub use certificate::Certificate;
pub use comparison::Comparison;
pub use composition::{Composition, Delta, Epsilon, Group};
pub use curve::{Curve, TradeoffCurve};
pub use dominating::DominatingLaw;
pub use error::{Error, ErrorKind, Excerpt, Result, did_you_mean};
pub use exact::Rational;
pub use mechanism::{DiscreteGaussian, Gaussian, Mechanism};
pub use profile::Method;
pub use promise::PromiseCheck;
pub use release::{Release, Scope};
pub use stop::Stop;
pub use tradeoff::{Alpha, Knot};
pub use worst::WorstCase;
pub use zcdp::{Conversion, Rho};

/// The README's code, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
