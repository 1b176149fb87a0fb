//! Tables, row by row: CSV or Parquet as large as they like, or columns in memory.
//!
//! A row has codes, which say what unit it is; values of attributes; and counts. All of it may be
//! confidential: an error names the row and the column, and shows a value only if it is
//! [revealed](Error::revealed).
//!
//! ```text
//! CSV, packed or not ─────────────────────▶ rows
//! Parquet ─▶ columns, some rows at a time ─▶ rows
//! memory ──▶ the same, nothing copied ─────▶ rows
//! ```

mod batch;
mod columns;
pub mod count;
mod csv;
mod packed;
mod parquet;
mod places;
#[cfg(test)]
mod tests;
mod values;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use unspent::file::stdin;
use unspent::schema::Schema;
use unspent::{Allocation, Error, ErrorKind, Result};

pub use self::columns::Columns;
use self::places::{Names, Places};
pub use self::values::{Chunk, Content, Integers, Shared, Values};
use crate::progress::Progress;

/// A row, in the order in which its columns are [wanted](Wanted).
#[derive(Clone, Copy)]
pub struct Row<'r> {
    /// What unit it is. None is missing, but one may be an empty text.
    pub codes: &'r [&'r str],
    /// Values of attributes. One that is missing is an empty text.
    pub values: &'r [&'r str],
    /// Counts, none of them negative.
    pub counts: &'r [i64],
}

/// Takes a row.
pub type TakeRow<'r> = dyn FnMut(Row<'_>) -> Result<()> + 'r;

/// Where the rows of a table come from.
#[derive(Clone)]
pub enum Input {
    /// A file: Parquet if its name ends so, CSV otherwise, which gzip may have packed.
    File(PathBuf),
    /// CSV from the standard input, which gzip may have packed.
    Stdin,
    /// Memory.
    Columns(Columns),
}

impl Input {
    /// What the table is called, without its path.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Input::File(path) => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            other => other.shown(),
        }
    }

    /// What messages call it.
    fn shown(&self) -> String {
        match self {
            Input::File(path) => path.display().to_string(),
            Input::Stdin => "stdin".into(),
            Input::Columns(_) => "table".into(),
        }
    }

    /// How it is read: as was said, as the allocation says, or as a file beside the table says that is called
    /// like it. Nothing if none of them says so.
    pub fn schema(&self, given: Option<Schema>, allocation: Option<&Allocation>) -> Result<Option<Schema>> {
        if given.is_some() {
            return Ok(given);
        }
        let ours = allocation.and_then(Allocation::schema).cloned();
        // A shipped schema has no more than a usual layout.
        if ours.as_ref().is_some_and(|schema| schema.layout().is_some() && !schema.is_shipped()) {
            return Ok(ours);
        }
        let Input::File(path) = self else { return Ok(ours) };
        let packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
        let beside =
            if packed { path.with_extension("").with_extension("toml") } else { path.with_extension("toml") };
        if !beside.is_file() {
            return Ok(ours);
        }
        let beside = Schema::read(&beside)?;
        Ok(Some(ours.unwrap_or_default().overlaid(beside)))
    }

    /// The same, where nothing can be done without. Fails with [`ErrorKind::NoTable`].
    pub fn needed_schema(&self, given: Option<Schema>, allocation: Option<&Allocation>) -> Result<Schema> {
        self.schema(given, allocation)?.ok_or_else(|| self.no_layout())
    }

    /// Nothing says how it is read.
    pub(crate) fn no_layout(&self) -> Error {
        Error::of_kind(
            ErrorKind::NoTable,
            format!("{}: nothing says how the table is read", self.shown()),
            "give a schema, or put a file with a [table] beside it; examples/blocks.toml is an example",
        )
    }
}

/// The columns that are read, in the order in which rows give them.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    /// Those with codes.
    pub codes: &'w [String],
    /// Those with values of attributes: texts, or integers, which are passed on as their digits.
    pub values: &'w [String],
    /// Those with counts.
    pub counts: &'w [String],
}

/// A table that was opened and has all the columns that are wanted.
pub struct Table {
    name: String,
    kind: Kind,
}

enum Kind {
    Csv(csv::Csv),
    Parquet(parquet::Parquet),
    Columns(Columns, Places),
}

impl Table {
    /// Opens a table.
    pub fn open(input: Input, wanted: Wanted<'_>) -> Result<Table> {
        let name = input.shown();
        let kind = match input {
            Input::Stdin => {
                let stdin = stdin().map_err(|error| {
                    Error::io(format!("{name}: cannot be read: {error}"), error, "name a file")
                })?;
                Kind::Csv(csv::Csv::new(&name, stdin, None, wanted)?)
            }
            Input::File(path) => Kind::of_file(&name, &path, wanted)?,
            Input::Columns(columns) => {
                let places = Places::find(&name, columns.names(), Names::Format, wanted)?;
                columns.check(&name, &places)?;
                Kind::Columns(columns, places)
            }
        };
        Ok(Table { name, kind })
    }

    /// Gives every row to `row`, whose objections get the row's place.
    pub fn rows(self, progress: &mut dyn Progress, row: &mut TakeRow<'_>) -> Result<()> {
        match self.kind {
            Kind::Csv(csv) => csv.rows(&self.name, progress, row),
            Kind::Parquet(parquet) => parquet.rows(&self.name, progress, row),
            Kind::Columns(columns, places) => columns.rows(&self.name, &places, progress, row),
        }
    }
}

impl Kind {
    fn of_file(name: &str, path: &Path, wanted: Wanted<'_>) -> Result<Kind> {
        let failed = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => "check the path",
                io::ErrorKind::PermissionDenied => "check that you may read it",
                _ => "check that it is a file that can be read",
            };
            Error::io(format!("{name}: cannot be read: {error}"), error, hint)
                .with_kind(ErrorKind::Unreadable)
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::stated(format!("{name}: is a directory"), "name a table: CSV or Parquet"));
        }
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet")) {
            return Ok(Kind::Parquet(parquet::Parquet::new(name, file, wanted)?));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Kind::Csv(csv::Csv::new(name, file, bytes, wanted)?))
    }
}
