"""What follows from delta alone, by its convexity, for compositions whose outcomes cannot be listed.

delta is convex in x = e^eps, and its slope there is -P[L > eps] from the right and -P[L >= eps] from the
left. So chords to both sides of a point enclose that probability, and with it Q[L > eps], which is
delta + x P[L > eps], and the test that raises an alarm above eps: a point of the trade-off function. Between
the points of two tests f lies below their chord, and it is nowhere below 1 - delta - x alpha.
"""

import math
from fractions import Fraction

from flint import arb

from .balls import as_fraction, ball
from .exact import Prepared

# How far apart chords are taken.
NEAR = Fraction(1, 2**70)


class Smooth:
    def __init__(self, composition, direction, bits):
        self.prepared = Prepared(composition, direction, bits)
        self.infinity = self.prepared.infinity
        self.known = {}

    def delta(self, epsilon):
        if epsilon not in self.known:
            self.known[epsilon] = self.prepared.at(epsilon)[1]
        return self.known[epsilon]

    def p_tail(self, epsilon):
        """Of what is above epsilon, or at it where that has a mass."""
        x = [ball(e).exp() for e in (epsilon - NEAR, epsilon, epsilon + NEAR)]
        d = [self.delta(e) for e in (epsilon - NEAR, epsilon, epsilon + NEAR)]
        return ((d[1] - d[2]) / (x[2] - x[1])).union((d[0] - d[1]) / (x[1] - x[0]))

    def q_tail(self, epsilon):
        return self.delta(epsilon) + ball(epsilon).exp() * self.p_tail(epsilon)

    def test_near(self, epsilon):
        """(alpha, 1 - f(alpha)) for a rational alpha that is just above P[L > epsilon]."""
        p = self.p_tail(epsilon)
        alpha = as_fraction(arb(p.upper()))
        if not 0 < alpha < 1:
            return None
        # Fewer digits, upwards: a hundred bits of it are enough.
        places = max(0, 100 - math.ceil(math.log2(alpha.numerator) - math.log2(alpha.denominator)))
        alpha = Fraction(math.ceil(alpha * 2**places), 2**places)
        if alpha >= 1:
            return None
        delta, x = self.delta(epsilon), ball(epsilon).exp()
        return alpha, (delta + x * p).union(delta + x * ball(alpha))

    def best_test(self, alpha):
        """1 - f(alpha) at an alpha that was given: between two tests whose alarms are just rarer and not."""
        wanted = math.log(alpha.numerator) - math.log(alpha.denominator)

        def rate(epsilon):
            p = self.p_tail(epsilon).mid()
            return float(p.log().mid()) if p > 0 else -math.inf

        low, high = Fraction(-1), Fraction(1)
        while rate(low) < wanted:
            high, low = low, 2 * low
            if low < -500:
                return None
        while rate(high) > wanted:
            low, high = high, 2 * high
            if high > 20_000:
                return None
        for _ in range(45):
            middle = (low + high) / 2
            if rate(middle) > wanted:
                low = middle
            else:
                high = middle
        p0, p1 = self.p_tail(low), self.p_tail(high)
        a = ball(alpha)
        if not (p0 > a and p1 < a):
            return None
        d0, d1 = self.delta(low), self.delta(high)
        x0, x1 = ball(low).exp(), ball(high).exp()
        q0, q1 = d0 + x0 * p0, d1 + x1 * p1
        least = q1 + (q0 - q1) * (a - p1) / (p0 - p1)
        most = [d0 + x0 * a, d1 + x1 * a]
        return least.union(min(most, key=lambda m: float(m.mid())))

    def epsilon(self, delta, near):
        """Where delta is this, by halving around `near`, or None."""
        target, step = ball(delta), Fraction(1, 1000)
        low = high = near
        while not self.delta(low) > target:
            if low == 0:
                return arb(0) if self.delta(low) <= target else None
            low, step = max(Fraction(0), low - step), 4 * step
        step = Fraction(1, 1000)
        while not self.delta(high) < target:
            high, step = high + step, 4 * step
            if step > 10_000:
                return None
        # ln delta is nearly straight: false positions, with half the weight of an end that stays (Illinois).
        goal = target.log().mid()
        a, b = (self.delta(e).log().mid() - goal for e in (low, high))
        last = None
        for _ in range(200):
            if high - low < Fraction(1, 2**55) * (1 + low):
                break
            share = a / (a - b)
            share = as_fraction(share) if share.mid().is_finite() else Fraction(1, 2)
            middle = low + (high - low) * min(max(share, Fraction(1, 10**6)), 1 - Fraction(1, 10**6))
            middle = Fraction(math.floor(middle * 2**90), 2**90)
            found = self.delta(middle)
            if found > target:
                low, a = middle, found.log().mid() - goal
                b, last = (b / 2 if last == "low" else b), "low"
            elif found < target:
                high, b = middle, found.log().mid() - goal
                a, last = (a / 2 if last == "high" else a), "high"
            else:
                return None
        return ball(low).union(ball(high))
