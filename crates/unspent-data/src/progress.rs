//! What long work tells whoever waits for it. Nothing in this crate prints by itself.

/// Listens to long work.
pub trait Progress {
    /// So many rows were read or made, which is this part of all, if that is known.
    fn rows(&mut self, _rows: u64, _part: Option<f64>) {}

    /// So many things of a kind are done, of all.
    fn done(&mut self, _what: &'static str, _done: u64, _all: u64) {}

    /// Something that must be known at once: that noise is not private.
    fn warning(&mut self, _text: &str) {}
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Progress for Quiet {}
