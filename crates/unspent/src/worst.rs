//! The guarantee over every composition that neighbours can come down to.
//!
//! Where units were bypassed, the noise of a record's measurements depends on its path through the
//! geography, and two neighbouring data sets differ in the cells of one path or of two. Each such pair of
//! paths is a *case*: a composition of its own. A guarantee holds for all of them: δ(ε) is the largest over
//! the cases, ε(δ) likewise, and the trade-off function is the smallest (`theory/neighbours.md`, N8).
//!
//! All cases are bounded in fast mode. Only those that may be the largest are then computed as well as one
//! alone would be.

mod attack;
mod case;
mod glance;

use std::sync::Arc;

pub(crate) use case::Case;

use crate::allocation::Path;
use crate::calibrate::{Calibration, Shape, Target, least_factor};
use crate::composition::Composition;
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::number::float::Dd;
use crate::number::{Bounds, Magnitude, Number, Rational};
use crate::parallel;
use crate::profile::Method;
use crate::quantity::{Delta, Epsilon, Rho};
use crate::zcdp::canonne_kamath_steinke_delta;

/// The paths that a record of one product leaves and enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path of the cells that it leaves.
    pub from: Path,
    /// The path of the cells that it enters.
    pub to: Path,
}

/// The worst of the compositions that neighbours can come down to.
#[derive(Clone, Debug)]
pub struct WorstCase {
    cases: Vec<Arc<Case>>,
    /// Those that some neighbours are known to come down to, if that is not known of all.
    attained: Option<Vec<Arc<Case>>>,
    /// There are more cases than can be listed, all with a budget up to this: upper ends are those of zCDP.
    unlisted: Option<Rho>,
    effort: Effort,
}

/// Two ends of a certified pair that can be compared.
trait End: Copy + PartialOrd + std::fmt::Debug + Send + Sync {
    const ZERO: Self;

    /// Whether it is above `best` by so little that it is not worth more work.
    fn is_near(self, best: Self) -> bool;
}

/// Of ε: a part in a million, about what its bounds are wide anyway.
impl End for f64 {
    const ZERO: f64 = 0.0;

    fn is_near(self, best: f64) -> bool {
        self <= best * (1.0 + 1e-6)
    }
}

/// Of δ, which calibration needs to all digits: never.
impl End for Magnitude {
    const ZERO: Magnitude = Magnitude::ZERO;

    fn is_near(self, _: Magnitude) -> bool {
        false
    }
}

impl From<Composition> for WorstCase {
    fn from(composition: Composition) -> WorstCase {
        let groups = composition.groups().iter().map(|g| (g.mechanism.clone(), g.count));
        let case = Case::new(vec![], groups.collect());
        let effort = composition.effort();
        let _ = case.composed[effort as usize].set(Ok(composition));
        WorstCase::new(vec![Arc::new(case)], None, effort)
    }
}

impl WorstCase {
    pub(crate) fn new(cases: Vec<Arc<Case>>, attained: Option<Vec<Arc<Case>>>, effort: Effort) -> WorstCase {
        assert!(!cases.is_empty(), "at least one case");
        WorstCase { cases, attained, unlisted: None, effort }
    }

    /// The same, of more cases than are listed, none of which spends more than `rho`.
    pub(crate) fn bounded_by(mut self, rho: Rho) -> WorstCase {
        self.unlisted = Some(rho);
        self
    }

    /// The composition of the first case, which is that of the main path if that is among them.
    pub(crate) fn into_first(self) -> Result<Composition> {
        self.cases[0].made(self.effort)
    }

    /// How many compositions it is the worst of.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cases.len()
    }

    /// Whether neighbours are known that come down to the worst case; otherwise lower ends are those of the
    /// cases of which it is known.
    #[must_use]
    pub fn is_attained(&self) -> bool {
        self.attained.is_none() && self.unlisted.is_none()
    }

    /// Whether there are more cases than can be listed, so that upper ends are those of a conversion from
    /// zCDP.
    #[must_use]
    pub fn is_unlisted(&self) -> bool {
        self.unlisted.is_some()
    }

    /// How much work an answer is worth.
    #[must_use]
    pub fn effort(&self) -> Effort {
        self.effort
    }

    fn is_fast(&self) -> bool {
        self.effort == Effort::Fast
    }

    /// Whether the two are the worst of the same compositions.
    pub(crate) fn is_same(&self, other: &WorstCase) -> bool {
        let same = |a: &[Arc<Case>], b: &[Arc<Case>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let attained = match (&self.attained, &other.attained) {
            (None, None) => true,
            (Some(a), Some(b)) => same(a, b),
            _ => false,
        };
        let unlisted = self.unlisted == other.unlisted;
        self.effort == other.effort && attained && unlisted && same(&self.cases, &other.cases)
    }

    /// The composition, if there is only one.
    pub fn only(&self) -> Result<Option<&Composition>> {
        match self.cases.as_slice() {
            [only] if self.is_attained() => self.best_of(only).map(Some),
            _ => Ok(None),
        }
    }

    fn best_of<'c>(&self, case: &'c Case) -> Result<&'c Composition> {
        case.composed(self.effort)
    }

    /// As well as can be where the answer counts: not in fast mode.
    fn well<'c>(&self, case: &'c Case) -> Result<&'c Composition> {
        case.composed(self.effort.max(Effort::Normal))
    }

    /// How answers are obtained.
    pub fn method(&self) -> Result<Method> {
        Ok(self.best_of(&self.cases[0])?.method())
    }

    /// The largest ρ of the cases: the least one of Gaussian noise, and one that is implied of other
    /// mechanisms; an error names a mechanism of which zCDP bounds nothing.
    pub fn rho(&self) -> Result<Number> {
        if let Some(rho) = &self.unlisted {
            return Ok(Number::Exact(rho.value().clone()));
        }
        if let [only] = self.cases.as_slice()
            && only.also.is_empty()
            && only.groups.iter().all(|(noise, _)| noise.mu_squared().is_some())
        {
            return self.best_of(only)?.known_rho();
        }
        let rhos = parallel::map(&self.cases, |case| case.rho()).into_iter().collect::<Result<Vec<_>>>()?;
        Ok(Number::Exact(rhos.into_iter().max().expect("at least one case")))
    }

    /// The least δ for which every case is (ε, δ)-differentially private.
    pub fn delta(&self, epsilon: &Epsilon) -> Result<Bounds<Magnitude>> {
        let found = self.largest(|case, _| case.glance()?.delta(epsilon), |case| case.delta(epsilon))?.0;
        Ok(match &self.unlisted {
            Some(rho) => Bounds::new(found.lower(), rho.delta_canonne_kamath_steinke(epsilon)),
            None => found,
        })
    }

    /// Not below δ of any case, at an ε ≥ 0 that is a double: for whole curves in fast mode.
    pub(crate) fn profile(&self) -> Result<impl Fn(Dd) -> Magnitude + Sync + '_> {
        let cases = match self.cases.as_slice() {
            [only] => vec![self.best_of(only)?],
            cases => cases.iter().map(|case| case.glance()).collect::<Result<_>>()?,
        };
        Ok(move |epsilon| {
            if let Some(rho) = &self.unlisted {
                return canonne_kamath_steinke_delta(rho.value().to_dd(), epsilon);
            }
            let above = |a: Magnitude, b: Magnitude| if a < b { b } else { a };
            cases.iter().map(|case| case.delta_above(epsilon)).reduce(above).expect("at least one case")
        })
    }

    /// The least ε for which every case is (ε, δ)-differentially private.
    pub fn epsilon(&self, delta: &Delta) -> Result<Bounds<f64>> {
        Ok(self.epsilon_and_routes(delta)?.0)
    }

    /// The same, and the paths of the case that has it.
    pub(crate) fn epsilon_and_routes(&self, delta: &Delta) -> Result<(Bounds<f64>, &[Route])> {
        // What reveals for certain is the same in all cases: noise of allocations does not.
        self.cases[0].glance()?.has_finite_epsilon(delta)?;
        let quick = |case: &Case, floor: Option<f64>| {
            let Some(known) = floor else { return Ok(case.glance()?.epsilon_near(delta, None)) };
            let epsilon = Epsilon::new(Rational::from_f64("epsilon", known)?)?;
            let found = case.quick_epsilon(&Target { epsilon, delta: delta.clone() })?;
            // What is certainly not above the floor need not be known better.
            Ok(found.unwrap_or(Bounds::new(0.0, known)))
        };
        let (mut found, mut worst) = match self.is_fast() {
            true => self.largest_epsilon(delta)?,
            false => self.largest(quick, |case| case.epsilon(delta))?,
        };
        let is_wide = self.attained.is_none() && found.upper() > found.lower() * (1.0 + WIDE);
        if self.is_fast() && self.cases.len() > 1 && is_wide {
            // A sparse law is known widely at a glance: here it is worth the time to know it well.
            let well = WorstCase { effort: Effort::Normal, ..self.clone() };
            (found, worst) = well.largest(quick, |case| case.epsilon(delta))?;
        }
        let found = match &self.unlisted {
            Some(rho) => Bounds::new(found.lower(), rho.epsilon_canonne_kamath_steinke(delta)),
            None => self.cases[0].glance()?.known_finite(delta, found)?,
        };
        Ok((found, &self.cases[worst].routes))
    }

    /// The largest over the cases, and the index of the case that has it: all in fast mode, then those that
    /// may be the largest as well as can be.
    fn largest<T: End>(
        &self,
        quick: impl Fn(&Case, Option<T>) -> Result<Bounds<T>> + Sync,
        full: impl Fn(&Composition) -> Result<Bounds<T>> + Sync,
    ) -> Result<(Bounds<T>, usize)> {
        let (found, worst) = self.largest_of(&self.cases, &quick, &full)?;
        let Some(attained) = &self.attained else { return Ok((found, worst)) };
        // Neighbours that are known may move nothing at all.
        let lower = match attained.as_slice() {
            [] => T::ZERO,
            attained => self.largest_of(attained, &quick, &full)?.0.lower(),
        };
        Ok((Bounds::new(lower, found.upper()), worst))
    }

    fn largest_of<T: End>(
        &self,
        cases: &[Arc<Case>],
        quick: &(impl Fn(&Case, Option<T>) -> Result<Bounds<T>> + Sync),
        full: &(impl Fn(&Composition) -> Result<Bounds<T>> + Sync),
    ) -> Result<(Bounds<T>, usize)> {
        if let [only] = cases {
            return Ok((full(self.best_of(only)?)?, 0));
        }
        let above = |a: T, b: T| if a < b { b } else { a };
        let lower = |found: &[Bounds<T>]| found.iter().map(Bounds::lower).reduce(above).expect("not empty");
        // The first is that of the main path, the second likely the worst. What they prove spares the others
        // most of the work. The rest in blocks, so that what is asked of a case depends on those before it
        // and not on the threads.
        let order = likeliest_first(cases);
        let first = quick(&cases[0], None)?;
        let mut found = vec![first; cases.len()];
        let mut floor = first.lower();
        let blocks = std::iter::once(&order[..1]).chain(order[1..].chunks(BLOCK));
        for block in blocks {
            for (i, bounds) in block.iter().zip(parallel::map(block, |i| quick(&cases[*i], Some(floor)))) {
                found[*i] = bounds?;
            }
            floor = block.iter().map(|i| found[*i].lower()).fold(floor, above);
        }
        let most = |found: &[Bounds<T>]| {
            let greater = |a: usize, b: usize| if found[a].upper() < found[b].upper() { b } else { a };
            (0..found.len()).reduce(greater).expect("not empty")
        };
        if !self.is_fast() {
            // The likeliest first: what they prove leaves fewer to look at.
            let mut refined = vec![false; cases.len()];
            let mut next = vec![most(&found)];
            while !next.is_empty() {
                for (i, bounds) in next.iter().zip(parallel::map(&next, |i| full(self.well(&cases[*i])?))) {
                    found[*i] = bounds?;
                    refined[*i] = true;
                }
                let known = (0..cases.len()).filter(|i| refined[*i]).map(|i| found[i].upper());
                let (floor, best) = (lower(&found), known.reduce(above).expect("the likeliest"));
                let is_rival = |i: &usize| !refined[*i] && found[*i].upper() > floor;
                next = (0..cases.len()).filter(is_rival).collect();
                let higher = |a: &usize, b: &usize| found[*b].upper().partial_cmp(&found[*a].upper());
                next.sort_by(|a, b| higher(a, b).expect("ends are numbers"));
                next.truncate(BLOCK);
                // Where very many are all but equal, what a glance proves of the rest is good enough.
                let is_many = refined.iter().filter(|known| **known).count() > BLOCK;
                if is_many && next.first().is_some_and(|i| found[*i].upper().is_near(best)) {
                    break;
                }
            }
        }
        let worst = most(&found);
        Ok((Bounds::new(lower(&found), found[worst].upper()), worst))
    }

    /// Whether δ of every case at the target's ε is certified to be at most the target's δ.
    pub fn meets(&self, target: &Target) -> Result<bool> {
        Ok(target.is_met_by(&self.delta(&target.epsilon)?))
    }

    /// A common factor of all σ² with which every case meets the target, and one right below with which one
    /// does not.
    pub fn scale_meeting(&self, target: &Target) -> Result<Calibration> {
        if self.unlisted.is_some() {
            // What zCDP proves with the noise as it is; nothing better is known of all cases.
            let one = Rational::integer(1);
            if self.meets(target)? {
                return Ok(Calibration { satisfying: one, failing: None, shape: Shape::NotScanned });
            }
            return Err(Error::not_certified(
                "there are too many pairs of paths to look for less noise",
                "calibrate the products one by one",
            ));
        }
        if self.cases.iter().any(|case| case.groups.is_empty()) {
            return Err(Error::stated(
                "there is no noise to scale: only other mechanisms for the same record are there",
                "an allocation with levels has noise",
            ));
        }
        if let [only] = self.cases.as_slice() {
            return self.well(only)?.scale_of_first_meeting(only.groups.len(), target);
        }
        // Where to begin need not be known well: every round ends with all cases.
        let glance = WorstCase { effort: Effort::Fast, ..self.clone() };
        let (_, mut next) = glance
            .largest(|case, _| case.glance()?.delta(&target.epsilon), |case| case.delta(&target.epsilon))?;
        // What is enough for one case may be less than any noise in another.
        let groups = self.cases.iter().flat_map(|case| &case.groups);
        let sigmas: Vec<f64> = groups.filter_map(|(noise, _)| Some(noise.sigma2()?.to_f64())).collect();
        let floor = (!sigmas.is_empty()).then(|| least_factor(&sigmas));
        let mut best: Option<Calibration> = None;
        // Each round adds the case that is farthest from meeting the target with what was found for those
        // before it.
        for _ in 0..ROUNDS {
            let case = &self.cases[next];
            let mut found = self.well(case)?.scale_of_first_meeting(case.groups.len(), target)?;
            if let Some(floor) = floor.as_ref().filter(|floor| found.satisfying < **floor) {
                found = Calibration { satisfying: floor.clone(), failing: None, ..found };
            }
            best = Some(match best {
                Some(before) if found.satisfying <= before.satisfying => {
                    Calibration { satisfying: widened(&before.satisfying), ..before }
                }
                _ => found,
            });
            let Calibration { satisfying, failing, .. } = best.clone().expect("just set");
            let scaled = self.scaled(&satisfying)?;
            let (delta, worst) = scaled.largest(
                |case, _| case.glance()?.delta(&target.epsilon),
                |case| case.delta(&target.epsilon),
            )?;
            if target.is_met_by(&delta) {
                return Ok(Calibration { satisfying, failing, shape: Shape::NotScanned });
            }
            next = worst;
        }
        Err(Error::not_certified(
            "no factor could be certified to keep the promise on every path",
            "ask for a less extreme target",
        ))
    }

    /// The same cases with all variances times a factor.
    fn scaled(&self, factor: &Rational) -> Result<WorstCase> {
        let scale = |case: &Arc<Case>| {
            let groups = case.groups.iter().map(|(noise, count)| {
                let sigma2 = noise.sigma2().ok_or_else(|| noise.refuses("variance sigma2 to be scaled"))?;
                Ok((noise.with_sigma2(sigma2 * factor)?, *count))
            });
            let scaled = Case::new(case.routes.clone(), groups.collect::<Result<_>>()?);
            Ok(Arc::new(scaled.beside(case.also.clone())))
        };
        let cases = self.cases.iter().map(scale).collect::<Result<_>>()?;
        Ok(WorstCase { cases, attained: None, unlisted: None, effort: self.effort })
    }
}

/// All cases but the first, the one that is likely the worst first: the one with the largest budget and, of
/// equal ones, the one with the fewest kinds, which has the most of it in one place.
fn likeliest_first(cases: &[Arc<Case>]) -> Vec<usize> {
    let size = |i: &usize| (cases[*i].rough_rho(), std::cmp::Reverse(cases[*i].groups.len()));
    let larger = |a: &usize, b: &usize| size(a).partial_cmp(&size(b)).expect("budgets are numbers");
    let likely = (1..cases.len()).max_by(larger).expect("more than one case");
    let mut order: Vec<usize> = (1..cases.len()).filter(|i| *i != likely).collect();
    order.insert(0, likely);
    order
}

/// Relative width of ε beyond which a glance in fast mode was not enough.
const WIDE: f64 = 1e-4;

/// Cases that are asked the same at a time.
const BLOCK: usize = 32;

/// Rounds of a calibration.
const ROUNDS: usize = 40;

/// A little more noise, in as many digits: what two cases ask for may differ by less than can be told.
fn widened(factor: &Rational) -> Rational {
    let more = factor.to_f64() * (1.0 + 1e-9);
    format!("{more:.11e}").parse().expect("a decimal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Described;

    /// Of one level alone, say, of which the paths move one cell or two.
    #[test]
    fn noise_without_a_variance_is_refused_over_several_cases() {
        let case = |count| {
            let Described { mechanism, .. } = Described::parse("laplace:scale=10").unwrap();
            Arc::new(Case::new(vec![], vec![(mechanism, count)]))
        };
        let worst = WorstCase::new(vec![case(2), case(1)], None, Effort::Normal);
        let target = Target { epsilon: Epsilon::parse("1").unwrap(), delta: Delta::parse("1e-6").unwrap() };
        let error = worst.scale_meeting(&target).unwrap_err().to_string();
        assert!(error.contains("variance"), "{error}");
    }
}
