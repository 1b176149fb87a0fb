//! Datasets in the form of the Census Bureau's noisy measurement files, in the encodings that Parquet has.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use unspent_data::measurements::RowNoise;
use unspent_data::measurements::bureau::BureauMeasurements;

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Whether integers in `value` and in `query_shape` have 64 bits.
    pub long: [bool; 2],
    /// Whether variances are doubles.
    pub double: bool,
    /// The names in a list's path: of the repeated field, and of what is in it, if that is a group.
    pub list: (&'static str, Option<&'static str>),
    /// Whether columns may have nulls.
    pub optional: bool,
    /// Whether there are columns of attributes, `plb`, and others that nobody knows.
    pub more: bool,
    /// Rows in a row group.
    pub group: usize,
    /// What is null: a column and a row.
    pub null: Option<(&'static str, usize)>,
}

pub const PLAIN: Form = Form {
    long: [false, false],
    double: false,
    list: ("list", Some("element")),
    optional: true,
    more: true,
    group: 1_000,
    null: None,
};

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Values {
    Texts(Vec<String>),
    Lists(Vec<Vec<i64>>, bool),
    Integers(Vec<i64>),
    Reals(Vec<f64>, bool),
}

pub type Columns = Vec<(String, Values)>;

/// A row of a file.
#[derive(Clone, Debug)]
pub struct FixtureRow {
    pub geocode: String,
    pub name: String,
    pub shape: Vec<i64>,
    pub values: Vec<i64>,
    pub variance: f64,
    pub sign: Option<&'static str>,
}

/// The columns of these rows.
pub fn columns(rows: &[FixtureRow], attributes: &[&str], form: Form) -> Columns {
    let texts = |text: &dyn Fn(&FixtureRow) -> String| Values::Texts(rows.iter().map(text).collect());
    let mut columns = vec![
        ("geocode".into(), texts(&|row| row.geocode.clone())),
        ("query_name".into(), texts(&|row| row.name.clone())),
        ("value".into(), Values::Lists(rows.iter().map(|row| row.values.clone()).collect(), form.long[0])),
        (
            "query_shape".into(),
            Values::Lists(rows.iter().map(|row| row.shape.clone()).collect(), form.long[1]),
        ),
        ("variance".into(), Values::Reals(rows.iter().map(|row| row.variance).collect(), form.double)),
    ];
    if rows.iter().any(|row| row.sign.is_some()) {
        columns.push(("sign".into(), texts(&|row| row.sign.unwrap_or_default().into())));
    }
    if form.more {
        columns.extend(attributes.iter().map(|name| ((*name).into(), texts(&|_| "*".into()))));
        columns.insert(0, ("plb".into(), texts(&|_| "1/7".into())));
        columns.push(("version".into(), Values::Integers(vec![2; rows.len()])));
    }
    columns
}

/// Writes a file.
pub fn write(path: &Path, columns: &Columns, form: Form) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let rows = match &columns[0].1 {
        Values::Texts(texts) => texts.len(),
        _ => unreachable!("the first is of texts"),
    };
    let fields = columns.iter().map(|(name, values)| field(name, values, form)).collect();
    let schema = Type::group_type_builder("spark_schema").with_fields(fields).build().unwrap();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    for start in (0..rows).step_by(form.group) {
        let range = start..rows.min(start + form.group);
        let mut group = writer.next_row_group().unwrap();
        for (name, values) in columns {
            let is_null = |row: &usize| form.null == Some((name, *row));
            let depth = i16::from(form.optional);
            match values {
                Values::Texts(texts) => {
                    let texts: Vec<Option<ByteArray>> =
                        range.clone().map(|i| (!is_null(&i)).then(|| texts[i].as_str().into())).collect();
                    flat::<ByteArrayType>(&mut group, &texts, depth);
                }
                Values::Integers(numbers) => {
                    let numbers: Vec<_> = range.clone().map(|i| Some(numbers[i])).collect();
                    flat::<Int64Type>(&mut group, &numbers, depth);
                }
                Values::Reals(numbers, true) => {
                    let numbers: Vec<_> =
                        range.clone().map(|i| (!is_null(&i)).then_some(numbers[i])).collect();
                    flat::<DoubleType>(&mut group, &numbers, depth);
                }
                Values::Reals(numbers, false) => {
                    let numbers: Vec<_> =
                        range.clone().map(|i| (!is_null(&i)).then_some(numbers[i] as f32)).collect();
                    flat::<FloatType>(&mut group, &numbers, depth);
                }
                Values::Lists(lists, long) => {
                    let empty = vec![];
                    let lists: Vec<&Vec<i64>> =
                        range.clone().map(|i| if is_null(&i) { &empty } else { &lists[i] }).collect();
                    let item = i16::from(form.list.1.is_some() && form.optional);
                    if *long {
                        nested::<Int64Type>(&mut group, &lists, depth, item, |x| x);
                    } else {
                        nested::<Int32Type>(&mut group, &lists, depth, item, |x| x as i32);
                    }
                }
            }
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn field(name: &str, values: &Values, form: Form) -> TypePtr {
    let repetition = if form.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let plain = |name: &str, physical, repetition| {
        let logical = (physical == PhysicalType::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        Arc::new(field.with_logical_type(logical).build().unwrap())
    };
    let physical = match values {
        Values::Texts(_) => PhysicalType::BYTE_ARRAY,
        Values::Reals(_, true) => PhysicalType::DOUBLE,
        Values::Reals(_, false) => PhysicalType::FLOAT,
        Values::Lists(_, false) => PhysicalType::INT32,
        Values::Integers(_) | Values::Lists(_, true) => PhysicalType::INT64,
    };
    if !matches!(values, Values::Lists(..)) {
        return plain(name, physical, repetition);
    }
    let (repeated, item) = form.list;
    let inside = match item {
        None => plain(repeated, physical, Repetition::REPEATED),
        Some(item) => Arc::new(
            Type::group_type_builder(repeated)
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![plain(item, physical, repetition)])
                .build()
                .unwrap(),
        ),
    };
    let list = Type::group_type_builder(name).with_repetition(repetition).with_fields(vec![inside]);
    Arc::new(list.with_logical_type(Some(LogicalType::List)).build().unwrap())
}

fn flat<T: DataType>(group: &mut SerializedRowGroupWriter<'_, File>, values: &[Option<T::T>], depth: i16) {
    let mut column = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = values.iter().map(|value| if value.is_some() { depth } else { 0 }).collect();
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    let levels = (depth > 0).then_some(&levels[..]);
    column.typed::<T>().write_batch(&present, levels, None).unwrap();
    column.close().unwrap();
}

/// Lists; an empty one is written as such.
fn nested<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    lists: &[&Vec<i64>],
    depth: i16,
    item: i16,
    change: impl Fn(i64) -> T::T,
) {
    let (mut items, mut levels, mut repetitions) = (vec![], vec![], vec![]);
    for list in lists {
        if list.is_empty() {
            levels.push(depth);
            repetitions.push(0);
        }
        for (i, x) in list.iter().enumerate() {
            items.push(change(*x));
            levels.push(depth + 1 + item);
            repetitions.push(i16::from(i > 0));
        }
    }
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(&items, Some(&levels), Some(&repetitions)).unwrap();
    column.close().unwrap();
}

/// The rows of a level of measurements: its noisy answers, and its constraints.
pub fn rows(
    from: &BureauMeasurements,
    level: &str,
    full: &dyn Fn(&str, &[u32]) -> Vec<i64>,
) -> [Vec<FixtureRow>; 2] {
    let (mut noisy, mut constraints) = (vec![], vec![]);
    for found in from.levels.iter().filter(|found| found.level == level) {
        for query in &found.queries {
            for (unit, code) in found.codes.iter().enumerate() {
                let RowNoise { variance, .. } = *query.noise(unit);
                noisy.push(FixtureRow {
                    geocode: code.clone(),
                    name: format!("{}_dpq", query.name),
                    shape: full(&query.name, &query.shape),
                    values: query.values[unit * query.length()..][..query.length()].to_vec(),
                    variance,
                    sign: None,
                });
            }
        }
    }
    let mut constraint = |codes: &[String], name: &str, shape: &[u32], values: &[i64], sign| {
        let length = shape.iter().map(|n| *n as usize).product();
        for (code, values) in codes.iter().zip(values.chunks(length)) {
            constraints.push(FixtureRow {
                geocode: code.clone(),
                name: format!("{name}_con"),
                shape: full(name, shape),
                values: values.to_vec(),
                variance: 0.0,
                sign: Some(sign),
            });
        }
    };
    for found in from.exact.iter().filter(|found| found.level == level) {
        for query in &found.queries {
            constraint(&found.codes, &query.name, &query.shape, &query.values, "=");
        }
    }
    for found in from.bounds.iter().filter(|found| found.level == level) {
        for query in &found.queries {
            let sign =
                if query.sign == unspent_data::measurements::bureau::Sign::AtMost { "<=" } else { ">=" };
            constraint(&found.codes, &query.name, &query.shape, &query.values, sign);
        }
    }
    [noisy, constraints]
}
