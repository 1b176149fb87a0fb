"""Random compositions of all mechanisms: parameters spread widely, from a seed and an index alone."""

import math
from fractions import Fraction

from .laws import Laplace, Lattice, is_symmetric, law_of
from .sketch import Sketch


def spread(rng, low, high):
    """A fraction with few digits, uniform in its logarithm."""
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    return rough(rng, value)


def rough(rng, value):
    """A fraction near a double."""
    if rng.random() < 0.4:
        return Fraction(value).limit_denominator(rng.choice((7, 30, 1000))) or decimal(value, 2)
    return decimal(value, rng.choice((1, 2, 3, 5)))


def decimal(value, digits):
    return Fraction(f"{value:.{digits}e}")


def whole(rng, low, high):
    return max(low, min(high, round(math.exp(rng.uniform(math.log(low), math.log(high + 0.4))))))


def masses(rng, size, zeros):
    weights = [rng.choice((1, 2, 3, 5, 10, 40, 200)) for _ in range(size)]
    for i in zeros:
        weights[i] = 0
    total = sum(weights)
    return [str(Fraction(w, total)) for w in weights]


def finite(rng, count):
    size = rng.choice((2, 2, 3, 4, 5))
    zeros = [[], []]
    if size > 2 and rng.random() < 0.4:
        zeros[rng.randrange(2)] = [size - 1]
        if size > 3 and rng.random() < 0.5:
            zeros = [[size - 1], [size - 2]]
    return {
        "kind": "finite",
        "count": count,
        "p": masses(rng, size, zeros[0]),
        "q": masses(rng, size, zeros[1]),
    }


def lattice(rng, most):
    """One mechanism on a lattice, `most` a limit of the number of steps."""
    kind = rng.choice(
        ("randomised_response", "randomised_response", "pure_dp", "approximate_dp", "discrete_laplace")
    )
    n = whole(rng, 1, most)
    part = {"kind": kind, "count": n}
    if kind == "randomised_response":
        part["k"] = rng.choice((2, 2, 3, 4, 10, 100, 10**6))
        if rng.random() < 0.5:
            share = Fraction(rng.randint(1, 999), 1000)
            part["truth"] = str(Fraction(1, part["k"]) + share * (1 - Fraction(1, part["k"])))
        else:
            part["epsilon"] = str(spread(rng, 0.002, 6))
        if part["k"] > 2:
            part["count"] = min(n, 4000)
    elif kind == "discrete_laplace":
        part["shift"] = rng.choice((1, 1, 2, 3, 5, 12))
        part["scale"] = str(spread(rng, 0.2, 300) * part["shift"])
        part["count"] = max(1, min(n, 8000 // part["shift"]))
    else:
        part["epsilon"] = str(spread(rng, 0.002, 6))
        if kind == "approximate_dp":
            part["delta"] = str(Fraction(rng.randint(1, 9), 10 ** rng.choice((2, 5, 9, 15, 40))))
    return part


def truncated(rng):
    sigma2 = spread(rng, 0.3, 200)
    shift = rng.choice((1, 1, 2, 3))
    bound = shift + math.ceil(math.sqrt(float(sigma2)) * rng.uniform(1, 9))
    return {
        "kind": "truncated_discrete_gaussian",
        "count": whole(rng, 1, max(1, 6000 // (2 * bound))),
        "sigma2": str(sigma2),
        "shift": shift,
        "bound": bound,
    }


def discrete_gaussian(rng, most=40):
    return {
        "kind": "discrete_gaussian",
        "count": whole(rng, 1, most),
        "sigma2": str(spread(rng, 0.3, 60)),
        "shift": rng.choice((1, 1, 2, 3)),
    }


def gaussian(rng):
    n = whole(rng, 1, 1000)
    mu = rng.choice((0.02, 0.1, 0.4, 1, 3)) * rng.uniform(0.6, 1.6)
    shift = rng.choice((Fraction(1), Fraction(1), Fraction(3, 7), Fraction(2)))
    return {
        "kind": "gaussian",
        "count": n,
        "sigma2": str(decimal(n * float(shift) ** 2 / mu**2, 2)),
        "shift": str(shift),
    }


def laplace(rng, most):
    tau = spread(rng, 0.004, 8)
    shift = rng.choice((Fraction(1), Fraction(1), Fraction(5, 3), Fraction(1, 10)))
    return {"kind": "laplace", "count": whole(rng, 1, most), "scale": str(shift / tau), "shift": str(shift)}


def sampled_gaussian(rng, most):
    """Steps for which the whole loss is not beyond reason."""
    sigma = math.exp(rng.uniform(math.log(0.35), math.log(12)))
    q = math.exp(rng.uniform(math.log(2e-5), math.log(0.9)))
    n = whole(rng, 4, most)
    if rng.random() < 0.6:
        # About as many as make a deviation near 1.
        n = max(4, min(most, round(rng.uniform(0.02, 6) * (sigma / q) ** 2)))
    part = {
        "kind": "subsampled_gaussian",
        "count": n,
        "sigma2": str(decimal(sigma * sigma, 2)),
        "q": str(rough(rng, q) if q < 0.5 else decimal(q, 1)),
    }
    if rng.random() < 0.2:
        part["shift"] = str(rng.choice((Fraction(2), Fraction(1, 2), Fraction(3, 2))))
    return part


def few_samples(rng, kind):
    part = {
        "kind": kind,
        "count": rng.choice((1, 1, 2)),
        "q": str(decimal(math.exp(rng.uniform(-11, -0.1)), 1)),
    }
    if kind == "subsampled_gaussian":
        part["sigma2"] = str(spread(rng, 0.1, 60))
    else:
        part["scale"] = str(spread(rng, 0.2, 60))
    return part


def sampled_laplace(rng, low, high):
    return {
        "kind": "subsampled_laplace",
        "count": whole(rng, low, high),
        "scale": str(spread(rng, 0.4, 4)),
        "q": str(decimal(math.exp(rng.uniform(-4, -0.1)), 1)),
    }


def sampled_discrete_laplace(rng, most):
    shift = rng.choice((1, 1, 1, 2, 3))
    limit = {1: most, 2: 150, 3: 30}[shift]
    return {
        "kind": "subsampled_discrete_laplace",
        "count": whole(rng, 1, limit),
        "scale": str(spread(rng, 0.3, 60) * shift),
        "shift": shift,
        "q": str(decimal(math.exp(rng.uniform(-9, -0.1)), 1)),
    }


def sampled_discrete_gaussian(rng, most):
    small = rng.random() < 0.5
    return {
        "kind": "subsampled_discrete_gaussian",
        "count": rng.choice((1, 2, 3) if not small else (1, 2, 4, 5))
        if most is None
        else whole(rng, 1, most),
        "sigma2": str(spread(rng, 0.15, 0.6) if small else spread(rng, 0.6, 9)),
        "shift": rng.choice((1, 1, 2)),
        "q": str(decimal(math.exp(rng.uniform(-9, -0.1)), 1)),
    }


def atomic(rng, most):
    """Any mechanism with few atoms."""
    return rng.choice(
        (
            lambda: lattice(rng, most),
            lambda: lattice(rng, most),
            lambda: finite(rng, whole(rng, 1, min(most, 5))),
            lambda: sampled_discrete_laplace(rng, min(most, 12)),
        )
    )()


FAMILIES = {
    "lattice": (10, lambda rng: [lattice(rng, 50_000)]),
    "lattices": (8, lambda rng: [lattice(rng, 60) for _ in range(rng.choice((2, 3, 4)))]),
    "finite": (7, lambda rng: [finite(rng, whole(rng, 1, 12)) for _ in range(rng.choice((1, 1, 2)))]),
    "finite, two outcomes": (2, lambda rng: [two_outcomes(rng)]),
    "truncated": (4, lambda rng: [truncated(rng)] + [lattice(rng, 6)] * rng.choice((0, 0, 1))),
    "discrete Gaussian and others": (5, lambda rng: [discrete_gaussian(rng), atomic(rng, 8)]),
    "subsampled discrete Laplace": (6, lambda rng: [sampled_discrete_laplace(rng, 20_000)]),
    "subsampled discrete Gaussian": (4, lambda rng: [sampled_discrete_gaussian(rng, None)]),
    "Laplace": (7, lambda rng: [laplace(rng, 120)]),
    "Laplaces": (3, lambda rng: [laplace(rng, 8), laplace(rng, 8)]),
    "Laplace and atoms": (5, lambda rng: [laplace(rng, 20), atomic(rng, 5)]),
    "Gaussian": (2, lambda rng: [gaussian(rng)]),
    "Gaussian and atoms": (
        6,
        lambda rng: [gaussian(rng), *(atomic(rng, 9) for _ in range(rng.choice((1, 2))))],
    ),
    "Gaussian and Laplace": (
        4,
        lambda rng: [gaussian(rng), laplace(rng, 25), *[atomic(rng, 3)] * rng.choice((0, 1))],
    ),
    "few samples of Gaussian noise": (5, lambda rng: [few_samples(rng, "subsampled_gaussian")]),
    "few samples of Laplace noise": (5, lambda rng: [few_samples(rng, "subsampled_laplace")]),
    "few samples and others": (4, lambda rng: few_and_others(rng)),
    "subsampled Gaussian": (14, lambda rng: [sampled_gaussian(rng, 10**6)]),
    "subsampled Laplace": (3, lambda rng: [sampled_laplace(rng, 150, 3000)]),
    "subsampled Gaussian and others": (12, lambda rng: sampled_and_others(rng)),
    "Gaussian and samples": (5, lambda rng: gaussian_and_samples(rng)),
}


def two_outcomes(rng):
    part = finite(rng, 1)
    part["p"], part["q"] = (masses(rng, 2, []) for _ in range(2))
    part["count"] = whole(rng, 2, 20_000)
    return part


def few_and_others(rng):
    first = few_samples(rng, rng.choice(("subsampled_gaussian", "subsampled_laplace")))
    first["count"] = 1
    other = rng.choice((lambda: atomic(rng, 6), lambda: few_samples(rng, "subsampled_laplace")))()
    if other["kind"] == "subsampled_laplace":
        other["count"] = 1
    return [first, other]


def sampled_and_others(rng):
    parts = [sampled_gaussian(rng, 30_000)]
    for _ in range(rng.choice((1, 2, 3))):
        parts.append(
            rng.choice(
                (
                    lambda: sampled_gaussian(rng, 5_000),
                    lambda: laplace(rng, 10),
                    lambda: lattice(rng, 20),
                    lambda: finite(rng, whole(rng, 1, 5)),
                    lambda: gaussian(rng),
                    lambda: discrete_gaussian(rng, 5),
                    lambda: sampled_discrete_gaussian(rng, 50),
                    lambda: sampled_discrete_laplace(rng, 50),
                    lambda: truncated(rng),
                    lambda: sampled_laplace(rng, 1, 20),
                )
            )()
        )
    return parts


def gaussian_and_samples(rng):
    noise = gaussian(rng)
    others = [
        lambda: sampled_discrete_gaussian(rng, 300),
        lambda: sampled_laplace(rng, 1, 200),
        lambda: sampled_discrete_laplace(rng, 1000),
        lambda: few_samples(rng, "subsampled_gaussian"),
    ]
    return [noise, *(rng.choice(others)() for _ in range(rng.choice((1, 2))))]


# Families whose values are cheap.
CLOSED = (
    "lattice",
    "lattices",
    "finite",
    "truncated",
    "Laplace",
    "Laplaces",
    "Laplace and atoms",
    "Gaussian and atoms",
)


def compose(rng, closed=False):
    names = list(CLOSED if closed else FAMILIES)
    name = rng.choices(names, [FAMILIES[n][0] for n in names])[0]
    return name, FAMILIES[name][1](rng)


def directions(rng, composition):
    if is_symmetric(composition):
        return ["both"]
    return rng.choices((["remove"], ["add"], ["remove", "add"], ["both"]), (3, 3, 3, 1))[0]


def on_an_atom(rng, composition):
    """A loss of the composition as a fraction, if there is one that is not negative."""
    total = Fraction(0)
    for part in composition:
        n = part["count"]
        law = law_of(part, "remove", 40)
        if isinstance(law, Laplace):
            total += law.tau * (n - 2 * rng.randrange(min(n, 4) // 2 + 1))
        elif isinstance(law, Lattice) and isinstance(law.unit, Fraction):
            # Some middle way between the mean and the end.
            ks = sorted(law.masses)
            k = sum(rng.choice(ks[len(ks) // 2 :]) for _ in range(min(n, 50)))
            total += n * law.offset + law.unit * (k * (n // min(n, 50)) + ks[-1] * (n % min(n, 50)))
        else:
            return None
    return total if total >= 0 else None


def epsilons(rng, composition, direction, count):
    """Epsilons at which delta is anywhere from near 1 to 1e-250."""
    sketch = Sketch(composition, "remove" if direction == "both" else direction, 120)
    mean, deviation = sketch.mean()
    out = []
    for _ in range(count):
        way = rng.random()
        if way < 0.07:
            out.append(Fraction(0))
        elif way < 0.22 and (atom := on_an_atom(rng, composition)) is not None:
            out.append(atom)
        elif way < 0.32:
            out.append(decimal(max(1e-9, mean * rng.uniform(0, 1.2)), 3))
        else:
            exponent = rng.choice((rng.uniform(0.3, 6), rng.uniform(3, 20), rng.uniform(15, 250)))
            value = sketch.epsilon(-exponent * math.log(10))
            out.append(decimal(max(1e-9, value), rng.choice((2, 3, 4))))
    return list(dict.fromkeys(out))
