//! The knots of a trade-off function: on a lattice of losses it is linear between them.

use num_bigint::BigInt;

use crate::composition::Composition;
use crate::error::{Error, Result};
use crate::number::{Bounds, Magnitude, Rational};
use crate::profile::Point;

/// A vertex of the trade-off function on a lattice of losses: the test that raises an alarm when
/// the loss is at least `loss`.
#[derive(Clone, Debug)]
pub struct Knot {
    /// The threshold.
    pub loss: Rational,
    /// `P[L ≥ loss]`: alarms when the record is absent.
    pub false_alarms: Bounds<Magnitude>,
    /// `Q[L < loss]`: silence when it is present.
    pub misses: Bounds<Magnitude>,
}

/// Most knots that are listed at a time.
const MAX_KNOTS: u64 = 100_000;

impl Composition {
    /// All knots with a threshold between `from` and `to`.
    pub fn knots(&self, from: &Rational, to: &Rational) -> Result<Vec<Knot>> {
        self.has_symmetric_pair("the list of knots")?;
        let Some(lattice) = self.accountant().losses() else {
            return Err(Error::input(
                "composition",
                "losses off any usable lattice",
                "one whose trade-off function has knots that can be listed",
                "use tradeoff() for bounds at any alpha",
            ));
        };
        let count = (to - from).to_f64() / lattice.step_f64;
        if count > MAX_KNOTS as f64 {
            return Err(Error::input(
                "knots",
                format!("{count:.3e} knots"),
                format!("a list of at most {MAX_KNOTS}"),
                "ask for a shorter range of losses",
            ));
        }
        let mut index = lattice.position(from).above - BigInt::from(1);
        if lattice.loss(&index) < *from {
            index += 1;
        }
        let mut knots = vec![];
        loop {
            let loss = lattice.loss(&index);
            if loss > *to {
                return Ok(knots);
            }
            // P[L ≥ l] = P[L > l − g], and Q[L < l] = P[L > −l] by symmetry.
            let above = |threshold: &Rational| {
                let found = self.demand("P[L > l]", |aim| self.p_above(threshold, aim));
                found.map_err(|e| e.at(format!("knot at {}", loss.to_short())))
            };
            knots.push(Knot {
                false_alarms: above(&(&loss - &lattice.step))?,
                misses: above(&(&Rational::integer(0) - &loss))?,
                loss,
            });
            index += 1;
        }
    }

    /// `P[L > l]` at any loss of the lattice; for l < 0, 1 − `Q[L ≥ −l]` by symmetry.
    fn p_above(&self, loss: &Rational, aim: f64) -> Bounds<Magnitude> {
        match self.reflect(loss) {
            Ok(point) => self.accountant().p_tail(&point, aim),
            Err(mirrored) => self.q_above(&mirrored, aim).complement(),
        }
    }

    /// `Q[L > l]`; for l < 0, 1 − `P[L ≥ −l]`.
    fn q_above(&self, loss: &Rational, aim: f64) -> Bounds<Magnitude> {
        match self.reflect(loss) {
            Ok(point) => self.accountant().q_tail(&point, aim),
            Err(mirrored) => self.p_above(&mirrored, aim).complement(),
        }
    }

    /// An ε ≥ 0 with the same losses above it, or the loss whose mirror image bounds the others.
    fn reflect(&self, loss: &Rational) -> std::result::Result<Point, Rational> {
        let zero = Rational::integer(0);
        let step = &self.accountant().losses().expect("a lattice").step;
        if *loss >= zero {
            Ok(Point::new(loss.clone()))
        } else if loss + step > zero {
            // The next loss is positive already.
            Ok(Point::new(zero))
        } else {
            Err(&(&zero - loss) - step)
        }
    }
}
