//! Sums of cells by name: `any part Black: cenrace contains "Black"`.
//!
//! ```text
//! sum        NAME : predicate
//! predicate  condition | not p | p and p | p or p | ( p )     `not` binds first, then `and`, then `or`
//! condition  ATTRIBUTE = values | ATTRIBUTE != values | ATTRIBUTE contains TEXT
//! values     v | v..v | v | …                                 `a|b` is either, `a..b` all from a to b
//! ```
//!
//! An ATTRIBUTE is an attribute or a recode of the schema. A value is written as in tables: by its code, also
//! without leading zeros, or in words; a group of a recode by its label. A range is in the order of the
//! schema. `contains` looks for whole words, whatever their case: "White" is not in "Whitefish". What has
//! symbols in it, or one of the words `and`, `or`, `not` and `contains`, is quoted: "18 or older".
//!
//! A record that lacks an optional attribute, or whose value is in no group of a recode, satisfies no
//! condition on it, not even `!=`. `not` is the complement: it counts every record that its predicate does
//! not count, also those that lack the attribute.

mod parser;
#[cfg(test)]
mod tests;

use unspent::schema::Schema;
use unspent::{Error, Result};

use crate::Space;
use crate::allocation::size;
use parser::{Parser, split_name};

/// A sum of cells with a name: the number of records that a predicate counts.
///
/// ```
/// use unspent::schema::Schema;
/// use unspent_estimate::NamedSum;
/// let schema = Schema::shipped("pl94-persons")?;
/// let sum = NamedSum::parse(r#"adults in prison: hhgq = 1 and votingage = "18 or older""#, &schema)?;
/// assert_eq!(sum.name(), "adults in prison");
/// // Values by their places: in prison, 18 or older, not Hispanic, White.
/// assert!(sum.counts(&[1, 1, 0, 0]) && !sum.counts(&[1, 0, 0, 0]));
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSum {
    name: String,
    predicate: Predicate,
    /// The number of values of each attribute, with the one of records that lack it.
    sizes: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Predicate {
    /// Whether each value of an attribute is counted.
    Condition {
        attribute: usize,
        counted: Vec<bool>,
    },
    Not(Box<Predicate>),
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
}

impl Predicate {
    fn counts(&self, values: &[u32]) -> bool {
        match self {
            Predicate::Condition { attribute, counted } => counted[values[*attribute] as usize],
            Predicate::Not(predicate) => !predicate.counts(values),
            Predicate::All(predicates) => predicates.iter().all(|predicate| predicate.counts(values)),
            Predicate::Any(predicates) => predicates.iter().any(|predicate| predicate.counts(values)),
        }
    }
}

/// Most cells of a histogram that are searched for one that a predicate counts.
const MAX_SEARCHED: usize = 1 << 24;

impl NamedSum {
    /// Reads `NAME: predicate`.
    pub fn parse(text: &str, schema: &Schema) -> Result<NamedSum> {
        NamedSum::read(text, schema).map_err(|(column, error)| error.at(format!("sum, column {column}")))
    }

    /// Reads a file of sums, one in each line. Empty lines, and lines that begin with `#`, are skipped.
    pub fn parse_file(origin: &str, text: &str, schema: &Schema) -> Result<Vec<NamedSum>> {
        let mut sums: Vec<(usize, NamedSum)> = vec![];
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.trim_start().starts_with('#') {
                continue;
            }
            let sum = NamedSum::read(text, schema)
                .map_err(|(column, error)| error.at(format!("{origin}:{line}:{column}")))?;
            if let Some((first, _)) = sums.iter().find(|(_, other)| other.name == sum.name) {
                let cause = format!("{origin}:{line}: `{}` is in line {first} already", sum.name);
                return Err(Error::stated(cause, "give each sum a name of its own"));
            }
            sums.push((line, sum));
        }
        if sums.is_empty() {
            let hint = "write one in each line, like adults in prison: hhgq = 1 and votingage = 2";
            return Err(Error::stated(format!("{origin}: has no sums"), hint));
        }
        Ok(sums.into_iter().map(|(_, sum)| sum).collect())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether records with these values are counted: one for each attribute of the schema, by its place; a
    /// record that lacks an attribute has the place after all others.
    #[must_use]
    pub fn counts(&self, values: &[u32]) -> bool {
        self.predicate.counts(values)
    }

    /// The weight of each cell of a space of the same schema: 1 if it is counted, otherwise 0.
    ///
    /// # Panics
    ///
    /// If the space has other attributes.
    #[must_use]
    pub fn weights(&self, space: &Space) -> Vec<i32> {
        let cells: usize = self.sizes.iter().product();
        assert_eq!(space.all_cells(), cells, "the space is of the same schema");
        let mut values = vec![0; self.sizes.len()];
        let mut weight = |number: &u32| {
            self.place(*number as usize, &mut values);
            i32::from(self.counts(&values))
        };
        space.cell_numbers().iter().map(&mut weight).collect()
    }

    /// The values of a cell by its number, those of the last attribute changing fastest.
    fn place(&self, mut number: usize, values: &mut [u32]) {
        for (value, size) in values.iter_mut().zip(&self.sizes).rev() {
            *value = (number % size) as u32;
            number /= size;
        }
    }

    /// Errors come with their column.
    fn read(text: &str, schema: &Schema) -> std::result::Result<NamedSum, (usize, Error)> {
        let (name, rest, column) = split_name(text)?;
        let predicate = Parser::new(rest, column, schema)?.read()?;
        let sizes = schema.attributes().iter().map(size).collect();
        let sum = NamedSum { name, predicate, sizes };
        if sum.is_empty() {
            let cause = format!("`{}`: no record can satisfy this", sum.name);
            return Err((column, Error::stated(cause, "a record has one value of each attribute")));
        }
        Ok(sum)
    }

    /// Whether no cell is counted, structural zeros or not.
    fn is_empty(&self) -> bool {
        let cells = self.sizes.iter().try_fold(1usize, |n, size| n.checked_mul(*size));
        let Some(cells) = cells.filter(|n| *n <= MAX_SEARCHED) else { return false };
        let mut values = vec![0; self.sizes.len()];
        !(0..cells).any(|cell| {
            self.place(cell, &mut values);
            self.counts(&values)
        })
    }
}
