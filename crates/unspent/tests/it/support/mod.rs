//! What the tests share.

mod expect;

use std::path::Path;

use unspent::certificate::Line;
use unspent::{Allocation, Certificate, Rational, Release};

pub use expect::expect;

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
