//! Compositions of independent mechanisms and their privacy guarantees.

mod refused;

use std::collections::HashMap;
use std::sync::Arc;

use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::mechanism::{MAX_COUNT, Mechanism};
use crate::number::float::Dd;
use crate::number::{Bounds, Magnitude, Number, Rational, Round};
use crate::profile::{Accountant, Direction, Method, Point};
use crate::quantity::{Delta, Epsilon};

/// The finest relative width of δ that it makes sense to aim at.
const FINEST_AIM: f64 = 1e-15;

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
#[derive(Clone, Debug)]
pub struct Composition {
    made: Arc<Made>,
    direction: Direction,
    tolerance: Option<f64>,
}

#[derive(Debug)]
struct Made {
    groups: Vec<Group>,
    /// Each kind once, in order.
    merged: Vec<(Mechanism, u128)>,
    accountant: Accountant,
}

impl Composition {
    /// Composes groups of `(mechanism, count)`.
    ///
    /// Equal mechanisms are merged and the order is forgotten: neither changes a single bit of
    /// any answer.
    pub fn new<M: Into<Mechanism>>(groups: impl IntoIterator<Item = (M, u64)>) -> Result<Composition> {
        Composition::with_effort(groups, Effort::Normal)
    }

    /// The same, for answers that are worth more or less work.
    pub fn with_effort<M: Into<Mechanism>>(
        groups: impl IntoIterator<Item = (M, u64)>,
        effort: Effort,
    ) -> Result<Composition> {
        Composition::with_accountant(groups, |merged| Accountant::new(merged, effort, Direction::Both))
    }

    /// Fast, and by smoothing alone: for one of many, of which few matter.
    pub(crate) fn at_a_glance<M: Into<Mechanism>>(
        groups: impl IntoIterator<Item = (M, u64)>,
    ) -> Result<Composition> {
        Composition::with_accountant(groups, Accountant::at_a_glance)
    }

    /// By one method alone.
    #[cfg(test)]
    pub(crate) fn restricted_to(groups: Vec<(Mechanism, u64)>, method: Method) -> Composition {
        let account =
            |merged: &[_]| Ok(Accountant::new(merged, Effort::Normal, Direction::Both)?.restrict_to(method));
        Composition::with_accountant(groups, account).unwrap()
    }

    fn with_accountant<M: Into<Mechanism>>(
        groups: impl IntoIterator<Item = (M, u64)>,
        account: impl Fn(&[(Mechanism, u128)]) -> Result<Accountant>,
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
                "a composition needs at least one mechanism",
            ));
        }
        // Hashing is cheap, comparing fractions is not: only distinct ones are sorted.
        let mut counts: HashMap<&Mechanism, u128> = HashMap::new();
        for group in &list {
            *counts.entry(&group.mechanism).or_default() += u128::from(group.count);
        }
        let mut merged: Vec<(Mechanism, u128)> = counts.into_iter().map(|(m, n)| (m.clone(), n)).collect();
        merged.sort();
        let accountant = account(&merged)?;
        if let Some(mu2) = accountant.mu2().filter(|mu2| *mu2 > 2.0 * MAX_RHO) {
            return Err(Error::input(
                "composition",
                format!("rho = {:.3e}", mu2 / 2.0),
                format!("a release of rho at most {MAX_RHO:e}"),
                "so much privacy loss protects nothing: check the variances, shifts and counts",
            ));
        }
        let made = Arc::new(Made { groups: list, merged, accountant });
        Ok(Composition { made, direction: Direction::Both, tolerance: None })
    }

    /// The same composition for one direction of neighbours, or for both, which is what it was made for.
    pub fn in_direction(&self, direction: Direction) -> Result<Composition> {
        let Made { groups, merged, accountant } = &*self.made;
        let accountant = Accountant::new(merged, accountant.effort(), direction)?;
        let made = Arc::new(Made { groups: groups.clone(), merged: merged.clone(), accountant });
        Ok(Composition { made, direction, tolerance: self.tolerance })
    }

    /// Which neighbours answers are for.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Whether adding and removing a record are the same to every mechanism.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.accountant().is_symmetric()
    }

    /// The probability with which the record is revealed whatever ε is: no δ below it has a finite ε.
    pub fn infinity(&self) -> Bounds<Magnitude> {
        self.accountant().infinity()
    }

    /// Demands that answers be known to this relative width: δ, ε, tails, the trade-off function, the power
    /// and knots. An answer that is not becomes an [error](Error::is_tolerance) that says how wide its bounds
    /// are.
    ///
    /// Where smoothing is needed, this is also what is aimed at; without it that is the
    /// [effort's](Effort::tolerance), and bounds are returned as they are. Calibration and dominating laws
    /// aim at the tolerance too and do not demand it: their results are valid however wide the bounds behind
    /// them are.
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
        &self.made.groups
    }

    /// Whether the two are the same mechanisms, however grouped: all answers are the same then.
    #[must_use]
    pub fn is_same(&self, other: &Composition) -> bool {
        let mechanisms = Arc::ptr_eq(&self.made, &other.made) || self.made.merged == other.made.merged;
        mechanisms
            && self.direction == other.direction
            && self.tolerance == other.tolerance
            && self.effort() == other.effort()
    }

    /// The number of distinct mechanisms.
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.accountant().kinds()
    }

    /// How answers are obtained.
    #[must_use]
    pub fn method(&self) -> Method {
        self.accountant().method()
    }

    /// ρ = Σ nΔ²/2σ² of Gaussian noise, exactly: the composition satisfies ρ-zCDP and no smaller ρ. An error
    /// names a mechanism of another kind.
    ///
    /// With thousands of incommensurate variances the fraction has as many digits as all of them
    /// together; [`rho_bounds`](Composition::rho_bounds) has not.
    pub fn rho(&self) -> Result<Rational> {
        Ok(Rational::sum(&self.squares()?) / Rational::integer(2))
    }

    /// ρ, exactly unless that would be a very long fraction.
    pub fn known_rho(&self) -> Result<Number> {
        const BITS: u64 = 1 << 10;
        let short = Rational::sum_within(&self.squares()?, BITS);
        match short {
            Some(squares) => Ok(Number::Exact(squares / Rational::integer(2))),
            None => Ok(self.rho_bounds()?.into()),
        }
    }

    /// nΔ²/σ² of every kind.
    fn squares(&self) -> Result<Vec<Rational>> {
        let square = |(m, n): &(Mechanism, u128)| match m.mu_squared() {
            Some(square) => Ok(&square * &Rational::integer(*n)),
            None => Err(m.refuses("exact rho of zCDP")),
        };
        self.made.merged.iter().map(square).collect()
    }

    /// ρ to double precision.
    pub fn rho_bounds(&self) -> Result<Bounds<f64>> {
        self.squares()?;
        // μ² is a double-double, within 2⁻¹⁰⁰: its nearest double and a step either way.
        let rho = 0.5 * self.accountant().mu2().expect("all noise is Gaussian");
        Ok(Bounds::new(rho.next_down(), rho.next_up()))
    }

    /// The least δ for which the release is (ε, δ)-differentially private.
    pub fn delta(&self, epsilon: &Epsilon) -> Result<Bounds<Magnitude>> {
        let at = Point::new(epsilon.value().clone());
        self.demand("delta", |aim| self.accountant().delta(&at, aim).delta)
    }

    /// The least ε for which the release is (ε, δ)-differentially private.
    pub fn epsilon(&self, delta: &Delta) -> Result<Bounds<f64>> {
        self.has_finite_epsilon(delta)?;
        let found = self.demand("epsilon", |aim| self.accountant().epsilon(delta, aim, None))?;
        self.known_finite(delta, found)
    }

    /// Refuses a δ at which no finite ε is certified: it cannot be told from the probability that the record
    /// is revealed for certain, or is below what bounds of δ come down to.
    pub(crate) fn known_finite(&self, delta: &Delta, found: Bounds<f64>) -> Result<Bounds<f64>> {
        if found.upper().is_finite() {
            return Ok(found);
        }
        let (most, revealed) =
            (self.infinity().upper(), "the probability that the record is revealed for certain");
        let allowed = if most.is_zero() {
            "a delta at which a finite epsilon can be certified".into()
        } else {
            format!("a delta that can be told from {}, {revealed}", most.to_decimal(17, Round::Up))
        };
        Err(Error::input("delta", delta.value().to_short(), allowed, "ask for a larger delta"))
    }

    /// Refuses a δ that no ε has.
    pub(crate) fn has_finite_epsilon(&self, delta: &Delta) -> Result<()> {
        let revealed = self.infinity();
        if delta.value().to_magnitude_bounds().1 <= revealed.lower() && !revealed.lower().is_zero() {
            let (least, _) = revealed.to_decimal();
            return Err(Error::input(
                "delta",
                delta.value().to_short(),
                format!("a delta above {least}, the probability that the record is revealed for certain"),
                "some mechanism has outcomes that only one of the neighbours can produce: \
                 no epsilon is finite",
            ));
        }
        Ok(())
    }

    /// The same, found faster if `guess` is near it.
    pub(crate) fn epsilon_near(&self, delta: &Delta, guess: Option<f64>) -> Bounds<f64> {
        self.accountant().epsilon(delta, self.aim(), guess)
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
        self.has_one_direction("p_tail")?;
        let at = Point::new(epsilon.value().clone());
        self.demand("p_tail", |aim| self.accountant().p_tail(&at, aim))
    }

    /// `Q[L > ε]`: how often the privacy loss exceeds ε when the record is present.
    pub fn q_tail(&self, epsilon: &Epsilon) -> Result<Bounds<Magnitude>> {
        self.has_one_direction("q_tail")?;
        let at = Point::new(epsilon.value().clone());
        self.demand("q_tail", |aim| self.accountant().q_tail(&at, aim))
    }

    /// Refuses a question about one law of the loss where there are two, or none is known.
    fn has_one_direction(&self, what: &str) -> Result<()> {
        self.has_a_law(what)?;
        if self.is_symmetric() || self.direction != Direction::Both {
            return Ok(());
        }
        Err(Error::stated(
            format!(
                "{what}: the privacy loss has one law if the record is added and another if it is removed"
            ),
            "ask for one direction, add or remove",
        ))
    }

    /// The total variation distance between the releases with and without the record: δ(0).
    pub fn total_variation(&self) -> Result<Bounds<Magnitude>> {
        self.delta(&Epsilon::new(Rational::integer(0))?)
    }

    /// An upper bound of δ at an ε ≥ 0 that is a double.
    pub(crate) fn delta_above(&self, epsilon: Dd) -> Magnitude {
        self.accountant().delta(&Point::from_f64(epsilon.hi), self.aim()).delta.upper()
    }

    /// How much work its answers are worth.
    #[must_use]
    pub fn effort(&self) -> Effort {
        self.accountant().effort()
    }

    pub(crate) fn accountant(&self) -> &Accountant {
        &self.made.accountant
    }

    pub(crate) fn demanded_tolerance(&self) -> Option<f64> {
        self.tolerance
    }

    pub(crate) fn aim(&self) -> f64 {
        self.tolerance.unwrap_or(self.effort().tolerance())
    }

    /// What is found with δ known to about a relative width; an error if it is wider than the tolerance.
    pub(crate) fn demand<T: RelativeWidth>(&self, quantity: &str, find: impl Fn(f64) -> T) -> Result<T> {
        let first = find(self.aim());
        let Some(tolerance) = self.tolerance.filter(|tolerance| first.relative_width() > *tolerance) else {
            return Ok(first);
        };
        // A chord knows half the digits of its ends, and ε near 0 fewer than δ: once more with a finer δ.
        let missing = tolerance / first.relative_width();
        let second = find((0.25 * tolerance * missing * missing).max(FINEST_AIM));
        let found = if second.relative_width() < first.relative_width() { second } else { first };
        let width = found.relative_width();
        if width > tolerance { Err(Error::tolerance(quantity, tolerance, width)) } else { Ok(found) }
    }
}

/// Bounds whose width has a size.
pub(crate) trait RelativeWidth {
    fn relative_width(&self) -> f64;
}

impl RelativeWidth for Bounds<Magnitude> {
    fn relative_width(&self) -> f64 {
        Bounds::<Magnitude>::relative_width(self)
    }
}

impl RelativeWidth for Bounds<f64> {
    fn relative_width(&self) -> f64 {
        Bounds::<f64>::relative_width(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alpha, DiscreteGaussian};

    /// Losses on no usable lattice: everything comes from smoothing.
    fn smoothed() -> Composition {
        let groups = ["5.41421356237", "6.82842712475", "8.24264068712", "9.65685424949", "11.0710678119"];
        let made = Composition::new(groups.map(|s| (DiscreteGaussian::parse(s, "1").unwrap(), 10))).unwrap();
        assert_eq!(made.method(), Method::Smoothing);
        made
    }

    /// What is known to the tolerance is returned, narrower than without one; what is not is an error with
    /// its width.
    fn is_demanded<T: RelativeWidth>(quantity: &str, ask: impl Fn(&Composition) -> Result<T>) {
        let with = |tolerance: f64| ask(&smoothed().with_tolerance(tolerance).unwrap());
        let free = ask(&smoothed()).unwrap().relative_width();
        let fine = 0.1 * free;
        assert!(free > 0.0 && with(fine).unwrap().relative_width() <= fine, "{quantity}: {free:e}");
        let error = with(1e-15).err().unwrap_or_else(|| panic!("{quantity} is known to 1e-15"));
        assert!(error.is_tolerance(), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("{quantity}: the certified bounds are ")), "{text}");
        assert!(text.ends_with("wide relative to the value, wider than the tolerance 1.0e-15"), "{text}");
    }

    #[test]
    fn a_tolerance_is_demanded_of_delta() {
        is_demanded("delta", |release| release.delta(&Epsilon::parse("7").unwrap()));
    }

    #[test]
    fn a_tolerance_is_demanded_of_epsilon() {
        is_demanded("epsilon", |release| release.epsilon(&Delta::parse("1e-10").unwrap()));
    }

    #[test]
    fn a_tolerance_is_demanded_of_tails() {
        is_demanded("p_tail", |release| release.p_tail(&Epsilon::parse("7").unwrap()));
        is_demanded("q_tail", |release| release.q_tail(&Epsilon::parse("7").unwrap()));
    }

    #[test]
    fn a_tolerance_is_demanded_of_the_trade_off_function() {
        is_demanded("tradeoff", |release| release.tradeoff(&Alpha::parse("0.05").unwrap()));
    }

    #[test]
    fn a_tolerance_is_demanded_of_the_power() {
        is_demanded("power", |release| release.power(&Alpha::parse("0.05").unwrap()));
    }

    #[test]
    fn knots_are_known_to_the_tolerance_or_not_listed() {
        let release = Composition::new([(DiscreteGaussian::parse("3", "1").unwrap(), 1)]).unwrap();
        let ask = |tolerance: f64| {
            release.clone().with_tolerance(tolerance).unwrap().knots(&"-1".parse()?, &"1".parse()?)
        };
        assert_eq!(ask(1e-9).unwrap().len(), 6);
        let error = ask(1e-15).unwrap_err();
        assert!(error.is_tolerance() && error.to_string().starts_with("knot at "), "{error}");
    }

    /// More effort, narrower bounds, and inside those of less but for the rounding.
    #[test]
    fn bounds_narrow_with_effort() {
        let groups =
            || smoothed().groups().iter().map(|g| (g.mechanism.clone(), g.count)).collect::<Vec<_>>();
        let [fast, normal, thorough] =
            Effort::ALL.map(|effort| Composition::with_effort(groups(), effort).unwrap());
        assert!(!fast.is_same(&normal) && normal.is_same(&normal.clone()));
        for epsilon in ["0.5", "3", "7", "15"] {
            let at = Epsilon::parse(epsilon).unwrap();
            let [fast, normal, thorough] = [&fast, &normal, &thorough].map(|c| c.delta(&at).unwrap());
            let widths = [fast, normal, thorough].map(|bounds| bounds.relative_width());
            assert!(widths[0] <= 1e-5 && widths[1] <= 1e-6 && widths[2] <= 1e-9, "{epsilon}: {widths:?}");
            for (wide, narrow) in [(fast, normal), (normal, thorough)] {
                let slack = |x: Magnitude| x.mul(Magnitude::from_f64(1e-11), Round::Up);
                let (lower, upper) = (wide.lower(), wide.upper());
                assert!(
                    lower <= narrow.lower().add(slack(lower), Round::Up),
                    "{epsilon}: {wide:?} {narrow:?}"
                );
                assert!(
                    narrow.upper() <= upper.add(slack(upper), Round::Up),
                    "{epsilon}: {wide:?} {narrow:?}"
                );
            }
        }
    }
}
