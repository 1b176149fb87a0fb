//! Numbers as a person would write them.

use crate::number::{Magnitude, Number, Rational, Round};

/// Digits of numbers made to be read by people.
pub const READABLE: u32 = 8;
/// Digits of numbers made to be read by programs.
pub const FULL: u32 = crate::number::FULL;

/// The same number with its trailing zeros, so that digits stand below digits.
#[must_use]
pub fn padded(number: &str) -> String {
    let (digits, exponent) = number.find('e').map_or((number, ""), |at| number.split_at(at));
    let significant = digits.trim_start_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count();
    let missing = if digits.contains('.') { (READABLE as usize).saturating_sub(significant) } else { 0 };
    format!("{digits}{}{exponent}", "0".repeat(missing))
}

/// The exact value in at most [`FULL`] digits, if it has no more.
fn exact(x: &Rational) -> Option<String> {
    let text = x.to_decimal(FULL, Round::Down);
    (text == x.to_decimal(FULL, Round::Up)).then_some(text)
}

/// The exact value; cut, and marked as such, where that is too long. An ε, δ or ρ is cut upward: a guarantee
/// at what is read must hold.
#[must_use]
pub fn brief(x: &Rational, round: Round) -> String {
    exact(x).unwrap_or_else(|| {
        let near = x.to_decimal(READABLE, round);
        let fraction = x.to_string();
        if fraction.len() <= 16 { format!("{fraction} ≈ {near}") } else { format!("≈ {near}") }
    })
}

/// ` = x`, or ` ≈ x` where it is cut.
#[must_use]
pub fn equals(x: &Rational) -> String {
    let text = brief(x, Round::Up);
    if text.starts_with('≈') { format!(" {text}") } else { format!(" = {text}") }
}

/// ` = x`, exact if that is short, or ` ≤ x`.
pub(super) fn number_equals(x: &Number) -> String {
    match x {
        Number::Exact(x) => equals(x),
        Number::Certified(_) => format!(" ≤ {}", x.at_most(READABLE)),
    }
}

/// An upper bound for people.
pub(super) fn up(x: &Magnitude) -> String {
    padded(&x.to_decimal(READABLE, Round::Up))
}

/// The upper end for people.
pub(super) fn upper(x: &Number) -> String {
    padded(&x.at_most(READABLE))
}

/// The lower end for people.
pub(super) fn lower(x: &Number) -> String {
    padded(&x.at_least(READABLE))
}

/// The change of a variance in percent; a reduction is never more than it is.
pub(super) fn change(factor: &Rational) -> String {
    let percent = &(factor - &Rational::integer(1)) * &Rational::integer(100);
    let sign = if *factor > Rational::integer(1) { "+" } else { "" };
    format!("{sign}{} %", percent.to_decimal(5, Round::Up).replace('-', "−"))
}

/// A number that is no bound, to some digits, to the nearest.
///
/// # Panics
/// If it is not finite.
#[must_use]
pub fn nearest(x: f64, digits: u32) -> String {
    let rounded: Rational = format!("{x:.*e}", digits as usize - 1).parse().expect("a finite number");
    rounded.to_decimal(digits, Round::Up)
}

/// `3 levels`, `1 level`.
pub(super) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_numbers_say_when_they_are_cut() {
        for (text, written) in [
            ("1e-11", "1e-11"),
            ("100000/1460", "5000/73 ≈ 68.49315"),
            ("3.14159265358979323846", "≈ 3.1415926"),
        ] {
            assert_eq!(brief(&text.parse().unwrap(), Round::Down), written);
        }
    }
}
