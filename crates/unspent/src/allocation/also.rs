//! Other mechanisms for the same record: a survey with Laplace noise, a model, a product of which only a
//! budget is known.
//!
//! They are part of the whole release, and of what a change of the record reveals. A reader of one level does
//! not see them.

use super::{Allocation, AllocationBuilder, Neighbours, check_text};
use crate::error::{Error, Result};
use crate::mechanism::{Described, Mechanism};
use crate::number::Rational;

/// Equal mechanisms that one record of an allocation is in, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Also {
    /// The mechanisms.
    pub described: Described,
    /// What one record can do in each of them, in words: it is taken as stated.
    pub note: String,
}

impl Also {
    /// Whether only a bound is known of what it reveals, and no pair of data sets that attains it.
    #[must_use]
    pub fn is_event(&self) -> bool {
        is_event(&self.described.mechanism)
    }
}

fn is_event(mechanism: &Mechanism) -> bool {
    mechanism.is_one_sided() || matches!(mechanism, Mechanism::ApproximateDp(_))
}

impl AllocationBuilder {
    /// Other mechanisms for the same record and the same neighbours; the note says what one record can do in
    /// each.
    pub fn also(&mut self, described: Described, note: &str) -> Result<()> {
        check_text("note", note)?;
        let made = self.made_mut();
        if made.neighbours == Neighbours::Bounded && matches!(described.mechanism, Mechanism::Subsampled(_)) {
            return Err(Error::stated(
                format!(
                    "{}: a sampled mechanism is accounted for if a record is added or removed, \
                     not if it is changed",
                    described.mechanism.kind()
                ),
                "the allocation has bounded neighbours; zcdp or approximate_dp can state what is known",
            ));
        }
        made.also.push(Also { described, note: note.into() });
        Ok(())
    }
}

impl Allocation {
    /// Other mechanisms for the same record.
    #[must_use]
    pub fn also(&self) -> &[Also] {
        &self.also
    }

    /// ρ of the other mechanisms, if zCDP bounds all of them.
    #[must_use]
    pub fn also_rho(&self) -> Option<Rational> {
        let rhos: Option<Vec<Rational>> =
            self.also.iter().map(|a| a.described.mechanism.zcdp(a.described.count)).collect();
        Some(Rational::sum(&rhos?))
    }

    /// What the other mechanisms reveal if `steps` records are added or removed, or changed, one after the
    /// other: group privacy (`theory/neighbours.md`, N12). With `events` or without what is only bounded.
    pub(crate) fn also_in(&self, steps: u64, events: bool) -> Result<Vec<(Mechanism, u64)>> {
        let kept = self.also.iter().filter(|also| events || !also.is_event());
        kept.map(|also| {
            let Described { mechanism, count } = &also.described;
            let grouped = mechanism.in_groups_of(steps).ok_or_else(|| {
                Error::stated(
                    format!(
                        "`{}`: of {}, {} {steps} records at a time have no proved bound",
                        self.name,
                        mechanism.kind(),
                        if *count == 1 { "one mechanism," } else { "mechanisms," },
                    ),
                    "zcdp and pure_dp have one: state what is known of the mechanism so",
                )
            })?;
            Ok((grouped, *count))
        })
        .collect()
    }
}
