"""Where delta crosses a target as all variances are scaled by a common factor, to 18 digits.

The factor is enclosed by two decimals: delta is certainly above the target at the first and certainly not
above it at the second.  Nothing is said of other crossings, of which there are some where single losses
dominate.
"""

from fractions import Fraction

from .balls import ball, precision
from .composition import Composition
from .methods import evaluate

# Groups, epsilon, delta, and a stretch of factors in which delta crosses the target once.
TARGETS = [
    ([("5", 10, 1)], "11.07", "1e-11", "0.5", "2"),
    ([("5", 10, 1)], "1", "0.001", "5", "80"),
    ([("50000/10001", 10, 1)], "6", "1e-10", "0.5", "20"),
    ([("40", 3, 2)], "3", "1e-6", "0.1", "10"),
    ([("5", 2, 1), ("15/2", 3, 1)], "4", "1e-5", "0.3", "10"),
    ([("100", 1, 1)], "0.5", "1e-9", "0.1", "100"),
    ([("2000", 40, 1)], "0.2", "0.01", "0.01", "10"),
    ([("3", 4, 1)], "2", "0.3", "0.05", "1"),
]
DIGITS = 18


def crossing(groups, epsilon, delta, low, high):
    """Two neighbouring decimals between which delta passes the target."""

    def is_met(factor):
        composition = Composition([(Fraction(s) * factor, n, d) for s, n, d in groups])
        found = evaluate(composition, [epsilon], cross_check=False)[1][0]["d"]
        with precision(200):
            target = ball(delta)
            met, missed = found <= target, found > target
            assert met or missed, "too near to tell"
            return bool(met)

    assert is_met(high) and not is_met(low)
    while True:
        middle = (low + high) / 2
        # Rounded to a decimal of so many digits.
        middle = Fraction(f"{float(middle):.15e}") if high / low > 1 + 1e-13 else rounded(middle)
        if not low < middle < high:
            return low, high
        if is_met(middle):
            high = middle
        else:
            low = middle


def rounded(value):
    """The decimal of DIGITS significant digits below a value between 1e-3 and 1e3."""
    places = DIGITS
    while value * 10**places >= 10**DIGITS:
        places -= 1
    return Fraction(int(value * 10**places), 10**places)


def text(value):
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(int(value * 10**places)).zfill(places + 1)
    return f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else digits


def calibrations():
    """Every entry of the reference file."""
    found = []
    for groups, epsilon, delta, low, high in TARGETS:
        ends = crossing(groups, *map(Fraction, (epsilon, delta, low, high)))
        found.append(
            {
                "groups": Composition(groups).names(),
                "epsilon": epsilon,
                "delta": delta,
                "factor": [text(end) for end in ends],
            }
        )
    return found
