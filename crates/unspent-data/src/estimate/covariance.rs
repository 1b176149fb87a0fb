//! `covariance.parquet`: all that the variance of any sum of units and cells follows from.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use unspent_estimate::Matrix;

use super::estimation::Estimation;
use super::manifest::Component;
use crate::parquet_file::{field, list, write_column};

/// Rows that are written at a time.
const ROWS: usize = 1 << 16;
/// The largest blocks whose matrices are written.
const MAX_DIMENSION: usize = 64;

const NOTE: &str = "one row for each unit, or each group of smallest units of one parent that are known \
     equally well, and each component: covariance of its coordinates by what lies below the unit \
     (upward), in the end (variance), and by how much they move with those of the unit above (gain), row \
     by row; null where not all of it is determined";

/// Writes it; returns how many rows there are.
pub(super) fn write(estimation: &Estimation, components: &[Component], file: File) -> Result<u64> {
    let notes = vec![KeyValue::new("unspent.covariance".into(), Some(NOTE.into()))];
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(notes));
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema()?), Arc::new(properties.build()))?;
    let names: Vec<ByteArray> = components.iter().map(|c| c.name.as_str().into()).collect();
    let small: Vec<bool> = components.iter().map(|c| c.dimension <= MAX_DIMENSION).collect();
    let tree = &estimation.tree;
    let mut batch = Batch::default();
    let mut count = 0;
    let mut add = |batch: &mut Batch, node: usize, gains: Option<Vec<Matrix>>| {
        let (level, code) = estimation.place(node);
        let (level, code) = (ByteArray::from(level), ByteArray::from(code));
        for (block, [upward, last]) in tree.own_covariances(node).into_iter().enumerate() {
            if !small[block] {
                continue;
            }
            batch.levels.push(level.clone());
            batch.codes.push(code.clone());
            batch.units.push(tree.nodes()[node].count as i64);
            batch.components.push(names[block].clone());
            batch.matrices[0].push(upward.as_ref());
            batch.matrices[1].push(last.as_ref());
            batch.matrices[2].push(gains.as_ref().map(|gains| &gains[block]));
            count += 1;
        }
    };
    for node in 0..tree.nodes().len() {
        if tree.nodes()[node].parent.is_none() {
            add(&mut batch, node, None);
        }
        let gains = tree.gains(node);
        for (child, gains) in tree.children(node).iter().zip(gains) {
            add(&mut batch, *child, Some(gains));
            if batch.levels.len() >= ROWS {
                std::mem::take(&mut batch).write(&mut writer)?;
            }
        }
    }
    batch.write(&mut writer)?;
    writer.close()?;
    Ok(count)
}

#[derive(Default)]
struct Batch {
    levels: Vec<ByteArray>,
    codes: Vec<ByteArray>,
    units: Vec<i64>,
    components: Vec<ByteArray>,
    matrices: [Matrices; 3],
}

/// Lists of entries that may be missing as a whole.
#[derive(Default)]
struct Matrices {
    entries: Vec<f64>,
    present: Vec<i16>,
    starts: Vec<i16>,
}

impl Matrices {
    fn push(&mut self, matrix: Option<&Matrix>) {
        let Some(matrix) = matrix else {
            self.present.push(0);
            self.starts.push(0);
            return;
        };
        for (i, entry) in matrix.entries().iter().enumerate() {
            self.entries.push(*entry);
            self.present.push(2);
            self.starts.push(i16::from(i > 0));
        }
    }
}

impl Batch {
    fn write(self, writer: &mut SerializedFileWriter<File>) -> Result<()> {
        let mut group = writer.next_row_group()?;
        write_column::<ByteArrayType, _>(&mut group, &self.levels, None, None)?;
        write_column::<ByteArrayType, _>(&mut group, &self.codes, None, None)?;
        write_column::<Int64Type, _>(&mut group, &self.units, None, None)?;
        write_column::<ByteArrayType, _>(&mut group, &self.components, None, None)?;
        for Matrices { entries, present, starts } in &self.matrices {
            write_column::<DoubleType, _>(&mut group, entries, Some(present), Some(starts))?;
        }
        group.close()?;
        Ok(())
    }
}

fn schema() -> Result<Type> {
    const REQUIRED: Repetition = Repetition::REQUIRED;
    const OPTIONAL: Repetition = Repetition::OPTIONAL;
    let text = |name: &str| field(name, PhysicalType::BYTE_ARRAY, REQUIRED);
    let matrix = |name: &str| list(name, PhysicalType::DOUBLE, OPTIONAL, REQUIRED);
    let fields = vec![
        text("level")?,
        text("geocode")?,
        field("units", PhysicalType::INT64, REQUIRED)?,
        text("component")?,
        matrix("upward")?,
        matrix("variance")?,
        matrix("gain")?,
    ];
    Type::group_type_builder("covariance").with_fields(fields).build()
}
