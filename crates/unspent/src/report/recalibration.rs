//! An allocation that spends what was promised: all levels scaled alike, or each level by itself.

use serde::Serialize;

use crate::allocation::{Allocation, Neighbours};
use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::number::{Number, Rational, Round};
use crate::quantity::Delta;
use crate::release::Release;
use crate::report::certificate::stated_delta;
use crate::report::columns::{Column, Columns};
use crate::report::document::{Document, Table};
use crate::report::numerals::{FULL, READABLE, change, number_equals, upper};
use crate::report::promise::Promise;
pub use crate::report::promise::Scaling;
use crate::report::words;
use crate::scope::Scope;
use crate::worst::WorstCase;

/// An allocation before and after calibration.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Recalibration {
    /// The allocation that was calibrated.
    pub name: String,
    /// What one record is.
    #[serde(skip)]
    pub record: String,
    /// What its figures protect.
    pub neighbours: Neighbours,
    /// The δ of every ε.
    pub delta: Rational,
    /// What was scaled: all levels alike, or each by itself.
    pub scope: Scaling,
    /// The ε that was promised for the whole release, stated or published by a conversion.
    pub published: Option<Number>,
    /// Whether the whole release now exceeds it, as it may if each level was scaled by itself.
    pub exceeds: bool,
    /// The total, then every level.
    pub rows: Vec<Row>,
    /// The result.
    #[serde(skip)]
    pub allocation: Allocation,
}

/// A calibration, and how it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct ShownRecalibration<'r> {
    /// The report.
    pub report: &'r Recalibration,
    /// The lines above its table: what was calibrated, neighbours, δ.
    pub words: Vec<String>,
    /// Every part before and after.
    pub table: Table,
}

/// One scope, before and after.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The total, or a level.
    #[serde(flatten)]
    pub scope: Scope,
    /// The promise for this scope, if it has one.
    pub promised: Option<Number>,
    /// What all its variances were multiplied with, in JSON rounded up; none for a total whose levels differ.
    #[serde(serialize_with = "rounded_factor")]
    pub factor: Option<Rational>,
    /// Its budget before.
    pub rho_before: Number,
    /// Its budget after.
    pub rho_after: Number,
    /// The least ε before.
    pub tight_before: Number,
    /// The least ε after: its upper end is the guarantee.
    pub tight_after: Number,
}

impl Allocation {
    /// The smallest noise near the present one that keeps a promise: with all variances scaled alike or,
    /// level by level, with what one level alone would publish.
    ///
    /// # Guarantee
    /// δ of every scope with a promise is certified to be at most `delta` at the promised ε.
    pub fn calibrate(
        &self,
        promise: &Promise,
        scaling: Scaling,
        delta: Option<&Delta>,
    ) -> Result<Recalibration> {
        self.needs_gaussian("calibration")?;
        let each_level = scaling == Scaling::Level;
        let before = Release::from(self.clone());
        let delta = stated_delta(&before, delta)?;
        let scopes: Vec<Scope> = self.levels().iter().map(|level| Scope::Level(level.name.clone())).collect();
        let mut promises: Vec<Option<Target>> = vec![None; scopes.len() + 1];
        let mut factors = vec![];
        if each_level {
            for (i, scope) in scopes.iter().enumerate() {
                let cases = before.worst_case(scope)?;
                let target = promise.target(&cases, &delta).map_err(|e| e.at(scope))?;
                factors.push(cases.scale_meeting(&target).map_err(|e| e.at(scope))?.satisfying);
                promises[i + 1] = Some(target);
            }
            factors = self.with_levels_above(factors);
        } else {
            let cases = before.worst_case(&Scope::Total)?;
            let target = promise.target(&cases, &delta)?;
            factors = vec![cases.scale_meeting(&target)?.satisfying; scopes.len()];
            promises[0] = Some(target);
        }
        // What was promised for the whole, which levels calibrated by themselves may exceed together. It
        // stays in the file.
        let whole = match (&promises[0], self.epsilon(), self.delta()) {
            (Some(target), ..) => Some(target.clone()),
            (None, Some(epsilon), Some(own)) => Some(Target { epsilon: epsilon.clone(), delta: own.clone() }),
            _ => match self.promised_by_conversion(promise) {
                Some(promise) => Some(promise.target(&before.worst_case(&Scope::Total)?, &delta)?),
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
                scope,
                promised: promise.map(|target| Number::Exact(target.epsilon.value().clone())),
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
            published: whole.map(|whole| Number::Exact(whole.epsilon.value().clone())),
            exceeds,
            name: self.name().into(),
            record: self.record().into(),
            neighbours: self.neighbours(),
            delta: delta.value().clone(),
            scope: scaling,
            rows,
            allocation,
        })
    }
}

impl Allocation {
    /// The conversion behind what was published for the whole, if there is one.
    fn promised_by_conversion(&self, promise: &Promise) -> Option<Promise> {
        match promise {
            Promise::Conversion(_) => Some(promise.clone()),
            Promise::Epsilon(_) => self.conversion().map(Promise::Conversion),
        }
    }
}

impl Recalibration {
    /// What the result is called: that of the original, calibrated.
    #[must_use]
    pub fn calibrated_name(&self) -> String {
        format!("{}, calibrated", self.name.trim_end_matches(", calibrated"))
    }

    /// The calibration for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.lines(self.words());
        text.line("");
        text.table(self.table());
        text
    }

    /// The report with its table, for a page that shows it.
    #[must_use]
    pub fn shown(&self) -> ShownRecalibration<'_> {
        ShownRecalibration { report: self, words: self.words(), table: self.table() }
    }

    /// The lines above the table: what was calibrated, neighbours, δ.
    fn words(&self) -> Vec<String> {
        vec![self.calibrated_name(), self.neighbours.in_words(&self.record), words::at_delta(&self.delta)]
    }

    /// Every part before and after.
    fn table(&self) -> Table {
        let heads =
            ["noise of", "promised", "upper before (≤)", "upper after (≤)", "factor (certified)", "change"];
        let mut table = Table::new(&heads);
        for row in &self.rows {
            let name = row.scope.name().unwrap_or("the whole release");
            let factor = row.factor.as_ref();
            let cells = vec![
                name.into(),
                row.promised.as_ref().map_or_else(|| "–".into(), upper),
                upper(&row.tight_before),
                upper(&row.tight_after),
                factor.map_or_else(|| "differs".into(), |f| f.to_decimal(12, Round::Up)),
                factor.map_or_else(String::new, change),
            ];
            table.row_about(&row.scope, row.scope.name().unwrap_or("total"), cells);
        }
        let total = &self.rows[0];
        let [before, after] = [&total.rho_before, &total.rho_after].map(number_equals);
        table.note(format!("Before, rho{before}; after, rho{after}."));
        if let (true, Some(published)) = (self.exceeds, &self.published) {
            table.note(format!(
                "WARNING: together the levels exceed the epsilon of {} that was promised for the whole \
                 release.",
                published.at_most(READABLE)
            ));
        } else if total.rho_before.upper() < total.rho_after.upper() {
            table.note("The certified epsilon is what counts: a larger rho keeps the promise.");
        }
        let fell = |row: &Row| {
            row.factor.as_ref().is_some_and(|f| *f < Rational::integer(1))
                && row.tight_after.upper() < row.tight_before.lower()
        };
        if self.rows.iter().any(fell) {
            table.note(
                "Where a few losses dominate, less noise can lower epsilon; both figures are certified.",
            );
        }
        table.note(
            "Columns marked ≤ are valid upper bounds, rounded up. What is promised was checked on the \
             result.",
        );
        table
    }

    /// One row for each part; every ε is rounded up.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let rows = || self.rows.iter();
        Columns(vec![
            Column::text("scope", rows().map(|row| Some(row.scope.kind()))),
            Column::text("name", rows().map(|row| row.scope.name())),
            Column::upper("promised", rows().map(|row| row.promised.as_ref())),
            Column::exact("factor", rows().map(|row| row.factor.clone())),
            Column::upper("tight_before", rows().map(|row| Some(&row.tight_before))),
            Column::upper("tight_after", rows().map(|row| Some(&row.tight_after))),
        ])
    }

    /// Whose noise it is before and after, with what the whole release delivers.
    #[must_use]
    pub fn change(&self) -> Change {
        let total = &self.rows[0];
        Change {
            before: Whose { name: self.name.clone(), epsilon: total.tight_before.clone() },
            after: Whose { name: self.calibrated_name(), epsilon: total.tight_after.clone() },
            delta: self.delta.clone(),
            scope: Some(self.scope),
            promised: self.published.clone(),
            exceeds: self.exceeds,
        }
    }
}

/// Noise before and after, and what the whole release delivers with either.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Before.
    pub before: Whose,
    /// After.
    pub after: Whose,
    /// The δ of every ε.
    pub delta: Rational,
    /// What was scaled; none if they are two allocations.
    pub scope: Option<Scaling>,
    /// The ε that was promised for the whole release, if one was.
    pub promised: Option<Number>,
    /// Whether the whole release is not certified to keep it after.
    pub exceeds: bool,
}

/// An allocation and the ε of the whole of it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Whose {
    /// What it is called.
    pub name: String,
    /// The least ε of the whole release.
    pub epsilon: Number,
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
            scope: None,
            promised: None,
        }))
    }

    /// Whose noise it is, and whether it is the same promise.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let mut lines = vec![
            words::whole("Before", &self.before.name, &self.before.epsilon, &self.delta),
            words::whole("After", &self.after.name, &self.after.epsilon, &self.delta),
        ];
        if self.scope == Some(Scaling::Level) {
            lines.push("Each level was calibrated by itself, to what it alone would publish.".into());
        }
        match (&self.promised, self.exceeds) {
            (Some(promised), true) => lines.push(format!(
                "NOT THE SAME PROMISE: together the levels exceed the epsilon of {} that was promised for \
                 the \
                 whole.",
                promised.at_most(READABLE)
            )),
            (Some(promised), false) => {
                let both = self.before.epsilon.upper() <= promised.upper();
                let who = if both { "Both keep" } else { "Only the noise after keeps" };
                let promised = promised.at_most(READABLE);
                lines.push(format!("{who} the epsilon of {promised} that was promised for the whole."));
            }
            (None, true) => {
                lines.push("NOT THE SAME PROMISE: the whole release has a larger epsilon after.".into())
            }
            (None, false) => {}
        }
        lines
    }
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
    factor.as_ref().map(|factor| factor.to_decimal(FULL, Round::Up)).serialize(serializer)
}
