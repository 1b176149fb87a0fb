//! Lengths of paths in a queue.

use std::cmp::Ordering;

/// A distance that can be ordered.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Distance(pub f64);

impl Eq for Distance {}

impl Ord for Distance {
    fn cmp(&self, other: &Distance) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Distance {
    fn partial_cmp(&self, other: &Distance) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
