//! The transform `Φ(z) = E_P[e^{zL}]` of one mechanism's privacy loss, along a vertical line.
//!
//! Everything downstream needs one thing of a mechanism: `log Φ(c + it)`, certified. It is split
//! into a part that is a quadratic polynomial, which adds up exactly over mechanisms, and a
//! remainder, which for noise of any size is tiny near the real axis:
//!
//! ```text
//! log Φ(c)                        =  κ·c(c−1)/2 + exponent(c) + remainder(c)
//! log Φ(c+it) − log Φ(c) + itμ²/2 =  −v·ϑ²/2 + i·b(c)·ϑ + remainder(c, ϑ)
//! ```
//!
//! `ϑ = a·t` is the angle of the mechanism: for noise on a lattice it is reduced to [−π, π] first
//! (`Φ` is periodic once the phase of the loss's offset, μ²/2, is taken out), `a = Δ/σ²`; for
//! noise on the line `a = 1` and nothing is reduced. `κ = v·a²`.
//!
//! The mathematics of the discrete Gaussian's remainder is in `theory/transform.md`.

mod discrete_gaussian;
mod gaussian;

pub(crate) use discrete_gaussian::{DiscreteGaussianTransform, ln_one_plus, normaliser};
pub(crate) use gaussian::GaussianTransform;

use crate::number::float::{Complex, Dd};

/// `log Φ` on the real axis, at the tilt `c`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tilt {
    /// Exact to `DD_UNIT · magnitude`.
    pub exponent: Dd,
    pub magnitude: f64,
    /// Within `error` of the truth.
    pub remainder: f64,
    pub error: f64,
    /// `b(c)`.
    pub phase: f64,
    /// `b(c)·a − c·κ`, zero unless the mechanism has no quadratic part.
    pub drift: Dd,
    /// First two derivatives in `c` of `exponent + remainder`: these only steer the choice of
    /// the line, any value is valid.
    pub slope: f64,
    pub spread: f64,
    /// Whatever `remainder` wants to know again.
    pub(super) state: f64,
}

/// `remainder(c, ϑ)`: the truth is within `error` of `value`; or, where the modulus is so close
/// to a zero of Φ that the argument is unknown, only `Re truth ≤ value.re`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remainder {
    pub value: Complex,
    pub error: f64,
    pub modulus_only: bool,
}

/// One mechanism as the contour integral sees it.
pub(crate) trait Transform: Send + Sync + std::fmt::Debug {
    /// Curvature `v` with respect to the angle.
    fn curvature(&self) -> f64;

    /// Whether the quadratic part is present, i.e. κ = μ² (otherwise κ = 0 and `v` = 0).
    fn is_quadratic(&self) -> bool;

    fn tilt(&self, c: f64) -> Tilt;

    /// The remainder at the angle `2π·turns`, `turns` known to within 8u of its size and `blur`.
    fn remainder(&self, tilt: &Tilt, turns: f64, blur: f64) -> Remainder;

    /// An upper bound of `|remainder(c, ϑ)|` and of `|remainder(c)|` over every `c` and every
    /// `|ϑ| ≤ 2π·turns`; infinite if there is none worth having.
    fn remainder_bound(&self, turns: f64) -> f64;

    /// A lower bound of `−ln(|Φ(c+it)|/Φ(c))`, uniform in `c`, at every `|ϑ| ≥ 2π·turns` (up to
    /// half a turn on a lattice); non-decreasing in `turns`.
    fn decay(&self, turns: f64) -> f64;
}
