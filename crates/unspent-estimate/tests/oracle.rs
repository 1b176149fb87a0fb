//! Estimates and covariances of random trees against `oracle/estimate.py`: exact rationals, dense, and with
//! nothing of this implementation.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use serde_json::Value;
use unspent_estimate::{
    AnswerClasses, Impossible, Measured, Model, Node, Partition, Precision, Query, Scratch, Space,
    SumOfCells, Tree, UnitClass,
};

/// The largest difference that rounding may make: of an estimate relative to the largest count of the
/// problem, of a covariance relative to the largest variance.
const TOLERANCE: f64 = 1e-10;

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn int(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn ints(value: &Value) -> Vec<u32> {
    list(value).iter().map(|x| int(x) as u32).collect()
}

fn fraction(text: &str) -> f64 {
    match text.split_once('/') {
        Some((a, b)) => a.parse::<f64>().unwrap() / b.parse::<f64>().unwrap(),
        None => text.parse().unwrap(),
    }
}

fn model(problem: &Value) -> Model {
    let attributes: Vec<usize> = list(&problem["attributes"]).iter().map(int).collect();
    let part = |(part, size): (&Value, &usize)| match part.as_array() {
        None => Partition::summed(*size),
        Some(groups) => {
            let of: Vec<Option<u32>> = groups.iter().map(|g| g.as_u64().map(|g| g as u32)).collect();
            let groups = of.iter().flatten().max().map_or(0, |g| *g as usize + 1);
            Partition::new(groups, of)
        }
    };
    let query = |query: &Value| Query {
        name: query["name"].as_str().unwrap().into(),
        parts: list(&query["parts"]).iter().zip(&attributes).map(part).collect(),
        known: true,
    };
    let queries = list(&problem["queries"]).iter().map(query).collect();
    let cell = |cell: &Value| -> Impossible { ints(cell).into_iter().map(|v| vec![v]).enumerate().collect() };
    let impossible: Vec<Impossible> = list(&problem["impossible"]).iter().map(cell).collect();
    let carrier: Vec<usize> = list(&problem["carrier"]).iter().map(int).collect();
    Model::new(Space::new(&attributes, queries, &impossible, &carrier).unwrap()).unwrap()
}

fn class(model: &Model, problem: &Value, unit: &Value) -> UnitClass {
    let mut variances = vec![None; list(&problem["queries"]).len()];
    for measured in list(&unit["measured"]) {
        variances[int(&measured["query"])] = Some(fraction(measured["sigma2"].as_str().unwrap()));
    }
    let exact = list(&unit["exact"]).iter().map(|exact| int(&exact["query"])).collect();
    let mut lacking = vec![];
    if let Some((attributes, values)) = model.space().carrier() {
        // The carrier may share its axis with other attributes.
        let carrier: Vec<usize> = list(&problem["carrier"]).iter().map(int).collect();
        for zero in list(&unit["zeros"]).iter().map(ints) {
            let matches = |value: &Vec<u32>| {
                carrier.iter().zip(&zero).all(|(attribute, wanted)| {
                    value[attributes.iter().position(|a| a == attribute).unwrap()] == *wanted
                })
            };
            lacking.extend((0..values.len() as u32).filter(|v| matches(&values[*v as usize])));
        }
    }
    lacking.sort_unstable();
    lacking.dedup();
    UnitClass { variances, exact, lacking }
}

#[derive(Default)]
struct Worst {
    estimate: f64,
    covariance: f64,
    unknown: usize,
    compared: usize,
    areas: usize,
    /// Sums that are said not to be known although they are.
    careful: usize,
}

fn check(line: usize, problem: &Value, worst: &mut Worst) {
    let model = Arc::new(model(problem));
    let mut scratch = Scratch::default();
    let (mut nodes, mut measured) = (vec![], vec![]);
    for unit in list(&problem["units"]) {
        let class = model.class(class(&model, problem, unit));
        let numbers = |rows: &Value| -> BTreeMap<usize, Vec<i64>> {
            let row = |row: &Value| {
                (int(&row["query"]), list(&row["values"]).iter().map(|x| x.as_i64().unwrap()).collect())
            };
            list(rows).iter().map(row).collect()
        };
        let answers = numbers(&unit["measured"]);
        let mut gradient = vec![0.0; model.space().cells()];
        model.gradient(&class.unit().variances, |query| &answers[&query], &mut scratch, &mut gradient);
        let exact = list(&unit["exact"]).iter().map(|row| {
            let values: Vec<i64> = list(&row["values"]).iter().map(|x| x.as_i64().unwrap()).collect();
            model.lift(int(&row["query"]), &values, &mut scratch)
        });
        let exact = exact.collect();
        measured.push(Measured { gradient, exact });
        let parent = unit["parent"].as_u64().map(|parent| parent as usize);
        nodes.push(Node { parent, class: Arc::new(class), count: 1.0 });
    }
    let count = nodes.len();
    let (tree, values) =
        Tree::estimate(&model, nodes, measured, true).unwrap_or_else(|e| panic!("{line}: {e:?}"));

    // Every answer of every unit: its estimate, its precision, and its coordinates.
    let queries = model.space().queries().len();
    let classes: Vec<AnswerClasses> = (0..queries).map(|query| AnswerClasses::new(&model, query)).collect();
    let mut functionals: Vec<Option<(usize, Vec<f64>)>> = vec![];
    let counts_of = |unit: &Value| {
        let rows = list(&unit["measured"]).iter().chain(list(&unit["exact"]));
        rows.flat_map(|row| list(&row["values"])).map(|x| x.as_f64().unwrap().abs()).fold(1.0, f64::max)
    };
    let largest_count = list(&problem["units"]).iter().map(counts_of).fold(1.0, f64::max);
    let mut largest = 1.0f64;
    for entry in list(&problem["estimates"]) {
        let (unit, query) = (int(&entry[0]), int(&entry[1]));
        let mut coordinates = vec![0.0; model.space().cells()];
        tree.coordinates(&values, unit, &mut coordinates);
        let found = model.answer(&coordinates, &vec![true; queries], &mut scratch).answers[query].clone();
        let precisions = tree.precisions(unit, &classes);
        let expected = list(&entry[2]);
        assert_eq!(expected.len(), found.len(), "{line}");
        for (answer, (expected, found)) in expected.iter().zip(found).enumerate() {
            let weights: Vec<i32> = counts(&model, query, answer);
            let (sum, functional) = SumOfCells::new(&model, &weights, &mut scratch);
            let precision = classes[query].class_of[answer]
                .map_or(Precision::Exact, |class| precisions[query][usize::from(class)]);
            // The class of an answer and its own sum say the same.
            match (precision, tree.precision(unit, &sum)) {
                (Precision::Variance(a), Precision::Variance(b)) => {
                    assert!((a - b).abs() <= 1e-9 * a.max(1.0))
                }
                (a, b) => assert_eq!(a, b, "{line} {unit} {query} {answer}"),
            }
            match expected.as_f64() {
                None => {
                    assert_eq!(precision, Precision::Unknown, "{line}: unit {unit} query {query} {answer}");
                    functionals.push(None);
                    worst.unknown += 1;
                }
                Some(expected) => {
                    assert_ne!(precision, Precision::Unknown, "{line}: unit {unit} query {query} {answer}");
                    let difference = (found - expected).abs() / largest_count;
                    worst.estimate = worst.estimate.max(difference);
                    assert!(difference < TOLERANCE, "{line}: unit {unit} query {query}: {found} {expected}");
                    functionals.push(Some((unit, functional)));
                }
            }
        }
    }
    check_areas(line, problem, &tree, &values, &functionals, worst);
    let rows = list(&problem["covariance"]);
    for (i, row) in rows.iter().enumerate() {
        largest = list(row)[i].as_f64().map_or(largest, |x| largest.max(x));
    }
    let mut blocks: BTreeMap<(usize, usize), Vec<unspent_estimate::Matrix>> = BTreeMap::new();
    for a in 0..count {
        for b in 0..count {
            blocks.insert((a, b), tree.covariances(a, b));
        }
    }
    for (i, row) in rows.iter().enumerate() {
        for (j, expected) in list(row).iter().enumerate() {
            let (Some((a, v)), Some((b, w))) = (&functionals[i], &functionals[j]) else {
                assert!(expected.is_null());
                continue;
            };
            let found = model.covariance(v, w, &blocks[&(*a, *b)]);
            let expected = expected.as_f64().unwrap();
            let difference = (found - expected).abs() / largest;
            worst.covariance = worst.covariance.max(difference);
            worst.compared += 1;
            assert!(difference < TOLERANCE, "{line}: {i} {j} units {a} {b}: {found} {expected}");
        }
    }
}

/// Sums and differences of pairs of units, from the covariances of the oracle. What the oracle determines of
/// each unit of a pair is determined of their sum.
fn check_areas(
    line: usize,
    problem: &Value,
    tree: &Tree,
    values: &unspent_estimate::Values,
    functionals: &[Option<(usize, Vec<f64>)>],
    worst: &mut Worst,
) {
    let model = tree.model();
    let mut places = vec![];
    for entry in list(&problem["estimates"]) {
        let count = list(&entry[2]).len();
        (0..count)
            .for_each(|answer| places.push((int(&entry[0]), int(&entry[1]), answer, &entry[2][answer])));
    }
    let covariance = |i: usize, j: usize| list(&list(&problem["covariance"])[i])[j].as_f64().unwrap();
    let mut scratch = Scratch::default();
    let units = list(&problem["units"]).len();
    for (a, b, weight) in (0..units).flat_map(|a| [(a, (a + 3) % units, 1.0), (a, (a * 5 + 2) % units, -1.0)])
    {
        let mut weights = BTreeMap::new();
        *weights.entry(a).or_insert(0.0) += 1.0;
        *weights.entry(b).or_insert(0.0) += weight;
        let area = tree.area(&weights);
        let mut coordinates = vec![0.0; model.space().cells()];
        area.coordinates(tree, values, &mut coordinates);
        let queries = model.space().queries().len();
        let found = model.answer(&coordinates, &vec![true; queries], &mut scratch).answers.to_vec();
        for (i, (unit, query, answer, first)) in places.iter().enumerate().filter(|(_, place)| place.0 == a) {
            let j = places.iter().position(|p| p.0 == b && (p.1, p.2) == (*query, *answer));
            let Some(j) = j.filter(|j| functionals[i].is_some() && functionals[*j].is_some()) else {
                continue;
            };
            assert_eq!(*unit, a);
            let (sum, _) = SumOfCells::new(model, &counts(model, *query, *answer), &mut scratch);
            let precision = area.precision(&sum);
            let Some(variance) = precision.variance() else {
                worst.careful += 1;
                continue;
            };
            let expected = covariance(i, i) + 2.0 * weight * covariance(i, j) + covariance(j, j);
            let scale = covariance(i, i).max(covariance(j, j)).max(1.0);
            let largest =
                (0..places.len()).filter_map(|k| list(&list(&problem["covariance"])[k])[k].as_f64());
            let largest = largest.fold(scale, f64::max);
            assert!(
                (variance - expected).abs() < 1e-9 * largest,
                "{line}: units {a} {b} query {query}: {variance} {expected}"
            );
            let expected = first.as_f64().unwrap() + weight * places[j].3.as_f64().unwrap();
            assert!((found[*query][*answer] - expected).abs() < 1e-6, "{line}: units {a} {b} query {query}");
            worst.areas += 1;
        }
    }
}

/// Which cells an answer of a query counts.
fn counts(model: &Model, query: usize, answer: usize) -> Vec<i32> {
    let cells = model.space().cells();
    let count = |cell: usize| i32::from(model.space().place_of(query, cell) == Some(answer));
    (0..cells).map(count).collect()
}

#[test]
fn estimates_and_all_covariances_are_those_of_the_dense_oracle() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracle/estimate.jsonl");
    let path = std::env::var("UNSPENT_ORACLE_ESTIMATE").unwrap_or_else(|_| fixture.into());
    let text = fs::read_to_string(path).unwrap();
    let mut worst = Worst::default();
    for (line, problem) in text.lines().enumerate() {
        check(line, &serde_json::from_str(problem).unwrap(), &mut worst);
    }
    let problems = text.lines().count();
    assert!(problems >= 60 && worst.unknown > 0);
    assert_eq!(worst.careful, 0, "what is known of both units is known of their sum");
    println!(
        "{problems} problems, {} covariances, {} sums of units ({} more not said to be known): worst \
         difference of an estimate {:.1e}, of a covariance {:.1e}",
        worst.compared, worst.areas, worst.careful, worst.estimate, worst.covariance
    );
}
