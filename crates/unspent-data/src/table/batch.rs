//! Tables that are stored by columns become rows, some at a time.

use std::fmt::{Display, Write};

use unspent::{Error, Result};

use super::places::Places;
use super::{Row, TakeRow};

/// Most rows of a batch.
const ROWS: usize = 4_096;
/// Values of a batch, if that is some rows at least: a table may have thousands of columns.
const VALUES: usize = 1 << 18;

/// What a column gives a batch. An error comes with its row of the batch.
pub(super) type Filled = std::result::Result<(), (usize, Error)>;

/// How many rows are read at a time.
pub(super) fn rows_at_a_time(places: &Places) -> usize {
    (VALUES / (places.texts.len() + places.counts.len()).max(1)).clamp(64, ROWS)
}

/// Some rows, one after the other, whose texts are where the columns have them.
pub(super) struct Batch<'b> {
    texts: Vec<&'b str>,
    counts: Vec<i64>,
    /// Codes and values of a row.
    text_columns: usize,
    code_columns: usize,
    count_columns: usize,
    rows: usize,
}

impl<'b> Batch<'b> {
    /// Every text is empty and every count zero.
    pub(super) fn new(places: &Places, rows: usize) -> Batch<'b> {
        let (text_columns, count_columns) = (places.texts.len(), places.counts.len());
        Batch {
            texts: vec![""; rows * text_columns],
            counts: vec![0; rows * count_columns],
            text_columns,
            code_columns: places.codes,
            count_columns,
            rows,
        }
    }

    /// The texts of a column, row by row.
    pub(super) fn texts(&mut self, column: usize) -> impl Iterator<Item = &mut &'b str> {
        self.texts.iter_mut().skip(column).step_by(self.text_columns)
    }

    /// The counts of a column, row by row.
    pub(super) fn counts(&mut self, column: usize) -> impl Iterator<Item = &mut i64> {
        self.counts.iter_mut().skip(column).step_by(self.count_columns)
    }

    /// Gives every row to `row`; `before` is how many rows of the table came before.
    pub(super) fn hand_on(&self, table: &str, before: u64, row: &mut TakeRow<'_>) -> Result<()> {
        for i in 0..self.rows {
            let texts = &self.texts[i * self.text_columns..][..self.text_columns];
            let (codes, values) = texts.split_at(self.code_columns);
            let counts = &self.counts[i * self.count_columns..][..self.count_columns];
            row(Row { codes, values, counts }).map_err(|error| at_row(table, before + i as u64, error))?;
        }
        Ok(())
    }
}

/// The error of a row that comes after `before` others.
pub(super) fn at_row(table: &str, before: u64, error: Error) -> Error {
    error.at(format!("{table}: row {}", before + 1))
}

/// Numbers in digits, one after the other.
#[derive(Default)]
pub(super) struct Digits {
    text: String,
    ends: Vec<usize>,
}

impl Digits {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    pub(super) fn push<T: Copy + Display + TryInto<u8>>(&mut self, number: T) {
        match number.try_into() {
            // Most values of attributes: formatting would take longer than all else.
            Ok(small @ 0..10) => self.text.push(char::from(b'0' + small)),
            Ok(small @ 10..100) => {
                self.text.push(char::from(b'0' + small / 10));
                self.text.push(char::from(b'0' + small % 10));
            }
            _ => write!(self.text, "{number}").expect("there is memory"),
        }
        self.ends.push(self.text.len());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_everywhere() {
        let numbers: Vec<i64> = (-300..300).chain([i64::MIN, i64::MAX]).collect();
        let mut digits = Digits::default();
        numbers.iter().for_each(|number| digits.push(*number));
        let expected: Vec<String> = numbers.iter().map(i64::to_string).collect();
        assert_eq!(digits.iter().collect::<Vec<_>>(), expected);
    }
}
