//! The privacy profile: certified δ(ε), which is the hockey-stick divergence at `e^ε`, its complement, and
//! the tails of the privacy loss distribution (PLD).
//!
//! On a lattice of losses ([`lattice`]), or where the atoms of the loss are few ([`enumeration`]), bounds are
//! as narrow as rounding allows. Otherwise δ is bracketed between two smoothed profiles ([`smoothing`]). On a
//! lattice and with smoothing, an answer is one integral on a tilted line ([`contour`]) over the windows that
//! a sieve leaves ([`sieve`]). δ is evaluated as one non-negative integral, never as
//! `Q[L > ε] − e^ε·P[L > ε]`.

mod allowance;
mod conditioned;
mod contour;
mod enumeration;
mod gaussians;
mod halves;
mod invert;
mod kernel;
mod lattice;
mod node;
mod pairs;
mod sieve;
mod sieved;
mod smoothing;
mod spectrum;
mod term;

#[cfg(test)]
mod inclusion;

use crate::effort::Effort;
use crate::error::Result;
use crate::loss::Way;
use crate::mechanism::Mechanism;
use crate::named::named;
use crate::number::float::Dd;
use crate::number::{Bounds, Magnitude, Rational};
pub(crate) use allowance::Answer;
pub(crate) use gaussians::Gaussians;
pub(crate) use halves::Half;
pub(crate) use invert::log_gaussian_delta;
use lattice::Lattice;
pub(crate) use pairs::Pairs;

/// How an answer was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All losses lie on a lattice that is summed exactly: bounds as narrow as rounding allows.
    Lattice,
    /// No usable lattice, but so few mechanisms that the atoms of the loss are added one by one.
    Enumeration,
    /// No usable lattice: bounds from a smoothed profile above and below.
    Smoothing,
    /// The transform of the loss falls by itself: no bracket is needed.
    Continuous,
    /// Of some mechanism only Rényi divergences are bounded: the upper end is Markov's inequality, and the
    /// lower end is that of the others.
    OneSided,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 5] =
        [Method::Lattice, Method::Enumeration, Method::Smoothing, Method::Continuous, Method::OneSided];

    /// `lattice`, `enumeration`, `smoothing`, `continuous` or `one-sided`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Lattice => "lattice",
            Method::Enumeration => "enumeration",
            Method::Smoothing => "smoothing",
            Method::Continuous => "continuous",
            Method::OneSided => "one-sided",
        }
    }
}

named!(Method, "method", "the method is how bounds were obtained");

/// An ε, exact.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub exact: Rational,
    pub dd: Dd,
}

impl Point {
    pub fn new(exact: Rational) -> Point {
        Point { dd: exact.to_dd(), exact }
    }

    pub fn from_f64(epsilon: f64) -> Point {
        let exact = Rational::from_f64("epsilon", epsilon).expect("a finite epsilon");
        Point { dd: Dd::from(epsilon), exact }
    }
}

/// Bounds of δ(ε) and of 1 − δ(ε): whichever is small is known to small relative error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeltaBounds {
    pub delta: Bounds<Magnitude>,
    pub complement: Bounds<Magnitude>,
}

impl DeltaBounds {
    fn from_delta(delta: Bounds<Magnitude>) -> DeltaBounds {
        let delta = at_most_one(delta);
        DeltaBounds { delta, complement: delta.complement() }
    }

    fn from_complement(complement: Bounds<Magnitude>) -> DeltaBounds {
        let complement = at_most_one(complement);
        DeltaBounds { delta: complement.complement(), complement }
    }

    /// From either of them: where ε lies so many deviations `below` the mean loss under Q, δ is near 1 and
    /// its complement is what can be computed well. From both where the one says little.
    fn by_either(
        below: f64,
        delta: impl Fn() -> DeltaBounds,
        complement: impl Fn() -> DeltaBounds,
    ) -> DeltaBounds {
        let is_small = below <= 1.5;
        let first = if is_small { delta() } else { complement() };
        let (found, good) =
            if is_small { (first.delta.upper(), 0.9) } else { (first.complement.upper(), 0.5) };
        if found < Magnitude::from_f64(good) {
            return first;
        }
        first.intersect(if is_small { complement() } else { delta() })
    }

    fn intersect(self, other: DeltaBounds) -> DeltaBounds {
        DeltaBounds {
            delta: self.delta.intersect(&other.delta),
            complement: self.complement.intersect(&other.complement),
        }
    }
}

fn at_most_one(bounds: Bounds<Magnitude>) -> Bounds<Magnitude> {
    bounds.intersect(&Bounds::new(Magnitude::ZERO, Magnitude::ONE))
}

/// Which neighbours are compared: a record is removed, or added, or both.
///
/// Every mechanism of a composition is about the same record, so that one direction holds for all of them.
/// The two differ only where some mechanism is not symmetric: a subsampled one, or a table of masses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The larger of both: what add-or-remove neighbours promise.
    #[default]
    Both,
    /// From the data with the record to those without it.
    Remove,
    /// From the data without the record to those with it.
    Add,
}

impl Direction {
    /// All of them.
    pub const ALL: [Direction; 3] = [Direction::Both, Direction::Remove, Direction::Add];

    /// `both`, `remove` or `add`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Direction::Both => "both",
            Direction::Remove => "remove",
            Direction::Add => "add",
        }
    }
}

named!(Direction, "direction", "remove hides that the record was there, add that it was not");

#[cfg(test)]
thread_local! {
    /// How often δ was asked for.
    static ASKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Computes profiles of one composition.
#[derive(Debug)]
pub(crate) enum Accountant {
    Gaussian(Box<Gaussians>),
    Pairs(Box<Pairs>),
}

impl Accountant {
    pub fn new(groups: &[(Mechanism, u128)], effort: Effort, direction: Direction) -> Result<Accountant> {
        Ok(if groups.iter().all(|(m, _)| m.is_gaussian()) {
            Accountant::Gaussian(Box::new(Gaussians::new(groups, effort)))
        } else {
            Accountant::Pairs(Box::new(Pairs::new(groups, effort, direction)?))
        })
    }

    /// Fast, and by smoothing alone where that is possible: for one of many compositions, of which few
    /// matter.
    pub fn at_a_glance(groups: &[(Mechanism, u128)]) -> Result<Accountant> {
        Ok(if groups.iter().all(|(m, _)| m.is_gaussian()) {
            Accountant::Gaussian(Box::new(Gaussians::at_a_glance(groups)))
        } else {
            Accountant::Pairs(Box::new(Pairs::new(groups, Effort::Fast, Direction::Both)?))
        })
    }

    /// Forgets what it could use: in tests all methods must overlap.
    #[cfg(test)]
    pub fn restrict_to(self, method: Method) -> Accountant {
        match self {
            Accountant::Gaussian(inner) => Accountant::Gaussian(Box::new(inner.restrict_to(method))),
            other => other,
        }
    }

    pub fn effort(&self) -> Effort {
        match self {
            Accountant::Gaussian(inner) => inner.effort(),
            Accountant::Pairs(inner) => inner.effort(),
        }
    }

    pub fn kinds(&self) -> usize {
        match self {
            Accountant::Gaussian(inner) => inner.kinds(),
            Accountant::Pairs(inner) => inner.kinds(),
        }
    }

    pub fn method(&self) -> Method {
        match self {
            Accountant::Gaussian(inner) => inner.method(),
            Accountant::Pairs(inner) => inner.method(),
        }
    }

    /// About the mean and the deviation of the loss under Q: for a Gaussian μ²/2 and μ.
    pub fn scale(&self) -> (f64, f64) {
        match self {
            Accountant::Gaussian(inner) => (0.5 * inner.mu2(), inner.mu2().sqrt()),
            Accountant::Pairs(inner) => inner.scale(),
        }
    }

    /// μ² = 2ρ of Gaussian noise.
    pub fn mu2(&self) -> Option<f64> {
        match self {
            Accountant::Gaussian(inner) => Some(inner.mu2()),
            Accountant::Pairs(_) => None,
        }
    }

    /// Whether the two directions are the same.
    pub fn is_symmetric(&self) -> bool {
        match self {
            Accountant::Gaussian(_) => true,
            Accountant::Pairs(inner) => inner.is_symmetric(),
        }
    }

    /// The least δ that is possible at all: what reveals the record whatever ε is.
    pub fn infinity(&self) -> Bounds<Magnitude> {
        match self {
            Accountant::Gaussian(_) => Bounds::new(Magnitude::ZERO, Magnitude::ZERO),
            Accountant::Pairs(inner) => inner.infinity(),
        }
    }

    /// The same in the direction in which it is larger, whichever answers are for.
    pub fn infinity_either_way(&self) -> Bounds<Magnitude> {
        match self {
            Accountant::Gaussian(_) => self.infinity(),
            Accountant::Pairs(inner) => inner.infinity_either_way(),
        }
    }

    /// Not below any finite loss; infinite if there is no such bound.
    pub fn largest_loss(&self) -> f64 {
        match self {
            Accountant::Gaussian(_) => f64::INFINITY,
            Accountant::Pairs(inner) => inner.largest_loss(),
        }
    }

    /// δ(ε) at ε ≥ 0, to a relative width of about `tolerance` where that is a choice.
    pub fn delta(&self, at: &Point, tolerance: f64) -> DeltaBounds {
        #[cfg(test)]
        ASKED.set(ASKED.get() + 1);
        self.within(Answer::Point, || match self {
            Accountant::Gaussian(inner) => inner.delta(at, tolerance),
            Accountant::Pairs(inner) => inner.delta(at, tolerance),
        })
    }

    /// Runs what finds an answer, with the allowance of its effort.
    pub fn within<T>(&self, answer: Answer, find: impl FnOnce() -> T) -> T {
        answer.within(self.effort().allowance(), find)
    }

    /// Half of it, if all its counts are even, to be put together with others at that ε.
    pub fn half(&self, at: &Point, tolerance: f64) -> Option<Half> {
        match self {
            Accountant::Gaussian(inner) => inner.half(at, tolerance),
            Accountant::Pairs(_) => None,
        }
    }

    /// The same in one direction, whichever answers are for.
    pub fn delta_in(&self, way: Way, at: &Point, tolerance: f64) -> DeltaBounds {
        self.within(Answer::Point, || match self {
            Accountant::Gaussian(inner) => inner.delta(at, tolerance),
            Accountant::Pairs(inner) => inner.delta_in(way, at, tolerance),
        })
    }

    /// `P[L > ε]`, strictly.
    pub fn p_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        self.within(Answer::Point, || match self {
            Accountant::Gaussian(inner) => inner.p_tail(at, tolerance),
            Accountant::Pairs(inner) => inner.p_tail(at, tolerance),
        })
    }

    /// `Q[L > ε]`, strictly.
    pub fn q_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        self.within(Answer::Point, || match self {
            Accountant::Gaussian(inner) => inner.q_tail(at, tolerance),
            Accountant::Pairs(inner) => inner.q_tail(at, tolerance),
        })
    }

    /// The lattice of losses, if answers come from one.
    pub fn losses(&self) -> Option<&Lattice> {
        match self {
            Accountant::Gaussian(inner) => inner.losses(),
            Accountant::Pairs(_) => None,
        }
    }
}
