//! Compositions in which of some mechanism only ρ-zCDP is known: an upper bound with it, and a lower one
//! without (M9).

use super::{DeltaBounds, Ordered, Pairs, Point};
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::quantity::Delta;

/// Halvings of a bracket of ε: each end is as near as 2⁻⁴⁰ of the other.
const HALVINGS: usize = 40;

impl Pairs {
    /// `Φ_rest(c)·e^{ρc(c−1)}` bounds the transform from above, and nothing bounds it from below (M9).
    pub(super) fn one_sided(&self, rho: &Rational, at: &Point, tolerance: f64) -> DeltaBounds {
        let (lower, upper) = (self.without(at, tolerance), self.with(rho, at));
        DeltaBounds::from_delta(Bounds::new(if lower < upper { lower } else { upper }, upper))
    }

    /// Not above δ of the other mechanisms.
    fn without(&self, at: &Point, tolerance: f64) -> Magnitude {
        let rest = |way: &Ordered| {
            if way.is_empty() { Magnitude::ZERO } else { way.delta(at, tolerance).delta.lower() }
        };
        largest(self.ways.iter().map(rest))
    }

    /// Not below δ of everything.
    fn with(&self, rho: &Rational, at: &Point) -> Magnitude {
        let upper = largest(self.ways.iter().map(|way| way.above(rho, at)));
        if upper < Magnitude::ONE { upper } else { Magnitude::ONE }
    }

    /// ε(δ) if only one side of some mechanism is known. The two ends are those of different compositions,
    /// and each is looked for by itself.
    pub fn one_sided_epsilon(&self, delta: &Delta, tolerance: f64) -> Option<Bounds<f64>> {
        let rho = self.rho.as_ref()?;
        let (below, above) = delta.value().to_magnitude_bounds();
        let (mean, deviation) = self.scale();
        let start = (mean + 10.0 * deviation).max(1e-9);
        let is_met = |epsilon: f64| self.with(rho, &Point::from_f64(epsilon)) <= below;
        let upper = least(start, is_met);
        let lower = self.largest_missing(above, if upper.is_finite() { upper } else { start }, tolerance);
        Some(Bounds::new(lower.min(upper), upper))
    }

    /// The largest ε below `end` that was found to miss the target without what is known from one side only:
    /// a lower bound, however good the search. By the secant rule on ln δ, halving where that is slow.
    fn largest_missing(&self, target: Magnitude, end: f64, tolerance: f64) -> f64 {
        if self.ways.iter().all(Ordered::is_empty) {
            return 0.0;
        }
        let wanted = target.ln(Round::Up);
        let excess = |epsilon: f64| {
            let found = self.without(&Point::from_f64(epsilon), tolerance);
            (found >= target, found.ln(Round::Down) - wanted)
        };
        let ((mut low, (misses, mut at_low)), mut high) = ((0.0, excess(0.0)), end);
        if !misses {
            return 0.0;
        }
        let mut at_high = excess(high).1;
        let mut moved = None;
        for round in 0..HALVINGS {
            if high - low <= 1e-12 * high {
                break;
            }
            let share = at_low / (at_low - at_high);
            let share = if round % 4 == 3 || !share.is_finite() { 0.5 } else { share.clamp(1e-3, 0.999) };
            let middle = low + share * (high - low);
            let (misses, at) = excess(middle);
            // An end that stays put twice counts half (the Illinois rule).
            let weight = if moved == Some(misses) { 0.5 } else { 1.0 };
            moved = Some(misses);
            if misses {
                (low, at_low, at_high) = (middle, at, weight * at_high);
            } else {
                (high, at_high, at_low) = (middle, at, weight * at_low);
            }
        }
        low
    }
}

/// The least ε that was found to meet the target, beginning at `start`; infinite if none does.
fn least(start: f64, meets: impl Fn(f64) -> bool) -> f64 {
    if meets(0.0) {
        return 0.0;
    }
    let mut high = start;
    while !meets(high) {
        high *= 2.0;
        if high > 1e300 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if meets(middle) { high = middle } else { low = middle }
    }
    high
}

fn largest(all: impl Iterator<Item = Magnitude>) -> Magnitude {
    all.fold(Magnitude::ZERO, |a, b| if a < b { b } else { a })
}
