//! The truth lies inside: values from an independent oracle against the bounds of every method, and a test of
//! that test, which drops one error term after the other and must see truths fall outside.
//!
//! `make oracle-pairs` sets the variable `UNSPENT_ORACLE` to a file of fresh random compositions, to be used
//! instead of `oracle/reference.json`.

use serde_json::Value;

use super::spectrum::Spectrum;
use super::term::{DROPPED, Term};
use super::*;
use crate::oracle;

struct Case {
    name: String,
    groups: Vec<(Mechanism, u128)>,
    points: Vec<Truth>,
}

/// Enclosures of what is known at an ε.
struct Truth {
    epsilon: Rational,
    delta: Enclosure,
    complement: Option<Enclosure>,
    p_tail: Option<Enclosure>,
    q_tail: Option<Enclosure>,
}

type Enclosure = (Rational, Rational);

fn cases(json: &Value) -> Vec<Case> {
    let case = |(index, case): (usize, &Value)| {
        let points = case["points"].as_array().unwrap().iter().map(|p| Truth {
            epsilon: oracle::exact(&p["e"]),
            delta: oracle::enclosure(&p["d"]),
            complement: p.get("c").map(oracle::enclosure),
            p_tail: p.get("p").map(oracle::enclosure),
            q_tail: p.get("q").map(oracle::enclosure),
        });
        let name = case.get("name").and_then(Value::as_str).unwrap_or("case");
        let groups = oracle::groups(&case["groups"]).into_iter().map(|(m, n)| (m, u128::from(n)));
        Case { name: format!("{name} {index}"), groups: groups.collect(), points: points.collect() }
    };
    json["cases"].as_array().unwrap().iter().enumerate().map(case).collect()
}

fn reference() -> Vec<Case> {
    cases(&oracle::file("reference.json"))
}

/// Chosen compositions whose names begin with one of these.
fn standard(names: &[&str]) -> Vec<Case> {
    let mut found = cases(&oracle::file("standard.json"));
    found.retain(|case| names.iter().any(|name| case.name.starts_with(name)));
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
    fn check(&mut self, what: &str, bounds: &Bounds<Magnitude>, truth: &Enclosure) {
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

fn run(cases: &[Case], prepare: impl Fn(Gaussians) -> Gaussians) -> Findings {
    let mut found = Findings::default();
    for case in cases {
        let accountant = prepare(Gaussians::new(&case.groups, Effort::Normal));
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
    let other = std::env::var("UNSPENT_ORACLE");
    let found = run(&other.as_ref().map_or_else(|_| reference(), |path| cases(&oracle::read(path))), |a| a);
    assert!(found.pairs >= 3000);
    assert_inside(&found);
    assert!(other.is_ok() || found.widest_delta <= 1e-9 && found.widest_tail <= 1e-9, "{found:?}");
}

#[test]
fn every_ordinary_profile_lies_inside_and_is_narrow() {
    let found = run(&standard(&["one", "iid", "shift", "mix", "crowd"]), |a| a);
    assert!(found.pairs >= 400);
    assert_inside(&found);
    assert!(found.widest_delta > 0.0 && found.widest_delta <= 1e-10, "{found:?}");
    assert!(found.widest_tail <= 1e-10, "{found:?}");
}

/// Atoms far apart, and ε so near to one that δ is the distance: by whatever method, and by adding atoms up.
#[test]
fn every_sparse_profile_lies_inside() {
    let sparse = standard(&["sparse", "near"]);
    for prepare in [|a| a, |a: Gaussians| a.restrict_to(Method::Enumeration)] {
        let found = run(&sparse, prepare);
        assert!(found.pairs >= 290);
        assert_inside(&found);
    }
}

/// Compositions for which smoothing is meant: no lattice, or one that is fine next to the spread
/// of the loss (on a coarse one the transform comes back at every period).
fn fine(cases: Vec<Case>) -> Vec<Case> {
    let is_fine = |case: &Case| {
        let accountant = Gaussians::new(&case.groups, Effort::Normal);
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
        let make = |method| Gaussians::new(&case.groups, Effort::Normal).restrict_to(method);
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

/// How many truths are outside, if a term is dropped; bounds that cross are noticed too, by a panic.
fn outside(cases: &[Case], term: Option<Term>, prepare: impl Fn(Gaussians) -> Gaussians) -> usize {
    DROPPED.set(term);
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(cases, prepare).outside.len()));
    DROPPED.set(None);
    found.unwrap_or(usize::MAX)
}

/// With a term left out truths fall outside; with it, none does.
fn assert_noticed(cases: &[Case], terms: &[Term], prepare: impl Fn(Gaussians) -> Gaussians + Copy) {
    assert_eq!(outside(cases, None, prepare), 0);
    for term in terms {
        let found = outside(cases, Some(*term), prepare);
        eprintln!("without {term:?}: {found} outside");
        assert!(found > 0, "dropping {term:?} goes unnoticed");
    }
}

/// Without the tails, which take most of the time.
fn without_tails(mut cases: Vec<Case>) -> Vec<Case> {
    for point in cases.iter_mut().flat_map(|case| &mut case.points) {
        (point.p_tail, point.q_tail) = (None, None);
    }
    cases
}

fn half_the_reference() -> Vec<Case> {
    without_tails(reference().into_iter().step_by(2).collect())
}

#[test]
fn a_dropped_error_of_the_contour_is_noticed() {
    let terms = [Term::Rounding, Term::Alias, Term::Windows];
    assert_noticed(&half_the_reference(), &terms, |a| a.restrict_to(Method::Lattice));
}

/// With thresholds so low that what is left out matters: otherwise it is below every rounding.
#[test]
fn a_dropped_part_of_the_contour_is_noticed() {
    let cases = half_the_reference();
    assert_noticed(&cases, &[Term::Outside], |a| {
        let a = a.restrict_to(Method::Lattice);
        Gaussians { spectrum: Spectrum { cut: 2.0, ..a.spectrum }, ..a }
    });
    assert_noticed(&cases, &[Term::Rest], |a| {
        let a = a.restrict_to(Method::Lattice);
        Gaussians { spectrum: Spectrum { rest: 1e-6, ..a.spectrum }, ..a }
    });
}

#[test]
fn a_dropped_smoothing_bracket_is_noticed() {
    let cases = fine(half_the_reference());
    assert_noticed(&cases, &[Term::Smoothing], |a| a.restrict_to(Method::Smoothing));
}

#[test]
fn a_dropped_error_of_the_enumeration_is_noticed() {
    let cases = without_tails(standard(&["near", "sparse", "crowd"]));
    assert_noticed(&cases, &[Term::AtomRounding], |a| a.restrict_to(Method::Enumeration));
}
