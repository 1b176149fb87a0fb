//! A lower bound of the trade-off function from a privacy profile: the upper envelope of what its (ε, δ) guarantee.

use crate::number::float::Dd;
use crate::number::{Magnitude, Rational, Round, golden_section};
use crate::parallel;
use crate::quantity::Alpha;

/// What the (ε, δ) of one profile, all of them together, say of the trade-off function.
///
/// A release that is (ε, δ)-private has `f(α) ≥ max(0, 1 − δ − e^ε·α, e^{−ε}·(1 − δ − α))`, for every ε. Any ε
/// gives a valid bound: a grid of them says where to look, and the best one nearby is evaluated rounding down.
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
        let at = Dd::from(epsilon);
        Promise {
            factor: Magnitude::exp(at, 0.0, Round::Up),
            inverse: Magnitude::exp(at.neg(), 0.0, Round::Down),
            delta: (self.profile)(at),
        }
    }

    /// Not above what the profile guarantees at α.
    pub fn at(&self, alpha: &Alpha) -> Magnitude {
        let most = alpha.value().to_magnitude_bounds().1;
        let rest = (&Rational::integer(1) - alpha.value()).to_magnitude_bounds().0;
        // 1 − δ − e^ε·α and e^{−ε}·(1 − α − δ), rounded down, and at least 0.
        let steep = |p: &Promise| {
            Magnitude::ONE.sub(p.delta.add(p.factor.mul(most, Round::Up), Round::Up), Round::Down)
        };
        let flat = |p: &Promise| p.inverse.mul(rest.sub(p.delta, Round::Down), Round::Down);
        let (steep, flat) = (self.best(steep), self.best(flat));
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
