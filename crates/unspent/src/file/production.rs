//! What an allocation file says of the system that used it: bypassed units, exact values, assumptions.

use toml::Spanned;
use toml::de::DeValue;

use super::reader::{Reader, Table, Value};
use crate::allocation::{
    Allocation, AllocationBuilder, Bypass, ExactValues, Invariant, Production, parse_touches,
};
use crate::error::Result;

const BYPASS_KEYS: &[&str] = &["keep", "paths"];
const INVARIANT_KEYS: &[&str] = &["level", "query", "name", "columns"];

impl<'t> Reader<'t> {
    /// The allocation, with what is known of the system that used it.
    pub(super) fn production(&self, root: &Table<'_, 't>, builder: AllocationBuilder) -> Result<Allocation> {
        let allocation = builder.build().map_err(|e| self.at(0..0, e))?;
        let list = |field: &str, value: &Value<'t>| -> Result<Vec<String>> {
            Ok(self.names(field, value)?.into_iter().map(Spanned::into_inner).collect())
        };
        let mut production = Production::default();
        // The last of the keys whose values may not fit the levels: where an objection points to.
        let mut place = 0..0;
        if let Some(value) = root.get("touches") {
            production.touches = Some(self.parsed("touches", value, parse_touches)?);
        }
        if let Some(value) = root.get("series") {
            production.series = Some(self.string("series", value)?);
        }
        if let Some(value) = root.get("assumptions") {
            production.assumptions = list("assumptions", value)?;
        }
        if let Some(value) = root.get("exact_totals") {
            production.exact_totals = list("exact_totals", value)?;
            place = value.span();
            let only = Production { exact_totals: production.exact_totals.clone(), ..Production::default() };
            allocation.clone().used_by(only).map_err(|e| self.at(place.clone(), e))?;
        }
        if let Some(value) = root.get("invariants") {
            production.invariants = self.invariants(value)?;
            place = value.span();
            let only = Production { invariants: production.invariants.clone(), ..Production::default() };
            allocation.clone().used_by(only).map_err(|e| self.at(place.clone(), e))?;
        }
        if let Some(value) = root.get("bypass") {
            let hint =
                "[bypass] has keep = [\"US\", \"State\"], the levels of every path, or paths = [[…], […]]";
            let table = self.table(self.as_table("bypass", value)?, value.span(), BYPASS_KEYS)?;
            production.bypass = Some(match (table.get("keep"), table.get("paths")) {
                (Some(keep), None) => {
                    place = keep.span();
                    Bypass::Keep(list("keep", keep)?)
                }
                (None, Some(paths)) => {
                    place = paths.span();
                    let DeValue::Array(lists) = paths.get_ref() else {
                        return self.refuse(paths.span(), "paths: not a list of lists", hint);
                    };
                    Bypass::Paths(lists.iter().map(|path| list("paths", path)).collect::<Result<_>>()?)
                }
                _ => {
                    return self.refuse(
                        value.span(),
                        "bypass: one of keep and paths is needed, and not both",
                        hint,
                    );
                }
            });
        }
        allocation.used_by(production).map_err(|e| self.at(place, e))
    }

    fn invariants(&self, value: &Value<'t>) -> Result<Vec<Invariant>> {
        let hint =
            "[[invariants]] has level = \"State\" and query = \"sex\", or a name and columns = [\"…\"]";
        let DeValue::Array(list) = value.get_ref() else {
            return self.refuse(value.span(), "invariants: not a list of tables", hint);
        };
        let mut invariants = vec![];
        for value in list {
            let table = self.table(self.as_table("invariants", value)?, value.span(), INVARIANT_KEYS)?;
            let level = self.string("level", table.needs("level", hint)?)?;
            let values = match (table.get("query"), table.get("name"), table.get("columns")) {
                (Some(query), None, None) => ExactValues::Query(self.string("query", query)?),
                (None, Some(name), Some(columns)) => {
                    let columns = self.names("columns", columns)?.into_iter().map(Spanned::into_inner);
                    ExactValues::Columns(self.string("name", name)?, columns.collect())
                }
                _ => return self.refuse(value.span(), "invariants: a query, or a name and columns", hint),
            };
            invariants.push(Invariant { level, values });
        }
        Ok(invariants)
    }
}
