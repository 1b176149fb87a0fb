//! Points to ask at, and the table of answers: as CSV for anything and as Parquet for programs.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use unspent::report::Figure;
use unspent::{Error, Magnitude, Rational, Result, Round};

use crate::decimal::FULL;
use crate::output;

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

/// Evenly spaced, both ends exactly as given, the others decimals of nine digits where these can tell them apart.
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

/// A named list of values.
pub struct Column {
    name: &'static str,
    values: Values,
}

enum Values {
    Text(Vec<String>),
    /// As a decimal and as a double, both rounded the same way.
    Number(Vec<(String, f64)>),
}

impl Column {
    /// The same text in every row.
    pub fn text(name: &'static str, text: &str, rows: usize) -> Column {
        Column { name, values: Values::Text(vec![text.into(); rows]) }
    }

    /// Lower ends.
    pub fn lower<'a>(name: &'static str, figures: impl Iterator<Item = &'a Figure>) -> Column {
        Column::number(name, figures.map(|f| (f.at_least(FULL), f.bounds().lower().to_f64(Round::Down))))
    }

    /// Upper ends.
    pub fn upper<'a>(name: &'static str, figures: impl Iterator<Item = &'a Figure>) -> Column {
        Column::number(name, figures.map(|f| (f.at_most(FULL), f.bounds().upper().to_f64(Round::Up))))
    }

    /// Numbers rounded in one direction.
    pub fn rounded<'a>(
        name: &'static str,
        numbers: impl Iterator<Item = &'a Magnitude>,
        round: Round,
    ) -> Column {
        Column::number(name, numbers.map(|x| (x.to_decimal(FULL, round), x.to_f64(round))))
    }

    /// Doubles as they are; empty where there is none.
    pub fn doubles(name: &'static str, numbers: impl Iterator<Item = Option<f64>>) -> Column {
        let text = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        Column::number(name, numbers.map(|x| (text(x), x.unwrap_or(f64::NEG_INFINITY))))
    }

    fn number(name: &'static str, numbers: impl Iterator<Item = (String, f64)>) -> Column {
        Column { name, values: Values::Number(numbers.collect()) }
    }
}

/// Columns of the same length.
pub struct Grid(pub Vec<Column>);

impl Grid {
    /// Comma-separated values.
    pub fn csv(&self) -> String {
        let heads: Vec<&str> = self.0.iter().map(|c| c.name).collect();
        let length = self.0.first().map_or(0, |c| match &c.values {
            Values::Text(values) => values.len(),
            Values::Number(values) => values.len(),
        });
        let row = |i: usize| {
            let field = |column: &Column| match &column.values {
                Values::Text(values) => values[i].clone(),
                Values::Number(values) => values[i].0.clone(),
            };
            self.0.iter().map(field).collect()
        };
        output::csv(&heads, &(0..length).map(row).collect::<Vec<_>>())
    }

    /// A Parquet file with `notes` in its metadata.
    pub fn parquet(&self, notes: &[(&str, String)]) -> std::result::Result<Vec<u8>, String> {
        self.write_parquet(notes).map_err(|e| e.to_string())
    }

    fn write_parquet(&self, notes: &[(&str, String)]) -> parquet::errors::Result<Vec<u8>> {
        let field = |column: &Column| {
            let (physical, logical) = match column.values {
                Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
                Values::Number(_) => (PhysicalType::DOUBLE, None),
            };
            let field = Type::primitive_type_builder(column.name, physical)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(logical);
            field.build().map(Arc::new)
        };
        let fields = self.0.iter().map(field).collect::<parquet::errors::Result<_>>()?;
        let schema = Type::group_type_builder("unspent").with_fields(fields).build()?;
        let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).into(), value.clone())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(notes))
            .build();
        let mut writer = SerializedFileWriter::new(vec![], Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for column in &self.0 {
            let mut target = group.next_column()?.expect("as many columns as the schema has");
            match &column.values {
                Values::Text(values) => {
                    let values: Vec<ByteArray> = values.iter().map(|v| v.as_str().into()).collect();
                    target.typed::<ByteArrayType>().write_batch(&values, None, None)?;
                }
                Values::Number(values) => {
                    let values: Vec<f64> = values.iter().map(|v| v.1).collect();
                    target.typed::<DoubleType>().write_batch(&values, None, None)?;
                }
            }
            target.close()?;
        }
        group.close()?;
        writer.into_inner()
    }
}
