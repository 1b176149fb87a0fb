//! A release: independent mechanisms, composed, and what they promise together.

use std::collections::HashMap;

use crate::bounds::{Bounds, Magnitude};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::float::Dd;
use crate::mechanism::{MAX_COUNT, Mechanism};
use crate::profile::{Accountant, Method, Point};

/// Relative width of δ aimed at where no lattice makes it narrower, unless asked otherwise.
pub const DEFAULT_TOLERANCE: f64 = 1e-6;

/// The same, in haste.
pub const HASTY_TOLERANCE: f64 = 1e-5;

/// Largest ρ of a composition: beyond it not even ε fits in a double with a digit to spare.
const MAX_RHO: f64 = 1e18;

/// Equal mechanisms, with their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What each of them is.
    pub mechanism: Mechanism,
    /// How many there are.
    pub count: u64,
}

/// A composition of independent mechanisms and its privacy guarantees.
///
/// ```
/// use unspent::{Composition, Delta, DiscreteGaussian, Epsilon};
///
/// let release = Composition::new([(DiscreteGaussian::parse("5", "1")?, 10)])?;
/// let epsilon = release.epsilon(&Delta::parse("1e-11")?)?;
/// assert!(epsilon.upper() < 10.1249 && epsilon.lower() > 10.1248);
/// let delta = release.delta(&Epsilon::parse("40")?)?;
/// assert_eq!(&delta.to_decimal().1[..10], "1.53755265");
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Debug)]
pub struct Composition {
    groups: Vec<Group>,
    /// Each kind once, in order.
    merged: Vec<(Mechanism, u128)>,
    tolerance: Option<f64>,
    accountant: Accountant,
}

impl Composition {
    /// Composes groups of `(mechanism, count)`.
    ///
    /// Equal mechanisms are merged and the order is forgotten: neither changes a single bit of
    /// any answer.
    pub fn new<M: Into<Mechanism>>(groups: impl IntoIterator<Item = (M, u64)>) -> Result<Composition> {
        Composition::with_accountant(groups, Accountant::new)
    }

    /// In haste, and by smoothing alone: for one of many, of which few matter.
    pub(crate) fn at_a_glance<M: Into<Mechanism>>(
        groups: impl IntoIterator<Item = (M, u64)>,
    ) -> Result<Composition> {
        Composition::with_accountant(groups, Accountant::at_a_glance)
    }

    fn with_accountant<M: Into<Mechanism>>(
        groups: impl IntoIterator<Item = (M, u64)>,
        account: impl Fn(&[(Mechanism, u128)]) -> Accountant,
    ) -> Result<Composition> {
        let mut list: Vec<Group> = vec![];
        for (mechanism, count) in groups {
            if !(1..=MAX_COUNT).contains(&count) {
                return Err(Error::input(
                    "count",
                    count,
                    "a whole number between 1 and 2^63",
                    "the count says how many equal mechanisms there are",
                ));
            }
            list.push(Group { mechanism: mechanism.into(), count });
        }
        if list.is_empty() {
            return Err(Error::stated(
                "composition: there is no mechanism in it",
                "a release with no noisy answer promises everything; there is nothing to account for",
            ));
        }
        // Hashing is cheap, comparing fractions is not: only distinct ones are sorted.
        let mut counts: HashMap<&Mechanism, u128> = HashMap::new();
        for group in &list {
            *counts.entry(&group.mechanism).or_default() += u128::from(group.count);
        }
        let mut merged: Vec<(Mechanism, u128)> = counts.into_iter().map(|(m, n)| (m.clone(), n)).collect();
        merged.sort();
        let accountant = account(&merged);
        if accountant.mu2() > 2.0 * MAX_RHO {
            return Err(Error::input(
                "composition",
                format!("rho = {:.3e}", accountant.mu2() / 2.0),
                format!("a release of rho at most {MAX_RHO:e}"),
                "so much privacy loss protects nothing: check the variances, shifts and counts",
            ));
        }
        Ok(Composition { groups: list, merged, tolerance: None, accountant })
    }

    /// Demands that δ be known to this relative width: answers that are not become errors.
    ///
    /// Without it the aim is [`DEFAULT_TOLERANCE`] where smoothing is needed, and the bounds are
    /// returned as they are.
    pub fn with_tolerance(mut self, tolerance: f64) -> Result<Composition> {
        if !(1e-15..1.0).contains(&tolerance) {
            return Err(Error::input(
                "tolerance",
                tolerance,
                "a relative width between 1e-15 and 1",
                "1e-6 is plenty for most uses",
            ));
        }
        self.tolerance = Some(tolerance);
        Ok(self)
    }

    /// The groups, as they were given.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Whether the two are the same mechanisms, however grouped: all answers are the same then.
    #[must_use]
    pub fn is_same(&self, other: &Composition) -> bool {
        self.merged == other.merged && self.tolerance == other.tolerance
    }

    /// The number of distinct mechanisms.
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.accountant.kinds()
    }

    /// How answers are obtained.
    #[must_use]
    pub fn method(&self) -> Method {
        self.accountant.method()
    }

    /// ρ = Σ nΔ²/2σ², exactly: the composition satisfies ρ-zCDP and no smaller ρ.
    ///
    /// With thousands of incommensurate variances the fraction has as many digits as all of them
    /// together; [`rho_bounds`](Composition::rho_bounds) has not.
    #[must_use]
    pub fn rho(&self) -> Rational {
        Rational::sum(&self.squares()) / Rational::integer(2)
    }

    /// ρ exactly, unless that is a very long fraction.
    pub(crate) fn short_rho(&self) -> Option<Rational> {
        const BITS: u64 = 1 << 10;
        Some(Rational::sum_within(&self.squares(), BITS)? / Rational::integer(2))
    }

    /// nΔ²/σ² of every kind.
    fn squares(&self) -> Vec<Rational> {
        self.merged.iter().map(|(m, n)| &m.mu_squared() * &Rational::integer(*n)).collect()
    }

    /// ρ to double precision.
    pub fn rho_bounds(&self) -> Bounds<f64> {
        // μ² is a double-double, within 2⁻¹⁰⁰: its nearest double and a step either way.
        let rho = 0.5 * self.accountant.mu2();
        Bounds::new(rho.next_down(), rho.next_up())
    }

    /// The least δ for which the release is (ε, δ)-differentially private.
    pub fn delta(&self, epsilon: &Epsilon) -> Result<Bounds<Magnitude>> {
        let delta = self.accountant.delta(&Point::new(epsilon.0.clone()), self.aim()).delta;
        self.demand("delta", delta)
    }

    /// The least ε for which the release is (ε, δ)-differentially private.
    pub fn epsilon(&self, delta: &Delta) -> Result<Bounds<f64>> {
        Ok(self.accountant.epsilon(delta, self.aim(), None))
    }

    /// The same, found faster if `guess` is near it.
    pub(crate) fn epsilon_near(&self, delta: &Delta, guess: Option<f64>) -> Bounds<f64> {
        self.accountant.epsilon(delta, self.aim(), guess)
    }

    /// δ on a grid of ε.
    pub fn delta_curve(&self, epsilons: &[Epsilon]) -> Result<Vec<Bounds<Magnitude>>> {
        epsilons.iter().map(|e| self.delta(e)).collect()
    }

    /// ε on a grid of δ.
    pub fn epsilon_curve(&self, deltas: &[Delta]) -> Result<Vec<Bounds<f64>>> {
        deltas.iter().map(|d| self.epsilon(d)).collect()
    }

    /// `P[L > ε]`: how often the privacy loss exceeds ε when the record is absent.
    pub fn p_tail(&self, epsilon: &Epsilon) -> Result<Bounds<Magnitude>> {
        Ok(self.accountant.p_tail(&Point::new(epsilon.0.clone()), self.aim()))
    }

    /// `Q[L > ε]`: how often the privacy loss exceeds ε when the record is present.
    pub fn q_tail(&self, epsilon: &Epsilon) -> Result<Bounds<Magnitude>> {
        Ok(self.accountant.q_tail(&Point::new(epsilon.0.clone()), self.aim()))
    }

    /// The total variation distance between the releases with and without the record: δ(0).
    pub fn total_variation(&self) -> Result<Bounds<Magnitude>> {
        self.delta(&Epsilon(Rational::integer(0)))
    }

    /// An upper bound of δ at an ε ≥ 0 that is a double.
    pub(crate) fn delta_above(&self, epsilon: Dd) -> Magnitude {
        self.accountant.delta(&Point::from_f64(epsilon.hi), self.aim()).delta.upper()
    }

    /// The same composition, for answers while somebody waits: a relative width of δ of [`HASTY_TOLERANCE`] is enough where
    /// anything better takes milliseconds, and a wider one where even that does, as with noise far below 1. As certified as ever.
    #[must_use]
    pub fn in_haste(mut self) -> Composition {
        self.accountant = self.accountant.in_haste();
        self
    }

    /// Whether it answers [in haste](Composition::in_haste).
    #[must_use]
    pub fn is_hasty(&self) -> bool {
        self.accountant.is_hasty()
    }

    pub(crate) fn accountant(&self) -> &Accountant {
        &self.accountant
    }

    pub(crate) fn demanded_tolerance(&self) -> Option<f64> {
        self.tolerance
    }

    pub(crate) fn aim(&self) -> f64 {
        self.tolerance.unwrap_or(if self.is_hasty() { HASTY_TOLERANCE } else { DEFAULT_TOLERANCE })
    }

    pub(crate) fn demand(&self, quantity: &str, bounds: Bounds<Magnitude>) -> Result<Bounds<Magnitude>> {
        match self.tolerance {
            Some(tolerance) if bounds.relative_width() > tolerance => {
                Err(Error::tolerance(quantity, tolerance, bounds.relative_width()))
            }
            _ => Ok(bounds),
        }
    }
}

/// An ε ≥ 0, exact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epsilon(Rational);

impl Epsilon {
    /// ε between 0 and 10¹².
    pub fn new(epsilon: Rational) -> Result<Epsilon> {
        let range = Rational::integer(0)..=Rational::power_of_ten(12);
        epsilon.within("epsilon", &range, "a number between 0 and 1e12").map(Epsilon)
    }

    /// Reads ε from text.
    pub fn parse(text: &str) -> Result<Epsilon> {
        Epsilon::new(Rational::parse("epsilon", text)?).map_err(|e| e.quoting(text))
    }

    /// The exact value.
    #[must_use]
    pub fn value(&self) -> &Rational {
        &self.0
    }
}

/// A δ strictly between 0 and 1, exact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delta(Rational);

impl Delta {
    /// δ strictly between 0 and 1.
    pub fn new(delta: Rational) -> Result<Delta> {
        if delta.is_positive() && delta < Rational::integer(1) {
            return Ok(Delta(delta));
        }
        let hint = if delta.is_zero() {
            "no finite epsilon meets delta = 0: the noise is unbounded, and so is the privacy loss"
        } else {
            "delta is a probability, like 1e-10"
        };
        Err(Error::input("delta", delta, "a number strictly between 0 and 1", hint))
    }

    /// Reads δ from text.
    pub fn parse(text: &str) -> Result<Delta> {
        Delta::new(Rational::parse("delta", text)?).map_err(|e| e.quoting(text))
    }

    /// The exact value.
    #[must_use]
    pub fn value(&self) -> &Rational {
        &self.0
    }
}
