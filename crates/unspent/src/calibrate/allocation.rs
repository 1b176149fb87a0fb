//! An allocation that spends what was promised: all levels scaled alike, or each level by itself.

use serde::Serialize;

use super::Target;
use crate::allocation::Allocation;
use crate::certificate::stated_delta;
use crate::error::{Error, Result};
use crate::number::{Rational, Round};
use crate::quantity::{Delta, Epsilon, Rho};
use crate::release::{Release, Scope};
use crate::report::{self, Figure};
use crate::worst::WorstCase;
use crate::zcdp::Conversion;

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
    /// The ε that was promised for the whole release, stated or published by a conversion.
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
        // What was promised for the whole, which levels calibrated by themselves may exceed together. It stays in the file.
        let whole = match (&promises[0], self.epsilon(), self.delta()) {
            (Some(target), ..) => Some(target.clone()),
            (None, Some(epsilon), Some(own)) => Some(Target { epsilon: epsilon.clone(), delta: own.clone() }),
            _ => match self.promised_by_conversion(promise) {
                Some(promise) => Some(target(&before.worst_case(&Scope::Total)?, &promise, &delta)?),
                None => None,
            },
        };
        let scaled = self.scaled_in_short(&factors, each_level)?;
        let allocation = match whole.clone() {
            Some(Target { epsilon, delta }) => scaled.promising(delta, Some(epsilon)),
            None => scaled.promising(delta.clone(), None),
        };
        let factors: Vec<Rational> =
            self.levels().iter().zip(allocation.levels()).map(|(old, new)| &old.rho() / &new.rho()).collect();
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
        let exceeds = match &whole {
            Some(whole) if each_level => !after.worst_case(&Scope::Total)?.meets(whole)?,
            _ => false,
        };
        Ok(Recalibration {
            published: whole.map(|whole| Figure::Exact(whole.epsilon.value().clone())),
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

impl Allocation {
    /// The conversion behind what was published for the whole, if there is one.
    fn promised_by_conversion(&self, promise: &Promise) -> Option<Promise> {
        match promise {
            Promise::Published(_) => Some(promise.clone()),
            Promise::Epsilon(_) => self.conversion().map(Promise::Published),
        }
    }
}

impl Recalibration {
    /// Whose noise it is before and after, with what the whole release delivers.
    #[must_use]
    pub fn change(&self) -> Change {
        let total = &self.rows[0];
        let name = self.name.trim_end_matches(", calibrated");
        Change {
            before: Whose { name: self.name.clone(), epsilon: total.tight_before.clone() },
            after: Whose { name: format!("{name}, calibrated"), epsilon: total.tight_after.clone() },
            delta: self.delta.clone(),
            scope: self.scope,
            promised: self.published.clone(),
            exceeds: self.exceeds,
        }
    }
}

/// Noise before and after, and what the whole release delivers with either.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Before.
    pub before: Whose,
    /// After.
    pub after: Whose,
    /// The δ of every ε.
    #[serde(serialize_with = "report::exactly")]
    pub delta: Rational,
    /// `total` if all levels were scaled alike, `level` if each by itself, `other` if they are two allocations.
    pub scope: &'static str,
    /// The ε that was promised for the whole release, if one was.
    pub promised: Option<Figure>,
    /// Whether the whole release is not certified to keep it after.
    pub exceeds: bool,
}

/// An allocation and the ε of the whole of it.
#[derive(Clone, Debug, Serialize)]
pub struct Whose {
    /// What it is called.
    pub name: String,
    /// The least ε of the whole release.
    pub epsilon: Figure,
}

impl Change {
    /// From one allocation to another, at `delta` or at what the first states; none if neither says a δ.
    pub fn between(before: &Allocation, after: &Allocation, delta: Option<&Delta>) -> Result<Option<Change>> {
        let Some(delta) = delta.or(before.delta()).or(after.delta()) else { return Ok(None) };
        let whose = |allocation: &Allocation| {
            let total = Release::from(allocation.clone()).worst_case(&Scope::Total)?;
            Ok::<_, Error>(Whose { name: allocation.name().into(), epsilon: total.epsilon(delta)?.into() })
        };
        let (first, second) = (whose(before)?, whose(after)?);
        Ok(Some(Change {
            exceeds: second.epsilon.upper() > first.epsilon.upper(),
            before: first,
            after: second,
            delta: delta.value().clone(),
            scope: "other",
            promised: None,
        }))
    }

    /// Whose noise it is, and whether it is the same promise.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let delta = self.delta.to_short();
        let of = |when: &str, whose: &Whose| {
            let epsilon = whose.epsilon.at_most(report::READABLE);
            format!("{when}: {}; the whole release has epsilon ≤ {epsilon} at delta {delta}.", whose.name)
        };
        let mut lines = vec![of("Before", &self.before), of("After", &self.after)];
        if self.scope == "level" {
            lines.push("Each level was calibrated by itself, to what it alone would publish.".into());
        }
        match (&self.promised, self.exceeds) {
            (Some(promised), true) => lines.push(format!(
                "NOT THE SAME PROMISE: together the levels exceed the epsilon of {} that was promised for the whole.",
                promised.at_most(report::READABLE)
            )),
            (Some(promised), false) => {
                let both = self.before.epsilon.upper() <= promised.upper();
                let who = if both { "Both keep" } else { "Only the noise after keeps" };
                let promised = promised.at_most(report::READABLE);
                lines.push(format!("{who} the epsilon of {promised} that was promised for the whole."));
            }
            (None, true) => lines.push("NOT THE SAME PROMISE: the whole release has a larger epsilon after.".into()),
            (None, false) => {}
        }
        lines
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
    Err(Error::not_certified(
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
