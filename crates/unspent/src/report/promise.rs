//! An ε that is promised: stated as a number, or by a conversion; and whether it is kept.

use serde::Serialize;
use serde::ser::Serializer;

use crate::allocation::Allocation;
use crate::calibrate::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::named::named;
use crate::number::{Number, Rational, Round};
use crate::quantity::{Delta, Epsilon, Rho};
use crate::release::Release;
use crate::report::numerals::{READABLE, brief};
use crate::report::words;
use crate::scope::Scope;
use crate::worst::WorstCase;
use crate::zcdp::Conversion;

/// What is scaled to keep a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scaling {
    /// All levels alike, so that the whole release keeps it.
    #[default]
    Total,
    /// Each level by itself, so that it keeps what it alone would publish.
    Level,
}

impl Scaling {
    /// Both.
    pub const ALL: [Scaling; 2] = [Scaling::Total, Scaling::Level];

    /// `total` or `level`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scaling::Total => "total",
            Scaling::Level => "level",
        }
    }
}

named!(Scaling, "scope", "`total` scales all levels alike, `level` each by itself");

/// The ε that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// This ε.
    Epsilon(Epsilon),
    /// The ε that this conversion gives for the budget.
    Conversion(Conversion),
}

/// `epsilon`, or the name of the conversion.
impl Serialize for Promise {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Promise {
    /// The promise that an allocation states, as an ε or by a conversion.
    ///
    /// An ε that is stated is for the whole, and at the allocation's own δ.
    pub fn stated(allocation: &Allocation, delta: Option<&Delta>, scaling: Scaling) -> Result<Promise> {
        let own_delta = delta.is_none() || delta == allocation.delta();
        match (allocation.epsilon(), allocation.conversion()) {
            (Some(epsilon), _) if own_delta && scaling == Scaling::Total => {
                Ok(Promise::Epsilon(epsilon.clone()))
            }
            (_, Some(conversion)) => Ok(Promise::Conversion(conversion)),
            _ => Err(Error::of_kind(ErrorKind::NoPromise, words::NO_PROMISE, "give the epsilon to keep")),
        }
    }

    /// `epsilon`, or the name of the conversion.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Promise::Epsilon(_) => "epsilon",
            Promise::Conversion(conversion) => conversion.name(),
        }
    }

    /// The (ε, δ) that it means for these compositions.
    pub(crate) fn target(&self, cases: &WorstCase, delta: &Delta) -> Result<Target> {
        let epsilon = match self {
            Promise::Epsilon(epsilon) => epsilon.clone(),
            Promise::Conversion(conversion) => published(*conversion, &cases.rho()?, delta)?,
        };
        Ok(Target { epsilon, delta: delta.clone() })
    }

    /// Whether it says something of that part of a release.
    pub(crate) fn covers(&self, scope: &Scope) -> bool {
        match self {
            Promise::Epsilon(_) => matches!(scope, Scope::Total),
            Promise::Conversion(_) => matches!(scope, Scope::Total | Scope::Level(_)),
        }
    }
}

/// The ε that a conversion gives for a budget.
fn published(conversion: Conversion, rho: &Number, delta: &Delta) -> Result<Epsilon> {
    let epsilon = Rho::new(rho.upper())?.epsilon(conversion, delta);
    Epsilon::new(Rational::from_f64("epsilon", epsilon)?)
}

/// An ε that is stated, beside the ε that is delivered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PromiseCheck {
    /// The product that states it.
    pub product: String,
    /// How.
    pub stated_by: Promise,
    /// What is stated.
    pub epsilon: Rational,
    /// At this δ.
    pub delta: Rational,
    /// The least ε of the whole product at that δ.
    pub delivered: Number,
    /// Whether what is delivered is certified to be at most what is stated; none if that cannot be decided.
    pub kept: Option<bool>,
}

impl PromiseCheck {
    /// Of an ε that is stated for a whole release.
    pub fn new(release: &Release, epsilon: &Epsilon, delta: &Delta) -> Result<PromiseCheck> {
        let total = release.worst_case(&Scope::Total)?;
        let delivered = Number::from(total.epsilon(delta)?);
        PromiseCheck::of(release, Promise::Epsilon(epsilon.clone()), epsilon, delta, delivered)
    }

    /// Of what an allocation states, as an ε or by a conversion; `delivered` is its ε at the δ that it
    /// states, if that is known already.
    pub(crate) fn stated(
        allocation: &Allocation,
        delivered: Option<&Number>,
    ) -> Result<Option<PromiseCheck>> {
        let Some(delta) = allocation.delta() else { return Ok(None) };
        let release = Release::from(allocation.clone());
        let find = || match delivered {
            Some(delivered) => Ok::<_, Error>(delivered.clone()),
            None => Ok(release.worst_case(&Scope::Total)?.epsilon(delta)?.into()),
        };
        match (allocation.epsilon(), allocation.conversion()) {
            (Some(epsilon), _) => {
                let by = Promise::Epsilon(epsilon.clone());
                PromiseCheck::of(&release, by, epsilon, delta, find()?).map(Some)
            }
            (None, Some(conversion)) => {
                let rho = match release.on_main_paths().worst_case(&Scope::Total)?.rho() {
                    Ok(rho) => rho,
                    // Of some mechanism zCDP says nothing, and neither does a conversion.
                    Err(_) if release.has_also() => return Ok(None),
                    Err(error) => return Err(error),
                };
                let epsilon = published(conversion, &rho, delta)?;
                PromiseCheck::of(&release, Promise::Conversion(conversion), &epsilon, delta, find()?)
                    .map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    fn of(
        release: &Release,
        stated_by: Promise,
        epsilon: &Epsilon,
        delta: &Delta,
        delivered: Number,
    ) -> Result<PromiseCheck> {
        let stated = epsilon.value();
        let target = Target { epsilon: epsilon.clone(), delta: delta.clone() };
        let kept = if delivered.upper() <= *stated {
            Some(true)
        } else if delivered.lower() > *stated {
            Some(false)
        } else {
            // Between the two ends: the target itself may still be decided.
            release.worst_case(&Scope::Total)?.meets(&target)?.then_some(true)
        };
        Ok(PromiseCheck {
            product: release.name(),
            stated_by,
            epsilon: stated.clone(),
            delta: delta.value().clone(),
            delivered,
            kept,
        })
    }

    /// In one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        let stated = match &self.stated_by {
            Promise::Epsilon(_) => brief(&self.epsilon, Round::Up),
            Promise::Conversion(_) => self.epsilon.to_decimal(READABLE, Round::Up),
        };
        let delta = self.delta.to_short();
        match self.kept {
            Some(true) => format!("Promise kept: states epsilon {stated} at delta {delta}."),
            Some(false) => format!(
                "PROMISE NOT KEPT: states epsilon {stated} at delta {delta}, delivers at least {}.",
                self.delivered.at_least(READABLE)
            ),
            None => format!(
                "PROMISE NOT CERTIFIED: states epsilon {stated} at delta {delta}; what is delivered lies \
                 between {} \
                 and {}.",
                self.delivered.at_least(READABLE),
                self.delivered.at_most(READABLE)
            ),
        }
    }
}
