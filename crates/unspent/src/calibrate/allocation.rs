//! An allocation that spends what was promised: all levels scaled alike, or each level by itself.

use serde::Serialize;

use super::Target;
use crate::allocation::Allocation;
use crate::bounds::Round;
use crate::certificate::stated_delta;
use crate::composition::{Delta, Epsilon};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::release::{Release, Scope};
use crate::report::{self, Figure};
use crate::worst::WorstCase;
use crate::zcdp::{Conversion, Rho};

/// What a calibrated allocation must keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// This ε.
    Epsilon(Epsilon),
    /// The ε that this conversion publishes for the allocation as it is.
    Published(Conversion),
}

impl Promise {
    /// The promise that an allocation states, as an ε or by a conversion.
    #[must_use]
    pub fn stated(allocation: &Allocation, delta: Option<&Delta>, each_level: bool) -> Option<Promise> {
        match (allocation.epsilon(), allocation.conversion()) {
            // An ε that is stated is for the whole, and at the allocation's own δ.
            (Some(epsilon), _) if delta.is_none() && !each_level => Some(Promise::Epsilon(epsilon.clone())),
            (_, conversion) => conversion.map(Promise::Published),
        }
    }
}

/// An allocation before and after calibration.
#[derive(Clone, Debug, Serialize)]
pub struct Recalibration {
    /// The allocation that was calibrated.
    pub name: String,
    /// What its figures protect.
    pub neighbours: &'static str,
    /// The δ of every ε.
    #[serde(serialize_with = "report::exactly")]
    pub delta: Rational,
    /// `total` if all levels were scaled alike, `level` if each by itself.
    pub scope: &'static str,
    /// The ε that the conversion published for the whole release, if that is what was kept.
    pub published: Option<Figure>,
    /// Whether the whole release now exceeds it, as it may if each level was scaled by itself.
    pub exceeds: bool,
    /// The total, then every level.
    pub rows: Vec<Row>,
    /// The result.
    #[serde(skip)]
    pub allocation: Allocation,
}

/// One scope, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `total` or `level`.
    pub scope: &'static str,
    /// The name of the level.
    pub name: Option<String>,
    /// The promise for this scope, if it has one.
    pub promised: Option<Figure>,
    /// What all its variances were multiplied with, in JSON rounded up; none for a total whose levels differ.
    #[serde(serialize_with = "rounded_factor")]
    pub factor: Option<Rational>,
    /// Its budget before.
    pub rho_before: Figure,
    /// Its budget after.
    pub rho_after: Figure,
    /// The least ε before.
    pub tight_before: Figure,
    /// The least ε after: its upper end is the guarantee.
    pub tight_after: Figure,
}

impl Allocation {
    /// The smallest noise near the present one that keeps a promise: overall with all variances scaled alike or,
    /// `each_level` by itself, with what one level alone would publish.
    ///
    /// # Guarantee
    /// δ of every scope with a promise is certified to be at most `delta` at the promised ε.
    pub fn calibrate(
        &self,
        promise: &Promise,
        each_level: bool,
        delta: Option<&Delta>,
    ) -> Result<Recalibration> {
        let before = Release::from(self.clone());
        let delta = stated_delta(&before, delta)?;
        let scopes: Vec<Scope> = self.levels().iter().map(|level| Scope::Level(level.name.clone())).collect();
        let mut promises: Vec<Option<Target>> = vec![None; scopes.len() + 1];
        let mut factors = vec![];
        if each_level {
            for (i, scope) in scopes.iter().enumerate() {
                let cases = before.worst_case(scope)?;
                let target = target(&cases, promise, &delta).map_err(|e| e.at(scope))?;
                factors.push(cases.scale_meeting(&target).map_err(|e| e.at(scope))?.satisfying);
                promises[i + 1] = Some(target);
            }
            factors = self.with_levels_above(factors);
        } else {
            let cases = before.worst_case(&Scope::Total)?;
            let target = target(&cases, promise, &delta)?;
            factors = vec![cases.scale_meeting(&target)?.satisfying; scopes.len()];
            promises[0] = Some(target);
        }
        let kept = promises[0].as_ref().map(|target| target.epsilon.clone());
        let allocation = self.scaled_in_short(&factors, each_level)?.promising(delta.clone(), kept);
        let factors: Vec<Rational> =
            self.levels().iter().zip(allocation.levels()).map(|(old, new)| &old.rho() / &new.rho()).collect();
        // What one conversion published for the whole, which levels calibrated by themselves may exceed together.
        let published = match promise {
            Promise::Published(_) => {
                Some(target(&before.worst_case(&Scope::Total)?, promise, &delta)?.epsilon)
            }
            Promise::Epsilon(_) => None,
        };
        let after = Release::from(allocation.clone());
        let common = factors.first().filter(|first| factors.iter().all(|f| f == *first)).cloned();
        let mut rows = vec![];
        let all = std::iter::once((Scope::Total, common))
            .chain(scopes.into_iter().zip(factors.into_iter().map(Some)));
        for ((scope, factor), promise) in all.zip(promises) {
            let (old, new) = (before.worst_case(&scope)?, after.worst_case(&scope)?);
            if let Some(target) = &promise {
                certify(&new, target).map_err(|e| e.at(&scope))?;
            }
            rows.push(Row {
                scope: scope.kind(),
                name: scope.name().map(Into::into),
                promised: promise.map(|target| Figure::Exact(target.epsilon.value().clone())),
                factor,
                rho_before: old.rho()?,
                rho_after: new.rho()?,
                tight_before: old.epsilon(&delta)?.into(),
                tight_after: new.epsilon(&delta)?.into(),
            });
        }
        let exceeds = each_level
            && match &published {
                Some(epsilon) => {
                    let target = Target { epsilon: epsilon.clone(), delta: delta.clone() };
                    certify(&after.worst_case(&Scope::Total)?, &target).is_err()
                }
                None => false,
            };
        Ok(Recalibration {
            published: published.map(|epsilon| Figure::Exact(epsilon.value().clone())),
            exceeds,
            name: self.name().into(),
            neighbours: self.neighbours().name(),
            delta: delta.value().clone(),
            scope: if each_level { "level" } else { "total" },
            rows,
            allocation,
        })
    }
}

fn target(cases: &WorstCase, promise: &Promise, delta: &Delta) -> Result<Target> {
    let epsilon = match promise {
        Promise::Epsilon(epsilon) => epsilon.clone(),
        Promise::Published(conversion) => {
            let published = Rho::new(cases.rho()?.upper())?.epsilon(*conversion, delta);
            Epsilon::new(Rational::from_f64("epsilon", published)?)?
        }
    };
    Ok(Target { epsilon, delta: delta.clone() })
}

/// What is promised is checked once more, on the result.
fn certify(cases: &WorstCase, target: &Target) -> Result<()> {
    if cases.meets(target)? {
        return Ok(());
    }
    Err(Error::unreachable(
        "the calibrated noise could not be certified to keep the promise",
        "ask for a slightly larger epsilon",
    ))
}

fn rounded_factor<S: serde::Serializer>(
    factor: &Option<Rational>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    factor.as_ref().map(|factor| factor.to_decimal(report::FULL, Round::Up)).serialize(serializer)
}
