//! Given numbers as a person would write them.

use unspent::{Rational, Round};

pub use unspent::report::{FULL, READABLE, padded};

/// The exact value in at most [`FULL`] digits, if it has no more.
pub fn exact(x: &Rational) -> Option<String> {
    let text = x.to_decimal(FULL, Round::Down);
    (text == x.to_decimal(FULL, Round::Up)).then_some(text)
}

/// The exact value; cut, and marked as such, where that is too long. An ε, δ or ρ is cut upward: a guarantee at
/// what is read must hold.
pub fn brief(x: &Rational, round: Round) -> String {
    exact(x).unwrap_or_else(|| {
        let near = x.to_decimal(READABLE, round);
        let fraction = x.to_string();
        if fraction.len() <= 16 { format!("{fraction} ≈ {near}") } else { format!("≈ {near}") }
    })
}

/// ` = x`, or ` ≈ x` where it is cut.
pub fn equals(x: &Rational) -> String {
    let text = brief(x, Round::Up);
    if text.starts_with('≈') { format!(" {text}") } else { format!(" = {text}") }
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
