//! Schemas as text: attributes, recodes, impossible combinations and queries, in a file of their own or in an
//! allocation's. `[table]` is read in [`super::layout`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use toml::Spanned;
use toml::de::DeValue;

use super::read_text;
use super::reader::{Reader, Table, Value, in_order};
use super::write::{key, list, quoted};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Attribute, Group, Impossible, Recode, Schema, SchemaQuery, ShippedSchema};
use crate::spelling::did_you_mean;

/// The keys of a schema, in a file of its own or in an allocation.
pub(super) const KEYS: &[&str] =
    &["name", "source", "schema", "attributes", "recodes", "impossible", "queries", "table"];
const ATTRIBUTE_KEYS: &[&str] = &["values", "codes", "optional", "first", "last"];
const RECODE_KEYS: &[&str] = &["of", "groups"];
const IMPOSSIBLE_KEYS: &[&str] = &["name", "where"];
pub(super) const HINT: &str =
    "examples/blocks.toml has a commented [table]; every shipped schema is such a file";
/// Most values of an attribute.
const MAX_VALUES: usize = 100_000;
/// Most cells of a histogram: its index must be a machine number, with room for values that are missing.
const MAX_CELLS: u64 = 1 << 48;

impl Schema {
    /// Reads a schema from a file of its own, or from an allocation whose other parts are left alone.
    pub fn parse(origin: &str, text: &str) -> Result<Schema> {
        Schema::parse_beside(origin, text, None)
    }

    /// Reads a schema file.
    pub fn read(path: &Path) -> Result<Schema> {
        let origin = super::shown(path);
        let text =
            read_text(path, HINT, "check the path").map_err(|e| e.at(&origin).with_kind(ErrorKind::Input))?;
        Schema::parse_beside(&origin, &text, path.parent())
    }

    /// The shipped schema of that name.
    pub fn shipped(name: &str) -> Result<Schema> {
        static READ: [OnceLock<Schema>; ShippedSchema::ALL.len()] =
            [const { OnceLock::new() }; ShippedSchema::ALL.len()];
        let at = ShippedSchema::position(name)?;
        let ShippedSchema { name, text } = ShippedSchema::ALL[at];
        if let Some(read) = READ[at].get() {
            return Ok(read.clone());
        }
        let mut schema = Schema::parse(&format!("schema {name}"), text)?;
        schema.shipped = Some(name);
        Ok(READ[at].get_or_init(|| schema).clone())
    }

    fn parse_beside(origin: &str, text: &str, beside: Option<&Path>) -> Result<Schema> {
        let reader = Reader { origin, text, hint: HINT, beside };
        reader.read(|root| {
            let root = reader.root(root, super::toml::KEYS)?;
            if KEYS[2..].iter().all(|key| root.get(key).is_none()) {
                root.needs("attributes", HINT)?;
            }
            let mut schema = reader.schema(&root)?.unwrap_or_default();
            // The queries of an allocation are its own.
            if let Some(value) = root.get("queries").filter(|_| root.get("levels").is_none()) {
                reader.schema_queries(value, &mut schema)?;
            }
            let text = |key| root.get(key).map(|v| reader.string(key, v)).transpose();
            (schema.name, schema.source) = (text("name")?.or(schema.name), text("source")?.or(schema.source));
            Ok(schema)
        })
    }

    /// The text of a file that reads back as this schema.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (key, value) in [("name", &self.name), ("source", &self.source)] {
            if let Some(value) = value.as_ref().filter(|_| self.shipped.is_none()) {
                let _ = writeln!(text, "{key} = {}", quoted(value));
            }
        }
        if let Some(name) = self.shipped {
            let _ = writeln!(text, "schema = {}", quoted(name));
        }
        self.write_tables(&mut text, true);
        if self.shipped.is_none() && !self.queries.is_empty() {
            text += "\n[queries]\n";
            for query in &self.queries {
                let _ = writeln!(text, "{} = {}", key(&query.name), list(&query.by));
            }
        }
        text
    }

    /// What a shipped schema does not say by its name, except queries. The values of attributes are in a
    /// table of their own, or in `[table]` where `attributes` is a list already.
    pub(super) fn write_tables(&self, text: &mut String, own_table: bool) {
        let shipped = self.shipped.and_then(|name| Schema::shipped(name).ok());
        if shipped.is_none() {
            if own_table && !self.attributes.is_empty() {
                *text += "\n[attributes]\n";
                self.write_attributes(text);
            }
            self.write_parts(text);
        }
        if let Some(layout) =
            self.layout.as_ref().filter(|l| shipped.is_none_or(|s| s.layout.as_ref() != Some(l)))
        {
            layout.write(&self.attributes, text);
            if !own_table && !self.attributes.is_empty() {
                *text += "\n[table.attributes]\n";
                self.write_attributes(text);
            }
        }
    }

    fn write_attributes(&self, text: &mut String) {
        for attribute in &self.attributes {
            let values = match years(&attribute.values) {
                Some((first, last)) => format!("first = {first}, last = {last}"),
                None => format!("values = {}", list(&attribute.values)),
            };
            let mut entries = vec![values];
            if !attribute.codes.is_empty() {
                entries.push(format!("codes = {}", list(&attribute.codes)));
            }
            if attribute.optional {
                entries.push("optional = true".into());
            }
            let plain = entries.len() == 1 && years(&attribute.values).is_none();
            let value = if plain { list(&attribute.values) } else { format!("{{ {} }}", entries.join(", ")) };
            let _ = writeln!(text, "{} = {value}", key(&attribute.name));
        }
    }

    fn write_parts(&self, text: &mut String) {
        for recode in &self.recodes {
            let attribute = &self.attributes[recode.attribute];
            let _ = write!(text, "\n[recodes.{}]\nof = {}\n", key(&recode.name), quoted(&attribute.name));
            let _ = writeln!(text, "[recodes.{}.groups]", key(&recode.name));
            for group in &recode.groups {
                let _ = writeln!(text, "{} = {}", key(&group.label), ranges(&group.values));
            }
        }
        for impossible in &self.impossible {
            let _ = write!(text, "\n[[impossible]]\nname = {}\n", quoted(&impossible.name));
            let parts = impossible.combination.iter().map(|(attribute, values)| {
                format!("{} = {}", key(&self.attributes[*attribute].name), ranges(values))
            });
            let _ = writeln!(text, "where = {{ {} }}", parts.collect::<Vec<_>>().join(", "));
        }
    }
}

/// The first and the last, if the values are consecutive whole numbers.
fn years(values: &[String]) -> Option<(u64, u64)> {
    let first: u64 = values.first()?.parse().ok()?;
    let consecutive = values.iter().zip(first..).all(|(value, number)| *value == number.to_string());
    (consecutive && values.len() > 1).then(|| (first, first + values.len() as u64 - 1))
}

/// Positions as a list of numbers and of ranges, `[first, last]`.
fn ranges(values: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = vec![];
    for value in values {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *value => *last = *value,
            _ => parts.push((*value, *value)),
        }
    }
    let part = |(first, last): (u32, u32)| match last - first {
        0 => first.to_string(),
        _ => format!("[{first}, {last}]"),
    };
    format!("[{}]", parts.into_iter().map(part).collect::<Vec<_>>().join(", "))
}

impl<'t> Reader<'t> {
    /// The schema of a file, if it says anything of one.
    pub(super) fn schema(&self, root: &Table<'_, 't>) -> Result<Option<Schema>> {
        let own = root.get("attributes").filter(|value| matches!(value.get_ref(), DeValue::Table(_)));
        let mut schema = match root.get("schema") {
            None => Schema::default(),
            Some(value) => self.named_schema(value)?,
        };
        if let Some(value) = own {
            if root.get("schema").is_some() {
                let hint = "name a schema or write one, not both";
                return self.refuse(value.span(), "attributes: the schema has attributes already", hint);
            }
            schema.attributes = self.attributes(value)?;
        }
        if let Some(table) = root.get("table").map(Spanned::get_ref)
            && let DeValue::Table(table) = table
            && let Some(value) = table.get("attributes")
        {
            if !schema.attributes.is_empty() {
                let hint = "give the values of attributes in one place";
                return self.refuse(value.span(), "attributes: these have values already", hint);
            }
            schema.attributes = self.attributes(value)?;
        }
        for (name, read) in [
            ("recodes", Reader::recodes as fn(&Self, &Value<'t>, &mut Schema) -> Result<()>),
            ("impossible", Reader::impossible),
        ] {
            if let Some(value) = root.get(name) {
                if schema.attributes.is_empty() {
                    let cause = format!("{name}: there are no attributes with values");
                    return self.refuse(value.span(), cause, "give the values in [attributes]");
                }
                schema.shipped = None;
                read(self, value, &mut schema)?;
            }
        }
        if let Some(value) = root.get("table") {
            schema.layout = Some(self.layout(value, &schema)?);
        }
        Ok((schema != Schema::default()).then_some(schema))
    }

    /// A shipped schema, or a file beside this one.
    fn named_schema(&self, value: &Value<'t>) -> Result<Schema> {
        let name = self.string("schema", value)?;
        let shipped = Schema::shipped(&name);
        let Some(beside) = self.beside.filter(|_| shipped.is_err() && name.contains('.')) else {
            return shipped.map_err(|e| self.at(value.span(), e));
        };
        let path = beside.join(&name);
        if !path.is_file() {
            let hint = "a schema is a file, by its path from this one, or one of the shipped schemas";
            let error = Error::input("schema", &name, "a file that can be read", hint);
            return Err(self.at(value.span(), error));
        }
        Schema::read(&path)
    }

    fn attributes(&self, value: &Value<'t>) -> Result<Vec<Attribute>> {
        let mut attributes: Vec<Attribute> = vec![];
        for (key, value) in in_order(self.as_table("attributes", value)?) {
            let name = key.get_ref().to_string();
            self.nonempty("attribute", &key.span(), &name)?;
            if ["column", "minus"].contains(&name.as_str()) {
                let hint = "`column` and `minus` say where a cell is; call the attribute something else";
                let cause = format!("attribute: `{name}` means something else");
                return self.refuse(key.span(), cause, hint);
            }
            attributes.push(self.attribute(name, value)?);
        }
        // Where values may be missing there is one more.
        let cells = attributes.iter().try_fold(1u64, |n, a| n.checked_mul(a.values.len() as u64 + 1));
        if cells.is_none_or(|n| n > MAX_CELLS) {
            let cause = format!("attributes: they have more than {MAX_CELLS} combinations of values");
            return self.refuse(value.span(), cause, "leave out attributes that no query asks for");
        }
        Ok(attributes)
    }

    fn attribute(&self, name: String, value: &Value<'t>) -> Result<Attribute> {
        let texts = |field: &str, value: &Value<'t>| -> Result<Vec<String>> {
            Ok(self.names(field, value)?.into_iter().map(Spanned::into_inner).collect())
        };
        let mut attribute = Attribute { name, values: vec![], codes: vec![], optional: false };
        if let DeValue::Table(table) = value.get_ref() {
            let table = self.table(table, value.span(), ATTRIBUTE_KEYS)?;
            attribute.values = match (table.get("values"), table.get("first"), table.get("last")) {
                (Some(values), None, None) => texts("values", values)?,
                (None, Some(first), Some(last)) => {
                    let (first, last) = (self.position("first", first)?, self.position("last", last)?);
                    if last < first || (last - first) as usize >= MAX_VALUES {
                        let cause = format!("attribute `{}`: {first} to {last} is no range", attribute.name);
                        let hint = format!("write the smallest first; at most {MAX_VALUES} values");
                        return self.refuse(value.span(), cause, hint);
                    }
                    (first..=last).map(|number| number.to_string()).collect()
                }
                _ => {
                    let cause =
                        format!("attribute `{}`: its values are missing or given twice", attribute.name);
                    let hint = "give values = [\"…\", \"…\"], or first and last for whole numbers";
                    return self.refuse(value.span(), cause, hint);
                }
            };
            if let Some(codes) = table.get("codes") {
                attribute.codes = texts("codes", codes)?;
                if attribute.codes.len() != attribute.values.len() {
                    let (codes_, values) = (attribute.codes.len(), attribute.values.len());
                    let cause = format!("attribute `{}`: {codes_} codes for {values} values", attribute.name);
                    return self.refuse(codes.span(), cause, "give one code for each value, in order");
                }
            }
            let optional = |value| self.flag("optional", value, "true if a record may lack it");
            attribute.optional = table.get("optional").map_or(Ok(false), optional)?;
        } else {
            attribute.values = texts(&attribute.name, value)?;
        }
        if attribute.values.is_empty() {
            let hint = "leave out an attribute of which nothing is known";
            let cause = format!("attribute `{}`: has no values", attribute.name);
            return self.refuse(value.span(), cause, hint);
        }
        Ok(attribute)
    }

    fn recodes(&self, value: &Value<'t>, schema: &mut Schema) -> Result<()> {
        for (key, value) in in_order(self.as_table("recodes", value)?) {
            let name = key.get_ref().to_string();
            self.nonempty("recode", &key.span(), &name)?;
            let taken = schema.attribute(&name).is_some() || schema.recodes.iter().any(|r| r.name == name);
            if taken {
                let cause = format!("recode: `{name}` is the name of an attribute or recode already");
                return self.refuse(
                    key.span(),
                    cause,
                    "attributes and recodes are told apart by their names",
                );
            }
            let hint =
                "write [recodes.NAME] with of = \"attribute\" and groups = { \"label\" = [\"value\"] }";
            let table = self.table(self.as_table("recodes", value)?, value.span(), RECODE_KEYS)?;
            let attribute = self.known_attribute("of", table.needs("of", hint)?, schema)?;
            let listed = table.needs("groups", hint)?;
            let mut groups = vec![];
            let mut taken: HashSet<u32> = HashSet::new();
            for (label, members) in in_order(self.as_table("groups", listed)?) {
                self.nonempty("group", &label.span(), label.get_ref())?;
                let values = self.values(members, &schema.attributes[attribute])?;
                if values.is_empty() || values.iter().any(|value| !taken.insert(*value)) {
                    let cause =
                        format!("group `{}`: is empty, or has a value of another group", label.get_ref());
                    let hint = "a value is in at most one group of a recode";
                    return self.refuse(members.span(), cause, hint);
                }
                groups.push(Group { label: label.get_ref().to_string(), values });
            }
            if groups.is_empty() {
                return self.refuse(listed.span(), format!("recode `{name}`: has no groups"), hint);
            }
            schema.recodes.push(Recode { name, attribute, groups });
        }
        Ok(())
    }

    fn impossible(&self, value: &Value<'t>, schema: &mut Schema) -> Result<()> {
        let hint =
            "write [[impossible]] with name = \"…\" and where = { age = [[0, 17]], home = [\"nursing\"] }";
        let DeValue::Array(rules) = value.get_ref() else {
            return self.refuse(value.span(), "impossible: not a list of tables", hint);
        };
        for rule in rules {
            let table = self.table(self.as_table("impossible", rule)?, rule.span(), IMPOSSIBLE_KEYS)?;
            let name = self.string("name", table.needs("name", hint)?)?;
            let listed = table.needs("where", hint)?;
            let mut combination = BTreeMap::new();
            for (attribute, members) in in_order(self.as_table("where", listed)?) {
                let at = self.find_attribute("where", attribute.get_ref(), attribute.span(), schema)?;
                combination.insert(at, self.values(members, &schema.attributes[at])?);
            }
            if combination.is_empty() || combination.values().any(Vec::is_empty) {
                return self.refuse(listed.span(), format!("impossible `{name}`: names no values"), hint);
            }
            schema.impossible.push(Impossible { name, combination });
        }
        Ok(())
    }

    fn schema_queries(&self, value: &Value<'t>, schema: &mut Schema) -> Result<()> {
        for (key, value) in in_order(self.as_table("queries", value)?) {
            let name = key.get_ref().to_string();
            let by = match value.get_ref() {
                DeValue::Table(table) => match table.get("attributes") {
                    Some(by) => self.names("attributes", by)?,
                    None => vec![],
                },
                _ => self.names("attributes", value)?,
            };
            let by: Vec<String> = by.into_iter().map(Spanned::into_inner).collect();
            schema.resolve(&by).map_err(|e| self.at(value.span(), e))?;
            schema.queries.retain(|query| query.name != name);
            schema.queries.push(SchemaQuery { name, by });
        }
        Ok(())
    }

    fn known_attribute(&self, field: &str, value: &Value<'t>, schema: &Schema) -> Result<usize> {
        self.find_attribute(field, &self.string(field, value)?, value.span(), schema)
    }

    pub(super) fn find_attribute(
        &self,
        field: &str,
        name: &str,
        span: Range<usize>,
        schema: &Schema,
    ) -> Result<usize> {
        schema.attribute(name).ok_or_else(|| {
            let known: Vec<&str> = schema.attributes.iter().map(|a| a.name.as_str()).collect();
            let allowed = format!("one of the attributes {}", known.join(", "));
            let hint = did_you_mean(name, known, "every attribute is declared in [attributes]");
            self.at(span, Error::input(field, name, allowed, hint))
        })
    }

    /// Values of an attribute: names of them, positions from 0 on, and ranges of positions.
    fn values(&self, list: &Value<'t>, attribute: &Attribute) -> Result<Vec<u32>> {
        let hint = "list values by name, or by position from 0 on: 3, or [3, 9] for 3 to 9";
        let DeValue::Array(members) = list.get_ref() else {
            return self.refuse(list.span(), format!("`{}`: not a list of values", attribute.name), hint);
        };
        let names: HashMap<&str, u32> =
            attribute.values.iter().zip(0..).map(|(value, at)| (value.as_str(), at)).collect();
        let within = |value: &Value<'t>| -> Result<u32> {
            let at = self.position(&attribute.name, value)?;
            if (at as usize) < attribute.values.len() {
                return Ok(at as u32);
            }
            let allowed = format!("a position from 0 to {}", attribute.values.len() - 1);
            Err(self.at(value.span(), Error::input(&attribute.name, at, allowed, hint)))
        };
        let mut values = vec![];
        for member in members {
            match member.get_ref() {
                DeValue::String(name) => match names.get(&**name) {
                    Some(at) => values.push(*at),
                    None => {
                        let known = attribute.values.iter().map(String::as_str);
                        let allowed = format!("a value of `{}`", attribute.name);
                        let hint = did_you_mean(name, known, "the values are listed in [attributes]");
                        let error = Error::input(&attribute.name, name, allowed, hint);
                        return Err(self.at(member.span(), error));
                    }
                },
                DeValue::Array(range) if range.len() == 2 => {
                    let ends: Vec<u32> = range.iter().map(within).collect::<Result<_>>()?;
                    if ends[0] > ends[1] {
                        return self.refuse(member.span(), "a range ends before it begins", hint);
                    }
                    values.extend(ends[0]..=ends[1]);
                }
                _ => values.push(within(member)?),
            }
        }
        let listed = values.len();
        values.sort_unstable();
        values.dedup();
        if values.len() < listed {
            let cause = format!("`{}`: a value is in the list twice", attribute.name);
            return self.refuse(list.span(), cause, "once is enough");
        }
        Ok(values)
    }

    fn position(&self, field: &str, value: &Value<'t>) -> Result<u64> {
        self.parsed(field, value, |text| {
            text.parse().ok().filter(|n: &u64| *n <= u64::from(u32::MAX)).ok_or_else(|| {
                Error::input(field, text, "a whole number from 0 on", "write digits, without quotation marks")
            })
        })
    }
}
