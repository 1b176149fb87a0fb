//! Rows become units: one row a unit, or several rows with values of attributes, in order or not.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use unspent::schema::Rows;
use unspent::{Error, Result};

use super::sparse::Sparse;
use super::{Tabulation, TakeBatch};
use crate::plan::{Plan, RowSource};
use crate::table::Row;
use crate::units::{self, Keys, Known, Units};

/// The order in which rows come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// Any: what is not empty is kept in memory until the last row was read.
    #[default]
    Any,
    /// That of the list of units: memory holds one unit at a time.
    Sorted,
}

/// Takes rows and gives units to a tabulation.
pub struct Feed<'p> {
    tabulation: Tabulation<'p>,
    reader: RowReader<'p>,
    units: Grouping<'p>,
    rows: u64,
}

/// How rows make units.
enum Grouping<'p> {
    /// Every row is a unit.
    Rows,
    /// The rows of a unit come one after the other, in the order of the list.
    Sorted {
        units: &'p Units,
        at: usize,
        open: Sparse,
        key: String,
        /// The last unit that had a row.
        seen: Option<usize>,
    },
    /// The rows of a unit come anywhere.
    Any(Box<Collected<'p>>),
}

/// Rows that are added up in memory.
struct Collected<'p> {
    name: String,
    units: Option<&'p Units>,
    /// The number of each unit.
    numbers: HashMap<String, usize>,
    /// The cells of each unit that are not empty, by the number of the unit and of the cell.
    counts: Sparse<(usize, u64)>,
    /// Whether a unit had a row, where there is one row a unit.
    seen: Vec<bool>,
    key: String,
}

/// Reads the counts of a row.
pub(crate) struct RowReader<'p> {
    plan: &'p Plan,
    values: Vec<u32>,
    cells: Vec<(u64, i64)>,
    /// The numbers of records so far, as hashes of 128 bits.
    ids: HashSet<u128>,
    hashes: [RandomState; 2],
}

impl<'p> Feed<'p> {
    /// Rows of the table `name`, with the list of its units if there is one.
    ///
    /// Without a list every row must be a unit, or the units be those of the table.
    pub fn new(
        name: &str,
        plan: &'p Plan,
        units: Option<&'p Units>,
        of_table: bool,
        order: RowOrder,
    ) -> Result<Feed<'p>> {
        let one_row = matches!(plan.rows(), RowSource::Cells(_));
        let sorted = order == RowOrder::Sorted;
        let grouping = match (units, one_row) {
            (None, true) if !of_table => Grouping::Rows,
            (None, false) if !of_table => return Err(units::no_list(name)),
            (Some(units), _) if sorted => {
                Grouping::Sorted { units, at: 0, open: Sparse::default(), key: String::new(), seen: None }
            }
            (None, _) if sorted => {
                let cause = format!("{name}: sorted rows need a list of units");
                return Err(Error::stated(cause, "give the list, or let the rows come in any order"));
            }
            _ => Grouping::Any(Box::new(Collected::new(name, units))),
        };
        let reader = RowReader::new(plan);
        Ok(Feed { tabulation: Tabulation::new(plan), reader, units: grouping, rows: 0 })
    }

    /// Rows of a table that is the list of its own units: one row a unit in order, or any rows in any order.
    pub(crate) fn of_table(plan: &'p Plan) -> Result<Feed<'p>> {
        Feed::new("table", plan, None, !matches!(plan.rows(), RowSource::Cells(_)), RowOrder::Any)
    }

    /// Cuts batches of so many values.
    #[cfg(test)]
    pub(crate) fn cut_at(&mut self, values: usize) {
        self.tabulation.limit = values;
    }

    /// Adds a row. Batches that are full go to `full`.
    pub fn row(&mut self, row: Row<'_>, full: &mut TakeBatch<'_>) -> Result<()> {
        let one_row = matches!(self.reader.plan.rows(), RowSource::Cells(_));
        let cells = self.reader.read(&row)?;
        self.rows += 1;
        match &mut self.units {
            Grouping::Rows => self.tabulation.unit(row.codes, Known::default(), cells, full),
            Grouping::Sorted { units, at, open, key, seen } => {
                units::write_key(row.codes, key)?;
                while *at < units.len() && units.key(*at) != key.as_str() {
                    if one_row && *seen != Some(*at) {
                        return Err(units.without_row(*at));
                    }
                    hand_on(&mut self.tabulation, units, *at, open, full)?;
                    *at += 1;
                }
                if *at == units.len() {
                    return Err(not_in_order(units, key));
                }
                if one_row && *seen == Some(*at) {
                    return Err(two_rows());
                }
                *seen = Some(*at);
                open.add(cells.iter().copied()).ok_or_else(|| super::overflow("a unit"))
            }
            Grouping::Any(collected) => collected.add(row.codes, cells, one_row),
        }
    }

    /// No more rows: hands over what is left, and returns how many rows there were.
    pub fn finish(mut self, full: &mut TakeBatch<'_>) -> Result<u64> {
        match self.units {
            Grouping::Rows => {
                if self.rows == 0 {
                    let hint = "a table has a line of names and then one line for each unit";
                    return Err(Error::stated("the table has no rows", hint));
                }
            }
            Grouping::Sorted { units, at, mut open, seen, .. } => {
                let one_row = matches!(self.reader.plan.rows(), RowSource::Cells(_));
                for unit in at..units.len() {
                    if one_row && seen != Some(unit) {
                        return Err(units.without_row(unit));
                    }
                    hand_on(&mut self.tabulation, units, unit, &mut open, full)?;
                }
            }
            Grouping::Any(collected) => collected.finish(self.reader.plan, &mut self.tabulation, full)?,
        }
        self.tabulation.finish(full)?;
        Ok(self.rows)
    }
}

/// Gives a complete unit of the list to the tabulation.
fn hand_on(
    tabulation: &mut Tabulation<'_>,
    units: &Units,
    unit: usize,
    open: &mut Sparse,
    full: &mut TakeBatch<'_>,
) -> Result<()> {
    let cells = open.entries().ok_or_else(|| super::overflow("a unit"))?;
    units.check_total(unit, cells)?;
    let mut codes = vec![];
    units.codes(unit, &mut codes);
    tabulation.unit(&codes, units.known(unit), cells, full)?;
    open.clear();
    Ok(())
}

fn two_rows() -> Error {
    Error::stated("there are two rows for one unit", "there is one row for each unit of the last level")
}

/// The units after the last one were looked through in vain.
fn not_in_order(units: &Units, key: &str) -> Error {
    let error = units.unknown(key);
    let hint = "or the rows are not sorted like the list of units: sort them, or let them come in any order";
    error.with_hint(hint)
}

impl<'p> Collected<'p> {
    fn new(name: &str, units: Option<&'p Units>) -> Collected<'p> {
        let count = units.map_or(0, Units::len);
        let numbers = units.into_iter().flat_map(|units| (0..units.len()).map(|i| (units.key(i).into(), i)));
        Collected {
            name: name.into(),
            units,
            numbers: numbers.collect(),
            counts: Sparse::default(),
            seen: vec![false; count],
            key: String::new(),
        }
    }

    fn add(&mut self, codes: &[&str], cells: &[(u64, i64)], one_row: bool) -> Result<()> {
        units::write_key(codes, &mut self.key)?;
        let unit = match (self.numbers.get(self.key.as_str()), self.units) {
            (Some(unit), _) => *unit,
            (None, Some(units)) => return Err(units.unknown(&self.key)),
            (None, None) => {
                self.numbers.insert(self.key.clone(), self.seen.len());
                self.seen.push(false);
                self.seen.len() - 1
            }
        };
        if one_row && self.seen[unit] {
            return Err(two_rows());
        }
        self.seen[unit] = true;
        let cells = cells.iter().map(|(cell, count)| ((unit, *cell), *count));
        self.counts.add(cells).ok_or_else(|| super::overflow("a unit"))
    }

    fn finish(
        mut self,
        plan: &Plan,
        tabulation: &mut Tabulation<'_>,
        full: &mut TakeBatch<'_>,
    ) -> Result<()> {
        let (made, order): (Option<Units>, Option<Vec<usize>>) = match self.units {
            Some(_) => (None, None),
            None => {
                // In the order of their letters, whatever rows came first: the order of units is published.
                let mut texts: Vec<(String, usize)> = self.numbers.drain().collect();
                texts.sort_unstable();
                let mut keys = Keys::default();
                texts.iter().for_each(|(key, _)| keys.push(key));
                let (units, _) = Units::of(&self.name, plan, keys).map_err(|e| e.at(&self.name))?;
                (Some(units), Some(texts.into_iter().map(|(_, unit)| unit).collect()))
            }
        };
        let units = self.units.or(made.as_ref()).expect("one of the two");
        if units.is_empty() {
            let hint = "a table has a line of names and then one line for each unit";
            return Err(Error::stated("the table has no rows", hint));
        }
        let one_row = matches!(plan.rows(), RowSource::Cells(_));
        let all = self.counts.entries().ok_or_else(|| super::overflow("a unit"))?;
        let mut open = Sparse::default();
        for unit in 0..units.len() {
            let number = order.as_ref().map_or(unit, |order| order[unit]);
            if one_row && !self.seen[number] {
                return Err(units.without_row(unit));
            }
            let start = all.partition_point(|((unit, _), _)| *unit < number);
            let ours = all[start..].iter().take_while(|((unit, _), _)| *unit == number);
            open.add(ours.map(|((_, cell), count)| (*cell, *count))).expect("every cell once");
            hand_on(tabulation, units, unit, &mut open, full)?;
        }
        Ok(())
    }
}

impl<'p> RowReader<'p> {
    pub(crate) fn new(plan: &'p Plan) -> RowReader<'p> {
        RowReader {
            plan,
            values: vec![],
            cells: vec![],
            ids: HashSet::new(),
            hashes: [RandomState::new(), RandomState::new()],
        }
    }

    /// The cells of the row that are not empty. None is negative or impossible.
    pub(crate) fn read(&mut self, row: &Row<'_>) -> Result<&[(u64, i64)]> {
        self.cells.clear();
        match self.plan.rows() {
            RowSource::Cells(sources) => {
                for (i, source) in sources.iter().enumerate() {
                    let mut count = row.counts[source.column];
                    for less in &source.minus {
                        // Neither is negative, so that the difference is in range unless it is negative many
                        // times over.
                        count = count.saturating_sub(row.counts[*less]);
                    }
                    if count < 0 {
                        return Err(negative(self.plan, i, count));
                    }
                    if count > 0 {
                        self.plan.cells().values(source.cell, &mut self.values);
                        self.plan.zeros().check(&self.values)?;
                        self.cells.push((source.cell, count));
                    }
                }
            }
            RowSource::Values { codes, counted, id } => {
                self.values.clear();
                for (codes, text) in codes.iter().zip(row.values) {
                    self.values.push(codes.read(text)?);
                }
                if *id {
                    let text = row.values[codes.len()];
                    if text.is_empty() {
                        return Err(Error::stated("id: is missing", "every record has a number of its own"));
                    }
                    let [high, low] = self.hashes.each_ref().map(|hash| u128::from(hash.hash_one(text)));
                    if !self.ids.insert(high << 64 | low) {
                        let error = Error::input(
                            "id",
                            text,
                            "new: a record with it came before",
                            "a record is counted once",
                        );
                        return Err(error.concealed());
                    }
                }
                let count = if *counted { row.counts[0] } else { 1 };
                if count > 0 {
                    self.plan.zeros().check(&self.values)?;
                    self.cells.push((self.plan.cells().number(&self.values), count));
                }
            }
        }
        Ok(&self.cells)
    }
}

/// A difference of columns is.
fn negative(plan: &Plan, cell: usize, count: i64) -> Error {
    let Rows::Units(cells) = plan.layout().rows() else { unreachable!("rows have cells") };
    let cell = &cells[cell];
    let what = format!("{} less {} is", cell.column, cell.minus.join(" less "));
    let hint = "a cell is never negative: check the columns of the schema";
    Error::stated(format!("{what} {count}"), hint).concealed_as(format!("{what} negative"))
}
