//! Exact rationals in decimal, rounded in a stated direction.
//!
//! What a user gave has an exact value that no double need hold: 1/3, or 10⁻¹⁰⁰⁰. It is written as
//! `s·10^k` with `1 ≤ s < 10` exact, and digits are taken from `s` one by one.

use unspent::{Magnitude, Rational, Round};

/// Digits of numbers made to be read by people.
pub const READABLE: u32 = 8;
/// Digits of numbers made to be read by programs.
pub const FULL: u32 = 17;

/// `significand·10^exponent`, exactly.
struct Scientific {
    significand: Rational,
    exponent: i64,
}

impl Scientific {
    /// Of a positive `x`.
    fn new(x: &Rational) -> Scientific {
        let text = x.to_string();
        let (numerator, denominator) = text.split_once('/').unwrap_or((&text, "1"));
        // Numbers of a and b digits have a quotient between 10^(a−b−1) and 10^(a−b+1).
        let mut exponent = numerator.len() as i64 - denominator.len() as i64;
        let mut significand = divide_by_power_of_ten(x.clone(), exponent);
        if significand < Rational::integer(1) {
            significand = significand * Rational::integer(10);
            exponent -= 1;
        }
        Scientific {
            significand,
            exponent,
        }
    }

    /// The first `digits` digits as an integer, and whether anything comes after them.
    fn leading(&self, digits: u32) -> (u128, bool) {
        let mut rest = self.significand.clone();
        let mut n = 0;
        for _ in 0..digits {
            let digit = (1..10u8)
                .take_while(|&d| Rational::integer(d) <= rest)
                .count();
            n = 10 * n + digit as u128;
            rest = (rest - Rational::integer(digit)) * Rational::integer(10);
        }
        (n, rest != Rational::integer(0))
    }

    fn log10(&self, round: Round) -> f64 {
        let k = self.exponent as f64;
        if self.significand == Rational::integer(1) {
            return k;
        }
        // The nearest double is within one unit; so is the sum, |k| being far below 2⁵³.
        let s = self.significand.to_f64();
        match round {
            Round::Up => (k + Magnitude::from_f64(s.next_up()).log10(Round::Up)).next_up(),
            Round::Down => (k + Magnitude::from_f64(s.next_down()).log10(Round::Down)).next_down(),
        }
    }
}

/// Decimal digits of `x ≥ 0`, at most `digits` of them, rounded in the given direction.
pub fn to_decimal(x: &Rational, digits: u32, round: Round) -> String {
    if *x == Rational::integer(0) {
        return "0".into();
    }
    let scientific = Scientific::new(x);
    let mut exponent = scientific.exponent;
    let (mut n, more) = scientific.leading(digits);
    if more && round == Round::Up {
        n += 1;
        if n == 10u128.pow(digits) {
            n /= 10;
            exponent += 1;
        }
    }
    format_decimal(n, digits, exponent)
}

/// Writes `n·10^(exponent + 1 − digits)` the way the library writes its bounds.
fn format_decimal(n: u128, digits: u32, exponent: i64) -> String {
    let text = n.to_string();
    if (0..i64::from(digits)).contains(&exponent) {
        let (whole, part) = text.split_at(exponent as usize + 1);
        return format!("{whole}.{part}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .into();
    }
    let text = text.trim_end_matches('0');
    if (-4..0).contains(&exponent) {
        return format!("0.{}{text}", "0".repeat((-exponent - 1) as usize));
    }
    let (first, rest) = text.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}e{exponent}")
}

/// log₁₀ of `x > 0`, rounded in the given direction.
pub fn log10(x: &Rational, round: Round) -> f64 {
    Scientific::new(x).log10(round)
}

/// The exact value in at most [`FULL`] digits, if it has no more.
pub fn exact(x: &Rational) -> Option<String> {
    let text = to_decimal(x, FULL, Round::Down);
    (text == to_decimal(x, FULL, Round::Up)).then_some(text)
}

/// The exact value as a person would write it; cut, and marked as such, where that is too long.
pub fn brief(x: &Rational) -> String {
    exact(x).unwrap_or_else(|| {
        let near = to_decimal(x, READABLE, Round::Down);
        let fraction = x.to_string();
        if fraction.len() <= 16 {
            format!("{fraction} ≈ {near}")
        } else {
            format!("≈ {near}")
        }
    })
}

fn divide_by_power_of_ten(mut x: Rational, exponent: i64) -> Rational {
    // No power beyond this can be read from text.
    const STEP: i64 = 10_000;
    let mut left = exponent;
    while left != 0 {
        let step = left.clamp(-STEP, STEP);
        let power: Rational = format!("1e{step}").parse().expect("a power of ten");
        x = x / power;
        left -= step;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn rounds_outward_and_keeps_what_is_exact() {
        for text in [
            "1/3",
            "2/3",
            "1e-1000/7",
            "999999999999999999999/1000",
            "1e10000/1e-10000",
            "22/7e20",
        ] {
            let x = r(text);
            for digits in [1, READABLE, FULL] {
                let (low, high) = (
                    to_decimal(&x, digits, Round::Down),
                    to_decimal(&x, digits, Round::Up),
                );
                if x < r("1e10000") {
                    assert!(r(&low) <= x && x <= r(&high), "{text}: {low} {high}");
                    let narrow = (r(&high) - r(&low)) * r(&format!("1e{}", digits - 1));
                    assert!(narrow <= r(&high), "{text}: {low} {high}");
                }
            }
        }
        for (text, decimal) in [
            ("6.57", "6.57"),
            ("1e-11", "1e-11"),
            ("0", "0"),
            ("0.00012", "0.00012"),
            ("0.000012", "1.2e-5"),
            ("100", "100"),
            ("1e20", "1e20"),
            ("1e10000/1e-10000", "1e20000"),
        ] {
            assert_eq!(to_decimal(&r(text), FULL, Round::Down), decimal);
            assert_eq!(to_decimal(&r(text), FULL, Round::Up), decimal);
        }
        assert_eq!(to_decimal(&r("0.99999"), 3, Round::Up), "1");
        assert_eq!(to_decimal(&r("1/3"), 3, Round::Up), "0.334");
    }

    #[test]
    fn agrees_with_the_library_on_doubles() {
        for x in [0.1, 1e-5, 123456.75, 1e22, 9.999999999999999e-5, 2.5e-310] {
            let exact = Rational::from_f64("x", x).unwrap();
            for round in [Round::Down, Round::Up] {
                assert_eq!(
                    to_decimal(&exact, FULL, round),
                    Magnitude::from_f64(x).to_decimal(17, round)
                );
            }
        }
    }

    #[test]
    fn logarithms_enclose() {
        assert_eq!(
            (
                log10(&r("1e-1000"), Round::Down),
                log10(&r("1e-1000"), Round::Up)
            ),
            (-1000.0, -1000.0)
        );
        // log₁₀ 2 = 0.30102999566398119521…
        let (low, high) = (
            log10(&r("2e-50"), Round::Down),
            log10(&r("2e-50"), Round::Up),
        );
        let truth = r("-49.69897000433601880479");
        assert!(
            Rational::from_f64("", low).unwrap() <= truth
                && truth <= Rational::from_f64("", high).unwrap()
        );
        assert!(high - low < 1e-13);
    }

    #[test]
    fn brief_numbers_say_when_they_are_cut() {
        assert_eq!(brief(&r("1e-11")), "1e-11");
        assert_eq!(brief(&r("100000/1460")), "5000/73 ≈ 68.49315");
        assert_eq!(brief(&r("3.14159265358979323846")), "≈ 3.1415926");
    }
}
