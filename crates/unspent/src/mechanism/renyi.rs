//! What Rényi divergences say of a mechanism.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::number::Rational;

/// Any mechanism of which no more is known than that its Rényi divergence of some orders is at most so much,
/// in either direction: (α, ε)-RDP for a list of points.
///
/// What is certified is an upper end, as of [ρ-zCDP](super::ZeroConcentratedDp).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RenyiDp {
    /// With ascending orders.
    points: Arc<[(Rational, Rational)]>,
}

/// Most points of a list.
const MOST: usize = 10_000;

impl RenyiDp {
    /// Orders above 1 and at most 10⁶, each once, and an ε of at least 0 for each.
    pub fn new(orders: Vec<Rational>, epsilons: Vec<Rational>) -> Result<RenyiDp> {
        let hint = "a point (order, epsilon) says that the Rényi divergence of that order is at most epsilon";
        if orders.len() != epsilons.len() || orders.is_empty() || orders.len() > MOST {
            let lists = format!("{} orders and {} epsilons", orders.len(), epsilons.len());
            return Err(Error::input("orders", lists, "one epsilon for each of 1 to 10000 orders", hint));
        }
        let (one, largest) = (Rational::integer(1), Rational::power_of_ten(6));
        if let Some(order) = orders.iter().find(|order| **order <= one || **order > largest) {
            return Err(Error::input("orders", order, "an order above 1 and at most 1e6", hint));
        }
        if let Some(epsilon) = epsilons.iter().find(|e| **e < Rational::integer(0) || **e > largest) {
            return Err(Error::input("epsilons", epsilon, "a number from 0 to 1e6", hint));
        }
        let mut points: Vec<_> = orders.into_iter().zip(epsilons).collect();
        points.sort();
        if let Some(twice) = points.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::input("orders", &twice[0].0, "a list with each order once", hint));
        }
        Ok(RenyiDp { points: points.into() })
    }

    /// Orders, ascending, with the bound of each.
    #[must_use]
    pub fn points(&self) -> &[(Rational, Rational)] {
        &self.points
    }

    /// A bound of the divergence of this order and of all below: the least of those listed from it on.
    pub(crate) fn at(&self, order: &Rational) -> Option<&Rational> {
        self.points.iter().filter(|(listed, _)| listed >= order).map(|(_, epsilon)| epsilon).min()
    }
}
