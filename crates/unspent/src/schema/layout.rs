//! How a table is read: which columns it has, and how codes nest into geographic units.

use std::collections::BTreeMap;

/// How the rows of a table make geographic units and cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) code: Option<String>,
    pub(crate) levels: Vec<UnitLevel>,
    pub(crate) rows: Rows,
    pub(crate) columns: BTreeMap<String, String>,
}

/// What a row of a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A unit of the last level, with one column or difference of columns for each cell: one for each
    /// combination of values, those of the last attribute changing fastest.
    Units(Vec<Cell>),
    /// A combination of values in a unit of the last level, and in this column how many records have it.
    Counts(String),
    /// A record; the column with a number of its own for each, if there is one.
    Records(Option<String>),
}

/// A geographic level of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitLevel {
    /// Its name, as in the allocation.
    pub name: String,
    /// Where the code of its units is.
    pub code: Code,
}

/// Where the code of a unit is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// So many characters of the row's code; none for the whole table.
    Prefix(usize),
    /// In these columns, joined with hyphens if there are several.
    Columns(Vec<String>),
}

/// A cell: a column, less some others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The column.
    pub column: String,
    /// What to subtract from it.
    pub minus: Vec<String>,
}

impl Layout {
    /// The column of the code of which levels take the first characters.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// From the largest areas to the smallest.
    #[must_use]
    pub fn levels(&self) -> &[UnitLevel] {
        &self.levels
    }

    /// What a row is.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The same for a table whose rows are these.
    #[must_use]
    pub fn with_rows(mut self, rows: Rows) -> Layout {
        self.rows = rows;
        self
    }

    /// The column with the values of that attribute: called like it, unless the file says otherwise.
    #[must_use]
    pub fn column<'l>(&'l self, attribute: &'l str) -> &'l str {
        self.columns.get(attribute).map_or(attribute, String::as_str)
    }
}
