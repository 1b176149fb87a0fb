//! Cells of the full histogram as numbers, and the values of attributes as they are written in tables.

use std::collections::HashMap;

use unspent::schema::{Attribute, Impossible, Schema};
use unspent::{Error, Result};

/// The cells of a full histogram as numbers, those of the last attribute changing fastest. An attribute that
/// a record may lack has one more value, after all others.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    sizes: Vec<u64>,
}

impl Cells {
    pub(crate) fn new(schema: &Schema) -> Cells {
        let size = |attribute: &Attribute| attribute.values.len() as u64 + u64::from(attribute.optional);
        Cells { sizes: schema.attributes().iter().map(size).collect() }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.sizes.iter().product()
    }

    /// The cell with these values.
    pub(crate) fn number(&self, values: &[u32]) -> u64 {
        self.sizes.iter().zip(values).fold(0, |cell, (size, value)| cell * size + u64::from(*value))
    }

    /// The values of a cell.
    pub(crate) fn values(&self, mut cell: u64, values: &mut Vec<u32>) {
        values.resize(self.sizes.len(), 0);
        for (value, size) in values.iter_mut().zip(&self.sizes).rev() {
            *value = (cell % size) as u32;
            cell /= size;
        }
    }
}

/// How a table writes the values of an attribute.
#[derive(Debug)]
pub(crate) struct ValueCodes {
    column: String,
    known: HashMap<String, u32>,
    /// Whether numbers may have lost their leading zeros.
    numbers: bool,
    /// The value of a record that lacks it.
    missing: Option<u32>,
    /// What messages show.
    shown: Vec<String>,
}

impl ValueCodes {
    /// Values may be written by their codes, or in words.
    pub(crate) fn new(attribute: &Attribute, column: &str) -> Result<ValueCodes> {
        let mut known: HashMap<String, u32> = HashMap::new();
        let listed = if attribute.codes.is_empty() { &attribute.values } else { &attribute.codes };
        for (text, value) in listed.iter().zip(0..).chain(attribute.values.iter().zip(0..)) {
            if *known.entry(text.clone()).or_insert(value) != value {
                return Err(Error::stated(
                    format!(
                        "attribute `{}`: `{text}` is a code of one value and the name of another",
                        attribute.name
                    ),
                    "name values so that a table cannot be read in two ways",
                ));
            }
        }
        let numbers = listed.iter().all(|text| text.bytes().all(|b| b.is_ascii_digit()));
        if numbers {
            for (text, value) in listed.iter().zip(0..) {
                let short = without_zeros(text);
                if *known.entry(short.into()).or_insert(value) != value {
                    let name = &attribute.name;
                    return Err(Error::stated(
                        format!("attribute `{name}`: `{short}` may be the code `{text}` or another value"),
                        "name values so that a table cannot be read in two ways, also if zeros are lost",
                    ));
                }
            }
        }
        let missing = attribute.optional.then_some(attribute.values.len() as u32);
        Ok(ValueCodes { column: column.into(), known, numbers, missing, shown: listed.clone() })
    }

    /// The value that is written so.
    pub(crate) fn read(&self, text: &str) -> Result<u32> {
        if let Some(value) = self.known.get(text) {
            return Ok(*value);
        }
        if self.numbers
            && !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_digit())
            && let Some(value) = self.known.get(without_zeros(text))
        {
            return Ok(*value);
        }
        match (text.is_empty(), self.missing) {
            (true, Some(missing)) => Ok(missing),
            (true, None) => Err(Error::stated(
                format!("{}: is missing", self.column),
                "every record has a value; an attribute that may be missing is declared as optional",
            )),
            (false, _) => {
                let some: Vec<&str> = self.shown.iter().take(12).map(String::as_str).collect();
                let more = if self.shown.len() > 12 { ", …" } else { "" };
                let allowed = format!("one of the values {}{more}", some.join(", "));
                let hint = "the values of each attribute, and their codes, are in the schema";
                Err(Error::input(&self.column, text, allowed, hint).concealed())
            }
        }
    }
}

fn without_zeros(text: &str) -> &str {
    match text.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    }
}

/// Combinations of values that no record has.
#[derive(Debug)]
pub(crate) struct StructuralZeros(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    name: String,
    /// For each attribute that matters, whether a value is among those that cannot occur together.
    parts: Vec<(usize, Vec<bool>)>,
}

impl StructuralZeros {
    pub(crate) fn new(schema: &Schema) -> StructuralZeros {
        let rule = |impossible: &Impossible| Rule {
            name: impossible.name.clone(),
            parts: impossible
                .combination
                .iter()
                .map(|(attribute, values)| {
                    let attribute_ = &schema.attributes()[*attribute];
                    let mut among = vec![false; attribute_.values.len() + usize::from(attribute_.optional)];
                    values.iter().for_each(|value| among[*value as usize] = true);
                    (*attribute, among)
                })
                .collect(),
        };
        StructuralZeros(schema.impossible().iter().map(rule).collect())
    }

    fn broken(&self, values: &[u32]) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.parts.iter().all(|(at, among)| among[values[*at] as usize]))
    }

    /// Whether a record can have these values.
    pub(crate) fn allow(&self, values: &[u32]) -> bool {
        self.broken(values).is_none()
    }

    /// Fails if no record can have these values.
    pub(crate) fn check(&self, values: &[u32]) -> Result<()> {
        match self.broken(values) {
            None => Ok(()),
            Some(rule) => Err(Error::stated(
                format!("there is a record with an impossible combination of values, `{}`", rule.name),
                "the schema says that it cannot occur: correct the record, or the schema",
            )
            .concealed_as("there is a record with an impossible combination of values")),
        }
    }
}
