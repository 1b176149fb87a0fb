//! Lists of mechanisms, in files and in JSON: each given in full, or with one parameter that is to be found.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::text::DEFAULT;
use super::{Described, Open};
use crate::error::{Error, Result};

/// One mechanism of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Given in full.
    Known(Described),
    /// With one parameter written `?`.
    Open(Open),
}

impl Entry {
    /// Reads `kind:name=value,name=value`, one of whose values may be `?`.
    pub fn parse(text: &str) -> Result<Entry> {
        let (kind, parameters) = Described::split(text)?;
        Entry::read(kind, &parameters)
    }

    /// From a kind, discrete Gaussian noise unless given, and parameters.
    fn read(kind: Option<&str>, parameters: &[(&str, &str)]) -> Result<Entry> {
        if parameters.iter().any(|(_, value)| *value == Open::MARK) {
            return Ok(Entry::Open(Open::read(kind.unwrap_or(DEFAULT), parameters)?));
        }
        // Who names no kind is not told one.
        Ok(Entry::Known(match kind {
            Some(kind) => Described::read(kind, parameters)?,
            None => Described::of_kind(DEFAULT, parameters)?,
        }))
    }

    /// The mechanism, if it is given in full.
    pub fn described(self) -> Result<Described> {
        match self {
            Entry::Known(described) => Ok(described),
            Entry::Open(open) => Err(Error::input(
                open.parameter(),
                Open::MARK,
                "a number: nothing is looked for here",
                "`?` asks for the value that keeps an epsilon at a delta",
            )),
        }
    }

    /// From an object with the kind and the parameters.
    pub(super) fn from_json(map: &serde_json::Map<String, Value>) -> Result<Entry> {
        let mut texts = vec![];
        for (name, value) in map.iter().filter(|(name, _)| *name != "kind") {
            texts.push((name.as_str(), text_of(name, value)?));
        }
        let kind = match map.get("kind") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(other) => return Err(Error::input("kind", other, "a name in quotes", "like \"laplace\"")),
            None => DEFAULT,
        };
        let parameters: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Entry::read(Some(kind), &parameters)
    }

    /// All mechanisms of a file: JSON (a list, or an object with the list as `composition` or `mechanisms`),
    /// or TOML (`[[mechanism]]` with a kind and parameters).
    pub fn read_file(text: &str) -> Result<Vec<Entry>> {
        let value: Value =
            if text.trim_start().starts_with(['[', '{']) && !text.trim_start().starts_with("[[") {
                serde_json::from_str(text).map_err(|e| Error::stated(format!("JSON: {e}"), FILE_HINT))?
            } else {
                let table = DeTable::parse(text)
                    .map_err(|e| Error::stated(format!("TOML: {}", e.message()), FILE_HINT))?;
                Value::Object(from_toml(table.get_ref()))
            };
        let list = match &value {
            Value::Object(map) => {
                ["composition", "mechanisms", "mechanism"].iter().find_map(|name| map.get(*name))
            }
            list => Some(list),
        };
        let Some(Value::Array(list)) = list else {
            return Err(Error::stated("no list of mechanisms is in the file", FILE_HINT));
        };
        let read = |(i, item): (usize, &Value)| {
            let place = |e: Error| e.at(format!("mechanism {}", i + 1));
            match item {
                Value::Object(map) => Entry::from_json(map).map_err(place),
                other => Err(place(Error::input(
                    "mechanism",
                    other,
                    "an object with a kind and parameters",
                    FILE_HINT,
                ))),
            }
        };
        list.iter().enumerate().map(read).collect()
    }
}

impl From<Described> for Entry {
    fn from(described: Described) -> Entry {
        Entry::Known(described)
    }
}

impl<'de> Deserialize<'de> for Entry {
    /// Parameters by name: texts, whole numbers, or lists of them.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Entry, D::Error> {
        let map = serde_json::Map::<String, Value>::deserialize(deserializer)?;
        Entry::from_json(&map).map_err(D::Error::custom)
    }
}

const FILE_HINT: &str =
    "a file has [[mechanism]] tables, or JSON like [{\"kind\": \"laplace\", \"scale\": \"2\"}]";

/// The same as JSON, with numbers as the text that was written.
fn from_toml(table: &DeTable<'_>) -> serde_json::Map<String, Value> {
    fn value(item: &DeValue<'_>) -> Value {
        match item {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Value::String(number.as_str().to_owned()),
            DeValue::Float(number) => Value::String(number.as_str().to_owned()),
            DeValue::Array(list) => Value::Array(list.iter().map(|item| value(item.get_ref())).collect()),
            DeValue::Table(table) => Value::Object(from_toml(table)),
            // No parameter is a date or a truth value, and whole numbers are decimal.
            _ => Value::Null,
        }
    }
    table.iter().map(|(name, item)| (name.get_ref().to_string(), value(item.get_ref()))).collect()
}

/// A parameter as text. A number with a decimal point may be one that a text would say exactly.
fn text_of(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Array(list) => {
            let texts: Result<Vec<String>> = list.iter().map(|item| text_of(name, item)).collect();
            Ok(texts?.join(";"))
        }
        other => Err(Error::input(name, other, "a number, a text or a list of them", "like \"1/3\"")),
    }
}
