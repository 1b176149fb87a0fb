//! Parquet files: what their columns are of. They may be damaged, or their disk may be full.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{ColumnDescriptor, Type, TypePtr};
use unspent::{Error, Result};

use crate::panics;

/// Values of a stream that are handed to the library at a time.
const VALUES: usize = 1 << 13;

/// What reading a file gives; a library that trips over a damaged one is no reason to end.
pub fn whole<T>(name: &str, read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match panics::caught(read) {
        Some(read) => read.map_err(|error| {
            let hint = if error.to_string().contains("feature") {
                "write it with the compression snappy, or without"
            } else {
                "check that it is a whole Parquet file"
            };
            Error::stated(format!("{name}: cannot be read: {error}"), hint)
        }),
        None => Err(damaged(name)),
    }
}

/// A file whose parts do not fit together.
pub fn damaged(name: &str) -> Error {
    Error::stated(
        format!("{name}: cannot be read: lengths in it do not fit"),
        "check that it is a whole Parquet file",
    )
}

/// What the system says of a file that could not be written, without the library's words around it.
pub fn system_error(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast() {
            Ok(inner) => *inner,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    }
}

/// Writes the next column: its values, which of them are present, and where lists begin.
pub fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
    starts: Option<&[i16]>,
) -> parquet::errors::Result<()> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, present, starts)?;
    column.close()
}

/// Writes the next column, none of whose values is missing, some values at a time.
pub fn write_values<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = T::T>,
) -> parquet::errors::Result<()> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    let mut values = values.peekable();
    while values.peek().is_some() {
        let some: Vec<T::T> = values.by_ref().take(VALUES).collect();
        column.typed::<T>().write_batch(&some, None, None)?;
    }
    column.close()
}

/// A column of texts or numbers.
pub fn field(name: &str, of: PhysicalType, repetition: Repetition) -> parquet::errors::Result<TypePtr> {
    let logical = (of == PhysicalType::BYTE_ARRAY).then_some(LogicalType::String);
    let field = Type::primitive_type_builder(name, of).with_repetition(repetition);
    field.with_logical_type(logical).build().map(Arc::new)
}

/// A column of lists: whether a list may be missing, and whether its elements may.
pub fn list(
    name: &str,
    of: PhysicalType,
    lists: Repetition,
    elements: Repetition,
) -> parquet::errors::Result<TypePtr> {
    let items = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![field("element", of, elements)?])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(lists)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(items)])
        .build()
        .map(Arc::new)
}

/// What a column is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// INT32 or INT64, without sign only if it fits all the same.
    Integers,
    /// FLOAT or DOUBLE.
    Reals,
    /// Bytes, of which it is not said that they are something else than a text.
    Texts,
}

/// What a column is of; none if it is of something else.
pub fn kind_of(column: &ColumnDescriptor) -> Option<Kind> {
    use ConvertedType::{DECIMAL, ENUM, INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UTF8};
    if column.converted_type() == NONE && column.logical_type_ref().is_some() {
        // Times in nanoseconds and others that came later.
        return None;
    }
    match (column.physical_type(), column.converted_type()) {
        (
            PhysicalType::INT32 | PhysicalType::INT64,
            NONE | INT_8 | INT_16 | INT_32 | INT_64 | UINT_8 | UINT_16,
        ) => Some(Kind::Integers),
        // Other decimals, and dates, are integers only as they are stored.
        (PhysicalType::INT32 | PhysicalType::INT64, DECIMAL) if column.type_scale() == 0 => {
            Some(Kind::Integers)
        }
        (PhysicalType::DOUBLE | PhysicalType::FLOAT, NONE) => Some(Kind::Reals),
        (PhysicalType::BYTE_ARRAY, NONE | UTF8 | ENUM) => Some(Kind::Texts),
        _ => None,
    }
}

/// What a column is of, for messages.
pub fn shown_kind(column: &ColumnDescriptor) -> String {
    match (column.converted_type(), column.logical_type_ref()) {
        (ConvertedType::NONE, None) => column.physical_type().to_string(),
        (ConvertedType::NONE, Some(kind)) => {
            let shown = format!("{kind:?}");
            shown.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_uppercase()
        }
        (kind, _) => kind.to_string(),
    }
}
