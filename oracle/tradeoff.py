"""Trade-off functions, exactly: the least rate of misses f(a) at the rate of false alarms a, and 1 - f(a).

On a lattice the best test raises an alarm above some loss l and, at l itself, now and then.  With the first
k such that P[K > k] <= a <= P[K >= k], and Q[K = j] = P[K = j - M],

    f(a)     = P[K + M < k] + (P[K >= k] - a) e^{l_k},
    1 - f(a) = P[K + M > k] + (a - P[K > k]) e^{l_k},      l_k = g (k - M/2).

For continuous Gaussian noise f(a) is the normal distribution function at (its quantile of 1 - a) - mu.
"""

from fractions import Fraction

from flint import arb

from .balls import WANTED_BITS, ball, decimal, is_sharp, precision, zero_to
from .composition import Composition, Unaffordable, radius_for
from .convolution import convolution_pmf

ALPHAS = ["1e-300", "1e-100", "1e-20", "1e-6", "0.001", "0.05", "0.2", "1/3", "0.5", "0.7", "0.95", "0.999"]
ALPHAS += ["0.999999", "0.9999999999999"]

LATTICES = [
    [("3", 1, 1)],
    [("0.5", 1, 1)],
    [("1/7", 2, 1)],
    [("5", 10, 1)],
    [("20", 3, 4)],
    [("5", 2, 1), ("15/2", 3, 1)],
    [("40", 25, 1), ("100/3", 10, 1)],
    [("200", 40, 1)],
    [("0.02", 1, 1)],
]
GAUSSIANS = [("1", 1, "1"), ("2", 3, "1"), ("50", 7, "0.5"), ("0.3", 5, "2")]


def between_atoms(pmf, radius, lost, alpha):
    """The k with P[K > k] <= alpha <= P[K >= k], and P[K > k]; certain comparisons only."""
    above = zero_to(lost)
    for k in range(radius, -radius - 1, -1):
        reached = above + pmf[k + radius]
        if reached > alpha:
            assert above < alpha, "alpha is too near to a knot"
            return k, above
        assert reached < alpha, "alpha is too near to a knot"
        above = reached
    raise Unaffordable("alpha beyond the window")


def on_lattice(composition, alpha, bits=400, max_window=60_000):
    """(f, 1 - f) as balls."""
    while True:
        if bits > 6000 or 2 * radius_for(bits, composition.variance) > max_window:
            raise Unaffordable("window of the convolution")
        with precision(bits + 64):
            pmf, radius, lost = convolution_pmf(composition, bits)
            try:
                k, above = between_atoms(pmf, radius, lost, ball(alpha))
            except AssertionError:
                bits *= 2
                continue
            ratio = ball(composition.step * (k - Fraction(composition.move, 2))).exp()
            # Under Q, K is K + M.
            start = min(max(k - composition.move + radius, 0), len(pmf) - 1)
            below = sum(pmf[:start], arb(0)) + zero_to(lost)
            beyond = sum(pmf[start + 1 :], arb(0)) + zero_to(lost)
            inside = -radius <= k - composition.move <= radius
            at_least = above + pmf[k + radius]
            misses = below + (at_least - ball(alpha)) * ratio
            power = beyond + (ball(alpha) - above) * ratio
            if inside and is_sharp(misses) and is_sharp(power):
                return misses, power
        bits = int(bits * 1.5)


def of_gaussian(mu2, alpha):
    """(f, 1 - f) for noise whose loss has variance mu2."""
    bits = 1500
    with precision(bits):
        root = arb(2).sqrt()
        # P[N(0, 1) > z] = erfc(z/sqrt 2)/2 = alpha.
        z = root * (2 * ball(alpha)).erfcinv() if alpha < 1 else arb("-inf")
        moved = z - ball(mu2).sqrt()
        misses = (-moved / root).erfc() / 2
        power = (moved / root).erfc() / 2
        assert is_sharp(misses, WANTED_BITS) and is_sharp(power, WANTED_BITS), (mu2, alpha, misses, power)
        return misses, power


def point(alpha, answer):
    return {"a": alpha, "f": decimal(answer[0]), "power": decimal(answer[1])}


def tradeoffs():
    """Every entry of the reference file."""
    found = []
    for groups in LATTICES:
        composition = Composition(groups)
        points = []
        for alpha in ALPHAS:
            try:
                points.append(point(alpha, on_lattice(composition, Fraction(alpha))))
            except Unaffordable:
                continue
        found.append({"noise": "discrete", "groups": composition.names(), "points": points})
    for sigma2, count, shift in GAUSSIANS:
        mu2 = count * Fraction(shift) ** 2 / Fraction(sigma2)
        points = [point(alpha, of_gaussian(mu2, Fraction(alpha))) for alpha in ALPHAS]
        found.append({"noise": "continuous", "groups": [[sigma2, count, shift]], "points": points})
    return found
