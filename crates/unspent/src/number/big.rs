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

/// A sequence of numbers to try, the same every time.
pub(crate) struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// Between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
