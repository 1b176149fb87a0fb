"""Exact epsilons at the deltas of every problem, from the oracle. Only this needs python-flint.

usage: truth.py      writes truth.json beside itself (run.py --truth does the same in its own environment)

For losses on a lattice delta(eps) is linear in e^eps between two losses: with p = P[L > eps] and
q = Q[L > eps] there, e^eps = (q - delta) / p. Newton's steps in e^eps find the piece, and the ball of that
quotient's logarithm, once it is known to lie in the piece, is the answer.

Without a lattice the oracle's two-sided smoothing bound is used (see `oracle/integration.py`). Its gap is of
the order of s^2, and what a small s costs is showing that the transform is negligible up to |t| of the order
of 20/s. Here that is shown for stretches of t at once, so that s = 1e-7 is affordable.
"""

import json
import math
import pathlib
import sys
import time
from fractions import Fraction

from problems import DELTAS, PROBLEMS

HERE = pathlib.Path(__file__).resolve().parent
PATH = HERE / "truth.json"


def read():
    """{problem: {delta: (lower, upper)}}, exact fractions around the truth."""
    problems = json.loads(PATH.read_text(encoding="utf-8"))["problems"]
    return {
        name: {delta: tuple(map(Fraction, pair)) for delta, pair in found["epsilon"].items()}
        for name, found in problems.items()
    }


def gaussian_epsilon(mu2, delta):
    """Roughly where epsilon is, for a start."""
    mu = math.sqrt(mu2)
    return mu2 / 2 + mu * math.sqrt(-2 * math.log(delta)) - mu


def midpoint(ball):
    """The midpoint of a ball as an exact fraction."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def on_lattice(composition, delta):
    """(lower, upper) of epsilon, fractions."""
    from oracle.balls import ball, precision
    from oracle.fourier import by_dft

    epsilon = Fraction(gaussian_epsilon(composition.mu2, delta)).limit_denominator(10**6)
    while True:
        first = composition.first_above(epsilon)
        (answer,) = by_dft(composition, [epsilon])
        with precision(400):
            root = ((answer["q"] - ball(delta)) / answer["p"]).log()
            # Losses of the piece: epsilon is at least the one before `first`, and below it.
            edge = composition.step * (first - Fraction(composition.move, 2))
            if root >= ball(edge - composition.step) and root < ball(edge):
                return midpoint(root.lower()), midpoint(root.upper())
        epsilon = midpoint(root)


class Smoothed:
    """delta with a fictitious Gaussian mechanism of size s added, as in the oracle's by_integration: the same
    line, the same rule, the same bounds; what differs is how nodes are shown to be negligible."""

    STRETCH = 2.0  # of t, decided at once
    AT_ONCE = 1 << 20  # stretches in one array
    CELLS = 4096

    def __init__(self, composition, largest, smallest_delta, s):
        from flint import arb

        from oracle.balls import LN2, ball, precision
        from oracle.integration import HalfLineFactor

        self.s = s
        # Absolute accuracy that leaves fifty bits of the smallest delta, after the factor e^{eps/2}.
        self.bits = bits = int(-math.log2(smallest_delta) + largest / 2 / LN2) + 60
        period = largest + 2 * (bits + 20) * LN2
        self.h = Fraction(int(2 * math.pi / period * 2**20), 2**20)
        self.nodes = int(math.sqrt(2 * (bits + 20) * LN2) / float(s) / float(self.h)) + 1
        log_tau = -(bits + 10 + math.log2(self.nodes)) * LN2
        factors = [HalfLineFactor(sigma2, shift, bits + 40) for sigma2, _, shift in composition.groups]
        counts = [n for _, n, _ in composition.groups]
        with precision(bits + 80):
            live = self.live_nodes(factors, counts, log_tau)

            def transform(t):
                value = (-ball(s * s * (t * t + Fraction(1, 4)) / 2)).exp()
                for factor, n in zip(factors, counts):
                    value *= factor.value(t) ** n
                return value

            self.values = [(i * self.h, transform(i * self.h)) for i in live]
            self.at_zero = transform(Fraction(0))
            # Left out: nodes below tau up to the cut, and beyond it |F| <= e^{-s^2 t^2/2}, compared with its
            # integral.
            step, cut = ball(self.h), ball(self.nodes * self.h)
            ignored = 2 * step * arb(2) ** (-bits - 10)
            ignored += 4 / arb.pi() * (-ball(s * s) * cut * cut / 2).exp() / (ball(s * s) * cut)
            self.ignored = arb(0, ignored.upper())

    def live_nodes(self, factors, counts, log_tau):
        """Numbers of the nodes where the bounds do not prove that the transform is below tau.

        The modulus of a factor decreases in the distance of its angle from 2 pi Z, so that on a stretch of t
        it is at most its value at the angle's smallest distance. The widest noise dies first."""
        import numpy
        from flint import arb

        # Steps above count * ln |factor|: cell i stands for distances from pi i / CELLS on.
        tables = []
        for factor, n in sorted(zip(factors, counts), key=lambda pair: -pair[0].sigma2):
            floor = -2 * abs(log_tau)
            steps = [0.0]
            for i in range(1, self.CELLS + 1):
                size = factor.at_angle(arb.pi() * i / self.CELLS, 1).abs_upper()
                size = float(size.log().upper()) * n if size > 0 and steps[-1] > floor else floor
                steps.append(min(0.0, size * (1 - 1e-9)))
            tables.append((float(factor.ratio) / (2 * math.pi), numpy.array(steps)))

        h, end = float(self.h), self.nodes * float(self.h)
        live = set()
        stretches = int(end / self.STRETCH) + 1
        for start in range(0, stretches, self.AT_ONCE):
            number = numpy.arange(start, min(start + self.AT_ONCE, stretches))
            total = numpy.zeros(len(number))
            for turns, steps in tables:
                middle = (number + 0.5) * (self.STRETCH * turns)
                distance = numpy.abs(middle - numpy.rint(middle))
                # Half a stretch nearer, and far more than rounding can have cost (up to 1e8 turns).
                distance = numpy.maximum(distance - self.STRETCH * turns / 2 - 1e-6, 0.0)
                total += steps[(distance * (2 * self.CELLS)).astype(int)]
                kept = total >= log_tau
                number, total = number[kept], total[kept]
            for k in number.tolist():
                first = max(1, int(k * self.STRETCH / h) - 1)
                live.update(range(first, min(self.nodes, int((k + 1) * self.STRETCH / h) + 1) + 1))
        return sorted(live)

    def delta(self, epsilon):
        """(lower, upper), balls."""
        from flint import arb

        from oracle.balls import ball, precision, zero_to

        s = self.s
        with precision(self.bits + 80):
            step = ball(self.h)
            price, density = 4 * self.at_zero, self.at_zero
            for t, value in self.values:
                wave = 2 * value * ball(t * epsilon).cos()
                density += wave
                price += wave / ball(t * t + Fraction(1, 4))
            alias = 2 * (-(2 * arb.pi() / step - ball(epsilon)) / 2).exp() / (1 - (-arb.pi() / step).exp())
            front, weight = (ball(epsilon) / 2).exp(), step / (2 * arb.pi())
            cap = 1 / (ball(s) * (2 * arb.pi()).sqrt())
            smooth = 1 - front * (weight * price + self.ignored - zero_to(alias))
            density = front * (weight * density + self.ignored - zero_to(alias * cap))
            return smooth - ball(s * s) * ball(s * s / 8).exp() * density, smooth


def without_lattice(composition, deltas, s=Fraction(1, 10**7)):
    """{delta: (lower, upper)} of epsilon, fractions."""
    from oracle.balls import ball, precision

    guesses = {delta: gaussian_epsilon(composition.mu2, float(delta)) for delta in deltas}
    smoothed = Smoothed(composition, max(guesses.values()) + 5, float(min(deltas)), s)
    found = {}

    def log_excess(delta, epsilon, end):
        """ln(delta(epsilon) / delta) for one end of the bracket."""
        with precision(smoothed.bits + 80):
            return (smoothed.delta(epsilon)[end] / ball(delta)).log()

    for delta in deltas:
        ends = []
        for end, sign in ((0, 1), (1, -1)):
            # Secant steps, then a step outward and a check that the sign is certain there.
            a, b = Fraction(guesses[delta]), Fraction(guesses[delta]) + Fraction(1, 10)
            at_a, at_b = midpoint(log_excess(delta, a, end)), midpoint(log_excess(delta, b, end))
            while abs(b - a) > Fraction(1, 10**18):
                a, b, at_a = b, (b - at_b * (b - a) / (at_b - at_a)).limit_denominator(10**40), at_b
                at_b = midpoint(log_excess(delta, b, end))
            edge = b - sign * Fraction(1, 10**16)
            assert sign * log_excess(delta, edge, end) > 0
            ends.append(edge)
        found[delta] = tuple(ends)
    return smoothed, found


def check_smoothing():
    """The smoothing bound, with a coarse s, must enclose delta where the lattice says it is."""
    from oracle.balls import ball, precision
    from oracle.composition import Composition

    composition = Composition([(sigma2, count, 1) for sigma2, count in PROBLEMS[0].groups])
    exact = {delta: on_lattice(composition, Fraction(delta))[0] for delta in DELTAS}
    smoothed = Smoothed(composition, float(max(exact.values())), float(DELTAS[-1]), Fraction(1, 20))
    for delta, epsilon in exact.items():
        lower, upper = smoothed.delta(epsilon)
        with precision(smoothed.bits):
            assert lower < ball(Fraction(delta)) < upper, (delta, lower, upper)


def outward(lower, upper, places=24):
    """A pair of decimals around a pair of fractions."""
    scale = 10**places

    def decimal(n):
        return f"{n // scale}.{n % scale:0{places}d}"

    return [decimal(math.floor(lower * scale)), decimal(math.ceil(upper * scale))]


def solve(problem):
    """The record of one problem in truth.json."""
    from oracle.composition import Composition

    composition = Composition([(sigma2, count, 1) for sigma2, count in problem.groups])
    if problem.half_lattice_step() is None:
        smoothed, found = without_lattice(composition, [Fraction(delta) for delta in DELTAS])
        how = (
            f"oracle's smoothing bound (by_integration) with s = {float(smoothed.s):g}, sieved by "
            f"stretches up to t = {float(smoothed.nodes * smoothed.h):.3g}, "
            f"{len(smoothed.values)} live nodes, {smoothed.bits} bits"
        )
        epsilon = {delta: outward(*found[Fraction(delta)]) for delta in DELTAS}
    else:
        how = "oracle's by_dft, root of q - e^eps p = delta on its piece"
        epsilon = {delta: outward(*on_lattice(composition, Fraction(delta))) for delta in DELTAS}
    width = max(float(Fraction(upper) - Fraction(lower)) for lower, upper in epsilon.values())
    return {
        "groups": [[str(sigma2), count] for sigma2, count in problem.groups],
        "how": how,
        "width": f"{width:.1e}",
        "epsilon": epsilon,
    }


def write():
    sys.path.insert(0, str(HERE.parents[1]))
    check_smoothing()
    problems = {}
    for problem in PROBLEMS:
        start = time.time()
        problems[problem.name] = solve(problem)
        width = problems[problem.name]["width"]
        print(f"{problem.name}: width {width}, {time.time() - start:.1f} s", flush=True)
    what = "epsilon at delta as [lower, upper], decimals around the truth; made by truth.py from the oracle"
    PATH.write_text(json.dumps({"what": what, "problems": problems}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
