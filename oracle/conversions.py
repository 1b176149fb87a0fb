"""The published conversions from rho-zCDP to (epsilon, delta), exactly.

    Bun and Steinke:            epsilon = rho + 2 sqrt(rho ln(1/delta)),
                                delta = e^{-(epsilon - rho)^2 / (4 rho)}  for epsilon > rho, otherwise 1;
    Canonne, Kamath, Steinke:   epsilon = inf_a  rho a + ln(1/(a delta))/(a - 1) + ln(1 - 1/a),   at least 0,
                                delta = inf_a  e^{(a - 1)(rho a - epsilon)} (1 - 1/a)^a / (a - 1),  at most 1,

over all a > 1.  The logarithm of the last expression is convex in a: the derivative of
(a - 1) ln(a - 1) - a ln a is ln(1 - 1/a), which grows.  So its infimum is where the slope

    (2 a - 1) rho - epsilon + ln(1 - 1/a)

changes its sign, and the other infimum, taken at delta, where it does with epsilon = the bracket itself (the
values of a at which the bracket is at most epsilon are those at which the convex function is at most
ln delta: an interval).  The sign is decided by balls, and the function evaluated on a ball around the place.
"""

from fractions import Fraction

from flint import arb

from .balls import ball, decimal, is_sharp, precision

RHOS = ["1e-12", "1e-6", "0.001", "1/3", "1.0001", "293764/114921", "2.63", "4.96", "1000", "1e6", "1e9"]
RHOS += ["1e17"]
DELTAS = ["1e-1000", "1e-100", "1e-20", "1e-10", "1e-5", "0.003", "1/3", "0.5", "0.9", "0.999999"]
# In standard deviations of the loss above rho, to the right of what either conversion can say.
DEVIATIONS = ["0.1", "1", "3", "8", "30"]
# Far out: exponents that are no doubles to the unit.
FAR = [("1e-12", "1"), ("1e-9", "1000"), ("1/3", "1e6"), ("1e-6", "4321.1"), ("2.63", "1e9")]
# Where the exponents are nearly as large as they may be.
FAR += [("1/3", "1.2e9"), ("0.0001", "19999999.7"), ("0.7", "1.9e9")]


def smallest(slope, value):
    """`value` where `slope`, which is negative first and then positive, changes its sign; by a = 1 + e^t."""
    low, high = Fraction(-400), Fraction(400)

    def at(t):
        excess = ball(t).exp()
        return 1 + excess, excess

    while high - low > Fraction(1, 2**500):
        middle = (low + high) / 2
        sign = slope(*at(middle))
        if sign > 0:
            high = middle
        elif sign < 0:
            low = middle
        else:
            # Too near to tell: widen by what is surely enough.
            width = Fraction(1, 2**200)
            low, high = middle - width, middle + width
            assert slope(*at(low)) < 0 and slope(*at(high)) > 0
            break
    excess = ball(low).exp().union(ball(high).exp())
    return value(1 + excess, excess)


def bun_steinke_epsilon(rho, delta):
    return rho + 2 * (-rho * delta.log()).sqrt()


def bun_steinke_delta(rho, epsilon):
    if epsilon <= rho:
        return arb(1)
    return (-((epsilon - rho) ** 2) / (4 * rho)).exp()


def cks_epsilon(rho, delta):
    def value(a, excess):
        return rho * a - (a.log() + delta.log()) / excess + (excess / a).log()

    def slope(a, excess):
        return (2 * a - 1) * rho - value(a, excess) + (excess / a).log()

    found = smallest(slope, value)
    return arb(0) if found < 0 else found


def cks_delta(rho, epsilon):
    def slope(a, excess):
        return (2 * a - 1) * rho - epsilon + (excess / a).log()

    def value(a, excess):
        return excess * (rho * a - epsilon) + a * (excess / a).log() - excess.log()

    found = smallest(slope, value)
    return arb(1) if found > 0 else found.exp()


def entry(convert, key, rho, other):
    with precision(1200):
        answers = [f(ball(Fraction(rho)), ball(Fraction(other))) for f in convert]
    assert all(a == 0 or is_sharp(a) for a in answers), (rho, other, answers)
    return {"rho": rho, key: other, "bun_steinke": decimal(answers[0]), "cks": decimal(answers[1])}


def conversions():
    """Every entry of the reference file."""
    epsilon = (bun_steinke_epsilon, cks_epsilon)
    delta = (bun_steinke_delta, cks_delta)
    found = [entry(epsilon, "delta", rho, d) for rho in RHOS for d in DELTAS]
    for rho in RHOS:
        for deviations in DEVIATIONS:
            # A decimal near rho + deviations sqrt(2 rho), with few digits.
            wanted = float(Fraction(rho)) + float(deviations) * (2 * float(Fraction(rho))) ** 0.5
            if wanted <= 1e12:
                found.append(entry(delta, "epsilon", rho, f"{wanted:.4e}"))
    return found + [entry(delta, "epsilon", rho, e) for rho, e in FAR]
