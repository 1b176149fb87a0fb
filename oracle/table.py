"""All outcomes of a composition one by one, and what follows from them by definition.

A table has the losses l_i in ascending order, P- and Q-masses of each, the Q-mass that is at infinity, and a
bound of what a window left out (an event with at most that mass under either law). The hockey stick is then
added up literally; the best test takes outcomes from the largest loss down and throws a coin for the last
one (Neyman and Pearson). What is left out adds between nothing and its mass to delta and to any power.
"""

import bisect
import math
from fractions import Fraction

from flint import arb

from .balls import as_fraction, ball
from .closed import positive, product
from .exact import atoms_of, infinity_of
from .laws import Lattice, Unaffordable, common_lattice, law_of

# Most outcomes of a table.
MOST_OUTCOMES = 60_000


def ends_to(value, more):
    """From `value` to `value + more`."""
    return value + arb(0).union(arb(more).upper())


class Table:
    def __init__(self, composition, direction, bits):
        laws = [(law_of(part, direction, bits, part["count"]), part["count"]) for part in composition]
        if not all(hasattr(law, "power") for law, _ in laws):
            raise Unaffordable("no outcomes to list")
        self.infinity = infinity_of(laws)
        joined = self.on_one_lattice(laws)
        if joined is not None:
            self.take(joined)
        else:
            lists, tail = atoms_of(laws)
            size = math.prod(len(one) for one in lists)
            if size > MOST_OUTCOMES:
                raise Unaffordable("outcomes of unlike losses")
            rows = [(arb(0), arb(1), arb(1))]
            for one in lists:
                rows = product(rows, one)
            # By the midpoint: what overlaps is sorted out where it matters.
            rows.sort(key=lambda row: as_fraction(row[0]))
            self.losses = [row[0] for row in rows]
            self.add_up(rows, tail)

    @classmethod
    def of(cls, lattice, infinity):
        """A law that is given."""
        made = cls.__new__(cls)
        made.infinity = infinity
        made.take(lattice)
        return made

    def take(self, lattice):
        """Exact losses: an offset and multiples of a unit."""
        self.offset, self.unit = lattice.offset, lattice.unit
        rows = sorted((k, *masses) for k, masses in lattice.masses.items())
        self.indices = [k for k, _, _ in rows]
        self.losses = None
        self.add_up(rows, lattice.tail)

    def add_up(self, rows, tail):
        self.left_out = arb(tail).upper()
        self.p, self.q = [row[1] for row in rows], [row[2] for row in rows]
        self.p_from, self.q_from = cumulated(self.p), cumulated(self.q)

    @staticmethod
    def on_one_lattice(laws):
        """The n-fold laws as one lattice of exact losses, or None."""
        joined = None
        for law, n in laws:
            if not isinstance(law, Lattice) or not isinstance(law.unit, Fraction) or not law.unit:
                return None
            power = law.power(n)
            joined = power if joined is None else common_lattice(joined, power)
            if joined is None:
                return None
        return joined

    def __len__(self):
        return len(self.p)

    def loss(self, i):
        """A ball; exact losses also have `exact_loss`."""
        return self.losses[i] if self.losses is not None else ball(self.exact_loss(i))

    def exact_loss(self, i):
        return self.offset + self.unit * self.indices[i]

    def above(self, epsilon):
        """(low, high): outcomes from `high` on are above epsilon, those before `low` are not."""
        if self.losses is None:
            # The unit is positive.
            first = bisect.bisect_right(self.indices, (epsilon - self.offset) / self.unit)
            return first, first
        level = ball(epsilon) if isinstance(epsilon, (int, Fraction)) else epsilon
        low = partition(self.losses, lambda loss: not loss <= level)
        high = partition(self.losses, lambda loss: bool(loss > level))
        # Balls that overlap may be in any order by their midpoints.
        while low > 0 and not self.losses[low - 1] <= level:
            low -= 1
        while high < len(self.losses) and not self.losses[high] > level:
            high += 1
        return min(low, high), high

    def p_tail(self, epsilon):
        low, high = self.above(epsilon)
        return ends_to(self.p_from[high].union(self.p_from[low]), self.left_out)

    def q_tail(self, epsilon):
        low, high = self.above(epsilon)
        return ends_to(self.infinity + self.q_from[high].union(self.q_from[low]), self.left_out)

    def delta(self, epsilon):
        low, high = self.above(epsilon)
        price = ball(epsilon).exp() if isinstance(epsilon, (int, Fraction)) else epsilon.exp()
        total = self.infinity + self.q_from[high] - price * self.p_from[high]
        for i in range(low, high):
            total += positive(self.q[i] - price * self.p[i])
        return ends_to(total, self.left_out)

    def best_test(self, alpha):
        """1 - f(alpha): the power of the best test. The coin is thrown at the outcome k."""
        alpha = ball(alpha)
        k = partition(self.p_from, lambda tail: not tail > alpha) - 1
        if k < 0:
            # All outcomes that the record can have raise an alarm.
            return ends_to(self.infinity + self.q_from[0], self.left_out)
        odds = self.q[k] / self.p[k]
        power = self.infinity + self.q_from[k + 1] + odds * (alpha - self.p_from[k + 1])
        if self.losses is not None:
            # What overlaps the loss at k might have come before or after it.
            for step in (1, -1):
                i = k + step
                while 0 <= i < len(self) and self.losses[i].overlaps(self.losses[k]):
                    power += arb(0, abs(self.q[i] - odds * self.p[i]).upper())
                    i += step
        return ends_to(power, self.left_out)

    def delta_at(self, i):
        """At the loss of outcome i, without what was left out."""
        if i < 0:
            return arb(1)
        return self.infinity + self.q_from[i + 1] - self.q[i] / self.p[i] * self.p_from[i + 1]

    def epsilon(self, delta):
        """The least epsilon >= 0 at which delta is not more than this; None where that is not known."""
        target = ball(delta)
        low = self.crossing(target)
        high = self.crossing(target - self.left_out)
        if low is None or high is None:
            return None
        found = low.union(high)
        if self.losses is not None and found > 0:
            # Losses that overlap were taken in the order of their midpoints: look once more, without it.
            slack = arb(2) ** -100 * (1 + found)
            low, high = arb((found - slack).lower()), arb((found + slack).upper())
            if not (self.delta(low) >= target and self.delta(high) <= target):
                return None
            found = low.union(high)
        return arb(0) if found <= 0 else found.union(arb(0)) if not found > 0 else found

    def crossing(self, target):
        """Between two losses delta is linear in e^epsilon."""
        if not target > self.infinity:
            return None
        after = partition(range(len(self)), lambda i: not self.delta_at(i) > target)
        found = None
        for k in (after - 1, after):
            if k == after and (k >= len(self) or self.delta_at(k) < target):
                break
            p = self.p_from[k + 1]
            if not p > 0:
                return None
            bought = (self.infinity + self.q_from[k + 1] - target) / p
            if not bought > 0:
                return None
            found = bought.log() if found is None else found.union(bought.log())
        return found

    def knot(self, i):
        """P[L >= l] and Q[L < l] at the loss l of outcome i."""
        alarms = ends_to(self.p_from[i], self.left_out)
        return alarms, 1 - ends_to(self.infinity + self.q_from[i], self.left_out)


def cumulated(masses):
    """Sums of all from each on."""
    out = [arb(0)]
    for mass in reversed(masses):
        out.append(out[-1] + mass)
    out.reverse()
    return out


def partition(row, is_late):
    """The first place from which on `is_late` holds, for what is early first and late then."""
    low, high = 0, len(row)
    while low < high:
        middle = (low + high) // 2
        if is_late(row[middle]):
            high = middle
        else:
            low = middle + 1
    return low
