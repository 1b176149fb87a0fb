"""The oracle's values lie inside the bounds, asked one by one and as arrays."""

from fractions import Fraction

import numpy as np

from unspent import Composition, DiscreteGaussian


def enclosure(printed) -> tuple[Fraction, Fraction]:
    """A printed value is right to one unit in its last digit; a pair is an enclosure already."""
    if isinstance(printed, list):
        return Fraction(printed[0]), Fraction(printed[1])
    mantissa, _, exponent = printed.partition("e")
    unit = Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return Fraction(printed) - unit, Fraction(printed) + unit


def test_reference(reference_case):
    composition = Composition(
        [
            DiscreteGaussian(sigma2=sigma2, count=count, shift=shift)
            for sigma2, count, shift in reference_case["groups"]
        ]
    )
    points = reference_case["points"]
    epsilons = [point["e"] for point in points]
    arrays = {
        "d": ("delta", composition.delta(epsilons)),
        "p": ("p_tail", composition.p_tail(epsilons)),
        "q": ("q_tail", composition.q_tail(np.array(epsilons, dtype=object))),
    }
    for i, point in enumerate(points):
        for key, (name, array) in arrays.items():
            one = getattr(composition, name)(point["e"])
            assert one == array[i]
            if key in point:
                (low, high), (lower, upper) = enclosure(point[key]), one.fractions()
                assert lower <= high and low <= upper, (name, point)
        low, high = enclosure(point["d"])
        if low > 0 and high < 1 and Fraction(point["e"]) > 0:
            # Rounded down, so that epsilon is at least that of the point; the profile has steps of its own
            # width.
            found = composition.epsilon(low)
            assert Fraction(point["e"]) <= found.fractions()[1]
