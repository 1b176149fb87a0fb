"""Several steps on Poisson samples of Gaussian noise: two laws of few losses that enclose the exact one.

One step is cut into cells of the noise. If a cell becomes one outcome, less can be told: its loss is
ln q/p of the masses of the cell, and the cells are chosen so that these lie on a grid. What is left over from
doubles is moved downwards. If a cell is split into two outcomes at the grid points around it, with the same
masses under both laws, more can be told, as the chord of a convex function lies above it. Both laws are
multiplied out as polynomials. Their widths differ by the square of the grid's step.
"""

import math
from fractions import Fraction

from flint import arb, arb_poly

from .balls import ball
from .laws import Lattice, Unaffordable
from .table import Table

# Coefficients of the n-fold law.
LONGEST = 40_000
# Cells of one step.
MOST_CELLS = 3_000
# Bits of what is left out at the upper end.
DEPTH = 60


class Step:
    """Masses of cells in the noise x of scale 1; the loss rises with x if the record is removed."""

    def __init__(self, sigma2, q, direction):
        self.mu, self.q = 1 / ball(sigma2).sqrt(), ball(q)
        self.removes = direction == "remove"

    def tail(self, x, sign):
        """Noise alone and with a sample, below x (sign 1) or above it (-1)."""
        root = arb(2).sqrt()
        plain = (-sign * x / root).erfc() / 2
        return plain, (1 - self.q) * plain + self.q * (sign * (self.mu - x) / root).erfc() / 2

    def masses(self, a, b):
        """Of P and Q between a and b; None is infinite. Tails are taken on the side where they are small."""
        sign = -1 if a is not None and a > 0 else 1
        inner, outer = (b, a) if sign > 0 else (a, b)
        large = (arb(1), arb(1)) if inner is None else self.tail(inner, sign)
        small = (arb(0), arb(0)) if outer is None else self.tail(outer, sign)
        plain, mixed = large[0] - small[0], large[1] - small[1]
        return (plain, mixed) if self.removes else (mixed, plain)

    def loss(self, x):
        growth = math.log1p(float(self.q.mid()) * math.expm1(float((self.mu * x - self.mu**2 / 2).mid())))
        return growth if self.removes else -growth

    def at(self, loss):
        """x at a loss; None where the loss is not reached."""
        growth = (loss if self.removes else -loss).exp()
        inner = (growth - 1 + self.q) / self.q
        return (inner.log() + self.mu * self.mu / 2) / self.mu if inner > 0 else None

    def reach(self):
        """From the least to the largest loss that matters, as doubles."""
        mu, far = float(self.mu.mid()), math.sqrt(2 * math.log(2) * DEPTH)
        q = float(self.q.mid())
        loss = [math.log1p(q * math.expm1(mu * x - mu * mu / 2)) for x in (-far, far + mu)]
        return loss if self.removes else [-loss[1], -loss[0]]


def enclosing(sigma2, q, count, direction):
    """Tables of two n-fold laws: delta of the first is not above the exact one, of the second not below."""
    step = Step(sigma2, q, direction)
    low, high = step.reach()
    unit = Fraction(f"{(high - low) * max(count / LONGEST, 1 / MOST_CELLS):.3e}")
    first, last = math.floor(low / float(unit)) - 1, math.ceil(high / float(unit)) + 1
    if not (last - first) * count < 2 * LONGEST:
        raise Unaffordable("losses of steps")
    return [made(step, unit, first, last, count) for made in (less, more)]


def powered(unit, shift, masses, infinity, count, first):
    """The n-fold law of Q-masses at shift + unit (first + i); P follows from the losses."""
    q = (arb_poly(masses) ** count).coeffs()
    offset = count * shift
    both = {}
    for i, mass in enumerate(q):
        k = count * first + i
        both[k] = (mass * (-ball(offset + unit * k)).exp(), mass)
    return Table.of(Lattice(unit, offset, both), 1 - (1 - infinity) ** count)


def more(step, unit, first, last, count):
    grown = (ball(unit)).exp()
    masses = [arb(0)] * (last - first + 2)
    edges = [step.at(ball(unit * k)) for k in range(first, last + 1)]
    for i, (a, b) in enumerate(zip(edges, edges[1:])):
        if step.removes:
            p, q = step.masses(a, b) if b is not None else (arb(0), arb(0))
        else:
            # Losses fall with x: where one is not reached x would be beyond all.
            p, q = step.masses(b, a) if a is not None else (arb(0), arb(0))
        if not q > 0:
            continue
        low = ball(unit * (first + i)).exp()
        upper = (q / low - p) / (grown - 1)
        masses[i + 1] += upper * low * grown
        masses[i] += (p - upper) * low
    bottom = edges[0]
    if bottom is not None:
        # Losses below the grid are moved up to its first point.
        masses[0] += (step.masses(None, bottom) if step.removes else step.masses(bottom, None))[1]
    top = edges[-1]
    rest = step.masses(top, None)[1] if step.removes else arb(0) if top is None else step.masses(None, top)[1]
    masses = [m if m > 0 else arb(0).union(m.upper()) for m in masses]
    return powered(unit, Fraction(0), masses, rest, count, first)


def less(step, unit, first, last, count):
    """Cells whose own losses are on the grid. A cell that would be very short goes to the next grid point."""
    masses, moved = [arb(0)] * (last - first + 2), arb(0)
    sign = 1 if step.removes else -1
    edge, place, width = None, None, float(unit)
    for k in range(first, last + 1):
        if edge is not None and k * width < step.loss(edge) + width / 4:
            continue
        end = next_edge(step, edge, k * width, width, sign)
        if end is None:
            continue
        p, q = step.masses(edge, end) if sign > 0 else step.masses(end, edge)
        edge, place = end, k
        moved = moved.max(arb((ball(unit * k) - (q / p).log()).upper()))
        masses[k - first] = q
    # What is beyond the last cell counts as the last cell's loss, which is not more.
    masses[place - first] += (step.masses(edge, None) if sign > 0 else step.masses(None, edge))[1]
    shift = Fraction(-math.ceil(float(moved.upper()) * 2**80), 2**80)
    assert shift > -unit / 100, "cells are not on the grid"
    return powered(unit, shift, masses, arb(0), count, first)


def next_edge(step, edge, loss, width, sign):
    """The end of a cell that begins at `edge` and has this loss as a whole, by Newton's rule in balls."""
    guess = step.at(arb(loss + width / 2))
    if guess is None:
        guess = step.at(arb(loss + width / 100))
    if guess is None:
        return None
    end = arb(float(guess.mid()))
    for _ in range(12):
        if edge is not None and not sign * (end - edge) > 0:
            return None
        p, q = step.masses(edge, end) if sign > 0 else step.masses(end, edge)
        if not (p > 0 and q > 0):
            return None
        miss = (q / p).log() - arb(loss)
        if abs(miss) < arb(2) ** -45:
            return end
        near = end + sign * arb(2) ** -40
        p2, q2 = step.masses(edge, near) if sign > 0 else step.masses(near, edge)
        slope = ((q2 / p2).log() - arb(loss) - miss) / (near - end)
        if not abs(slope) > 0:
            return None
        end = arb((end - miss / slope).mid())
    return None
