//! A lower bound of the trade-off function from a privacy profile: the upper envelope of what its pairs of ε
//! and δ guarantee.

use crate::number::float::Dd;
use crate::number::{Magnitude, Rational, Round, golden_section};
use crate::parallel;
use crate::quantity::Alpha;

/// What the (ε, δ) of one profile, all of them together, say of the trade-off function.
///
/// A release that is (ε, δ)-private has `f(α) ≥ max(0, 1 − δ − e^ε·α, e^{−ε}·(1 − δ − α))`, for every ε. Any
/// ε gives a valid bound: a grid of them says where to look, and the best one nearby is evaluated rounding
/// down.
pub(crate) struct Envelope<'p> {
    /// δ at ε, rounded up.
    profile: Box<dyn Fn(Dd) -> Magnitude + Sync + 'p>,
    step: f64,
    grid: Vec<Promise>,
    /// Whether to look between the points of the grid.
    refined: bool,
}

/// (ε, δ) as `e^ε`, rounded up, its inverse, rounded down, and δ, rounded up.
#[derive(Clone, Copy)]
struct Promise {
    factor: Magnitude,
    inverse: Magnitude,
    delta: Magnitude,
}

impl Promise {
    fn new(epsilon: f64, delta: Magnitude) -> Promise {
        let at = Dd::from(epsilon);
        Promise {
            factor: Magnitude::exp(at, 0.0, Round::Up),
            inverse: Magnitude::exp(at.neg(), 0.0, Round::Down),
            delta,
        }
    }

    /// `1 − δ − e^ε·α`, rounded down, and at least 0, for α at most `most`.
    fn steep(&self, most: Magnitude) -> Magnitude {
        Magnitude::ONE.sub(self.delta.add(self.factor.mul(most, Round::Up), Round::Up), Round::Down)
    }

    /// `e^{−ε}·(1 − α − δ)`, rounded down, and at least 0, for 1 − α at least `rest`.
    fn flat(&self, rest: Magnitude) -> Magnitude {
        self.inverse.mul(rest.sub(self.delta, Round::Down), Round::Down)
    }
}

impl<'p> Envelope<'p> {
    /// Of a profile that gives δ at ε, rounded up, on `points` steps from 0 to `end`.
    pub fn new(
        points: usize,
        end: f64,
        refined: bool,
        profile: impl Fn(Dd) -> Magnitude + Sync + 'p,
    ) -> Envelope<'p> {
        let mut envelope =
            Envelope { profile: Box::new(profile), step: end / points as f64, grid: vec![], refined };
        let places: Vec<usize> = (0..=points).collect();
        envelope.grid = parallel::map(&places, |i| envelope.promise(envelope.step * *i as f64));
        envelope
    }

    fn promise(&self, epsilon: f64) -> Promise {
        Promise::new(epsilon, (self.profile)(Dd::from(epsilon)))
    }

    /// Not above what the profile guarantees at α.
    pub fn at(&self, alpha: &Alpha) -> Magnitude {
        let most = alpha.value().to_magnitude_bounds().1;
        let rest = (&Rational::integer(1) - alpha.value()).to_magnitude_bounds().0;
        let (steep, flat) = (self.best(|p| p.steep(most)), self.best(|p| p.flat(rest)));
        if steep < flat { flat } else { steep }
    }

    /// The largest of a bound over ε: the best of the grid, or a better one next to it.
    fn best(&self, bound: impl Fn(&Promise) -> Magnitude) -> Magnitude {
        let among = |places: &mut dyn Iterator<Item = usize>| {
            places.fold((0, Magnitude::ZERO), |best, i| {
                let value = bound(&self.grid[i]);
                if best.1 < value { (i, value) } else { best }
            })
        };
        let n = self.grid.len();
        if !self.refined {
            // It rises and falls once: near the best of a few is the best of all, and any is valid.
            const STRIDE: usize = 8;
            let (i, _) = among(&mut (0..n).step_by(STRIDE));
            return among(&mut (i.saturating_sub(STRIDE)..n.min(i + STRIDE))).1;
        }
        let (i, value) = among(&mut (0..n));
        let end = |i: usize| self.step * i.min(n - 1) as f64;
        let at = |e: f64| bound(&self.promise(e));
        let cost = |e: f64| -at(e).ln(Round::Down).max(-1e300);
        let refined = at(golden_section(cost, end(i.saturating_sub(1)), end(i + 1), 12));
        if value < refined { refined } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::big::{Draws, big, of_magnitude, of_rational};
    use crate::number::float;
    use crate::oracle::{self, text};
    use crate::{Conversion, Rho};

    /// Bounds of one promise are not above the exact ones, and at most a few roundings below.
    #[test]
    fn promises_are_rounded_down() {
        let mut draws = Draws::new(1);
        let (mut nearest, mut seen) = ([1.0f64; 2], 0);
        for _ in 0..4000 {
            let epsilon = 12.0 * draws.unit();
            let delta = Magnitude::from_f64(float::exp(-20.0 * draws.unit()));
            // A rate that is no double, and of every size up to where the bound vanishes.
            let alpha = Rational::from_f64("", float::exp(-epsilon - 9.0 * draws.unit())).unwrap()
                * "1.00000000000000000137".parse().unwrap();
            let rest = &Rational::integer(1) - &alpha;
            let promise = Promise::new(epsilon, delta);
            let found =
                [promise.steep(alpha.to_magnitude_bounds().1), promise.flat(rest.to_magnitude_bounds().0)];
            let one = big(1.0);
            let (delta, alpha) = (of_magnitude(delta), of_rational(&alpha));
            let exact =
                [&one - &delta - big(epsilon).exp() * &alpha, big(-epsilon).exp() * (&one - &alpha - &delta)];
            for (i, (found, exact)) in found.iter().zip(exact).enumerate() {
                if exact > big(1e-3) {
                    let off = ((&exact - of_magnitude(*found)) / &exact).to_f64().value();
                    assert!(off >= 0.0, "{i}: {epsilon} {found:?} is above by {off:e}");
                    assert!(off <= 1e-11, "{i}: {epsilon} {found:?} is below by {off:e}");
                    nearest[i] = nearest[i].min(off);
                    seen += 1;
                }
            }
        }
        // Near enough to see a single rounding that goes the other way, but for those that e^{−ε} makes up
        // for.
        assert!(seen > 4000 && nearest[0] < float::UNIT && nearest[1] < 16.0 * float::UNIT, "{nearest:?}");
    }

    /// Ends of promises as they have been: what rounds one part differently shows here, even if others make
    /// up for it.
    #[test]
    fn promises_are_the_same_to_the_last_bit() {
        for (epsilon, delta, rate, steep, flat) in PROMISES {
            let promise = Promise::new(epsilon, Magnitude::from_f64(delta));
            let rate = Magnitude::from_f64(rate);
            let found = [promise.steep(rate), promise.flat(rate)].map(|m| m.to_f64(Round::Down));
            assert_eq!(found, [steep, flat], "{epsilon} {delta} {rate:?}");
        }
    }

    #[test]
    fn envelopes_are_the_same_to_the_last_bit() {
        let envelope = Envelope::new(40, 4.0, false, |e| Magnitude::from_f64(0.07 / (1.0 + e.hi * e.hi)));
        let at = |alpha: &str| envelope.at(&Alpha::parse(alpha).unwrap()).to_f64(Round::Down);
        for (alpha, bound) in ENVELOPE {
            assert_eq!(at(alpha), bound, "{alpha}");
        }
    }

    const ENVELOPE: [(&str, f64); 6] = [
        ("1/3", 0.5966666666666661),
        ("1/7", 0.7871428571428569),
        ("0.021", 0.9107313273713077),
        ("2/3", 0.263333333333333),
        ("0.9", 0.02999999999999995),
        ("0.7", 0.22999999999999973),
    ];

    /// ε, δ, α for the first bound and 1 − α for the second, and both bounds.
    const PROMISES: [(f64, f64, f64, f64, f64); 4] = [
        (0.3, 0.001, 0.4, 0.45905647696959795, 0.29558647005200506),
        (1.7, 0.01, 0.05, 0.7163026304136396, 0.007307340962109376),
        (0.0, 0.3, 0.2, 0.49999999999999967, 0.0),
        (5.1, 1e-10, 0.001, 0.8359780926000979, 6.096745955840973e-6),
    ];

    /// A conversion is valid for the release that it is a conversion of: its envelope is not above f(α).
    #[test]
    fn envelopes_are_below_the_exact_trade_off_function() {
        for case in oracle::guarantees("tradeoffs") {
            let rho = Rho::new(oracle::composition(&case).rho().unwrap()).unwrap();
            for (conversion, refined) in Conversion::ALL.into_iter().zip([true, false]) {
                let envelope = conversion.envelope(&rho, refined);
                for point in case["points"].as_array().unwrap() {
                    let found = envelope.at(&Alpha::parse(text(&point["a"])).unwrap());
                    let (_, high) = oracle::enclosure(&point["f"]);
                    assert!(found <= high.to_magnitude_bounds().1, "{case}: {conversion} {found:?}");
                }
            }
        }
    }
}
