//! Columns as a Parquet file.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use unspent::report::columns::{Column, Columns, Values};

/// A Parquet file with `notes` in its metadata.
pub fn written(columns: &Columns, notes: &[(&str, String)]) -> std::result::Result<Vec<u8>, String> {
    write_parquet(columns, notes).map_err(|e| e.to_string())
}

/// Texts as they are, numbers as doubles; what is empty is −∞, the logarithm of 0.
fn write_parquet(columns: &Columns, notes: &[(&str, String)]) -> parquet::errors::Result<Vec<u8>> {
    let field = |column: &Column| {
        let (physical, logical) = match column.values {
            Values::Rounded(_) => (PhysicalType::DOUBLE, None),
            _ => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = columns.0.iter().map(field).collect::<parquet::errors::Result<_>>()?;
    let schema = Type::group_type_builder("unspent").with_fields(fields).build()?;
    let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).into(), value.clone())).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(notes))
        .build();
    let mut writer = SerializedFileWriter::new(vec![], Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &columns.0 {
        let mut target = group.next_column()?.expect("as many columns as the schema has");
        match &column.values {
            Values::Rounded(values) => {
                let double =
                    |value: &Option<(String, f64)>| value.as_ref().map_or(f64::NEG_INFINITY, |v| v.1);
                let values: Vec<f64> = values.iter().map(double).collect();
                target.typed::<DoubleType>().write_batch(&values, None, None)?;
            }
            _ => {
                let values: Vec<ByteArray> =
                    (0..column.rows()).map(|row| column.field(row).as_str().into()).collect();
                target.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
        }
        target.close()?;
    }
    group.close()?;
    writer.into_inner()
}
