//! Tables as Parquet.

use std::fs::File;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use unspent::{Error, Result, stop};

use super::batch::{Batch, Digits, Filled, at_row, rows_at_a_time};
use super::places::{Names, Places, missing, not_a_text};
use super::{TakeRow, Wanted, count};
use crate::parquet_file::{Kind, damaged, kind_of, shown_kind, whole};
use crate::progress::Progress;

/// A table that was opened.
pub(super) struct Parquet {
    reader: SerializedFileReader<File>,
    places: Places,
}

impl Parquet {
    pub(super) fn new(name: &str, file: File, wanted: Wanted<'_>) -> Result<Parquet> {
        let reader = whole(name, || SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names = schema.columns().iter().map(|c| c.path().string()).collect();
        let places = Places::find(name, names, Names::Format, wanted)?;
        let check = |at: usize, counts: bool| {
            let column = schema.column(at);
            let fits = match kind_of(&column) {
                Some(Kind::Integers) => true,
                Some(Kind::Reals) => counts,
                Some(Kind::Texts) => !counts,
                None => false,
            };
            if fits && column.max_rep_level() == 0 {
                return Ok(());
            }
            let what = if counts { "integers" } else { "texts or integers" };
            Err(Error::stated(
                format!("{name}: column `{}` is of {}, not of {what}", places.names[at], shown_kind(&column)),
                "counts are columns of signed integers, or of whole DOUBLE or FLOAT; \
                 codes and values are texts or integers",
            ))
        };
        places.counts.iter().try_for_each(|at| check(*at, true))?;
        places.texts.iter().try_for_each(|at| check(*at, false))?;
        Ok(Parquet { reader, places })
    }

    pub(super) fn rows(self, name: &str, progress: &mut dyn Progress, row: &mut TakeRow<'_>) -> Result<()> {
        let Parquet { reader, places } = self;
        let all = reader.metadata().file_metadata().num_rows().max(1);
        let most = rows_at_a_time(&places);
        let mut rows = 0u64;
        for group in 0..reader.num_row_groups() {
            let group = whole(name, || reader.get_row_group(group))?;
            let open = |at: &usize| Column::open(name, &places.names[*at], group.as_ref(), *at);
            let mut texts: Vec<Column> = places.texts.iter().map(open).collect::<Result<_>>()?;
            let mut counts: Vec<Column> = places.counts.iter().map(open).collect::<Result<_>>()?;
            let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            while left > 0 {
                stop::check();
                let some = left.min(most);
                let place = |(i, error): (usize, Error)| at_row(name, rows + i as u64, error);
                for (i, column) in texts.iter_mut().enumerate() {
                    if let Some(error) = column.read(name, some, i >= places.codes)? {
                        return Err(place(error));
                    }
                    column.write_digits();
                }
                for column in &mut counts {
                    if let Some(error) = column.read(name, some, false)? {
                        return Err(place(error));
                    }
                }
                let mut batch = Batch::new(&places, some);
                for (i, column) in texts.iter().enumerate() {
                    column.texts(batch.texts(i)).map_err(place)?;
                }
                for (i, column) in counts.iter().enumerate() {
                    column.counts(batch.counts(i)).map_err(place)?;
                }
                batch.hand_on(name, rows, row)?;
                rows += some as u64;
                left -= some;
                progress.rows(rows, Some(rows as f64 / all as f64));
            }
        }
        Ok(())
    }
}

/// A column of a row group, and the rows that were read last.
struct Column {
    name: String,
    reader: ColumnReader,
    /// The level that a value has and a null has not.
    present: i16,
    /// The levels of the rows, if there may be nulls.
    levels: Vec<i16>,
    found: Found,
    /// Integers that have to be texts.
    digits: Digits,
}

/// What was found in the rows that are not null.
enum Found {
    Integers(Vec<i64>),
    Short(Vec<i32>),
    Doubles(Vec<f64>),
    Floats(Vec<f32>),
    Texts(Vec<ByteArray>),
}

impl Column {
    fn open(table: &str, name: &str, group: &dyn RowGroupReader, at: usize) -> Result<Column> {
        let reader = whole(table, || group.get_column_reader(at))?;
        let found = match reader {
            ColumnReader::Int64ColumnReader(_) => Found::Integers(vec![]),
            ColumnReader::Int32ColumnReader(_) => Found::Short(vec![]),
            ColumnReader::DoubleColumnReader(_) => Found::Doubles(vec![]),
            ColumnReader::FloatColumnReader(_) => Found::Floats(vec![]),
            ColumnReader::ByteArrayColumnReader(_) => Found::Texts(vec![]),
            _ => unreachable!("other types were refused"),
        };
        let present = group.metadata().schema_descr().column(at).max_def_level();
        Ok(Column { name: name.into(), reader, present, levels: vec![], found, digits: Digits::default() })
    }

    /// Reads so many rows, or gives the first that is null and must not be.
    fn read(&mut self, table: &str, count: usize, nulls: bool) -> Result<Option<(usize, Error)>> {
        let levels = &mut self.levels;
        levels.clear();
        let (rows, found) = whole(table, || match (&mut self.reader, &mut self.found) {
            (ColumnReader::Int64ColumnReader(reader), Found::Integers(found)) => {
                values::<Int64Type>(reader, count, levels, found)
            }
            (ColumnReader::Int32ColumnReader(reader), Found::Short(found)) => {
                values::<Int32Type>(reader, count, levels, found)
            }
            (ColumnReader::DoubleColumnReader(reader), Found::Doubles(found)) => {
                values::<DoubleType>(reader, count, levels, found)
            }
            (ColumnReader::FloatColumnReader(reader), Found::Floats(found)) => {
                values::<FloatType>(reader, count, levels, found)
            }
            (ColumnReader::ByteArrayColumnReader(reader), Found::Texts(found)) => {
                values::<ByteArrayType>(reader, count, levels, found)
            }
            _ => unreachable!("it was opened so"),
        })?;
        let mut null = (0..self.levels.len()).filter(|i| self.is_null(*i));
        if !nulls && let Some(at) = null.next() {
            return Ok(Some((at, missing(&self.name))));
        }
        if rows < count {
            return Ok(Some((rows, missing(&self.name))));
        }
        // A damaged page can have fewer values than it says.
        if found + null.count() == count { Ok(None) } else { Err(damaged(table)) }
    }

    fn is_null(&self, row: usize) -> bool {
        self.levels.get(row).is_some_and(|level| *level < self.present)
    }

    fn write_digits(&mut self) {
        self.digits.clear();
        match &self.found {
            Found::Integers(found) => found.iter().for_each(|number| self.digits.push(*number)),
            Found::Short(found) => found.iter().for_each(|number| self.digits.push(*number)),
            _ => {}
        }
    }

    /// Gives the texts of the rows; a null is left as it is.
    fn texts<'t, 'b>(&'t self, texts: impl Iterator<Item = &'b mut &'t str>) -> Filled
    where
        't: 'b,
    {
        let present = texts.enumerate().filter(|(i, _)| !self.is_null(*i));
        match &self.found {
            Found::Texts(found) => {
                for ((i, text), bytes) in present.zip(found) {
                    let found = std::str::from_utf8(bytes.data());
                    *text = found.map_err(|_| (i, not_a_text(&self.name)))?.trim();
                }
            }
            _ => present.zip(self.digits.iter()).for_each(|((_, text), digits)| *text = digits),
        }
        Ok(())
    }

    /// Gives the counts of the rows.
    fn counts<'c>(&self, counts: impl Iterator<Item = &'c mut i64>) -> Filled {
        let counts = counts.enumerate();
        let integer = |(i, count): (usize, &mut i64), number| {
            *count = number;
            count::check(&self.name, number).map_err(|error| (i, error))
        };
        let whole = |(i, count): (usize, &mut i64), number| {
            *count = count::whole(&self.name, number).map_err(|error| (i, error))?;
            Ok(())
        };
        match &self.found {
            Found::Integers(found) => counts.zip(found).try_for_each(|(to, n)| integer(to, *n)),
            Found::Short(found) => counts.zip(found).try_for_each(|(to, n)| integer(to, i64::from(*n))),
            Found::Doubles(found) => counts.zip(found).try_for_each(|(to, n)| whole(to, *n)),
            Found::Floats(found) => counts.zip(found).try_for_each(|(to, n)| whole(to, f64::from(*n))),
            Found::Texts(_) => unreachable!("refused"),
        }
    }
}

/// Reads rows until there are `count` or no more; gives how many there are and how many have values.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> parquet::errors::Result<(usize, usize)> {
    values.clear();
    let mut rows = 0;
    while rows < count {
        let (read, _, _) = reader.read_records(count - rows, Some(levels), None, values)?;
        if read == 0 {
            break;
        }
        rows += read;
    }
    Ok((rows, values.len()))
}
