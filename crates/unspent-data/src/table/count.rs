//! Counts as they are written in tables.

use unspent::{Error, Result};

/// Reads a count. An error calls it `column`, and shows what it was only if it is [revealed](Error::revealed).
pub fn parse(column: &str, text: &str) -> Result<i64> {
    let text = text.trim();
    // Nearly all of a table: keep it short.
    if let Ok(count @ 0..) = text.parse::<i64>() {
        return Ok(count);
    }
    let hint = if text.is_empty() {
        "a count is missing: write 0 if there is nobody"
    } else if text.starts_with('-') {
        "counts are never negative"
    } else if text.bytes().all(|b| b.is_ascii_digit()) {
        "the largest count is 2^63 − 1"
    } else if text.parse::<f64>().is_ok_and(f64::is_finite) {
        "counts are whole: noise on the integers is for integers"
    } else {
        "write digits only"
    };
    Err(Error::input(column, text, "a count", hint).concealed())
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
        assert_eq!((digits(b"12"), digits(b" 12"), digits(b"")), (Some(12), None, None));
        for (text, hint) in [
            ("", "a count is missing: write 0 if there is nobody"),
            ("-1", "counts are never negative"),
            ("9223372036854775808", "the largest count is 2^63 − 1"),
            ("1.5", "counts are whole: noise on the integers is for integers"),
            ("NA", "write digits only"),
            ("nan", "write digits only"),
        ] {
            let error = parse("pop", text).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.hint()), ("pop: is not a count", hint));
            assert_eq!(error.revealed().to_string(), format!("pop: `{text}` is not a count"));
        }
        assert!(check("pop", 0).is_ok() && check("pop", -1).is_err());
    }
}
