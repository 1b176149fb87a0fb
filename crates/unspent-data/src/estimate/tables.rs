//! Tables of areas: what is answered for each, ratios, and differences of two areas.

use std::collections::BTreeMap;

use unspent::report::columns::csv;
use unspent::{Error, Result, parallel};
use unspent_estimate::Area;

use super::answers::Estimated;
use super::areas::AreaName;
use super::run::Made;

const COLUMNS: [&str; 11] = [
    "map",
    "area",
    "query",
    "cell",
    "label",
    "value",
    "variance",
    "lower",
    "upper",
    "lower_guaranteed",
    "upper_guaranteed",
];

/// Sums of nodes of a tree.
pub(super) fn weights(nodes: &[usize]) -> BTreeMap<usize, f64> {
    nodes.iter().map(|node| (*node, 1.0)).collect()
}

/// The answers for every area, as CSV.
pub(super) fn areas(
    made: &Made<'_>,
    names: &[AreaName],
    nodes: &[Vec<usize>],
    only: &[bool],
) -> Result<String> {
    let all: Vec<usize> = (0..names.len()).collect();
    let rows = parallel::map(&all, |at| {
        let area = made.tree.area(&weights(&nodes[*at]));
        let mut rows = vec![];
        each_answer(made, &area, only, &mut |query, cell, label, answer| {
            let mut row = vec![names[*at].map.clone(), names[*at].area.clone(), query.into()];
            row.extend([cell.to_string(), label.into()]);
            row.extend(numbers(answer));
            rows.push(row);
        });
        rows
    });
    Ok(csv(&COLUMNS, &rows.into_iter().flatten().collect::<Vec<_>>()))
}

/// Takes a query, the number of an answer, what it counts in words, and the estimate.
type TakeAnswer<'t> = dyn FnMut(&str, usize, &str, Option<Estimated>) + 't;

fn each_answer(made: &Made<'_>, area: &Area, only: &[bool], take: &mut TakeAnswer<'_>) {
    let estimation = made.estimation;
    let model = &estimation.joined.model;
    let margins = estimation.questions.margins(|sum| area.precision(sum));
    let needed = estimation.questions.needed(model, only);
    let mut coordinates = vec![0.0; model.space().cells()];
    area.coordinates(made.tree, made.values, &mut coordinates);
    let mut scratch = unspent_estimate::Scratch::default();
    let questions = &estimation.questions;
    questions.answer(model, &coordinates, &margins, only, &needed, &mut scratch, |asked, answers| {
        let labels = estimation.joined.labels(&asked.name);
        for (cell, answer) in answers.enumerate() {
            take(&asked.name, cell, labels.get(cell).map_or("", String::as_str), answer);
        }
    });
}

/// The numbers of an estimate; empty where it is not determined.
fn numbers(answer: Option<Estimated>) -> [String; 6] {
    let Some(Estimated { value, variance, normal, guaranteed }) = answer else { return Default::default() };
    let end = |end: Option<i64>| end.map_or(String::new(), |end| end.to_string());
    [
        value.to_string(),
        variance.to_string(),
        end(normal.map(|ends| ends.0)),
        end(normal.map(|ends| ends.1)),
        end(guaranteed.map(|ends| ends.0)),
        end(guaranteed.map(|ends| ends.1)),
    ]
}

/// Fails if an area counts a unit twice: by itself, and by a unit that it lies in.
pub(super) fn check_twice(made: &Made<'_>, names: &[AreaName], nodes: &[Vec<usize>]) -> Result<()> {
    for (name, nodes) in names.iter().zip(nodes) {
        let chosen: std::collections::BTreeSet<usize> = nodes.iter().copied().collect();
        for node in nodes {
            let mut above = made.tree.nodes()[*node].parent;
            while let Some(unit) = above {
                if chosen.contains(&unit) {
                    let code = made.estimation.code(unit);
                    return Err(Error::stated(
                        format!("area `{}:{}` has unit `{code}` and a unit inside it", name.map, name.area),
                        "a unit counts once: list the smallest units alone, or the large one alone",
                    ));
                }
                above = made.tree.nodes()[unit].parent;
            }
        }
    }
    Ok(())
}
