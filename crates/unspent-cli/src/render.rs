//! The report of `unspent account` as a table for people.

use std::fmt::Write;

use unspent::report::Figure;
use unspent::{Magnitude, Method, Round};

use crate::decimal::{self, READABLE, padded};
use crate::document::columns;
use crate::report::{Input, Point, Report};

/// Groups of mechanisms shown before the rest is only counted.
const SHOWN: usize = 20;

/// A table of at most 100 columns.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    release(&mut text, report);
    let epsilon = ["epsilon, given", "delta: guarantee (≤)", "delta: truth is at least (≥)"];
    answers(&mut text, report, Input::Epsilon, epsilon, |point| Some(&point.delta));
    let delta = ["delta, given", "epsilon: guarantee (≤)", "epsilon: truth is at least (≥)"];
    answers(&mut text, report, Input::Delta, delta, |point| Some(&point.epsilon));
    conversions(&mut text, report);
    let p_tail = ["epsilon, given", "P[L > epsilon], record absent (≤)", "at least (≥)"];
    answers(&mut text, report, Input::Epsilon, p_tail, |point| point.p_tail.as_ref());
    let q_tail = ["epsilon, given", "Q[L > epsilon], record present (≤)", "at least (≥)"];
    answers(&mut text, report, Input::Epsilon, q_tail, |point| point.q_tail.as_ref());
    text += "\
Every (≤) is a guarantee for this release: one record moves only these answers, each by its shift.
Whether neighbours add, remove or replace a record is up to the counts and shifts given.
";
    text
}

fn release(text: &mut String, report: &Report) {
    let total: u128 = report.mechanisms.iter().map(|m| u128::from(m.count)).sum();
    let rho = match &report.rho {
        Figure::Exact(rho) => decimal::exact(rho).map(|exact| format!("= {exact}")),
        Figure::Between { .. } => None,
    };
    let rho = rho.unwrap_or_else(|| format!("≤ {}", report.rho.at_most(READABLE)));
    let _ = writeln!(
        text,
        "Release: {total} {} with discrete Gaussian noise of {} {}; zCDP rho {rho}",
        if total == 1 { "answer" } else { "answers" },
        report.kinds,
        if report.kinds == 1 { "kind" } else { "kinds" },
    );
    let mut rows = vec![];
    for m in report.mechanisms.iter().take(SHOWN) {
        rows.push(vec![m.count.to_string(), decimal::brief(&m.sigma2, Round::Down), m.shift.to_string()]);
    }
    columns(text, &["count", "sigma2", "shift"], &rows);
    if report.mechanisms.len() > SHOWN {
        let _ = writeln!(text, "  … and {} more groups", report.mechanisms.len() - SHOWN);
    }
    let _ = writeln!(text, "\nMethod: {}", in_words(report.method));
    let any_delta = report.points.iter().any(|point| point.input == Input::Epsilon);
    if let Some(tolerance) = report.tolerance.filter(|_| any_delta) {
        let _ =
            writeln!(text, "Tolerance: each delta asked for is known to a relative width of {tolerance:e}.");
    }
    text.push('\n');
}

fn in_words(method: Method) -> &'static str {
    match method {
        Method::Lattice => {
            "lattice. The privacy losses lie on a lattice and are summed; only rounding is left."
        }
        Method::Enumeration => {
            "enumeration. The privacy losses are so few that all are added up; only rounding is left."
        }
        Method::Smoothing => {
            "smoothing. No usable lattice; the two ends are a certified bracket around the truth."
        }
        Method::Continuous => "continuous. The privacy loss is smooth by itself; only rounding is left.",
    }
}

/// The answers to one sort of question, if any was asked.
fn answers(
    text: &mut String,
    report: &Report,
    input: Input,
    heads: [&str; 3],
    answer: impl Fn(&Point) -> Option<&Figure>,
) {
    let mut rows = vec![];
    for point in report.points.iter().filter(|point| point.input == input) {
        let given = match input {
            Input::Epsilon => &point.epsilon,
            Input::Delta => &point.delta,
        };
        if let (Figure::Exact(given), Some(answer)) = (given, answer(point)) {
            let (least, most) = (answer.at_least(READABLE), answer.at_most(READABLE));
            rows.push(vec![decimal::brief(given, Round::Up), padded(&most), padded(&least)]);
        }
    }
    if !rows.is_empty() {
        columns(text, &heads, &rows);
        text.push('\n');
    }
}

/// What zCDP alone would say, for comparison.
fn conversions(text: &mut String, report: &Report) {
    let mut rows = vec![];
    for point in &report.points {
        if let (Figure::Exact(delta), Some(zcdp)) = (&point.delta, &point.zcdp) {
            let up = |x: &Magnitude| padded(&x.to_decimal(READABLE, Round::Up));
            rows.push(vec![
                decimal::brief(delta, Round::Up),
                up(&zcdp.canonne_kamath_steinke),
                up(&zcdp.bun_steinke),
            ]);
        }
    }
    if !rows.is_empty() {
        let heads = ["for comparison", "from rho, Canonne-Kamath-Steinke (≤)", "from rho, Bun-Steinke (≤)"];
        columns(text, &heads, &rows);
        text.push('\n');
    }
}
