//! How much work one answer may take.
//!
//! An answer is made of sums over nodes: one or a few for δ, dozens for ε or a point of the trade-off
//! function. Each may take a fixed share of what is left of the answer's allowance, and one that would take
//! more is refused; then its place is taken by bounds that are wider and cheaper. So the time of an answer is
//! bounded, and the answer depends on nothing but the question: work is counted, not timed, and what an
//! earlier answer has prepared is not counted.

use std::cell::Cell;

/// What is left, and the part of it that a sum may take.
#[derive(Clone, Copy)]
struct Open {
    left: f64,
    share: f64,
}

thread_local! {
    static OPEN: Cell<Option<Open>> = const { Cell::new(None) };
}

/// What an answer consists of: how many sums it takes is a part of its allowance each.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// One δ or tail.
    Point,
    /// An ε, found by a search.
    Search,
    /// A point of the trade-off function, found by several.
    Searches,
}

impl Answer {
    /// The part of what is left that one sum may take.
    fn share(self) -> f64 {
        match self {
            Answer::Point => 1.0 / 8.0,
            Answer::Search => 1.0 / 16.0,
            Answer::Searches => 1.0 / 32.0,
        }
    }

    /// Runs what finds this answer, with an allowance of so much work unless it is part of an answer that has
    /// one.
    pub fn within<T>(self, allowance: f64, find: impl FnOnce() -> T) -> T {
        if OPEN.get().is_some() {
            return find();
        }
        OPEN.set(Some(Open { left: allowance, share: self.share() }));
        let _closed = Closed;
        find()
    }
}

/// Closes the allowance, whether the answer is found or the stack is unwound.
struct Closed;

impl Drop for Closed {
    fn drop(&mut self) {
        OPEN.set(None);
    }
}

/// The most work that the next sum may take, of `usual`.
pub(super) fn most(usual: f64) -> f64 {
    OPEN.get().map_or(usual, |open| usual.min(open.left * open.share))
}

/// A sum has taken so much.
pub(super) fn spend(work: f64) {
    if let Some(open) = OPEN.get() {
        OPEN.set(Some(Open { left: (open.left - work).max(0.0), ..open }));
    }
}

/// Work that several sums of one evaluation may take together, one after the other.
pub(super) struct Several {
    /// How much may be left after them.
    least: f64,
}

impl Several {
    /// As many as four sums may.
    pub fn begin() -> Several {
        Several { least: OPEN.get().map_or(0.0, |open| open.left * (1.0 - 4.0 * open.share)) }
    }

    /// Whether there may be another sum.
    pub fn is_left(&self) -> bool {
        OPEN.get().is_none_or(|open| open.left > self.least)
    }
}

/// What is left: whether a sum has taken any of it.
pub(super) fn left() -> f64 {
    OPEN.get().map_or(0.0, |open| open.left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Described;
    use crate::number::Bounds;
    use crate::{Composition, Delta, Epsilon, parallel};

    fn hard() -> Composition {
        let groups = ["sigma2=0.6423,count=2,shift=2", "sigma2=0.01,count=402", "sigma2=0.777,count=20"];
        let parse = |text: &str| {
            let Described { mechanism, count } = Described::parse(text).unwrap();
            (mechanism, count)
        };
        Composition::new(groups.map(parse)).unwrap()
    }

    /// Neither earlier answers nor the thread change what an answer has to spend.
    #[test]
    fn the_same_question_has_the_same_answer() {
        let (release, delta) = (hard(), Delta::parse("1e-10").unwrap());
        let first = release.epsilon(&delta).unwrap();
        let _ = release.delta(&Epsilon::parse("20000").unwrap()).unwrap();
        assert_eq!(release.epsilon(&delta).unwrap(), first);
        let elsewhere = parallel::map(&[0, 1], |_| hard().epsilon(&delta).unwrap());
        assert_eq!(elsewhere, vec![first; 2]);
    }

    /// With less to spend an answer is wider, and still true.
    #[test]
    fn less_work_gives_wider_bounds_around_the_same_value() {
        let (release, delta) = (hard(), Delta::parse("1e-10").unwrap());
        let with = |allowance: f64| -> (Bounds<f64>, f64) {
            Answer::Search.within(allowance, || (release.epsilon(&delta).unwrap(), allowance - left()))
        };
        let (best, _) = with(f64::INFINITY);
        let mut widest = 0.0f64;
        for allowance in [1e6, 1e5, 1e4, 1e3, 0.0] {
            let (found, spent) = with(allowance);
            assert!(found.overlaps(&best), "{found:?} {best:?}");
            assert!(spent <= allowance, "{spent}");
            widest = widest.max(found.upper() - found.lower());
        }
        assert!(widest > 100.0 * (best.upper() - best.lower()), "{widest}");
    }
}
