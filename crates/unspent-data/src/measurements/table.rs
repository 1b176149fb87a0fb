//! A table of confidence intervals, one row for each noisy count, written as the measurements are read.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use unspent::report::columns::csv;
use unspent::{Rational, Result};

use super::intervals::RowIntervals;
use super::source::{NoisyRow, Only, Source};
use crate::parquet_file::{field, write_column};
use crate::progress::Progress;

/// Confidence intervals for the noisy counts of a source, as a table.
///
/// Its columns are `level`, `geocode`, `query`, `cell` (from 0), `value`, `variance`, `lower` and `upper`.
/// Both ends are missing where no count that is not negative is near enough.
#[derive(Clone, Debug)]
pub struct IntervalTable<'s> {
    source: &'s Source,
    only: Only,
    intervals: RowIntervals,
    confidence: Rational,
}

const COLUMNS: [&str; 8] = ["level", "geocode", "query", "cell", "value", "variance", "lower", "upper"];

/// Takes a row of the source, and the ends of the interval of each of its values.
type TakeRow<'t> = dyn FnMut(NoisyRow<'_>, &[Option<(i64, i64)>]) -> io::Result<()> + 't;

/// Rows of the table that are written at a time.
const ROWS: usize = 1 << 18;

impl<'s> IntervalTable<'s> {
    /// Fails if the confidence is none, or if a level or a query is wanted that is not there.
    pub fn new(source: &'s Source, only: Only, confidence: &Rational) -> Result<IntervalTable<'s>> {
        source.check(&only)?;
        let (intervals, confidence) = (RowIntervals::new(confidence)?, confidence.clone());
        Ok(IntervalTable { source, only, intervals, confidence })
    }

    /// Writes it as CSV; returns its number of rows. An error of reading is inside that of writing.
    ///
    /// What must be said of noise that is not private is told to `progress`: a CSV has no place for it.
    pub fn write_csv(&mut self, to: impl Write, progress: &mut dyn Progress) -> io::Result<u64> {
        let mut to = BufWriter::new(to);
        to.write_all(csv(&COLUMNS, &[]).as_bytes())?;
        let rows = self.each(progress, &mut |row, ends| {
            // Names are quoted as in any other table; the rest is numbers.
            let [level, geocode, query] = [row.level, row.geocode, row.query].map(str::to_string);
            let names = csv(&[], &[vec![level, geocode, query]]);
            let (names, variance) = (names.trim_matches('\n'), row.noise.variance);
            for (cell, (value, ends)) in row.values.iter().zip(ends).enumerate() {
                write!(to, "{names},{cell},{value},{variance},")?;
                match ends {
                    Some((lower, upper)) => writeln!(to, "{lower},{upper}")?,
                    None => writeln!(to, ",")?,
                }
            }
            Ok(())
        })?;
        to.flush()?;
        Ok(rows)
    }

    /// Writes it as Parquet; returns its number of rows. An error of reading is inside that of writing.
    pub fn write_parquet(&mut self, to: impl Write + Send, progress: &mut dyn Progress) -> io::Result<u64> {
        let mut writer = self.parquet_writer(to)?;
        let mut batch = Batch::default();
        let rows = self.each(progress, &mut |row, ends| {
            let names = [row.level, row.geocode, row.query].map(ByteArray::from);
            for (cell, (value, ends)) in row.values.iter().zip(ends).enumerate() {
                batch.push(&names, cell, *value, row.noise.variance, *ends);
                if batch.cells.len() >= ROWS {
                    batch.write(&mut writer)?;
                }
            }
            Ok(())
        })?;
        batch.write(&mut writer)?;
        writer.close()?;
        Ok(rows)
    }

    /// Hands on each row of the source with the ends of its intervals; returns how many values there were.
    fn each(&mut self, progress: &mut dyn Progress, take: &mut TakeRow<'_>) -> io::Result<u64> {
        let IntervalTable { source, only, intervals, .. } = self;
        if let Some(warning) = source.warning() {
            progress.warning(warning);
        }
        let (mut rows, mut ends) = (0, vec![]);
        let mut failed = None;
        let read = source.rows(only, &mut |row| {
            let intervals = intervals.of(row.noise)?;
            ends.clear();
            ends.extend(row.values.iter().map(|value| intervals.ends(*value)));
            rows += row.values.len() as u64;
            progress.rows(rows, None);
            take(row, &ends).map_err(|error| {
                failed = Some(error);
                unspent::Error::stated("the table could not be written", "")
            })
        });
        match (failed, read) {
            (Some(error), _) => Err(error),
            (None, read) => read.map(|()| rows).map_err(io::Error::other),
        }
    }

    fn parquet_writer<W: Write + Send>(&self, to: W) -> io::Result<SerializedFileWriter<W>> {
        let column = |(i, name): (usize, &&str)| {
            let (physical, repetition) = match i {
                0..3 => (PhysicalType::BYTE_ARRAY, Repetition::REQUIRED),
                3 => (PhysicalType::INT32, Repetition::REQUIRED),
                4 => (PhysicalType::INT64, Repetition::REQUIRED),
                5 => (PhysicalType::DOUBLE, Repetition::REQUIRED),
                _ => (PhysicalType::INT64, Repetition::OPTIONAL),
            };
            field(name, physical, repetition)
        };
        let fields = COLUMNS.iter().enumerate().map(column).collect::<parquet::errors::Result<_>>()?;
        let schema = Type::group_type_builder("unspent").with_fields(fields).build()?;
        let note = |key: &str, value: String| KeyValue::new(key.into(), Some(value));
        let mut notes = vec![
            note("unspent.version", env!("CARGO_PKG_VERSION").into()),
            note("unspent.confidence", self.confidence.to_decimal_or_fraction()),
        ];
        notes.extend(self.source.warning().map(|warning| note("unspent.warning", warning.into())));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            // Those of every page would be kept until the end.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(notes));
        for name in ["cell", "value", "lower", "upper"] {
            properties = properties
                .set_column_dictionary_enabled(name.into(), false)
                .set_column_encoding(name.into(), Encoding::DELTA_BINARY_PACKED);
        }
        Ok(SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties.build()))?)
    }
}

/// Rows of the table, column by column.
#[derive(Default)]
struct Batch {
    names: [Vec<ByteArray>; 3],
    cells: Vec<i32>,
    values: Vec<i64>,
    variances: Vec<f64>,
    /// 1 where there is an interval.
    present: Vec<i16>,
    lower: Vec<i64>,
    upper: Vec<i64>,
}

impl Batch {
    fn push(
        &mut self,
        names: &[ByteArray; 3],
        cell: usize,
        value: i64,
        variance: f64,
        ends: Option<(i64, i64)>,
    ) {
        self.names.iter_mut().zip(names).for_each(|(column, name)| column.push(name.clone()));
        self.cells.push(cell as i32);
        self.values.push(value);
        self.variances.push(variance);
        self.present.push(ends.is_some().into());
        self.lower.extend(ends.map(|(lower, _)| lower));
        self.upper.extend(ends.map(|(_, upper)| upper));
    }

    /// Writes the rows as a row group, and forgets them.
    fn write<W: Write + Send>(&mut self, writer: &mut SerializedFileWriter<W>) -> io::Result<()> {
        let batch = std::mem::take(self);
        let mut group = writer.next_row_group()?;
        for names in &batch.names {
            write_column::<ByteArrayType, W>(&mut group, names, None, None)?;
        }
        write_column::<Int32Type, W>(&mut group, &batch.cells, None, None)?;
        write_column::<Int64Type, W>(&mut group, &batch.values, None, None)?;
        write_column::<DoubleType, W>(&mut group, &batch.variances, None, None)?;
        write_column::<Int64Type, W>(&mut group, &batch.lower, Some(&batch.present), None)?;
        write_column::<Int64Type, W>(&mut group, &batch.upper, Some(&batch.present), None)?;
        group.close()?;
        Ok(())
    }
}
