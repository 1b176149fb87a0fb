"""Method 1: literal convolution."""

import math
from fractions import Fraction

from flint import arb, arb_poly

from .balls import LN2, ball, precision, zero_to
from .composition import Unaffordable, radius_for, refine, tail_bound


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
        square = (arb_poly(one[:0:-1] + one), s)  # centred pmf of one mechanism
        power, n, done, width = None, count, 0, 1
        while True:  # binary powering
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
                answers.append(
                    {
                        "d": d + inside + outside,
                        "p": p + zero_to(lost),
                        "q": q + inside + outside,
                        "c": c + zero_to(lost * strike),
                    }
                )
            return answers

    return refine(composition, epsilons, attempt, convolution_bits(composition, epsilons))
