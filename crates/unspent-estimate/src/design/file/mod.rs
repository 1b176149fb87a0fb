//! The needs file: what must be known of a release, and what may be spent on it, as TOML.
//!
//! ```toml
//! allocation = "blocks.toml"        # levels, queries, attributes, neighbours and delta; or a preset
//! units = { State = 1, County = 5, Tract = 250, "Block group" = 792, Block = 25181 }
//! goal = "least-epsilon"            # or epsilon = "8": the best margins at this epsilon
//!
//! [[needs]]                         # the total of each county within 5, in 95 % of all cases
//! name = "county totals"
//! level = "County"
//! margin = 5
//!
//! [[needs]]                         # every cell of a table
//! level = "Block group"
//! table = ["voting age", "race"]
//! margin = 12
//! all = true                        # for all units and cells at once
//!
//! [[needs]]                         # a share: of those of 18 and over in any 30 blocks, 1,300 at least
//! level = "Block"
//! count = 30
//! spread = "packed"                 # as near to each other as possible; or "scattered", the worst case
//! where = { race = ["black", "hispanic"] }
//! of = { "voting age" = ["18 and over"] }
//! share = "0.01"
//! population = 1300
//! about = "0.3"                     # if it is known; otherwise the margin holds for every share
//!
//! [rest]                            # what becomes of tables that nobody asked for; must be said
//! guard = { than = "blocks.toml", times = "1.25" }
//!
//! [[promises]]                      # parts of the release that may spend no more than that
//! attribute = "race"
//! epsilon = "9"
//! ```
//!
//! **What may be measured.** Every query may be measured at every level. Instead of `allocation` the file may
//! say itself what there is, as an allocation file does: `neighbours`, `delta`, `levels = ["Country",
//! "Region"]`, `[attributes]` or `schema`, `[recodes]`, `[[impossible]]`, `[queries]` (all queries of the
//! schema unless given) and `[table]`, by which a list of units is read. `exact_totals` names levels whose
//! totals are published exactly, and `delta` may be another than the allocation's.
//!
//! **Units.** A number for each level, or `units = { list = "codes.csv" }`: a public list of all units of the
//! smallest level, of which only the codes are read; `schema = "…"` beside it says how. For the 2020 Census
//! `units` may be left out.
//!
//! **Needs.** A need is about each unit of a `level`, or about sets of units: `count` of them, or `parts = {
//! "Block group" = 2, Block = 11 }`, whole units of the level and of levels above it, wherever they lie. What
//! must be known is every answer of a `table` (the total, if there is none), the number of records `where`
//! attributes and recodes have some values, or their `share` `of` others. A share takes a `population`: at
//! least so many records are among those others. It and everything else in this file must be known from
//! public figures: an allocation that depends on confidential counts tells about them.
//!
//! **The rest.** An allocation for a few needs leaves other tables without any estimate. So `[rest]` says
//! what is to become of them: `guard` (no table's standard deviation is more than so many times what it is
//! with another allocation), `best = true` (what the needs leave of a given epsilon is spent on all others),
//! or `drop = true` (they may be lost).
//!
//! **Laws.** `law = "normal"` takes errors for normal, which is no guarantee. `law = "guaranteed"` uses a
//! bound that holds for every allocation, and costs about twice the budget.
//!
//! Numbers are exact, bare or in quotation marks: 0.05 is 1/20.

mod bears;
mod need;

use std::path::Path;

use unspent::file::OFFER_KEYS;
use unspent::file::reader::{DeTable, Reader, Spanned, Table, Value, in_order, is_table};
use unspent::{Allocation, Delta, Epsilon, Error, Preset, Rational, Result, Scope, did_you_mean};

use super::needs::{Goal, Law, Need, Needs, Promise, Rest, UnitTree, Units};
use crate::accuracy::usual_units;

const KEYS: &[&str] = &[
    "name",
    "allocation",
    "units",
    "goal",
    "epsilon",
    "wider",
    "delta",
    "law",
    "exact_totals",
    "needs",
    "rest",
    "promises",
];
const LIST_KEYS: &[&str] = &["list", "schema"];
const REST_KEYS: &[&str] = &["guard", "best", "drop"];
const GUARD_KEYS: &[&str] = &["than", "times"];
const PROMISE_KEYS: &[&str] = &["attribute", "level", "within", "keeping", "epsilon"];
const HINT: &str = "examples/needs.toml is a commented example";

/// The other files that a needs file may name.
pub trait OtherFiles {
    /// The folder of the file, where schemas are; none if there is none.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// An allocation: a preset, or a file.
    fn allocation(&mut self, name: &str) -> Result<Allocation>;

    /// The units of a public list, of which only codes may be read, as the schema of that name or the offer
    /// says.
    fn units(&mut self, list: &str, schema: Option<&str>, offer: &Allocation) -> Result<UnitTree>;
}

/// There are no other files: presets may be named, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct PresetsOnly;

impl OtherFiles for PresetsOnly {
    fn allocation(&mut self, name: &str) -> Result<Allocation> {
        Preset::find(name)?.allocation()
    }

    fn units(&mut self, list: &str, _: Option<&str>, _: &Allocation) -> Result<UnitTree> {
        let hint = "give a number of units for each level";
        Err(Error::input("list", list, "something that can be read: this text is no file", hint))
    }
}

impl Needs {
    /// Reads the text of a needs file; errors call it `origin`.
    ///
    /// ```
    /// use unspent_estimate::design::{Needs, PresetsOnly};
    /// let needs = Needs::parse("needs.toml", r#"
    ///     neighbours = "bounded"
    ///     delta = "1e-10"
    ///     levels = ["County", "Town"]
    ///     units = { County = 1, Town = 40 }
    ///     goal = "least-epsilon"
    ///     rest = { drop = true }
    ///     [attributes]
    ///     age = ["young", "old"]
    ///     [queries]
    ///     total = []
    ///     age = ["age"]
    ///     [[needs]]
    ///     level = "Town"
    ///     table = ["age"]
    ///     margin = 5
    /// "#, &mut PresetsOnly)?;
    /// assert_eq!(needs.needs[0].name, "Town: age");
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn parse(origin: &str, text: &str, files: &mut dyn OtherFiles) -> Result<Needs> {
        Needs::read(origin, text, files, false)
    }

    /// The same of a text that may have no needs yet.
    pub fn parse_unfinished(origin: &str, text: &str, files: &mut dyn OtherFiles) -> Result<Needs> {
        Needs::read(origin, text, files, true)
    }

    fn read(origin: &str, text: &str, files: &mut dyn OtherFiles, unfinished: bool) -> Result<Needs> {
        let folder = files.folder().map(Path::to_path_buf);
        let reader = Reader { origin, text, hint: HINT, beside: folder.as_deref() };
        reader.read(|root| NeedsReader { reader, unfinished }.needs(root, files))
    }
}

/// A needs file that is being read; one that is unfinished may have no needs yet.
struct NeedsReader<'t> {
    reader: Reader<'t>,
    unfinished: bool,
}

impl<'t> NeedsReader<'t> {
    fn needs(&self, root: &Spanned<DeTable<'t>>, files: &mut dyn OtherFiles) -> Result<Needs> {
        let known = [KEYS, OFFER_KEYS].concat();
        let root = self.reader.root(root, &known)?;
        let offer = self.offer(&root, files)?;
        let delta = match (root.get("delta"), offer.delta()) {
            (Some(value), _) => self.reader.number("delta", value, Delta::new)?,
            (None, Some(delta)) => delta.clone(),
            (None, None) => {
                let hint = "every epsilon is for some delta: a line such as delta = \"1e-10\"";
                return self.reader.refuse(root.head.clone(), "`delta` is missing", hint);
            }
        };
        let units = self.units(&root, &offer, files)?;
        let goal = self.goal(&root)?;
        let law = root.get("law").map_or(Ok(Law::default()), |value| self.law(value))?;
        let needs = self.all_needs(&root, &offer, &units)?;
        let rest = self.rest(&root, &offer, &goal, files)?;
        let promises = root.get("promises").map_or(Ok(vec![]), |value| self.promises(value, &offer))?;
        Ok(Needs { offer, units, delta, goal, law, needs, rest, promises })
    }

    /// What another file says is at fault there; everything else is here.
    fn named<T>(&self, value: &Value<'t>, found: Result<T>) -> Result<T> {
        found.map_err(|e| if e.excerpt().is_some() { e } else { self.reader.at(value.span(), e) })
    }

    fn offer(&self, root: &Table<'_, 't>, files: &mut dyn OtherFiles) -> Result<Allocation> {
        let name = root.get("name").map(|value| self.reader.string("name", value)).transpose()?;
        let Some(value) = root.get("allocation") else {
            if OFFER_KEYS.iter().all(|key| root.get(key).is_none()) {
                let hint = "name an allocation whose queries may be measured, or say what there is: \
                            neighbours, levels, [attributes], [queries]";
                return self.reader.refuse(root.head.clone(), "`allocation` is missing", hint);
            }
            let name = name.unwrap_or_else(|| "A budget from needs".into());
            let offer = self.reader.offer(root, &name)?;
            let place = root.get("queries").or(root.get("levels")).map_or(root.head.clone(), Spanned::span);
            return self.checked(offer).map_err(|e| self.reader.at(place, e));
        };
        let described =
            in_order(root.table).into_iter().find(|(key, _)| OFFER_KEYS.contains(&&**key.get_ref()));
        if let Some((key, _)) = described {
            let cause = format!("{}: the allocation says that already", key.get_ref());
            let hint = "name an allocation, or say here what may be measured, not both";
            return self.reader.refuse(key.span(), cause, hint);
        }
        let found = files.allocation(&self.reader.string("allocation", value)?);
        let offer = self.named(value, found)?;
        let offer = self.checked(offer).map_err(|e| self.reader.at(value.span(), e))?;
        let offer = match name {
            Some(name) => offer.renamed(name, "a budget from needs"),
            None => offer,
        };
        let Some(value) = root.get("exact_totals") else { return Ok(offer) };
        let mut production = offer.production().clone();
        for level in self.reader.names("exact_totals", value)? {
            if !production.exact_totals.contains(level.get_ref()) {
                production.exact_totals.push(level.into_inner());
            }
        }
        offer.used_by(production).map_err(|e| self.reader.at(value.span(), e))
    }

    /// Fails if nothing can be estimated from what is on offer.
    fn checked(&self, offer: Allocation) -> Result<Allocation> {
        if !offer.is_nested() {
            return Err(Error::stated(
                format!("`{}`: the levels are not nested", offer.name()),
                "an estimate adds up the units of a level to those above",
            ));
        }
        if offer.schema().is_none_or(|schema| schema.attributes().is_empty())
            && !offer.attributes().is_empty()
        {
            return Err(Error::stated(
                format!("`{}`: does not say which values attributes have", offer.name()),
                "estimates need a schema: add [attributes] with the values of each, or schema = \"…\"",
            ));
        }
        Ok(offer)
    }

    fn units(&self, root: &Table<'_, 't>, offer: &Allocation, files: &mut dyn OtherFiles) -> Result<Units> {
        let names: Vec<&str> = offer.levels().iter().map(|level| level.name.as_str()).collect();
        let all = names.join(", ");
        let Some(value) = root.get("units") else {
            if let Some(units) = usual_units(offer) {
                return Ok(Units::PerLevel(units));
            }
            let cause = format!("units: how many units the levels {all} have is not known");
            let hint = "write units = { Country = 1, Region = 12 }, or units = { list = \"codes.csv\" }: a \
                        public list of all units of the smallest level";
            return self.reader.refuse(root.head.clone(), cause, hint);
        };
        let table = self.reader.as_table("units", value)?;
        if table.get("list").is_some_and(|list| list.get_ref().as_str().is_some()) {
            let table = self.reader.table(table, value.span(), LIST_KEYS)?;
            let list = table.needs("list", HINT)?;
            let schema = table.get("schema").map(|v| self.reader.string("schema", v)).transpose()?;
            let tree = files.units(&self.reader.string("list", list)?, schema.as_deref(), offer);
            return Ok(Units::Listed(self.named(list, tree)?));
        }
        for (key, _) in in_order(table) {
            if !names.contains(&&**key.get_ref()) {
                let hint = did_you_mean(key.get_ref(), names.iter().copied(), "give a number for each level");
                let allowed = format!("one of the levels {all}");
                return Err(self.reader.at(key.span(), Error::input("units", key.get_ref(), allowed, hint)));
            }
        }
        let mut units: Vec<u64> = vec![];
        for (at, name) in names.iter().enumerate() {
            let Some(number) = table.get(*name) else {
                let cause = format!("units: how many units `{name}` has is not said");
                return self.reader.refuse(value.span(), cause, format!("give a number for each of {all}"));
            };
            let count = self.whole("units", number)?;
            if let Some(above) = units.last().filter(|above| **above > count) {
                let cause =
                    format!("units: {count} of `{name}` cannot lie in {above} of `{}`", names[at - 1]);
                let hint =
                    "every unit has at least one of the level below in it, so that numbers do not fall";
                return self.reader.refuse(number.span(), cause, hint);
            }
            units.push(count);
        }
        Ok(Units::PerLevel(units))
    }

    /// A whole number from 1 on.
    fn whole(&self, field: &str, value: &Value<'t>) -> Result<u64> {
        self.reader.parsed(field, value, |text| {
            let number = text.replace('_', "").parse().ok().filter(|n| (1..=u64::from(u32::MAX)).contains(n));
            number.ok_or_else(|| {
                let allowed = format!("a whole number from 1 to {}", u32::MAX);
                Error::input(field, text, allowed, "units are counted: write 30, without a point")
            })
        })
    }

    /// A number above 0.
    fn positive(&self, field: &str, value: &Value<'t>, why: &str) -> Result<Rational> {
        self.reader.number(field, value, |number| {
            if number > Rational::integer(0) {
                return Ok(number);
            }
            Err(Error::input(field, number, "a number above 0", why))
        })
    }

    fn goal(&self, root: &Table<'_, 't>) -> Result<Goal> {
        let hint = "write goal = \"least-epsilon\" for the least budget that meets all needs, or epsilon = \
                    \"8\" for the best margins at that epsilon";
        let goal = match (root.get("goal"), root.get("epsilon")) {
            (None, None) => {
                return self.reader.refuse(root.head.clone(), "`goal` is missing, and so is `epsilon`", hint);
            }
            (Some(_), Some(epsilon)) => {
                return self.reader.refuse(epsilon.span(), "epsilon: there is a goal already", hint);
            }
            (Some(goal), None) => self.reader.parsed("goal", goal, |text| match text {
                "least-epsilon" => Ok(Goal::LeastEpsilon),
                other => Err(Error::input("goal", other, "`least-epsilon`", hint)),
            })?,
            (None, Some(value)) => {
                let epsilon = self.reader.number("epsilon", value, Epsilon::new)?;
                if *epsilon.value() <= Rational::integer(0) {
                    let hint = "nothing can be measured at epsilon 0";
                    let error = Error::input("epsilon", &epsilon, "a number above 0", hint);
                    return Err(self.reader.at(value.span(), error));
                }
                Goal::Epsilon { epsilon, wider: false }
            }
        };
        let hint = "true if the margins of needs may all be wider, where the epsilon does not suffice";
        match (goal, root.get("wider")) {
            (Goal::Epsilon { epsilon, .. }, Some(value)) => {
                Ok(Goal::Epsilon { epsilon, wider: self.reader.flag("wider", value, hint)? })
            }
            (Goal::LeastEpsilon, Some(value)) => {
                let cause = "wider: the least epsilon meets all margins as they are";
                self.reader.refuse(value.span(), cause, "leave it out, or give epsilon instead of goal")
            }
            (goal, None) => Ok(goal),
        }
    }

    fn law(&self, value: &Value<'t>) -> Result<Law> {
        self.reader.parsed("law", value, |text| match text {
            "normal" => Ok(Law::Normal),
            "guaranteed" => Ok(Law::Guaranteed),
            other => {
                let hint = "`normal` takes errors for normal; `guaranteed` holds whatever they are, and \
                            costs about twice the budget";
                Err(Error::input("law", other, "`normal` or `guaranteed`", hint))
            }
        })
    }

    fn all_needs(&self, root: &Table<'_, 't>, offer: &Allocation, units: &Units) -> Result<Vec<Need>> {
        if self.unfinished && root.get("needs").is_none() {
            return Ok(vec![]);
        }
        let hint = "write [[needs]] with level = \"County\" and margin = 5, for example";
        let listed = root.needs("needs", hint)?;
        let tables = self.reader.tables("needs", listed, need::KEYS, hint)?;
        if tables.is_empty() {
            return self.reader.refuse(listed.span(), "needs: there is none", hint);
        }
        let mut needs: Vec<Need> = vec![];
        for table in tables {
            let mut need = self.need(&table, offer, units)?;
            let is_taken = |name: &str| needs.iter().any(|other| other.name == name);
            if is_taken(&need.name) {
                if let Some(name) = table.get("name") {
                    let cause = format!("name: `{}` is already the name of a need", need.name);
                    return self.reader.refuse(name.span(), cause, "needs are told apart by their names");
                }
                let numbered = (2..).map(|n| format!("{} ({n})", need.name));
                need.name = numbered.into_iter().find(|name| !is_taken(name)).expect("there are few needs");
            }
            needs.push(need);
        }
        Ok(needs)
    }

    fn rest(
        &self,
        root: &Table<'_, 't>,
        offer: &Allocation,
        goal: &Goal,
        files: &mut dyn OtherFiles,
    ) -> Result<Rest> {
        let hint = "say what becomes of tables that nobody asked for: guard = { than = \"…\", times = \
                    \"1.25\" } (no deviation more than so many times what it is there), best = true (with \
                    epsilon: as good as possible) or drop = true (they may be lost)";
        let value = root.needs("rest", hint)?;
        let table = self.reader.table(self.reader.as_table("rest", value)?, value.span(), REST_KEYS)?;
        let truth = |key: &str| -> Result<bool> {
            table.get(key).map_or(Ok(false), |value| self.reader.flag(key, value, hint))
        };
        match (table.get("guard"), truth("best")?, truth("drop")?) {
            (None, false, true) => Ok(Rest::Drop),
            (None, true, false) if *goal == Goal::LeastEpsilon => {
                let cause = "best: the least epsilon leaves nothing to spend on other tables";
                let hint = "give epsilon instead of goal; or guard or drop the other tables";
                self.reader.refuse(table.get("best").map_or(table.head.clone(), Spanned::span), cause, hint)
            }
            (None, true, false) => Ok(Rest::Best),
            (Some(value), false, false) => self.guard(value, offer, files),
            _ => {
                let cause = "rest: one of guard, best and drop is needed, and only one";
                self.reader.refuse(table.head.clone(), cause, hint)
            }
        }
    }

    fn guard(&self, value: &Value<'t>, offer: &Allocation, files: &mut dyn OtherFiles) -> Result<Rest> {
        let hint = "write guard = { than = \"blocks.toml\", times = \"1.25\" }";
        if !is_table(value) {
            return self.reader.refuse(value.span(), "guard: is not a table", hint);
        }
        let table = self.reader.table(self.reader.as_table("guard", value)?, value.span(), GUARD_KEYS)?;
        let named = table.needs("than", hint)?;
        let times = table.needs("times", hint)?;
        let times =
            self.positive("times", times, "1 keeps every table as it is there, 1.25 lets errors grow")?;
        let found = files.allocation(&self.reader.string("than", named)?);
        let than = self.named(named, found)?;
        same_tables(&than, offer).map_err(|e| self.reader.at(named.span(), e))?;
        Ok(Rest::Guard { than: Box::new(than), times })
    }

    fn promises(&self, value: &Value<'t>, offer: &Allocation) -> Result<Vec<Promise>> {
        let hint = "write [[promises]] with one of attribute, level, within and keeping, and its epsilon";
        let mut promises: Vec<Promise> = vec![];
        for table in self.reader.tables("promises", value, PROMISE_KEYS, hint)? {
            let parts: Vec<&str> =
                PROMISE_KEYS[..4].iter().copied().filter(|key| table.get(key).is_some()).collect();
            let [kind] = parts[..] else {
                let cause = "promises: one part of the release is needed, and only one";
                return self.reader.refuse(table.head.clone(), cause, hint);
            };
            let named = table.needs(kind, hint)?;
            let name = self.reader.string(kind, named)?;
            let (known, what): (Vec<&str>, _) = match kind {
                "attribute" => (offer.attributes().iter().map(String::as_str).collect(), "attributes"),
                _ => (offer.levels().iter().map(|level| level.name.as_str()).collect(), "levels"),
            };
            if !known.contains(&name.as_str()) {
                let allowed = format!("one of the {what} {}", known.join(", "));
                let hint = did_you_mean(&name, known.iter().copied(), "check the spelling");
                return Err(self.reader.at(named.span(), Error::input(kind, &name, allowed, hint)));
            }
            let scope = Scope::named(kind, Some(&name)).map_err(|e| self.reader.at(named.span(), e))?;
            if promises.iter().any(|other| other.scope == scope) {
                let cause = format!("promises: {scope} is there twice");
                return self.reader.refuse(table.head.clone(), cause, "once is enough");
            }
            let epsilon = table.needs("epsilon", hint)?;
            let epsilon = self.reader.number("epsilon", epsilon, Epsilon::new)?;
            promises.push(Promise { scope, epsilon });
        }
        Ok(promises)
    }
}

/// Fails unless an allocation that guards has the levels and queries of the offer.
fn same_tables(than: &Allocation, offer: &Allocation) -> Result<()> {
    let levels =
        |of: &Allocation| of.levels().iter().map(|level| level.name.clone()).collect::<Vec<_>>().join(", ");
    if levels(than) != levels(offer) {
        let cause = format!("than: `{}` has the levels {}, not {}", than.name(), levels(than), levels(offer));
        return Err(Error::stated(cause, "guard against an allocation with the same levels and queries"));
    }
    let unknown = than
        .queries()
        .iter()
        .find(|query| !offer.queries().iter().any(|other| other.name == query.name && other.by == query.by));
    match unknown {
        None => Ok(()),
        Some(query) => {
            let cause = format!("than: `{}` asks `{}`, which is not on offer", than.name(), query.name);
            let hint = "guard against an allocation with the same levels and queries";
            Err(Error::stated(cause, hint))
        }
    }
}
