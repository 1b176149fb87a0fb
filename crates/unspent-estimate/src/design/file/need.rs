//! One need of a file: what of which units, and how well.

use std::collections::BTreeMap;

use unspent::file::reader::{Spanned, Table, Value, in_order};
use unspent::{Allocation, Error, Rational, Result, did_you_mean};

use super::NeedsReader;
use super::bears::bears;
use crate::design::needs::{Need, Quantity, Selection, UnitSet, Units};
use crate::margin::Confidence;

pub(super) const KEYS: &[&str] = &[
    "name",
    "level",
    "table",
    "where",
    "margin",
    "share",
    "of",
    "population",
    "about",
    "count",
    "spread",
    "parts",
    "confidence",
    "all",
];
/// Keys that say something of a share only.
const OF_SHARES: &[&str] = &["of", "population", "about"];

impl<'t> NeedsReader<'t> {
    pub(super) fn need(&self, table: &Table<'_, 't>, offer: &Allocation, units: &Units) -> Result<Need> {
        let reader = &self.reader;
        let named = table.needs("level", "a need is about units of a level, like level = \"County\"")?;
        let level_name = reader.string("level", named)?;
        let levels: Vec<&str> = offer.levels().iter().map(|level| level.name.as_str()).collect();
        let Some(level) = levels.iter().position(|name| *name == level_name) else {
            let allowed = format!("one of the levels {}", levels.join(", "));
            let hint = did_you_mean(&level_name, levels.iter().copied(), "these are the levels on offer");
            return Err(reader.at(named.span(), Error::input("level", &level_name, allowed, hint)));
        };
        let quantity = self.quantity(table, offer)?;
        let set = self.set(table, level, &levels, &units.per_level())?;
        let confidence = match table.get("confidence") {
            None => Rational::parse("confidence", "0.95")?,
            Some(value) => reader.number("confidence", value, |level| {
                Confidence::new(level).map(|confidence| confidence.level().clone())
            })?,
        };
        let hint = "true if the margins of all units and answers are to hold at once";
        let all = table.get("all").map_or(Ok(false), |value| reader.flag("all", value, hint))?;
        let name = match table.get("name") {
            Some(value) => reader.string("name", value)?,
            None => default_name(level, &levels, set.as_ref(), &quantity.in_words(offer)),
        };
        let asked = table.get("where").or(table.get("table")).map_or(table.head.clone(), Spanned::span);
        bears(offer, &quantity).map_err(|e| reader.at(asked, e.at(format!("need `{name}`"))))?;
        Ok(Need { name, level, quantity, set, confidence, all })
    }

    fn quantity(&self, table: &Table<'_, 't>, offer: &Allocation) -> Result<Quantity> {
        let reader = &self.reader;
        let hint =
            "a need has a margin, in records, or a share, as a part of 1: 0.01 is one percentage point";
        if let (Some(_), Some(share)) = (table.get("margin"), table.get("share")) {
            return reader.refuse(share.span(), "share: there is a margin already", hint);
        }
        if let (Some(_), Some(chosen)) = (table.get("table"), table.get("where")) {
            let hint = "table is for every cell of a table, where for one count; leave one of them out";
            return reader.refuse(chosen.span(), "where: there is a table already", hint);
        }
        if let Some(value) = table.get("share") {
            return self.share(table, value, offer);
        }
        if let Some((key, value)) = OF_SHARES.iter().find_map(|key| Some((key, table.get(key)?))) {
            let cause = format!("{key}: says something of a share, and there is none");
            return reader.refuse(value.span(), cause, "give share instead of margin, or leave it out");
        }
        let value = table.needs("margin", hint)?;
        let margin = self.positive("margin", value, EXACT)?;
        if let Some(chosen) = table.get("where") {
            return Ok(Quantity::Count { of: self.selection("where", chosen, offer)?, margin });
        }
        let by = table.get("table").map_or(Ok(vec![]), |value| self.by(value, offer))?;
        Ok(Quantity::Table { by, margin })
    }

    /// The attributes and recodes of a table.
    fn by(&self, value: &Value<'t>, offer: &Allocation) -> Result<Vec<String>> {
        let names = self.reader.names("table", value)?;
        let mut by: Vec<String> = vec![];
        for name in names {
            by.push(name.get_ref().clone());
            let known = match offer.schema() {
                Some(schema) => schema.resolve(&by).map(|_| ()),
                None => Err(Error::stated("table: there are no attributes", "the total needs no table")),
            };
            known.map_err(|e| self.reader.at(name.span(), e))?;
        }
        Ok(by)
    }

    fn share(&self, table: &Table<'_, 't>, value: &Value<'t>, offer: &Allocation) -> Result<Quantity> {
        let reader = &self.reader;
        let margin = self.positive("share", value, EXACT)?;
        if margin >= Rational::integer(1) {
            let hint = "a part of 1: 0.01 is one percentage point";
            return Err(reader.at(value.span(), Error::input("share", margin, "a number below 1", hint)));
        }
        if let Some(table) = table.get("table") {
            let hint = "say of which values with where, one need for each";
            return reader.refuse(table.span(), "table: a share is of one count", hint);
        }
        let hint = "which records the share is of: where = { race = [\"black\"] }";
        let chosen = table.needs("where", hint)?;
        let among = table.get("of").map_or(Ok(Selection::default()), |v| self.selection("of", v, offer))?;
        let of = self.selection("where", chosen, offer)?.within(&among);
        if of.0.values().any(Vec::is_empty) {
            let cause = "where: no record of those that the share is of has these values";
            return reader.refuse(chosen.span(), cause, "check `where` and `of`");
        }
        if of == among {
            let cause = "where: all records that the share is of have these values";
            return reader.refuse(chosen.span(), cause, "the share is always 1: check `where` and `of`");
        }
        let hint = "a share is the better known the more records it is of: say how many there are at least, \
                    from public figures";
        let population = self.positive("population", table.needs("population", hint)?, hint)?;
        let about = |value: &Value<'t>| {
            reader.number("about", value, |about| {
                let range = Rational::integer(0)..=Rational::integer(1);
                if range.contains(&about) {
                    return Ok(about);
                }
                Err(Error::input("about", about, "a number from 0 to 1", "a share is a part of 1"))
            })
        };
        let about = table.get("about").map(about).transpose()?;
        Ok(Quantity::Share { of, among, margin, population, about })
    }

    fn selection(&self, field: &str, value: &Value<'t>, offer: &Allocation) -> Result<Selection> {
        let reader = &self.reader;
        let hint = "name values of attributes or groups of recodes, like { race = [\"black\", \"asian\"] }";
        let Some(table) = value.get_ref().as_table() else {
            return reader.refuse(value.span(), format!("{field}: is not a table"), hint);
        };
        let Some(schema) = offer.schema() else {
            return reader.refuse(value.span(), format!("{field}: there are no attributes"), hint);
        };
        let mut all = Selection::default();
        for (key, values) in in_order(table) {
            let part = key.get_ref().to_string();
            schema.resolve(&[&part]).map_err(|e| reader.at(key.span(), e))?;
            if values.get_ref().as_array().is_none() {
                return reader.refuse(values.span(), format!("{part}: not a list of values"), hint);
            }
            let names = reader.names(&part, values)?;
            // One by one, so that what is wrong is found where it stands.
            for name in &names {
                let one = [(part.clone(), vec![name.get_ref().clone()])];
                Selection::new(schema, &one).map_err(|e| reader.at(name.span(), e))?;
            }
            let names = names.into_iter().map(Spanned::into_inner).collect();
            let chosen = Selection::new(schema, &[(part, names)]);
            all = all.within(&chosen.map_err(|e| reader.at(values.span(), e))?);
        }
        if all.0.values().any(Vec::is_empty) {
            let hint = "an attribute and its recode are both named, and no value is in both";
            return reader.refuse(value.span(), format!("{field}: no record has these values"), hint);
        }
        Ok(all)
    }

    fn set(
        &self,
        table: &Table<'_, 't>,
        level: usize,
        names: &[&str],
        units: &[u64],
    ) -> Result<Option<UnitSet>> {
        let reader = &self.reader;
        let (count, spread_value) = (table.get("count"), table.get("spread"));
        if let Some(parts) = table.get("parts") {
            if let Some((key, value)) = [("count", count), ("spread", spread_value)]
                .into_iter()
                .find_map(|(key, value)| Some((key, value?)))
            {
                let hint = "parts say how many units a set has and how they lie; leave one of both out";
                return reader.refuse(value.span(), format!("{key}: there are parts already"), hint);
            }
            return self.parts(parts, level, names, units).map(Some);
        }
        let Some(value) = count else {
            if let Some(value) = spread_value {
                let hint = "say of how many units a set is: count = 30";
                return reader.refuse(value.span(), "spread: there is no set of units", hint);
            }
            return Ok(None);
        };
        let count = self.whole("count", value)?;
        if count > units[level] {
            let cause =
                format!("count: a set of {count} units, where `{}` has {}", names[level], units[level]);
            let hint = "a set has at most all units of its level";
            return reader.refuse(value.span(), cause, hint);
        }
        let spread = |value: &Value<'t>| {
            reader.parsed("spread", value, |text| match text {
                "scattered" => Ok(UnitSet::Scattered(count)),
                "packed" => Ok(UnitSet::Packed(count)),
                other => {
                    let hint = "`scattered` is the worst case: as far from each other as possible; `packed` \
                                is as near as possible; for whole units of several levels there is `parts`";
                    Err(Error::input("spread", other, "`scattered` or `packed`", hint))
                }
            })
        };
        spread_value.map_or(Ok(UnitSet::Scattered(count)), spread).map(Some)
    }

    /// How many whole units of each level a set is made of.
    fn parts(&self, value: &Value<'t>, level: usize, names: &[&str], units: &[u64]) -> Result<UnitSet> {
        let reader = &self.reader;
        let hint = format!(
            "say how many whole units of which level a set has: parts = {{ \"{}\" = 11 }}",
            names[level]
        );
        let Some(table) = value.get_ref().as_table() else {
            return reader.refuse(value.span(), "parts: is not a table", hint);
        };
        let mut parts = BTreeMap::new();
        for (key, count) in in_order(table) {
            let Some(at) = names.iter().position(|name| *name == &**key.get_ref()) else {
                let hint =
                    did_you_mean(key.get_ref(), names.iter().copied(), "these are the levels on offer");
                let allowed = format!("one of the levels {}", names.join(", "));
                return Err(reader.at(key.span(), Error::input("parts", key.get_ref(), allowed, hint)));
            };
            let number = self.whole("parts", count)?;
            // What is wrong with one part is wrong there.
            let one = UnitSet::Parts([(at, number)].into());
            one.check(level, names, units).map_err(|e| reader.at(count.span(), e))?;
            parts.insert(at, number);
        }
        let set = UnitSet::Parts(parts);
        set.check(level, names, units).map_err(|e| reader.at(value.span(), e))?;
        Ok(set)
    }
}

/// Why a margin is above 0.
const EXACT: &str = "no finite budget gives exact counts";

/// `Block: race = black`, `30 of Block: race = black`.
fn default_name(level: usize, names: &[&str], set: Option<&UnitSet>, quantity: &str) -> String {
    match set {
        None => format!("{}: {quantity}", names[level]),
        Some(UnitSet::Packed(count)) => format!("{count} of {}, packed: {quantity}", names[level]),
        Some(set) => format!("{}: {quantity}", set.in_words(level, names)),
    }
}
