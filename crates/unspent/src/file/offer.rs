//! What may be measured, without budgets: the levels and queries of a release that is still to be designed.

use super::reader::{DeValue, Reader, Table, is_table};
use crate::allocation::{Allocation, Budget, Neighbours};
use crate::error::Result;
use crate::number::Rational;

/// The keys of a file that say what may be measured, as an allocation file says it.
pub const OFFER_KEYS: &[&str] = &[
    "record",
    "neighbours",
    "invariants",
    "schema",
    "attributes",
    "recodes",
    "impossible",
    "queries",
    "levels",
    "table",
];

impl<'t> Reader<'t> {
    /// An allocation of that name in which every query is asked at every level, with σ² = 1. Levels are a
    /// list of names; the queries are those that the file describes, or all of its schema.
    pub fn offer(&self, root: &Table<'_, 't>, name: &str) -> Result<Allocation> {
        let neighbours = root.needs("neighbours", Neighbours::MEANING)?;
        let neighbours = self.parsed("neighbours", neighbours, Neighbours::parse)?;
        let mut builder = Allocation::builder(name, neighbours)?;
        if let Some(value) = root.get("record") {
            builder.record(&self.string("record", value)?)?;
        }
        let described = root.get("queries").is_some();
        self.parts(root, &mut builder, &|_| !described)?;
        let queries = builder.queries().len();
        if queries == 0 {
            let hint = "write [queries] with what each tells apart, like \"by age\" = [\"age\"]";
            return self.refuse(root.head.clone(), "queries: nothing may be measured", hint);
        }
        let hint =
            "name them from the largest areas to the smallest, like levels = [\"Country\", \"Region\"]";
        let listed = root.needs("levels", hint)?;
        if let DeValue::Array(members) = listed.get_ref()
            && let Some(table) = members.iter().find(|member| is_table(member))
        {
            return self.refuse(table.span(), "levels: budgets are not given here, only names", hint);
        }
        let names = self.names("levels", listed)?;
        if names.is_empty() {
            return self.refuse(listed.span(), "levels: there is none", hint);
        }
        for name in names {
            let level = builder.level(name.get_ref()).map_err(|e| self.at(name.span(), e))?;
            for query in 0..queries {
                let budget = Budget::Sigma2(Rational::integer(1));
                builder.measure(level, query, budget).map_err(|e| self.at(name.span(), e))?;
            }
        }
        self.production(root, builder)
    }
}
