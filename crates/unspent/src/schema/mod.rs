//! What is known of a record: attributes with their values, recodes of them, combinations that cannot occur,
//! and the queries that are made of these.
//!
//! ```text
//! Schema ── attributes ── values          a histogram cell is one value of each attribute
//!        ├─ recodes     ── groups of the values of one attribute
//!        ├─ impossible  ── structural zeros
//!        ├─ queries     ── products of attributes and recodes
//!        └─ layout      ── how a table is read: columns, codes, geographic levels
//! ```
//!
//! The answers of a query are listed in the order of the schema's attributes, the last one changing fastest,
//! whatever the order of the words in the query's name.

mod layout;
mod shipped;

use std::collections::BTreeMap;

pub use layout::{Cell, Code, Layout, Rows, UnitLevel};
pub use shipped::ShippedSchema;

use crate::error::{Error, Result};
use crate::spelling::did_you_mean;

/// What is known of a record, and how a table of records or counts is read.
///
/// ```
/// use unspent::schema::Schema;
/// let schema = Schema::parse("schema.toml", r#"
///     [attributes]
///     sex = ["male", "female"]
///     age = { first = 0, last = 99 }
///     [recodes.adult]
///     of = "age"
///     groups = { "under 18" = [[0, 17]], "18 or older" = [[18, 99]] }
///     [queries]
///     "adult * sex" = ["adult", "sex"]
/// "#)?;
/// // In the order of the attributes: sex first.
/// assert_eq!(schema.resolve(&["adult", "sex"])?.iter().map(|part| part.cells).collect::<Vec<_>>(), [2, 2]);
/// assert_eq!(schema.touched(&["adult"])?, ["age"]);
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    pub(crate) name: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) recodes: Vec<Recode>,
    pub(crate) impossible: Vec<Impossible>,
    pub(crate) queries: Vec<SchemaQuery>,
    pub(crate) layout: Option<Layout>,
    /// What it is shipped as, if nothing but its layout was changed.
    pub(crate) shipped: Option<&'static str>,
}

/// Something that is known of a record, and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name, as in the allocation.
    pub name: String,
    /// In words, in the order of the cells.
    pub values: Vec<String>,
    /// How records write them; as many as values, or none if they write the values themselves.
    pub codes: Vec<String>,
    /// Whether a record may lack it. Queries by this attribute do not count such a record.
    pub optional: bool,
}

/// Groups of the values of an attribute, under a name of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recode {
    /// Its name, unlike that of any attribute.
    pub name: String,
    /// Index into [`Schema::attributes`].
    pub attribute: usize,
    /// In the order of the cells.
    pub groups: Vec<Group>,
}

/// A group of values; no value is in two groups of a recode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// In words.
    pub label: String,
    /// Indices of values, ascending.
    pub values: Vec<u32>,
}

/// Combinations of values that no record has: structural zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Its name.
    pub name: String,
    /// For some attributes, by index, the values that cannot occur together; ascending.
    pub combination: BTreeMap<usize, Vec<u32>>,
}

/// A query of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaQuery {
    /// Its name.
    pub name: String,
    /// The attributes and recodes whose values it tells apart; none for a total.
    pub by: Vec<String>,
}

/// An attribute that a query tells apart, by its values or by groups of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'s> {
    /// Index into [`Schema::attributes`].
    pub attribute: usize,
    /// The recode, unless every value has a cell of its own.
    pub recode: Option<&'s Recode>,
    /// How many values or groups there are.
    pub cells: usize,
}

impl Part<'_> {
    /// The cell that each value of the attribute belongs to; none if no group has it.
    #[must_use]
    pub fn cell_of(&self, attribute: &Attribute) -> Vec<Option<u32>> {
        let Some(recode) = self.recode else { return (0..attribute.values.len() as u32).map(Some).collect() };
        let mut cells = vec![None; attribute.values.len()];
        for (cell, group) in recode.groups.iter().enumerate() {
            for value in &group.values {
                cells[*value as usize] = Some(cell as u32);
            }
        }
        cells
    }
}

impl Recode {
    /// Whether every value is in a group.
    #[must_use]
    pub fn is_partition(&self, attribute: &Attribute) -> bool {
        self.groups.iter().map(|group| group.values.len()).sum::<usize>() == attribute.values.len()
    }
}

impl Schema {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where its facts come from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// What is known of a record, in the order of the cells.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Groups of values, by name.
    #[must_use]
    pub fn recodes(&self) -> &[Recode] {
        &self.recodes
    }

    /// Combinations of values that no record has.
    #[must_use]
    pub fn impossible(&self) -> &[Impossible] {
        &self.impossible
    }

    /// The queries that allocations may ask without saying what they are.
    #[must_use]
    pub fn queries(&self) -> &[SchemaQuery] {
        &self.queries
    }

    /// Whether it is shipped, so that its layout is no more than a usual one.
    #[must_use]
    pub fn is_shipped(&self) -> bool {
        self.shipped.is_some()
    }

    /// How a table is read, if the schema says so.
    #[must_use]
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// The number of cells of the full histogram.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.attributes.iter().map(|attribute| attribute.values.len() as u64).product()
    }

    /// The same with a layout of its own, if `other` has one; all of `other`, if it has attributes.
    #[must_use]
    pub fn overlaid(mut self, other: Schema) -> Schema {
        if !other.attributes.is_empty() || self.attributes.is_empty() {
            return other;
        }
        if other.layout.is_some() {
            self.layout = other.layout;
        }
        self
    }

    /// The same for a table whose rows are these, if it says how a table is read.
    #[must_use]
    pub fn with_rows(mut self, rows: Rows) -> Schema {
        self.layout = self.layout.map(|layout| layout.with_rows(rows));
        self
    }

    /// The same without knowing that some combinations of values cannot occur.
    #[must_use]
    pub fn without_impossible(mut self) -> Schema {
        self.impossible.clear();
        self
    }

    /// The attribute of that name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|attribute| attribute.name == name)
    }

    /// The parts of a query by these attributes and recodes, in the order of the cells.
    pub fn resolve<N: AsRef<str>>(&self, by: &[N]) -> Result<Vec<Part<'_>>> {
        let mut parts: Vec<Part<'_>> = vec![];
        for name in by.iter().map(AsRef::as_ref) {
            let part = match (self.attribute(name), self.recodes.iter().find(|recode| recode.name == name)) {
                (Some(attribute), _) => {
                    Part { attribute, recode: None, cells: self.attributes[attribute].values.len() }
                }
                (None, Some(recode)) => {
                    Part { attribute: recode.attribute, recode: Some(recode), cells: recode.groups.len() }
                }
                (None, None) => return Err(self.unknown(name)),
            };
            if parts.iter().any(|other| other.attribute == part.attribute) {
                let attribute = &self.attributes[part.attribute].name;
                return Err(Error::stated(
                    format!("attributes: `{name}` is about `{attribute}`, as another one in the list is"),
                    "a query tells each attribute apart once",
                ));
            }
            parts.push(part);
        }
        parts.sort_by_key(|part| part.attribute);
        Ok(parts)
    }

    /// The attributes whose change can move a record to another cell of a query by these attributes and
    /// recodes, in the order of the schema.
    pub fn touched<N: AsRef<str>>(&self, by: &[N]) -> Result<Vec<String>> {
        let parts = self.resolve(by)?;
        Ok(parts.iter().map(|part| self.attributes[part.attribute].name.clone()).collect())
    }

    fn unknown(&self, name: &str) -> Error {
        let known = || {
            let attributes = self.attributes.iter().map(|attribute| attribute.name.as_str());
            attributes.chain(self.recodes.iter().map(|recode| recode.name.as_str()))
        };
        let names: Vec<&str> = known().take(40).collect();
        let allowed = format!("one of the attributes and recodes {}", names.join(", "));
        let hint = did_you_mean(name, known(), "every attribute and recode is declared in the schema");
        Error::input("attributes", name, allowed, hint)
    }
}
