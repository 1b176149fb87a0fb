//! The explorer of a privacy budget: its pages (`web/`), and one door for what they ask.
//!
//! ```text
//! page ──path, JSON──▶ get, answer ─▶ unspent, unspent-estimate ─▶ reports, pictures ──JSON──▶ page
//! ```
//!
//! Who carries questions and answers is of no account here: `unspent serve` does it over HTTP, and a page
//! that stands alone asks a WebAssembly module. Nothing here reads a file, a clock or entropy, and nothing is
//! kept: every question brings its allocation along, as a draft.
//!
//! ```
//! let body = br#"{ "release": [{ "preset": "pl94-units-us-2020" }], "reductions": false }"#;
//! let reply = unspent_explorer::answer("/api/certificate", body).unwrap();
//! assert!(reply.status == 200 && reply.body.contains("\"tight\""));
//! ```

pub mod alone;
mod api;
mod design;
pub mod grid;
pub mod page;
pub mod pictures;
mod size;

pub use api::{Reply, Result, Trouble, answer, get, takes_body};
