//! Points to ask at, and columns as Parquet.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use unspent::report::columns::{Column, Columns, Values};
use unspent::{Error, Rational, Result};

/// Most points of a grid.
const MAX_POINTS: u64 = 100_000;
/// Significant digits of the points of a grid.
const DIGITS: usize = 9;

/// Reads how many points.
pub fn parse_points(text: &str) -> Result<usize> {
    let points = text.parse().ok().filter(|n| (2..=MAX_POINTS).contains(n));
    points.map(|n| n as usize).ok_or_else(|| {
        Error::input(
            "points",
            text,
            format!("a whole number between 2 and {MAX_POINTS}"),
            "201 make a smooth curve",
        )
    })
}

/// Evenly spaced, both ends exactly as given, the others decimals of nine digits where these can tell them
/// apart.
pub fn linear(from: &Rational, to: &Rational, points: usize) -> Vec<Rational> {
    let mut values = vec![from.clone()];
    let step = &(to - from) / &Rational::from(points as u64 - 1);
    for i in 1..points - 1 {
        let exactly = from + &(&step * &Rational::from(i as u64));
        let rounded: Rational =
            format!("{:.*e}", DIGITS - 1, exactly.to_f64()).parse().expect("a finite number");
        let fits = values[i - 1] < rounded && rounded < *to;
        values.push(if fits { rounded } else { exactly });
    }
    values.push(to.clone());
    values
}

/// Evenly spaced in the logarithm.
pub fn logarithmic(from: &Rational, to: &Rational, points: usize) -> Vec<Rational> {
    // Far below the doubles as well: digits and exponent apart.
    let log = |x: &Rational| x.to_bounds().log10().upper();
    let (low, high) = (log(from), log(to));
    let mut values = vec![from.clone()];
    for i in 1..points - 1 {
        let exponent = low + (high - low) * i as f64 / (points - 1) as f64;
        let whole = exponent.floor();
        #[expect(clippy::disallowed_methods, reason = "any point near is a point of the grid")]
        let digits = 10f64.powf(exponent - whole);
        values.push(format!("{digits:.*}e{whole}", DIGITS - 1).parse().expect("a number"));
    }
    values.push(to.clone());
    values
}

/// A Parquet file with `notes` in its metadata.
pub fn parquet(columns: &Columns, notes: &[(&str, String)]) -> std::result::Result<Vec<u8>, String> {
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
