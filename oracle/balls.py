"""Balls: midpoints with a proved radius (Arb, through python-flint), and how they are printed."""

import math
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

# 25 printed digits are 83 bits; seven more leave room for rounding the printed decimal.
DIGITS = 25
WANTED_BITS = 90
LN2 = math.log(2.0)


@contextmanager
def precision(bits):
    """Run a block at a given working precision."""
    before = ctx.prec
    ctx.prec = int(bits)
    try:
        yield
    finally:
        ctx.prec = before


def ball(x):
    """The rational x (Fraction or int) as a ball at the current precision."""
    if isinstance(x, Fraction):
        return arb(fmpq(x.numerator, x.denominator))
    return arb(x)


def as_fraction(x):
    """The midpoint of a ball."""
    mantissa, exponent = x.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def between(low, high):
    """A ball that contains everything from the lower end of `low` to the upper end of `high`."""
    return arb(low).union(arb(high))


def zero_to(bound):
    """A ball that contains [0, bound]."""
    return between(arb(0), arb(bound).upper())


def two_to(exponent):
    """2**exponent as an exact ball."""
    return arb(2) ** int(exponent)


def is_sharp(x, bits=WANTED_BITS):
    return bool(x.is_finite()) and x.rel_accuracy_bits() >= bits


def decimal(x, digits=DIGITS):
    """Decimal digits of a ball; the truth is within one unit of the last digit printed."""
    return x.str(digits, radius=False)


def directed(x, upwards, digits=12):
    """A decimal that is certainly not below (upwards) or not above the ball x."""
    with precision(200):
        end = arb(x.upper() if upwards else x.lower())
        text = end.str(digits, radius=False)
        # The printed decimal may be off by one unit in the last place: step outward until it is not.
        mantissa, _, exponent = text.partition("e")
        places = len(mantissa.partition(".")[2])
        unit = Fraction(10) ** (int(exponent or 0) - places)
        value = Fraction(text) + (unit if upwards else -unit)
        assert (ball(value) >= end) if upwards else (ball(value) <= end)
        return f"{0:.{digits - 1}e}" if value == 0 else scientific(value)


def scientific(value):
    """An exact finite decimal in the form 1.234e-5."""
    sign, value = ("-", -value) if value < 0 else ("", value)
    exponent = 0
    while value >= 10:
        value, exponent = value / 10, exponent + 1
    while value < 1:
        value, exponent = value * 10, exponent - 1
    digits = ""
    while value:
        digit = int(value)
        digits, value = digits + str(digit), (value - digit) * 10
    return f"{sign}{digits[0]}.{digits[1:] or '0'}e{exponent}"
