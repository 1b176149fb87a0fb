//! Whether an allocation keeps the ε it states.

use serde::Serialize;

use crate::allocation::Allocation;
use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::number::{Rational, Round};
use crate::quantity::{Delta, Epsilon, Rho};
use crate::release::{Release, Scope};
use crate::report::{self, Figure};
use crate::zcdp::Conversion;

/// How an ε is stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedBy {
    /// As a number.
    Epsilon,
    /// As what a conversion gives for the budget.
    Conversion(Conversion),
}

impl Serialize for StatedBy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            StatedBy::Epsilon => "epsilon",
            StatedBy::Conversion(conversion) => conversion.name(),
        })
    }
}

/// An ε that is stated, beside the ε that is delivered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromiseCheck {
    /// The product that states it.
    pub product: String,
    /// How.
    pub stated_by: StatedBy,
    /// What is stated.
    #[serde(serialize_with = "report::exactly")]
    pub epsilon: Rational,
    /// At this δ.
    #[serde(serialize_with = "report::exactly")]
    pub delta: Rational,
    /// The least ε of the whole product at that δ.
    pub delivered: Figure,
    /// Whether what is delivered is certified to be at most what is stated; none if that cannot be decided.
    pub kept: Option<bool>,
}

impl PromiseCheck {
    /// Of an ε that is stated for a whole release.
    pub fn new(release: &Release, epsilon: &Epsilon, delta: &Delta) -> Result<PromiseCheck> {
        let total = release.worst_case(&Scope::Total)?;
        let delivered = Figure::from(total.epsilon(delta)?);
        PromiseCheck::of(release, StatedBy::Epsilon, epsilon, delta, delivered)
    }

    /// Of what an allocation states, as an ε or by a conversion; `delivered` is its ε at the δ that it states, if that is
    /// known already.
    pub(crate) fn stated(
        allocation: &Allocation,
        delivered: Option<&Figure>,
    ) -> Result<Option<PromiseCheck>> {
        let Some(delta) = allocation.delta() else { return Ok(None) };
        let release = Release::from(allocation.clone());
        let find = || match delivered {
            Some(delivered) => Ok::<_, Error>(delivered.clone()),
            None => Ok(release.worst_case(&Scope::Total)?.epsilon(delta)?.into()),
        };
        match (allocation.epsilon(), allocation.conversion()) {
            (Some(epsilon), _) => {
                PromiseCheck::of(&release, StatedBy::Epsilon, epsilon, delta, find()?).map(Some)
            }
            (None, Some(conversion)) => {
                let rho = Rho::new(release.on_main_paths().worst_case(&Scope::Total)?.rho()?.upper())?;
                let epsilon = Rational::from_f64("epsilon", rho.epsilon(conversion, delta))?;
                let by = StatedBy::Conversion(conversion);
                PromiseCheck::of(&release, by, &Epsilon::new(epsilon)?, delta, find()?).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    fn of(
        release: &Release,
        stated_by: StatedBy,
        epsilon: &Epsilon,
        delta: &Delta,
        delivered: Figure,
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
        let stated = match self.stated_by {
            StatedBy::Epsilon => self.epsilon.to_short(),
            StatedBy::Conversion(_) => self.epsilon.to_decimal(report::READABLE, Round::Up),
        };
        let delta = self.delta.to_short();
        match self.kept {
            Some(true) => format!("Promise kept: states epsilon {stated} at delta {delta}."),
            Some(false) => format!(
                "PROMISE NOT KEPT: states epsilon {stated} at delta {delta}, delivers at least {}.",
                self.delivered.at_least(report::READABLE)
            ),
            None => format!(
                "PROMISE NOT CERTIFIED: states epsilon {stated} at delta {delta}; what is delivered lies between {} and {}.",
                self.delivered.at_least(report::READABLE),
                self.delivered.at_most(report::READABLE)
            ),
        }
    }
}
