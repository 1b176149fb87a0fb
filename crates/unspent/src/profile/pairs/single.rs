//! One mechanism alone, where its profile is closed (M11).

use super::super::{DeltaBounds, Gaussians, Point};
use crate::effort::Effort;
use crate::loss::Way;
use crate::mechanism::Mechanism;
use crate::number::float::{self, Dd, UNIT};
use crate::number::{Bounds, Magnitude, Rational, Round};

/// The profile of noise on all records, or on a Poisson sample of them.
#[derive(Debug)]
pub(super) struct Single {
    noise: Noise,
    sampled: Option<Rational>,
    way: Way,
}

#[derive(Debug)]
enum Noise {
    /// τ.
    Laplace(Rational),
    Gaussian(Box<Gaussians>),
}

/// Double-doubles below are within this of 1 + their size (R11).
const WIDE: f64 = 1.0 / (1u128 << 86) as f64;
/// Distances from the largest loss below this are δ but for this fraction of it.
const TINY: f64 = UNIT;
/// Sums that cancel to less than this are left to the integral.
const LEAST: f64 = 1.0 / (1u64 << 40) as f64;

impl Single {
    /// `None` if there are several, or if the profile is not closed.
    pub fn new(groups: &[(Mechanism, u128)], effort: Effort, way: Way) -> Option<Single> {
        let [(mechanism, 1)] = groups else {
            return None;
        };
        let (noise, sampled) = match mechanism {
            Mechanism::Subsampled(sampled) if *sampled.q() < Rational::integer(1) => {
                (sampled.base().clone().into(), Some(sampled.q().clone()))
            }
            other => (other.clone(), None),
        };
        let noise = match (&noise, sampled.is_some()) {
            (Mechanism::Laplace(noise), _) => Noise::Laplace(noise.largest_loss()),
            (Mechanism::Gaussian(_) | Mechanism::DiscreteGaussian(_), true) => {
                Noise::Gaussian(Box::new(Gaussians::new(&[(noise, 1)], effort)))
            }
            _ => return None,
        };
        Some(Single { noise, sampled, way })
    }

    /// δ(ε), for ε ≥ 0.
    pub fn delta(&self, at: &Point, tolerance: f64) -> Option<DeltaBounds> {
        if at.dd.hi < 0.0 {
            return None;
        }
        let Some(q) = &self.sampled else {
            return Some(self.noise.delta(at, tolerance));
        };
        let (base, factor) = match self.way {
            Way::Remove => (remove(at, q)?, q.to_bounds()),
            Way::Add => add(at, q)?,
        };
        // δ falls in ε.
        let [most, least] = base.map(|end| self.noise.delta(&end, tolerance).delta);
        Some(DeltaBounds::from_delta(Bounds::new(
            least.lower().mul(factor.lower(), Round::Down),
            most.upper().mul(factor.upper(), Round::Up),
        )))
    }
}

impl Noise {
    fn delta(&self, at: &Point, tolerance: f64) -> DeltaBounds {
        let tau = match self {
            Noise::Gaussian(gaussians) => return gaussians.delta(at, tolerance),
            Noise::Laplace(tau) => tau,
        };
        if at.exact >= *tau {
            return DeltaBounds::from_delta(Bounds::new(Magnitude::ZERO, Magnitude::ZERO));
        }
        // 1 − e^{−d}, d = (τ − ε)/2, exactly a fraction: within u as a double, which the function moves by as
        // much, relatively, and 4u of its own. Far below, where d may be no double, it is in [d − d², d].
        let exact = &(tau - &at.exact) / &Rational::integer(2);
        let d = exact.to_f64();
        if d < TINY {
            let most = exact.to_bounds();
            let least = most.lower().mul(Magnitude::from_f64(1.0 - TINY), Round::Down);
            return DeltaBounds::from_delta(Bounds::new(least, most.upper()));
        }
        let around = |x: f64| {
            Bounds::new(Magnitude::from_f64(float::down(x, 8.0)), Magnitude::from_f64(float::up(x, 8.0)))
        };
        let complement = Bounds::new(
            Magnitude::exp(Dd::from(-d), 2.0 * UNIT * d, Round::Down),
            Magnitude::exp(Dd::from(-d), 2.0 * UNIT * d, Round::Up),
        );
        DeltaBounds { delta: around(-float::expm1(-d)), complement }
    }
}

/// The ε of the noise, from below and from above, that is `ln(1 + (e^ε − 1)/q)`.
fn remove(at: &Point, q: &Rational) -> Option<[Point; 2]> {
    if at.dd.hi > 600.0 {
        return None;
    }
    let (e, q) = (at.dd.exp(), q.to_dd());
    let grown = e.sub(Dd::from(1.0)).add(q);
    let error = WIDE * e.hi / grown.hi;
    let value = grown.div(q);
    (error < LEAST && value.hi.is_finite() && value.hi < 1e280).then(|| around(value.ln(), error))
}

/// The same for `−ln((e^{−ε} − 1 + q)/q)`, and the factor `1 − e^ε(1 − q)`.
fn add(at: &Point, q: &Rational) -> Option<([Point; 2], Bounds<Magnitude>)> {
    if at.dd.hi > 600.0 {
        return None;
    }
    let q = q.to_dd();
    let left = at.dd.neg().exp().sub(Dd::from(1.0)).add(q);
    if left.hi < LEAST * q.hi || left.hi < 1e-30 {
        return None;
    }
    let error = WIDE / left.hi;
    if error >= LEAST {
        return None;
    }
    let factor = left.mul(at.dd.exp());
    let end = |sign: f64, round| {
        // Within `error` and 2⁻⁸⁶, relatively; and within u as a double.
        let x = factor.to_f64() * (1.0 + sign * (1.01 * error + 8.0 * UNIT));
        Magnitude::from_f64(x).mul(Magnitude::ONE, round)
    };
    let factor = Bounds::new(end(-1.0, Round::Down), end(1.0, Round::Up));
    Some((around(left.div(q).ln().neg(), error), factor))
}

/// Points on either side of what is not negative.
fn around(value: Dd, error: f64) -> [Point; 2] {
    let error = 1.01 * error + WIDE * (1.0 + value.hi.abs());
    [-error, error].map(|by| {
        let exact = |x: f64| Rational::from_f64("epsilon", x).expect("a finite number");
        let end = &(&exact(value.hi) + &exact(value.lo)) + &exact(by);
        Point::new(if end.is_positive() { end } else { Rational::integer(0) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::big::{big, of_magnitude, of_rational};

    fn of(epsilon: &str, q: &str) -> (Point, Rational) {
        (Point::new(epsilon.parse().unwrap()), q.parse().unwrap())
    }

    /// The ε of the noise lies between both ends, which are far nearer than doubles are.
    #[test]
    fn epsilons_of_the_noise_are_enclosed() {
        for epsilon in ["1e-3", "1/3", "1", "7", "300"] {
            for q in ["1e-9", "1/1000", "1/3", "0.9", "0.999999"] {
                let (at, q) = of(epsilon, q);
                let (e, q_big) = (of_rational(&at.exact).exp(), of_rational(&q));
                let near = |[low, high]: [Point; 2], exact| {
                    let (low, high) = (of_rational(&low.exact), of_rational(&high.exact));
                    assert!(low < exact && exact < high, "{epsilon} {q}");
                    assert!((high - low) < big(1e-10), "{epsilon} {q}");
                };
                let exact = (big(1.0) + (&e - big(1.0)) / &q_big).ln();
                near(remove(&at, &q).unwrap(), exact);
                // Where e^{−ε} > 1 − q there is none.
                let left = big(1.0) / &e - big(1.0) + &q_big;
                let found = add(&at, &q);
                if left < big(1e-9) {
                    assert!(found.is_none() || left > big(0.0), "{epsilon} {q}");
                    continue;
                }
                let (ends, factor) = found.unwrap();
                near(ends, -(&left / &q_big).ln());
                let exact = big(1.0) - &e * (big(1.0) - &q_big);
                let inside = of_magnitude(factor.lower()) < exact && exact < of_magnitude(factor.upper());
                assert!(inside && factor.relative_width() < 1e-10, "{epsilon} {q}");
            }
        }
    }

    #[test]
    fn what_is_no_double_is_left_to_the_integral() {
        let (at, q) = of("599", "1e-90");
        assert!(remove(&at, &q).is_none() && add(&at, &q).is_none());
        // e^{−ε} − 1 + q cancels, or is below 0.
        for (epsilon, q) in [("0.69314718055994530942", "1/2"), ("1", "1/2"), ("1e-20", "1e-20")] {
            let (at, q) = of(epsilon, q);
            assert!(add(&at, &q).is_none(), "{epsilon}");
        }
    }

    /// By the error, and by what double-doubles are off themselves.
    #[test]
    fn ends_are_apart_by_their_error() {
        let wide = Rational::from_f64("", WIDE).unwrap();
        for (value, by) in [(0.5, "1.5"), (5.0, "6"), (40.0, "41")] {
            let [low, high] = around(Dd::from(value), 0.0).map(|end| end.exact);
            let (value, by) = (Rational::from_f64("", value).unwrap(), &wide * &by.parse().unwrap());
            assert_eq!((low, high), (&value - &by, &value + &by));
        }
        let [low, high] = around(Dd::from(1.0), 0.25).map(|end| end.exact.to_f64());
        assert!((0.74..0.75).contains(&low) && (1.25..1.26).contains(&high), "{low} {high}");
        assert_eq!(around(Dd::from(0.1), 0.25)[0].exact, Rational::integer(0));
    }
}
