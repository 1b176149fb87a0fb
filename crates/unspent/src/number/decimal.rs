//! Numbers as decimal text: reading exactly, and writing a given number of digits.

use std::str::FromStr;

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Pow};

/// Largest decimal exponent accepted, either way.
pub(super) const MAX_EXPONENT: u64 = 10_000;

pub(super) enum DecimalError {
    Syntax,
    Exponent,
}

pub(super) fn ten_to(exponent: i64) -> BigRational {
    let power = BigInt::from(BigUint::from(10u8).pow(exponent.unsigned_abs()));
    if exponent >= 0 { BigRational::from_integer(power) } else { BigRational::new_raw(BigInt::one(), power) }
}

/// `[+-] digits [. digits] [e [+-] digits]`, at least one digit before the exponent.
pub(super) fn read(text: &str) -> std::result::Result<BigRational, DecimalError> {
    let text = text.trim();
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let exponent = match exponent {
        None => 0,
        Some(digits) => {
            let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
            if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
                return Err(DecimalError::Syntax);
            }
            // |i64::MIN| is no i64: `abs` would wrap, and a power of ten of 2⁶³ digits be begun.
            let within = |e: &i64| e.unsigned_abs() <= MAX_EXPONENT;
            i64::from_str(digits).ok().filter(within).ok_or(DecimalError::Exponent)?
        }
    };
    let (negative, unsigned) = match mantissa.as_bytes().first() {
        Some(b'-') => (true, &mantissa[1..]),
        Some(b'+') => (false, &mantissa[1..]),
        _ => (false, mantissa),
    };
    let (whole, part) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{part}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(DecimalError::Syntax);
    }
    let n = BigInt::from_str(&digits).map_err(|_| DecimalError::Syntax)?;
    let n = if negative { -n } else { n };
    Ok(BigRational::from_integer(n) * ten_to(exponent - part.len() as i64))
}

/// `low·2^shift ≤ 10^power ≤ high·2^shift`, exact up to 256 bits; beyond, repeated squaring, cut
/// to 256 bits outward after every step.
pub(super) fn power_of_ten(power: u64) -> (BigUint, BigUint, i64) {
    const BITS: u64 = 256;
    let cut = |low: BigUint, high: BigUint, shift: i64| {
        let excess = high.bits().saturating_sub(BITS);
        if excess == 0 {
            return (low, high, shift);
        }
        let rounded = &high >> excess;
        let high = if (&rounded << excess) == high { rounded } else { rounded + 1u8 };
        (low >> excess, high, shift + excess as i64)
    };
    let (mut low, mut high, mut shift) = (BigUint::one(), BigUint::one(), 0i64);
    for bit in (0..64 - power.leading_zeros()).rev() {
        (low, high, shift) = cut(&low * &low, &high * &high, 2 * shift);
        if power >> bit & 1 == 1 {
            (low, high, shift) = cut(low * 10u8, high * 10u8, shift);
        }
    }
    (low, high, shift)
}

/// The digits of a positive number, given about its decimal logarithm and `x·10^power` rounded to an
/// integer in the direction wanted.
pub(super) fn write(log10: f64, digits: u32, scaled: impl Fn(i64) -> u128) -> String {
    // The estimate of the leading digit's place is off by one near a power of ten, and by more
    // where the logarithm itself has no digits after the point.
    let digits = digits.clamp(1, 38);
    let mut leading = log10.floor() as i64;
    let (least, limit) = (10u128.pow(digits - 1), 10u128.pow(digits));
    loop {
        let n = scaled(i64::from(digits) - 1 - leading);
        if n >= limit {
            leading += (i64::from(n.ilog10()) + 1 - i64::from(digits)).max(1);
        } else if n < least {
            let found = if n == 0 { -1 } else { i64::from(n.ilog10()) };
            leading -= i64::from(digits) - 1 - found;
        } else {
            return format_decimal(n, digits, leading);
        }
    }
}

/// Writes `n / 10^(digits−1) · 10^leading`, trailing zeros dropped.
fn format_decimal(n: u128, digits: u32, leading: i64) -> String {
    let text = format!("{n:0width$}", width = digits as usize);
    if (0..i64::from(digits)).contains(&leading) {
        let (whole, part) = text.split_at(leading as usize + 1);
        let part = part.trim_end_matches('0');
        return if part.is_empty() { whole.into() } else { format!("{whole}.{part}") };
    }
    let trimmed = text.trim_end_matches('0');
    if (-4..0).contains(&leading) {
        let zeros = "0".repeat((-leading - 1) as usize);
        return format!("0.{zeros}{trimmed}");
    }
    let (first, rest) = trimmed.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}e{leading}")
}
