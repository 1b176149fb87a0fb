//! Needs files and reports of designs: the whole text, every time.

#[path = "../../../unspent/tests/it/support/expect.rs"]
mod expect;
mod needs;
mod reports;
