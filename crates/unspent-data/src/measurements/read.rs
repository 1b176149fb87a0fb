//! Measurements that are read back, and checked against their manifest.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::data_type::{DoubleType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use unspent::file::Hashed;
use unspent::{Error, ErrorKind, Result, stop};

use super::columns::{Column, Lists};
use super::{ExactMeasurements, LevelMeasurements, Measurements, QueryMeasurements};
use crate::manifest::{self, ExactEntry, FileEntry, LevelEntry, Manifest, NoiseEntry};
use crate::parquet_file::whole;

/// The columns of a file, with the type of their values and how deep these lie in lists.
const COLUMNS: [(&str, PhysicalType, i16); 6] = [
    ("geocode", PhysicalType::BYTE_ARRAY, 0),
    ("query_name", PhysicalType::BYTE_ARRAY, 0),
    ("query_shape.list.element", PhysicalType::INT32, 1),
    ("value.list.element", PhysicalType::INT64, 1),
    ("variance", PhysicalType::DOUBLE, 0),
    ("plb", PhysicalType::DOUBLE, 0),
];

/// A directory of measurements.
#[derive(Clone, Debug)]
pub struct Reader {
    directory: PathBuf,
    manifest: Manifest,
}

/// The rows of a file, column by column.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    geocodes: Vec<String>,
    names: Vec<String>,
    shapes: Lists<i32>,
    values: Lists<i64>,
    variances: Vec<f64>,
    plbs: Vec<f64>,
}

/// A row of a file: a query, asked of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'r> {
    /// The level.
    pub level: &'r str,
    /// The code of the unit.
    pub geocode: &'r str,
    /// The name of the query.
    pub query: &'r str,
    /// How many values each of its attributes has; `[1]` for a total.
    pub shape: &'r [i32],
    /// The noisy counts.
    pub values: &'r [i64],
    /// The variance of their noise.
    pub variance: f64,
    /// What they have spent.
    pub plb: f64,
}

impl Reader {
    /// Reads the manifest, and looks whether the files are those that it names.
    pub fn open(directory: &Path) -> Result<Reader> {
        let manifest = Manifest::read(directory)?;
        let reader = Reader { directory: directory.into(), manifest };
        let noisy = reader.manifest.levels.iter().map(|level| (&level.folder, &level.files));
        let exact = reader.manifest.exact.iter().map(|level| (&level.folder, &level.files));
        for (folder, files) in noisy.chain(exact) {
            let named: BTreeSet<PathBuf> =
                files.iter().map(|entry| reader.directory.join(&entry.file)).collect();
            let folder = reader.directory.join(folder);
            let entries = fs::read_dir(&folder).map_err(|error| {
                let cause = format!("{}: cannot be read: {error}", folder.display());
                Error::io(cause, error, "the manifest names it").with_kind(ErrorKind::Unreadable)
            })?;
            let measured = |path: &PathBuf| path.extension().is_some_and(|e| e == "parquet");
            let mut paths = entries.flatten().map(|entry| entry.path()).filter(measured);
            let strange = paths.find(|path| !named.contains(path));
            if let Some(strange) = strange {
                return Err(Error::stated(
                    format!("{}: is not in the manifest", strange.display()),
                    "measurements that no manifest names belong to another release",
                ));
            }
        }
        Ok(reader)
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What was released.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The files of each level, one after the other.
    pub fn files(&self) -> impl Iterator<Item = (&LevelEntry, &FileEntry)> {
        self.manifest.levels.iter().flat_map(|level| level.files.iter().map(move |file| (level, file)))
    }

    /// The rows of a file, which must be what the manifest says: every query of every unit, in order, with
    /// its shape and its noise.
    pub fn rows(&self, level: &LevelEntry, file: &FileEntry) -> Result<Rows> {
        let (name, rows) = self.read(file)?;
        rows.check(&name, level, file)?;
        Ok(rows)
    }

    /// The rows of a file of exact values, which must be what the manifest says.
    pub fn exact_rows(&self, level: &ExactEntry, file: &FileEntry) -> Result<Rows> {
        let (name, rows) = self.read(file)?;
        rows.check_exact(&name, level, file)?;
        Ok(rows)
    }

    /// The path of a file beside the manifest, which has the digest that is stated of it.
    pub(crate) fn beside(&self, name: &str) -> Result<PathBuf> {
        let known = self.manifest.files.iter().find(|file| file.name == name);
        let known = known.ok_or_else(|| {
            let manifest = self.directory.join(manifest::FILE);
            differs(&manifest.display().to_string(), &format!("does not state the SHA-256 of {name}"))
        })?;
        self.verified(name, &known.sha256)?;
        Ok(self.directory.join(name))
    }

    /// A file of the directory, if its digest is the one that the manifest states.
    fn verified(&self, name: &str, stated: &str) -> Result<File> {
        let path = self.directory.join(name);
        let shown = path.display();
        let mut hashed = Hashed::new(io::sink());
        let read = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hashed).map(|_| file));
        let file = read.map_err(|error| {
            let cause = format!("{shown}: cannot be read: {error}");
            Error::io(cause, error, "the manifest names it").with_kind(ErrorKind::Unreadable)
        })?;
        let found = hashed.sha256();
        if found != stated {
            return Err(Error::stated(
                format!("{shown}: its SHA-256 is {found}, not the {stated} that {} states", manifest::FILE),
                "it was damaged or changed after the release: copy it again from where it was released",
            ));
        }
        Ok(file)
    }

    /// What is called by its path, and its rows.
    fn read(&self, file: &FileEntry) -> Result<(String, Rows)> {
        stop::check();
        let shown = self.directory.join(&file.file).display().to_string();
        let opened = self.verified(&file.file, &file.sha256)?;
        let reader = whole(&shown, || SerializedFileReader::new(opened))?;
        // A file says of itself whether its noise is private.
        let notes = reader.metadata().file_metadata().key_value_metadata();
        let notes = notes.into_iter().flatten().filter_map(|note| Some((&*note.key, note.value.as_deref()?)));
        if private(notes) != Some(self.manifest.private.to_string()) {
            return Err(differs(&shown, "says something else of whether its noise is private"));
        }
        let rows = Rows::read(&shown, &reader)?;
        Ok((shown, rows))
    }
}

/// What a file says of whether its noise is private: in a note of its own, or with one of the fields, where
/// Spark has written it.
fn private<'n>(notes: impl Iterator<Item = (&'n str, &'n str)>) -> Option<String> {
    const NOTE: &str = "unspent.private";
    let mut of_fields = None;
    for (key, value) in notes {
        match key {
            NOTE => return Some(value.into()),
            "org.apache.spark.sql.parquet.row.metadata" => {
                let schema: serde_json::Value = serde_json::from_str(value).ok()?;
                let mut fields = schema["fields"].as_array()?.iter();
                of_fields = fields.find_map(|field| Some(field["metadata"][NOTE].as_str()?.to_string()));
            }
            _ => {}
        }
    }
    of_fields
}

impl Rows {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.geocodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.geocodes.is_empty()
    }

    /// All of them, of that level.
    pub fn iter<'r>(&'r self, level: &'r str) -> impl Iterator<Item = Row<'r>> {
        (0..self.len()).map(move |i| Row {
            level,
            geocode: &self.geocodes[i],
            query: &self.names[i],
            shape: self.shapes.get(i),
            values: self.values.get(i),
            variance: self.variances[i],
            plb: self.plbs[i],
        })
    }

    fn read(name: &str, reader: &SerializedFileReader<File>) -> Result<Rows> {
        let schema = reader.metadata().file_metadata().schema_descr();
        let fits = schema.num_columns() == COLUMNS.len()
            && schema.columns().iter().zip(COLUMNS).all(|(column, (path, physical, deep))| {
                let text =
                    physical != PhysicalType::BYTE_ARRAY || column.converted_type() == ConvertedType::UTF8;
                column.path().string() == path
                    && column.physical_type() == physical
                    && text
                    && (column.max_rep_level(), column.max_def_level()) == (deep, deep)
            });
        if !fits {
            return Err(differs(name, "does not have the columns of noisy measurements"));
        }
        let mut rows = Rows::default();
        for group in 0..reader.num_row_groups() {
            let group = whole(name, || reader.get_row_group(group))?;
            whole(name, || rows.read_group(group.as_ref()))?;
        }
        Ok(rows)
    }

    fn read_group(&mut self, group: &dyn RowGroupReader) -> parquet::errors::Result<()> {
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let row = self.len() as u64;
        Column::open(group, 0, row)?.texts(count, &mut self.geocodes)?;
        Column::open(group, 1, row)?.texts(count, &mut self.names)?;
        Column::<Int32Type>::open(group, 2, row)?.lists(count, &mut self.shapes)?;
        Column::<Int64Type>::open(group, 3, row)?.lists(count, &mut self.values)?;
        Column::<DoubleType>::open(group, 4, row)?.values(count, &mut self.variances)?;
        Column::<DoubleType>::open(group, 5, row)?.values(count, &mut self.plbs)?;
        Ok(())
    }

    fn check(&self, name: &str, level: &LevelEntry, file: &FileEntry) -> Result<()> {
        if self.len() as u64 != file.rows {
            return Err(differs(name, &format!("has {} rows; the manifest says {}", self.len(), file.rows)));
        }
        let rows: Vec<Row<'_>> = self.iter(&level.level).collect();
        let budgets = level.noises();
        for unit in rows.chunks_exact(level.queries.len().max(1)) {
            let budget = budget_of(&budgets, unit);
            for (row, query) in unit.iter().zip(&level.queries) {
                let wrong = |what: &str| Err(differs(name, &format!("query `{}`: {what}", query.query_name)));
                if row.geocode != unit[0].geocode || row.query != query.query_name {
                    return wrong("is missing for a unit, or comes in another order");
                }
                let same = row.shape.iter().map(|n| i64::from(*n));
                let said = query.query_shape.iter().map(|n| i64::from(*n));
                if !same.eq(said) || row.values.len() != query.length() {
                    return wrong("has another shape than the manifest says");
                }
                if budget.is_none() {
                    return wrong("has other noise than the manifest says");
                }
            }
        }
        Ok(())
    }
}

impl Rows {
    fn check_exact(&self, name: &str, level: &ExactEntry, file: &FileEntry) -> Result<()> {
        if self.len() as u64 != file.rows {
            return Err(differs(name, &format!("has {} rows; the manifest says {}", self.len(), file.rows)));
        }
        let rows: Vec<Row<'_>> = self.iter(&level.level).collect();
        for unit in rows.chunks_exact(level.queries.len().max(1)) {
            for (row, query) in unit.iter().zip(&level.queries) {
                let same = row.shape.iter().map(|n| i64::from(*n));
                let shape = same.eq(query.query_shape.iter().map(|n| i64::from(*n)));
                let length: usize = query.query_shape.iter().map(|n| *n as usize).product();
                let named = row.geocode == unit[0].geocode && row.query == query.query_name;
                if !named || !shape || row.values.len() != length || row.variance != 0.0 {
                    let what =
                        format!("query `{}`: is not what the manifest says is exact", query.query_name);
                    return Err(differs(name, &what));
                }
            }
        }
        Ok(())
    }
}

/// Which of a level's budgets the rows of a unit have, by their noise.
fn budget_of(budgets: &[Vec<&NoiseEntry>], unit: &[Row<'_>]) -> Option<usize> {
    let fits = |noises: &Vec<&NoiseEntry>| {
        let mut rows = unit.iter().zip(noises);
        rows.all(|(row, noise)| (row.variance, row.plb) == (noise.variance, noise.plb))
    };
    budgets.iter().position(fits)
}

impl Measurements {
    /// Reads a directory of measurements.
    pub fn read(directory: &Path) -> Result<Measurements> {
        Reader::open(directory)?.read_all()
    }
}

impl Reader {
    /// All measurements.
    pub fn read_all(&self) -> Result<Measurements> {
        let mut levels: Vec<LevelMeasurements> = vec![];
        for level in &self.manifest.levels {
            let mut codes = vec![];
            let mut queries = QueryMeasurements::of_level(level);
            self.units(level, &mut |unit, budget| {
                codes.push(unit[0].geocode.into());
                for (query, row) in queries.iter_mut().zip(unit) {
                    query.values.extend_from_slice(row.values);
                    query.noise_of.push(budget);
                }
                Ok(())
            })?;
            levels.push(LevelMeasurements { level: level.level.clone(), codes, queries });
        }
        let exact = self.read_exact()?;
        let bypassed = self.read_bypassed()?;
        Ok(Measurements { manifest: self.manifest.clone(), levels, exact, bypassed })
    }

    /// What was published exactly.
    pub fn read_exact(&self) -> Result<Vec<ExactMeasurements>> {
        let mut exact = vec![];
        for level in &self.manifest.exact {
            let (mut codes, mut values) = (vec![], vec![vec![]; level.queries.len()]);
            for file in &level.files {
                let rows = self.exact_rows(level, file)?;
                for (i, row) in rows.iter(&level.level).enumerate() {
                    let query = i % values.len();
                    values[query].extend_from_slice(row.values);
                    if query == 0 {
                        codes.push(row.geocode.into());
                    }
                }
            }
            exact.push(ExactMeasurements::new(level, codes, values));
        }
        Ok(exact)
    }

    /// Hands on the rows of each unit of a level, and which of the level's budgets it has.
    pub(super) fn units(
        &self,
        level: &LevelEntry,
        take: &mut dyn FnMut(&[Row<'_>], u16) -> Result<()>,
    ) -> Result<()> {
        level.files.iter().try_for_each(|file| self.file_units(level, file, take))
    }

    /// The same for the units of one file.
    pub(crate) fn file_units(
        &self,
        level: &LevelEntry,
        file: &FileEntry,
        take: &mut dyn FnMut(&[Row<'_>], u16) -> Result<()>,
    ) -> Result<()> {
        let budgets = level.noises();
        let rows = self.rows(level, file)?;
        let rows: Vec<Row<'_>> = rows.iter(&level.level).collect();
        for unit in rows.chunks_exact(level.queries.len().max(1)) {
            take(unit, budget_of(&budgets, unit).expect("was checked") as u16)?;
        }
        Ok(())
    }
}

/// A file that is not what the manifest says.
pub(super) fn differs(name: &str, what: &str) -> Error {
    Error::stated(
        format!("{name}: {what}"),
        "a directory of measurements is read as it was written; measure again only as one more release",
    )
}

#[cfg(test)]
mod tests {
    use super::private;

    #[test]
    fn files_say_whether_their_noise_is_private_also_those_of_spark() {
        let spark = "org.apache.spark.sql.parquet.row.metadata";
        let fields = r#"{"type":"struct","fields":[
            {"name":"geocode","type":"string","nullable":false,"metadata":{}},
            {"name":"value","type":"long","nullable":false,"metadata":{"unspent.private":"true"}}]}"#;
        let said = |notes: &[(&'static str, &'static str)]| private(notes.iter().copied());
        assert_eq!(said(&[(spark, fields)]), Some("true".into()));
        assert_eq!(said(&[(spark, fields), ("unspent.private", "false")]), Some("false".into()));
        assert_eq!(said(&[(spark, r#"{"fields":[{"metadata":{}}]}"#)]), None);
        assert_eq!(said(&[(spark, "no JSON")]), None);
        assert_eq!(said(&[("other", "true")]), None);
    }
}
