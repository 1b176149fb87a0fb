//! Whether what is on offer bears on a need at all, whatever the budgets are.

use std::collections::HashMap;
use std::sync::Arc;

use unspent::schema::Schema;
use unspent::{Allocation, Error, Result};

use crate::allocation::{TOTAL, partitions, size};
use crate::answers::{AnswerClasses, Precision, coordinate_covariances};
use crate::design::needs::{Quantity, Selection};
use crate::model::{Model, UnitClass};
use crate::space::{Partition, Query, Space};
use crate::tree::{Node, Tree};

/// Fails if no query on offer, and no sum of several, tells what the need asks for.
pub(super) fn bears(offer: &Allocation, quantity: &Quantity) -> Result<()> {
    let Some(schema) = offer.schema() else { return Ok(()) };
    let offered: Vec<Vec<Partition>> =
        offer.queries().iter().map(|query| partitions(schema, &query.by)).collect::<Result<_>>()?;
    for asked in asked(schema, quantity)? {
        // Most needs are sums of the answers of one query.
        let is_sum = |query: &Vec<Partition>| query.iter().zip(&asked).all(|(fine, sum)| is_union(fine, sum));
        if !offered.iter().any(is_sum) && !is_determined(offer, schema, &asked)? {
            return Err(missing(schema, &asked));
        }
    }
    Ok(())
}

/// What is asked of each attribute: one list for each count that must be known.
fn asked(schema: &Schema, quantity: &Quantity) -> Result<Vec<Vec<Partition>>> {
    Ok(match quantity {
        Quantity::Table { by, .. } => vec![partitions(schema, by)?],
        Quantity::Count { of, .. } => vec![counted(schema, of)],
        Quantity::Share { of, among, .. } => vec![counted(schema, of), counted(schema, among)],
    })
}

fn counted(schema: &Schema, selection: &Selection) -> Vec<Partition> {
    let attributes = schema.attributes().iter().enumerate();
    let part = attributes.map(|(at, attribute)| match selection.0.get(&at) {
        None => Partition::summed(size(attribute)),
        Some(values) => {
            let group = |value: u32| values.contains(&value).then_some(0);
            Partition::new(1, (0..size(attribute) as u32).map(group).collect())
        }
    });
    part.collect()
}

/// Whether each group of `sum` is a union of groups of `fine`.
fn is_union(fine: &Partition, sum: &Partition) -> bool {
    let mut whole: HashMap<u32, Option<u32>> = HashMap::new();
    fine.values().iter().zip(sum.values()).all(|(fine, sum)| match (fine, sum) {
        (None, sum) => sum.is_none(),
        (Some(fine), sum) => *whole.entry(*fine).or_insert(*sum) == *sum,
    })
}

/// Whether all answers on offer together determine it, with what cannot occur and what is exact: decided in
/// rationals (Lemma E3 of `theory/estimates.md`). A unit of any level knows no more than a smallest one of
/// which everything is measured.
fn is_determined(offer: &Allocation, schema: &Schema, asked: &[Partition]) -> Result<bool> {
    let mut queries = vec![];
    for query in offer.queries() {
        queries.push(Query { name: query.name.clone(), parts: partitions(schema, &query.by)?, known: true });
    }
    if !offer.production().exact_totals.is_empty() {
        queries.push(Query { name: TOTAL.into(), parts: partitions(schema, &[])?, known: true });
    }
    let measured = queries.len();
    queries.push(Query { name: String::new(), parts: asked.to_vec(), known: false });
    let model = Arc::new(Model::new(Space::of_queries(schema, queries, &[])?)?);
    let variances = (0..=measured).map(|query| (query < measured).then_some(1.0)).collect();
    let class = Arc::new(model.class(UnitClass { variances, ..UnitClass::default() }));
    let tree = Tree::new(&model, vec![Node { parent: None, class, count: 1.0 }]);
    let states = tree.state(0);
    let covariances = coordinate_covariances(states);
    let answers = AnswerClasses::new(&model, measured);
    Ok(answers.classes.iter().all(|sum| sum.precision(states, &covariances) != Precision::Unknown))
}

/// Which combination of attributes nothing on offer tells apart.
fn missing(schema: &Schema, asked: &[Partition]) -> Error {
    let told = schema
        .attributes()
        .iter()
        .zip(asked)
        .filter(|(attribute, part)| **part != Partition::summed(size(attribute)));
    let names: Vec<String> = told.map(|(attribute, _)| format!("`{}`", attribute.name)).collect();
    let (cause, hint) = match &names[..] {
        [] => {
            ("no query on offer adds up to the total".into(), "offer a query by nothing: total = []".into())
        }
        [one] => (
            format!("no query on offer tells the values of {one} apart as needed"),
            format!("offer a query by {one}"),
        ),
        [all @ .., last] => (
            format!("no query on offer tells {} and {last} apart together as needed", all.join(", ")),
            format!("offer a query by [{}]", names.join(", ").replace('`', "\"")),
        ),
    };
    Error::stated(cause, hint)
}
