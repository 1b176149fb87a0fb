"""Compositions, the lattice of their losses, and how precision is raised until an answer is sharp."""

import math
from fractions import Fraction

from flint import arb

from .balls import LN2, WANTED_BITS, ball, is_sharp

# Beyond this many bits (about 1e-1500) a point counts as out of reach.
MAX_BITS = 5200


class Unaffordable(Exception):
    """The method would need more memory or time than its limits allow."""


class Composition:
    def __init__(self, groups):
        self.groups = [(Fraction(s), int(n), int(d)) for s, n, d in groups]
        for sigma2, count, shift in self.groups:
            if sigma2 <= 0 or count < 1 or shift < 1:
                raise ValueError("a group needs sigma2 > 0, count >= 1 and shift >= 1")
        self.mu2 = sum(n * d * d / s for s, n, d in self.groups)
        self.count = sum(n for _, n, _ in self.groups)

        # The losses live on g * (K - M/2) with K = sum m_j X_j: g is the greatest common divisor of
        # the rationals shift/sigma2, and m_j their integer multiples of it.
        ratios = [d / s for s, _, d in self.groups]
        denominator = math.lcm(*(r.denominator for r in ratios))
        self.step = Fraction(math.gcd(*(int(r * denominator) for r in ratios)), denominator)
        self.multiples = [int(r / self.step) for r in ratios]
        # Under Q, K is K + M.
        self.move = sum(n * d * m for (_, n, d), m in zip(self.groups, self.multiples))
        # Variance proxy of K.
        self.variance = sum(n * m * m * s for (s, n, _), m in zip(self.groups, self.multiples))
        assert self.step * self.variance == self.move
        assert self.step**2 * self.variance == self.mu2

    def first_above(self, epsilon):
        """The smallest integer k whose loss g (k - M/2) is strictly above epsilon (exact)."""
        return math.floor(epsilon / self.step + Fraction(self.move, 2)) + 1

    def depth(self, epsilon):
        """-ln P[L > eps] as the continuous Gaussian would have it (only to choose a precision)."""
        mu = math.sqrt(self.mu2)
        a = max(0.0, float(epsilon) / mu + mu / 2)
        return a * a / 2 + math.log(a + 2) + 1

    def names(self):
        return [[str(s), n, d] for s, n, d in self.groups]


def summarize(p, q, epsilon):
    """delta and its complement from the two tails; cancellation is visible in the radii."""
    priced = ball(epsilon).exp() * p
    return {"d": q - priced, "p": p, "q": q, "c": (1 - q) + priced}


def tail_bound(x, variance):
    """Upper bound of P[K >= x] for a sub-Gaussian K."""
    if x <= 0:
        return arb(1)
    return (-ball(Fraction(x) ** 2 / (2 * variance))).exp()


def radius_for(bits, variance):
    """A radius S with P[|K| > S] below 2^-bits."""
    return math.isqrt(math.ceil(2 * LN2 * (bits + 2) * variance)) + 1


def refine(composition, epsilons, attempt, start_bits):
    """Raise the precision until every point is sharp; None where that is out of reach.

    `attempt(epsilons, bits)` returns one dict of balls for each epsilon."""
    answers = {}
    waiting = list(dict.fromkeys(epsilons))
    bits = start_bits
    while waiting:
        if bits > MAX_BITS:
            break
        again, missing = [], 0
        try:
            found = attempt(waiting, bits)
        except Unaffordable:
            if not answers:
                raise
            break
        for epsilon, answer in zip(waiting, found):
            if all(is_sharp(x) for x in answer.values()):
                answers[epsilon] = answer
            else:
                again.append(epsilon)
                accuracies = [x.rel_accuracy_bits() for x in answer.values() if x.is_finite()]
                missing = max(missing, WANTED_BITS - min(accuracies, default=0))
        waiting = again
        # A ball that still contains zero tells nothing about how much is missing.
        bits = max(bits + missing + 20, int(bits * 1.4)) if missing >= WANTED_BITS else bits + missing + 20
    return [answers.get(e) for e in epsilons]
