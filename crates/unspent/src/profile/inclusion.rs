//! The truth lies inside: values from an independent oracle against the bounds of every method,
//! and a test of that test, which drops one error term after the other and must see it fail.
//!
//! `oracle/reference.json` is part of the project. Two more sources are read where they exist:
//! `../shared/reference/profiles.json` beside the project, and any file of the oracle's named by
//! the variable `UNSPENT_ORACLE` (`make oracle` sets it).

use super::term::{DROPPED, Term};
use super::*;
use crate::effort::Effort;
use crate::mechanism::DiscreteGaussian;
use serde_json::Value;

struct Case {
    name: String,
    groups: Vec<(Mechanism, u128)>,
    points: Vec<Truth>,
}

struct Truth {
    epsilon: Rational,
    /// Enclosures of what is known at this ε.
    delta: (Rational, Rational),
    complement: Option<(Rational, Rational)>,
    p_tail: Option<(Rational, Rational)>,
    q_tail: Option<(Rational, Rational)>,
}

/// A printed value is right to one unit in its last digit; a pair is an enclosure already.
fn enclosure(value: &Value) -> Option<(Rational, Rational)> {
    if let Some(pair) = value.as_array() {
        let end = |i: usize| pair[i].as_str().unwrap().parse().unwrap();
        return Some((end(0), end(1)));
    }
    let text = value.as_str()?;
    let exact: Rational = text.parse().unwrap();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, part)| part.len() as i32);
    let unit = Rational::power_of_ten(exponent.parse::<i32>().unwrap() - places);
    Some((&exact - &unit, &exact + &unit))
}

fn mechanism(sigma2: &Value, shift: &Value) -> Mechanism {
    let sigma2 = sigma2.as_str().unwrap().parse().unwrap();
    DiscreteGaussian::new(sigma2, shift.as_u64().unwrap()).unwrap().into()
}

fn read(path: &str) -> Option<Vec<Case>> {
    let text = std::fs::read_to_string(path).ok()?;
    let json: Value = serde_json::from_str(&text).unwrap();
    let case = |(index, case): (usize, &Value)| {
        let groups = case["groups"].as_array().unwrap().iter().map(|g| match g.as_array() {
            Some(g) => (mechanism(&g[0], &g[2]), u128::from(g[1].as_u64().unwrap())),
            None => (mechanism(&g["sigma2"], &g["shift"]), u128::from(g["count"].as_u64().unwrap())),
        });
        let field = |p: &Value, short: &str, long: &str| {
            enclosure(p.get(short).or(p.get(long)).unwrap_or(&Value::Null))
        };
        let points = case["points"].as_array().unwrap().iter().map(|p| Truth {
            epsilon: p.get("e").or(p.get("epsilon")).unwrap().as_str().unwrap().parse().unwrap(),
            delta: field(p, "d", "delta").unwrap(),
            complement: field(p, "c", "complement"),
            p_tail: field(p, "p", "p_tail"),
            q_tail: field(p, "q", "q_tail"),
        });
        let name = case.get("name").and_then(Value::as_str).unwrap_or("case");
        Case { name: format!("{name} {index}"), groups: groups.collect(), points: points.collect() }
    };
    Some(json["cases"].as_array().unwrap().iter().enumerate().map(case).collect())
}

fn reference() -> Vec<Case> {
    read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracle/reference.json")).expect("part of the project")
}

/// Past the capture of the test runner: what was not tested must be seen.
fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

fn profiles() -> Option<Vec<Case>> {
    let found = read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference/profiles.json"));
    if found.is_none() {
        skipped("../shared/reference/profiles.json is not here");
    }
    found
}

/// What a run over cases found.
#[derive(Debug, Default)]
struct Findings {
    pairs: usize,
    answers: usize,
    outside: Vec<String>,
    widest_delta: f64,
    widest_tail: f64,
}

impl Findings {
    fn check(&mut self, what: &str, bounds: &Bounds<Magnitude>, truth: &(Rational, Rational)) {
        self.answers += 1;
        // Bounds so far out that they are no rationals one would want to build are compared as
        // magnitudes, outward on the truth's side.
        let (low, high) = (truth.0.to_magnitude_bounds().0, truth.1.to_magnitude_bounds().1);
        if !(bounds.lower() <= high && low <= bounds.upper()) {
            let (a, b) = bounds.to_decimal();
            self.outside.push(format!("{what}: {} not in [{a}, {b}]", truth.0.to_f64()));
        }
    }
}

fn run(cases: &[Case], prepare: impl Fn(Accountant) -> Accountant) -> Findings {
    let mut found = Findings::default();
    for case in cases {
        let accountant = prepare(Accountant::new(&case.groups, Effort::Normal));
        for truth in &case.points {
            found.pairs += 1;
            let at = Point::new(truth.epsilon.clone());
            let what =
                |q: &str| format!("{}, {q} at {} ({:?})", case.name, truth.epsilon, accountant.method());
            let delta = accountant.delta(&at, 1e-6);
            found.check(&what("delta"), &delta.delta, &truth.delta);
            let exact = accountant.is_exact();
            if exact {
                found.widest_delta = found.widest_delta.max(delta.delta.relative_width());
            }
            if let Some(complement) = &truth.complement {
                found.check(&what("1 - delta"), &delta.complement, complement);
            }
            if let Some(p) = &truth.p_tail {
                let tail = accountant.p_tail(&at, 1e-6);
                found.check(&what("P tail"), &tail, p);
                found.widest_tail = found.widest_tail.max(if exact { tail.relative_width() } else { 0.0 });
            }
            if let Some(q) = &truth.q_tail {
                let tail = accountant.q_tail(&at, 1e-6);
                found.check(&what("Q tail"), &tail, q);
                found.widest_tail = found.widest_tail.max(if exact { tail.relative_width() } else { 0.0 });
            }
        }
    }
    found
}

fn assert_inside(found: &Findings) {
    eprintln!(
        "{} pairs, {} answers, {} outside; widest delta {:.1e}, tail {:.1e}",
        found.pairs,
        found.answers,
        found.outside.len(),
        found.widest_delta,
        found.widest_tail
    );
    assert!(found.outside.is_empty(), "{:#?}", &found.outside[..found.outside.len().min(20)]);
}

#[test]
fn every_answer_of_the_oracle_lies_inside() {
    let found = run(&reference(), |a| a);
    assert!(found.pairs >= 3000);
    assert_inside(&found);
    assert!(found.widest_delta <= 1e-9 && found.widest_tail <= 1e-9, "{found:?}");
}

#[test]
fn every_reference_profile_lies_inside_and_is_narrow() {
    let Some(cases) = profiles() else { return };
    let found = run(&cases, |a| a);
    assert_inside(&found);
    assert!(found.widest_delta > 0.0 && found.widest_delta <= 1e-10);
    assert!(found.widest_tail <= 1e-10);
}

#[test]
fn more_of_the_oracle_on_demand() {
    let Ok(path) = std::env::var("UNSPENT_ORACLE") else {
        skipped("UNSPENT_ORACLE names no file; see `make oracle`");
        return;
    };
    let cases = read(&path).expect("UNSPENT_ORACLE must name a file of the oracle's");
    assert_inside(&run(&cases, |a| a));
}

/// Compositions for which smoothing is meant: no lattice, or one that is fine next to the spread
/// of the loss (on a coarse one the transform comes back at every period).
fn fine(cases: Vec<Case>) -> Vec<Case> {
    let is_fine = |case: &Case| {
        let accountant = Accountant::new(&case.groups, Effort::Normal);
        let step = accountant.lattice.as_ref().map_or(0.0, |l| l.step_f64);
        accountant.atoms.is_none() && step < 3e-3 * accountant.mu2().sqrt()
    };
    cases.into_iter().filter(is_fine).step_by(6).collect()
}

#[test]
fn smoothing_alone_encloses_the_same_truth() {
    let found = run(&fine(reference()), |a| a.restrict_to(Method::Smoothing));
    assert!(found.pairs > 200);
    assert_inside(&found);
}

#[test]
fn all_methods_overlap() {
    let mut compared = [0; 2];
    for case in reference() {
        let make = |method| Accountant::new(&case.groups, Effort::Normal).restrict_to(method);
        let lattice = make(Method::Lattice);
        let others = [Method::Enumeration, Method::Smoothing].map(make);
        for truth in case.points.iter().step_by(4) {
            let at = Point::new(truth.epsilon.clone());
            if lattice.period().is_none() {
                continue;
            }
            let first = lattice.delta(&at, 1e-6).delta;
            for (i, other) in others.iter().enumerate() {
                let fine = lattice.lattice.as_ref().is_some_and(|l| l.step_f64 < 3e-3 * lattice.mu2().sqrt());
                if if i == 0 { other.atoms.is_some() } else { fine } {
                    let second = other.delta(&at, 1e-6).delta;
                    assert!(first.overlaps(&second), "{}: {first:?} {second:?}", case.name);
                    compared[i] += 1;
                }
            }
        }
    }
    eprintln!("lattice against enumeration {}, smoothing {}", compared[0], compared[1]);
    assert!(compared[0] > 50 && compared[1] > 50);
}

/// The test of the tests: with any error term left out, truths fall outside.
#[test]
fn a_dropped_error_term_is_noticed() {
    // Bounds that cross are noticed too, by a panic.
    let outside = |cases: &[Case], method: Option<Method>, term: Option<Term>| {
        DROPPED.set(term);
        let found = std::panic::catch_unwind(|| {
            run(cases, |a| match method {
                Some(method) => a.restrict_to(method),
                None => a,
            })
            .outside
            .len()
        });
        DROPPED.set(None);
        found.unwrap_or(usize::MAX)
    };
    // Without the tails, which take most of the time.
    let mut cases: Vec<Case> = reference().into_iter().step_by(2).collect();
    for point in cases.iter_mut().flat_map(|case| &mut case.points) {
        (point.p_tail, point.q_tail) = (None, None);
    }
    assert_eq!(outside(&cases, Some(Method::Lattice), None), 0);
    for term in [Term::Rounding, Term::Alias, Term::Windows] {
        let found = outside(&cases, Some(Method::Lattice), Some(term));
        eprintln!("without {term:?}: {found} outside");
        assert!(found > 0, "dropping {term:?} goes unnoticed");
    }
    let cases = fine(cases);
    assert_eq!(outside(&cases, Some(Method::Smoothing), None), 0);
    let found = outside(&cases, Some(Method::Smoothing), Some(Term::Smoothing));
    eprintln!("without {:?}: {found} outside", Term::Smoothing);
    assert!(found > 0, "dropping the smoothing bracket goes unnoticed");
}
