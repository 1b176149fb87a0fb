//! Values from outside, and the bounds around them.

mod dropped;
mod few;
mod structure;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Composition;
use crate::mechanism::Described;
use crate::number::{Bounds, Magnitude, Rational};
use crate::oracle;
use crate::profile::{Direction, Point};

/// One value of a reference, and the bounds that were found for it.
struct Answer {
    /// The case, without its composition.
    line: String,
    /// The kinds of its mechanisms.
    kinds: String,
    inside: bool,
    width: f64,
    /// How long it took.
    seconds: f64,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// The interval that a value stands for. An exact zero has no digits.
fn interval(case: &Value) -> (Magnitude, Magnitude) {
    let truth: Rational = text(case, "delta").parse().unwrap();
    let Some(digits) = case["certain_digits"].as_i64() else {
        assert_eq!(text(case, "certain_digits"), "exact zero", "{case}");
        return (Magnitude::ZERO, Magnitude::ZERO);
    };
    // One unit of the last digit.
    let slack = &truth * &Rational::power_of_ten(1 - digits as i32);
    ((&truth - &slack).to_magnitude_bounds().0, (&truth + &slack).to_magnitude_bounds().1)
}

fn answer(case: &Value) -> Answer {
    let parts: Vec<Described> = serde_json::from_value(case["composition"].clone()).unwrap();
    let mut kinds: Vec<&str> = parts.iter().map(|part| part.mechanism.kind()).collect();
    kinds.sort_unstable();
    let kinds = kinds.join(" + ");
    let direction: Direction = text(case, "direction").parse().unwrap();
    let groups = parts.into_iter().map(|part| (part.mechanism, part.count));
    let made = Composition::new(groups).and_then(|made| made.in_direction(direction));
    let made = made.unwrap_or_else(|e| panic!("{e}: {case}"));
    let point = Point::new(text(case, "epsilon").parse().unwrap());
    let start = std::time::Instant::now();
    let found: Bounds<Magnitude> = made.accountant().delta(&point, 1e-6).delta;
    let seconds = start.elapsed().as_secs_f64();
    let (low, high) = interval(case);
    let width = if found.upper() == Magnitude::ZERO { 0.0 } else { found.relative_width() };
    let (a, b) = found.to_decimal();
    let line = format!(
        "{} {} at {}: {seconds:.3} s, width {width:.1e}, [{a}, {b}], {} ({:?})",
        text(case, "name"),
        text(case, "direction"),
        text(case, "epsilon"),
        text(case, "delta"),
        made.method(),
    );
    Answer { line, kinds, inside: found.lower() <= high && low <= found.upper(), width, seconds }
}

/// Every value of a file lies within its bounds.
fn check(cases: &Value, least: usize) {
    let cases = cases["cases"].as_array().unwrap();
    assert!(cases.len() >= least, "{} values", cases.len());
    let answers = crate::parallel::map(cases, answer);
    let mut worst: BTreeMap<&str, (usize, &Answer)> = BTreeMap::new();
    for found in &answers {
        let (count, widest) = worst.entry(&found.kinds).or_insert((0, found));
        *count += 1;
        if found.width > widest.width {
            *widest = found;
        }
    }
    let mut slowest: Vec<&Answer> = answers.iter().collect();
    slowest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    for found in slowest.iter().take(5) {
        eprintln!("slow: {}", found.line);
    }
    for (kinds, (count, widest)) in worst {
        eprintln!("{kinds}: {count} values, widest {}", widest.line);
    }
    let outside: Vec<String> = cases
        .iter()
        .zip(&answers)
        .filter(|(_, found)| !found.inside)
        .map(|(case, found)| format!("{} {}", found.line, case["composition"]))
        .collect();
    assert!(outside.is_empty(), "{} of {} outside: {outside:#?}", outside.len(), cases.len());
}

#[test]
fn reference_values_of_other_mechanisms_are_inside() {
    check(&oracle::file("mechanisms.json"), 81);
}

/// Random compositions; `make oracle-mechanisms` gives fresh ones.
#[test]
fn every_answer_of_the_oracle_for_other_mechanisms_is_inside() {
    match std::env::var("UNSPENT_ORACLE_MECHANISMS") {
        Ok(path) => check(&oracle::read(&path), 1),
        Err(_) => {
            check(&oracle::file("mechanisms_closed.json"), 400);
            check(&oracle::file("mechanisms_random.json"), 1930);
        }
    }
}
