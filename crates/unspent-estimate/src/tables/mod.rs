//! Tables that can be published: whole numbers, not negative, that add up over every level.
//!
//! ```text
//! estimates ─▶ Roots, Family: projection ─▶ Limits, nearest_whole: whole numbers
//! ```
//!
//! What decides whether a table is allowed is computed in integers. Floating point only says which of the
//! allowed tables is nearest.

mod distance;
mod family;
mod flow;
mod kind;
mod limits;
mod network;
mod project;
mod root;
mod rounding;
mod share;
mod signs;
mod support;
#[cfg(test)]
mod tests;

use distance::Distance;
pub use family::{DenseFamily, Family, FamilyTables, Isolate, Table, UnitLimits};
pub use flow::{Arc, Narrow, Network, UNBOUNDED};
pub use kind::Kind;
pub use limits::{Bound, Limits, UnitBounds};
pub use network::{Origin, Stated, Unmet};
pub use project::{Quality, TOLERANCE};
pub use root::Roots;
pub use rounding::{Rows, Unequal, nearest_whole};
pub use support::{ChildEstimate, Support};
