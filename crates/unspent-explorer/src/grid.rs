//! Points to ask at.

use unspent::{Error, Rational, Result};

/// Most points of a grid.
const MAX_POINTS: u64 = 100_000;
/// Significant digits of the points of a grid.
const DIGITS: usize = 9;

/// Reads how many points.
pub fn parse_points(text: &str) -> Result<usize> {
    let points = text.parse().ok().filter(|n| (2..=MAX_POINTS).contains(n));
    points.map(|n| n as usize).ok_or_else(|| {
        Error::input(
            "points",
            text,
            format!("a whole number between 2 and {MAX_POINTS}"),
            "201 make a smooth curve",
        )
    })
}

/// Evenly spaced, both ends exactly as given, the others decimals of nine digits where these can tell them
/// apart.
pub fn linear(from: &Rational, to: &Rational, points: usize) -> Vec<Rational> {
    let mut values = vec![from.clone()];
    let step = &(to - from) / &Rational::from(points as u64 - 1);
    for i in 1..points - 1 {
        let exactly = from + &(&step * &Rational::from(i as u64));
        let rounded: Rational =
            format!("{:.*e}", DIGITS - 1, exactly.to_f64()).parse().expect("a finite number");
        let fits = values[i - 1] < rounded && rounded < *to;
        values.push(if fits { rounded } else { exactly });
    }
    values.push(to.clone());
    values
}

/// Evenly spaced in the logarithm.
pub fn logarithmic(from: &Rational, to: &Rational, points: usize) -> Vec<Rational> {
    // Far below the doubles as well: digits and exponent apart.
    let log = |x: &Rational| x.to_bounds().log10().upper();
    let (low, high) = (log(from), log(to));
    let mut values = vec![from.clone()];
    for i in 1..points - 1 {
        let exponent = low + (high - low) * i as f64 / (points - 1) as f64;
        let whole = exponent.floor();
        // Any point near would do; but the grid is to be the same on every machine.
        let digits = pxfm::f_exp10(exponent - whole);
        values.push(format!("{digits:.*}e{whole}", DIGITS - 1).parse().expect("a number"));
    }
    values.push(to.clone());
    values
}
