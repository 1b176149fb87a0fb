//! Whole tables as Parquet files: one row for each unit.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::parquet_file::{field, list, write_column};

/// Most cells of a table that is written in full. Of others only the counts above 0 are.
const DENSE: usize = 256;

/// How files of tables are written.
pub(super) struct TableWriter {
    cells: usize,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
}

/// Tables, column by column.
#[derive(Default)]
pub(super) struct TableRows {
    geocodes: Vec<ByteArray>,
    /// 1 at a count, 0 for a table without any.
    present: Vec<i16>,
    /// 0 at the first count of a table.
    starts: Vec<i16>,
    indices: Vec<i32>,
    counts: Vec<i64>,
}

impl TableWriter {
    /// Of tables with so many cells, with `notes` in the metadata of every file.
    pub(super) fn new(cells: usize, notes: &[(&str, String)]) -> TableWriter {
        let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).into(), value.clone())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(notes))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_column_dictionary_enabled("geocode".into(), false)
            .set_column_encoding("geocode".into(), Encoding::DELTA_BYTE_ARRAY);
        TableWriter {
            cells,
            schema: Arc::new(schema(cells).expect("a schema that is known")),
            properties: Arc::new(properties.build()),
        }
    }

    /// What the columns are, for the manifest.
    pub(super) fn columns(&self) -> Vec<String> {
        self.schema.get_fields().iter().map(|field| field.name().to_string()).collect()
    }

    /// One more row: a table by the numbers of its cells, ascending.
    pub(super) fn push(&self, rows: &mut TableRows, code: &str, table: &[(u32, i64)]) {
        rows.geocodes.push(code.into());
        let before = rows.counts.len();
        if self.cells <= DENSE {
            rows.counts.resize(before + self.cells, 0);
            table.iter().for_each(|(cell, count)| rows.counts[before + *cell as usize] = *count);
        } else {
            rows.indices.extend(table.iter().map(|(cell, _)| cell.cast_signed()));
            rows.counts.extend(table.iter().map(|(_, count)| *count));
        }
        let more = rows.counts.len() - before;
        // An empty list has a place too.
        for at in 0..more.max(1) {
            rows.starts.push(i16::from(at > 0));
            rows.present.push(i16::from(more > 0));
        }
    }

    /// Writes rows as all of a new file; returns how many there are.
    pub(super) fn write(&self, file: impl Write + Send, rows: &TableRows) -> Result<u64> {
        let mut writer = SerializedFileWriter::new(file, self.schema.clone(), self.properties.clone())?;
        let mut group = writer.next_row_group()?;
        write_column::<ByteArrayType, _>(&mut group, &rows.geocodes, None, None)?;
        let (present, starts) = (Some(&rows.present[..]), Some(&rows.starts[..]));
        if self.cells > DENSE {
            write_column::<Int32Type, _>(&mut group, &rows.indices, present, starts)?;
        }
        write_column::<Int64Type, _>(&mut group, &rows.counts, present, starts)?;
        group.close()?;
        writer.close()?;
        Ok(rows.geocodes.len() as u64)
    }
}

fn schema(cells: usize) -> Result<Type> {
    const REQUIRED: Repetition = Repetition::REQUIRED;
    let mut fields = vec![field("geocode", PhysicalType::BYTE_ARRAY, REQUIRED)?];
    if cells <= DENSE {
        fields.push(list("values", PhysicalType::INT64, REQUIRED, REQUIRED)?);
    } else {
        fields.push(list("index", PhysicalType::INT32, REQUIRED, REQUIRED)?);
        fields.push(list("count", PhysicalType::INT64, REQUIRED, REQUIRED)?);
    }
    Type::group_type_builder("table").with_fields(fields).build()
}
