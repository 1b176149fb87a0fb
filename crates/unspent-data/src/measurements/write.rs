//! Measurements as files, a folder for each level.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use unspent::Allocation;

use crate::directory::{self, Folder};
use crate::manifest::{self, ExactEntry, FileEntry, LevelEntry};
use crate::parquet_file::{field, list, write_column};
use crate::part::write_part;
use crate::plan::{Plan, PlannedLevel, PlannedQuery};
use crate::run::Sink;
use crate::tabulation::NoisyBatch;

/// Folders of files that are being written.
pub(crate) struct Files<'f> {
    plan: &'f Plan,
    /// What they are called in the end.
    target: &'f Path,
    /// One for each level.
    noisy: Vec<LevelFiles>,
    /// One for each level of which something is published exactly.
    exact: Vec<Option<LevelFiles>>,
    writer: Writer,
}

/// The files of a level.
struct LevelFiles {
    /// The name of the folder.
    name: String,
    folder: Folder,
    written: Mutex<Written>,
}

/// What was written of a level.
struct Written {
    /// By their numbers.
    files: Vec<Option<FileEntry>>,
    /// The units of each budget.
    units: Vec<u64>,
}

impl LevelFiles {
    fn files(&self) -> Vec<FileEntry> {
        self.written.lock().expect("not poisoned").files.iter().flatten().cloned().collect()
    }
}

impl<'f> Files<'f> {
    /// Makes the folders. Every file says whose noise it has, and `warning` if that is not private.
    pub(crate) fn new(
        plan: &'f Plan,
        target: &'f Path,
        unfinished: &Folder,
        allocation: &Allocation,
        warning: Option<&str>,
    ) -> unspent::Result<Files<'f>> {
        let files = |name: String, level: &PlannedLevel| {
            let folder = unfinished.create_folder(&name).map_err(|e| directory::failed(target, e))?;
            let written = Written { files: vec![], units: vec![0; level.budgets.len()] };
            Ok(LevelFiles { name, folder, written: Mutex::new(written) })
        };
        let (mut noisy, mut exact) = (vec![], vec![]);
        for (level, name) in plan.levels().iter().zip(manifest::folders(plan)) {
            let is_exact = !level.exact.is_empty();
            exact.push(is_exact.then(|| files(format!("exact-{name}"), level)).transpose()?);
            noisy.push(files(name, level)?);
        }
        let mut notes = notes(allocation.name());
        notes.push(("unspent.private".into(), warning.is_none().to_string()));
        notes.extend(warning.map(|warning| ("unspent.warning".into(), warning.into())));
        Ok(Files { plan, target, noisy, exact, writer: Writer::new(&notes) })
    }

    /// What the manifest says of them.
    pub(crate) fn entries(&self) -> (Vec<LevelEntry>, Vec<ExactEntry>) {
        let (mut noisy, mut exact) = (vec![], vec![]);
        for (i, level) in self.plan.levels().iter().enumerate() {
            let files = &self.noisy[i];
            let units = files.written.lock().expect("not poisoned").units.clone();
            noisy.push(LevelEntry::new(level, files.name.clone(), &units, files.files()));
            if let Some(files) = &self.exact[i] {
                let units = files.files().iter().map(|file| file.units).sum();
                exact.push(ExactEntry::new(level, files.name.clone(), units, files.files()));
            }
        }
        (noisy, exact)
    }
}

impl Sink for Files<'_> {
    /// Writes the batch as a file of its own.
    fn put(&self, batch: NoisyBatch, part: usize) -> unspent::Result<()> {
        let files = match batch.exact {
            false => &self.noisy[batch.level],
            true => self.exact[batch.level].as_ref().expect("something is exact"),
        };
        #[cfg(debug_assertions)]
        crate::panics::injected(&files.name);
        let (folder, units) = ((&files.folder, &*files.name), batch.codes.len() as u64);
        let write = |file: &mut _| self.writer.write(file, self.plan, &batch);
        let entry = write_part(self.target, folder, part, units, write)?;
        let mut written = files.written.lock().expect("not poisoned");
        if written.files.len() <= part {
            written.files.resize(part + 1, None);
        }
        written.files[part] = Some(entry);
        batch.budgets.iter().for_each(|budget| written.units[usize::from(*budget)] += 1);
        Ok(())
    }
}

/// What files of measurements of an allocation say of themselves, whoever writes them.
pub(crate) fn notes(allocation: &str) -> Vec<(String, String)> {
    let notes = [("unspent.version", env!("CARGO_PKG_VERSION")), ("unspent.allocation", allocation)];
    notes.map(|(key, value)| (key.into(), value.into())).into()
}

/// How files of measurements are written.
struct Writer {
    schema: TypePtr,
    properties: WriterPropertiesPtr,
}

impl Writer {
    /// With `notes` in the metadata of every file.
    fn new(notes: &[(String, String)]) -> Writer {
        let notes = notes.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let value = ColumnPath::from(["value", "list", "element"].map(String::from).to_vec());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(notes))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            // Noisy counts are small and repeat little: differences in a few bits each.
            .set_column_dictionary_enabled(value.clone(), false)
            .set_column_encoding(value, Encoding::DELTA_BINARY_PACKED)
            // Codes begin like the code before.
            .set_column_dictionary_enabled("geocode".into(), false)
            .set_column_encoding("geocode".into(), Encoding::DELTA_BYTE_ARRAY);
        Writer {
            schema: Arc::new(schema().expect("a schema that is known")),
            properties: Arc::new(properties.build()),
        }
    }

    /// Writes a batch as all of a new file; returns its number of rows.
    fn write(&self, file: impl Write + Send, plan: &Plan, batch: &NoisyBatch) -> Result<u64> {
        let level = &plan.levels()[batch.level];
        let queries = if batch.exact { &level.exact } else { &level.queries };
        let rows = || {
            batch
                .codes
                .iter()
                .enumerate()
                .flat_map(|(unit, _)| queries.iter().zip(&batch.values).map(move |q| (unit, q)))
        };
        let mut writer = SerializedFileWriter::new(file, self.schema.clone(), self.properties.clone())?;
        let mut group = writer.next_row_group()?;

        let codes: Vec<ByteArray> = batch.codes.iter().map(|code| code.as_str().into()).collect();
        write_column::<ByteArrayType, _>(
            &mut group,
            &rows().map(|(unit, _)| codes[unit].clone()).collect::<Vec<_>>(),
            None,
            None,
        )?;
        let names: Vec<ByteArray> = queries.iter().map(|query| query.name.as_str().into()).collect();
        let names: Vec<ByteArray> = batch.codes.iter().flat_map(|_| names.iter().cloned()).collect();
        write_column::<ByteArrayType, _>(&mut group, &names, None, None)?;
        let mut shapes = Lists::default();
        rows().for_each(|(_, (query, _))| shapes.push(query.shape.iter().map(|n| n.cast_signed())));
        shapes.write::<Int32Type, _>(&mut group)?;
        let mut values = Lists::default();
        rows().for_each(|(unit, (query, values_of))| {
            let length = query.length();
            values.push(values_of[unit * length..][..length].iter().copied());
        });
        values.write::<Int64Type, _>(&mut group)?;
        // What is exact has no noise.
        let noise = |unit: usize, query: &PlannedQuery| {
            query.noises.get(usize::from(batch.budgets[unit])).map_or((0.0, 0.0), |n| (n.variance, n.plb))
        };
        let variances = rows().map(|(unit, (query, _))| noise(unit, query).0);
        write_column::<DoubleType, _>(&mut group, &variances.collect::<Vec<_>>(), None, None)?;
        let plbs = rows().map(|(unit, (query, _))| noise(unit, query).1);
        write_column::<DoubleType, _>(&mut group, &plbs.collect::<Vec<_>>(), None, None)?;
        group.close()?;
        writer.close()?;
        Ok((batch.codes.len() * queries.len()) as u64)
    }
}

fn schema() -> Result<Type> {
    let field = |name: &str, of| field(name, of, Repetition::REQUIRED);
    let list = |name: &str, of| list(name, of, Repetition::REQUIRED, Repetition::REQUIRED);
    let fields = vec![
        field("geocode", PhysicalType::BYTE_ARRAY)?,
        field("query_name", PhysicalType::BYTE_ARRAY)?,
        list("query_shape", PhysicalType::INT32)?,
        list("value", PhysicalType::INT64)?,
        field("variance", PhysicalType::DOUBLE)?,
        field("plb", PhysicalType::DOUBLE)?,
    ];
    Type::group_type_builder("measurement").with_fields(fields).build()
}

/// Lists that are not empty, as Parquet has them: all items, and where a list begins.
struct Lists<T> {
    items: Vec<T>,
    /// 0 for the first item of a list, 1 for the others.
    repetitions: Vec<i16>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { items: vec![], repetitions: vec![] }
    }
}

impl<T> Lists<T> {
    fn push(&mut self, items: impl Iterator<Item = T>) {
        let start = self.items.len();
        self.items.extend(items);
        self.repetitions.resize(self.items.len(), 1);
        self.repetitions[start] = 0;
    }

    fn write<P, W>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()>
    where
        P: DataType<T = T>,
        W: Write + Send,
    {
        let present = vec![1; self.items.len()];
        write_column::<P, _>(group, &self.items, Some(&present), Some(&self.repetitions))
    }
}
