//! Files that are written row by row.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::synthesize::push_number;

/// Bytes of CSV that are written at a time.
const CHUNK: usize = 1 << 16;

/// A CSV file.
pub(super) struct CsvFile {
    file: File,
    text: Vec<u8>,
}

impl CsvFile {
    /// With these heads.
    pub(super) fn new<'h>(file: File, heads: impl Iterator<Item = &'h str>) -> io::Result<CsvFile> {
        let mut text = vec![];
        for (i, head) in heads.enumerate() {
            if i > 0 {
                text.push(b',');
            }
            push_field(&mut text, head);
        }
        let mut csv = CsvFile { file, text: vec![] };
        csv.line(&text)?;
        Ok(csv)
    }

    /// One more line.
    pub(super) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.write_from(CHUNK)
    }

    /// One more line: a text and numbers.
    pub(super) fn row(&mut self, text: &str, numbers: &[i64]) -> io::Result<()> {
        push_field(&mut self.text, text);
        for number in numbers {
            self.text.push(b',');
            if *number < 0 {
                self.text.push(b'-');
            }
            push_number(&mut self.text, number.unsigned_abs());
        }
        self.line(&[])
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write_from(0)
    }

    /// Writes what there is, if it is at least so many bytes.
    fn write_from(&mut self, bytes: usize) -> io::Result<()> {
        if self.text.len() >= bytes {
            self.file.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// Adds a field, in quotes if it needs them. Codes stay as they are, so that they can be read back.
pub(super) fn push_field(text: &mut Vec<u8>, field: &str) {
    if field.contains([',', '"', '\n', '\r']) {
        text.extend_from_slice(format!("\"{}\"", field.replace('"', "\"\"")).as_bytes());
    } else {
        text.extend_from_slice(field.as_bytes());
    }
}

/// A Parquet file with notes.
pub(super) fn open_parquet(
    file: File,
    fields: Vec<TypePtr>,
    properties: WriterPropertiesBuilder,
    notes: &[(&str, String)],
) -> parquet::errors::Result<SerializedFileWriter<File>> {
    let schema = Type::group_type_builder("unspent").with_fields(fields).build()?;
    let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).into(), value.clone()));
    let properties = properties
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(notes.collect()));
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
}
