"""Mechanisms as ordered pairs of laws (P, Q), and the law of the loss L = ln(dQ/dP) in balls.

A mechanism is a dictionary as in mechanisms.json: a kind, a count and exact parameters. `remove` is (P, Q)
with P the law without the record; `add` is (Q, P). A law is one of

* `Lattice`: losses offset + unit*k; the n-fold law is a power of polynomials (masses under P and under Q);
* `Points`: few losses on no lattice; the n-fold law lists multinomials;
* `Laplace` and `Gaussian`: closed forms (closed.py);
* `Sampled`: a Poisson sample of Gaussian or Laplace noise (sampled.py for few steps, lines.py for many).

What a window leaves out is an event, and delta of the rest is less by at most Q of that event.
"""

import math
from fractions import Fraction

from flint import arb, arb_poly

from .balls import ball

SYMMETRIC = (
    "randomised_response",
    "pure_dp",
    "approximate_dp",
    "discrete_laplace",
    "laplace",
    "gaussian",
    "discrete_gaussian",
    "truncated_discrete_gaussian",
)
# Most points of an n-fold law.
MOST_POINTS = 60_000
# A power of a polynomial with this many coefficients takes seconds.
LONGEST_POWER = 12_000


class Unaffordable(Exception):
    """The method would need more memory or time than its limits allow."""


def is_symmetric(composition):
    return all(part["kind"] in SYMMETRIC for part in composition)


def fraction(part, name, default=None):
    return Fraction(str(part.get(name, default)))


def window(sigma2, bits):
    """R with P[|X| > R] < 2^-bits for the discrete Gaussian."""
    return math.isqrt(math.ceil(2 * math.log(2) * (bits + 2) * sigma2)) + 1


def gaussian_masses(sigma2, radius):
    """P[X = x] for |x| <= radius, with the probability of the rest: a ball and its upper end."""
    weights = [(-ball(Fraction(x * x) / (2 * sigma2))).exp() for x in range(radius + 2)]
    last, beyond = weights[radius], weights.pop()
    rest = 2 * beyond / (1 - beyond / last)
    total = weights[0] + 2 * sum(weights[1:], arb(0))
    total += arb(0).union(rest.upper())
    return {x: weights[abs(x)] / total for x in range(-radius, radius + 1)}, (rest / total).upper()


class Lattice:
    """Masses {k: (p, q)} at losses offset + unit*k; q at infinity, and a neglected tail."""

    def __init__(self, unit, offset, masses, infinity=None, tail=None):
        self.unit, self.offset, self.masses = unit, offset, masses
        self.infinity = Fraction(0) if infinity is None else infinity
        self.tail = arb(0) if tail is None else tail

    def swap(self, infinity):
        masses = {-k: (q, p) for k, (p, q) in self.masses.items()}
        return Lattice(self.unit, -self.offset, masses, infinity, self.tail)

    def power(self, n):
        """The n-fold law as a list of (loss, p, q), and the tail."""
        if n == 1:
            return Lattice(self.unit, self.offset, self.masses, None, self.tail)
        low, high = min(self.masses), max(self.masses)
        size = (high - low) * n + 1
        if size > MOST_POINTS or (len(self.masses) > 2 and size > LONGEST_POWER):
            raise Unaffordable("n-fold lattice")
        if len(self.masses) == 2:
            p, q = (binomials([self.masses[k][side] for k in (low, high)], n) for side in (0, 1))
            places = [k * (high - low) for k in range(n + 1)]
        else:
            dense = [self.masses.get(k, (arb(0), arb(0))) for k in range(low, high + 1)]
            p, q = ((arb_poly([m[side] for m in dense]) ** n).coeffs() for side in (0, 1))
            p, q = (side + [arb(0)] * (size - len(side)) for side in (p, q))
            places = range(size)
        keep = [i for i in range(len(p)) if not (p[i].is_zero() and q[i].is_zero())]
        return Lattice(
            self.unit,
            n * self.offset + n * low * self.unit,
            {places[i]: (p[i], q[i]) for i in keep},
            None,
            n * self.tail,
        )

    def points(self):
        return [(ball_of(self.offset) + ball_of(self.unit) * k, *m) for k, m in self.masses.items()]


def ball_of(x):
    return x if isinstance(x, arb) else ball(x)


def binomials(masses, n):
    """C(n, k) a^(n-k) b^k."""
    a, b = masses
    ratio = b / a
    out = [a**n]
    for k in range(n):
        out.append(out[-1] * ratio * (n - k) / (k + 1))
    return out


def common_lattice(a, b):
    """Two lattices of fractions as one, if that has few points."""
    unit = Fraction(
        math.gcd(a.unit.numerator * b.unit.denominator, b.unit.numerator * a.unit.denominator),
        a.unit.denominator * b.unit.denominator,
    )
    size = sum(int(x.unit / unit) * (max(x.masses) - min(x.masses)) for x in (a, b)) + 1
    if size > 20_000:
        return None
    polys, low, offset = [[], []], 0, Fraction(0)
    for x in (a, b):
        m, least = int(x.unit / unit), min(x.masses)
        low += m * least
        offset += x.offset
        for side in (0, 1):
            dense = [arb(0)] * (m * (max(x.masses) - least) + 1)
            for k, masses in x.masses.items():
                dense[m * (k - least)] = masses[side]
            polys[side].append(arb_poly(dense))
    p, q = ((one * two).coeffs() for one, two in polys)
    p, q = (side + [arb(0)] * (size - len(side)) for side in (p, q))
    masses = {low + k: (p[k], q[k]) for k in range(size) if not (p[k].is_zero() and q[k].is_zero())}
    return Lattice(unit, offset, masses, None, a.tail + b.tail)


class Points:
    """A list of (loss, p, q)."""

    def __init__(self, points, infinity=None, tail=None):
        self.list = points
        self.infinity = Fraction(0) if infinity is None else infinity
        self.tail = arb(0) if tail is None else tail

    def swap(self, infinity):
        return Points([(-loss, q, p) for loss, p, q in self.list], infinity, self.tail)

    def power(self, n):
        m = len(self.list)
        if math.comb(n + m - 1, m - 1) > MOST_POINTS:
            raise Unaffordable("multinomials")
        if m == 2:
            (a, *_), (b, *_) = self.list
            p, q = (binomials([point[side] for point in self.list], n) for side in (1, 2))
            return Points([(a * (n - k) + b * k, p[k], q[k]) for k in range(n + 1)], None, n * self.tail)
        # (used, loss, p, q): outcomes one after the other, with how often each occurs.
        partial = [(0, arb(0), arb(1), arb(1))]
        for i, (loss, p, q) in enumerate(self.list):
            powers = [(arb(1), arb(1))]
            for k in range(1, n + 1):
                powers.append((powers[-1][0] * p / k, powers[-1][1] * q / k))
            grown = []
            for used, sum_, pp, qq in partial:
                counts = range(n - used, n - used + 1) if i == m - 1 else range(n - used + 1)
                grown += [(used + k, sum_ + k * loss, pp * powers[k][0], qq * powers[k][1]) for k in counts]
            partial = grown
        scale = arb(math.factorial(n))
        return Points([(s, p * scale, q * scale) for _, s, p, q in partial], None, n * self.tail)

    def points(self):
        return self.list


class Laplace:
    """tau = shift/scale: atoms at -tau and tau, a density between."""

    def __init__(self, tau):
        self.tau = tau


class Gaussian:
    def __init__(self, mu2):
        self.mu2 = mu2


class Sampled:
    """A Poisson sample of Gaussian(mu2) or Laplace(tau)."""

    def __init__(self, base, q, direction):
        self.base, self.q, self.direction = base, q, direction


def law_of(part, direction, bits, steps=1):
    """The law of one mechanism; windows neglect less than 2^-bits."""
    kind = part["kind"]
    if kind == "laplace":
        return Laplace(fraction(part, "shift", 1) / fraction(part, "scale"))
    if kind == "gaussian":
        return Gaussian(fraction(part, "shift", 1) ** 2 / fraction(part, "sigma2"))
    if kind in ("subsampled_gaussian", "subsampled_laplace"):
        return Sampled(law_of({**part, "kind": kind[11:]}, "remove", bits), fraction(part, "q"), direction)
    if kind.startswith("subsampled_"):
        base = law_of({**part, "kind": kind[11:]}, "remove", bits, steps)
        q = ball(fraction(part, "q"))
        points = [(((1 - q) * p + q * r) / p, p, (1 - q) * p + q * r) for _, p, r in base.points()]
        law = Points([(y.log(), p, r) for y, p, r in points], None, base.tail)
        return law if direction == "remove" else law.swap(Fraction(0))
    if kind == "finite":
        return finite(part, direction)
    return noise(part, kind, bits, steps)


def finite(part, direction):
    p, q = ([Fraction(m) for m in part[side]] for side in ("p", "q"))
    if direction == "add":
        p, q = q, p
    merged = {}
    for a, b in zip(p, q):
        if a and b:
            old = merged.get(b / a, (0, 0))
            merged[b / a] = (old[0] + a, old[1] + b)
    points = [(ball(ratio).log(), ball(a), ball(b)) for ratio, (a, b) in sorted(merged.items())]
    return Points(points, sum((b for a, b in zip(p, q) if a == 0), Fraction(0)))


def noise(part, kind, bits, steps):
    """Symmetric laws on a lattice."""
    if kind == "randomised_response":
        k = int(part["k"])
        if "truth" in part:
            truth = fraction(part, "truth")
            other = (1 - truth) / (k - 1)
            unit, truth, other = ball(truth / other).log(), ball(truth), ball(other)
        else:
            unit = fraction(part, "epsilon")
            other = 1 / (ball(unit).exp() + k - 1)
            truth = other * ball(unit).exp()
        masses = {-1: (truth, other), 1: (other, truth)}
        if k > 2:
            masses[0] = ((k - 2) * other, (k - 2) * other)
        return Lattice(unit, unit * 0, dict(sorted(masses.items())))
    if kind in ("pure_dp", "approximate_dp"):
        unit, delta = fraction(part, "epsilon"), fraction(part, "delta", 0)
        one, more = ball(1 - delta) / (ball(unit).exp() + 1), ball(unit).exp()
        return Lattice(unit, Fraction(0), {-1: (one * more, one), 1: (one, one * more)}, delta)
    shift = int(part.get("shift", 1))
    if kind == "discrete_laplace":
        scale = fraction(part, "scale")
        alpha = (-1 / ball(scale)).exp()
        masses = {}
        for k in range(shift + 1):
            # x <= 0, x = k, or x >= shift; under Q the mirror image.
            tail = 1 / (1 + alpha)
            inside = (1 - alpha) / (1 + alpha) * alpha**k
            p = tail if k == 0 else tail * alpha**shift if k == shift else inside
            masses[k] = p
        both = {k: (masses[k], masses[shift - k]) for k in masses}
        return Lattice(2 / scale, -shift / scale, both)
    sigma2 = fraction(part, "sigma2")
    step, offset = shift / sigma2, Fraction(-shift * shift) / (2 * sigma2)
    if kind == "discrete_gaussian":
        radius = window(sigma2, bits + math.ceil(math.log2(steps)) + 1) + shift
        masses, tail = gaussian_masses(sigma2, radius)
        both = {x: (masses[x], masses[x - shift]) for x in range(shift - radius, radius + 1)}
        # Q's mass outside of the window.
        tail += sum((masses[x] for x in range(radius - shift + 1, radius + 1)), arb(0))
        return Lattice(step, offset, both, None, tail.upper())
    bound = int(part["bound"])
    weights = {x: (-ball(Fraction(x * x) / (2 * sigma2))).exp() for x in range(-bound, bound + 1)}
    total = sum(weights.values(), arb(0))
    both = {x: (weights[x] / total, weights[x - shift] / total) for x in range(shift - bound, bound + 1)}
    lost = sum((weights[x] for x in range(bound - shift + 1, bound + 1)), arb(0)) / total
    return Lattice(step, offset, both, lost)
