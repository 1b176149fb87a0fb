//! `unspent measure`: a table of counts becomes noisy measurements.

use std::path::Path;

use clap::Args;
use unspent::schema::Rows;
use unspent::{Delta, Error, ErrorKind, Neighbours};
use unspent_data::{BypassRule, Measure, RowOrder, UnitList};

use crate::noise::NoiseArguments;
use crate::output;
use crate::progress::Progress;
use crate::terminal;
use crate::values::Values;
use crate::{Failure, source};

/// What a row of the table is, and which units there are.
#[derive(Args)]
pub struct RowArguments {
    /// The list of all units of the smallest level, also of those with nobody in them: CSV or Parquet
    ///
    /// Which units there are is public: it must not depend on the records. It has the table's columns of
    /// codes.
    #[arg(long, value_name = "FILE", conflicts_with = "units_of_table")]
    units: Option<String>,

    /// The units are those of the table, which has a row for every unit with nobody in it too
    #[arg(long)]
    units_of_table: bool,

    /// The column of --units that says how many records each unit has, to be checked; it is not published
    #[arg(long, value_name = "COLUMN", requires = "units")]
    check_total: Option<String>,

    /// A row is a combination of values, and this column says how many records have it
    #[arg(long, value_name = "COLUMN", conflicts_with = "id")]
    count: Option<String>,

    /// A row is a record, and this column has a number of its own for each: a record that comes twice is
    /// refused
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,

    /// The rows come in the order of --units: memory holds one unit at a time
    #[arg(long, requires = "units")]
    sorted: bool,
}

impl RowArguments {
    fn rows(&self) -> Option<Rows> {
        let count = self.count.clone().map(Rows::Counts);
        count.or_else(|| self.id.clone().map(|id| Rows::Records(Some(id))))
    }

    fn order(&self) -> RowOrder {
        if self.sorted { RowOrder::Sorted } else { RowOrder::Any }
    }

    fn units(&self) -> UnitList {
        match &self.units {
            Some(list) => UnitList::List(source::table(list)),
            None if self.units_of_table => UnitList::Table,
            None => UnitList::Rows,
        }
    }
}

/// How it is known which units are bypassed.
pub fn bypass(text: &str) -> Result<BypassRule, Error> {
    Ok(match (text, text.strip_prefix("column:")) {
        ("none", _) => BypassRule::None,
        ("only-children", _) => BypassRule::OnlyChildren,
        (_, Some(column)) => BypassRule::Column(column.into()),
        (file, None) if Path::new(file).is_file() => BypassRule::List(source::table(file)),
        (other, None) => {
            let allowed = "none, only-children, column:NAME, or a file with the columns level and code";
            return Err(Error::input("--bypass", other, allowed, "check the spelling, or the path"));
        }
    })
}

/// Adds exact discrete Gaussian noise to a table of counts, as an allocation says.
///
/// Every query of the allocation is tabulated at each of its levels and gets its noise. Writes a
/// directory with one folder of Parquet files for each level (geocode, query_name, query_shape,
/// value, variance, plb), manifest.json, the allocation, and the certificate of what was released. It
/// appears whole or not at all.
///
/// The noise is from a key of the operating system that is used once and forgotten. Measuring the
/// same records again spends the same budget again.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
The table has a row for each record (its code, and a value of each attribute), or for each
combination of values with a count (--count), or for each smallest unit with a column for every
cell. The schema of the allocation, or [table] of --schema, says which; examples/blocks.toml
explains it. Records and counts may come in any order and need --units: the list of all smallest
units, also of those with nobody in them. Rows that are units come sorted by their codes. Columns
are separated by commas, semicolons or tabs; a file may be packed with gzip.

A unit that is bypassed is not measured, and its budget goes to the unit above: with --units, the
only children of their parents are where the allocation has a [bypass]. bypassed.csv lists such
units (level, geocode); it depends on the list of units alone, and on no record.

Examples:
  unspent measure examples/blocks.csv --allocation examples/blocks.toml --out noisy
  unspent measure people.parquet --allocation pl94-persons-us-2020 --units blocks.csv --out noisy
  unspent measure counts.csv --count people --units-of-table --allocation a.toml --out noisy
  generate | unspent measure - --sorted --units blocks.csv --allocation a.toml --out noisy"
)]
pub struct Arguments {
    /// The table: CSV, or Parquet (.parquet); - reads CSV from stdin
    #[arg(value_name = "TABLE")]
    table: String,

    /// A preset or an allocation file
    #[arg(long, value_name = "PRESET|FILE")]
    allocation: String,

    /// For a table of budgets (.csv): bounded or add-remove
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// A file whose [table] says how the table is read
    ///
    /// The allocation's own unless given, or that of a file beside the table (blocks.toml).
    #[arg(long, value_name = "FILE.toml")]
    schema: Option<String>,

    #[command(flatten)]
    rows: RowArguments,

    /// Which units are bypassed: none, only-children, column:NAME of --units, or a list (level, code)
    ///
    /// With --units and an allocation that has a [bypass] the only children of their parents are, as in
    /// the production system of 2020. Otherwise none is.
    #[arg(long, value_name = "RULE|FILE")]
    bypass: Option<String>,

    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: String,

    /// The delta of the certificate; that of the allocation unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// Measures although the epsilon that the allocation states is not kept
    #[arg(long)]
    break_promise: bool,

    #[command(flatten)]
    values: Values,

    #[command(flatten)]
    noise: NoiseArguments,
}

impl Arguments {
    /// Checks, measures and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        if self.table == "-" && self.rows.units.as_deref() == Some("-") {
            let hint = "give one of them as a file";
            return Err(Failure::usage("the table and the list of units cannot both come from stdin", hint));
        }
        // If the two were swapped, a message about the allocation would quote the table.
        if self.table.ends_with(".toml") {
            return Err(Failure::usage(
                format!("TABLE: `{}` is a TOML file, not a table", self.table),
                "the table is CSV or Parquet; the allocation is named with --allocation",
            ));
        }
        let measure = Measure {
            schema: source::schema(self.schema.as_deref())?,
            rows: self.rows.rows(),
            order: self.rows.order(),
            units: self.rows.units(),
            check_total: self.rows.check_total.clone(),
            bypass: self.bypass.as_deref().map(bypass).transpose()?,
            delta: self.delta.as_deref().map(Delta::parse).transpose()?,
            noise: self.noise.source()?,
            threads: self.noise.threads()?,
            break_promise: self.break_promise,
            ..Measure::new(source::table(&self.table), source::allocation(&self.allocation, neighbours)?)
        };
        let mut progress = Progress::new();
        let measured = self.values.hiding(|| measure.to_directory(Path::new(&self.out), &mut progress));
        drop(progress);
        let measured = measured.map_err(|error| self.failure(error))?;
        // What was released is spent, whoever reads of it.
        output::confirm(&terminal::shown(&measured.document())).map_err(|failure| Failure {
            hint: format!("the measurements were released all the same, in {}", measured.path.display()),
            ..failure
        })
    }

    /// What the library says, in the command's words.
    fn failure(&self, error: Error) -> Failure {
        match error.kind() {
            ErrorKind::Output => self.values.failure(error).at("--out"),
            _ => self.values.failure(error),
        }
    }
}
