//! The table `[table]` of a schema: which columns a table has, and how codes nest into units;
//! `examples/blocks.toml` has one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::reader::{Reader, Table, Value, in_order};
use super::write::{key, list, quoted};
use crate::error::{Error, Result};
use crate::schema::{Attribute, Cell, Code, Layout, Rows, Schema, UnitLevel};
use crate::spelling::did_you_mean;

const KEYS: &[&str] = &["code", "levels", "attributes", "cells", "count", "id", "columns"];
/// Most cells of a unit that are columns of a table.
const MAX_CELLS: usize = 1 << 21;

impl Layout {
    pub(super) fn write(&self, attributes: &[Attribute], text: &mut String) {
        *text += "\n[table]\n";
        if let Some(code) = &self.code {
            let _ = writeln!(text, "code = {}", quoted(code));
        }
        match &self.rows {
            Rows::Units(cells) => write_cells(cells, attributes, text),
            Rows::Counts(column) => {
                let _ = writeln!(text, "count = {}", quoted(column));
            }
            Rows::Records(id) => {
                let _ = id.iter().try_for_each(|id| writeln!(text, "id = {}", quoted(id)));
            }
        }
        *text += "\n[table.levels]\n";
        for level in &self.levels {
            let code = match &level.code {
                Code::Prefix(length) => length.to_string(),
                Code::Columns(columns) => match &columns[..] {
                    [one] => quoted(one),
                    several => list(several),
                },
            };
            let _ = writeln!(text, "{} = {code}", key(&level.name));
        }
        if !self.columns.is_empty() {
            *text += "\n[table.columns]\n";
        }
        for (attribute, column) in &self.columns {
            let _ = writeln!(text, "{} = {}", key(attribute), quoted(column));
        }
    }
}

fn write_cells(cells: &[Cell], attributes: &[Attribute], text: &mut String) {
    *text += "cells = [\n";
    for (i, cell) in cells.iter().enumerate() {
        *text += "  { ";
        let mut place = cells.len();
        for attribute in attributes {
            place /= attribute.values.len();
            let value = &attribute.values[i / place % attribute.values.len()];
            let _ = write!(text, "{} = {}, ", key(&attribute.name), quoted(value));
        }
        let _ = write!(text, "column = {}", quoted(&cell.column));
        match &cell.minus[..] {
            [] => {}
            [one] => {
                let _ = write!(text, ", minus = {}", quoted(one));
            }
            several => {
                let _ = write!(text, ", minus = {}", list(several));
            }
        }
        *text += " },\n";
    }
    *text += "]\n";
}

impl<'t> Reader<'t> {
    pub(super) fn layout(&self, value: &Value<'t>, schema: &Schema) -> Result<Layout> {
        let table = self.table(self.as_table("table", value)?, value.span(), KEYS)?;
        let code = table.get("code").map(|v| self.string("code", v)).transpose()?;
        let levels = self.unit_levels(&table, code.is_some())?;
        let rows = match (table.get("cells"), table.get("count"), table.get("id")) {
            (Some(cells), None, None) => Rows::Units(self.cells(cells, &schema.attributes)?),
            (None, Some(count), None) => Rows::Counts(self.string("count", count)?),
            (None, None, id) => Rows::Records(id.map(|v| self.string("id", v)).transpose()?),
            (_, Some(value), _) | (Some(_), None, Some(value)) => {
                let hint = "cells is for a row a unit, count for a row a combination of values, \
                            id for a row a record";
                return self.refuse(value.span(), "table: more than one of cells, count and id", hint);
            }
        };
        let mut columns = BTreeMap::new();
        if let Some(value) = table.get("columns") {
            for (attribute, column) in in_order(self.as_table("columns", value)?) {
                self.find_attribute("columns", attribute.get_ref(), attribute.span(), schema)?;
                columns.insert(attribute.get_ref().to_string(), self.string("columns", column)?);
            }
        }
        Ok(Layout { code, levels, rows, columns })
    }

    fn unit_levels(&self, table: &Table<'_, 't>, has_code: bool) -> Result<Vec<UnitLevel>> {
        let hint = "write how many characters of the code name a unit, or its column: County = 5 or County = \
         \"county\"";
        let value = table.needs("levels", hint)?;
        let mut levels: Vec<UnitLevel> = vec![];
        let mut shorter: Option<usize> = None;
        for (key, value) in in_order(self.as_table("levels", value)?) {
            let name = key.get_ref().to_string();
            self.nonempty("level", &key.span(), &name)?;
            let code = match value.get_ref() {
                DeValue::Integer(number) => {
                    let length = number.as_str().parse().ok().filter(|n| *n <= 64 && number.radix() == 10);
                    let Some(length) = length else {
                        let error =
                            Error::input(&name, number, "a number of characters between 0 and 64", hint);
                        return Err(self.at(value.span(), error));
                    };
                    if !has_code {
                        let hint = "add a line such as code = \"geoid\" below [table]";
                        let cause = format!("level `{name}`: there is no code to take characters of");
                        return self.refuse(value.span(), cause, hint);
                    }
                    if let Some(shorter) = shorter.filter(|shorter| *shorter >= length) {
                        let cause = format!(
                            "level `{name}`: {length} characters cannot lie inside a unit of {shorter}"
                        );
                        let hint = "give the levels from the largest areas to the smallest";
                        return self.refuse(value.span(), cause, hint);
                    }
                    shorter = Some(length);
                    Code::Prefix(length)
                }
                DeValue::String(_) => Code::Columns(vec![self.string(&name, value)?]),
                DeValue::Array(columns) if !columns.is_empty() => {
                    Code::Columns(self.names(&name, value)?.into_iter().map(Spanned::into_inner).collect())
                }
                _ => {
                    let cause = format!("level `{name}`: neither a number of characters nor a column");
                    return self.refuse(value.span(), cause, hint);
                }
            };
            levels.push(UnitLevel { name, code });
        }
        if levels.is_empty() {
            return self.refuse(value.span(), "levels: a table has at least one", hint);
        }
        Ok(levels)
    }

    /// One cell for each combination of values, in order.
    fn cells(&self, value: &Value<'t>, attributes: &[Attribute]) -> Result<Vec<Cell>> {
        let hint =
            "write cells = [{ age = \"adult\", column = \"vap\" }, …], one for each combination of values";
        let DeValue::Array(list) = value.get_ref() else {
            return self.refuse(value.span(), "cells: not a list of tables", hint);
        };
        let count = attributes.iter().try_fold(1usize, |n, a| n.checked_mul(a.values.len()));
        let Some(count) = count.filter(|n| *n <= MAX_CELLS) else {
            let cause = format!("cells: the attributes have more than {MAX_CELLS} combinations of values");
            return self.refuse(value.span(), cause, "leave out attributes that no query asks for");
        };
        let mut cells: Vec<Option<Cell>> = vec![None; count];
        // How often the records of a column are counted, and where it was named last.
        let mut counted: BTreeMap<String, (i64, Range<usize>)> = BTreeMap::new();
        let known: Vec<&str> =
            attributes.iter().map(|a| a.name.as_str()).chain(["column", "minus"]).collect();
        for value in list {
            let cell = self.table(self.as_table("cells", value)?, value.span(), &known)?;
            let (place, described) = self.place(&cell, attributes)?;
            let column = cell.needs("column", "every cell has a column, like column = \"pop_white\"")?;
            let (span, column) = (column.span(), self.string("column", column)?);
            let minus: Vec<String> = match cell.get("minus").map(|v| (v, v.get_ref())) {
                None => vec![],
                Some((v, DeValue::String(_))) => vec![self.string("minus", v)?],
                Some((v, _)) => self.names("minus", v)?.into_iter().map(Spanned::into_inner).collect(),
            };
            let entry = counted.entry(column.clone()).or_insert((0, span.clone()));
            *entry = (entry.0 + 1, span);
            for less in &minus {
                counted.entry(less.clone()).or_insert((0, value.span())).0 -= 1;
            }
            if cells[place].replace(Cell { column, minus }).is_some() {
                let cause = format!("cells: {described} is in the list twice");
                return self.refuse(value.span(), cause, "give every combination of values once");
            }
        }
        if let Some(missing) = cells.iter().position(Option::is_none) {
            let cause = format!("cells: {} has no column", describe(attributes, missing, count));
            return self.refuse(value.span(), cause, "give every combination of values once");
        }
        // All cells together count every record once, or the guarantee would be for less than what is
        // released.
        if let Some((column, (_, span))) = counted.into_iter().find(|(_, (times, _))| *times > 1) {
            let cause = format!("cells: those who are in `{column}` would be counted twice");
            let hint = "every record is in exactly one cell; subtract a column from one of them with minus";
            return self.refuse(span, cause, hint);
        }
        Ok(cells.into_iter().flatten().collect())
    }

    /// Which of all combinations of values a cell is.
    fn place(&self, cell: &Table<'_, 't>, attributes: &[Attribute]) -> Result<(usize, String)> {
        let mut place = 0;
        for attribute in attributes {
            let hint = format!("every cell says which `{}` it is", attribute.name);
            let value = cell.needs(&attribute.name, &hint)?;
            let text = self.string(&attribute.name, value)?;
            let Some(at) = attribute.values.iter().position(|v| *v == text) else {
                let allowed = format!("one of {}", attribute.values.join(", "));
                let values = attribute.values.iter().map(String::as_str);
                let hint = did_you_mean(&text, values, "the values are listed in [table.attributes]");
                return Err(self.at(value.span(), Error::input(&attribute.name, text, allowed, hint)));
            };
            place = place * attribute.values.len() + at;
        }
        let count = attributes.iter().map(|a| a.values.len()).product();
        Ok((place, describe(attributes, place, count)))
    }
}

/// `the cell age = adult, sex = female`.
fn describe(attributes: &[Attribute], index: usize, count: usize) -> String {
    if attributes.is_empty() {
        return "the only cell".into();
    }
    let mut place = count;
    let parts = attributes.iter().map(|attribute| {
        place /= attribute.values.len();
        format!("{} = {}", attribute.name, attribute.values[index / place % attribute.values.len()])
    });
    format!("the cell {}", parts.collect::<Vec<_>>().join(", "))
}
