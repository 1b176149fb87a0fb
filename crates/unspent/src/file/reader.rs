//! TOML whose every value knows its place, so that every objection has a line, a column and a hint.
//!
//! It is how allocations and schemas are read, and for other crates that read a file of their own kind.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

pub use toml::Spanned;
pub use toml::de::{DeString, DeTable, DeValue};

use crate::allocation::{check_length, check_text};
use crate::error::{Error, Result};
use crate::number::Rational;
use crate::spelling::did_you_mean;

/// A value and its place.
pub type Value<'t> = Spanned<DeValue<'t>>;

/// A text that is read, and what is said if it is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'t> {
    /// What errors call it.
    pub origin: &'t str,
    /// The text.
    pub text: &'t str,
    /// Where to look how such a file is written.
    pub hint: &'static str,
    /// The folder of the file, where other files can be named; none for texts that are no file.
    pub beside: Option<&'t Path>,
}

/// A table whose keys are all known, and the place of its head.
#[derive(Clone, Debug)]
pub struct Table<'r, 't> {
    reader: &'r Reader<'t>,
    /// The table.
    pub table: &'r DeTable<'t>,
    /// The place of its head: what is missing is missing here.
    pub head: Range<usize>,
}

/// Whether a file is meant to be TOML, by its name.
fn is_named_toml(origin: &str) -> bool {
    Path::new(origin).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

impl<'t> Reader<'t> {
    /// Parses the text; `read` makes something of its table.
    pub fn read<T>(&self, read: impl FnOnce(&Spanned<DeTable<'t>>) -> Result<T>) -> Result<T> {
        let text = self.text;
        match DeTable::parse(text) {
            Ok(table) => read(&table),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let found = match (error.message(), text.get(span.clone())) {
                    ("duplicate key", Some(key)) => {
                        Error::stated(format!("`{key}` is given twice"), "give each name and each key once")
                    }
                    (message, _) => {
                        let line = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
                        let line = text[line..].lines().next().unwrap_or_default();
                        let hint = hint_for(line).unwrap_or(self.hint);
                        let found = Error::stated(format!("not TOML: {message}"), hint);
                        if !is_named_toml(self.origin) && !line.contains('=') {
                            // It may be a table of counts, by mistake: no line of it is shown.
                            return Err(found.at(self.origin));
                        }
                        found
                    }
                };
                Err(self.at(span, found))
            }
        }
    }

    /// The whole text as a table. What is missing from it is missing from the first line on.
    pub fn root<'r>(&'r self, root: &'r Spanned<DeTable<'t>>, known: &[&str]) -> Result<Table<'r, 't>> {
        let first = self.text.find('\n').unwrap_or(self.text.len());
        self.table(root.get_ref(), 0..first, known)
    }

    /// The same error, found at this place of the text.
    pub fn at(&self, span: Range<usize>, error: Error) -> Error {
        error.found_in(self.origin, self.text, span)
    }

    /// What is at this place is refused.
    pub fn refuse<T>(
        &self,
        span: Range<usize>,
        cause: impl Into<String>,
        hint: impl Into<String>,
    ) -> Result<T> {
        Err(self.at(span, Error::stated(cause, hint)))
    }

    /// A table whose keys are all among those known.
    pub fn table<'r>(
        &'r self,
        table: &'r DeTable<'t>,
        head: Range<usize>,
        known: &[&str],
    ) -> Result<Table<'r, 't>> {
        for (key, _) in in_order(table) {
            if !known.contains(&&**key.get_ref()) {
                let allowed = format!("one of the keys {}", known.join(", "));
                let hint = did_you_mean(key.get_ref(), known.iter().copied(), self.hint);
                return Err(self.at(key.span(), Error::input("unknown key", key.get_ref(), allowed, hint)));
            }
        }
        Ok(Table { reader: self, table, head })
    }

    /// The table that the value is.
    pub fn as_table<'r>(&self, field: &str, value: &'r Value<'t>) -> Result<&'r DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            other => self.refuse(value.span(), format!("{field}: {} is not a table", kind(other)), self.hint),
        }
    }

    /// A text of one line.
    pub fn string(&self, field: &str, value: &Value<'t>) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) => {
                self.nonempty(field, &value.span(), text)?;
                Ok(text.to_string())
            }
            other => {
                let hint = "put it in quotation marks";
                self.refuse(value.span(), format!("{field}: {} is not a text", kind(other)), hint)
            }
        }
    }

    /// Fails unless the text is one line with something in it.
    pub fn nonempty(&self, field: &str, span: &Range<usize>, text: &str) -> Result<()> {
        check_text(field, text).map_err(|e| self.at(span.clone(), e))
    }

    /// A list of texts, of which no two are the same.
    pub fn names(&self, field: &str, value: &Value<'t>) -> Result<Vec<Spanned<String>>> {
        let DeValue::Array(list) = value.get_ref() else {
            let hint = format!("write a list, like {field} = [\"age\", \"sex\"]");
            return self.refuse(
                value.span(),
                format!("{field}: {} is not a list", kind(value.get_ref())),
                hint,
            );
        };
        let mut names: Vec<Spanned<String>> = vec![];
        let mut seen = HashSet::new();
        for value in list {
            let name = self.string(field, value)?;
            if !seen.insert(name.clone()) {
                return self.refuse(
                    value.span(),
                    format!("{field}: `{name}` is in the list twice"),
                    "once is enough",
                );
            }
            names.push(Spanned::new(value.span(), name));
        }
        Ok(names)
    }

    /// True or false.
    pub fn flag(&self, field: &str, value: &Value<'t>, hint: &str) -> Result<bool> {
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => self.refuse(value.span(), format!("{field}: is neither true nor false"), hint),
        }
    }

    /// The members of a list of tables; `hint` says how it is written.
    pub fn tables<'r>(
        &'r self,
        field: &str,
        value: &'r Value<'t>,
        known: &[&str],
        hint: &str,
    ) -> Result<Vec<Table<'r, 't>>> {
        let DeValue::Array(list) = value.get_ref() else {
            return self.refuse(value.span(), format!("{field}: not a list of tables"), hint);
        };
        let table = |value: &'r Value<'t>| self.table(self.as_table(field, value)?, value.span(), known);
        list.iter().map(table).collect()
    }

    /// A number, written bare or in quotation marks.
    pub fn number<T>(
        &self,
        field: &str,
        value: &Value<'t>,
        read: impl Fn(Rational) -> Result<T>,
    ) -> Result<T> {
        self.parsed(field, value, |text| {
            check_length(field, text)?;
            read(Rational::parse(field, text)?).map_err(|e| e.quoting(text))
        })
    }

    /// What `read` makes of a text or a number, as it was written.
    pub fn parsed<T>(&self, field: &str, value: &Value<'t>, read: impl Fn(&str) -> Result<T>) -> Result<T> {
        let text = match value.get_ref() {
            DeValue::String(text) => &**text,
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Array(_) | DeValue::Table(_) => {
                let hint = "write a decimal or a fraction, like 3.65 or \"104/4099\"";
                let cause = format!("{field}: {} is not a number", kind(value.get_ref()));
                return self.refuse(value.span(), cause, hint);
            }
            // As it is written: what is not a decimal is about to be refused as such.
            _ => self.text.get(value.span()).unwrap_or_default(),
        };
        read(text).map_err(|e| self.at(value.span(), e))
    }
}

impl<'r, 't> Table<'r, 't> {
    /// The value of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<&'r Value<'t>> {
        self.table.get(key)
    }

    /// The value of a key, which must be there.
    pub fn needs(&self, key: &str, hint: &str) -> Result<&'r Value<'t>> {
        match self.get(key) {
            Some(value) => Ok(value),
            None => self.reader.refuse(self.head.clone(), format!("`{key}` is missing"), hint),
        }
    }
}

/// A table in the order of the file.
pub fn in_order<'r, 't>(table: &'r DeTable<'t>) -> Vec<(&'r Spanned<DeString<'t>>, &'r Value<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Whether the value is a table.
pub fn is_table(value: &Value<'_>) -> bool {
    matches!(value.get_ref(), DeValue::Table(_))
}

/// What kind of value it is, in words.
pub fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// What a line that is not TOML was probably meant to be.
fn hint_for(line: &str) -> Option<&'static str> {
    let value = line.split_once('=').map_or("", |(_, value)| value.trim());
    let starts_as_number = value.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let hint = if line.contains(['“', '”', '„']) {
        "use straight quotation marks, \"…\""
    } else if starts_as_number && value.contains('%') {
        "a share is a part of 1: 50 % is 0.5"
    } else if starts_as_number && value.contains(',') {
        "write a decimal point, as in 2.5"
    } else if starts_as_number && value.contains('/') {
        "fractions need quotation marks, as in \"2/3\""
    } else {
        return None;
    };
    Some(hint)
}
