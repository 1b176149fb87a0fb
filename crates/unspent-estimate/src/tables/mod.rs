//! Tables that can be published: whole numbers, not negative, that add up over every level.
//!
//! What decides whether a table is allowed is computed in integers. Floating point only says which of the
//! allowed tables is nearest.

mod distance;
mod flow;
mod limits;
mod network;
mod rounding;
mod share;
#[cfg(test)]
mod tests;

use distance::Distance;
pub use flow::{Arc, Narrow, Network, UNBOUNDED};
pub use limits::{Bound, Limits, UnitBounds};
pub use network::{Origin, Stated, Unmet};
pub use rounding::{Rows, Unequal, nearest_whole};
