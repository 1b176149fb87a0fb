//! The accountant as a WebAssembly module: bytes of JSON in, bytes of JSON out.
//!
//! ```text
//! page, package ─▶ worker ─▶ room, ask ─▶ answered ─┬─ /api/… ─▶ unspent-explorer, as the server asks it
//!                               reply ◀─────────────┴─ a name ─▶ unspent::question, or `package`,
//!                                                                with all effort
//! ```
//!
//! The module imports nothing: it has no clock, no entropy and no files, and draws no noise. Its memory is
//! bounded (`build.rs`). Whoever asks writes an address and a question into `room` and calls
//! `ask`, then reads the reply: a line with its type, and its text.
//!
//! A defect, too little memory and too deep a recursion end the instance: the call traps, `fault` says
//! what is known of it, and another instance is made. To end a long answer its worker is ended.

mod fault;
#[cfg(target_arch = "wasm32")]
mod module;
mod package;

use unspent::{Question, Terms};
use unspent_explorer::{Reply, answer, get};

/// The answer to what is asked at an address. `/api/…` is asked as the explorer's server is, with its limits;
/// any other address is the name of a [`Question`], or of one that only the package asks, without limits and
/// with all effort. Without a body it is what the explorer gets.
///
/// ```
/// let body = br#"{ "mechanisms": [{ "sigma2": "5", "count": 10 }], "deltas": ["1e-11"] }"#;
/// let reply = unspent_wasm::answered("account", body);
/// assert!(reply.status == 200 && reply.body.contains("10.124830"));
/// assert_eq!(unspent_wasm::answered("/api/nothing", b"").status, 404);
/// ```
#[must_use]
pub fn answered(address: &str, body: &[u8]) -> Reply {
    let found = if body.is_empty() {
        get(address)
    } else if address.starts_with('/') {
        answer(address, body)
    } else if let Some(answer) = package::asked(address, body) {
        answer.map(|body| Reply { status: 200, kind: "application/json", body }).map_err(Into::into)
    } else {
        let report = Question::read(address, body).and_then(|question| question.ask(&Terms::default()));
        report.map(|report| Reply::report(&report)).map_err(Into::into)
    };
    found.unwrap_or_else(Into::into)
}
