//! A plan as plain data, for programs that add counts up by unit.

use std::collections::BTreeMap;

use serde::Serialize;
use unspent::Rational;
use unspent::schema::{Rows, UnitLevel};

use crate::approval::Approved;
use crate::manifest;
use crate::measurements::notes;
use crate::plan::{CellSource, CodeSource, PlannedLevel, PlannedQuery, QueryNoise, RowSource};
use crate::table::Wanted;

/// A plan as plain data.
#[derive(Debug, Serialize)]
pub struct Described {
    name: String,
    neighbours: String,
    /// What a row is: `units`, `counts` or `records`.
    rows: &'static str,
    columns: DescribedColumns,
    /// The column with a number of its own for each record.
    id: Option<String>,
    /// The columns of the list of units that are published.
    public: Vec<String>,
    cells: DescribedCells,
    /// All levels of the table.
    code_levels: Vec<DescribedCode>,
    /// The levels that are measured.
    levels: Vec<DescribedLevel>,
    /// What every file of measurements says of itself, but whether its noise is private.
    file_metadata: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct DescribedColumns {
    codes: Vec<String>,
    values: Vec<String>,
    counts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DescribedCells {
    /// How many the histogram has.
    size: u64,
    /// Those that a row has, where it is a unit.
    listed: Option<Vec<u64>>,
    /// What makes each of these.
    columns: Option<Vec<DescribedCell>>,
}

/// A cell of a row: a column, less some others.
#[derive(Debug, Serialize)]
struct DescribedCell {
    column: String,
    minus: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DescribedCode {
    name: String,
    /// The first characters of a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    /// Columns, joined if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    joined: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct DescribedLevel {
    name: String,
    folder: String,
    exact_folder: Option<String>,
    smallest: bool,
    depth: usize,
    queries: Vec<DescribedQuery>,
    exact: Vec<DescribedExact>,
}

#[derive(Debug, Serialize)]
struct DescribedQuery {
    name: String,
    shape: Vec<u32>,
    length: usize,
    mechanism: &'static str,
    sigma2: Option<String>,
    scale: Option<String>,
    variance: f64,
    rho: String,
    plb: f64,
}

#[derive(Debug, Serialize)]
struct DescribedExact {
    name: String,
    shape: Vec<u32>,
    length: usize,
    /// Whether its values are copied from the list of units.
    public: bool,
}

impl Described {
    pub(super) fn new(name: &str, approved: &Approved) -> Described {
        let plan = &approved.plan;
        let layout = plan.layout();
        let Wanted { codes, values, counts } = plan.columns();
        let columns = DescribedColumns { codes: codes.into(), values: values.into(), counts: counts.into() };
        let (rows, id) = match layout.rows() {
            Rows::Units(_) => ("units", None),
            Rows::Counts(_) => ("counts", None),
            Rows::Records(id) => ("records", id.clone()),
        };
        let sources = match plan.rows() {
            RowSource::Cells(sources) => Some(sources),
            RowSource::Values { .. } => None,
        };
        let cell = |source: &CellSource| DescribedCell {
            column: counts[source.column].clone(),
            minus: source.minus.iter().map(|less| counts[*less].clone()).collect(),
        };
        let cells = DescribedCells {
            size: plan.cells().count(),
            listed: sources.map(|sources| sources.iter().map(|source| source.cell).collect()),
            columns: sources.map(|sources| sources.iter().map(cell).collect()),
        };
        let code = |(source, level): (&CodeSource, &UnitLevel)| match source {
            CodeSource::Prefix { column, length } => DescribedCode {
                name: level.name.clone(),
                prefix: Some(*length),
                column: Some(codes[*column].clone()),
                columns: None,
                joined: None,
            },
            CodeSource::Columns(columns) => DescribedCode {
                name: level.name.clone(),
                prefix: None,
                column: None,
                columns: Some(columns.iter().map(|column| codes[*column].clone()).collect()),
                joined: Some("-"),
            },
        };
        let level = |(level, folder): (&PlannedLevel, String)| DescribedLevel {
            name: level.name.clone(),
            exact_folder: (!level.exact.is_empty()).then(|| format!("exact-{folder}")),
            folder,
            smallest: level.depth + 1 == plan.codes().len(),
            depth: level.depth,
            queries: level.queries.iter().map(DescribedQuery::new).collect(),
            exact: level.exact.iter().map(DescribedExact::new).collect(),
        };
        Described {
            name: name.into(),
            neighbours: approved.allocation.neighbours().to_string(),
            rows,
            columns,
            id,
            public: plan.public().to_vec(),
            cells,
            code_levels: plan.codes().iter().zip(layout.levels()).map(code).collect(),
            levels: plan.levels().iter().zip(manifest::folders(plan)).map(level).collect(),
            file_metadata: notes(name).into_iter().collect(),
        }
    }
}

impl DescribedQuery {
    fn new(query: &PlannedQuery) -> DescribedQuery {
        let QueryNoise { mechanism, rho, variance, plb } = &query.noises[0];
        let text = |x: &Rational| x.to_decimal_or_fraction();
        DescribedQuery {
            name: query.name.clone(),
            shape: query.shape.clone(),
            length: query.length(),
            mechanism: mechanism.kind(),
            sigma2: mechanism.sigma2().map(text),
            scale: mechanism.laplace_scale().map(text),
            variance: *variance,
            rho: text(rho),
            plb: *plb,
        }
    }
}

impl DescribedExact {
    fn new(query: &PlannedQuery) -> DescribedExact {
        DescribedExact {
            name: query.name.clone(),
            shape: query.shape.clone(),
            length: query.length(),
            public: query.public.is_some(),
        }
    }
}
