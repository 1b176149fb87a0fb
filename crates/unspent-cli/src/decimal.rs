//! Numbers as a person would write them: those of the library, as they are.

pub use unspent::report::{brief, equals};
