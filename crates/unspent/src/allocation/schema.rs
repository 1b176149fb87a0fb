//! How a table of counts is read: which columns make the cells, and how codes nest into units.

/// How the columns of a table make geographic units and cells.
///
/// ```
/// use unspent::allocation::Schema;
/// let schema = Schema::parse("schema.toml", r#"
///     [table]
///     code = "geoid"
///     cells = [{ age = "child", column = "pop", minus = "adults" }, { age = "adult", column = "adults" }]
///     [table.levels]
///     County = 5
///     Tract = 11
///     [table.attributes]
///     age = ["child", "adult"]
/// "#)?;
/// assert_eq!(schema.levels().len(), 2);
/// assert_eq!(schema.cells()[0].minus, ["adults"]);
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    pub(crate) code: Option<String>,
    pub(crate) levels: Vec<UnitLevel>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) cells: Vec<Cell>,
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

/// What is known of a record, and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name, as in the allocation.
    pub name: String,
    /// In the order of the cells.
    pub values: Vec<String>,
}

/// A cell: a column, less some others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The column.
    pub column: String,
    /// What to subtract from it.
    pub minus: Vec<String>,
}

impl Schema {
    /// The column of the code of which levels take the first characters.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// From the largest areas to the smallest; a unit of the last is a row.
    #[must_use]
    pub fn levels(&self) -> &[UnitLevel] {
        &self.levels
    }

    /// What is known of a record.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// One for each combination of values, those of the last attribute changing fastest.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }
}
