"""A file of questions of all kinds with enclosures of the exact answers, for the tests of the library.

python -m oracle.answers --seed 20228 --cases 110 --out oracle/answers.json
"""

import argparse
import random
from fractions import Fraction

from flint import arb

from .balls import ball, decimal, directed, is_sharp, precision
from .extras import CONVERSIONS, any_delta, log_uniform
from .hostile import compose, gaussian_on_integers, long_digits, sigma2
from .laws import Unaffordable
from .reference import write
from .table import Table
from .truths import Truths

DIGITS = 25
# Most answers of one composition.
MOST = 14


def enclosed(x):
    """Decimals below and above; what is 0 or more stays so."""
    if x.is_zero():
        return ["0", "0"]
    x = x.nonnegative_part() if not x > 0 else x
    low = directed(x, False, DIGITS)
    return ["0" if low.startswith("-") else low, directed(x, True, DIGITS)]


def number(x):
    return str(x) if x.denominator.bit_length() < 300 else directed(ball(x), True, 40)


def beliefs(rng, alpha, power):
    """After an alarm of the best test: of all alarms, those with the secret behind them."""
    prior = Fraction(rng.choice(("1/1000", "0.5", "0.01", "1/3", "0.999", "1e-9")))
    with_secret, without = ball(prior) * power, ball(1 - prior) * ball(alpha)
    return ["belief", str(alpha), str(prior), *enclosed(with_secret / (with_secret + without))]


def knots(rng, table):
    """Probabilities of all outcomes from one on, and of all before it."""
    for _ in range(4):
        i = rng.randrange(len(table))
        alarms, misses = table.knot(i)
        if all(x > 0 and x.rel_accuracy_bits() >= 60 for x in (alarms, misses)):
            yield ["knot", str(table.exact_loss(i)), *enclosed(alarms), *enclosed(misses)]


def case(rng):
    """One composition with its answers, or None."""
    family, listed, depth, parts = compose(rng)
    if family == "wide" or not listed and len(parts) > 1 and rng.random() < 0.5:
        return None
    try:
        truths = Truths(rng, parts, listed, min(depth, 700))
        known = [q for q in truths.questions() if q.is_known() and q.kind != "total_variation"]
        if not all(way.infinity.is_zero() for way in truths.ways):
            # Refused where the record may be revealed for certain.
            known = [q for q in known if q.kind not in ("power", "tradeoff")]
    except Unaffordable:
        return None
    known = [q for q in known if max(q.argument.denominator.bit_length(), 1) < 300]
    with precision(truths.bits):
        rows = []
        for q in rng.sample(known, min(MOST, len(known))):
            rows.append([q.kind, number(q.argument), *enclosed(q.truth)])
            if q.kind == "power" and q.argument.denominator < 10**6:
                row = beliefs(rng, q.argument, q.truth)
                # What is believed after the worst of both directions.
                rows += [row] if truths.direction == "both" else []
        kinds = {part["kind"] for part in parts}
        if listed and kinds == {"discrete_gaussian"} and truths.ways[0].losses is None:
            rows += knots(rng, truths.ways[0])
    return {"family": family, "composition": parts, "direction": truths.direction, "asked": rows}


def conversion(rng):
    rho, delta = long_digits(rng, log_uniform(rng, 1e-9, 1e7)), any_delta(rng)
    epsilon = rho * Fraction(rng.randint(1, 400), 100)
    rows = {}
    with precision(1500):
        for name, (to_epsilon, to_delta) in CONVERSIONS.items():
            d = to_delta(ball(rho), ball(epsilon))
            rows[name] = [
                enclosed(to_epsilon(ball(rho), ball(delta))),
                enclosed(d) if d > ball(Fraction(1, 10**3000)) else None,
            ]
    return {"rho": str(rho), "delta": number(delta), "epsilon": str(epsilon), "both": rows}


def expected(rng):
    """Errors of a count with noise, cut at zero or not, by adding up over the law."""
    value = sigma2(rng, 0.001, 20_000)
    # Errors to either side cancel down to what is cut.
    with precision(4000):
        reach = int((1000 * float(value)) ** 0.5) + 40
        weights = [(-ball(Fraction(x * x) / (2 * value))).exp() for x in range(reach)]
        total = weights[0] + 2 * sum(weights[1:], arb(0))
        law = {x: weights[abs(x)] / total for x in range(1 - reach, reach)}
        rows = []
        for count in sorted({0, rng.randint(1, 5), rng.randint(1, max(2, int(float(value) ** 0.5 * 4)))}):
            errors = [(max(count + x, 0) - count, p) for x, p in law.items()]
            mse = sum((p * (e * e) for e, p in errors), arb(0))
            mae = sum((p * abs(e) for e, p in errors), arb(0))
            bias = sum((p * e for e, p in errors), arb(0))
            beyond = sum((p for x, p in law.items() if x > count), arb(0))
            # What is beyond the reach is below 1e-200 of everything.
            if beyond > ball(Fraction(1, 10**290)) and is_sharp(bias):
                rows.append([count, *(decimal(x) for x in (mse, mae, bias, beyond))])
    return {"sigma2": str(value), "counts": rows} if rows else None


def crossing(rng):
    """Neighbouring factors of the variances between which delta passes a target."""
    parts = [gaussian_on_integers(sigma2(rng, 3, 40), rng.randint(2, 9), rng.choice((1, 1, 2)))]
    if rng.random() < 0.4:
        ratio = Fraction(rng.choice((2, 3, 4)), rng.choice((1, 3)))
        parts.append(gaussian_on_integers(Fraction(parts[0]["sigma2"]) * ratio, rng.randint(1, 3)))
    epsilon = Fraction(rng.randint(5, 200), 100)
    low, high = Fraction(1, 2), Fraction(4)
    with precision(300):

        def at(factor):
            there = [{**part, "sigma2": str(Fraction(part["sigma2"]) * factor)} for part in parts]
            return Table(there, "remove", 220).delta(epsilon)

        delta = Fraction(f"{float(at(Fraction(rng.randint(80, 250), 100)).mid()):.2e}")
        if not (at(low) > ball(delta) > at(high)):
            return None
        while high - low > Fraction(1, 10**13):
            middle = Fraction(round((low + high) / 2 * 10**15), 10**15)
            found = at(middle)
            if found > ball(delta):
                low = middle
            elif found < ball(delta):
                high = middle
            else:
                return None
    groups = [[part["sigma2"], part["count"], part["shift"]] for part in parts]
    factor = [f"{float(low):.15f}", f"{float(high):.15f}"]
    return {"groups": groups, "epsilon": str(epsilon), "delta": str(delta), "factor": factor}


def several(name, seed, count, draw):
    """The first draws that come to something."""
    found, index = [], 0
    while len(found) < count:
        made = draw(random.Random(f"{seed}/{name}/{index}"))
        index += 1
        if made is not None and made.get("asked", True):
            found.append(made)
    return found


def main():
    parser = argparse.ArgumentParser(prog="oracle.answers", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    seed, cases = arguments.seed, arguments.cases
    what = (
        "enclosures of exact answers: [kind, argument, lower, upper]; a knot has false alarms and misses, a "
        "belief alpha and prior; expected errors are mse, mae, bias and P[X > count] of counts cut at zero; "
        "factor: delta crosses the target between the two"
    )
    write(
        arguments.out,
        what=what,
        seed=seed,
        cases=several("cases", seed, cases, case),
        conversions=several("conversions", seed, max(1, cases // 4), conversion),
        expected=several("expected", seed, max(1, cases // 10), expected),
        calibrations=several("calibrations", seed, max(1, cases // 16), crossing),
    )


if __name__ == "__main__":
    main()
