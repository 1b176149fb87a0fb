//! Compositions with any mechanism: both directions, what is revealed for certain, and what is bounded from
//! one side only.

mod atoms;
mod cells;
mod line;
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
use crate::number::float::{self, Dd, UNIT};
use crate::number::{Bounds, Magnitude, Round, golden_section};
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

/// `δ ≤ Φ(c)·e^{−(c−1)ε}·(1/c)(1 − 1/c)^{c−1}` for any c > 1: the least over some, as an upper bound. `log`
/// gives `ln Φ(c)` with the bound of its error.
fn markov(log: impl Fn(f64) -> (Dd, f64), epsilon: Dd, scale: (f64, f64)) -> Magnitude {
    let exponent = |c: f64| markov_exponent(c, log(c), epsilon);
    let cost = |logarithm: f64| {
        let (total, error) = exponent(1.0 + float::exp(logarithm));
        let sum = total.to_f64() + error;
        // Where nothing is known c is too large: the further, the worse.
        if sum.is_finite() { sum } else { 1e300 + 1e290 * logarithm }
    };
    // About where a Gaussian of this mean and deviation has its saddle.
    let (mean, deviation) = scale;
    let guess = ((epsilon.hi - mean) / (deviation * deviation)).max(1.0 / deviation).max(1e-9);
    let start = float::ln(guess);
    let best = golden_section(cost, (start - 8.0).min(-3.0), start + 6.0, 56);
    let (total, error) = exponent(1.0 + float::exp(best));
    if !total.hi.is_finite() || !error.is_finite() {
        return Magnitude::ONE;
    }
    Magnitude::exp(total, error, Round::Up)
}

/// The logarithm of that bound at one c, from `ln Φ(c)`; both with the bound of their error.
fn markov_exponent(c: f64, (value, error): (Dd, f64), epsilon: Dd) -> (Dd, f64) {
    let less = Dd::sum(c, -1.0);
    let shape = -float::ln(c) + if c > 1.0 { (c - 1.0) * float::ln1p(-1.0 / c) } else { 0.0 };
    let total = value.sub(less.mul(epsilon)).add(Dd::from(shape));
    let magnitude = value.hi.abs() + (less.hi * epsilon.hi).abs();
    (total, error + UNIT * (16.0 * shape.abs() + 16.0) + UNIT * UNIT * 64.0 * magnitude)
}
