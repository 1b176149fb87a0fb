//! Upper bounds of δ by Markov's inequality (C1, M9), without an integral.

use super::super::Point;
use super::one_sided::{Events, Tilts};
use super::ordered::Ordered;
use crate::number::float::{self, DD_UNIT, Dd, UNIT};
use crate::number::{Magnitude, Round, golden_section};

impl Ordered {
    /// Whether Markov's inequality at one of a few tilts bounds δ by this: Newton's method towards the best.
    pub fn is_below(&self, at: &Point, most: Magnitude) -> bool {
        // A closed form is as cheap.
        if self.is_empty() || self.single.is_some() {
            return false;
        }
        let (mean, deviation) = self.scale;
        let epsilon = at.dd.hi;
        let mut c = 1.0 + ((epsilon - mean) / (deviation * deviation)).max(1.0 / deviation);
        for _ in 0..8 {
            let here = self.log_phi(c);
            let (total, error) = markov_exponent(c, (here.value, here.error), at.dd);
            if !error.is_finite() || !total.hi.is_finite() || here.slope.is_nan() {
                c = 1.0 + 0.5 * (c - 1.0);
                continue;
            }
            let bound = Magnitude::exp(total, error, Round::Up).add(self.infinity.1.upper(), Round::Up);
            if bound <= most {
                return true;
            }
            // d/dc of −ln c + (c−1)ln(1 − 1/c) is ln(1 − 1/c).
            let slope = here.slope - epsilon + float::ln1p(-1.0 / c);
            let curve = here.spread + 1.0 / (c * (c - 1.0));
            let step = -slope / curve;
            if !step.is_finite() || (step * curve.sqrt()).abs() < 0.1 {
                return false;
            }
            c = if c + step > 1.0 { c + step } else { 1.0 + 0.25 * (c - 1.0) };
        }
        false
    }

    /// An upper bound of δ by Markov's inequality, if that is cheap.
    pub fn markov(&self, at: &Point) -> Option<Magnitude> {
        if self.is_empty() {
            return None;
        }
        let log = |c: f64| {
            let here = self.log_phi(c);
            (here.value, here.error)
        };
        Some(markov(log, at.dd, self.scale).add(self.infinity.1.upper(), Round::Up))
    }

    /// The same with events besides (M9).
    pub fn above(&self, events: &Events, at: &Point) -> Magnitude {
        let log = |c: f64| {
            let here = self.log_phi(c);
            let (event, error) = events.log(c);
            (
                here.value.add(event),
                here.error + error + 4.0 * DD_UNIT * (here.value.hi.abs() + event.hi.abs()),
            )
        };
        let found = match events.tilts() {
            Tilts::Any => {
                let (mean, deviation) = self.scale;
                let rho = events.about();
                markov(log, at.dd, (mean + rho, (deviation * deviation + 2.0 * rho).sqrt()))
            }
            Tilts::These(orders) => orders.iter().fold(Magnitude::ONE, |least, c| {
                let (total, error) = markov_exponent(*c, log(*c), at.dd);
                if !total.hi.is_finite() || !error.is_finite() {
                    return least;
                }
                let found = Magnitude::exp(total, error, Round::Up);
                if found < least { found } else { least }
            }),
        };
        found.add(self.infinity.1.upper(), Round::Up)
    }
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
