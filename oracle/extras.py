"""Questions that are not about one law of the loss: conversions, intervals, calibrations, events of which
only an upper end is known, laws that dominate. Each yields Answers."""

import math
from fractions import Fraction

from flint import arb, fmpq, fmpq_mat

import unspent

from . import drawn
from .asked import Answer, ask, composition, ends, judge, upper_end, width_of
from .balls import ball, precision
from .conversions import bun_steinke_delta, bun_steinke_epsilon, cks_delta, cks_epsilon
from .hostile import gaussian_on_integers, long_digits, sigma2
from .laws import Unaffordable
from .steps import enclosing
from .table import Table


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def any_delta(rng):
    way = rng.random()
    if way < 0.6:
        return Fraction(rng.randint(1, 99), 100 * 10 ** rng.choice((0, 1, 4, 8, 15, 60, 400, 2000)))
    return 1 - Fraction(rng.randint(1, 99), 100 * 10 ** rng.choice((0, 1, 4, 9, 14)))


CONVERSIONS = {
    "bun-steinke": (bun_steinke_epsilon, bun_steinke_delta),
    "canonne-kamath-steinke": (cks_epsilon, cks_delta),
}


def conversions(rng):
    """rho to epsilon and to delta, rounded up, and the way back."""
    rho = long_digits(rng, log_uniform(rng, 1e-9, 450))
    made = unspent.Composition([unspent.Gaussian.from_rho(rho)])
    with precision(1000):
        r = ball(rho)
        for name, (to_epsilon, to_delta) in CONVERSIONS.items():
            for _ in range(4):
                delta = any_delta(rng)
                about = f"{name} rho={rho} delta={str(delta)[:60]}"
                found, refusal = ask("rho to epsilon", made.zcdp_epsilon, delta, name)
                truth = to_epsilon(r, ball(delta))
                loose = Fraction(1, 10**3) if delta > Fraction(9, 10) else Fraction(1, 10**9)
                yield refusal or upper_end("rho to epsilon", found[0], truth, found[1], loose, about)
            for _ in range(4):
                epsilon = drawn.decimal(
                    float(rho) + rng.uniform(-1, 30) * math.sqrt(2 * float(rho)), rng.choice((2, 5, 12))
                )
                if not 0 <= epsilon <= 10**9:
                    continue
                about = f"{name} rho={rho} epsilon={epsilon}"
                found, refusal = ask("rho to delta", made.zcdp_delta, epsilon, name)
                truth = to_delta(r, ball(epsilon))
                yield refusal or upper_end(
                    "rho to delta", found[0], truth, found[1], Fraction(1, 10**6), about
                )
            epsilon, delta = long_digits(rng, log_uniform(rng, 1e-3, 200)), any_delta(rng)
            found, refusal = ask("largest rho", unspent.largest_rho, epsilon, delta, name)
            if refusal:
                yield refusal
                continue
            largest = found[0]
            about = f"{name} epsilon={epsilon} delta={str(delta)[:60]}: {largest}"
            if to_epsilon(ball(largest), ball(delta)) > ball(epsilon):
                yield Answer("largest rho", "outside", None, found[1], about)
            elif to_epsilon(ball(largest * Fraction(10001, 10000)), ball(delta)) > ball(epsilon):
                yield Answer("largest rho", "inside", -4.0, found[1])
            else:
                yield Answer("largest rho", "wide", None, found[1], about)


def largest_mu(rng):
    epsilon, delta = long_digits(rng, log_uniform(rng, 1e-2, 100)), any_delta(rng)
    found, refusal = ask("largest mu", unspent.largest_mu, epsilon, delta)
    if refusal:
        yield refusal
        return
    with precision(8000 if delta < Fraction(1, 10**100) else 1000):
        root = arb(2).sqrt()

        def at(mu):
            mu, level = ball(mu), ball(epsilon)
            high, low = (level / mu - mu / 2) / root, (level / mu + mu / 2) / root
            return (high.erfc() - level.exp() * low.erfc()) / 2

        holds = not at(found[0]) > ball(delta)
        tight = at(found[0] * Fraction(10**9 + 1, 10**9)) > ball(delta)
    about = f"epsilon={epsilon} delta={str(delta)[:60]}: {found[0]}"
    status = "outside" if not holds else "inside" if tight else "wide"
    yield Answer("largest mu", status, -9.0 if tight else None, found[1], "" if status == "inside" else about)


def intervals(rng):
    """The least k with P[|X| <= k] at least the confidence, by listing."""
    value = sigma2(rng, 0.001, 1e6)
    reach = int(math.sqrt(float(value)) * 30) + 30
    with precision(800):
        ratio, step = (-1 / (2 * ball(value))).exp(), (-1 / ball(value)).exp()
        weights, weight = [arb(1)], arb(1)
        for _ in range(reach):
            weight, ratio = weight * ratio, ratio * step
            weights.append(weight)
        rest = 2 * weights[-1] * ratio / (1 - ratio)
        total = weights[0] + 2 * sum(weights[1:], arb(0)) + arb(0).union(rest.upper())
        beyond, tail = [], arb(0).union(rest.upper())
        for weight in reversed(weights):
            beyond.append(tail / total)
            tail += 2 * weight
        beyond.reverse()
        for _ in range(10):
            missed = Fraction(rng.randint(1, 999), 1000 * 10 ** rng.choice((0, 0, 1, 2, 5, 12, 40)))
            count = rng.choice((0, 5, 10**6, -17, 2**62, -(2**62)))
            found, refusal = ask("interval", unspent.interval, count, sigma2=value, confidence=1 - missed)
            if refusal:
                yield refusal
                continue
            k = found[0].half_width
            about = f"sigma2={value} missed={missed} count={count}: {found[0]}"
            stated = (found[0].lower, found[0].upper)
            if stated != ((max(count - k, 0), count + k) if count + k >= 0 else (None, None)):
                yield Answer("interval", "outside", None, found[1], f"{about}: ends")
            elif beyond[k] > ball(missed):
                yield Answer("interval", "outside", None, found[1], about)
            elif k > 0 and beyond[k - 1] < ball(missed) * (1 - ball(Fraction(1, 10**8))):
                yield Answer("interval", "wide", None, found[1], about)
            else:
                yield Answer("interval", "inside", None, found[1])


def scaled(parts, factor):
    return [{**part, "sigma2": str(Fraction(part["sigma2"]) * factor)} for part in parts]


def calibrations(rng):
    """A factor of all variances: delta is kept at it, and missed right below."""
    parts = [gaussian_on_integers(sigma2(rng, 0.05, 20), drawn.whole(rng, 1, 6), rng.choice((1, 1, 2)))]
    if rng.random() < 0.3:
        ratio = Fraction(rng.choice((2, 3, 4)), rng.choice((1, 3)))
        parts.append(gaussian_on_integers(Fraction(parts[0]["sigma2"]) * ratio, drawn.whole(rng, 1, 3)))
    epsilon = long_digits(rng, log_uniform(rng, 0.3, 20))
    delta = drawn.decimal(10 ** -rng.uniform(0.3, 20), rng.choice((0, 2, 9)))
    about = f"{parts} epsilon={epsilon} delta={delta}"
    if rng.random() < 0.4:
        index = rng.randrange(len(parts))
        found, refusal = ask("calibration", composition(parts).calibrate, epsilon, delta, mechanism=index)
    else:
        index = None
        found, refusal = ask("calibration", composition(parts).calibrate, epsilon, delta)
    if refusal:
        yield refusal
        return
    with precision(400):
        for what, value in (("smallest", found[0].smallest), ("failing", found[0].failing)):
            if value is None:
                continue
            if index is None:
                there = scaled(parts, value)
            else:
                there = [{**p, "sigma2": str(value)} if i == index else p for i, p in enumerate(parts)]
            try:
                truth = Table(there, "remove", 300).delta(epsilon)
            except Unaffordable:
                continue
            wrong = truth > ball(delta) if what == "smallest" else truth < ball(delta)
            yield Answer(
                "calibration" if what == "smallest" else "calibration, failing",
                "outside" if wrong else "inside",
                None,
                found[1],
                f"{about}: {what} {value}" if wrong else "",
            )
        if found[0].failing is not None:
            gap = 1 - found[0].failing / found[0].smallest
            if gap > Fraction(1, 10**4):
                yield Answer("calibration", "wide", None, found[1], f"{about}: {float(gap):.2e}")


def upper_ends(rng):
    """Events of which only Renyi divergences are known, beside others: not below delta of any mechanism that
    has such divergences, and not above... what is known from below is delta without them."""
    rest = [gaussian_on_integers(sigma2(rng, 0.3, 30), drawn.whole(rng, 1, 4))] if rng.random() < 0.6 else []
    with precision(500):
        if rng.random() < 0.5:
            rho = long_digits(rng, log_uniform(rng, 1e-4, 5))
            event = {"kind": "zcdp", "count": drawn.whole(rng, 1, 4), "rho": str(rho)}
            # Discrete Gaussian noise with that rho, if its outcomes can be listed.
            hidden = [gaussian_on_integers(1 / (2 * rho), event["count"])]
        else:
            unit = Fraction(rng.randint(1, 200), 100)
            hidden = [{"kind": "pure_dp", "count": drawn.whole(rng, 1, 4), "epsilon": str(unit)}]
            orders = sorted({Fraction(rng.randint(11, 3000), 10) for _ in range(rng.choice((1, 3, 20)))})
            event = {
                "kind": "renyi_dp",
                "count": hidden[0]["count"],
                "orders": [str(a) for a in orders],
                "epsilons": [str(renyi_of_pure(unit, a)) for a in orders],
            }
        try:
            truth = Table(rest + hidden, "remove", 300)
            least = Table(rest, "remove", 300) if rest else None
        except Unaffordable:
            return
        made = composition([*rest, event])
        for _ in range(6):
            epsilon = drawn.decimal(rng.uniform(0, 1.5) * 10 ** rng.uniform(-1, 1.3), rng.choice((1, 3, 8)))
            found, refusal = ask("delta, one-sided", made.delta, epsilon)
            if refusal:
                yield refusal
                continue
            lower, upper = ends(found[0])
            wrong = upper < truth.delta(epsilon)
            wrong = wrong or lower > (least.delta(epsilon) if least else arb(0))
            text = f"{rest} {event} at {epsilon}: {found[0].decimal(9)}" if wrong else ""
            yield Answer("delta, one-sided", "outside" if wrong else "inside", None, found[1], text)
        delta = Fraction(1, 10 ** rng.randint(1, 20))
        found, refusal = ask("epsilon, one-sided", made.epsilon, delta)
        if refusal:
            yield refusal
            return
        lower, upper = ends(found[0])
        true, alone = truth.epsilon(delta), least.epsilon(delta) if least else arb(0)
        wrong = (true is not None and upper < true) or (alone is not None and lower > alone)
        text = f"{rest} {event} at {delta}: {found[0].decimal(9)}" if wrong else ""
        yield Answer("epsilon, one-sided", "outside" if wrong else "inside", None, found[1], text)


def renyi_of_pure(epsilon, order):
    """The Renyi divergence of randomised response with e^epsilon, a decimal rounded up."""
    e, a = ball(epsilon), ball(order)
    high, low = 1 / (1 + (-e).exp()), 1 / (1 + e.exp())
    total = high**a * low ** (1 - a) + low**a * high ** (1 - a)
    exact = total.log() / (a - 1)
    return Fraction(f"{float(exact.upper()):.12e}") + Fraction(1, 10**9)


def dominating(rng):
    """dp-accounting goes on with a law that dominates: delta after that is not below the truth.

    Its transforms lose up to about 1e-12, which is its own: the truth is compared with that margin."""
    parts = [gaussian_on_integers(sigma2(rng, 0.5, 20), drawn.whole(rng, 1, 4), rng.choice((1, 1, 2)))]
    if rng.random() < 0.6:
        parts.append(
            rng.choice(
                (
                    lambda: drawn.lattice(rng, 2),
                    lambda: drawn.finite(rng, 1),
                    lambda: drawn.sampled_discrete_laplace(rng, 1),
                )
            )()
        )
    made = composition(parts)
    times = rng.choice((1, 2, 3))
    interval = rng.choice((0.1, 0.02))
    found, refusal = ask("dominating law", made.to_pld, interval, 1e-15)
    if refusal:
        yield refusal
        return
    law = found[0].self_compose(times) if times > 1 else found[0]
    repeated = [{**part, "count": part["count"] * times} for part in parts]
    with precision(320):
        try:
            ways = [Table(repeated, way, 260) for way in ("remove", "add")]
        except Unaffordable:
            return
        for _ in range(6):
            epsilon = drawn.decimal(rng.uniform(0, 8), rng.choice((1, 2, 4)))
            truth = ways[0].delta(epsilon).max(ways[1].delta(epsilon))
            stated = ball(Fraction(law.get_delta_for_epsilon(float(epsilon))))
            wrong = stated + ball(Fraction(1, 10**12)) < truth
            wide = stated > truth * (1 + 50 * times * ball(Fraction(interval))) + ball(Fraction(1, 10**11))
            text = f"{repeated} at {epsilon}, interval {interval}: {stated.str(12)}, {truth.str(12)}"
            status = "outside" if wrong else "wide" if wide else "inside"
            width = width_of(arb(truth.lower()), stated)
            yield Answer("dominating law", status, width, found[1], "" if status == "inside" else text)


def several_samples(rng):
    """Steps of DP-SGD, fewer than make a smooth law, between two laws of which one says more and one less."""
    value, q = long_digits(rng, log_uniform(rng, 0.3, 9)), drawn.decimal(log_uniform(rng, 0.01, 0.9), 1)
    count, direction = drawn.whole(rng, 3, 60), rng.choice(("remove", "add"))
    parts = [{"kind": "subsampled_gaussian", "count": count, "sigma2": str(value), "q": str(q)}]
    about = f"{parts} {direction}"
    made = composition(parts, direction)
    with precision(200):
        try:
            less, more = enclosing(value, q, count, direction)
        except Unaffordable:
            return

        def answers(kind, what, arguments, truth):
            for argument in arguments:
                ends = truth(less, argument), truth(more, argument)
                if any(end is None or not end.is_finite() for end in ends):
                    continue
                found, refusal = ask(kind, getattr(made, what), argument)
                yield refusal or judge(
                    kind, found[0], ends[0].union(ends[1]), found[1], f"{about} {argument}"
                )

        epsilons = [Fraction(0), *(drawn.decimal(log_uniform(rng, 0.01, 8), 2) for _ in range(7))]
        yield from answers("delta, several samples", "delta", epsilons, lambda law, e: law.delta(e))
        deltas = [Fraction(rng.randint(1, 99), 100 * 10 ** rng.randint(0, 7)) for _ in range(5)]
        yield from answers("epsilon, several samples", "epsilon", deltas, lambda law, d: law.epsilon(d))
        alphas = [Fraction(rng.randint(1, 99), 100 * 10 ** rng.randint(0, 4)) for _ in range(4)]
        yield from answers("power, several samples", "power", alphas, lambda law, a: law.best_test(a))
        yield from answers(
            "tradeoff, several samples", "tradeoff", alphas, lambda law, a: 1 - law.best_test(a)
        )


def shares(rng, names):
    parts = [rng.randint(1, 20) for _ in names]
    return {name: Fraction(part, sum(parts)) for name, part in zip(names, parts)}


def accuracies(rng):
    """Deviations of the best estimates on a small regular tree, by normal equations in exact fractions."""
    values, branches = rng.randint(2, 4), [1, *(rng.randint(1, 4) for _ in range(rng.choice((1, 1, 2))))]
    names, queries = [f"level{i}" for i in range(len(branches))], ["total", "a"]
    text = ['name = "tree"', 'record = "person"', 'neighbours = "add-remove"', 'delta = "1e-10"', "rho = 2"]
    text += [
        "[attributes]",
        f"a = {[f'v{i}' for i in range(values)]}",
        "[queries]",
        "total = []",
        'a = ["a"]',
    ]
    for name, share in shares(rng, names).items():
        text += ["[[levels]]", f'name = "{name}"', f'share = "{share}"', "[levels.shares]"]
        text += [f'{query} = "{part}"' for query, part in shares(rng, queries).items()]
    made = unspent.Allocation.parse("\n".join(text).replace("'", '"'))
    found, refusal = ask(
        "accuracy", unspent.accuracy, made, [math.prod(branches[: i + 1]) for i in range(len(branches))]
    )
    if refusal:
        yield refusal
        return
    variances = {(m.level, m.query): m.sigma2 for m in made.measurements}
    leaves = math.prod(branches)
    rows = []
    for i, name in enumerate(names):
        below = leaves // math.prod(branches[: i + 1])
        for unit in range(leaves // below):
            cells = [
                range((unit * below + j) * values, (unit * below + j + 1) * values) for j in range(below)
            ]
            rows.append((name, "total", [c for leaf in cells for c in leaf]))
            rows += [(name, "a", [leaf[v] for leaf in cells]) for v in range(values)]
    size = leaves * values
    information = fmpq_mat(size, size)
    for name, query, cells in rows:
        weight = fmpq(variances[name, query].denominator, variances[name, query].numerator)
        for a in cells:
            for b in cells:
                information[a, b] += weight
    covariance = information.inv()
    for level in found[0].to_dict()["levels"]:
        for one in level["queries"]:
            cells = next(
                cells for name, query, cells in rows if (name, query) == (level["level"], one["query"])
            )
            truth = sum((covariance[a, b] for a in cells for b in cells), fmpq(0))
            truth = math.sqrt(Fraction(int(truth.p), int(truth.q)))
            noise = math.sqrt(variances[level["level"], one["query"]])
            # 97.5 % of a normal law; and what holds for any sub-Gaussian one, which may be rounded up only.
            exact = [noise, truth, 1.959963984540054 * truth, math.sqrt(2 * math.log(40)) * truth]
            stated = [one["noise"]["sd"], one["estimate"]["sd"], one["margin"], one["guaranteed_margin"]]
            for i, (a, b) in enumerate(zip(stated, exact)):
                holds = abs(a - b) <= 1e-9 * b if i < 3 else b * (1 - 1e-13) <= a <= b * (1 + 1e-8)
                text = "" if holds else f"{made.to_toml()}: {one} but {exact}"
                yield Answer("accuracy", "inside" if holds else "outside", None, found[1], text)


EXTRAS = {
    "accuracies": (2, accuracies),
    "several samples": (0.6, several_samples),
    "conversions": (5, conversions),
    "largest mu": (3, largest_mu),
    "intervals": (5, intervals),
    "calibrations": (5, calibrations),
    "upper ends": (5, upper_ends),
    "dominating": (1, dominating),
}
