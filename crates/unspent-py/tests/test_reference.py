"""Exact values from beside the project lie inside the bounds, asked one by one and as arrays."""

from fractions import Fraction

import numpy as np

from unspent import Composition, DiscreteGaussian

#: The values are given to 30 digits.
PRINTED = Fraction(1, 10**29)


def is_inside(truth: str, bounds) -> bool:
    lower, upper = bounds.fractions()
    truth = Fraction(truth)
    return lower <= truth * (1 + PRINTED) and truth * (1 - PRINTED) <= upper


def test_reference(reference_case):
    composition = Composition([DiscreteGaussian(**group) for group in reference_case["groups"]])
    points = reference_case["points"]
    epsilons = [point["epsilon"] for point in points]
    arrays = {
        "delta": composition.delta(epsilons),
        "p_tail": composition.p_tail(epsilons),
        "q_tail": composition.q_tail(np.array(epsilons, dtype=object)),
    }
    for i, point in enumerate(points):
        for name, array in arrays.items():
            one = getattr(composition, name)(point["epsilon"])
            assert one == array[i]
            assert is_inside(point[name], one), (name, point)
        delta = Fraction(point["delta"])
        if 0 < delta < 1 and Fraction(point["epsilon"]) > 0:
            # Rounded down, so that epsilon is at least that of the point; the profile has steps of its own width.
            found = composition.epsilon(delta * (1 - PRINTED))
            assert Fraction(point["epsilon"]) <= found.fractions()[1]
