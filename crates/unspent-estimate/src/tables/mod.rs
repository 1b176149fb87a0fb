//! Tables that can be published: whole numbers, not negative, that add up over every level.
//!
//! What decides whether a table is allowed is computed in integers. Floating point only says which of the
//! allowed tables is nearest.

mod rounding;
mod share;

pub use rounding::{Rows, Unequal, nearest_whole};
