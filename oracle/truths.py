"""Questions about a composition with enclosures of their exact answers."""

import math
from fractions import Fraction

from .balls import as_fraction, ball, precision
from .drawn import directions
from .laws import is_symmetric
from .smooth import Smooth
from .table import Table

CONTINUOUS_SAMPLES = ("subsampled_gaussian", "subsampled_laplace")

# An answer is asked for only if the truth is known to so many bits, or is exactly 0.
SHARP = 50


class Question:
    def __init__(self, kind, argument, truth):
        self.kind, self.argument, self.truth = kind, argument, truth

    def is_known(self):
        return bool(self.truth.is_finite()) and (
            self.truth.is_zero() or self.truth.rel_accuracy_bits() >= SHARP
        )


def few_digits(rng, x):
    """A positive ball as a decimal of some digits; None for 0."""
    if not x > 0:
        return None
    digits = rng.choice((0, 1, 2, 5, 17, 40))
    text = x.mid().str(digits + 2, radius=False)
    try:
        return Fraction(text)
    except ValueError:
        return None


class Truths:
    """Tables, or curves of delta, for the directions that are asked about."""

    def __init__(self, rng, composition, listed, depth):
        self.rng, self.depth, self.listed = rng, depth, listed
        bits = depth + 160 if listed else depth + 330
        self.direction = rng.choice(directions(rng, composition))
        ways = {"both": ("remove", "add")}.get(self.direction, (self.direction,))
        if is_symmetric(composition):
            ways = ("remove",)
        sampled = [part for part in composition if part["kind"] in CONTINUOUS_SAMPLES]
        self.is_slow = not listed and (bool(sampled) and len(composition) > 1 or len(composition) > 2)
        self.bits = bits + 60
        with precision(self.bits):
            make = Table if listed else Smooth
            self.ways = [make(composition, way, bits) for way in ways]

    def worst(self, what, *arguments):
        """The larger of both directions; None where one is not known."""
        found = [getattr(way, what)(*arguments) for way in self.ways]
        if any(x is None for x in found):
            return None
        return found[0] if len(found) == 1 else found[0].max(found[1])

    def epsilons(self, count):
        """Places at which something happens, and others."""
        rng, way = self.rng, self.rng.choice(self.ways)
        out = [Fraction(0)] if rng.random() < 0.3 else []
        if not self.listed:
            return out + self.scales(way, count)
        start, _ = way.above(Fraction(0))
        last = partition_from(way, start, self.depth)
        for _ in range(count):
            if start >= last:
                break
            i = rng.randrange(start, last)
            if rng.random() < 0.3:
                # Where delta is not small.
                i = min(start + int((last - start) * rng.random() ** 4), last - 1)
            kind = rng.random()
            near = as_fraction(way.loss(i))
            if kind < 0.35 and way.losses is None:
                epsilon = way.exact_loss(i)
            elif kind < 0.55 and way.losses is None:
                epsilon = way.exact_loss(i) + rng.choice((-1, 1)) * Fraction(1, 10 ** rng.choice((9, 17, 40)))
            elif kind < 0.8:
                epsilon = Fraction(f"{float(near):.{rng.choice((1, 2, 3, 6))}e}")
            else:
                other = as_fraction(way.loss(min(i + 1, len(way) - 1)))
                epsilon = Fraction(
                    math.floor((near + (other - near) * Fraction(rng.random())) * 10**25), 10**25
                )
            if 0 <= epsilon <= 10**12:
                out.append(epsilon)
        return list(dict.fromkeys(out))

    def scales(self, way, count):
        """Places between 0 and where delta is 2^-depth, by doubling."""
        rng, reach = self.rng, Fraction(1, 64)
        while reach < 4096 and way.delta(reach) - way.infinity > ball(Fraction(1, 2**self.depth)):
            reach *= 2
        out = []
        for _ in range(count):
            value = float(reach) * rng.random() ** rng.choice((1, 2))
            out.append(Fraction(f"{value:.{rng.choice((1, 2, 5, 15))}e}"))
        return out

    def questions(self):
        with precision(self.bits):
            yield from self.listed_questions() if self.listed else self.curve_questions()

    def listed_questions(self):
        epsilons = self.epsilons(36)
        for epsilon in epsilons:
            yield Question("delta", epsilon, self.worst("delta", epsilon))
        if len(self.ways) == 1:
            for epsilon in epsilons[:14]:
                yield Question("p_tail", epsilon, self.ways[0].p_tail(epsilon))
                yield Question("q_tail", epsilon, self.ways[0].q_tail(epsilon))
        yield Question("total_variation", None, self.worst("delta", Fraction(0)))
        for delta in self.levels(epsilons[:24]):
            truth = self.worst("epsilon", delta)
            if truth is not None:
                yield Question("epsilon", delta, truth)
        # Where the record may be revealed for certain these are refused.
        for alpha in self.rates(26 if all(way.infinity.is_zero() for way in self.ways) else 1):
            power = self.worst("best_test", alpha)
            yield Question("power", alpha, power)
            yield Question("tradeoff", alpha, 1 - power)

    def levels(self, epsilons):
        """Deltas that are reached near these, with few digits or many."""
        rng = self.rng
        for epsilon in epsilons:
            delta = few_digits(rng, self.worst("delta", epsilon))
            if rng.random() < 0.3:
                delta = Fraction(1, 10 ** rng.randint(1, max(2, self.depth // 4)))
            if delta is not None and 0 < delta < 1:
                yield delta

    def rates(self, count):
        rng, way = self.rng, self.rng.choice(self.ways)
        for _ in range(count):
            kind = rng.random()
            if kind < 0.4:
                alpha = few_digits(rng, way.p_from[rng.randrange(len(way))])
            elif kind < 0.6:
                alpha = Fraction(1, 10 ** rng.randint(1, max(2, self.depth // 4)))
            elif kind < 0.75:
                alpha = 1 - Fraction(rng.randint(1, 9), 10 ** rng.randint(1, min(40, self.depth // 4)))
            else:
                alpha = Fraction(rng.randint(1, 999), 1000)
            if alpha is not None and 0 < alpha < 1:
                yield alpha

    def curve_questions(self):
        rng = self.rng
        if self.is_slow:
            # Seconds for an answer: one of each kind that is not slower still.
            for epsilon in self.epsilons(1):
                yield Question("delta", epsilon, self.worst("delta", epsilon))
                for delta in self.levels([epsilon]):
                    truth = self.worst("epsilon", delta, epsilon)
                    if truth is not None:
                        yield Question("epsilon", delta, truth)
            return
        epsilons = self.epsilons(5)
        for epsilon in epsilons:
            yield Question("delta", epsilon, self.worst("delta", epsilon))
        yield Question("total_variation", None, self.worst("delta", Fraction(0)))
        for epsilon in epsilons[:3]:
            if len(self.ways) == 1:
                way = self.ways[0]
                yield Question("p_tail", epsilon, way.p_tail(epsilon))
                yield Question("q_tail", epsilon, way.q_tail(epsilon))
                found = way.test_near(epsilon)
                if found is not None and way.infinity.is_zero():
                    yield Question("power", found[0], found[1])
                    yield Question("tradeoff", found[0], 1 - found[1])
            near = epsilon
            for delta in self.levels([epsilon]):
                truth = self.worst("epsilon", delta, near)
                if truth is not None:
                    yield Question("epsilon", delta, truth)
        if rng.random() < 0.3 and len(self.ways) == 1:
            alpha = Fraction(rng.choice(("0.001", "0.01", "0.05", "1/3", "0.5", "0.9")))
            power = self.ways[0].best_test(alpha)
            if power is not None:
                yield Question("power", alpha, power)
                yield Question("tradeoff", alpha, 1 - power)


def partition_from(way, start, depth):
    """The first outcome above which less than 2^-depth is left, besides what is infinite."""
    least = ball(Fraction(1, 2**depth))
    low, high = start, len(way)
    while low < high:
        middle = (low + high) // 2
        if way.q_from[middle] > least:
            low = middle + 1
        else:
            high = middle
    return low
