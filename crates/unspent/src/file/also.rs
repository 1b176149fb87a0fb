//! `[[also]]` of an allocation file: other mechanisms for the same record.

use toml::Spanned;
use toml::de::DeValue;

use super::reader::{Reader, Table, Value, in_order};
use crate::allocation::AllocationBuilder;
use crate::error::Result;
use crate::mechanism::Described;

const HINT: &str =
    "[[also]] has kind = \"laplace\", its parameters, and note = \"what one record can do in it\"";

impl<'t> Reader<'t> {
    /// Whether the file has other mechanisms for the same record.
    pub(super) fn has_also(&self, root: &Table<'_, 't>) -> bool {
        root.get("also").is_some()
    }

    /// Other mechanisms for the same record.
    pub(super) fn also(&self, root: &Table<'_, 't>, builder: &mut AllocationBuilder) -> Result<()> {
        let Some(value) = root.get("also") else { return Ok(()) };
        let DeValue::Array(list) = value.get_ref() else {
            return self.refuse(value.span(), "also: not a list of tables", HINT);
        };
        for value in list {
            let table = self.as_table("also", value)?;
            let entries = in_order(table);
            let needs = |name: &str| -> Result<&Value<'t>> {
                match entries.iter().find(|(key, _)| key.get_ref() == name) {
                    Some((_, value)) => Ok(value),
                    None => self.refuse(value.span(), format!("also: {name} is missing"), HINT),
                }
            };
            let kind = self.string("kind", needs("kind")?)?;
            let note = needs("note")?;
            let note_text = self.string("note", note)?;
            let mut parameters = vec![];
            for (key, value) in &entries {
                let name = key.get_ref().to_string();
                if name != "kind" && name != "note" {
                    parameters.push((name.clone(), self.parameter(&name, value)?, value.span()));
                }
            }
            let texts: Vec<(&str, &str)> =
                parameters.iter().map(|(n, v, _)| (n.as_str(), v.as_str())).collect();
            let read = Described::read(&kind, &texts).map_err(|error| {
                // At the parameter that is at fault, if one is named.
                let field = error.name();
                let is_named = |name: &str| field == Some(name) || (field, name) == (Some("scale"), "b");
                let named = parameters.iter().find(|(name, ..)| is_named(name));
                let place = named.map_or_else(|| value.span(), |(_, _, span)| span.clone());
                self.at(place, error)
            })?;
            builder.also(read, &note_text).map_err(|e| self.at(note.span(), e))?;
        }
        Ok(())
    }

    /// A parameter as it is written: a number, a text, or a list of them.
    fn parameter(&self, name: &str, value: &Value<'t>) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Array(list) => {
                let texts: Result<Vec<String>> =
                    list.iter().map(|item: &Spanned<_>| self.parameter(name, item)).collect();
                Ok(texts?.join(";"))
            }
            _ => self.refuse(value.span(), format!("{name}: not a number, a text or a list of them"), HINT),
        }
    }
}
