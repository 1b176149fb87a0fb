//! Tables that can be published: whole numbers, not negative, that add up over every level.
//!
//! What decides whether a table is allowed is computed in integers. Floating point only says which of the
//! allowed tables is nearest.

mod family;
mod kind;
mod project;
mod root;
mod rounding;
mod share;
mod signs;
mod support;

pub use family::{Family, FamilyLimits, FamilyTables, Isolate, Table, Unmet};
pub use kind::Kind;
pub use project::Quality;
pub use root::{RootLimits, Roots};
pub use rounding::{Rows, Unequal, nearest_whole};
pub use support::{ChildEstimate, Support};
