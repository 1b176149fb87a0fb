//! Numbers of 400 bits, to check roundings with: another bignum than the one that is checked.

use dashu_float::{FBig, round::mode::HalfEven};
use dashu_int::IBig;

use super::magnitude::Magnitude;
use super::rational::Rational;

pub(crate) type Big = FBig<HalfEven, 2>;

/// Far more bits than any difference that is looked at.
const BITS: usize = 400;

/// Exactly a double.
pub(crate) fn big(x: f64) -> Big {
    Big::try_from(x).unwrap().with_precision(BITS).value()
}

/// Exactly a magnitude.
pub(crate) fn of_magnitude(m: Magnitude) -> Big {
    let (mantissa, exponent) = m.parts();
    big(mantissa) * power_of_two(exponent as isize)
}

/// A rational, to all bits.
pub(crate) fn of_rational(x: &Rational) -> Big {
    integer(x.numerator()) / integer(x.denominator())
}

pub(crate) fn power_of_two(exponent: isize) -> Big {
    Big::from_parts(IBig::ONE, exponent).with_precision(BITS).value()
}

fn integer(n: &num_bigint::BigInt) -> Big {
    Big::from(IBig::from_str_radix(&n.to_string(), 10).unwrap()).with_precision(BITS).value()
}
