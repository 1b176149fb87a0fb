//! Counts as they are written in tables.

use unspent::{Error, Result};

const MISSING: &str = "a count is missing: write 0 if there is nobody";
const NEGATIVE: &str = "counts are never negative";
const NOT_WHOLE: &str = "counts are whole: noise on the integers is for integers";
/// Below, every integer is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a count. An error calls it `column`, and shows what it was only if it is
/// [revealed](Error::revealed).
pub fn parse(column: &str, text: &str) -> Result<i64> {
    let text = text.trim();
    // Nearly all of a table: keep it short.
    if let Ok(count @ 0..) = without_zeros(text).parse::<i64>() {
        return Ok(count);
    }
    let hint = if text.is_empty() {
        MISSING
    } else if text.starts_with('-') {
        NEGATIVE
    } else if without_zeros(text).bytes().all(|b| b.is_ascii_digit()) {
        "the largest count is 2^63 − 1"
    } else if text.parse::<f64>().is_ok_and(|number| number.is_finite() && number.fract() != 0.0) {
        NOT_WHOLE
    } else {
        "write digits only"
    };
    Err(Error::input(column, text, "a count", hint).concealed())
}

/// The digits before a point that has only zeros after it: programs write integers so.
fn without_zeros(text: &str) -> &str {
    match text.split_once('.') {
        Some((digits, zeros))
            if !digits.is_empty()
                && digits.bytes().all(|b| b.is_ascii_digit())
                && !zeros.is_empty()
                && zeros.bytes().all(|b| b == b'0') =>
        {
            digits
        }
        _ => text,
    }
}

/// A count that was stored as a floating-point number.
pub(super) fn whole(column: &str, number: f64) -> Result<i64> {
    if (0.0..EXACT).contains(&number) && number.fract() == 0.0 {
        return Ok(number as i64);
    }
    let hint = if number.is_nan() {
        MISSING
    } else if number < 0.0 {
        NEGATIVE
    } else if number >= EXACT {
        "a double has all integers below 2^53 and not all above: store counts as integers"
    } else {
        NOT_WHOLE
    };
    Err(Error::input(column, number, "a count", hint).concealed())
}

/// The same of bytes: digits without anything around them, if that is what they are.
pub(super) fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| 10 * n + i64::from(b - b'0')))
}

/// A count that is a number already.
pub(super) fn check(column: &str, count: i64) -> Result<()> {
    if count >= 0 { Ok(()) } else { parse(column, &count.to_string()).map(|_| ()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_digits() {
        assert_eq!(parse("pop", " 12 ").unwrap(), 12);
        assert_eq!(parse("pop", "9223372036854775807").unwrap(), i64::MAX);
        assert_eq!(parse("pop", " 12.0").unwrap(), 12);
        assert_eq!(parse("pop", "9223372036854775807.000").unwrap(), i64::MAX);
        assert_eq!((digits(b"12"), digits(b" 12"), digits(b"")), (Some(12), None, None));
        for (text, hint) in [
            ("", "a count is missing: write 0 if there is nobody"),
            ("-1", "counts are never negative"),
            ("9223372036854775808", "the largest count is 2^63 − 1"),
            ("1.5", "counts are whole: noise on the integers is for integers"),
            ("NA", "write digits only"),
            ("nan", "write digits only"),
            ("12.", "write digits only"),
            (".0", "write digits only"),
            ("1e3", "write digits only"),
            ("12.0.0", "write digits only"),
            ("12.0x", "write digits only"),
            ("-1.0", "counts are never negative"),
            ("12.01", "counts are whole: noise on the integers is for integers"),
            ("9223372036854775808.0", "the largest count is 2^63 − 1"),
        ] {
            let error = parse("pop", text).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.hint()), ("pop: is not a count", hint));
            assert_eq!(error.revealed().to_string(), format!("pop: `{text}` is not a count"));
        }
        assert!(check("pop", 0).is_ok() && check("pop", -1).is_err());
    }

    #[test]
    fn doubles_are_counts_if_they_are_exact() {
        for (number, count) in [(0.0, 0), (-0.0, 0), (12.0, 12), (EXACT - 1.0, (1 << 53) - 1)] {
            assert_eq!(whole("pop", number).unwrap(), count);
        }
        for (number, shown, hint) in [
            (0.5, "0.5", NOT_WHOLE),
            (5e-324, "0.00", NOT_WHOLE),
            (-1.0, "-1", NEGATIVE),
            (-0.5, "-0.5", NEGATIVE),
            (f64::NEG_INFINITY, "-inf", NEGATIVE),
            (f64::NAN, "NaN", MISSING),
            (
                EXACT,
                "9007199254740992",
                "a double has all integers below 2^53 and not all above: store counts as integers",
            ),
            (
                f64::INFINITY,
                "inf",
                "a double has all integers below 2^53 and not all above: store counts as integers",
            ),
        ] {
            let error = whole("pop", number).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.hint()), ("pop: is not a count", hint));
            assert!(error.revealed().to_string().starts_with(&format!("pop: `{shown}")), "{number}");
        }
    }
}
