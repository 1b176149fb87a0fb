//! Tables in memory.

use unspent::{Error, Result, stop};

use super::TakeRow;
use super::batch::{Batch, Digits, Filled, at_row, rows_at_a_time};
use super::places::{Places, missing};
use super::values::{Chunk, Values};
use crate::progress::Progress;

/// A table in memory: columns of the same length, by name.
///
/// Its values may be confidential, so that it cannot be shown.
#[derive(Clone)]
pub struct Columns {
    columns: Vec<(String, Values)>,
    /// The names of columns that are not here, because nobody reads them.
    others: Vec<String>,
    rows: usize,
}

impl Columns {
    /// Fails if the columns are not of the same length.
    pub fn new(columns: Vec<(String, Values)>) -> Result<Columns> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != rows) {
            return Err(Error::stated(
                format!(
                    "table: column `{name}` has {} rows; column `{}` has {rows}",
                    values.len(),
                    columns[0].0
                ),
                "every row has all codes and counts",
            ));
        }
        Ok(Columns { columns, others: vec![], rows })
    }

    /// The same, of a table with further columns, of which only the names are of use: for messages.
    #[must_use]
    pub fn beside(mut self, others: Vec<String>) -> Columns {
        self.others = others;
        self
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name).chain(&self.others).cloned().collect()
    }

    /// Fails if a column with counts has texts, or one with codes or values has floating-point numbers.
    pub(super) fn check(&self, name: &str, places: &Places) -> Result<()> {
        let all =
            places.texts.iter().map(|at| (*at, false)).chain(places.counts.iter().map(|at| (*at, true)));
        for (at, counts) in all {
            let (column, values) = self.columns.get(at).expect("a column that is read is here");
            if let Some(what) = values.chunks().iter().find_map(|chunk| chunk.unfit(counts)) {
                return Err(Error::stated(
                    format!("{name}: column `{column}` is {what}"),
                    "counts are columns of whole numbers; codes and values are texts or integers",
                ));
            }
        }
        Ok(())
    }

    pub(super) fn rows(
        &self,
        name: &str,
        places: &Places,
        progress: &mut dyn Progress,
        row: &mut TakeRow<'_>,
    ) -> Result<()> {
        let reading = |at: &usize| {
            let (column, values) = &self.columns[*at];
            Reading { column, chunks: values.chunks(), at: 0, digits: Digits::default() }
        };
        let mut texts: Vec<Reading<'_>> = places.texts.iter().map(reading).collect();
        let mut counts: Vec<Reading<'_>> = places.counts.iter().map(reading).collect();
        let most = rows_at_a_time(places);
        let mut done = 0;
        while done < self.rows {
            stop::check();
            progress.rows(done as u64, Some(done as f64 / self.rows as f64));
            // No batch goes beyond the end of a chunk of any column.
            let left = texts.iter().chain(&counts).map(|c| c.chunks[0].len() - c.at);
            let rows = left.chain([most, self.rows - done]).min().expect("there are two at least");
            let place = |(i, error): (usize, Error)| at_row(name, (done + i) as u64, error);
            for reading in &mut texts {
                reading.chunks[0].digits(reading.at, rows, &mut reading.digits);
            }
            let mut batch = Batch::new(places, rows);
            for (i, reading) in texts.iter().enumerate() {
                let Reading { column, chunks, at, digits } = reading;
                if i < places.codes {
                    reading.check(rows).map_err(place)?;
                }
                chunks[0].texts(column, *at, digits, batch.texts(i)).map_err(place)?;
            }
            for (i, reading) in counts.iter().enumerate() {
                reading.check(rows).map_err(place)?;
                reading.chunks[0].counts(reading.column, reading.at, batch.counts(i)).map_err(place)?;
            }
            batch.hand_on(name, done as u64, row)?;
            drop(batch);
            texts.iter_mut().chain(&mut counts).for_each(|reading| reading.advance(rows));
            done += rows;
        }
        Ok(())
    }
}

/// A column that is being read.
struct Reading<'c> {
    column: &'c str,
    /// The one that is being read, and those after it.
    chunks: &'c [Chunk],
    /// The next row of the chunk.
    at: usize,
    /// The next rows, if they are numbers and have to be texts.
    digits: Digits,
}

impl Reading<'_> {
    /// Fails with the first of the next rows that has no value.
    fn check(&self, rows: usize) -> Filled {
        match self.chunks[0].first_missing(self.at, rows) {
            None => Ok(()),
            Some(i) => Err((i, missing(self.column))),
        }
    }

    fn advance(&mut self, rows: usize) {
        self.at += rows;
        if self.at == self.chunks[0].len() {
            (self.chunks, self.at) = (&self.chunks[1..], 0);
        }
    }
}
