//! Reports for people: those of the library, as they are.

pub use unspent::report::document::{Document, Table};
