#!/usr/bin/env python3
"""High-precision reference values for privacy profiles of discrete Gaussian noise.

A composition is a list of groups (sigma2, count, shift): `count` independent mechanisms, each adding
X ~ N_Z(0, sigma2) (P[X = x] proportional to exp(-x^2 / (2 sigma2)) on the integers) to a value that one
record moves by the integer `shift`.  With mu2 = sum count shift^2 / sigma2 the privacy loss is

    L = sum shift X / sigma2 - mu2 / 2        under P,

and X becomes X + shift under Q.  Four numbers are computed for each epsilon (all inequalities strict):

    p = P[L > eps],   q = Q[L > eps],   delta = E_P[(e^L - e^eps)_+],   complement = 1 - delta.

Everything is ball arithmetic (Arb, through python-flint): a number is a midpoint with a proved radius,
truncation and aliasing errors are bounded by hand and added to the radius, comparisons of losses with
epsilon are made with exact rationals.  Nothing is tilted towards a saddle point: where a quantity is
1e-500, the arithmetic simply carries the bits that this takes.

Two facts about one discrete Gaussian are used throughout:

  * sub-Gaussian:  E[e^{wX}] <= e^{sigma2 w^2 / 2} for real w, hence for a sum K of independent
    multiples, with V = sum of count m^2 sigma2:   P[K >= x] <= e^{-x^2 / (2V)}  (x >= 0).
  * its characteristic function is a ratio of theta functions, positive, and decreasing in the distance
    of the frequency from 2 pi Z (each factor of Jacobi's product is).
"""

import argparse
import json
import math
import os
import random
import sys
import time
from contextlib import contextmanager
from fractions import Fraction

import numpy
from flint import arb, arb_poly, acb, ctx, fmpq

# 25 printed digits are 83 bits; seven more leave room for rounding the printed decimal.
DIGITS = 25
WANTED_BITS = 90
# Beyond this many bits (about 1e-1500) a point counts as out of reach.
MAX_BITS = 5200
LN2 = math.log(2.0)


class Unaffordable(Exception):
    """The method would need more memory or time than its limits allow."""


# ----------------------------------------------------------------------------------------------
# Small tools
# ----------------------------------------------------------------------------------------------

@contextmanager
def precision(bits):
    """Run a block at a given working precision."""
    before = ctx.prec
    ctx.prec = int(bits)
    try:
        yield
    finally:
        ctx.prec = before


def ball(x):
    """The rational x (Fraction or int) as a ball at the current precision."""
    if isinstance(x, Fraction):
        return arb(fmpq(x.numerator, x.denominator))
    return arb(x)


def between(low, high):
    """A ball that contains everything from the lower end of `low` to the upper end of `high`."""
    return arb(low).union(arb(high))


def zero_to(bound):
    """A ball that contains [0, bound]."""
    return between(arb(0), arb(bound).upper())


def two_to(exponent):
    """2**exponent as an exact ball."""
    return arb(2) ** int(exponent)


def is_sharp(x, bits=WANTED_BITS):
    return bool(x.is_finite()) and x.rel_accuracy_bits() >= bits


def decimal(x, digits=DIGITS):
    """Decimal digits of a ball; the truth is within one unit of the last digit printed."""
    return x.str(digits, radius=False)


def directed(x, upwards, digits=12):
    """A decimal that is certainly not below (upwards) or not above the ball x."""
    with precision(200):
        end = arb(x.upper() if upwards else x.lower())
        text = end.str(digits, radius=False)
        # The printed decimal may be off by one unit in the last place: step outward until it is not.
        mantissa, _, exponent = text.partition("e")
        places = len(mantissa.partition(".")[2])
        unit = Fraction(10) ** (int(exponent or 0) - places)
        value = Fraction(text) + (unit if upwards else -unit)
        assert (ball(value) >= end) if upwards else (ball(value) <= end)
        return "%.*e" % (digits - 1, 0) if value == 0 else scientific(value)


def scientific(value):
    """An exact finite decimal in the form 1.234e-5."""
    sign, value = ("-", -value) if value < 0 else ("", value)
    exponent = 0
    while value >= 10:
        value, exponent = value / 10, exponent + 1
    while value < 1:
        value, exponent = value * 10, exponent - 1
    digits = ""
    while value:
        digit = int(value)
        digits, value = digits + str(digit), (value - digit) * 10
    return f"{sign}{digits[0]}.{digits[1:] or '0'}e{exponent}"


# ----------------------------------------------------------------------------------------------
# Compositions
# ----------------------------------------------------------------------------------------------

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
        assert self.step ** 2 * self.variance == self.mu2

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


# ----------------------------------------------------------------------------------------------
# Method 1: literal convolution
# ----------------------------------------------------------------------------------------------

def single_pmf(sigma2, bits):
    """[P[X = 0], P[X = 1], ..., P[X = s]] by direct summation; s is such that the rest is < 2^-bits."""
    s = radius_for(bits, sigma2)
    weights = [(-ball(Fraction(x * x) / (2 * sigma2))).exp() for x in range(s + 2)]
    # Beyond s the ratio of neighbours is at most that of s+1 to s, so a geometric series bounds the rest.
    last, beyond = weights[s], weights.pop()
    rest = beyond / (1 - beyond / last)
    total = weights[0] + 2 * sum(weights[1:], arb(0)) + zero_to(2 * rest)
    return [w / total for w in weights]


def clip(poly, radius, keep):
    """Centred polynomial (index i stands for i - radius) cut down to |k| <= keep."""
    if keep >= radius:
        return poly, radius
    return poly.right_shift(radius - keep).truncate(2 * keep + 1), keep


def multiply(a, b, bits, variance):
    poly, radius = a[0] * b[0], a[1] + b[1]
    return clip(poly, radius, radius_for(bits, variance))


def convolution_pmf(composition, bits):
    """pmf of K as a centred polynomial with certain lower parts: (coefficients, radius, lost).

    Everything cut away is nonnegative, so the true pmf is at least the computed one, and the total of what
    is missing, inside the window and outside, is 1 minus the sum of the coefficients."""
    result, variance = (arb_poly([1]), 0), Fraction(0)
    for (sigma2, count, _), m in zip(composition.groups, composition.multiples):
        one = single_pmf(sigma2, bits)
        s = len(one) - 1
        square = (arb_poly(one[:0:-1] + one), s)          # centred pmf of one mechanism
        power, n, done, width = None, count, 0, 1
        while True:                                       # binary powering
            if n & 1:
                done += width
                power = square if power is None else multiply(power, square, bits, done * sigma2)
            n >>= 1
            if not n:
                break
            width *= 2
            square = multiply(square, square, bits, width * sigma2)
        poly, radius = power
        stretched = [arb(0)] * (2 * radius * m + 1)
        for i, coefficient in enumerate(poly.coeffs()):
            stretched[i * m] = coefficient
        variance += count * m * m * sigma2
        result = multiply(result, (arb_poly(stretched), radius * m), bits, variance)
    coefficients, radius = result[0].coeffs(), result[1]
    coefficients += [arb(0)] * (2 * radius + 1 - len(coefficients))
    lost = (1 - sum(coefficients, arb(0))).upper()
    return coefficients, radius, lost


def convolution_bits(composition, epsilons):
    """Bits for which the window reaches past both the threshold and the bulk of Q."""
    reach = max(float(composition.first_above(e)) for e in epsilons)
    reach = max(reach, float(composition.move)) / math.sqrt(composition.variance) + 13.5
    return int(reach * reach / 2 / LN2) + 40


def by_convolution(composition, epsilons, max_window=6000):
    """The literal sum over all lattice losses above epsilon."""
    def attempt(wanted, bits):
        if 2 * radius_for(bits, composition.variance) > max_window:
            raise Unaffordable("window of the convolution")
        with precision(bits + 64):
            pmf, radius, lost = convolution_pmf(composition, bits)
            # e^{g (k - M/2)} for every k of the window.
            ratio = ball(composition.step).exp()
            weight = ball(composition.step * (-radius - Fraction(composition.move, 2))).exp()
            weights = []
            for _ in pmf:
                weights.append(weight)
                weight = weight * ratio
            # Mass of Q beyond the window; under Q, K - M is distributed as K under P.
            outside = zero_to(tail_bound(radius + 1 - composition.move, composition.variance))
            # What was lost inside the window can carry at most the largest weight.
            inside = zero_to(lost * weights[-1].upper())
            answers = []
            for epsilon in wanted:
                first = composition.first_above(epsilon)
                strike = ball(epsilon).exp()
                start = min(max(first + radius, 0), len(pmf))
                p = q = d = c = arb(0)
                for mass, w in zip(pmf[start:], weights[start:]):
                    p += mass
                    q += mass * w
                    d += mass * (w - strike)
                    c += mass * strike
                for mass, w in zip(pmf[:start], weights[:start]):
                    c += mass * w
                # The complement is E_P[min(e^L, e^eps)]: lost mass carries at most e^eps.
                answers.append({"d": d + inside + outside, "p": p + zero_to(lost),
                                "q": q + inside + outside, "c": c + zero_to(lost * strike)})
            return answers
    return refine(composition, epsilons, attempt, convolution_bits(composition, epsilons))


# ----------------------------------------------------------------------------------------------
# Method 2: discrete Fourier transform of the characteristic function
# ----------------------------------------------------------------------------------------------

class Theta:
    """Characteristic function of one discrete Gaussian at angle 2 pi rho, |rho| <= 1/2.

    direct:  sum_x e^{-x^2/(2 sigma2)} cos(2 pi rho x) / sum_x e^{-x^2/(2 sigma2)}
    dual:    e^{-2 pi^2 sigma2 rho^2} (1 + sum_{u>=1} e^{-2 pi^2 sigma2 u^2} (w^u + w^-u)) / (same at rho = 0),
             w = e^{4 pi^2 sigma2 rho}         (Poisson summation)
    Both consist of positive terms or dominated ones, and need few terms on their side of sigma2 = 1/(2 pi)."""

    def __init__(self, sigma2):
        self.sigma2 = sigma2
        self.dual = sigma2 >= Fraction(4, 25)
        self.rate = 2 * math.pi ** 2 * float(sigma2)      # only used to choose how many terms to take
        self.prepared = 0

    def prepare(self, bits):
        """Tables good for `bits` bits; the current precision must be at least that."""
        self.prepared = bits
        nats = bits * LN2 + 5
        self.terms = []
        if self.dual:
            scale = -2 * arb.pi() ** 2 * ball(self.sigma2)
            u = 1
            while True:
                term = (scale * (u * u)).exp()
                # Left out after u terms: at most 4 e^{-2 pi^2 sigma2 u (u+1)} even at rho = 1/2.
                self.terms.append(term)
                if self.rate * u * (u + 1) > nats:
                    break
                u += 1
            self.rest = 4 * (scale * (u * (u + 1))).exp()
        else:
            scale = -1 / (2 * ball(self.sigma2))
            x = 1
            while True:
                self.terms.append((scale * (x * x)).exp())
                if (x + 1) ** 2 / (2 * float(self.sigma2)) > nats:
                    break
                x += 1
            # The ratio of neighbouring terms is below e^{-9}: twice the first one left out covers them all.
            self.rest = 4 * (scale * ((x + 1) ** 2)).exp()
        self.total = 1 + 2 * sum(self.terms, arb(0)) + zero_to(self.rest)

    def correction(self, rho):
        """Dual: the bracket 1 + sum (...), without its denominator.  Direct: the whole numerator.
        rho = (numerator, denominator), 0 <= rho <= 1/2."""
        numerator, denominator = rho
        if self.dual:
            w = (4 * arb.pi() ** 2 * ball(self.sigma2 * Fraction(numerator, denominator))).exp()
            inverse = 1 / w
            total, up, down = arb(1), arb(1), arb(1)
            for term in self.terms:
                up, down = up * w, down * inverse
                total += term * (up + down)
            return total + zero_to(self.rest)
        c = arb.cos_pi_fmpq(fmpq(2 * numerator, denominator))
        # Chebyshev recurrence for cos(2 pi rho x); the guard bits cover the growth of its balls.
        previous, current, total = arb(1), c, arb(1)
        for term in self.terms:
            total += 2 * term * current
            previous, current = current, 2 * c * current - previous
        return total + arb(0, self.rest.upper())

    def log_value(self, rho):
        """Ball for the logarithm of the characteristic function at rho (a Fraction in [0, 1/2])."""
        if self.prepared < 100:
            with precision(192):
                self.prepare(100)
        with precision(192):
            value = (self.correction((rho.numerator, rho.denominator)) / self.total).log()
            if self.dual:
                value -= 2 * arb.pi() ** 2 * ball(self.sigma2 * rho * rho)
            return value


class DftTails:
    """Tail probabilities of K = sum m_j X_j from its characteristic function f at N equally spaced angles.

    With N = 2H + 1 odd, the N-periodised pmf is the DFT of f(2 pi l / N); f is real and even, so the sum of
    the periodised pmf over k..H is, with the sum over k done in closed form,

        (H - k + 1)/N  -  (1/N) sum_{l=1}^{H} f(2 pi l/N) sin((2k-1) pi l/N) / sin(pi l/N).

    It differs from P[K >= k] by what lies beyond H, folded back: at most 2 P[|K| > H].

    Most of the N nodes are irrelevant: f is below tau there, tau so small that all such nodes together stay
    below 2^-bits (the quotient of sines is at most N).  They are recognised with integers: at node l,
    group j is at angle 2 pi r/N with r = m_j l mod N, and its characteristic function decreases in |r|.
    For the group which is alive on the smallest share of angles, the nodes are listed by r, l = r / m_j mod N,
    so that the work does not grow with N itself."""

    CELLS = 128

    def __init__(self, composition, bits, max_candidates=1_500_000, max_work=400_000):
        self.composition, self.bits = composition, bits
        groups, multiples = composition.groups, composition.multiples
        half = radius_for(bits + 4, composition.variance)
        log_tau = -(bits + 8 + math.log2(half) + 1) * LN2
        thetas = [Theta(s) for s, _, _ in groups]

        # Share of angles (rho in [0, 1/2]) on which each group alone can still exceed tau.
        alive = [self.alive_share(t, n, log_tau) for t, (_, n, _) in zip(thetas, groups)]
        order = sorted(range(len(groups)), key=lambda j: alive[j])
        best = order[0]
        modulus = 2 * half + 1
        while math.gcd(modulus, multiples[best]) != 1:
            modulus += 2
        self.modulus, self.half = modulus, (modulus - 1) // 2
        limits = [math.floor(a * modulus) for a in alive]
        candidates = min(limits[best], self.half)
        if candidates > max_candidates:
            raise Unaffordable(f"{candidates} candidate nodes")

        nodes = self.live_nodes(thetas, order, limits, candidates, log_tau)
        if len(nodes) * len(groups) > max_work:
            raise Unaffordable(f"{len(nodes)} live nodes, {len(groups)} groups")
        self.evaluate_nodes(thetas, nodes)
        self.sines = None

    @staticmethod
    def alive_share(theta, count, log_tau):
        """Smallest multiple of 2^-40 (up to 1/2) from which on f^count is certainly below tau."""
        low, high = 0, 1 << 39
        dead = lambda i: bool(count * theta.log_value(Fraction(i, 1 << 40)) < log_tau)
        if not dead(high):
            return Fraction(1, 2)
        while high - low > max(1, low >> 10):
            middle = (low + high) // 2
            if dead(middle):
                high = middle
            else:
                low = middle
        return Fraction(high, 1 << 40)

    def live_nodes(self, thetas, order, limits, candidates, log_tau):
        """All l in 1..H (up to sign mod N) where the bounds do not prove f <= tau."""
        composition, modulus = self.composition, self.modulus
        best = order[0]
        inverse = pow(composition.multiples[best], -1, modulus)
        # Cheap test: a group on its own is dead beyond its limit.
        tests = [(composition.multiples[j], limits[j], modulus - limits[j])
                 for j in order[1:] if limits[j] < self.half]
        # Step functions above count * ln f, for the product of all groups; only worth it for many nodes.
        tables = None
        if candidates > 2000 and len(thetas) > 1:
            tables = []
            for j in order[:12]:
                n = composition.groups[j][1]
                steps = [float((n * thetas[j].log_value(Fraction(i, 2 * self.CELLS))).upper()) * (1 - 1e-9)
                         for i in range(self.CELLS + 1)]
                tables.append((composition.multiples[j], [min(0.0, s) for s in steps]))
        scale = 2 * self.CELLS
        log_limit = log_tau * (1 + 1e-9)
        nodes, l = [], 0
        for _ in range(candidates):
            l += inverse
            if l >= modulus:
                l -= modulus
            for m, low, high in tests:
                if low < (m * l) % modulus < high:
                    break
            else:
                if tables:
                    total = 0.0
                    for m, steps in tables:
                        r = (m * l) % modulus
                        total += steps[min(r, modulus - r) * scale // modulus]
                        if total < log_limit:
                            break
                    else:
                        nodes.append(min(l, modulus - l))
                else:
                    nodes.append(min(l, modulus - l))
        return nodes

    def evaluate_nodes(self, thetas, nodes):
        """self.live = [(precision, l, f(2 pi l/N) / sin(pi l/N))], precise to 2^-bits absolutely."""
        composition, modulus, full = self.composition, self.modulus, self.bits + 64
        groups, multiples = composition.groups, composition.multiples
        extra = max(n for _, n, _ in groups).bit_length() + 16
        with precision(full + extra + 64):
            for theta in thetas:
                theta.prepare(full + extra)
            # Everything that does not depend on the node: the denominators of the thetas.
            denominator = arb(1)
            for theta, (_, n, _) in zip(thetas, groups):
                denominator *= theta.total ** n
            constant = 1 / denominator
            # f = constant * exp(-2 pi^2/N^2 sum n sigma2 r^2) * product of corrections^n.
            common = math.lcm(*(s.denominator for s, _, _ in groups))
            parts = [(t, n, m, n * int(s * common) if t.dual else 0, 4 * math.pi ** 2 * float(s))
                     for t, (s, n, _), m in zip(thetas, groups, multiples)]
            exponent_scale = -2 * arb.pi() ** 2 / (modulus * modulus * common)
        rough_scale = 2 * math.pi ** 2 / LN2 / (float(modulus) ** 2 * float(common))
        self.live = []
        for l in nodes:
            residues = []
            exponent = 0
            for _, _, m, weight, _ in parts:
                r = (m * l) % modulus
                r = min(r, modulus - r)
                residues.append(r)
                exponent += weight * r * r
            # f is at most about 2^-size, so fewer relative bits give the same absolute accuracy.  (Corrections
            # exceed 1 only by the factors the dual sums can have, which the balls account for anyway.)
            size = int(rough_scale * exponent)
            bits = max(64, full - size) + extra
            ctx.prec = bits
            nats = bits * LN2
            value = constant * (exponent_scale * exponent).exp()
            doubt = 0
            for (theta, n, _, _, rate), r in zip(parts, residues):
                # First correction of the dual sum: 2 e^{-2 pi^2 sigma2 (1 - 2 rho)} at most.
                if theta.dual and rate * (0.5 - r / modulus) * 0.999 > nats:
                    doubt += n
                else:
                    value *= theta.correction((r, modulus)) ** n
            if doubt:
                # Product of the skipped brackets lies in [1, (1 + 4 e^{-nats})^doubt], and doubt is
                # below 2^extra times the number of groups.
                value *= 1 + zero_to(16 * doubt * (-arb(nats * 0.999)).exp())
            self.live.append((bits, l, value / arb.sin_pi_fmpq(fmpq(l, modulus))))
        ctx.prec = 53

    def tail(self, k):
        """Ball for P[K >= k]."""
        composition, modulus, half = self.composition, self.modulus, self.half
        with precision(self.bits + 64):
            folded = 4 * tail_bound(half + 1, composition.variance)
            if k > half:
                return zero_to(tail_bound(k, composition.variance))
            if k <= -half:
                return 1 - zero_to(tail_bound(1 - k, composition.variance))
            ignored = two_to(-self.bits - 8)
            total, odd = arb(0), (2 * k - 1) % (2 * modulus)
            if self.sines:
                table = self.sines
                for _, l, value in self.live:
                    i = odd * l % (2 * modulus)
                    total += value * table[i] if i < modulus else -value * table[i - modulus]
            else:
                sine = arb.sin_pi_fmpq
                parts = []
                for bits, l, value in self.live:
                    ctx.prec = bits
                    parts.append(value * sine(fmpq(odd * l % (2 * modulus), modulus)))
                ctx.prec = self.bits + 64
                total = sum(parts, arb(0))
            exact = ball(Fraction(half - k + 1, modulus))
            return exact - total / modulus + arb(0, (folded + ignored).upper())

    def tabulate(self, thresholds):
        """Tabulate the sines when that is cheaper than computing them for each threshold."""
        if len(self.live) * thresholds > 2 * self.modulus:
            with precision(self.bits + 64):
                self.sines = [arb.sin_pi_fmpq(fmpq(i, self.modulus)) for i in range(self.modulus)]


def by_dft(composition, epsilons, **limits):
    """p = P[K >= k], q = P[K >= k - M] with k the first lattice point above epsilon."""
    def attempt(wanted, bits):
        tails = DftTails(composition, bits, **limits)
        tails.tabulate(2 * len(wanted))
        answers = []
        with precision(bits + 64):
            for epsilon in wanted:
                first = composition.first_above(epsilon)
                p = tails.tail(first)
                q = tails.tail(first - composition.move)
                answers.append(summarize(p, q, epsilon))
        return answers
    deepest = max(composition.depth(e) for e in epsilons)
    # The difference q - e^eps p cancels more the smaller the whole loss is.
    cancelled = max(0.0, -math.log2(min(1.0, float(composition.mu2))))
    start = int(deepest / LN2 + cancelled) + WANTED_BITS + 24
    return refine(composition, epsilons, attempt, start)


def full_dft_pmf(composition, bits):
    """pmf of K by Arb's own DFT over every node (a check of DftTails on small lattices)."""
    half = radius_for(bits + 4, composition.variance)
    modulus = 2 * half + 1
    with precision(bits + 64):
        values = [arb(1)] * modulus
        for (sigma2, n, _), m in zip(composition.groups, composition.multiples):
            theta = Theta(sigma2)
            theta.prepare(bits + 40)
            for l in range(modulus):
                r = m * l % modulus
                r = min(r, modulus - r)
                f = theta.correction((r, modulus)) / theta.total
                if theta.dual:
                    f *= (-2 * arb.pi() ** 2 * ball(sigma2 * Fraction(r, modulus) ** 2)).exp()
                values[l] *= f ** n
        spectrum = acb.dft([acb(v) for v in values])
        alias = zero_to(2 * tail_bound(half + 1, composition.variance))
        pmf = [v.real / modulus - alias for v in spectrum]
        return pmf[half + 1:] + pmf[:half + 1], half


# ----------------------------------------------------------------------------------------------
# Method 3: enumeration of atoms
# ----------------------------------------------------------------------------------------------

def by_enumeration(composition, epsilons, max_atoms=120_000):
    """For a few mechanisms: list the atoms of all but the widest one, sum that one's tail.

    P[sum a_j X_j > b] with integers a_j, b: for every (x_1, .., x_{n-1}) the last mechanism must reach
    floor((b - sum a_j x_j) / a_n) + 1, which is decided exactly."""
    mechanisms = sorted(((s, d) for s, n, d in composition.groups for _ in range(min(n, 8))), key=lambda m: m[0])
    if composition.count > 4:
        raise Unaffordable("too many mechanisms to enumerate")
    *listed, last = mechanisms
    scale = math.lcm(*(f.denominator for s, d in mechanisms for f in [d / s]))
    slopes = [int(d / s * scale) for s, d in listed]
    last_slope = int(last[1] / last[0] * scale)

    def attempt(wanted, bits):
        atoms = 1
        for s, _ in listed:
            atoms *= 2 * radius_for(bits, s) + 1
        if atoms > max_atoms or radius_for(bits, last[0]) > 300_000:
            raise Unaffordable(f"{atoms} atoms")
        with precision(bits + 64):
            # Atoms of the listed mechanisms as (integer slope sum, probability).
            table = [(0, arb(1))]
            for (s, _), slope in zip(listed, slopes):
                one = single_pmf(s, bits)
                both = [(slope * x, one[abs(x)]) for x in range(1 - len(one), len(one))]
                table = [(a + b, p * q) for a, p in table for b, q in both]
            # Upper tails of the last mechanism: tails[i] encloses P[X >= i - radius] up to `rest`.
            one = single_pmf(last[0], bits)
            radius = len(one) - 1
            running, tails = arb(0), []
            for x in range(radius, -radius - 1, -1):
                running += one[abs(x)]
                tails.append(running)
            tails.reverse()
            top = len(tails)
            # Truncation of any mechanism loses nonnegative mass, at most this much in all.
            lost = 2 * arb(tail_bound(radius + 1, last[0]))
            for s, _ in listed:
                lost += 2 * tail_bound(radius_for(bits, s) + 1, s)
            lost = zero_to(lost)
            everything = tails[0]

            def exceeds(level):
                """P[sum a_j X_j > level], level rational in units of the losses."""
                b = math.floor(level * scale)     # integers exceed level*scale iff they exceed its floor
                total = arb(0)
                for a, probability in table:
                    i = (b - a) // last_slope + 1 + radius
                    if i < top:
                        total += probability * (tails[i] if i > 0 else everything)
                return total + lost

            answers = []
            for epsilon in wanted:
                # Under Q each X is X + shift, which adds mu2 to the sum of the slopes.
                p = exceeds(epsilon + composition.mu2 / 2)
                q = exceeds(epsilon - composition.mu2 / 2)
                answers.append(summarize(p, q, epsilon))
            return answers

    deepest = max(composition.depth(e) for e in epsilons)
    return refine(composition, epsilons, attempt, int(deepest / LN2) + WANTED_BITS + 30)


# ----------------------------------------------------------------------------------------------
# Method 4: integration, for many kinds without a usable lattice
# ----------------------------------------------------------------------------------------------
#
# Add one fictitious continuous Gaussian mechanism of size s: L becomes L + S, S ~ N(-s^2/2, s^2) under P.
# By Jensen (E e^S = 1) delta_s >= delta.  The excess for a fixed loss l is the time value of a call option:
# with y = l - eps its vega at volatility v is e^eps e^{y/2} phi(y/v) e^{-v^2/8}, increasing factors bounded
# by their values at s, so the excess is at most s e^eps e^{y/2} phi(y/s).  The density f_s of L + S at eps
# is E[(1/s) phi((y - s^2/2)/s)] = e^{-s^2/8} E[(1/s) e^{y/2} phi(y/s)], hence with D_s = e^eps f_s(eps)
#
#     delta_s - s^2 e^{s^2/8} D_s  <=  delta  <=  delta_s.
#
# The line of integration is Re z = 1/2 whatever epsilon: there the transform of the loss is real (the pair
# is symmetric), and min(e^L, e^eps) = e^L - (e^L - e^eps)_+ has an absolutely convergent transform:
#
#     1 - delta_s(eps) = e^{eps/2} (1/2pi) int F(t) cos(t eps) / (1/4 + t^2) dt,
#     D_s(eps)         = e^{eps/2} (1/2pi) int F(t) cos(t eps) dt,       F(t) = E[e^{(1/2 + it)(L + S)}].
#
# The trapezoidal rule with step h returns these plus their values, times e^{-eps/2}, at eps + 2 pi m/h,
# m != 0: nonnegative, and at most e^{-|x|/2} for the first, e^{-|x|/2} / (s sqrt(2 pi)) for the second
# (1 - delta_s(x) <= min(1, e^x); a density smoothed by s is at most 1/(s sqrt(2 pi)), and the densities under
# P and Q differ by the factor e^x).

class HalfLineFactor:
    """E[e^{(1/2 + it) loss}] of one mechanism, real:
        e^{-D^2/(8 sigma2)} sum_{y in Z + D/2} e^{-y^2/(2 sigma2)} cos(b y) / sum_x e^{-x^2/(2 sigma2)},   b = t D/sigma2
      = e^{-D^2/(8 sigma2)} sum_u (-1)^{uD} e^{-sigma2 (b - 2 pi u)^2/2} / sum_u e^{-2 pi^2 sigma2 u^2}.
    Its modulus decreases in the distance of b from 2 pi Z (Jacobi's products again)."""

    def __init__(self, sigma2, shift, bits):
        self.sigma2, self.shift, self.ratio = sigma2, shift, shift / sigma2
        self.dual = sigma2 >= Fraction(4, 25)
        self.nats = (bits + 20) * LN2
        theta = Theta(sigma2)
        with precision(bits + 64):
            theta.prepare(bits + 40)
            self.front = (-ball(Fraction(shift * shift) / (8 * sigma2))).exp() / theta.total
        s = float(sigma2)
        self.reach = (int(math.sqrt(self.nats / (2 * math.pi ** 2 * s))) + 1 if self.dual
                      else int(math.sqrt(2 * s * self.nats)) + 2)

    def at_angle(self, b, sign):
        """Value at the reduced angle b (a ball within about [-pi, pi]); sign = (-1)^(turns removed * D)."""
        total = arb(0)
        if self.dual:
            scale, turn = -ball(self.sigma2) / 2, 2 * arb.pi()
            for u in range(-self.reach, self.reach + 1):
                term = (scale * (b - turn * u) ** 2).exp()
                total += -term if (u * self.shift) % 2 else term
            # |b| <= 3.2: beyond the reach, the terms decay faster than a geometric series of ratio 1/2.
            rest = 4 * (scale * (turn * self.reach + arb("3.08")) ** 2).exp()
            if self.reach == 0:
                raise AssertionError
        else:
            half = Fraction(self.shift % 2, 2)
            scale = -1 / (2 * ball(self.sigma2))
            for x in range(-self.reach, self.reach + 1):
                y = ball(x + half)
                total += (scale * y * y).exp() * (b * y).cos()
            rest = 4 * (scale * self.reach ** 2).exp()
        value = self.front * (total + arb(0, rest.upper()))
        return -value if sign < 0 else value

    def value(self, t):
        """Value at the rational t."""
        b = self.ratio * t
        turns = round(float(b) / (2 * math.pi))
        sign = -1 if (turns * self.shift) % 2 else 1
        return self.at_angle(ball(b) - 2 * arb.pi() * turns, sign)


def by_integration(composition, epsilons, smoothing=Fraction(1, 2500), bits=None, cells=256):
    """[(lower, upper)] balls for delta at each epsilon (their gap is of the order of smoothing^2)."""
    if bits is None:
        # Absolute accuracy well below the smallest delta asked for.
        mu = math.sqrt(composition.mu2)
        deep = max((max(0.0, float(e) / mu - mu / 2)) ** 2 / 2 / LN2 + float(e) / 2 / LN2 for e in epsilons)
        bits = int(deep) + 70
    s = smoothing
    largest = max(epsilons)
    # Step and cut; both only need to be good guesses, the bounds below are what counts.
    period = float(largest) + 2 * (bits + 20) * LN2
    h = Fraction(int(2 * math.pi / period * 2 ** 20), 2 ** 20)
    nodes = int(math.sqrt(2 * (bits + 20) * LN2) / float(s) / float(h)) + 1
    log_tau = -(bits + 10 + math.log2(nodes)) * LN2

    factors = [HalfLineFactor(sg, d, bits + 40) for sg, _, d in composition.groups]
    counts = [n for _, n, _ in composition.groups]
    with precision(bits + 80):
        # Step functions above count * ln |factor|, cell i standing for angles from 2 pi i/(2 cells) on.
        tables = []
        for factor, n in zip(factors, counts):
            steps = []
            for i in range(cells + 1):
                size = factor.at_angle(arb.pi() * i / cells, 1).abs_upper()
                size = float(n * size.log().upper()) if size > two_to(-bits - 60) else -n * (bits + 60) * LN2
                steps.append(min(0.0, size * (1 - 1e-9) if size < 0 else 0.0))
            turns = float(h) * float(factor.ratio) / (2 * math.pi)
            tables.append((turns, steps, -sum(steps)))
        tables.sort(key=lambda entry: -entry[2])
        tables = [(turns, numpy.array(steps)) for turns, steps, _ in tables]

        square = float(s) ** 2 / 2
        live = []
        for start in range(1, nodes + 1, 1 << 16):
            i = numpy.arange(start, min(start + (1 << 16), nodes + 1))
            total = -square * (i * float(h)) ** 2 * (1 - 1e-9)
            for turns, steps in tables:
                x = i * turns
                x -= numpy.floor(x)
                # Floating point puts the angle off by far less than the 1e-4 cells conceded here.
                cell = numpy.maximum((numpy.minimum(x, 1.0 - x) * 2 * cells - 1e-4).astype(int), 0)
                total += steps[cell]
                alive = total >= log_tau
                i, total = i[alive], total[alive]
            live.extend(i.tolist())

        def transform(t):
            value = (-ball(s * s * (t * t + Fraction(1, 4)) / 2)).exp()
            for factor, n in zip(factors, counts):
                value *= factor.value(t) ** n
            return value

        values = [(i * h, transform(i * h)) for i in live]
        at_zero = transform(Fraction(0))

        # Nodes left out below the cut (each below tau = 2^-(bits+10)/nodes, weight at most 4h/pi), and
        # nodes beyond the cut: |F| <= e^{-s^2 t^2/2}, compared with the integral of that.
        cut = ball(nodes * h)
        step = ball(h)
        ignored = 2 * step * two_to(-bits - 10)
        ignored += 4 / arb.pi() * (-ball(s * s) * cut * cut / 2).exp() / (ball(s * s) * cut)
        density_cap = 1 / (ball(s) * (2 * arb.pi()).sqrt())
        answers = []
        for epsilon in epsilons:
            price, density = 4 * at_zero, at_zero
            for t, value in values:
                wave = 2 * value * (ball(t * epsilon)).cos()
                density += wave
                price += wave / ball(t * t + Fraction(1, 4))
            alias = 2 * (-(2 * arb.pi() / step - ball(epsilon)) / 2).exp() / (1 - (-arb.pi() / step).exp())
            front = (ball(epsilon) / 2).exp()
            weight = step / (2 * arb.pi())
            noise = arb(0, ignored.upper())
            complement = front * (weight * price + noise - zero_to(alias))
            density = front * (weight * density + noise - zero_to(alias * density_cap))
            smooth = 1 - complement
            slack = ball(s * s) * ball(s * s / 8).exp() * density
            answers.append(((smooth - slack), smooth))
        return answers


# ----------------------------------------------------------------------------------------------
# Choosing a method
# ----------------------------------------------------------------------------------------------

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
                raise AssertionError(f"methods disagree: {composition.names()} eps={epsilon} {key}: {a[key]} {b[key]}")


# ----------------------------------------------------------------------------------------------
# Random compositions
# ----------------------------------------------------------------------------------------------

def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def short_decimal(x, digits):
    """x as a plain decimal string with about `digits` significant digits."""
    if x <= 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(x)))
    text = f"{x:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def draw_step(rng, size):
    """A rational near `size` with small numerator and denominator, mostly a finite decimal."""
    if rng.random() < 0.65:
        return Fraction(short_decimal(size, rng.choice([1, 1, 2, 3])))
    if size < 1:
        numerator = rng.choice([1, 1, 2, 3, 5, 7, 37])
        return Fraction(numerator, max(1, round(numerator / size)))
    denominator = rng.choice([1, 3, 7, 9, 11])
    return Fraction(max(1, round(size * denominator)), denominator)


def draw_lattice_composition(rng):
    """A composition whose losses share a lattice of which the multiples m_j are moderate."""
    shape = rng.random()
    kinds = (1 if shape < 0.22 else rng.randint(2, 5) if shape < 0.6
             else rng.randint(6, 20) if shape < 0.82 else rng.randint(21, 100))
    shifts = rng.random()
    def draw_shift():
        return rng.randint(2, 20) if shifts > 0.8 and rng.random() < 0.6 else 1
    # Now and then counts up to 1e9 and losses so large that delta is nearly 1.
    heavy = rng.random() < 0.15
    widest = log_uniform(rng, 1e4 if heavy else 0.1, 1e6)
    if kinds > 5:
        widest = max(widest, 0.15 * kinds)       # room for many kinds above sigma2 = 0.1
    smallest_multiple = rng.choice([1, 1, 1, 2, 3, 5]) if kinds > 1 else 1
    step = draw_step(rng, 1 / (widest * smallest_multiple))
    if step <= 0:
        return None
    groups = {}
    spread = kinds + log_uniform(rng, 1, rng.choice([10, 100, 1000]))
    for _ in range(20 * kinds):
        if len(groups) == kinds:
            break
        shift = draw_shift()
        m = smallest_multiple if not groups else round(log_uniform(rng, smallest_multiple, smallest_multiple * spread))
        sigma2 = Fraction(shift) / (m * step)
        if Fraction(1, 10) <= sigma2 <= 10 ** 6:
            groups[sigma2, shift] = None
    if not groups:
        return None
    target = log_uniform(rng, 1e-3, 300) if rng.random() < 0.75 else log_uniform(rng, 1e-5, 2e4)
    style = rng.random()
    if heavy:
        target, style = log_uniform(rng, 50, 2e4), 1.0
    result = []
    few = rng.randint(1, 10)
    for sigma2, shift in groups:
        if style < 0.2:
            count = few
        else:
            share = target / len(groups) * log_uniform(rng, 0.1, 3)
            count = max(1, min(10 ** 9, round(share * float(sigma2) / shift ** 2)))
        result.append((sigma2, count, shift))
    return Composition(result)


def draw_enumerable_composition(rng):
    """Two or three mechanisms with decimal variances that share no usable lattice."""
    total = rng.choice([2, 2, 3])
    groups = {}
    left = total
    while left:
        digits = rng.choice([2, 2, 3, 4, 7])
        high = 1e6 if total == 2 and left == 1 else 3000 if total == 2 else 30 if left > 1 else 1e4
        sigma2 = Fraction(short_decimal(log_uniform(rng, 0.1, high), digits))
        shift = rng.randint(2, 20) if rng.random() < 0.15 else 1
        n = 1 if rng.random() < 0.8 else left
        groups[sigma2, shift] = groups.get((sigma2, shift), 0) + n
        left -= n
    return Composition([(s, n, d) for (s, d), n in groups.items()])


DEEPEST = 3200.0      # nats of -ln P[L > eps]: about 1e-1390


def draw_epsilons(rng, composition, deepest):
    """About ten epsilons (decimal strings) that visit all regions of the profile."""
    mu2 = float(composition.mu2)
    mu = math.sqrt(mu2)
    found = {}

    def add(text):
        value = Fraction(text)
        if 0 <= value <= 200 and composition.depth(value) <= deepest:
            found[value] = text

    def shorten(x):
        return short_decimal(x, rng.choice([2, 3, 3, 4, 5]))

    def at(z):
        return mu2 / 2 + z * mu

    def on_lattice(z, nearby=False):
        """The decimal of the lattice loss near z standard deviations, if it is a short decimal."""
        k = round(at(z) / float(composition.step) + composition.move / 2)
        loss = composition.step * (k - Fraction(composition.move, 2))
        rest = loss.denominator
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1 and loss >= 0:
            places = 0
            while (loss * 10 ** places).denominator != 1:
                places += 1
            if places <= 12:
                fraction = str(int((loss - int(loss)) * 10 ** places)).zfill(places)
                add(f"{int(loss)}.{fraction}" if places else str(loss))
                if nearby:
                    # Just above the atom (the same answer but for e^eps), and just below (the atom counts).
                    close = Fraction(1, 10 ** (places + 3))
                    for value in (loss + close, loss - close):
                        if value > 0:
                            add(f"{int(value)}.{str(int((value - int(value)) * 10 ** (places + 3))).zfill(places + 3)}")

    if rng.random() < 0.8:
        add("0")
    on_lattice(rng.uniform(-1.3, 7))
    on_lattice(rng.uniform(-1.3, 7), nearby=rng.random() < 0.25)
    for _ in range(4):
        add(shorten(max(0.0, at(rng.uniform(-1.4, 6.8)))))
    far = rng.uniform(0.8, 0.99) * deepest if rng.random() < 0.3 else rng.uniform(10, 0.3 * deepest)
    for nats in (rng.uniform(10, 120), far):
        add(shorten(max(0.0, mu * math.sqrt(2 * nats) - mu2 / 2)))
    add(shorten(log_uniform(rng, 1e-3, 200)))
    add(str(rng.randint(1, 200)))
    if mu2 > 40:
        for _ in range(2):
            add(shorten(rng.uniform(0, min(200, at(-3)))))
    return [found[v] for v in sorted(found)]


def integration_cases(seed):
    """Compositions of many kinds without any lattice: always the one with sqrt(2), and two drawn ones."""
    root = Fraction(math.isqrt(2 * 10 ** 80), 10 ** 40)
    yield [(5 + root * j, 1, 1) for j in range(80)], ["0", "1", "2.5", "5", "7.5", "10"]
    rng = random.Random(f"{seed}/integration")
    for kinds, low, high in ((100, 2, 60), (40, 0.5, 300)):
        groups = []
        for _ in range(kinds):
            digits = 40
            sigma2 = Fraction(rng.randrange(10 ** digits), 10 ** digits) * Fraction(high - low) + Fraction(low)
            groups.append((sigma2, rng.choice([1, 1, 2, 3]), 2 if rng.random() < 0.1 else 1))
        composition = Composition(groups)
        mu2 = float(composition.mu2)
        picks = {Fraction(t): t for t in (short_decimal(max(0.0, mu2 / 2 + z * math.sqrt(mu2)), 3)
                                          for z in (-1, 0, 1, 2, 3.5, 5))}
        yield groups, [picks[v] for v in sorted(picks)]


def make_case(seed, index):
    """The index-th random case as a JSON-ready dict, or None when the draw is out of reach.
    Depends on seed and index only, so that an interrupted run can be resumed."""
    rng = random.Random(f"{seed}/{index}")
    enumerable = rng.random() < 0.10
    deepest = rng.choice([250.0, 500.0, 1000.0, DEEPEST, DEEPEST])
    composition = draw_enumerable_composition(rng) if enumerable else draw_lattice_composition(rng)
    if composition is None or composition.mu2 / 8 > DEEPEST:
        return None
    if enumerable:
        deepest = min(deepest, 250.0)
    deepest = max(deepest, float(composition.mu2) / 8 + 60)     # epsilon = 0 must be within reach
    texts = draw_epsilons(rng, composition, deepest)
    if len(texts) < 3:
        return None
    epsilons = [Fraction(t) for t in texts]
    try:
        if enumerable:
            method, answers = "enumeration", by_enumeration(composition, epsilons)
        else:
            method, answers = evaluate(composition, epsilons)
    except Unaffordable:
        return None
    points = [{"e": t, **{key: decimal(a[key]) for key in "dpqc"}} for t, a in zip(texts, answers) if a]
    return {"groups": composition.names(), "method": method, "points": points} if points else None


def make_integration_case(groups, texts):
    composition = Composition(groups)
    points = []
    for text, (low, high) in zip(texts, by_integration(composition, [Fraction(t) for t in texts])):
        points.append({"e": text, "d": [directed(low, False), directed(high, True)]})
    return {"groups": composition.names(), "method": "integration", "points": points}


def write_reference(path, seed, cases):
    what = ("delta (d), P[L>eps] (p), Q[L>eps] (q) and 1-delta (c) of discrete Gaussian compositions; "
            "groups are [sigma2, count, shift]; digits are right to one unit in the last; "
            "method integration: d = [lower, upper]")
    with open(path, "w") as out:
        out.write('{"what":%s,"seed":%s,"cases":[\n' % (json.dumps(what), json.dumps(seed)))
        out.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in cases))
        out.write("\n]}\n")


def run_random(arguments):
    """Draw until there are enough pairs; finished cases are kept in FILE.partial, one per line."""
    partial = arguments.out + ".partial"
    records = []
    if os.path.exists(partial):
        with open(partial) as lines:
            for line in lines:
                if not line.endswith("\n"):
                    break
                records.append(json.loads(line))
        with open(partial, "w") as out:
            out.writelines(json.dumps(r, separators=(",", ":")) + "\n" for r in records)
        if records and records[0]["seed"] != arguments.seed:
            sys.exit(f"{partial} belongs to another seed")
    pairs = sum(len(r["case"]["points"]) for r in records if r["case"])
    started = time.time()
    special = list(integration_cases(arguments.seed))
    with open(partial, "a") as out:
        while pairs < arguments.pairs:
            index = len(records)
            case = (make_integration_case(*special[index]) if index < len(special)
                    else make_case(arguments.seed, index))
            record = {"seed": arguments.seed, "case": case}
            records.append(record)
            out.write(json.dumps(record, separators=(",", ":")) + "\n")
            out.flush()
            if case:
                pairs += len(case["points"])
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{pairs}/{arguments.pairs} pairs, {index + 1} draws, {time.time() - started:.0f} s ")
                sys.stderr.flush()
    write_reference(arguments.out, arguments.seed, [r["case"] for r in records if r["case"]])
    os.remove(partial)
    if sys.stderr.isatty():
        sys.stderr.write("\n")


# ----------------------------------------------------------------------------------------------
# Self-test
# ----------------------------------------------------------------------------------------------

def published(text):
    """A ball for a decimal that is right to one unit in its last digit."""
    digits = text.partition("e")[0]
    places = len(digits.partition(".")[2])
    exponent = int(text.partition("e")[2] or 0)
    value = Fraction(text)
    unit = Fraction(10) ** (exponent - places)
    with precision(400):
        return between(ball(value - unit), ball(value + unit))


def check_file(path):
    """Every point of a profiles file, by every method that can reach it."""
    with open(path) as source:
        cases = json.load(source)["cases"]
    used = {}
    bad = 0
    for case in cases:
        composition = Composition([(g["sigma2"], g["count"], g["shift"]) for g in case["groups"]])
        if "lattice_step" in case and Fraction(case["lattice_step"]) != composition.step:
            print(f"{case['name']}: lattice step {composition.step}, file says {case['lattice_step']}")
            bad += 1
        epsilons = [Fraction(p["epsilon"]) for p in case["points"]]
        methods = dict(METHODS)
        if composition.count == 1 or composition.count > 3:
            del methods["enumeration"]
        seen = []
        for name, method in methods.items():
            limits = {"max_window": 9000} if name == "convolution" else {}
            try:
                answers = method(composition, epsilons, **limits)
            except Unaffordable:
                continue
            for point, answer in zip(case["points"], answers):
                if answer is None:
                    continue
                for key, field in (("d", "delta"), ("p", "p_tail"), ("q", "q_tail")):
                    if not answer[key].overlaps(published(point[field])):
                        print(f"{case['name']} eps={point['epsilon']} {field}: {name} {answer[key]}, file {point[field]}")
                        bad += 1
                used[name] = used.get(name, 0) + 1
                seen.append(point["epsilon"])
        missed = [p["epsilon"] for p in case["points"] if p["epsilon"] not in seen]
        if missed:
            print(f"{case['name']}: no method reaches epsilon {missed}")
            bad += 1
    print(f"{path}: {len(cases)} cases, points checked by method: {used}, {bad} disagreements")
    return bad


def self_test(arguments):
    bad = 0
    # Figures known to 30 digits: ten mechanisms with sigma2 = 5.
    known = {"0": "0.519766947536754958676922999528", "6.57": "1.00473574693982460001524492089e-5",
             "10.13": "9.74225510845281498419102803455e-12", "40": "1.53755265568180573182073925122e-169"}
    ten = Composition([("5", 10, 1)])
    epsilons = [Fraction(e) for e in known]
    for name in ("convolution", "dft"):
        for (e, text), answer in zip(known.items(), METHODS[name](ten, epsilons)):
            if not answer["d"].overlaps(published(text)):
                print(f"ten-fold eps={e}: {name} {answer['d']}, known {text}")
                bad += 1

    # Arb's DFT over all nodes against the literal convolution and the tail sums.
    mixed = Composition([("1/2", 3, 1), ("2/3", 2, 1), ("3/20", 2, 2)])
    pmf, half = full_dft_pmf(mixed, 300)
    tails = DftTails(mixed, 300)
    with precision(364):
        literal, radius, lost = convolution_pmf(mixed, 300)
        running = arb(0)
        for k in range(min(half, radius), -min(half, radius) - 1, -1):
            running += pmf[k + half]
            good = (literal[k + radius] + zero_to(lost)).overlaps(pmf[k + half])
            good = good and (running + zero_to(two_to(-298))).overlaps(tails.tail(k))
            if not good:
                print(f"pmf and tails differ at {k}")
                bad += 1

    # Lattice methods and enumeration on compositions that all can do, with epsilon on and off the lattice.
    for groups in ([("7/2", 2, 1)], [("1/3", 1, 1), ("5/4", 1, 2)], [("12/5", 2, 1), ("3/10", 1, 1)],
                   [("1/10", 3, 1)], [("9/50", 2, 3)], [("3/2", 1, 2), ("40", 2, 7)]):
        composition = Composition(groups)
        on = [composition.step * (k - Fraction(composition.move, 2)) for k in
              (math.ceil(Fraction(composition.move, 2)), composition.move + 1)]
        epsilons = [Fraction(0), Fraction(1), Fraction("3.7"), Fraction(12)] + on
        by_name = {name: METHODS[name](composition, epsilons) for name in ("dft", "enumeration")}
        by_name["convolution"] = by_convolution(composition, epsilons, max_window=30_000)
        for name in ("dft", "enumeration"):
            assert_overlap(composition, epsilons, by_name["convolution"], by_name[name])

    # The smoothed bracket must contain what the lattice methods find.
    for groups in ([("5", 10, 1)], [("5", 3, 1), ("20/3", 4, 2), ("1/8", 1, 1)]):
        composition = Composition(groups)
        epsilons = [Fraction(0), Fraction(2), Fraction("6.57")]
        for e, (low, high), answer in zip(epsilons, by_integration(composition, epsilons, Fraction(1, 200)),
                                          by_dft(composition, epsilons)):
            if not (low < answer["d"] and answer["d"] < high):
                print(f"{groups} eps={e}: bracket [{low}, {high}] misses {answer['d']}")
                bad += 1
    print(f"internal checks: {bad} disagreements")
    for path in arguments.profiles or []:
        bad += check_file(path)
    sys.exit(1 if bad else 0)


# ----------------------------------------------------------------------------------------------
# Command line
# ----------------------------------------------------------------------------------------------

def run_one(arguments):
    groups = [g.split(",") for g in arguments.group]
    composition = Composition([(g + ["1", "1"])[:3] if len(g) < 3 else g for g in groups])
    epsilons = [Fraction(e) for e in arguments.epsilon]
    method = arguments.method
    if method == "integration":
        answers = by_integration(composition, epsilons, Fraction(arguments.smoothing))
    elif method:
        answers = METHODS[method](composition, epsilons)
    else:
        try:
            method, answers = evaluate(composition, epsilons)
        except Unaffordable:
            method, answers = "integration", by_integration(composition, epsilons, Fraction(arguments.smoothing))
    step = str(composition.step)
    print(f"lattice step {step if len(step) < 60 else 'useless'}, mu2 {float(composition.mu2):.9g}, method {method}")
    for text, answer in zip(arguments.epsilon, answers):
        if answer is None:
            print(f"epsilon {text}: out of reach")
        elif method == "integration":
            print(f"epsilon {text}: delta in [{directed(answer[0], False)}, {directed(answer[1], True)}]")
        else:
            print(f"epsilon {text}:")
            for key, name in (("d", "delta"), ("p", "P[L>eps]"), ("q", "Q[L>eps]"), ("c", "1-delta")):
                print(f"  {name:9} {answer[key].str(32)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    test = commands.add_parser("selftest", help="check the methods against each other and against files")
    test.add_argument("--profiles", action="append", metavar="PATH", help="file of exact profiles to check")
    test.set_defaults(run=self_test)
    one = commands.add_parser("one", help="one composition")
    one.add_argument("--group", action="append", required=True, metavar="SIGMA2,COUNT,SHIFT")
    one.add_argument("--epsilon", nargs="+", required=True, metavar="E")
    one.add_argument("--method", choices=[*METHODS, "integration"])
    one.add_argument("--smoothing", default="1/2500", help="size s of the fictitious mechanism (integration)")
    one.set_defaults(run=run_one)
    many = commands.add_parser("random", help="random compositions, written as a reference file")
    many.add_argument("--seed", type=int, required=True)
    many.add_argument("--pairs", type=int, required=True)
    many.add_argument("--out", required=True, metavar="FILE")
    many.set_defaults(run=run_random)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
