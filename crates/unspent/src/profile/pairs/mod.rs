//! Compositions with any mechanism: both directions, what is revealed for certain, and what is bounded from
//! one side only.

mod atoms;
mod cells;
mod line;
mod markov;
mod one_sided;
mod ordered;
mod single;
mod tails;
#[cfg(test)]
mod tests;

use super::{DeltaBounds, Direction, Method, Point, at_most_one};
use crate::effort::Effort;
use crate::error::Result;
use crate::loss::Way;
use crate::mechanism::Mechanism;
use crate::number::{Bounds, Magnitude};
use one_sided::Events;
use ordered::Ordered;

/// A composition of pairs of laws.
#[derive(Debug)]
pub(crate) struct Pairs {
    /// One direction, or both.
    ways: Vec<Ordered>,
    /// The other direction, if one alone was asked for.
    mirror: Option<Ordered>,
    symmetric: bool,
    /// What is known by Rényi divergences only.
    events: Option<Events>,
    kinds: usize,
    effort: Effort,
}

impl Pairs {
    pub fn new(groups: &[(Mechanism, u128)], effort: Effort, direction: Direction) -> Result<Pairs> {
        let symmetric = groups.iter().all(|(m, _)| m.is_symmetric());
        let ways: &[Way] = match (symmetric, direction) {
            (true, _) | (false, Direction::Remove) => &[Way::Remove],
            (false, Direction::Add) => &[Way::Add],
            (false, Direction::Both) => &[Way::Remove, Way::Add],
        };
        let mirror = (!symmetric && ways.len() == 1).then(|| Ordered::new(groups, effort, ways[0].other()));
        let mirror = mirror.transpose()?;
        let ways = ways.iter().map(|way| Ordered::new(groups, effort, *way)).collect::<Result<_>>()?;
        let events = Events::of(groups);
        Ok(Pairs { ways, mirror, symmetric, events, kinds: groups.len(), effort })
    }

    pub fn effort(&self) -> Effort {
        self.effort
    }

    pub fn kinds(&self) -> usize {
        self.kinds
    }

    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    pub fn method(&self) -> Method {
        if self.events.is_some() { Method::OneSided } else { self.ways[0].method() }
    }

    pub fn scale(&self) -> (f64, f64) {
        let (mean, deviation) = self.ways[0].scale();
        let rho = self.events.as_ref().map_or(0.0, Events::about);
        (mean + rho, (deviation * deviation + 2.0 * rho).sqrt())
    }

    pub fn largest_loss(&self) -> f64 {
        if self.events.is_some() {
            return f64::INFINITY;
        }
        self.ways.iter().map(Ordered::largest_loss).fold(0.0, f64::max)
    }

    pub fn infinity(&self) -> Bounds<Magnitude> {
        self.ways.iter().map(Ordered::infinity).fold(Bounds::new(Magnitude::ZERO, Magnitude::ZERO), larger)
    }

    /// δ(ε) at any real ε: the larger of the directions (M1).
    pub fn delta(&self, at: &Point, tolerance: f64) -> DeltaBounds {
        if let Some(events) = &self.events {
            return self.one_sided(events, at, tolerance);
        }
        let first = self.ways[0].delta(at, tolerance);
        let Some(other) = self.ways.get(1) else {
            return first;
        };
        // The other direction is often so far below that Markov's inequality decides (M1).
        if other.is_below(at, first.delta.lower()) {
            return first;
        }
        let second = other.delta(at, tolerance);
        DeltaBounds {
            delta: larger(first.delta, second.delta),
            complement: smaller(first.complement, second.complement),
        }
    }

    /// δ(ε) in one direction.
    pub fn delta_in(&self, way: Way, at: &Point, tolerance: f64) -> DeltaBounds {
        if self.symmetric || self.events.is_some() {
            return self.delta(at, tolerance);
        }
        let ordered = self.ways.iter().chain(&self.mirror).find(|ordered| ordered.way() == way);
        ordered.expect("both directions").delta(at, tolerance)
    }

    pub fn infinity_either_way(&self) -> Bounds<Magnitude> {
        let other = self.mirror.iter().map(Ordered::infinity);
        other.fold(self.infinity(), larger)
    }

    /// `P[L > ε]`; for the first direction that was asked for.
    pub fn p_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        if self.events.is_some() {
            return Bounds::new(Magnitude::ZERO, Magnitude::ONE);
        }
        at_most_one(self.ways[0].p_tail(at, tolerance))
    }

    /// `Q[L > ε]`, with what is revealed for certain.
    pub fn q_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        if self.events.is_some() {
            return Bounds::new(Magnitude::ZERO, Magnitude::ONE);
        }
        at_most_one(self.ways[0].q_tail(at, tolerance))
    }
}

fn larger(a: Bounds<Magnitude>, b: Bounds<Magnitude>) -> Bounds<Magnitude> {
    let max = |x: Magnitude, y: Magnitude| if x < y { y } else { x };
    Bounds::new(max(a.lower(), b.lower()), max(a.upper(), b.upper()))
}

fn smaller(a: Bounds<Magnitude>, b: Bounds<Magnitude>) -> Bounds<Magnitude> {
    let min = |x: Magnitude, y: Magnitude| if x < y { x } else { y };
    Bounds::new(min(a.lower(), b.lower()), min(a.upper(), b.upper()))
}
