//! The allocation file. `examples/allocation.toml` of the repository is commented.
//!
//! The text is parsed into values that know their place; everything after that is ours, so that a
//! number stays the text it was written as (`3.65` is 73/20, not the nearest double) and every objection
//! has a line, a column and a hint.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Reader, Table, Value, in_order, is_table};
use super::stated_sigma2;
use crate::allocation::{Allocation, AllocationBuilder, Budget, Form, Neighbours};
use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::mechanism::{self, Stated, parse_shift};
use crate::number::Rational;
use crate::quantity::Rho;
use crate::quantity::{Delta, Epsilon};
use crate::release::Release;
use crate::schema::Schema;
use crate::scope::Scope;
use crate::zcdp::Conversion;

pub(super) const KEYS: &[&str] = &[
    "name",
    "source",
    "record",
    "neighbours",
    "delta",
    "conversion",
    "epsilon",
    "rho",
    "scale",
    "nested",
    "touches",
    "series",
    "assumptions",
    "exact_totals",
    "invariants",
    "bypass",
    "also",
    "schema",
    "attributes",
    "recodes",
    "impossible",
    "queries",
    "levels",
    "table",
];
const LEVEL_KEYS: &[&str] =
    &["name", "mechanism", "share", "shares", "rho", "sigma2", "sigma", "scale", "epsilon"];
const QUERY_KEYS: &[&str] = &["attributes", "shift"];

impl Allocation {
    /// Reads the text of an allocation file; errors call it `origin`.
    pub fn parse(origin: &str, text: &str) -> Result<Allocation> {
        Allocation::parse_toml(origin, text, None)
    }

    /// The same of a file in that folder, which may name others.
    pub(super) fn parse_toml(origin: &str, text: &str, beside: Option<&Path>) -> Result<Allocation> {
        let reader = Reader { origin, text, hint: "every preset is such a file, to start from", beside };
        reader.read(|root| reader.allocation(root))
    }
}

impl<'t> Reader<'t> {
    fn allocation(&self, root: &Spanned<DeTable<'t>>) -> Result<Allocation> {
        let root = self.root(root, KEYS)?;
        let name = self.string("name", root.needs("name", "a line such as name = \"my release\"")?)?;
        let neighbours = root.needs("neighbours", Neighbours::MEANING)?;
        let neighbours = self.parsed("neighbours", neighbours, Neighbours::parse)?;
        let mut builder = Allocation::builder(&name, neighbours)?;
        if let Some(value) = root.get("source") {
            builder.source(&self.string("source", value)?)?;
        }
        if let Some(value) = root.get("record") {
            builder.record(&self.string("record", value)?)?;
        }
        let delta = root.get("delta").map(|v| self.number("delta", v, Delta::new)).transpose()?;
        let conversion =
            root.get("conversion").map(|v| self.parsed("conversion", v, Conversion::parse)).transpose()?;
        let promised = root.get("epsilon");
        let epsilon = promised.map(|v| self.number("epsilon", v, Epsilon::new)).transpose()?;
        let place = promised.map_or(0..0, Spanned::span);
        builder.promise(delta, conversion, epsilon).map_err(|e| self.at(place, e))?;
        let hint = "leave it out if each level lies inside the one before";
        if root.get("nested").map(|v| self.flag("nested", v, hint)).transpose()? == Some(false) {
            builder.not_nested();
        }
        let total = self.total(&root, neighbours)?;
        // Shares of an epsilon: first of a budget of 1, which is then made as large as the promise allows.
        let of_epsilon = promised.filter(|_| total.is_none() && self.has_shares(&root)).map(Spanned::span);
        let total = total.or_else(|| of_epsilon.clone().map(|span| Spanned::new(span, Rational::integer(1))));
        let asked = self.asked(&root);
        self.parts(&root, &mut builder, &|query| asked.contains(query))?;
        let listed = root.get("queries").is_some() || !builder.queries().is_empty();
        self.also(&root, &mut builder)?;
        if root.get("levels").is_some() || !self.has_also(&root) {
            self.levels(&root, total.as_ref(), &mut builder, listed)?;
        }
        builder.form(self.form(&root));
        let allocation = self.production(&root, builder)?;
        match of_epsilon {
            Some(span) => spending_its_promise(allocation).map_err(|e| self.at(span, e)),
            None => Ok(allocation),
        }
    }

    /// The attributes, the schema and the queries: those that the file describes, and those of the schema
    /// that are asked.
    pub(super) fn parts(
        &self,
        root: &Table<'_, 't>,
        builder: &mut AllocationBuilder,
        asked: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        if let Some(value) = root.get("attributes").filter(|value| !is_table(value)) {
            for name in self.names("attributes", value)? {
                builder.attribute(name.get_ref()).map_err(|e| self.at(name.span(), e))?;
            }
        }
        if let Some(schema) = self.schema(root)? {
            self.declare(root, schema, builder, asked)?;
        }
        root.get("queries").map_or(Ok(()), |queries| self.queries(queries, builder))
    }

    /// The queries that levels ask.
    fn asked(&self, root: &Table<'_, 't>) -> HashSet<String> {
        let mut asked = HashSet::new();
        if let Some(DeValue::Array(levels)) = root.get("levels").map(Spanned::get_ref) {
            let tables = levels.iter().filter_map(|level| level.get_ref().as_table());
            let budgets = tables.flat_map(|level| level.values().filter_map(|v| v.get_ref().as_table()));
            asked.extend(budgets.flat_map(|queries| queries.keys().map(|key| key.get_ref().to_string())));
        }
        asked
    }

    /// Declares what follows from the schema: its attributes, and those of its queries that are asked and
    /// that the file does not describe itself.
    fn declare(
        &self,
        root: &Table<'_, 't>,
        schema: Schema,
        builder: &mut AllocationBuilder,
        asked: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let listed = root.get("attributes").filter(|value| !is_table(value));
        if let Some(listed) = listed.filter(|_| root.get("schema").is_some()) {
            let hint = "leave the list out; [queries] may be by attributes and recodes of the schema";
            return self.refuse(listed.span(), "attributes: they follow from the schema", hint);
        }
        let at = root.get("schema").or(root.get("attributes")).map_or(0..0, Spanned::span);
        if listed.is_none() && (root.get("schema").is_some() || root.get("attributes").is_some()) {
            let mut attributes = schema.attributes().iter();
            let declared = attributes.try_for_each(|a| builder.attribute(&a.name));
            declared.map_err(|e| self.at(at.clone(), e))?;
        }
        builder.schema(schema.clone());
        let described = root.get("queries").and_then(|v| v.get_ref().as_table());
        for query in schema.queries() {
            let described = described.is_some_and(|table| table.contains_key(query.name.as_str()));
            if asked(&query.name) && !described {
                builder.query(&query.name, &query.by, 1).map_err(|e| self.at(at.clone(), e))?;
            }
        }
        Ok(())
    }

    /// Whether a level has a share of the total.
    fn has_shares(&self, root: &Table<'_, 't>) -> bool {
        let Some(DeValue::Array(levels)) = root.get("levels").map(Spanned::get_ref) else { return false };
        levels
            .iter()
            .any(|level| matches!(level.get_ref(), DeValue::Table(level) if level.contains_key("share")))
    }

    /// How budgets are written: as the first level has them.
    fn form(&self, root: &Table<'_, 't>) -> Form {
        let Some(DeValue::Array(levels)) = root.get("levels").map(Spanned::get_ref) else {
            return Form::Shares;
        };
        let Some(DeValue::Table(first)) = levels.iter().next().map(Spanned::get_ref) else {
            return Form::Shares;
        };
        if first.contains_key("share") {
            Form::Shares
        } else if first.contains_key("shares") {
            Form::LevelRho
        } else if first.contains_key("rho") {
            Form::Rho
        } else {
            Form::Sigma2
        }
    }

    /// The total ρ and its place, written as such or as the deviation of one query that spends it all.
    fn total(&self, root: &Table<'_, 't>, neighbours: Neighbours) -> Result<Option<Spanned<Rational>>> {
        match (root.get("rho"), root.get("scale")) {
            (Some(_), Some(scale)) => self.refuse(
                scale.span(),
                "scale: the budget is given twice, as rho and as scale",
                "leave one of them out; scale is the standard deviation that the whole budget buys one query",
            ),
            (Some(value), None) => {
                let rho = self.rho(value)?;
                Ok(Some(Spanned::new(value.span(), rho)))
            }
            (None, Some(value)) => {
                let rho = self.number("scale", value, |scale| {
                    let sigma2 = &scale * &scale;
                    let range = Rational::power_of_ten(-6)..=Rational::power_of_ten(6);
                    scale.within("scale", &range, "a number between 1e-6 and 1e6")?;
                    Ok(mechanism::half_ratio(&Rational::integer(1), neighbours.moves(), &sigma2))
                })?;
                Ok(Some(Spanned::new(value.span(), rho)))
            }
            (None, None) => Ok(None),
        }
    }

    fn queries(&self, value: &Value<'t>, builder: &mut AllocationBuilder) -> Result<()> {
        for (key, value) in in_order(self.as_table("queries", value)?) {
            let (touched, shift) = match value.get_ref() {
                DeValue::Table(table) => {
                    let table = self.table(table, value.span(), QUERY_KEYS)?;
                    (table.get("attributes"), table.get("shift"))
                }
                _ => (Some(value), None),
            };
            let touched = touched.map_or(Ok(vec![]), |v| self.names("attributes", v))?;
            let shift = shift.map_or(Ok(1), |v| self.parsed("shift", v, parse_shift))?;
            let names: Vec<&String> = touched.iter().map(Spanned::get_ref).collect();
            // What the query touches is at fault, if anything is; otherwise its name.
            let unknown = touched.iter().find(|name| !builder.has_part(name.get_ref()));
            let place = unknown.map_or(key.span(), Spanned::span);
            builder.query(key.get_ref(), &names, shift).map_err(|e| self.at(place, e))?;
        }
        Ok(())
    }

    /// The levels. Where the file does not list its queries, those of the levels are all there are.
    fn levels(
        &self,
        root: &Table<'_, 't>,
        total: Option<&Spanned<Rational>>,
        builder: &mut AllocationBuilder,
        listed: bool,
    ) -> Result<()> {
        let hint = "levels are tables headed [[levels]], from the largest areas to the smallest";
        let value = root.needs("levels", hint)?;
        let DeValue::Array(list) = value.get_ref() else {
            return self.refuse(value.span(), "levels: not a list of tables", hint);
        };
        if list.is_empty() {
            return self.refuse(value.span(), "levels: an allocation needs at least one level", hint);
        }
        let mut shares: Vec<Spanned<Rational>> = vec![];
        for value in list {
            let table = self.table(self.as_table("levels", value)?, value.span(), LEVEL_KEYS)?;
            let named = table.needs("name", "every level has a name, like name = \"State\"")?;
            let name = self.string("name", named)?;
            let level = builder.level(&name).map_err(|e| self.at(named.span(), e))?;
            match (total, table.get("share")) {
                (_, Some(share)) => {
                    let value = self.number("share", share, |share| a_share("share", share))?;
                    shares.push(Spanned::new(share.span(), value));
                }
                (Some(_), None) => {
                    return self.refuse(
                        table.head.clone(),
                        format!("level `{name}`: has no share of the total"),
                        "give every level its share, or leave the total out: it is the sum of the levels",
                    );
                }
                (None, None) => {}
            }
            self.measurements(&table, (level, &name), total, builder, listed)?;
        }
        if let Some(last) = shares.last() {
            let span = last.span();
            self.sums_to_one("the shares of the levels", span, shares.into_iter().map(Spanned::into_inner))?;
        }
        Ok(())
    }

    /// The measurements of one level, in one of the four forms of a budget.
    fn measurements(
        &self,
        table: &Table<'_, 't>,
        (level, name): (usize, &str),
        total: Option<&Spanned<Rational>>,
        builder: &mut AllocationBuilder,
        listed: bool,
    ) -> Result<()> {
        if let Some((kind, width, values)) = self.laplace_level(table, name)? {
            for (query, value) in self.entries(name, width.name(), values)? {
                let query = self.query(query, builder, listed)?;
                let budget = self.laplace_budget(kind, width, value)?;
                builder.measure(level, query, budget).map_err(|e| self.at(value.span(), e))?;
            }
            return Ok(());
        }
        let stated: Vec<_> = Stated::ALL.iter().filter_map(|s| Some((*s, table.get(s.name())?))).collect();
        let numbers = match (table.get("share"), table.get("rho"), &stated[..], table.get("shares")) {
            (Some(share), None, [], Some(shares)) => {
                let Some(total) = total else {
                    return self.refuse(
                        share.span(),
                        "share: there is no total for this to be a share of",
                        "add a line rho = \"…\" at the top, or epsilon and delta, or write rho instead of \
                         share",
                    );
                };
                let share = self.number("share", share, Ok)?;
                Some((Numbers::Shares(&share * total.get_ref()), shares))
            }
            (None, Some(rho), [], Some(shares)) if !is_table(rho) => {
                Some((Numbers::Shares(self.rho(rho)?), shares))
            }
            (None, Some(rho), [], None) if is_table(rho) => Some((Numbers::Rho, rho)),
            (None, None, [(stated, table)], None) => Some((Numbers::Noise(*stated), *table)),
            _ => None,
        };
        let Some((numbers, values)) = numbers else {
            return self.refuse(
                table.head.clone(),
                format!("level `{name}`: its budget is incomplete or given twice"),
                "a level has a share (of the total) or a rho and a table of shares, \
                 or a table rho, sigma2, sigma or scale",
            );
        };
        let key = match numbers {
            Numbers::Shares(_) => "shares",
            Numbers::Rho => "rho",
            Numbers::Noise(stated) => stated.name(),
        };
        let mut shares = vec![];
        for (query, value) in self.entries(name, key, values)? {
            let query = self.query(query, builder, listed)?;
            let budget = match &numbers {
                Numbers::Rho | Numbers::Noise(_) if is_table(value) => self.laplace_entry(value)?,
                Numbers::Shares(rho) => {
                    let share = self.number("share", value, |share| a_share("share", share))?;
                    let rho = rho * &share;
                    shares.push(share);
                    Budget::Rho(rho)
                }
                Numbers::Rho => Budget::Rho(self.rho(value)?),
                Numbers::Noise(stated) => {
                    Budget::Sigma2(self.number(key, value, |number| stated_sigma2(*stated, number))?)
                }
            };
            builder.measure(level, query, budget).map_err(|e| self.at(value.span(), e))?;
        }
        if matches!(numbers, Numbers::Shares(_)) {
            self.sums_to_one(&format!("the shares of level `{name}`"), values.span(), shares.into_iter())?;
        }
        Ok(())
    }

    /// The queries of a level's table, with their numbers.
    fn entries<'v>(&self, level: &str, key: &str, values: &'v Value<'t>) -> Result<Entries<'v, 't>> {
        let entries = in_order(self.as_table(key, values)?);
        if entries.is_empty() {
            let hint = "leave the level out if nothing is asked there";
            return self.refuse(values.span(), format!("level `{level}`: no query is asked"), hint);
        }
        Ok(entries)
    }

    fn query(
        &self,
        key: &Spanned<toml::de::DeString<'t>>,
        builder: &mut AllocationBuilder,
        listed: bool,
    ) -> Result<usize> {
        let name = key.get_ref();
        let found = match builder.query_named(name) {
            Some(query) => Ok(query),
            None if listed => builder.find_query(name),
            None => builder.query::<&str>(name, &[], 1),
        };
        found.map_err(|e| self.at(key.span(), e))
    }

    fn sums_to_one(
        &self,
        what: &str,
        span: Range<usize>,
        shares: impl Iterator<Item = Rational>,
    ) -> Result<()> {
        let sum = Rational::sum(&shares.collect::<Vec<_>>());
        let one = Rational::integer(1);
        if sum == one {
            return Ok(());
        }
        let hint = if sum < one {
            format!(
                "{} of the budget is left over; shares are exact, so a third is 1/3",
                brief(&(&one - &sum))
            )
        } else {
            format!(
                "they exceed the budget by {}; shares are exact, so a third is 1/3",
                brief(&(&sum - &one))
            )
        };
        self.refuse(span, format!("{what} sum to {}, not to 1", brief(&sum)), hint)
    }

    fn rho(&self, value: &Value<'t>) -> Result<Rational> {
        self.number("rho", value, |rho| Rho::new(rho).map(|rho| rho.value().clone()))
    }
}

/// The same shares of the largest budget that keeps the ε that the allocation states.
fn spending_its_promise(allocation: Allocation) -> Result<Allocation> {
    let (Some(epsilon), Some(delta)) = (allocation.epsilon().cloned(), allocation.delta().cloned()) else {
        return Ok(allocation);
    };
    let target = Target { epsilon, delta };
    let levels = allocation.levels().len();
    let release = Release::from(allocation.clone());
    let factor = release.worst_case(&Scope::Total)?.scale_meeting(&target)?.satisfying;
    let solved = allocation.scaled_in_short(&vec![factor; levels], false)?;
    if Release::from(solved.clone()).worst_case(&Scope::Total)?.meets(&target)? {
        return Ok(solved);
    }
    Err(Error::not_certified(
        "epsilon: no budget could be certified to keep it",
        "give rho instead, or a slightly larger epsilon",
    ))
}

/// Keys and values in their order.
type Entries<'v, 't> = Vec<(&'v Spanned<toml::de::DeString<'t>>, &'v Value<'t>)>;

/// What the numbers in a level's table are.
enum Numbers {
    /// Shares of this ρ.
    Shares(Rational),
    Rho,
    /// The width of the noise, stated so.
    Noise(Stated),
}

fn a_share(field: &str, share: Rational) -> Result<Rational> {
    if share.is_positive() && share <= Rational::integer(1) {
        return Ok(share);
    }
    let hint = if share.is_zero() {
        "what gets no share is left out: no noise is wide enough for a budget of 0"
    } else {
        "a share is a part of 1, like 104/4099 or 0.25"
    };
    Err(Error::input(field, share, "a number above 0 and at most 1", hint))
}

/// A fraction if it is short, digits otherwise.
fn brief(x: &Rational) -> String {
    let text = x.to_decimal_or_fraction();
    if text.len() <= 24 { text } else { format!("about {:.6e}", x.to_f64()) }
}
