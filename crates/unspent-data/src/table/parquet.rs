//! Tables as Parquet.

use std::fs::File;

use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use unspent::{Error, Result, stop};

use super::columns::Places;
use super::{TakeOld, Wanted, count};
use crate::parquet_file::{damaged, whole};
use crate::progress::Progress;

/// Rows that are read at a time.
const BATCH: usize = 8_192;

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
        let places = Places::find(name, names, wanted)?;
        let check = |at: usize, code: bool| {
            use ConvertedType::{ENUM, INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UTF8};
            let column = schema.column(at);
            let fits = match (column.physical_type(), column.converted_type()) {
                (
                    PhysicalType::INT32 | PhysicalType::INT64,
                    NONE | INT_8 | INT_16 | INT_32 | INT_64 | UINT_8 | UINT_16,
                ) => true,
                (PhysicalType::BYTE_ARRAY, NONE | UTF8 | ENUM) => code,
                // Decimals and dates are integers only as they are stored.
                _ => false,
            };
            if fits && column.max_rep_level() == 0 {
                return Ok(());
            }
            let kind = match column.converted_type() {
                NONE => column.physical_type().to_string(),
                kind => kind.to_string(),
            };
            let what = if code { "texts or integers" } else { "integers" };
            Err(Error::stated(
                format!("{name}: column `{}` is of {kind}, not of {what}", places.names[at]),
                "counts are columns of signed integers; codes are texts or integers",
            ))
        };
        places.counts.iter().try_for_each(|at| check(*at, false))?;
        places.codes.iter().try_for_each(|at| check(*at, true))?;
        Ok(Parquet { reader, places })
    }

    pub(super) fn rows(self, name: &str, progress: &mut dyn Progress, row: &mut TakeOld<'_>) -> Result<()> {
        let Parquet { reader, places } = self;
        let all = reader.metadata().file_metadata().num_rows().max(1);
        let mut rows = 0u64;
        for group in 0..reader.num_row_groups() {
            let group = whole(name, || reader.get_row_group(group))?;
            let open = |at: &usize, text| Column::open(name, &places.names[*at], group.as_ref(), *at, text);
            let codes = places.codes.iter().map(|at| open(at, true));
            let mut codes: Vec<Column> = codes.collect::<Result<_>>()?;
            let counts = places.counts.iter().map(|at| open(at, false));
            let mut counts: Vec<Column> = counts.collect::<Result<_>>()?;
            let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            while left > 0 {
                stop::check();
                let some = left.min(BATCH);
                for column in codes.iter_mut().chain(&mut counts) {
                    column.read(name, rows, some)?;
                }
                let mut texts: Vec<&str> = vec![""; codes.len()];
                let mut numbers = vec![0; counts.len()];
                for i in 0..some {
                    let place = |error: Error| error.at(format!("{name}: row {}", rows + i as u64 + 1));
                    for (text, column) in texts.iter_mut().zip(&codes) {
                        *text = column.text(i).map_err(place)?;
                    }
                    for (number, column) in numbers.iter_mut().zip(&counts) {
                        *number = column.numbers[i];
                        count::check(&column.name, *number).map_err(place)?;
                    }
                    row(&texts, &numbers).map_err(place)?;
                }
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
    /// Whether texts are wanted, and not numbers.
    text: bool,
    numbers: Vec<i64>,
    bytes: Vec<ByteArray>,
}

impl Column {
    fn open(table: &str, name: &str, group: &dyn RowGroupReader, at: usize, text: bool) -> Result<Column> {
        let reader = whole(table, || group.get_column_reader(at))?;
        let present = group.metadata().schema_descr().column(at).max_def_level();
        Ok(Column { name: name.into(), reader, present, text, numbers: vec![], bytes: vec![] })
    }

    fn read(&mut self, table: &str, before: u64, count: usize) -> Result<()> {
        let mut levels = vec![];
        self.numbers.clear();
        self.bytes.clear();
        let rows = whole(table, || match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => {
                let mut short = vec![];
                let read = values::<Int32Type>(reader, count, &mut levels, &mut short);
                self.numbers.extend(short.into_iter().map(i64::from));
                read
            }
            ColumnReader::Int64ColumnReader(reader) => {
                values::<Int64Type>(reader, count, &mut levels, &mut self.numbers)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                values::<ByteArrayType>(reader, count, &mut levels, &mut self.bytes)
            }
            _ => unreachable!("other types were refused"),
        })?;
        let missing = |at: usize| {
            let row = before + at as u64 + 1;
            let cause = format!("{table}: row {row}: {}: is missing", self.name);
            Error::stated(cause, "every row has all codes and counts; write 0 if there is nobody")
        };
        if let Some(at) = levels.iter().position(|level| *level < self.present) {
            return Err(missing(at));
        }
        if rows < count {
            return Err(missing(rows));
        }
        if self.text && self.bytes.is_empty() {
            self.bytes = self.numbers.iter().map(|n| n.to_string().into_bytes().into()).collect();
        }
        // A damaged page can have fewer values than it says.
        let found = if self.text { self.bytes.len() } else { self.numbers.len() };
        if found == count { Ok(()) } else { Err(damaged(table)) }
    }

    fn text(&self, i: usize) -> Result<&str> {
        std::str::from_utf8(self.bytes[i].data())
            .map(str::trim)
            .map_err(|_| Error::stated(format!("{}: is not a text", self.name), "codes are texts in UTF-8"))
    }
}

/// Reads rows until there are `count` or no more.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> parquet::errors::Result<usize> {
    let mut rows = 0;
    while rows < count {
        let (read, _, _) = reader.read_records(count - rows, Some(levels), None, values)?;
        if read == 0 {
            break;
        }
        rows += read;
    }
    Ok(rows)
}
