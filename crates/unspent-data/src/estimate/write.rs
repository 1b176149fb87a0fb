//! Estimates as Parquet files: one row for each unit and query.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::answers::{Asked, Estimated};
use crate::parquet_file::{field, list, write_column};

/// The columns with a number for each answer: of whole counts but for the first two.
const NUMBERS: [&str; 6] = ["value", "variance", "lower", "upper", "lower_guaranteed", "upper_guaranteed"];

/// How files are written.
pub(super) struct Writer {
    schema: TypePtr,
    properties: WriterPropertiesPtr,
}

/// Rows, column by column.
#[derive(Default)]
pub(super) struct Rows {
    geocodes: Vec<ByteArray>,
    names: Vec<ByteArray>,
    shapes: Vec<i32>,
    shape_starts: Vec<i16>,
    /// 0 at the first answer of a row.
    starts: Vec<i16>,
    /// 2 where there is an estimate, 1 where the answer is not determined.
    present: Vec<i16>,
    values: Vec<f64>,
    variances: Vec<f64>,
    normal: Ends,
    guaranteed: Ends,
    pub(super) units: u64,
}

/// Both ends of intervals.
#[derive(Default)]
struct Ends {
    /// 2 where there is an interval.
    present: Vec<i16>,
    lower: Vec<i64>,
    upper: Vec<i64>,
}

impl Ends {
    fn push(&mut self, ends: Option<(i64, i64)>) {
        self.present.push(if ends.is_some() { 2 } else { 1 });
        self.lower.extend(ends.map(|ends| ends.0));
        self.upper.extend(ends.map(|ends| ends.1));
    }
}

impl Rows {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.geocodes.len()
    }

    /// One more row.
    pub(super) fn push(
        &mut self,
        geocode: &ByteArray,
        asked: &Asked,
        answers: &mut dyn Iterator<Item = Option<Estimated>>,
    ) {
        self.geocodes.push(geocode.clone());
        self.names.push(asked.name.as_str().into());
        for (i, size) in asked.shape.iter().enumerate() {
            self.shapes.push(size.cast_signed());
            self.shape_starts.push(i16::from(i > 0));
        }
        let mut start = 0;
        for answer in answers {
            self.starts.push(start);
            start = 1;
            self.present.push(if answer.is_some() { 2 } else { 1 });
            self.values.extend(answer.map(|answer| answer.value));
            self.variances.extend(answer.map(|answer| answer.variance));
            self.normal.push(answer.and_then(|answer| answer.normal));
            self.guaranteed.push(answer.and_then(|answer| answer.guaranteed));
        }
    }
}

impl Writer {
    /// With `notes` in the metadata of every file.
    pub(super) fn new(notes: &[(&str, String)]) -> Writer {
        let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).into(), value.clone())).collect();
        let element = |name: &str| ColumnPath::from([name, "list", "element"].map(String::from).to_vec());
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(notes))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            // Estimates hardly repeat; their variances are few.
            .set_column_dictionary_enabled(element("value"), false)
            .set_column_compression(element("value"), Compression::UNCOMPRESSED)
            .set_column_dictionary_enabled("geocode".into(), false)
            .set_column_encoding("geocode".into(), Encoding::DELTA_BYTE_ARRAY);
        for name in &NUMBERS[2..] {
            properties = properties
                .set_column_dictionary_enabled(element(name), false)
                .set_column_encoding(element(name), Encoding::DELTA_BINARY_PACKED);
        }
        Writer {
            schema: Arc::new(schema().expect("a schema that is known")),
            properties: Arc::new(properties.build()),
        }
    }

    /// Writes rows as all of a new file; returns how many there are.
    pub(super) fn write(&self, file: impl Write + Send, rows: Rows) -> Result<u64> {
        let count = rows.len() as u64;
        let mut writer = SerializedFileWriter::new(file, self.schema.clone(), self.properties.clone())?;
        let mut group = writer.next_row_group()?;
        write_column::<ByteArrayType, _>(&mut group, &rows.geocodes, None, None)?;
        write_column::<ByteArrayType, _>(&mut group, &rows.names, None, None)?;
        let all = vec![1; rows.shapes.len()];
        write_column::<Int32Type, _>(&mut group, &rows.shapes, Some(&all), Some(&rows.shape_starts))?;
        let (present, starts) = (Some(&rows.present[..]), Some(&rows.starts[..]));
        write_column::<DoubleType, _>(&mut group, &rows.values, present, starts)?;
        write_column::<DoubleType, _>(&mut group, &rows.variances, present, starts)?;
        for Ends { present, lower, upper } in [&rows.normal, &rows.guaranteed] {
            write_column::<Int64Type, _>(&mut group, lower, Some(present), starts)?;
            write_column::<Int64Type, _>(&mut group, upper, Some(present), starts)?;
        }
        group.close()?;
        writer.close()?;
        Ok(count)
    }
}

fn schema() -> Result<Type> {
    const REQUIRED: Repetition = Repetition::REQUIRED;
    const OPTIONAL: Repetition = Repetition::OPTIONAL;
    let mut fields = vec![
        field("geocode", PhysicalType::BYTE_ARRAY, REQUIRED)?,
        field("query_name", PhysicalType::BYTE_ARRAY, REQUIRED)?,
        list("query_shape", PhysicalType::INT32, REQUIRED, REQUIRED)?,
    ];
    for (i, name) in NUMBERS.iter().enumerate() {
        let physical = if i < 2 { PhysicalType::DOUBLE } else { PhysicalType::INT64 };
        fields.push(list(name, physical, REQUIRED, OPTIONAL)?);
    }
    Type::group_type_builder("estimate").with_fields(fields).build()
}
