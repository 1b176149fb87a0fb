//! Schemas and allocations as spaces and classes of units.

use unspent::allocation::ExactValues;
use unspent::schema::{Attribute, Schema};
use unspent::{Allocation, Error, ErrorKind, Result};

use crate::model::UnitClass;
use crate::space::{Impossible, Partition, Query, Space};

/// A query of a schema.
#[derive(Clone, Copy, Debug)]
pub struct SchemaQuery<'q> {
    /// Its name.
    pub name: &'q str,
    /// The attributes and recodes whose values it tells apart; none for a total.
    pub by: &'q [String],
    /// Whether it is measured or exact somewhere.
    pub known: bool,
}

impl Space {
    /// The cells of a schema, and queries on them. `carrier` are the attributes of which single units may
    /// lack values.
    pub fn of_schema(schema: &Schema, queries: &[SchemaQuery<'_>], carrier: &[usize]) -> Result<Space> {
        let query = |query: &SchemaQuery<'_>| {
            let parts = partitions(schema, query.by).map_err(|e| e.at(format!("query `{}`", query.name)))?;
            Ok(Query { name: query.name.into(), parts, known: query.known })
        };
        Space::of_queries(schema, queries.iter().map(query).collect::<Result<_>>()?, carrier)
    }

    /// The same with queries whose parts are known.
    pub fn of_queries(schema: &Schema, queries: Vec<Query>, carrier: &[usize]) -> Result<Space> {
        let sizes: Vec<usize> = schema.attributes().iter().map(size).collect();
        let impossible: Vec<Impossible> =
            schema.impossible().iter().map(|impossible| impossible.combination.clone()).collect();
        Space::new(&sizes, queries, &impossible, carrier)
    }

    /// The cells of an allocation's schema with all of its queries and a total, and then those that are
    /// `asked` besides.
    pub fn of_allocation(
        allocation: &Allocation,
        asked: &[SchemaQuery<'_>],
        carrier: &[usize],
    ) -> Result<Space> {
        let Some(schema) = allocation.schema() else {
            return Err(Error::of_kind(
                ErrorKind::NoTable,
                format!("`{}` does not say which values attributes have", allocation.name()),
                "estimates need a schema: add [attributes], or schema = \"…\"",
            ));
        };
        let mut queries: Vec<SchemaQuery<'_>> = allocation
            .queries()
            .iter()
            .map(|query| SchemaQuery { name: &query.name, by: &query.by, known: true })
            .collect();
        if !queries.iter().any(|query| query.name == TOTAL) {
            queries.insert(0, SchemaQuery { name: TOTAL, by: &[], known: true });
        }
        queries.extend_from_slice(asked);
        Space::of_schema(schema, &queries, carrier)
    }

    /// The query of that name.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<usize> {
        self.queries().iter().position(|query| query.name == name)
    }
}

/// How many values of an attribute there are: a record may lack it, which is one more value, and no query by
/// the attribute counts it.
pub(crate) fn size(attribute: &Attribute) -> usize {
    attribute.values.len() + usize::from(attribute.optional)
}

/// What a query by these attributes and recodes tells apart of each attribute.
pub fn partitions(schema: &Schema, by: &[String]) -> Result<Vec<Partition>> {
    let mut partitions: Vec<Partition> =
        schema.attributes().iter().map(|attribute| Partition::summed(size(attribute))).collect();
    for part in schema.resolve(by)? {
        let attribute = &schema.attributes()[part.attribute];
        let mut groups = part.cell_of(attribute);
        groups.resize(size(attribute), None);
        partitions[part.attribute] = Partition::new(part.cells, groups);
    }
    Ok(partitions)
}

/// What the number of all records is called.
pub const TOTAL: &str = "total";

impl UnitClass {
    /// What an allocation publishes of a unit of a level that has the budgets down to the level `last`.
    pub fn of_level(space: &Space, allocation: &Allocation, level: usize, last: usize) -> Result<UnitClass> {
        let mut class = UnitClass { variances: vec![None; space.queries().len()], ..UnitClass::default() };
        // Margins of estimates are those of Gaussian noise.
        allocation.needs_gaussian("estimates")?;
        let noises = allocation.noise_with_budget_of(level, last)?;
        let measured = &allocation.levels()[level];
        for (measurement, noise) in measured.measurements.iter().zip(&noises) {
            let name = &allocation.queries()[measurement.query].name;
            let query = space.query(name).expect("all queries of the allocation are there");
            class.add(query, noise.sigma2().expect("all noise is Gaussian").to_f64());
        }
        class.exact =
            exact_queries(allocation, &measured.name).filter_map(|name| space.query(name)).collect();
        Ok(class)
    }

    /// One more measurement of a query, with noise of that σ².
    pub fn add(&mut self, query: usize, sigma2: f64) {
        let precision = self.variances[query].map_or(0.0, |variance| 1.0 / variance);
        self.variances[query] = Some(1.0 / (precision + 1.0 / sigma2));
    }
}

/// The queries whose answers an allocation publishes exactly for every unit of a level.
pub(crate) fn exact_queries<'a>(allocation: &'a Allocation, level: &'a str) -> impl Iterator<Item = &'a str> {
    let production = allocation.production();
    let totals = production.exact_totals.iter().filter(move |name| *name == level).map(|_| TOTAL);
    let others = production.invariants.iter().filter(move |invariant| invariant.level == level);
    let others = others.filter_map(|invariant| match &invariant.values {
        ExactValues::Query(name) => Some(name.as_str()),
        ExactValues::Columns(..) => None,
    });
    totals.chain(others)
}
