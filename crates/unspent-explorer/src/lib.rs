//! The explorer of a privacy budget: its pages (`web/`), and one door for what they ask.
//!
//! ```text
//! page ──path, JSON──▶ get, question ─▶ unspent, unspent-estimate ─▶ reports, pictures ──JSON──▶ page
//! ```
//!
//! Who carries questions and answers is of no account here: `unspent serve` does it over HTTP, and a page
//! that stands alone asks a WebAssembly module. Nothing here reads a file, a clock or entropy, and nothing is
//! kept: every question brings its allocation along, as a draft.
//!
//! ```
//! let body = br#"{ "release": [{ "preset": "pl94-units-us-2020" }], "reductions": false }"#;
//! let asked = unspent_explorer::question("/api/certificate", body).unwrap();
//! let reply = (asked.answer)().unwrap();
//! assert!(reply.status == 200 && reply.body.contains("\"tight\""));
//! ```

pub mod alone;
mod api;
mod design;
pub mod grid;
pub mod page;
pub mod pictures;
mod size;

pub use api::{Asked, Reply, Result, Trouble, get, question, takes_body};
