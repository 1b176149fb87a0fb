"""Compositions chosen to visit every regime, each with its exact profile: the file `standard.json`.

`one`, `iid`, `shift`, `mix`: a grid of ordinary releases, on a lattice, from the middle of the law to 12
standard deviations.  `sparse`: so little noise that the atoms of the loss are far apart.  `near`: epsilon so
near to such an atom that delta is the distance between the two.  `crowd`: many equal mechanisms, few enough
to be convolved.
"""

import math
import random
from fractions import Fraction

from .balls import decimal
from .composition import Composition, Unaffordable
from .draw import short_decimal
from .methods import evaluate

SEED = 1
# Distances from the mean loss under Q, in standard deviations; 0 stands for epsilon = 0.
PLACES = [-1.0, 0.0, 1.5, 4.0, 7.0, 12.0]


def ordinary(rng, kind):
    """One composition of a kind."""
    if kind == "one":
        variances = ["1/10", "1/2", "1", "2", "5", "7", "137/10", "137", "300", "450", "12345"]
        return [(rng.choice(variances), 1, 1)]
    sigma2 = Fraction(short_decimal(math.exp(rng.uniform(math.log(5), math.log(4000))), 4))
    if kind == "iid":
        return [(sigma2, rng.choice([2, 3, 5, 10, 20, 40, 100]), 1)]
    if kind == "shift":
        return [(sigma2 / 5 + 30, rng.choice([1, 2, 5, 10]), rng.choice([2, 3, 7]))]
    # Variances whose inverses are small multiples of one number.
    step = Fraction(rng.choice([3, 7, 11, 17, 19, 21, 38]), rng.choice([25, 50, 125, 250, 1000]))
    multiples = rng.sample(range(1, 40), rng.randint(2, 5))
    return [(1 / (m * step), rng.choice([1, 2, 5, 10, 20]), 1) for m in multiples]


def ordinary_cases():
    for kind in ("one", "iid", "shift", "mix"):
        for index in range(15):
            rng = random.Random(f"{SEED}/{kind}/{index}")
            composition = Composition(ordinary(rng, kind))
            mu2 = float(composition.mu2)
            texts = ["0"]
            for z in PLACES:
                epsilon = mu2 / 2 + (z + rng.uniform(-0.3, 0.3)) * math.sqrt(mu2)
                if epsilon > 0:
                    texts.append(f"{epsilon:.4f}")
            yield kind, composition, texts


def sparse_cases():
    for sigma2 in ("0.001", "0.0021", "0.0038", "0.01", "0.02", "0.03", "0.05", "0.08"):
        for count, shift in ((1, 1), (1, 2), (2, 1), (3, 1), (7, 1), (1, 5)):
            composition = Composition([(sigma2, count, shift)])
            mu2, step = composition.mu2, composition.step
            if mu2 > 5000:
                continue
            # At, below and above the atoms around the middle of Q.
            middle = mu2 / 2
            spots = [0, middle - step / 3, middle, middle + step / 7, middle + step, middle + 3 * step / 2]
            yield "sparse", composition, [short_decimal(float(e), 12) for e in spots if e >= 0]


def near_cases():
    for sigma2, count in (("0.01", 1), ("0.02", 1), ("0.04", 1), ("0.01", 2), ("0.02", 3), ("0.005", 1)):
        composition = Composition([(sigma2, count, 1)])
        atom = composition.mu2 / 2
        assert atom.denominator in (1, 2)
        texts = []
        for exponent in range(8, 31, 2):
            # Below the atom, so that it counts: atom - 10^-exponent, written out.
            digits = str(int(atom * 10**exponent) - 1 - exponent % 3)
            texts.append(f"{digits[:-exponent]}.{digits[-exponent:]}")
        yield "near", composition, texts


def crowd_cases():
    for sigma2, count in (("5", 64), ("1/3", 40), ("12.5", 17), ("77", 9), ("0.7", 64), ("3.3", 33)):
        composition = Composition([(sigma2, count, 1)])
        mu2 = float(composition.mu2)
        places = [mu2 / 2 + z * math.sqrt(mu2) for z in (-0.5, 1, 3, 6, 10, 14)]
        yield "crowd", composition, [f"{e:.4f}" for e in places if e > 0]


def standard():
    """Every entry of the reference file."""
    found = []
    for cases in (ordinary_cases(), sparse_cases(), near_cases(), crowd_cases()):
        for name, composition, texts in cases:
            texts = list(dict.fromkeys(texts))
            try:
                method, answers = evaluate(composition, [Fraction(t) for t in texts])
            except Unaffordable:
                continue
            points = [
                {"e": t, **{key: decimal(a[key]) for key in "dpqc"}} for t, a in zip(texts, answers) if a
            ]
            if points:
                found.append(
                    {"name": name, "groups": composition.names(), "method": method, "points": points}
                )
    return found
