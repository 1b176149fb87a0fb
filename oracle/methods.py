"""Choosing a method."""

from .composition import Unaffordable
from .convolution import by_convolution
from .enumeration import by_enumeration
from .fourier import by_dft

METHODS = {"convolution": by_convolution, "dft": by_dft, "enumeration": by_enumeration}


def evaluate(composition, epsilons, cross_check=True):
    """(method, answers) by the most literal affordable method; lattice methods must agree where both run."""
    try:
        answers = by_convolution(composition, epsilons)
        if cross_check:
            assert_overlap(composition, epsilons, answers, by_dft(composition, epsilons))
        return "convolution", answers
    except Unaffordable:
        pass
    try:
        return "dft", by_dft(composition, epsilons)
    except Unaffordable:
        return "enumeration", by_enumeration(composition, epsilons)


def assert_overlap(composition, epsilons, first, second):
    for epsilon, a, b in zip(epsilons, first, second):
        if a is None or b is None:
            continue
        for key in "dpqc":
            if not a[key].overlaps(b[key]):
                raise AssertionError(
                    f"methods disagree: {composition.names()} eps={epsilon} {key}: {a[key]} {b[key]}"
                )
