//! What is to be tabulated: queries at levels, read against the schema of the table they are for.

mod cells;
mod query;

use unspent::allocation::{Allocation, ExactValues};
use unspent::schema::{Attribute, Code, Layout, Rows, Schema};
use unspent::{Error, ErrorKind, Mechanism, Rational, Result, did_you_mean};

pub(crate) use self::cells::{Cells, StructuralZeros, ValueCodes};
pub use self::query::{PlannedLevel, PlannedQuery, QueryNoise, UnitBudget};
use crate::table::Wanted;

/// What is asked at a level.
#[derive(Clone, Debug)]
pub struct LevelQueries<'q> {
    /// The level, as the table calls it.
    pub level: &'q str,
    /// The budgets that its units have; at least one.
    pub budgets: Vec<UnitBudget>,
    /// At least one.
    pub queries: Vec<Query<'q>>,
    /// What is published exactly: queries without noise.
    pub exact: Vec<Query<'q>>,
}

/// A query and its noise.
#[derive(Clone, Debug)]
pub struct Query<'q> {
    /// Its name.
    pub name: &'q str,
    /// The attributes and recodes whose values it tells apart; none for a total.
    pub by: &'q [String],
    /// For each budget of the level, the noise on each of its values and what it spends.
    pub noises: Vec<(Mechanism, Rational)>,
}

/// Every level and query that is asked for, as sums of the cells of a histogram.
#[derive(Debug)]
pub struct Plan {
    schema: Schema,
    columns: Columns,
    codes: Vec<CodeSource>,
    cells: Cells,
    zeros: StructuralZeros,
    rows: RowSource,
    levels: Vec<PlannedLevel>,
    paths: Vec<PlannedPath>,
    /// Columns of the list of units with public numbers.
    public: Vec<String>,
}

/// The columns of a table that are read.
#[derive(Debug, Default)]
struct Columns {
    codes: Vec<String>,
    values: Vec<String>,
    counts: Vec<String>,
}

/// Which of the plan's levels measure the unit that a smallest unit lies in, and with which of their budgets.
pub(crate) type PlannedPath = Vec<Option<usize>>;

/// Where the code of a level's unit is, by indices into the columns with codes.
#[derive(Debug)]
pub(crate) enum CodeSource {
    /// The first characters of one column.
    Prefix { column: usize, length: usize },
    /// Whole columns.
    Columns(Vec<usize>),
}

/// How a row becomes counts of cells.
#[derive(Debug)]
pub(crate) enum RowSource {
    /// It has a column for every cell; by indices into the columns with counts.
    Cells(Vec<CellSource>),
    /// It has a value of each attribute, and in the first column with counts how many records, or it is one.
    Values { codes: Vec<ValueCodes>, counted: bool, id: bool },
}

/// A cell, by indices into the columns with counts.
#[derive(Debug)]
pub(crate) struct CellSource {
    pub(crate) cell: u64,
    pub(crate) column: usize,
    pub(crate) minus: Vec<usize>,
}

impl Plan {
    /// Fails if a level or an attribute is asked for that the schema lacks, and with [`ErrorKind::NoTable`]
    /// if it does not say how a table is read. Without any level, the plan says no more than which columns of
    /// the table are read.
    pub fn new<'q>(schema: &Schema, asked: impl IntoIterator<Item = LevelQueries<'q>>) -> Result<Plan> {
        let layout = layout(schema)?;
        let mut columns = Columns::default();
        let mut codes = vec![];
        for level in layout.levels() {
            let mut column = |name: &str| index_of(&mut columns.codes, name);
            codes.push(match &level.code {
                Code::Prefix(length) => {
                    let code = layout.code().expect("a layout with prefixes has a code");
                    CodeSource::Prefix { column: column(code), length: *length }
                }
                Code::Columns(names) => CodeSource::Columns(names.iter().map(|n| column(n)).collect()),
            });
        }
        let cells = Cells::new(schema);
        let rows = row_source(schema, layout, &cells, &mut columns)?;
        let mut levels = vec![];
        for LevelQueries { level, budgets, queries, exact } in asked {
            let planned = |queries: Vec<Query<'q>>| {
                queries.into_iter().map(|query| PlannedQuery::new(schema, query)).collect::<Result<_>>()
            };
            let (queries, exact) = (planned(queries)?, planned(exact)?);
            let depth = depth(layout, level)?;
            levels.push(PlannedLevel { name: level.into(), depth, budgets, queries, exact });
        }
        // Units are closed from the smallest to the largest.
        levels.sort_by_key(|level| level.depth);
        let paths = vec![vec![Some(0); levels.len()]];
        let zeros = StructuralZeros::new(schema);
        let (schema, public) = (schema.clone(), vec![]);
        Ok(Plan { schema, columns, codes, cells, zeros, rows, levels, paths, public })
    }

    /// All that an allocation asks for, of the table that its schema describes, on each of its
    /// [paths](Allocation::paths).
    ///
    /// Fails with [`ErrorKind::NoTable`] if nothing says how a table is read.
    pub fn of(allocation: &Allocation) -> Result<Plan> {
        let Some(schema) = allocation.schema() else {
            return Err(no_table(&format!("`{}`", allocation.name())));
        };
        if allocation.levels().is_empty() {
            return Err(Error::stated(
                format!("`{}` has no levels: nothing is measured", allocation.name()),
                "mechanisms under [[also]] are accounted for, and run elsewhere",
            ));
        }
        let layout = layout(schema).map_err(|_| no_table(&format!("`{}`", allocation.name())))?;
        check_order(allocation, layout)?;
        check_touched(allocation, schema)?;
        let paths = allocation.paths();
        let mut asked = vec![];
        // Which budget each path has at each level of the allocation.
        let mut planned: Vec<PlannedPath> = vec![vec![]; paths.len()];
        for (at, level) in allocation.levels().iter().enumerate() {
            let ends: Vec<Option<usize>> = paths.iter().map(|path| path.budget_end(at)).collect();
            let mut kept: Vec<usize> = ends.iter().flatten().copied().chain([at]).collect();
            kept.sort_unstable();
            kept.dedup();
            for (path, end) in planned.iter_mut().zip(ends) {
                path.push(end.map(|end| kept.iter().position(|k| *k == end).expect("is in the list")));
            }
            let noises = kept.iter().map(|end| allocation.noise_with_budget_of(at, *end));
            let noises: Vec<Vec<Mechanism>> = noises.collect::<Result<_>>()?;
            let moves = allocation.neighbours().moves();
            let query = |(i, m): (usize, &unspent::allocation::Measurement)| {
                let query = &allocation.queries()[m.query];
                let rho = |noise: &Mechanism| noise.zcdp(moves).expect("added noise");
                let noises = noises.iter().map(|all| (all[i].clone(), rho(&all[i]))).collect();
                Query { name: &query.name, by: &query.by, noises }
            };
            let names = |end: &usize| allocation.levels()[at..=*end].iter().map(|l| l.name.clone()).collect();
            asked.push(LevelQueries {
                level: &level.name,
                exact: exact(allocation, &level.name),
                budgets: kept.iter().map(|end| UnitBudget { levels: names(end) }).collect(),
                queries: level.measurements.iter().enumerate().map(query).collect(),
            });
        }
        let mut plan = Plan::new(schema, asked)?;
        // The plan has its levels in the order of the table.
        let place = |name: &str| allocation.levels().iter().position(|l| l.name == *name).expect("was asked");
        let order: Vec<usize> = plan.levels.iter().map(|level| place(&level.name)).collect();
        plan.paths = planned.iter().map(|path| order.iter().map(|at| path[*at]).collect()).collect();
        plan.add_public(allocation)?;
        Ok(plan)
    }

    /// Numbers of the smallest units that are copied from the list of units.
    fn add_public(&mut self, allocation: &Allocation) -> Result<()> {
        let smallest = self.levels.last_mut().filter(|l| l.depth + 1 == self.codes.len());
        let mut exact = smallest.map(|level| (level.name.clone(), &mut level.exact));
        for invariant in &allocation.production().invariants {
            let ExactValues::Columns(name, columns) = &invariant.values else { continue };
            let Some((_, exact)) = exact.as_mut().filter(|(level, _)| *level == invariant.level) else {
                return Err(Error::stated(
                    format!("invariants: `{name}` is of level `{}`", invariant.level),
                    "numbers of units are of the smallest level: each row of the list is such a unit",
                ));
            };
            let start = self.public.len();
            self.public.extend(columns.iter().cloned());
            exact.push(PlannedQuery::public(name, start..self.public.len()));
        }
        Ok(())
    }

    /// The columns of the list of units with public numbers.
    pub(crate) fn public(&self) -> &[String] {
        &self.public
    }

    /// How the table is read.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The layout of the schema.
    pub(crate) fn layout(&self) -> &Layout {
        self.schema.layout().expect("a plan is of a table")
    }

    /// The columns of the table that are read.
    #[must_use]
    pub fn columns(&self) -> Wanted<'_> {
        let Columns { codes, values, counts } = &self.columns;
        Wanted { codes, values, counts }
    }

    /// From the largest areas to the smallest.
    #[must_use]
    pub fn levels(&self) -> &[PlannedLevel] {
        &self.levels
    }

    pub(crate) fn codes(&self) -> &[CodeSource] {
        &self.codes
    }

    pub(crate) fn cells(&self) -> &Cells {
        &self.cells
    }

    pub(crate) fn zeros(&self) -> &StructuralZeros {
        &self.zeros
    }

    pub(crate) fn rows(&self) -> &RowSource {
        &self.rows
    }

    /// The paths that smallest units can have.
    pub(crate) fn paths(&self) -> &[PlannedPath] {
        &self.paths
    }
}

/// What an allocation publishes exactly at a level, of what is tabulated.
pub(crate) fn exact<'a>(allocation: &'a Allocation, level: &str) -> Vec<Query<'a>> {
    let production = allocation.production();
    let totals = production.exact_totals.iter().filter(|name| *name == level);
    let totals = totals.map(|_| Query { name: "total", by: &[], noises: vec![] });
    let queries = production.invariants.iter().filter(|invariant| invariant.level == level);
    let queries = queries.filter_map(|invariant| match &invariant.values {
        ExactValues::Query(name) => allocation.queries().iter().find(|query| query.name == *name),
        ExactValues::Columns(..) => None,
    });
    totals.chain(queries.map(|query| Query { name: &query.name, by: &query.by, noises: vec![] })).collect()
}

fn layout(schema: &Schema) -> Result<&Layout> {
    schema.layout().ok_or_else(|| no_table("the schema"))
}

fn no_table(what: &str) -> Error {
    Error::of_kind(
        ErrorKind::NoTable,
        format!("{what} does not say how a table is read"),
        "add a [table] to the allocation, or give a schema; examples/blocks.toml is an example",
    )
}

/// What a certificate says of an attribute rests on what queries touch: the schema must say the same.
fn check_touched(allocation: &Allocation, schema: &Schema) -> Result<()> {
    for (_, query, _) in allocation.measurements() {
        let name = &query.name;
        let touched = schema.touched(&query.by).map_err(|e| e.at(format!("query `{name}`")))?;
        let same = |a: &Vec<String>, b: &Vec<String>| a.iter().all(|attribute| b.contains(attribute));
        if !same(&touched, &query.attributes) || !same(&query.attributes, &touched) {
            return Err(Error::stated(
                format!("query `{name}`: touches other attributes by this schema than by the allocation"),
                "use the schema that the allocation was written for",
            ));
        }
    }
    Ok(())
}

/// What is said of places inside a unit is said of the levels below it in the allocation: they must be below
/// in the table.
fn check_order(allocation: &Allocation, layout: &Layout) -> Result<()> {
    let depths = allocation.levels().iter().map(|level| depth(layout, &level.name));
    let descends = depths.collect::<Result<Vec<_>>>()?.is_sorted_by(|above, below| above < below);
    if !allocation.is_nested() || descends {
        return Ok(());
    }
    let ours: Vec<&str> = allocation.levels().iter().map(|l| l.name.as_str()).collect();
    let theirs: Vec<&str> = layout.levels().iter().map(|l| l.name.as_str()).collect();
    Err(Error::stated(
        format!(
            "the levels of the allocation, {}, come in another order than those of the table, {}",
            ours.join(", "),
            theirs.join(", ")
        ),
        "give both from the largest areas to the smallest; \
         or say nested = false, and nothing is said of places",
    ))
}

fn row_source(schema: &Schema, layout: &Layout, cells: &Cells, columns: &mut Columns) -> Result<RowSource> {
    let mut count = |name: &str| index_of(&mut columns.counts, name);
    let counted = match layout.rows() {
        Rows::Units(listed) => {
            let mut values: Vec<u32> = vec![0; schema.attributes().len()];
            let sources = listed.iter().map(|listed| {
                let cell = cells.number(&values);
                // The values of the next one.
                for (value, attribute) in values.iter_mut().zip(schema.attributes()).rev() {
                    *value = (*value + 1) % attribute.values.len() as u32;
                    if *value > 0 {
                        break;
                    }
                }
                let minus = listed.minus.iter().map(|n| count(n)).collect();
                CellSource { cell, column: count(&listed.column), minus }
            });
            return Ok(RowSource::Cells(sources.collect()));
        }
        Rows::Counts(column) => {
            // The guarantee rests on it: a person of 50 is one record, and not fifty.
            let has_values = |attribute: &&Attribute| layout.column(&attribute.name) == column.as_str();
            if let Some(attribute) = schema.attributes().iter().find(has_values) {
                return Err(Error::stated(
                    format!("count: the column `{column}` has the values of `{}`", attribute.name),
                    "name the column that says how many records a row stands for; leave it out if it is one",
                ));
            }
            count(column);
            true
        }
        Rows::Records(_) => false,
    };
    let mut codes = vec![];
    for attribute in schema.attributes() {
        let column = layout.column(&attribute.name);
        columns.values.push(column.into());
        codes.push(ValueCodes::new(attribute, column)?);
    }
    let id = match layout.rows() {
        Rows::Records(Some(id)) => {
            columns.values.push(id.clone());
            true
        }
        _ => false,
    };
    Ok(RowSource::Values { codes, counted, id })
}

fn index_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}

/// The place of a level among those of the table.
fn depth(layout: &Layout, level: &str) -> Result<usize> {
    layout.levels().iter().position(|l| l.name == level).ok_or_else(|| {
        let known: Vec<&str> = layout.levels().iter().map(|l| l.name.as_str()).collect();
        let allowed = format!("one of the levels of the table, {}", known.join(", "));
        let hint = did_you_mean(level, known, "add it to [table.levels]");
        Error::input("level", level, allowed, hint)
    })
}
