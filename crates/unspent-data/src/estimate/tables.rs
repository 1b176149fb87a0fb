//! Tables of areas: what is answered for each, differences of two areas, and ratios.

use std::collections::{BTreeMap, BTreeSet};

use unspent::report::columns::csv;
use unspent::{Error, Result, did_you_mean, parallel};
use unspent_estimate::{Area, Precision, Ratio, RatioSet};

use super::answers::{Estimated, Summed};
use super::areas::AreaName;
use super::estimation::Estimation;

const NUMBERS: [&str; 6] = ["value", "variance", "lower", "upper", "lower_guaranteed", "upper_guaranteed"];

/// Sums of nodes of a tree.
fn weights(nodes: &[usize], weight: f64) -> BTreeMap<usize, f64> {
    nodes.iter().map(|node| (*node, weight)).collect()
}

/// Takes a query, the number of an answer, what it counts in words, and the estimate.
type TakeAnswer<'t> = dyn FnMut(&str, usize, &str, Option<Estimated>) + 't;

impl Estimation {
    /// Hands on the answers for an area, which are at least so large.
    pub(super) fn each_answer(&self, area: &Area, only: &[bool], least: f64, take: &mut TakeAnswer<'_>) {
        let model = &self.joined.model;
        let margins = self.questions.margins(|sum| area.precision(sum));
        let needed = self.questions.needed(model, only);
        let mut coordinates = vec![0.0; model.space().cells()];
        area.coordinates(&self.tree, &self.values, &mut coordinates);
        let mut scratch = unspent_estimate::Scratch::default();
        let which = (only, &needed[..], least);
        self.questions.answer(model, &coordinates, &margins, which, &mut scratch, |asked, answers| {
            let labels = self.joined.labels(&asked.name);
            for (cell, answer) in answers.enumerate() {
                take(&asked.name, cell, labels.get(cell).map_or("", String::as_str), answer);
            }
        });
    }

    /// The sum of the units of an area, or a difference of two.
    pub(super) fn area(&self, nodes: &[usize], without: &[usize]) -> Area {
        let mut sum = weights(nodes, 1.0);
        for (node, weight) in weights(without, -1.0) {
            *sum.entry(node).or_default() += weight;
        }
        sum.retain(|_, weight| *weight != 0.0);
        self.tree.area(&sum)
    }
}

/// The answers for every area, as CSV; none if there are no areas.
pub(super) fn areas(made: &Estimation, nodes: &[Vec<usize>], only: &[bool]) -> Option<String> {
    let names = &made.areas().areas;
    let all: Vec<usize> = (0..names.len()).collect();
    let rows = parallel::map(&all, |at| {
        let area = made.area(&nodes[*at], &[]);
        let mut rows = vec![];
        made.each_answer(&area, only, 0.0, &mut |query, cell, label, answer| {
            let mut row = vec![names[*at].map.clone(), names[*at].area.clone(), query.into()];
            row.extend([cell.to_string(), label.into()]);
            row.extend(numbers(answer));
            rows.push(row);
        });
        rows
    });
    let columns: Vec<&str> = ["map", "area", "query", "cell", "label"].into_iter().chain(NUMBERS).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().flatten().collect();
    (!names.is_empty()).then(|| csv(&columns, &rows))
}

/// Differences of pairs of areas, with their covariance; none if none are asked for.
pub(super) fn differences(
    made: &Estimation,
    nodes: &[Vec<usize>],
    pairs: &[(String, String)],
    only: &[bool],
) -> Result<Option<String>> {
    let mut rows = vec![];
    for (first, second) in pairs {
        let (a, b) = (made.areas().find(first)?, made.areas().find(second)?);
        let variances = |nodes: &[usize]| {
            let mut found = vec![];
            made.each_answer(&made.area(nodes, &[]), only, 0.0, &mut |_, _, _, answer| {
                found.push(answer.map(|answer| answer.variance));
            });
            found
        };
        let mut each = variances(&nodes[a]).into_iter().zip(variances(&nodes[b]));
        let difference = made.area(&nodes[a], &nodes[b]);
        made.each_answer(&difference, only, f64::NEG_INFINITY, &mut |query, cell, label, answer| {
            let (a, b) = each.next().expect("as many answers");
            // Var(a − b) = Var a + Var b − 2 Cov(a, b).
            let both = answer.zip(a.zip(b));
            let covariance = both.map(|(answer, (a, b))| (a + b - answer.variance) / 2.0);
            let mut row = vec![first.clone(), second.clone(), query.into(), cell.to_string(), label.into()];
            row.extend(numbers(answer));
            row.push(covariance.map_or(String::new(), |covariance| covariance.to_string()));
            rows.push(row);
        });
    }
    let columns = ["first", "second", "query", "cell", "label"].into_iter().chain(NUMBERS);
    let columns: Vec<&str> = columns.chain(["covariance"]).collect();
    Ok((!pairs.is_empty()).then(|| csv(&columns, &rows)))
}

/// Ratios in every area and every unit above the smallest level; none if none are asked for.
pub(super) fn ratios(made: &Estimation, nodes: &[Vec<usize>], ratios: &[String]) -> Result<Option<String>> {
    let mut rows = vec![];
    for text in ratios {
        let (above, below) = text.split_once(" / ").ok_or_else(|| {
            let hint = "write two names with ` / ` between them, like `any part Black / total`";
            Error::input("ratio", text, "a sum of cells over another", hint)
        })?;
        let (above, below) = (summed(made, above.trim())?, summed(made, below.trim())?);
        let names = made.areas().areas.iter().map(|AreaName { map, area }| (map.clone(), area.clone()));
        let areas = names.zip(nodes.iter().cloned());
        let units = made.upper_units().into_iter().map(|node| {
            let (level, code) = made.place(node);
            ((level.into(), code.into()), vec![node])
        });
        for ((map, area), nodes) in areas.chain(units) {
            let mut row = vec![map, area, text.clone()];
            row.extend(ratio_numbers(made, &made.area(&nodes, &[]), &above, &below));
            rows.push(row);
        }
    }
    let columns =
        ["map", "area", "ratio", "value", "lower", "upper", "lower_guaranteed", "upper_guaranteed", "note"];
    Ok((!ratios.is_empty()).then(|| csv(&columns, &rows)))
}

fn summed(made: &Estimation, name: &str) -> Result<Summed> {
    made.questions.sum(&made.joined.model, name).ok_or_else(|| {
        let known: Vec<&str> = made.questions.asked.iter().map(|asked| asked.name.as_str()).collect();
        let allowed = "a sum of cells, or a query with one answer";
        let hint = did_you_mean(
            name,
            known,
            "name it with --sum, like `any part Black: cenrace contains \"Black\"`",
        );
        Error::input("ratio", name, allowed, hint)
    })
}

fn ratio_numbers(made: &Estimation, area: &Area, above: &Summed, below: &Summed) -> [String; 6] {
    let model = &made.joined.model;
    let precisions = [area.precision(&above.cells), area.precision(&below.cells)];
    if precisions.contains(&Precision::Unknown) {
        let none = String::new;
        return [none(), none(), none(), none(), none(), "not determined".into()];
    }
    let mut coordinates = vec![0.0; model.space().cells()];
    area.coordinates(&made.tree, &made.values, &mut coordinates);
    let value = |sum: &Summed| sum.coordinates.iter().zip(&coordinates).map(|(w, x)| w * x).sum::<f64>();
    let covariance =
        |a: &Summed, b: &Summed| model.covariance(&a.coordinates, &b.coordinates, area.covariances());
    let estimated = |sum: &Summed, precision: Precision| unspent_estimate::Estimated {
        value: if precision == Precision::Exact { value(sum).round() } else { value(sum) },
        variance: precision.variance().unwrap_or(0.0),
    };
    let exact = precisions.contains(&Precision::Exact);
    let inside = above.weights.iter().zip(&below.weights).all(|(a, b)| a <= b);
    let ratio = Ratio {
        numerator: estimated(above, precisions[0]),
        denominator: estimated(below, precisions[1]),
        covariance: if exact { 0.0 } else { covariance(above, below) },
        share: inside,
    };
    let confidence = made.questions.confidence();
    let (normal, guaranteed) = (ratio.normal(confidence), ratio.guaranteed(confidence));
    let ends = |set: &RatioSet| match set {
        RatioSet::Interval { lower, upper } => [lower.to_string(), upper.to_string()],
        _ => Default::default(),
    };
    let note = match (&normal, &guaranteed) {
        (RatioSet::Interval { .. }, RatioSet::Interval { .. }) => String::new(),
        (RatioSet::Interval { .. }, set) => format!("guaranteed: {set}"),
        (set, RatioSet::Interval { .. }) => format!("normal: {set}"),
        (normal, guaranteed) => format!("normal: {normal}; guaranteed: {guaranteed}"),
    };
    let ([a, b], [c, d]) = (ends(&normal), ends(&guaranteed));
    [ratio.estimate().map_or(String::new(), |value| value.to_string()), a, b, c, d, note]
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
pub(super) fn check_twice(made: &Estimation, names: &[AreaName], nodes: &[Vec<usize>]) -> Result<()> {
    for (name, nodes) in names.iter().zip(nodes) {
        let chosen: BTreeSet<usize> = nodes.iter().copied().collect();
        for node in nodes {
            let mut above = made.tree.nodes()[*node].parent;
            while let Some(unit) = above {
                if chosen.contains(&unit) {
                    let code = made.place(unit).1;
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
