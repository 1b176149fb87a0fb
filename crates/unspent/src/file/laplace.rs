//! Laplace noise in an allocation file: of a level, or of a query at a level.
//!
//! ```toml
//! [[levels]]
//! name = "County"
//! mechanism = "discrete-laplace"
//! [levels.epsilon]
//! total = "0.5"
//!
//! [[levels]]
//! name = "Block"
//! [levels.rho]
//! total = "0.01"
//! by_age = { mechanism = "discrete-laplace", scale = "4" }
//! ```
//!
//! Its width is a scale b, or a budget ε of pure differential privacy: b = mΔ/ε. Shares and ρ are for
//! Gaussian noise.

use toml::de::DeValue;

use super::reader::{Reader, Table, Value, is_table};
use crate::allocation::Budget;
use crate::error::{Error, Result};
use crate::mechanism::{LaplaceKind, kind_named};

/// How the width of Laplace noise is said.
#[derive(Clone, Copy)]
pub(super) enum Width {
    Scale,
    Epsilon,
}

impl Width {
    const ALL: [Width; 2] = [Width::Scale, Width::Epsilon];

    pub(super) fn name(self) -> &'static str {
        match self {
            Width::Scale => "scale",
            Width::Epsilon => "epsilon",
        }
    }
}

const ENTRY_KEYS: &[&str] = &["mechanism", "scale", "epsilon"];
const HINT: &str = "Laplace noise has a scale b, or an epsilon of pure differential privacy; rho and shares \
                    are for Gaussian noise";

/// The kind of noise that is named, if it is not Gaussian.
pub(super) fn laplace_kind(name: &str) -> Result<Option<LaplaceKind>> {
    match kind_named(name).as_str() {
        "discrete_gaussian" => Ok(None),
        "laplace" => Ok(Some(LaplaceKind::Continuous)),
        "discrete_laplace" => Ok(Some(LaplaceKind::Discrete)),
        _ => Err(Error::input(
            "mechanism",
            name,
            "`discrete-gaussian`, `laplace`, or `discrete-laplace` (geometric)",
            "an allocation adds noise of one of these kinds",
        )),
    }
}

impl<'t> Reader<'t> {
    fn laplace_kind(&self, value: &Value<'t>) -> Result<Option<LaplaceKind>> {
        self.parsed("mechanism", value, laplace_kind)
    }

    /// The kind, the width and the table of widths of a level whose noise is Laplace noise.
    pub(super) fn laplace_level<'v>(
        &self,
        table: &Table<'v, 't>,
        name: &str,
    ) -> Result<Option<(LaplaceKind, Width, &'v Value<'t>)>> {
        let kind = table.get("mechanism").map_or(Ok(None), |value| self.laplace_kind(value))?;
        let Some(kind) = kind else {
            return match table.get("epsilon") {
                None => Ok(None),
                Some(value) => self.refuse(
                    value.span(),
                    format!(
                        "level `{name}`: epsilon is a budget of Laplace noise, and its noise is Gaussian"
                    ),
                    "add mechanism = \"discrete-laplace\", or give rho",
                ),
            };
        };
        for key in ["share", "shares", "rho", "sigma2", "sigma"] {
            if let Some(value) = table.get(key) {
                let cause =
                    format!("level `{name}`: {key} is for Gaussian noise, and its noise is Laplace noise");
                return self.refuse(value.span(), cause, HINT);
            }
        }
        match Width::ALL.map(|width| table.get(width.name()).map(|value| (kind, width, value))) {
            [Some(found), None] | [None, Some(found)] => Ok(Some(found)),
            _ => self.refuse(
                table.head.clone(),
                format!("level `{name}`: its budget is missing or given twice"),
                "a level of Laplace noise has a table scale or a table epsilon",
            ),
        }
    }

    /// The noise of one query at a level.
    pub(super) fn laplace_budget(
        &self,
        kind: LaplaceKind,
        width: Width,
        value: &Value<'t>,
    ) -> Result<Budget> {
        if is_table(value) {
            return self.laplace_entry(value);
        }
        let number = self.number(width.name(), value, Ok)?;
        Ok(match width {
            Width::Scale => Budget::LaplaceScale(kind, number),
            Width::Epsilon => Budget::LaplaceEpsilon(kind, number),
        })
    }

    /// The noise of one query that has its own kind: `{ mechanism = "discrete-laplace", epsilon = "0.5" }`.
    pub(super) fn laplace_entry(&self, value: &Value<'t>) -> Result<Budget> {
        let DeValue::Table(entry) = value.get_ref() else {
            return self.refuse(value.span(), "not a table", HINT);
        };
        let entry = self.table(entry, value.span(), ENTRY_KEYS)?;
        let hint = "a query of its own noise is { mechanism = \"discrete-laplace\", epsilon = \"0.5\" }";
        let Some(kind) = self.laplace_kind(entry.needs("mechanism", hint)?)? else {
            let cause = "mechanism: a query of its own noise is for Laplace noise";
            return self.refuse(value.span(), cause, "Gaussian noise is given by a number alone");
        };
        let widths = Width::ALL.map(|width| entry.get(width.name()).map(|value| (width, value)));
        match widths {
            [Some((width, value)), None] | [None, Some((width, value))] if !is_table(value) => {
                self.laplace_budget(kind, width, value)
            }
            _ => self.refuse(value.span(), "its width is missing or given twice", HINT),
        }
    }
}
