//! The allocation file. `allocation.toml` at the root of the repository is a commented example.
//!
//! The text is parsed into values that know their place; everything after that is ours, so that a
//! number stays the text it was written as (`3.65` is 73/20, not the nearest double) and every objection
//! has a line, a column and a hint.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Reader, Table, Value, in_order, is_table};
use super::{
    Allocation, Bypass, Form, Level, Measurement, NEIGHBOURS_HINT, Neighbours, Production, Query, noise,
    parse_touches, spelled_alike, spent, stated_noise,
};
use crate::error::{Error, Result};
use crate::mechanism::{Stated, parse_shift};
use crate::number::Rational;
use crate::quantity::{Delta, Epsilon, Rho};
use crate::spelling::did_you_mean;
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
    "bypass",
    "attributes",
    "queries",
    "levels",
    "table",
];
const BYPASS_KEYS: &[&str] = &["keep", "paths"];
const LEVEL_KEYS: &[&str] = &["name", "share", "shares", "rho", "sigma2", "sigma", "scale"];
const QUERY_KEYS: &[&str] = &["attributes", "shift"];

impl Allocation {
    /// Reads the text of an allocation file; errors call it `origin`.
    pub fn parse(origin: &str, text: &str) -> Result<Allocation> {
        let reader = Reader { origin, text, hint: "`unspent preset NAME` prints a file to start from" };
        reader.read(|root| reader.allocation(root))
    }
}

/// What the queries and attributes of a file are, while its levels are read.
struct Context {
    neighbours: Neighbours,
    queries: Vec<Query>,
    /// Whether the file lists its queries; otherwise those of the levels are all there are.
    listed: bool,
    index: HashMap<String, usize>,
    attributes: HashSet<String>,
}

impl<'t> Reader<'t> {
    fn allocation(&self, root: &Spanned<DeTable<'t>>) -> Result<Allocation> {
        let root = self.root(root, KEYS)?;
        let name = self.string("name", root.needs("name", "a line such as name = \"my release\"")?)?;
        let neighbours = root.needs("neighbours", NEIGHBOURS_HINT)?;
        let neighbours = self.parsed("neighbours", neighbours, Neighbours::parse)?;
        let delta = root.get("delta").map(|v| self.number("delta", v, Delta::new)).transpose()?;
        let conversion =
            root.get("conversion").map(|v| self.parsed("conversion", v, Conversion::parse)).transpose()?;
        let epsilon = root.get("epsilon").map(|v| self.number("epsilon", v, Epsilon::new)).transpose()?;
        if let (Some(value), None) = (root.get("epsilon"), &delta) {
            let hint = "add a line such as delta = \"1e-10\"";
            return self.refuse(value.span(), "epsilon: was promised at some delta, which is missing", hint);
        }
        if let (Some(value), Some(_)) = (root.get("epsilon"), conversion) {
            return self.refuse(
                value.span(),
                "epsilon: what was promised is given twice, as epsilon and by a conversion",
                "leave one of them out",
            );
        }
        let nested = match root.get("nested").map(|v| (v, v.get_ref())) {
            None => true,
            Some((_, DeValue::Boolean(nested))) => *nested,
            Some((value, _)) => {
                let hint = "leave it out if each level lies inside the one before";
                return self.refuse(value.span(), "nested: is neither true nor false", hint);
            }
        };
        let total = self.total(&root, neighbours)?;
        // Shares of an epsilon: first of a budget of 1, which is then made as large as the promise allows.
        let of_epsilon = match (&total, &epsilon, root.get("epsilon")) {
            (None, Some(_), Some(value)) if self.has_shares(&root) => Some(value.span()),
            _ => None,
        };
        let total = total.or_else(|| of_epsilon.clone().map(|span| Spanned::new(span, Rational::integer(1))));
        let attributes = root.get("attributes").map_or(Ok(vec![]), |v| self.names("attributes", v))?;
        let spelled = attributes.iter().map(|a| a.get_ref().as_str());
        if let Some((i, error)) = spelled_alike(spelled) {
            return Err(self.at(attributes[i].span(), error));
        }
        let mut context = Context {
            neighbours,
            queries: vec![],
            listed: false,
            index: HashMap::new(),
            attributes: attributes.iter().map(|a| a.get_ref().clone()).collect(),
        };
        if let Some(queries) = root.get("queries") {
            self.queries(queries, &attributes, &mut context)?;
        }
        let levels = self.levels(&root, total.as_ref(), &mut context)?;
        let form = self.form(&root);
        let allocation = Allocation {
            name,
            source: root.get("source").map(|v| self.string("source", v)).transpose()?,
            record: root.get("record").map_or(Ok("record".into()), |v| self.string("record", v))?,
            neighbours,
            delta,
            conversion,
            epsilon,
            nested,
            attributes: attributes.into_iter().map(|a| a.into_inner()).collect(),
            queries: context.queries,
            levels,
            form,
            table: root.get("table").map(|v| self.schema(v)).transpose()?,
            production: Production::default(),
        };
        let allocation = self.production(&root, allocation)?;
        match of_epsilon {
            Some(span) => allocation.spending_its_promise().map_err(|e| self.at(span, e)),
            None => Ok(allocation),
        }
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

    /// What is known of the system that used the allocation.
    fn production(&self, root: &Table<'_, 't>, allocation: Allocation) -> Result<Allocation> {
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
                    let moves = Rational::from(neighbours.moves());
                    Ok(moves / (sigma2 * Rational::integer(2)))
                })?;
                Ok(Some(Spanned::new(value.span(), rho)))
            }
            (None, None) => Ok(None),
        }
    }

    fn queries(
        &self,
        value: &Value<'t>,
        attributes: &[Spanned<String>],
        context: &mut Context,
    ) -> Result<()> {
        context.listed = true;
        for (key, value) in in_order(self.as_table("queries", value)?) {
            let (touched, shift) = match value.get_ref() {
                DeValue::Table(table) => {
                    let table = self.table(table, value.span(), QUERY_KEYS)?;
                    (table.get("attributes"), table.get("shift"))
                }
                _ => (Some(value), None),
            };
            let touched = touched.map_or(Ok(vec![]), |v| self.names("attributes", v))?;
            let known = || attributes.iter().map(|a| a.get_ref().as_str());
            for attribute in &touched {
                if !context.attributes.contains(attribute.get_ref()) {
                    let allowed = if attributes.is_empty() {
                        "an attribute: the file declares none".into()
                    } else {
                        format!("one of the attributes {}", known().collect::<Vec<_>>().join(", "))
                    };
                    let hint = did_you_mean(
                        attribute.get_ref(),
                        known(),
                        "attributes are declared in the line attributes = […]",
                    );
                    let error = Error::input("attributes", attribute.get_ref(), allowed, hint);
                    return Err(self.at(attribute.span(), error));
                }
            }
            let shift = shift.map_or(Ok(1), |v| self.parsed("shift", v, parse_shift))?;
            self.nonempty("query", &key.span(), key.get_ref())?;
            context.index.insert(key.get_ref().to_string(), context.queries.len());
            context.queries.push(Query {
                name: key.get_ref().to_string(),
                attributes: touched.into_iter().map(|a| a.into_inner()).collect(),
                shift,
            });
        }
        Ok(())
    }

    fn levels(
        &self,
        root: &Table<'_, 't>,
        total: Option<&Spanned<Rational>>,
        context: &mut Context,
    ) -> Result<Vec<Level>> {
        let hint = "levels are tables headed [[levels]], from the largest areas to the smallest";
        let value = root.needs("levels", hint)?;
        let DeValue::Array(list) = value.get_ref() else {
            return self.refuse(value.span(), "levels: not a list of tables", hint);
        };
        if list.is_empty() {
            return self.refuse(value.span(), "levels: an allocation needs at least one level", hint);
        }
        let mut levels: Vec<Level> = vec![];
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut shares: Vec<Spanned<Rational>> = vec![];
        for value in list {
            let table = self.table(self.as_table("levels", value)?, value.span(), LEVEL_KEYS)?;
            let name = table.needs("name", "every level has a name, like name = \"State\"")?;
            let span = name.span();
            let name = self.string("name", name)?;
            if let Some(first) = places.insert(name.clone(), span.start) {
                let line = self.text[..first].matches('\n').count() + 1;
                return self.refuse(
                    span,
                    format!("name: `{name}` is already the name of the level on line {line}"),
                    "levels are told apart by their names",
                );
            }
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
            let measurements = self.level(&table, &name, total, context)?;
            levels.push(Level { name, measurements });
        }
        if let Some(last) = shares.last() {
            let span = last.span();
            self.sums_to_one("the shares of the levels", span, shares.into_iter().map(Spanned::into_inner))?;
        }
        Ok(levels)
    }

    /// The measurements of one level, in one of the four forms of a budget.
    fn level(
        &self,
        level: &Table<'_, 't>,
        name: &str,
        total: Option<&Spanned<Rational>>,
        context: &mut Context,
    ) -> Result<Vec<Measurement>> {
        let stated: Vec<_> = Stated::ALL.iter().filter_map(|s| Some((*s, level.get(s.name())?))).collect();
        let budget = match (level.get("share"), level.get("rho"), &stated[..], level.get("shares")) {
            (Some(share), None, [], Some(shares)) => {
                let Some(total) = total else {
                    return self.refuse(
                        share.span(),
                        "share: there is no total for this to be a share of",
                        "add a line rho = \"…\" at the top, or epsilon and delta, or write rho instead of share here",
                    );
                };
                let share = self.number("share", share, Ok)?;
                Some((Budget::Shares(&share * total.get_ref()), shares))
            }
            (None, Some(rho), [], Some(shares)) if !is_table(rho) => {
                let rho = self.rho(rho)?;
                Some((Budget::Shares(rho), shares))
            }
            (None, Some(rho), [], None) if is_table(rho) => Some((Budget::Rho, rho)),
            (None, None, [(stated, table)], None) => Some((Budget::Noise(*stated), *table)),
            _ => None,
        };
        let Some((budget, table)) = budget else {
            return self.refuse(
                level.head.clone(),
                format!("level `{name}`: its budget is incomplete or given twice"),
                "a level has a share (of the total) or a rho and a table of shares, or a table rho, sigma2, sigma or scale",
            );
        };
        let key = match budget {
            Budget::Shares(_) => "shares",
            Budget::Rho => "rho",
            Budget::Noise(stated) => stated.name(),
        };
        let mut measurements = vec![];
        let mut shares = vec![];
        for (query, value) in in_order(self.as_table(key, table)?) {
            let index = self.query(query, context)?;
            let shift = context.queries[index].shift;
            let moves = context.neighbours;
            let (rho, noise) = match &budget {
                Budget::Shares(rho) => {
                    let share = self.number("share", value, |share| a_share("share", share))?;
                    let rho = rho * &share;
                    shares.push(share);
                    let noise = noise(&rho, shift, moves).map_err(|e| self.at(value.span(), e))?;
                    (rho, noise)
                }
                Budget::Rho => {
                    let rho = self.rho(value)?;
                    let noise = noise(&rho, shift, moves).map_err(|e| self.at(value.span(), e))?;
                    (rho, noise)
                }
                Budget::Noise(stated) => self.number(key, value, |number| {
                    let noise = stated_noise(*stated, number, shift)?;
                    Ok((spent(&noise, moves), noise))
                })?,
            };
            measurements.push(Measurement { query: index, rho, noise });
        }
        if measurements.is_empty() {
            let hint = "leave the level out if nothing is asked there";
            return self.refuse(table.span(), format!("level `{name}`: no query is asked"), hint);
        }
        if matches!(budget, Budget::Shares(_)) {
            self.sums_to_one(&format!("the shares of level `{name}`"), table.span(), shares.into_iter())?;
        }
        Ok(measurements)
    }

    fn query(&self, key: &Spanned<toml::de::DeString<'t>>, context: &mut Context) -> Result<usize> {
        if let Some(index) = context.index.get(&**key.get_ref()) {
            return Ok(*index);
        }
        let name = key.get_ref().to_string();
        if context.listed {
            let names = || context.queries.iter().map(|q| q.name.as_str());
            let hint = did_you_mean(&name, names(), "queries are declared in the table [queries]");
            return Err(self.at(key.span(), Error::input("query", name, "declared in [queries]", hint)));
        }
        self.nonempty("query", &key.span(), &name)?;
        context.index.insert(name.clone(), context.queries.len());
        context.queries.push(Query { name, attributes: vec![], shift: 1 });
        Ok(context.queries.len() - 1)
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

/// What the numbers in a level's table are.
enum Budget {
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
