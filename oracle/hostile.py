"""Compositions that are meant to be hard: tiny and huge variances, long fractions, near twins, large shifts,
many kinds, short cells, outcomes that reveal. From a seed and an index alone."""

import math
from fractions import Fraction

from . import drawn

# Bits down to which probabilities are listed, with how often.
DEPTHS = ((60, 3), (200, 5), (700, 2), (2500, 1))


def long_digits(rng, value):
    """A rational near a value: few digits, many digits, or a quotient of large numbers."""
    way = rng.random()
    if way < 0.35:
        return drawn.decimal(value, rng.choice((0, 1, 2, 4))) or drawn.decimal(value, 6)
    if way < 0.6:
        return drawn.decimal(value, 12) + Fraction(rng.randrange(-9, 10), 10 ** rng.choice((13, 20, 30)))
    if way < 0.8:
        return Fraction(value).limit_denominator(rng.choice((7, 100, 99991, 10**12))) or drawn.decimal(
            value, 4
        )
    return Fraction(math.ceil(value * 10**9) * 10**9 + rng.randrange(10**9), 10**18 + rng.randrange(10**6))


def sigma2(rng, low, high):
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    found = long_digits(rng, value)
    return max(found, Fraction(1, 1000))


def gaussian_on_integers(value, count=1, shift=1):
    return {"kind": "discrete_gaussian", "count": count, "sigma2": str(value), "shift": shift}


def one_variance(rng, depth):
    value = sigma2(rng, 0.001, 3000)
    most = max(1, int(9000 / (2 * math.sqrt(1.4 * (depth + 160) * float(value)) + 2)))
    if value < Fraction(1, 2):
        # Masses of very unlike sizes take long to multiply out.
        most = min(most, 4000 // depth)
    count = drawn.whole(rng, 1, max(1, min(most, 300)))
    shift = rng.choice((1, 1, 1, 2, 3, 7, drawn.whole(rng, 1, 1000)))
    if shift > 3:
        # Not so far that nothing is private.
        value = max(value, sigma2(rng, shift**2 / 200, shift**2 * 2))
        count = 1
        if float(value) * (depth + 160) > 2e7:
            return one_variance(rng, depth)
    return [gaussian_on_integers(value, count, shift)]


def wide(rng, depth):
    value = sigma2(rng, 1e4, 3e8)
    shift = max(1, round(math.sqrt(float(value)) * rng.choice((0.001, 0.03, 0.3, 1, 3))))
    return [gaussian_on_integers(value, 1, shift)]


def sparse(rng, depth):
    """Variances so small that single outcomes are all there is, and near twins of them."""
    value = sigma2(rng, 0.001, 0.08)
    shift = rng.choice((1, 1, 1, 2, 3))
    parts = [gaussian_on_integers(value, drawn.whole(rng, 1, 6), shift)]
    if rng.random() < 0.5:
        twin = value + Fraction(rng.randint(1, 99), 10 ** rng.choice((4, 9, 25)))
        parts.append(gaussian_on_integers(twin, rng.choice((1, 2)), rng.choice((1, shift))))
    return parts


def commensurate(rng, depth):
    base = sigma2(rng, 0.3, 12)
    parts = []
    for _ in range(rng.choice((2, 2, 3))):
        ratio = Fraction(rng.choice((1, 2, 3, 3, 4, 5)), rng.choice((1, 1, 2, 3)))
        parts.append(gaussian_on_integers(base * ratio, drawn.whole(rng, 1, 4), rng.choice((1, 1, 2))))
    return parts


def unlike(rng, depth):
    """Few outcomes of variances that have nothing in common."""
    return [
        gaussian_on_integers(sigma2(rng, 0.004, 0.5), 1, rng.choice((1, 1, 2)))
        for _ in range(rng.choice((2, 2, 3)))
    ]


def from_drawn(name):
    return lambda rng, depth: drawn.FAMILIES[name][1](rng)


def revealing(rng, depth):
    """Events and tables in which some outcome reveals the record, beside noise."""
    parts = [drawn.finite(rng, drawn.whole(rng, 1, 6))]
    if rng.random() < 0.6:
        parts.append(
            {
                "kind": "approximate_dp",
                "count": drawn.whole(rng, 1, 5),
                "epsilon": str(long_digits(rng, rng.uniform(0.01, 3))),
                "delta": str(Fraction(rng.randint(1, 999), 10 ** rng.choice((3, 6, 12, 60)))),
            }
        )
    return parts


def long_laplace(rng, depth):
    parts = []
    for _ in range(rng.choice((1, 1, 2))):
        tau = long_digits(rng, math.exp(rng.uniform(-5, 2)))
        parts.append(
            {"kind": "laplace", "count": drawn.whole(rng, 1, 9), "scale": str(1 / tau), "shift": "1"}
        )
    return parts


def long_gaussian(rng, depth):
    value = long_digits(rng, math.exp(rng.uniform(-4, 14)))
    count = drawn.whole(rng, 1, 1000)
    if count / value > 400:
        count = max(1, int(400 * value))
    return [{"kind": "gaussian", "count": count, "sigma2": str(value), "shift": "1"}]


def many_kinds(rng, depth):
    """Everything that has few outcomes, at once, with Gaussian or Laplace noise."""
    noise = rng.choice((drawn.gaussian, lambda r: drawn.laplace(r, 4)))(rng)
    parts = [noise]
    for _ in range(rng.choice((1, 2, 3))):
        part = rng.choice(
            (
                lambda: drawn.lattice(rng, 3),
                lambda: drawn.finite(rng, 1),
                lambda: drawn.sampled_discrete_laplace(rng, 2),
                lambda: gaussian_on_integers(sigma2(rng, 0.002, 0.2)),
            )
        )()
        if part["kind"] == "discrete_laplace":
            part["shift"] = 1
        parts.append(part)
    return parts


# name: (weight, whether outcomes can be listed, draw)
FAMILIES = {
    "one variance": (24, True, one_variance),
    "wide": (0.5, True, wide),
    "sparse": (16, True, sparse),
    "commensurate": (10, True, commensurate),
    "unlike": (12, True, unlike),
    "lattice": (10, True, from_drawn("lattice")),
    "lattices": (2, True, from_drawn("lattices")),
    "finite": (10, True, from_drawn("finite")),
    "revealing": (9, True, revealing),
    "two outcomes": (4, True, from_drawn("finite, two outcomes")),
    "truncated": (3, True, from_drawn("truncated")),
    "discrete Gaussian and others": (2, True, from_drawn("discrete Gaussian and others")),
    "subsampled discrete Laplace": (6, True, from_drawn("subsampled discrete Laplace")),
    "subsampled discrete Gaussian": (2, True, from_drawn("subsampled discrete Gaussian")),
    "Laplace": (3, False, long_laplace),
    "Laplaces": (2, False, from_drawn("Laplaces")),
    "Laplace and atoms": (2, False, from_drawn("Laplace and atoms")),
    "Gaussian": (10, False, long_gaussian),
    "Gaussian and atoms": (4, False, from_drawn("Gaussian and atoms")),
    "Gaussian and Laplace": (1, False, from_drawn("Gaussian and Laplace")),
    "few samples of Gaussian noise": (6, False, from_drawn("few samples of Gaussian noise")),
    "few samples of Laplace noise": (6, False, from_drawn("few samples of Laplace noise")),
    "few samples and others": (0.5, False, from_drawn("few samples and others")),
    "many kinds": (0.5, False, many_kinds),
}


def compose(rng):
    """(family, whether outcomes can be listed, depth, composition)."""
    names = list(FAMILIES)
    name = rng.choices(names, [FAMILIES[n][0] for n in names])[0]
    depth = rng.choices([d for d, _ in DEPTHS], [w for _, w in DEPTHS])[0]
    if name == "wide":
        depth = 60
    return name, FAMILIES[name][1], depth, FAMILIES[name][2](rng, depth)
