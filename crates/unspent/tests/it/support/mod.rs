//! What the tests share.

mod expect;

use std::path::Path;

use unspent::question::{
    CertificateQuestion, ComparisonQuestion, CurveQuestion, Grid, Product, TradeoffQuestion,
};
use unspent::report::certificate::Line;
use unspent::{
    Allocation, Alpha, Ask, Certificate, Comparison, Conversion, Curve, Delta, Epsilon, Rational, Release,
    Scope, TradeoffCurve,
};

pub use expect::{expect, expected_in};

pub fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

/// The release of one preset.
pub fn preset(name: &str) -> Release {
    Release::from(Allocation::preset(name).unwrap())
}

#[track_caller]
pub fn line<'c>(certificate: &'c Certificate, label: &str) -> &'c Line {
    certificate.lines.iter().find(|line| line.label == label).unwrap_or_else(|| panic!("no line {label}"))
}

/// The rows of one of the repository's tables without quoted fields, without its head.
pub fn facts(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().skip(1).map(|line| line.split(',').map(String::from).collect()).collect()
}

/// The certificate of a release.
#[track_caller]
pub fn certificate(release: &Release, delta: Option<&Delta>, conversion: Option<Conversion>) -> Certificate {
    let question = CertificateQuestion::about(Product::all_of(release));
    CertificateQuestion { delta: delta.cloned(), conversion, ..question }.answer().unwrap()
}

/// Two releases side by side.
#[track_caller]
pub fn comparison(a: &Release, b: &Release) -> Comparison {
    let (first, second) = (Product::all_of(a), Product::all_of(b));
    ComparisonQuestion { first, second, delta: None }.answer().unwrap()
}

/// δ at these ε.
#[track_caller]
pub fn over_epsilon(release: &Release, part: &Scope, grid: &[Epsilon]) -> Curve {
    let (release, over) = (Product::all_of(release), Grid::Epsilon(grid.to_vec()));
    CurveQuestion { release, part: part.clone(), over }.answer().unwrap()
}

/// ε at these δ.
#[track_caller]
pub fn over_delta(release: &Release, part: &Scope, grid: &[Delta]) -> Curve {
    let (release, over) = (Product::all_of(release), Grid::Delta(grid.to_vec()));
    CurveQuestion { release, part: part.clone(), over }.answer().unwrap()
}

/// The trade-off function at these rates.
#[track_caller]
pub fn tradeoff(release: &Release, part: &Scope, rates: &[Alpha]) -> TradeoffCurve {
    let (release, rates) = (Product::all_of(release), rates.to_vec());
    TradeoffQuestion { release, part: part.clone(), rates }.answer().unwrap()
}
