//! Compositions in which of some mechanism only Rényi divergences are bounded: an upper bound with it, and a
//! lower one without (M9).

use super::{DeltaBounds, Ordered, Pairs, Point};
use crate::mechanism::{Mechanism, RenyiDp};
use crate::number::float::{DD_UNIT, Dd};
use crate::number::{Bounds, Magnitude, Rational};

/// Mechanisms without a pair of laws.
#[derive(Debug)]
pub(super) struct Events {
    /// Σρ of those that are ρ-zCDP.
    rho: Rational,
    /// Those of which a list of orders is bounded.
    renyi: Vec<(RenyiDp, Rational)>,
    /// All orders of these up to the least of their largest ones, as doubles that are not above them.
    orders: Vec<f64>,
}

/// Where the bound of M9 may be taken.
pub(super) enum Tilts<'a> {
    Any,
    These(&'a [f64]),
}

impl Events {
    /// `None` if there are none.
    pub fn of(groups: &[(Mechanism, u128)]) -> Option<Events> {
        let (mut rhos, mut renyi) = (vec![], vec![]);
        for (mechanism, count) in groups {
            let count = Rational::integer(*count);
            match mechanism {
                Mechanism::ZeroConcentratedDp(event) => rhos.push(event.rho() * &count),
                Mechanism::RenyiDp(event) => renyi.push((event.clone(), count)),
                _ => {}
            }
        }
        let last = |event: &RenyiDp| event.points().last().map(|(order, _)| order.clone());
        let most = renyi.iter().filter_map(|(event, _)| last(event)).min();
        let all = renyi.iter().flat_map(|(event, _)| event.points());
        let listed = all.map(|(order, _)| order).filter(|order| most.as_ref().is_some_and(|m| *order <= m));
        let mut orders: Vec<f64> = listed.map(|order| order.to_f64_bounds().0).filter(|c| *c > 1.0).collect();
        orders.sort_by(f64::total_cmp);
        orders.dedup();
        (!rhos.is_empty() || !renyi.is_empty()).then(|| Events { rho: Rational::sum(&rhos), renyi, orders })
    }

    pub fn tilts(&self) -> Tilts<'_> {
        if self.renyi.is_empty() { Tilts::Any } else { Tilts::These(&self.orders) }
    }

    /// About the ρ of the whole: it only steers.
    pub fn about(&self) -> f64 {
        let of = |(event, count): &(RenyiDp, Rational)| {
            let ratio = |(order, epsilon): &(Rational, Rational)| (epsilon / order).to_f64();
            count.to_f64() * event.points().iter().map(ratio).fold(f64::INFINITY, f64::min)
        };
        self.rho.to_f64() + self.renyi.iter().map(of).sum::<f64>()
    }

    /// `ln` of what they multiply the transform by at the tilt c, from above, and the bound of its error.
    pub fn log(&self, c: f64) -> (Dd, f64) {
        let less = Dd::sum(c, -1.0);
        let mut total = self.rho.to_dd().mul(less.scale(c));
        let mut error = 16.0 * DD_UNIT * total.hi.abs();
        if self.renyi.is_empty() {
            return (total, error);
        }
        let Ok(order) = Rational::from_f64("order", c) else {
            return (total, f64::INFINITY);
        };
        for (event, count) in &self.renyi {
            let Some(epsilon) = event.at(&order) else {
                return (total, f64::INFINITY);
            };
            let part = (epsilon * count).to_dd().mul(less);
            error += 16.0 * DD_UNIT * (part.hi.abs() + total.hi.abs());
            total = total.add(part);
        }
        (total, error)
    }
}

impl Pairs {
    /// The transform of the rest times what the events may add bounds δ from above, and nothing bounds what
    /// they reveal from below (M9).
    pub(super) fn one_sided(&self, events: &Events, at: &Point, tolerance: f64) -> DeltaBounds {
        let (lower, upper) = (self.without(at, tolerance), self.with(events, at));
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
    fn with(&self, events: &Events, at: &Point) -> Magnitude {
        let upper = largest(self.ways.iter().map(|way| way.above(events, at)));
        if upper < Magnitude::ONE { upper } else { Magnitude::ONE }
    }
}

fn largest(all: impl Iterator<Item = Magnitude>) -> Magnitude {
    all.fold(Magnitude::ZERO, |a, b| if a < b { b } else { a })
}
