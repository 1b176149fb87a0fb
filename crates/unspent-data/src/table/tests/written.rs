//! Tables of tests, written in every format that is read.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, process};

use ::parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// Codes, values and counts of a row.
pub(super) type Owned = (Vec<String>, Vec<String>, Vec<i64>);

/// A directory of a test's own, removed at its end.
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn new(name: &str) -> Place {
        let path = env::temp_dir().join(format!("unspent-table-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Input {
        fs::write(self.0.join(name), bytes).unwrap();
        Input::File(self.0.join(name))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// All rows of a table.
pub(super) fn read(input: Input, codes: &[&str], values: &[&str], counts: &[&str]) -> Result<Vec<Owned>> {
    let (codes, values, counts) = (names(codes), names(values), names(counts));
    let wanted = Wanted { codes: &codes, values: &values, counts: &counts };
    all_rows(Table::open(input, wanted)?)
}

pub(super) fn all_rows(table: Table) -> Result<Vec<Owned>> {
    let mut found = vec![];
    table.rows(&mut Quiet, &mut |row| {
        found.push((names(row.codes), names(row.values), row.counts.to_vec()));
        Ok(())
    })?;
    Ok(found)
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(vec![], Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// A column of a Parquet file; nothing where it is null.
#[derive(Clone)]
pub(super) enum Stored {
    Texts(Vec<Option<String>>),
    Short(Vec<Option<i32>>),
    Integers(Vec<Option<i64>>),
    Doubles(Vec<Option<f64>>),
    Floats(Vec<Option<f32>>),
    Flags(Vec<Option<bool>>),
    /// Integers that mean something else.
    Meant(LogicalType, Vec<Option<i64>>),
}

/// A Parquet file with row groups of so many rows.
pub(super) fn parquet_file(columns: &[(&str, Stored)], group: usize, dictionary: bool) -> Vec<u8> {
    let mut fields = vec![];
    for (name, stored) in columns {
        let (kind, logical) = match stored {
            Stored::Texts(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Stored::Short(_) => (PhysicalType::INT32, None),
            Stored::Integers(_) => (PhysicalType::INT64, None),
            Stored::Doubles(_) => (PhysicalType::DOUBLE, None),
            Stored::Floats(_) => (PhysicalType::FLOAT, None),
            Stored::Flags(_) => (PhysicalType::BOOLEAN, None),
            Stored::Meant(logical, _) => (PhysicalType::INT64, Some(logical.clone())),
        };
        let mut field = Type::primitive_type_builder(name, kind).with_repetition(Repetition::OPTIONAL);
        if let Some(LogicalType::Decimal(decimal)) = &logical {
            field = field.with_precision(decimal.precision).with_scale(decimal.scale);
        }
        fields.push(Arc::new(field.with_logical_type(logical).build().unwrap()));
    }
    let schema = Type::group_type_builder("table").with_fields(fields).build().unwrap();
    let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
    let mut bytes = vec![];
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).unwrap();
    let rows = match (&columns[0].1, &columns[1].1) {
        (Stored::Texts(texts), _) | (_, Stored::Texts(texts)) => texts.len(),
        _ => unreachable!("one of the first two columns has texts"),
    };
    for start in (0..rows).step_by(group) {
        let part = start..rows.min(start + group);
        let mut to = file.next_row_group().unwrap();
        for (_, stored) in columns {
            match stored {
                Stored::Texts(texts) => {
                    let bytes = |text: &Option<String>| text.as_ref().map(|t| ByteArray::from(t.as_str()));
                    let texts: Vec<Option<ByteArray>> = texts[part.clone()].iter().map(bytes).collect();
                    write::<ByteArrayType>(&mut to, &texts);
                }
                Stored::Short(all) => write::<Int32Type>(&mut to, &all[part.clone()]),
                Stored::Integers(all) | Stored::Meant(_, all) => {
                    write::<Int64Type>(&mut to, &all[part.clone()]);
                }
                Stored::Doubles(all) => write::<DoubleType>(&mut to, &all[part.clone()]),
                Stored::Floats(all) => write::<FloatType>(&mut to, &all[part.clone()]),
                Stored::Flags(all) => write::<BoolType>(&mut to, &all[part.clone()]),
            }
        }
        to.close().unwrap();
    }
    file.close().unwrap();
    bytes
}

fn write<T: DataType>(to: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, all: &[Option<T::T>]) {
    let levels: Vec<i16> = all.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<T::T> = all.iter().flatten().cloned().collect();
    let mut column = to.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
}

/// Bits, one for each row, after so many others.
pub(super) fn bitmap<T>(rows: &[Option<T>], after: usize) -> Option<Shared<u8>> {
    let mut bytes = vec![0u8; (rows.len() + after).div_ceil(8)];
    for (i, row) in rows.iter().enumerate() {
        bytes[(i + after) / 8] |= u8::from(row.is_some()) << ((i + after) % 8);
    }
    Some(Arc::new(bytes))
}

/// Texts as bytes and places.
pub(super) fn texts(rows: &[Option<String>]) -> Chunk {
    let mut places = vec![0i32];
    let mut bytes = vec![];
    for row in rows {
        bytes.extend(row.as_deref().unwrap_or("gone").bytes());
        places.push(bytes.len() as i32);
    }
    let content = Content::Texts(Integers::I32(Arc::new(places)), Arc::new(bytes));
    Chunk::new(content, bitmap(rows, 0), 0, rows.len()).unwrap()
}

/// Texts as views, the long ones in two parts of memory.
pub(super) fn views(rows: &[Option<String>]) -> Chunk {
    let mut buffers = [vec![], vec![]];
    let mut views = vec![];
    for (i, row) in rows.iter().enumerate() {
        let text = row.as_deref().unwrap_or("missing").as_bytes();
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(text.len() as i32).to_ne_bytes());
        if text.len() <= 12 {
            view[4..4 + text.len()].copy_from_slice(text);
        } else {
            view[4..8].copy_from_slice(&text[..4]);
            view[8..12].copy_from_slice(&(i as i32 % 2).to_ne_bytes());
            view[12..].copy_from_slice(&(buffers[i % 2].len() as i32).to_ne_bytes());
            buffers[i % 2].extend_from_slice(text);
        }
        views.push(view);
    }
    let buffers = buffers.into_iter().map(|buffer| Arc::new(buffer) as Shared<u8>).collect();
    Chunk::new(Content::Views(Arc::new(views), buffers), bitmap(rows, 0), 0, rows.len()).unwrap()
}

/// Texts as places in a dictionary, of which one word is missing; nulls are marked here or there.
pub(super) fn dictionary(rows: &[Option<String>]) -> Chunk {
    let mut words: Vec<Option<String>> = vec![None];
    let mut places = vec![];
    for row in rows {
        let at = words.iter().position(|word| word == row).unwrap_or_else(|| {
            words.push(row.clone());
            words.len() - 1
        });
        places.push(at as u16);
    }
    let content = Content::Dictionary(Integers::U16(Arc::new(places)), Arc::new(texts(&words)));
    Chunk::new(content, None, 0, rows.len()).unwrap()
}
