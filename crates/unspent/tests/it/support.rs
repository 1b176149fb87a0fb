//! What the tests share.

use unspent::certificate::Line;
use unspent::{Allocation, Certificate, Rational, Release};

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
