//! Numbers: exact rationals, magnitudes beyond the range of doubles, certified bounds, and floating point
//! with its error analysis. Nothing here knows what the numbers mean.
//!
//! ```text
//! float ─▶ magnitude ─▶ bounds ─▶ convert          decimal: digits, for magnitude and rational
//!                       rational ─┘  │              search: where a function is least
//!                                    serial
//! ```

#[cfg(test)]
pub(crate) mod big;
mod bounds;
mod convert;
mod decimal;
pub(crate) mod float;
mod known;
mod magnitude;
pub(crate) mod quadrature;
mod rational;
mod search;
pub(crate) mod serial;

pub use bounds::Bounds;
pub(crate) use convert::ratio_to_dd;
pub use known::{LogBounds, Number};
pub use magnitude::{Magnitude, Round};
pub use rational::Rational;
pub(crate) use search::{golden_section, least_near};
pub(crate) use serial::{FULL, maybe_rounded_up, rounded_down, rounded_up};
