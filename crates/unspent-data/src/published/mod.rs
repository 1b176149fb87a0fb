//! Tables in the form that people know, from whole tables of cells; and the cells written back as records.
//!
//! ```text
//! unit ─▶ (cell, count), … ─┬▶ PublishedTable::row ─▶ PublishedWriter ─▶ published/P1/LEVEL.{csv,parquet}
//!                           └▶ RecordsWriter ──────────────────────────▶ records.{csv,parquet,toml}
//! ```
//!
//! A published cell is a sum of cells of the histogram: nothing is estimated here, and nothing is rounded.
//! Cells are numbered with the last attribute of the schema changing fastest.

mod files;
mod pl94;
mod records;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

use unspent::schema::{Attribute, Schema};
use unspent::{Error, Result};

pub use self::records::RecordsWriter;
pub use self::write::PublishedWriter;
use crate::names::one_of;

/// A published table: what its cells count, for one unit.
///
/// ```
/// use unspent::schema::Schema;
/// use unspent_data::published;
/// let tables = published::of_schema(&Schema::shipped("pl94-units")?).expect("it has one");
/// // Three vacant housing units and five occupied ones.
/// assert_eq!(tables[0].row(&[(0, 3), (1, 5)])?, [8, 5, 3]);
/// assert_eq!(tables[0].cells()[2].code, "H0010003");
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedTable {
    name: &'static str,
    title: &'static str,
    universe: &'static str,
    cells: Vec<PublishedCell>,
    /// For each cell of the histogram, the places of the published cells that count it.
    counted_in: Vec<Vec<u16>>,
}

/// A cell of a published table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedCell {
    /// Its name in the published file, like `P0010001`.
    pub code: String,
    /// In words.
    pub label: String,
    /// For some attributes, by index, the values that are counted; all values of the others are.
    pub values: BTreeMap<usize, Vec<u32>>,
}

/// The published tables of a schema; none if it has another form, or other values, than the published ones.
#[must_use]
pub fn of_schema(schema: &Schema) -> Option<Vec<PublishedTable>> {
    let attributes = schema.attributes();
    let tables = pl94::FORMS.iter().find(|(name, _)| {
        // Where a record may lack a value, the cells do not count everybody.
        let same = |(ours, given): (&Attribute, &Attribute)| {
            ours.name == given.name && ours.values == given.values && !given.optional
        };
        let shipped = Schema::shipped(name).expect("tested");
        let pairs = shipped.attributes().iter().zip(attributes);
        shipped.attributes().len() == attributes.len() && pairs.into_iter().all(same)
    });
    tables.map(|(_, tables)| tables(attributes))
}

/// The same, where they were asked for.
pub fn needed_of_schema(schema: &Schema) -> Result<Vec<PublishedTable>> {
    of_schema(schema).ok_or_else(|| {
        let name = schema.name().map_or(String::new(), |name| format!(" `{name}`"));
        Error::stated(
            format!("the schema{name} has no published tables"),
            "P1 to P5 are tables of the shipped schema pl94-persons, and H1 of pl94-units: \
             attributes and values must be theirs, in their order",
        )
    })
}

/// One of them, by its name.
pub fn named(schema: &Schema, name: &str) -> Result<PublishedTable> {
    let mut tables = needed_of_schema(schema)?;
    let known = tables.iter().map(PublishedTable::name);
    let at = one_of("name", name, known, "tables are named as in the published file")?;
    Ok(tables.swap_remove(at))
}

impl PublishedTable {
    fn new(
        (name, title, universe): (&'static str, &'static str, &'static str),
        cells: Vec<PublishedCell>,
        attributes: &[Attribute],
    ) -> PublishedTable {
        let numbers = 0..attributes.iter().map(|attribute| attribute.values.len()).product();
        let counted_in = numbers.map(|number| {
            let place = values_of(number, attributes);
            let counts = |cell: &PublishedCell| {
                cell.values.iter().all(|(attribute, values)| values.contains(&(place[*attribute] as u32)))
            };
            (0..).zip(&cells).filter(|(_, cell)| counts(cell)).map(|(at, _)| at).collect()
        });
        PublishedTable { name, title, universe, counted_in: counted_in.collect(), cells }
    }

    /// What it is called, like `P1`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it counts by.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// Whom or what it counts.
    #[must_use]
    pub fn universe(&self) -> &'static str {
        self.universe
    }

    /// Its cells, in the published order.
    #[must_use]
    pub fn cells(&self) -> &[PublishedCell] {
        &self.cells
    }

    /// The published cells of a unit, from the cells of its histogram and their counts; the others are 0.
    pub fn row(&self, counts: &[(u32, i64)]) -> Result<Vec<i64>> {
        let mut row = vec![0_i64; self.cells.len()];
        for (cell, count) in counts {
            let places = self.counted_in.get(*cell as usize).ok_or_else(|| {
                no_such_cell(*cell, self.counted_in.len()).at(format!("table {}", self.name))
            })?;
            for at in places {
                let sum = &mut row[usize::from(*at)];
                *sum = sum.checked_add(*count).ok_or_else(|| {
                    let code = &self.cells[usize::from(*at)].code;
                    Error::stated(format!("{code}: a sum exceeds 2^63 − 1"), "check the counts of the unit")
                })?;
            }
        }
        Ok(row)
    }
}

/// The place of the value of each attribute in a cell of the histogram.
fn values_of(cell: usize, attributes: &[Attribute]) -> Vec<usize> {
    let mut left = cell;
    let mut values: Vec<usize> = attributes
        .iter()
        .rev()
        .map(|attribute| {
            let value = left % attribute.values.len();
            left /= attribute.values.len();
            value
        })
        .collect();
    values.reverse();
    values
}

fn no_such_cell(cell: u32, cells: usize) -> Error {
    Error::input("cell", cell, format!("one of {cells} cells"), "cells are numbered from 0 on")
}
