"""delta of a composition by the most literal method that is affordable."""

import math
from fractions import Fraction

from flint import arb

from .balls import WANTED_BITS, ball, precision
from .closed import by_atoms, by_gaussian, by_laplace
from .laws import Gaussian, Laplace, Lattice, Sampled, Unaffordable, common_lattice, law_of
from .sampled import by_integral, one_step

MAX_BITS = 6000


def infinity_of(laws):
    """1 - prod (1 - q)^n."""
    kept = arb(1)
    for law, n in laws:
        q = getattr(law, "infinity", Fraction(0))
        kept *= (1 - (q if isinstance(q, arb) else ball(q))) ** n
    return 1 - kept


def atoms_of(laws):
    """Lists of atoms of the n-fold laws, lattices of fractions joined, and the neglected tail."""
    lattices, lists, tail = [], [], arb(0)
    for law, n in laws:
        power = law.power(n)
        tail += power.tail
        if isinstance(power, Lattice) and isinstance(power.unit, Fraction) and power.unit:
            lattices.append(power)
        else:
            lists.append(power.points())
    lattices.sort(key=lambda lattice: len(lattice.masses))
    while lattices:
        one = lattices.pop()
        for other in list(lattices):
            joined = common_lattice(one, other)
            if joined:
                one = joined
                lattices.remove(other)
        lists.append(one.points())
    return lists, tail


def largest_loss(laws):
    """The largest finite loss as a fraction, or None."""
    total = Fraction(0)
    for law, n in laws:
        if isinstance(law, Laplace):
            total += n * law.tau
        elif isinstance(law, Lattice) and isinstance(law.unit, Fraction) and law.tail == 0:
            total += n * (law.offset + law.unit * max(law.masses))
        else:
            return None
    return total


class Prepared:
    """The laws of a composition in one direction, at a precision, for any number of levels."""

    def __init__(self, composition, direction, bits):
        laws = [(law_of(part, direction, bits, part["count"]), part["count"]) for part in composition]
        self.bits = bits
        self.largest = largest_loss(laws)
        self.infinity = infinity_of(laws)
        self.lists, self.tail = atoms_of([(law, n) for law, n in laws if hasattr(law, "power")])
        laplaces = {}
        for law, n in laws:
            if isinstance(law, Laplace):
                laplaces[law.tau] = laplaces.get(law.tau, 0) + n
        self.laplaces = sorted(laplaces.items())
        self.mu2 = sum((n * law.mu2 for law, n in laws if isinstance(law, Gaussian)), Fraction(0))
        self.sampled = [law for law, n in laws if isinstance(law, Sampled) for _ in range(min(n, 4))]

    def at(self, epsilon):
        """(method, ball) at a fraction or a ball."""
        is_exact = isinstance(epsilon, (int, Fraction))
        if is_exact and self.largest is not None and epsilon >= self.largest:
            return "beyond the largest loss", self.infinity
        level = ball(epsilon) if is_exact else epsilon
        if self.sampled:
            method, value = with_samples(self.sampled, self.lists, self.laplaces, self.mu2, level, self.bits)
        elif self.laplaces:
            method = "closed form (Laplace, erfc)" if self.mu2 else "closed form (Laplace)"
            value = by_laplace(self.lists, self.laplaces, self.mu2 or None, level, self.bits)
        elif self.mu2:
            method, value = "sum over atoms of erfc", by_gaussian(self.lists, self.mu2, level)
        else:
            method, value = "sum over atoms", by_atoms(self.lists, level)
        return method, self.infinity + value + arb(0).union(self.tail.upper())


def with_samples(sampled, lists, laplaces, mu2, level, bits):
    if len(sampled) == 1 and not lists and not laplaces and not mu2:
        return "closed form of one step", one_step(sampled[0], level, bits)
    if laplaces or mu2 or len(sampled) > 2:
        raise Unaffordable("samples with continuous noise")
    name = "sum over atoms of one step" if len(sampled) == 1 else "enclosed integral of one step"
    return name, by_integral(sampled, lists, level, bits)


def exact(composition, direction, epsilon, start_bits=200):
    """(method, ball) with at least WANTED_BITS, or None if out of reach. A ball may be an exact zero."""
    bits = start_bits
    while bits <= MAX_BITS:
        with precision(bits + 60):
            method, value = Prepared(composition, direction, bits).at(epsilon)
            if value.is_zero() or value.rel_accuracy_bits() >= WANTED_BITS:
                return method, value
            accuracy = value.rel_accuracy_bits() if value.is_finite() else -WANTED_BITS
            missing = WANTED_BITS - max(accuracy, -WANTED_BITS)
        bits = max(bits + missing + 20, math.ceil(bits * 1.5)) if accuracy <= 0 else bits + missing + 20
    return None
