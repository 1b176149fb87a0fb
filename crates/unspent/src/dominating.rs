//! A law of the privacy loss on a grid that dominates a composition's, for accountants that go on with one.
//!
//! Accountants of the field compose *privacy loss distributions*: masses `q_j` at the losses `jh` of a grid,
//! under Q, with some mass at infinity, from which `δ'(ε) = q_∞ + Σ_j q_j (1 − e^{ε−jh})₊`. As a function of
//! `x = e^ε` that is linear between the points of the grid, and the δ of a composition is convex: so `δ' ≥ δ`
//! at the points of the grid makes `δ' ≥ δ` everywhere, and what dominates in this sense still does after
//! composing both with anything else (`theory/dominating.md`, D1 and D2).
//!
//! From the top down, each mass is the least that lifts δ' to δ at the next point of the grid. With
//! `b_k = Σ_{j>k} q_j e^{(k−j)h}`,
//!
//! ```text
//! b_k = e^{−h}(b_{k+1} + q_{k+1}),    δ'(kh) = δ'((k+1)h) + (e^h − 1)·b_k :
//! ```
//!
//! sums of positive terms, rounded down, so that what was lifted high enough is high enough.

use crate::composition::Composition;
use crate::error::{Error, Result};
use crate::number::float::{self, FUNCTION, UNIT};
use crate::number::{Rational, Round};
use crate::parallel;
use crate::profile::{Direction, Point};
use crate::quantity::Delta;
use crate::stop;

/// Most points of a grid.
const MAX_POINTS: f64 = (1u64 << 22) as f64;
/// Least mass at infinity that may be asked for: sums of such are still far from underflow.
const LEAST_TAIL: f64 = 1e-280;

/// A law of the privacy loss that dominates a composition's: a pessimistic privacy loss distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct DominatingLaw {
    /// The distance of the losses.
    pub interval: f64,
    /// The lowest loss, in intervals.
    pub lowest: i64,
    /// The mass at every loss from the lowest on.
    pub masses: Vec<f64>,
    /// The mass at infinity.
    pub infinite: f64,
}

impl Composition {
    /// Masses on the multiples of `interval` that dominate the composition, with about `tail` at infinity.
    ///
    /// # Guarantee
    /// δ of the law is at least δ of the composition at every ε, positive or negative. Evaluated in double
    /// precision, as a sum or as the difference of two, it is at least δ of the composition at an ε that is a
    /// few roundings larger: the losses `k·interval` are rounded then.
    ///
    /// ```
    /// use unspent::{Composition, Delta, DiscreteGaussian, Epsilon};
    /// let release = Composition::new([(DiscreteGaussian::parse("5", "1")?, 10)])?;
    /// let law = release.dominating_law(1e-3, &Delta::parse("1e-15")?)?;
    /// let above = |epsilon: f64| -> f64 {
    ///     let losses = (law.lowest..).map(|k| k as f64 * law.interval);
    ///     let terms = losses.zip(&law.masses).map(|(l, q)| q * (1.0 - (epsilon - l).exp()).max(0.0));
    ///     law.infinite + terms.sum::<f64>()
    /// };
    /// let delta = release.delta(&Epsilon::parse("6")?)?.to_f64();
    /// assert!(delta.lower() <= above(6.0) && above(6.0) < 1.00001 * delta.upper());
    /// # Ok::<(), unspent::Error>(())
    /// ```
    ///
    /// An error names a mechanism for which adding and removing a record differ: there are two laws then,
    /// which [`dominating_laws`](Composition::dominating_laws) gives.
    pub fn dominating_law(&self, interval: f64, tail: &Delta) -> Result<DominatingLaw> {
        self.has_a_law("a dominating law")?;
        self.is_its_own_mirror("one dominating law")?;
        let (grid, [own, _], least) = self.deltas(interval, tail, [self, self])?;
        Ok(grid.lift(&grid.goals(&own, &own), least))
    }

    /// The same for each direction: if the record is removed, and if it is added.
    pub fn dominating_laws(&self, interval: f64, tail: &Delta) -> Result<[DominatingLaw; 2]> {
        self.has_a_law("a dominating law")?;
        let ways = [self.in_direction(Direction::Remove)?, self.in_direction(Direction::Add)?];
        let (grid, [remove, add], least) = self.deltas(interval, tail, [&ways[0], &ways[1]])?;
        Ok([(&remove, &add), (&add, &remove)].map(|(own, other)| grid.lift(&grid.goals(own, other), least)))
    }

    /// A grid, and upper bounds of δ and lower bounds of 1 − δ of both ways on it, from 0 on. Symmetric ones
    /// are asked once.
    fn deltas(
        &self,
        interval: f64,
        tail: &Delta,
        ways: [&Composition; 2],
    ) -> Result<(Grid, [Goals; 2], f64)> {
        let step = Rational::from_f64("interval", interval)?;
        let range = Rational::power_of_ten(-9)..=Rational::integer(10);
        let step = step.within("interval", &range, "a distance of losses between 1e-9 and 10")?;
        let least = tail.value().to_bounds().to_f64().lower();
        if least < LEAST_TAIL {
            let allowed = format!("a mass of at least {LEAST_TAIL:e}");
            return Err(Error::input("tail", tail.value(), allowed, "1e-20 is plenty for most uses"));
        }
        let reach = ways.map(|way| way.reach(tail));
        let reach = reach.into_iter().collect::<Result<Vec<f64>>>()?.into_iter().fold(0.0, f64::max);
        let top = (reach / interval).ceil().max(1.0) + 1.0;
        // Not yet an integer: it may be beyond all of them.
        let points = 2.0 * top + 1.0;
        if points > MAX_POINTS {
            return Err(Error::input(
                "interval",
                interval,
                format!(
                    "so long that at most {MAX_POINTS} of them cover the losses: {points:e} would be needed"
                ),
                "losses that matter are further apart the more budget is spent",
            ));
        }
        let grid = Grid::new(interval, top as i64);
        // A mass must lift δ' by more than the rounding of sums over it can take away again (D4).
        if grid.grown < 4.0 * grid.slack * UNIT {
            return Err(Error::input(
                "interval",
                interval,
                format!("long enough for doubles: sums over {points:e} masses lose more than it gains"),
                "ask for a longer interval; 1e-4 is fine for most uses",
            ));
        }
        let indices: Vec<i64> = (0..=grid.top).collect();
        let goals = |way: &Composition| {
            parallel::map(&indices, |&k| {
                let at = Point::new(&Rational::integer(k) * &step);
                let found = way.accountant().delta(&at, way.aim());
                (found.delta.upper().to_f64(Round::Up), found.complement.to_f64().lower(), at.dd.hi)
            })
        };
        let first = goals(ways[0]);
        let second = if self.is_symmetric() { first.clone() } else { goals(ways[1]) };
        Ok((grid, [first, second], least))
    }

    /// The ε at which no more than `tail` is left besides what is revealed for certain.
    fn reach(&self, tail: &Delta) -> Result<f64> {
        let revealed = self.infinity().upper();
        if revealed.is_zero() {
            return Ok(self.epsilon_near(tail, None).upper());
        }
        // Sums with it are rounded; a little more at infinity is dominating, too.
        let revealed = float::up(revealed.to_f64(Round::Up), 64.0);
        let left = tail.value() + &Rational::from_f64("infinity", revealed)?;
        Ok(self.epsilon_near(&Delta::new(left)?, None).upper())
    }
}

/// At each point of a grid δ from above, 1 − δ from below, and ε.
type Goals = Vec<(f64, f64, f64)>;

/// δ(−ε) = 1 − e^{−ε}(1 − δ(ε)) with δ(ε) of the other direction (D5), from above, for a lower bound of
/// 1 − δ(ε) and an ε within a relative 2u.
fn delta_below_zero(epsilon: f64, complement: f64) -> f64 {
    let factor = float::down(float::exp(-epsilon), 4.0 + 2.0 * epsilon);
    let below = (1.0 - (factor * complement).next_down().max(0.0)).next_up();
    below.min(1.0)
}

/// The losses `kh`, −`top` ≤ k ≤ `top`.
struct Grid {
    interval: f64,
    top: i64,
    /// `e^h − 1` and `e^{−h}`, from below.
    grown: f64,
    shrink: f64,
    /// What a sum of so many terms can lose in any order, a few roundings in each term, and the rounding of a
    /// loss, which counts by its ratio to the distance that it is seen from; in units of u.
    slack: f64,
}

impl Grid {
    fn new(interval: f64, top: i64) -> Grid {
        Grid {
            interval,
            top,
            grown: float::down(float::expm1(interval), FUNCTION / UNIT),
            shrink: float::down(float::exp(-interval), FUNCTION / UNIT),
            slack: Grid::points(top) + 8.0 + 2.0 * top as f64,
        }
    }

    fn points(top: i64) -> f64 {
        2.0 * top as f64 + 1.0
    }

    /// What δ' must reach at kh and −kh: δ, and what the other direction says of −ε (D5).
    fn goals(&self, own: &Goals, other: &Goals) -> Vec<(f64, f64)> {
        let goal =
            |(own, other): (&(f64, f64, f64), &(f64, f64, f64))| (own.0, delta_below_zero(own.2, other.1));
        own.iter().zip(other).map(goal).collect()
    }

    /// The law whose δ' is at least δ(kh) and δ(−kh), of which `deltas` are upper bounds for every k from 0
    /// on.
    fn lift(&self, deltas: &[(f64, f64)], least: f64) -> DominatingLaw {
        let Grid { interval, top, grown, shrink, slack } = *self;
        let delta = |k: i64| {
            let (above, below) = deltas[k.unsigned_abs() as usize];
            if k >= 0 { above } else { below }
        };
        // Where the law is sparse δ(top) can be far below the tail, even below the doubles; a part in 2⁵³ of
        // the tail more is nothing, and keeps all that follows away from the subnormals (D4).
        let infinite = float::up(delta(top), slack).max(least * UNIT);
        let (mut reached, mut b, mut total) = (infinite, 0.0f64, infinite);
        let mut masses = vec![0.0; 2 * top as usize + 1];
        for k in (-top..top).rev() {
            stop::check();
            let goal = delta(k);
            // Those who subtract Q[L > ε] and e^ε·P[L > ε] lose relative to the former, which is δ' + b.
            let is_enough = |(b, reached): (f64, f64)| {
                reached >= float::up(goal + 2.0 * slack * UNIT * (reached + b), 4.0)
            };
            let after = |mass: f64| {
                let b = ((b + mass).next_down().max(0.0) * shrink).next_down().max(0.0);
                (b, (reached + (grown * b).next_down().max(0.0)).next_down())
            };
            let mut mass = ((goal - reached) / (grown * shrink) - b).max(0.0);
            // Less than a part in 2⁵³ of δ' would not be seen; b and the mass may both be 0, where δ is flat.
            let mut nudge = b.max(mass).max(reached) * UNIT;
            while !is_enough(after(mass)) {
                mass += nudge;
                nudge *= 2.0;
            }
            (b, reached) = after(mass);
            masses[(k + 1 + top) as usize] = mass;
            total += mass;
        }
        // All that is left is at the lowest loss, and no less than that.
        masses[0] = float::up((1.0 - float::down(total, Grid::points(top))).max(0.0), 1.0);
        DominatingLaw { interval, lowest: -top, masses, infinite }
    }
}

#[cfg(test)]
mod tests;
