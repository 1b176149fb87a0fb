//! Whether an allocation keeps the ε it states.

use serde::Serialize;

use crate::allocation::Allocation;
use crate::calibrate::Target;
use crate::composition::{Delta, Epsilon};
use crate::error::Result;
use crate::exact::Rational;
use crate::release::{Release, Scope};
use crate::report::{self, Figure};

/// An ε that is stated, beside the ε that is delivered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromiseCheck {
    /// The product that states it.
    pub product: String,
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
    /// Of the ε that an allocation states, or of another one for its total.
    pub fn new(allocation: &Allocation, epsilon: &Epsilon, delta: &Delta) -> Result<PromiseCheck> {
        let total = Release::from(allocation.clone()).worst_case(&Scope::Total)?;
        let delivered = Figure::from(total.epsilon(delta)?);
        let target = Target { epsilon: epsilon.clone(), delta: delta.clone() };
        let stated = epsilon.value();
        let kept = if delivered.upper() <= *stated || total.meets(&target)? {
            Some(true)
        } else if delivered.lower() > *stated {
            Some(false)
        } else {
            None
        };
        Ok(PromiseCheck {
            product: allocation.name().into(),
            epsilon: stated.clone(),
            delta: delta.value().clone(),
            delivered,
            kept,
        })
    }

    /// Of the ε that an allocation states, if it states one.
    pub fn stated(allocation: &Allocation) -> Result<Option<PromiseCheck>> {
        match (allocation.epsilon(), allocation.delta()) {
            (Some(epsilon), Some(delta)) => PromiseCheck::new(allocation, epsilon, delta).map(Some),
            // What a conversion from rho publishes holds: every pair of neighbours spends that rho at most.
            _ => Ok(None),
        }
    }

    /// In one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        let stated = self.epsilon.to_short();
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
