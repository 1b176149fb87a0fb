//! Columns of files of measurements: texts, numbers, and lists of numbers, of which none may be missing.

use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// A column of a row group that is being read.
pub(super) struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    /// The level of what is there: what may be missing has one more.
    present: i16,
    name: String,
    /// How many rows of the file come before.
    row: u64,
}

impl<T: DataType> Column<T> {
    /// The column at that place, which is known to be of this type; `row` rows of the file come before.
    pub(super) fn open(group: &dyn RowGroupReader, at: usize, row: u64) -> Result<Column<T>> {
        let metadata = group.metadata();
        let present = metadata.schema_descr().column(at).max_def_level();
        let name = metadata.schema_descr().get_column_root(at).name().into();
        Ok(Column { reader: get_typed_column_reader(group.get_column_reader(at)?), present, name, row })
    }

    /// The next `count` rows, of which each has one value.
    pub(super) fn values(&mut self, count: usize, to: &mut Vec<T::T>) -> Result<()> {
        let mut levels = vec![];
        let before = to.len();
        self.reader.read_records(count, Some(&mut levels), None, to)?;
        // Where nothing can be missing there are no levels.
        self.check_present(levels.iter().position(|level| *level < self.present))?;
        self.check_count(to.len() - before, count)?;
        self.row += count as u64;
        Ok(())
    }

    /// The next `count` rows, of which each has a list that is not empty.
    pub(super) fn lists(&mut self, count: usize, to: &mut Lists<T::T>) -> Result<()> {
        let (mut levels, mut repetitions) = (vec![], vec![]);
        let (items, lists) = (to.items.len(), to.ends.len());
        self.reader.read_records(count, Some(&mut levels), Some(&mut repetitions), &mut to.items)?;
        let missing = levels.iter().position(|level| *level < self.present);
        let row_of = |at: usize| repetitions[..=at].iter().filter(|level| **level == 0).count() - 1;
        if repetitions.len() != levels.len() || repetitions.first().is_some_and(|first| *first != 0) {
            return Err(self.wrong("its lists do not begin where they should"));
        }
        self.check_present(missing.map(row_of))?;
        self.check_count(to.items.len() - items, levels.len())?;
        // A list ends where the next begins.
        let starts = (1..repetitions.len()).filter(|i| repetitions[*i] == 0);
        to.ends.extend(starts.map(|i| items + i));
        if !repetitions.is_empty() {
            to.ends.push(to.items.len());
        }
        self.check_count(to.ends.len() - lists, count)?;
        self.row += count as u64;
        Ok(())
    }

    fn check_present(&self, missing: Option<usize>) -> Result<()> {
        let Some(missing) = missing else { return Ok(()) };
        let row = self.row + missing as u64 + 1;
        Err(self.wrong(&format!("row {row} has no value, or a list in which one is missing")))
    }

    fn check_count(&self, found: usize, expected: usize) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        Err(self.wrong(&format!("{found} values are there instead of {expected}")))
    }

    fn wrong(&self, what: &str) -> ParquetError {
        ParquetError::General(format!("column `{}`: {what}", self.name))
    }
}

impl Column<ByteArrayType> {
    /// The next `count` rows, of which each has a text.
    pub(super) fn texts(&mut self, count: usize, to: &mut Vec<String>) -> Result<()> {
        let mut bytes: Vec<ByteArray> = vec![];
        self.values(count, &mut bytes)?;
        for bytes in bytes {
            to.push(bytes.as_utf8()?.into());
        }
        Ok(())
    }
}

/// Lists, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    items: Vec<T>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { items: vec![], ends: vec![] }
    }
}

impl<T> Lists<T> {
    /// The list at that place.
    pub(super) fn get(&self, i: usize) -> &[T] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.items[start..self.ends[i]]
    }

    /// The same lists of something else.
    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> Lists<U> {
        Lists { items: self.items.into_iter().map(change).collect(), ends: self.ends }
    }
}
