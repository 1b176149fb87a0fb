//! Tables of areas: what is answered for each, differences of two areas, and ratios.

use std::collections::{BTreeMap, BTreeSet};

use unspent::report::columns::csv;
use unspent::{Error, Result, did_you_mean, parallel};
use unspent_estimate::{Area, Precision, Ratio, RatioSet};

use super::answers::{Estimated, Summed};
use super::areas::AreaName;
use super::estimates::{AnswerRow, DifferenceRow, RatioRow};
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

    /// The answers for an area.
    pub(super) fn answers(&self, area: &Area, only: &[bool], least: f64) -> Vec<AnswerRow> {
        let mut rows = vec![];
        self.each_answer(area, only, least, &mut |query, cell, label, answer| {
            rows.push(AnswerRow { query: query.into(), cell, label: label.into(), answer });
        });
        rows
    }

    /// The answers for an area less those for another, and the covariance of both.
    pub(super) fn difference(&self, a: &[usize], b: &[usize], only: &[bool]) -> Vec<DifferenceRow> {
        let variances = |nodes: &[usize]| {
            let mut found = vec![];
            self.each_answer(&self.area(nodes, &[]), only, 0.0, &mut |_, _, _, answer| {
                found.push(answer.map(|answer| answer.variance));
            });
            found
        };
        let each = variances(a).into_iter().zip(variances(b));
        let differences = self.answers(&self.area(a, b), only, f64::NEG_INFINITY);
        let row = |(difference, (a, b)): (AnswerRow, (Option<f64>, Option<f64>))| {
            // Var(a − b) = Var a + Var b − 2 Cov(a, b).
            let both = difference.answer.zip(a.zip(b));
            let covariance = both.map(|(answer, (a, b))| (a + b - answer.variance) / 2.0);
            DifferenceRow { difference, covariance }
        };
        differences.into_iter().zip(each).map(row).collect()
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
        let found = made.difference(&nodes[a], &nodes[b], only);
        rows.extend(found.into_iter().map(|DifferenceRow { difference, covariance }| {
            let AnswerRow { query, cell, label, answer } = difference;
            let mut row = vec![first.clone(), second.clone(), query, cell.to_string(), label];
            row.extend(numbers(answer));
            row.push(covariance.map_or(String::new(), |covariance| covariance.to_string()));
            row
        }));
    }
    let columns = ["first", "second", "query", "cell", "label"].into_iter().chain(NUMBERS);
    let columns: Vec<&str> = columns.chain(["covariance"]).collect();
    Ok((!pairs.is_empty()).then(|| csv(&columns, &rows)))
}

/// Ratios in every area and every unit above the smallest level, as CSV; none if none are asked for.
pub(super) fn ratios(made: &Estimation, nodes: &[Vec<usize>], ratios: &[String]) -> Result<Option<String>> {
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let rows = ratio_rows(made, nodes, ratios)?.into_iter().map(|row| {
        let mut texts = vec![row.name.map, row.name.area, row.ratio, number(row.value)];
        for ends in [row.normal, row.guaranteed] {
            texts.extend([number(ends.map(|ends| ends.0)), number(ends.map(|ends| ends.1))]);
        }
        texts.push(row.note);
        texts
    });
    let columns =
        ["map", "area", "ratio", "value", "lower", "upper", "lower_guaranteed", "upper_guaranteed", "note"];
    Ok((!ratios.is_empty()).then(|| csv(&columns, &rows.collect::<Vec<_>>())))
}

/// Ratios in every area, and in every unit above the smallest level, whose map is its level.
pub(super) fn ratio_rows(
    made: &Estimation,
    nodes: &[Vec<usize>],
    ratios: &[String],
) -> Result<Vec<RatioRow>> {
    let mut rows = vec![];
    for text in ratios {
        let (above, below) = ratio_sums(made, text)?;
        let areas = made.areas().areas.iter().cloned().zip(nodes.iter().cloned());
        let units = made.upper_units().into_iter().map(|node| {
            let (level, code) = made.place(node);
            (AreaName { map: level.into(), area: code.into() }, vec![node])
        });
        for (name, nodes) in areas.chain(units) {
            rows.push(ratio_row(made, (name, text), &made.area(&nodes, &[]), &above, &below));
        }
    }
    Ok(rows)
}

/// The sums of a ratio.
pub(super) fn ratio_sums(made: &Estimation, text: &str) -> Result<(Summed, Summed)> {
    let (above, below) = text.split_once(" / ").ok_or_else(|| {
        let hint = "write two names with ` / ` between them, like `any part Black / total`";
        Error::input("ratio", text, "a sum of cells over another", hint)
    })?;
    Ok((summed(made, above.trim())?, summed(made, below.trim())?))
}

fn summed(made: &Estimation, name: &str) -> Result<Summed> {
    made.questions.sum(&made.joined.model, name).ok_or_else(|| {
        let asked = &made.questions.asked;
        let allowed = "a sum of cells, or a query with one answer";
        let hint = if asked.iter().any(|known| known.name == name) {
            String::from("it has several answers: give one of them as a sum, like `white: race = white`")
        } else {
            let known = asked.iter().filter(|known| known.shape == [1]).map(|known| known.name.as_str());
            did_you_mean(
                name,
                known,
                "give a sum of that name, like `any part Black: cenrace contains \"Black\"`",
            )
        };
        Error::input("ratio", name, allowed, hint)
    })
}

fn ratio_row(
    made: &Estimation,
    (name, text): (AreaName, &str),
    area: &Area,
    above: &Summed,
    below: &Summed,
) -> RatioRow {
    let row = RatioRow {
        name,
        ratio: text.into(),
        value: None,
        normal: None,
        guaranteed: None,
        note: "not determined".into(),
    };
    let model = &made.joined.model;
    let precisions = [area.precision(&above.cells), area.precision(&below.cells)];
    if precisions.contains(&Precision::Unknown) {
        return row;
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
        RatioSet::Interval { lower, upper } => Some((*lower, *upper)),
        _ => None,
    };
    let note = match (&normal, &guaranteed) {
        (RatioSet::Interval { .. }, RatioSet::Interval { .. }) => String::new(),
        (RatioSet::Interval { .. }, set) => format!("guaranteed: {set}"),
        (set, RatioSet::Interval { .. }) => format!("normal: {set}"),
        (normal, guaranteed) => format!("normal: {normal}; guaranteed: {guaranteed}"),
    };
    RatioRow { value: ratio.estimate(), normal: ends(&normal), guaranteed: ends(&guaranteed), note, ..row }
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
