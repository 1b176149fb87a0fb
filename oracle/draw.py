"""Random compositions and epsilons, and their exact profiles."""

import math
import random
from fractions import Fraction

from .balls import decimal, directed
from .composition import Composition, Unaffordable
from .enumeration import by_enumeration
from .integration import by_integration
from .methods import evaluate


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def short_decimal(x, digits):
    """x as a plain decimal string with about `digits` significant digits."""
    if x <= 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(x)))
    text = f"{x:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def written_out(value, places):
    """A finite decimal with so many places."""
    fraction = str(int((value - int(value)) * 10**places)).zfill(places)
    return f"{int(value)}.{fraction}"


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
    kinds = (
        1
        if shape < 0.22
        else rng.randint(2, 5)
        if shape < 0.6
        else rng.randint(6, 20)
        if shape < 0.82
        else rng.randint(21, 100)
    )
    shifts = rng.random()

    def draw_shift():
        return rng.randint(2, 20) if shifts > 0.8 and rng.random() < 0.6 else 1

    # Now and then counts up to 1e9 and losses so large that delta is nearly 1.
    heavy = rng.random() < 0.15
    widest = log_uniform(rng, 1e4 if heavy else 0.1, 1e6)
    if kinds > 5:
        widest = max(widest, 0.15 * kinds)  # room for many kinds above sigma2 = 0.1
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
        m = (
            smallest_multiple
            if not groups
            else round(log_uniform(rng, smallest_multiple, smallest_multiple * spread))
        )
        sigma2 = Fraction(shift) / (m * step)
        if Fraction(1, 10) <= sigma2 <= 10**6:
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
            count = max(1, min(10**9, round(share * float(sigma2) / shift**2)))
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


DEEPEST = 3200.0  # nats of -ln P[L > eps]: about 1e-1390


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
            while (loss * 10**places).denominator != 1:
                places += 1
            if places <= 12:
                add(written_out(loss, places) if places else str(loss))
                if nearby:
                    # Just above the atom (the same answer but for e^eps), and just below (the atom counts).
                    close = Fraction(1, 10 ** (places + 3))
                    for value in (loss + close, loss - close):
                        if value > 0:
                            add(written_out(value, places + 3))

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
    root = Fraction(math.isqrt(2 * 10**80), 10**40)
    yield [(5 + root * j, 1, 1) for j in range(80)], ["0", "1", "2.5", "5", "7.5", "10"]
    rng = random.Random(f"{seed}/integration")
    for kinds, low, high in ((100, 2, 60), (40, 0.5, 300)):
        groups = []
        for _ in range(kinds):
            digits = 40
            sigma2 = Fraction(rng.randrange(10**digits), 10**digits) * Fraction(high - low) + Fraction(low)
            groups.append((sigma2, rng.choice([1, 1, 2, 3]), 2 if rng.random() < 0.1 else 1))
        composition = Composition(groups)
        mu2 = float(composition.mu2)
        picks = {
            Fraction(t): t
            for t in (short_decimal(max(0.0, mu2 / 2 + z * math.sqrt(mu2)), 3) for z in (-1, 0, 1, 2, 3.5, 5))
        }
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
    deepest = max(deepest, float(composition.mu2) / 8 + 60)  # epsilon = 0 must be within reach
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
