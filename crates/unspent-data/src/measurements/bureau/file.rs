//! A file of a dataset: its columns by name, its rows some at a time.

use std::fs::File;
use std::path::Path;

use parquet::basic::Type as PhysicalType;
use parquet::data_type::{ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use unspent::{Error, ErrorKind, Result, stop};

use super::super::columns::{Column, Lists};
use super::Part;
use crate::parquet_file::{Kind, kind_of, shown_kind, whole};

/// About so many values are read at a time.
const VALUES: usize = 1 << 20;

/// A file that was opened.
pub(super) struct BureauFile {
    /// Its path, for messages.
    pub(super) name: String,
    reader: SerializedFileReader<File>,
}

/// Where the columns are.
struct Places {
    geocode: usize,
    query_name: usize,
    query_shape: usize,
    value: usize,
    variance: usize,
    sign: Option<usize>,
}

/// Some rows of a file, column by column.
#[derive(Default)]
pub(super) struct Batch {
    /// How many rows of the file come before.
    pub(super) before: u64,
    pub(super) geocodes: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) shapes: Lists<i64>,
    pub(super) values: Lists<i64>,
    pub(super) variances: Vec<f64>,
    /// None in files of noisy answers.
    pub(super) signs: Vec<String>,
}

impl BureauFile {
    pub(super) fn open(path: &Path) -> Result<BureauFile> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            let cause = format!("{name}: cannot be read: {error}");
            Error::io(cause, error, "check its permissions").with_kind(ErrorKind::Unreadable)
        })?;
        let reader = whole(&name, || SerializedFileReader::new(file))?;
        Ok(BureauFile { name, reader })
    }

    /// The names of its columns.
    pub(super) fn columns(&self) -> Vec<&str> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema.root_schema().get_fields().iter().map(|field| field.name()).collect()
    }

    /// Hands on all rows, some at a time. The columns of `attributes` may be missing.
    pub(super) fn batches(
        &self,
        part: Part,
        attributes: &[&str],
        take: &mut dyn FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        let places = self.places(part, attributes)?;
        let mut before = 0;
        for group in 0..self.reader.num_row_groups() {
            let group = whole(&self.name, || self.reader.get_row_group(group))?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let values = usize::try_from(group.metadata().column(places.value).num_values()).unwrap_or(0);
            // Rows differ in length: those of a unit are together, or those of a query.
            let most = (VALUES / (values / rows.max(1)).max(1)).max(1);
            let mut columns = whole(&self.name, || Columns::open(group.as_ref(), &places, before))?;
            let mut left = rows;
            while left > 0 {
                stop::check();
                let some = left.min(most);
                let mut batch = whole(&self.name, || columns.read(some))?;
                batch.before = before;
                take(&batch)?;
                before += some as u64;
                left -= some;
            }
        }
        Ok(())
    }

    fn places(&self, part: Part, attributes: &[&str]) -> Result<Places> {
        let text = |name| self.place(name, 0, Kind::Texts, "texts");
        let need = |name: &str, found: Option<usize>| {
            found.ok_or_else(|| {
                let sign = if part == Part::Constraint { ", sign" } else { "" };
                Error::stated(
                    format!("{}: has no column `{name}`", self.name),
                    format!("needed are geocode, query_name, query_shape, value, variance{sign}"),
                )
            })
        };
        for attribute in attributes {
            text(attribute)?;
        }
        let lists = |name| self.place(name, 1, Kind::Integers, "lists of integers");
        Ok(Places {
            geocode: need("geocode", text("geocode")?)?,
            query_name: need("query_name", text("query_name")?)?,
            query_shape: need("query_shape", lists("query_shape")?)?,
            value: need("value", lists("value")?)?,
            variance: need("variance", self.place("variance", 0, Kind::Reals, "FLOAT or DOUBLE")?)?,
            sign: match part {
                Part::Noisy => None,
                Part::Constraint => Some(need("sign", text("sign")?)?),
            },
        })
    }

    /// Where the values of a column are, which must be of this kind and so deep in lists, if it is there.
    fn place(&self, name: &str, deep: i16, kind: Kind, what: &str) -> Result<Option<usize>> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let is_of = |at: &usize| schema.get_column_root(*at).name() == name;
        let places: Vec<usize> = (0..schema.num_columns()).filter(is_of).collect();
        let Some(first) = places.first() else { return Ok(None) };
        let column = schema.column(*first);
        if places.len() == 1 && column.max_rep_level() == deep && kind_of(&column) == Some(kind) {
            return Ok(Some(*first));
        }
        let found = match (places.len(), column.max_rep_level()) {
            (1, 0) => shown_kind(&column),
            (1, 1) => format!("lists of {}", shown_kind(&column)),
            _ => "a structure".into(),
        };
        Err(Error::stated(
            format!("{}: column `{name}` is of {found}, not of {what}", self.name),
            "noisy measurement files have it so; a file with other columns is no such file",
        ))
    }
}

/// The columns of a row group.
struct Columns {
    geocode: Column<ByteArrayType>,
    query_name: Column<ByteArrayType>,
    query_shape: Integers,
    value: Integers,
    variance: Reals,
    sign: Option<Column<ByteArrayType>>,
}

enum Integers {
    Short(Column<Int32Type>),
    Long(Column<Int64Type>),
}

enum Reals {
    Short(Column<FloatType>),
    Long(Column<DoubleType>),
}

impl Columns {
    fn open(group: &dyn RowGroupReader, places: &Places, row: u64) -> parquet::errors::Result<Columns> {
        let schema = group.metadata().schema_descr_ptr();
        let physical = |at: usize| schema.column(at).physical_type();
        let integers = |at: usize| {
            Ok::<_, parquet::errors::ParquetError>(match physical(at) {
                PhysicalType::INT32 => Integers::Short(Column::open(group, at, row)?),
                _ => Integers::Long(Column::open(group, at, row)?),
            })
        };
        Ok(Columns {
            geocode: Column::open(group, places.geocode, row)?,
            query_name: Column::open(group, places.query_name, row)?,
            query_shape: integers(places.query_shape)?,
            value: integers(places.value)?,
            variance: match physical(places.variance) {
                PhysicalType::FLOAT => Reals::Short(Column::open(group, places.variance, row)?),
                _ => Reals::Long(Column::open(group, places.variance, row)?),
            },
            sign: places.sign.map(|at| Column::open(group, at, row)).transpose()?,
        })
    }

    fn read(&mut self, count: usize) -> parquet::errors::Result<Batch> {
        let mut batch = Batch::default();
        self.geocode.texts(count, &mut batch.geocodes)?;
        self.query_name.texts(count, &mut batch.names)?;
        batch.shapes = self.query_shape.read(count)?;
        batch.values = self.value.read(count)?;
        batch.variances = self.variance.read(count)?;
        if let Some(sign) = &mut self.sign {
            sign.texts(count, &mut batch.signs)?;
        }
        Ok(batch)
    }
}

impl Integers {
    fn read(&mut self, count: usize) -> parquet::errors::Result<Lists<i64>> {
        match self {
            Integers::Short(column) => {
                let mut lists = Lists::default();
                column.lists(count, &mut lists)?;
                Ok(lists.map(i64::from))
            }
            Integers::Long(column) => {
                let mut lists = Lists::default();
                column.lists(count, &mut lists)?;
                Ok(lists)
            }
        }
    }
}

impl Reals {
    fn read(&mut self, count: usize) -> parquet::errors::Result<Vec<f64>> {
        match self {
            Reals::Short(column) => {
                let mut values = vec![];
                column.values(count, &mut values)?;
                Ok(values.into_iter().map(f64::from).collect())
            }
            Reals::Long(column) => {
                let mut values = vec![];
                column.values(count, &mut values)?;
                Ok(values)
            }
        }
    }
}
