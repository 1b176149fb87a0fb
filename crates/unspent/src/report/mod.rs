//! Every report, and everything that is said about one.
//!
//! ```text
//! question ─▶ report (a type, with its JSON) ─▶ Document (for people) ─▶ terminal, Markdown, HTML, page
//!                                            └▶ Columns (for programs) ─▶ CSV, Parquet, data frames
//! ```
//!
//! A number in a report is a [`Number`](crate::Number): given and exact, or certified. The command, the
//! server, the page and Python show what is here; none of them words or tabulates a report by itself.

pub mod account;
pub mod certificate;
pub mod columns;
pub mod comparison;
pub mod curve;
pub mod document;
mod numerals;
pub mod parameter;
pub mod presets;
pub mod promise;
pub mod reading;
pub mod recalibration;
mod render;
pub mod series;
pub mod spending;
mod words;

pub use account::Account;
pub use certificate::Certificate;
pub use columns::Columns;
pub use comparison::Comparison;
pub use curve::{Curve, TradeoffCurve};
pub use document::Document;
pub use numerals::{FULL, READABLE, brief, equals, nearest, padded};
pub use parameter::Parameter;
pub use promise::{Promise, PromiseCheck};
pub use recalibration::{Recalibration, Scaling};
pub use render::{Terminal, printable};
pub use words::BYPASSED;
