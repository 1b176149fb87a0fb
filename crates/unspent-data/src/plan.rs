//! What is to be tabulated: queries at levels, read against the table they are for.

use unspent::allocation::{Allocation, Attribute, Code, Schema};
use unspent::{DiscreteGaussian, Error, ErrorKind, Rational, Result, did_you_mean};

use crate::table::Wanted;

/// What is asked at a level.
#[derive(Clone, Debug)]
pub struct LevelQueries<'q> {
    /// The level, as the table calls it.
    pub level: &'q str,
    /// At least one.
    pub queries: Vec<Query<'q>>,
}

/// A query and its noise.
#[derive(Clone, Debug)]
pub struct Query<'q> {
    /// Its name.
    pub name: &'q str,
    /// The attributes whose values it tells apart; none for a total.
    pub attributes: &'q [String],
    /// The noise on each of its values.
    pub noise: &'q DiscreteGaussian,
    /// What it spends.
    pub rho: &'q Rational,
}

/// Every level and query that is asked for, as sums of the cells of a table.
#[derive(Debug)]
pub struct Plan {
    schema: Schema,
    code_columns: Vec<String>,
    count_columns: Vec<String>,
    codes: Vec<CodeSource>,
    cells: Vec<CellSource>,
    levels: Vec<PlannedLevel>,
}

/// Where the code of a level's unit is, by indices into the columns with codes.
#[derive(Debug)]
pub(crate) enum CodeSource {
    /// The first characters of one column.
    Prefix { column: usize, length: usize },
    /// Whole columns.
    Columns(Vec<usize>),
}

/// A cell, by indices into the columns with counts.
#[derive(Debug)]
pub(crate) struct CellSource {
    pub(crate) column: usize,
    pub(crate) minus: Vec<usize>,
}

/// A level and what is asked there.
#[derive(Debug)]
pub struct PlannedLevel {
    /// Its name.
    pub name: String,
    /// Index into the levels of the table.
    pub(crate) depth: usize,
    /// At least one.
    pub queries: Vec<PlannedQuery>,
}

/// A query at a level.
#[derive(Debug)]
pub struct PlannedQuery {
    /// Its name.
    pub name: String,
    /// How many values each of its attributes has; `[1]` for a total.
    pub shape: Vec<u32>,
    /// What it spends.
    pub rho: Rational,
    /// What it spends, to the nearest double or so.
    pub plb: f64,
    /// The σ² of its noise.
    pub sigma2: Rational,
    /// The variance of its noise, to the nearest double or so.
    pub variance: f64,
    /// Which of its values each cell adds to.
    pub(crate) value_of: Vec<u32>,
}

impl PlannedQuery {
    /// How many values it has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.shape.iter().map(|n| *n as usize).product()
    }
}

impl Plan {
    /// Fails if a level or an attribute is asked for that the table lacks. Without any level, it says no more
    /// than which columns of the table are read.
    pub fn new<'q>(schema: &Schema, asked: impl IntoIterator<Item = LevelQueries<'q>>) -> Result<Plan> {
        let mut plan = Plan {
            schema: schema.clone(),
            code_columns: vec![],
            count_columns: vec![],
            codes: vec![],
            cells: vec![],
            levels: vec![],
        };
        for level in schema.levels() {
            let mut column = |name: &str| index_of(&mut plan.code_columns, name);
            plan.codes.push(match &level.code {
                Code::Prefix(length) => {
                    let code = schema.code().expect("a schema with prefixes has a code");
                    CodeSource::Prefix { column: column(code), length: *length }
                }
                Code::Columns(names) => CodeSource::Columns(names.iter().map(|n| column(n)).collect()),
            });
        }
        for cell in schema.cells() {
            let mut column = |name: &str| index_of(&mut plan.count_columns, name);
            let minus = cell.minus.iter().map(|n| column(n)).collect();
            plan.cells.push(CellSource { column: column(&cell.column), minus });
        }
        for LevelQueries { level, queries } in asked {
            let queries = queries.iter().map(|query| planned(schema, query)).collect::<Result<_>>();
            plan.levels.push(PlannedLevel {
                name: level.into(),
                depth: depth(schema, level)?,
                queries: queries?,
            });
        }
        // Units are closed from the smallest to the largest.
        plan.levels.sort_by_key(|level| level.depth);
        Ok(plan)
    }

    /// All that an allocation asks for, of the table that it describes.
    ///
    /// Fails with [`ErrorKind::NoTable`] if it describes none.
    pub fn of(allocation: &Allocation) -> Result<Plan> {
        let Some(schema) = allocation.table() else {
            return Err(Error::of_kind(
                ErrorKind::NoTable,
                format!("`{}` does not say how a table is read", allocation.name()),
                "add a [table] to the allocation, or give a schema; examples/blocks.toml is an example",
            ));
        };
        // What is said of places inside a unit is said of the levels below it in the allocation: they must
        // be below in the table.
        let depths = allocation.levels().iter().map(|level| depth(schema, &level.name));
        let descends = depths.collect::<Result<Vec<_>>>()?.is_sorted_by(|above, below| above < below);
        if allocation.is_nested() && !descends {
            let ours: Vec<&str> = allocation.levels().iter().map(|l| l.name.as_str()).collect();
            let theirs: Vec<&str> = schema.levels().iter().map(|l| l.name.as_str()).collect();
            return Err(Error::stated(
                format!(
                    "the levels of the allocation, {}, come in another order than those of the table, {}",
                    ours.join(", "),
                    theirs.join(", ")
                ),
                "give both from the largest areas to the smallest; \
                 or say nested = false, and nothing is said of places",
            ));
        }
        Plan::new(
            schema,
            allocation.levels().iter().map(|level| LevelQueries {
                level: &level.name,
                queries: level
                    .measurements
                    .iter()
                    .map(|measurement| {
                        let query = &allocation.queries()[measurement.query];
                        Query {
                            name: &query.name,
                            attributes: &query.attributes,
                            noise: &measurement.noise,
                            rho: &measurement.rho,
                        }
                    })
                    .collect(),
            }),
        )
    }

    /// How the table is read.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The columns of the table that are read.
    #[must_use]
    pub fn columns(&self) -> Wanted<'_> {
        Wanted { codes: &self.code_columns, values: &[], counts: &self.count_columns }
    }

    /// From the largest areas to the smallest.
    #[must_use]
    pub fn levels(&self) -> &[PlannedLevel] {
        &self.levels
    }

    pub(crate) fn codes(&self) -> &[CodeSource] {
        &self.codes
    }

    pub(crate) fn cells(&self) -> &[CellSource] {
        &self.cells
    }
}

fn index_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}

/// The place of a level among those of the table.
fn depth(schema: &Schema, level: &str) -> Result<usize> {
    schema.levels().iter().position(|l| l.name == level).ok_or_else(|| {
        let known: Vec<&str> = schema.levels().iter().map(|l| l.name.as_str()).collect();
        let allowed = format!("one of the levels of the table, {}", known.join(", "));
        let hint = did_you_mean(level, known, "add it to [table.levels]");
        Error::input("level", level, allowed, hint)
    })
}

fn planned(schema: &Schema, query: &Query<'_>) -> Result<PlannedQuery> {
    let Query { name, attributes, noise, rho } = query;
    if noise.shift() != 1 {
        return Err(Error::stated(
            format!("query `{name}`: one record moves it by {}, so it is no count", noise.shift()),
            "only counts, of shift 1, are tabulated",
        ));
    }
    // The attributes that are asked for, each with the number of cells from one of its values to the next.
    let mut asked: Vec<(&Attribute, usize)> = vec![];
    for attribute in *attributes {
        let Some(at) = schema.attributes().iter().position(|a| a.name == *attribute) else {
            let known: Vec<&str> = schema.attributes().iter().map(|a| a.name.as_str()).collect();
            let allowed = if known.is_empty() {
                "an attribute of the table, which has none".into()
            } else {
                format!("one of the attributes of the table, {}", known.join(", "))
            };
            let hint = did_you_mean(attribute, known, "add it to [table.attributes], or leave the query out");
            return Err(Error::input(format!("query `{name}`: attribute"), attribute, allowed, hint));
        };
        let step = schema.attributes()[at + 1..].iter().map(|a| a.values.len()).product();
        asked.push((&schema.attributes()[at], step));
    }
    let value_of = (0..schema.cells().len()).map(|cell| {
        asked.iter().fold(0, |value, (attribute, step)| {
            value * attribute.values.len() as u32 + (cell / step % attribute.values.len()) as u32
        })
    });
    let shape = match &asked[..] {
        [] => vec![1],
        asked => asked.iter().map(|(a, _)| a.values.len() as u32).collect(),
    };
    Ok(PlannedQuery {
        name: (*name).into(),
        shape,
        rho: (*rho).clone(),
        plb: rho.to_f64(),
        sigma2: noise.sigma2().clone(),
        variance: noise.variance(),
        value_of: value_of.collect(),
    })
}
