"""Exact values for compositions of all mechanisms: `python -m oracle.mechanisms`."""

import argparse
import json
import os
import random
import sys
import time
from fractions import Fraction

from .balls import DIGITS, decimal, precision
from .drawn import compose, directions, epsilons
from .exact import exact, infinity_of
from .laws import Unaffordable, is_symmetric, law_of
from .lines import BITS, by_lines
from .reference import draw_until, write

# Fewer certain digits than these are no reference.
LEAST_DIGITS = 20
# Smaller values are left out.
SMALLEST = Fraction(1, 10**260)
LINES = "contour in balls on two lines, agreeing digits"


def one_direction(composition, direction, epsilon):
    """(method, ball, certain digits)."""
    try:
        found = exact(composition, direction, epsilon)
    except Unaffordable:
        found = None
    if found:
        return *found, DIGITS
    with precision(BITS):
        infinity = infinity_of([(law_of(part, direction, 60), part["count"]) for part in composition])
    try:
        value, digits = by_lines(composition, direction, epsilon, infinity)
    except (OverflowError, ZeroDivisionError) as error:
        # Of the doubles that choose a line.
        raise Unaffordable(f"no line: {error}") from error
    if digits < LEAST_DIGITS:
        raise Unaffordable(f"two lines agree to {digits} digits")
    return LINES, value, min(digits, DIGITS)


def value_of(composition, direction, epsilon):
    """The same; both directions of an asymmetric composition: the larger."""
    if direction != "both" or is_symmetric(composition):
        return one_direction(composition, "remove" if direction == "both" else direction, epsilon)
    return max(
        (one_direction(composition, way, epsilon) for way in ("remove", "add")), key=lambda v: v[1].mid()
    )


def case(name, composition, direction, epsilon):
    method, value, digits = value_of(composition, direction, epsilon)
    if not value.is_zero() and value < SMALLEST.numerator / value.__class__(SMALLEST.denominator):
        return None
    return {
        "name": name,
        "composition": composition,
        "direction": direction,
        "epsilon": text(epsilon),
        "delta": "0" if value.is_zero() else decimal(value, digits),
        "certain_digits": "exact zero" if value.is_zero() else digits,
        "method": method,
    }


def text(value):
    """A fraction, as a decimal where that is short."""
    denominator = value.denominator
    if set(factors(denominator)) <= {2, 5} and denominator < 10**7 and value < 10**6:
        return format(float(value), "g") if Fraction(format(float(value), "g")) == value else str(value)
    return str(value)


def factors(n):
    for p in (2, 5):
        while n % p == 0:
            yield p
            n //= p
    if n > 1:
        yield n


def draw(seed, index, closed, left_out):
    """All values of one composition. They depend on the seed and the index alone."""
    rng = random.Random(f"mechanisms/{seed}/{index}")
    name, composition = compose(rng, closed)
    cases = []
    for direction in directions(rng, composition):
        for epsilon in epsilons(rng, composition, direction, rng.choice((2, 3, 4))):
            try:
                found = case(name, composition, direction, epsilon)
            except Unaffordable as reason:
                key = f"{name}: {reason}"
                left_out[key] = left_out.get(key, 0) + 1
                continue
            if found:
                cases.append(found)
    return name, cases


def run_random(arguments):
    """Draws until there are enough values."""
    left_out, seconds = {}, {}

    def timed(index):
        started = time.time()
        name, cases = draw(arguments.seed, index, arguments.closed, left_out)
        spent, found = seconds.get(name, (0.0, 0))
        seconds[name] = (spent + time.time() - started, found + len(cases))
        if arguments.verbose:
            print(index, len(cases), name, f"{time.time() - started:.2f}", file=sys.stderr)
        return {"index": index, "cases": cases}

    records = draw_until(arguments.count, arguments, timed, lambda record: len(record["cases"]))
    what = (
        "delta(epsilon) of random compositions; direction: both (symmetric, or the larger), remove or add; "
        "the digits are certain, or those on which two lines agree"
    )
    write(arguments.out, what=what, seed=arguments.seed, cases=[c for r in records for c in r["cases"]])
    os.remove(arguments.out + ".partial")
    for name, (spent, found) in sorted(seconds.items(), key=lambda item: -item[1][0]):
        print(f"{name}: {found} values, {spent:.1f} s")
    for reason, number in sorted(left_out.items()):
        print(f"left out: {reason}: {number}")


def run_check(arguments):
    """Every value of a file once more."""
    with open(arguments.file) as source:
        cases = json.load(source)["cases"]
    bad = 0
    for given in cases:
        epsilon, stated = Fraction(given["epsilon"]), Fraction(given["delta"])
        try:
            method, value, digits = value_of(given["composition"], given["direction"], epsilon)
        except Unaffordable as reason:
            print(f"open: {given['name']}: {reason}")
            continue
        with precision(BITS):
            found = Fraction(decimal(value, 30))
        digits = min(digits, given["certain_digits"] if stated else 99) - 1
        if abs(found - stated) > abs(stated) * Fraction(1, 10**digits):
            bad += 1
            print(f"{given['name']} {given['direction']} at {epsilon}: {method}")
            print(f"  {decimal(value, 30)}, the file says {given['delta']}")
    print(f"{arguments.file}: {len(cases)} values, {bad} differ")
    sys.exit(1 if bad else 0)


def main():
    parser = argparse.ArgumentParser(prog="oracle.mechanisms", description=__doc__)
    commands = parser.add_subparsers(required=True)
    many = commands.add_parser("random", help="random compositions, written as a reference file")
    many.add_argument("--seed", type=int, required=True)
    many.add_argument("--count", type=int, required=True, help="number of values")
    many.add_argument("--out", required=True, metavar="FILE")
    many.add_argument("--closed", action="store_true", help="only mechanisms whose values are cheap")
    many.add_argument("--verbose", action="store_true", help="say how long each composition takes")
    many.set_defaults(run=run_random)
    check = commands.add_parser("check", help="compute every value of a reference file once more")
    check.add_argument("file", metavar="FILE")
    check.set_defaults(run=run_check)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
