#!/usr/bin/env python3
"""Checks certificates against the oracle: presets read, neighbours listed and delta computed a second time.

usage: python -m oracle.certificates UNSPENT PRESETS_DIRECTORY [--all | PRESET ...]

Nothing is shared with the program but the text of the presets. Without names, all presets are checked but
those of the demonstration of 2022-08-25, which --all adds. For every line of a certificate:

  * at the upper end of the tight epsilon, delta of EVERY pair of paths that the secret allows is at most the
    certificate's;
  * at the lower end, delta of SOME pair is at least the certificate's.

A line is `ok` if both are certain, `open` if an end is narrower than the oracle can decide and the two are
compatible, and `BAD` if one of them certainly fails.

Where units were bypassed the oracle derives by itself which pairs there are. A unit that is the only child of
its parent is not measured, and its level's budget goes to the nearest unit above that is. So a path is a set
of measured levels. A changed record is in one place before and in one after. Let s be the smallest level at
which the two are in one unit, -1 if there is none. Then

  * both paths are the same down to s, because those are the same units;
  * at s + 1 the two are in different units of one parent, so neither is an only child: both paths keep s + 1;
  * if s is the smallest level, the two paths are one.

Down to s the record leaves a cell and enters another of the same unit, if the query sees more than the place;
below, it leaves a cell of the one path and enters one of the other. All triples (path, path, s) are listed,
none is left out because another one should be worse.

How delta is obtained: all pairs are screened in double precision (`Screen`), by an upper bound of delta that
smoothing gives. What is not at least `MARGIN` below the target at any smoothing, and the largest of what is,
is decided by ball arithmetic: 25 digits where that is affordable, otherwise an enclosure narrower than that
of the program. Of what was screened, a sample is compared with ball arithmetic too. So the statement about
the worst pair is proved; that about those that are further off than `MARGIN` rests on double precision, which
has a hundred times that margin to spare.
"""

import json
import math
import pathlib
import random
import subprocess
import sys
import time
import tomllib
from fractions import Fraction

import numpy

from .balls import ball
from .composition import Composition, Unaffordable
from .fourier import by_dft
from .integration import by_integration
from .methods import evaluate

# ----------------------------------------------------------------------------------------------
# What a preset says
# ----------------------------------------------------------------------------------------------


class Preset:
    def __init__(self, text):
        preset = tomllib.loads(text)
        self.neighbours = preset["neighbours"]
        self.levels = [level["name"] for level in preset["levels"]]
        self.shares = [level["shares"] for level in preset["levels"]]
        self.queries = preset["queries"]
        self.budgets = [Fraction(preset["rho"]) * Fraction(level["share"]) for level in preset["levels"]]
        # The smallest level with exact totals: neighbours agree on those of its units, and so of those above.
        exact = [self.levels.index(name) for name in preset.get("exact_totals", [])]
        self.exact = max(exact, default=-1)
        self.paths = self.read_paths(preset.get("bypass"))

    def read_paths(self, bypass):
        """Sets of level numbers."""
        every = range(len(self.levels))
        if bypass is None:
            return [frozenset(every)]
        if "paths" in bypass:
            return [frozenset(map(self.levels.index, names)) for names in bypass["paths"]]
        always = set(map(self.levels.index, bypass["keep"]))
        free = [level for level in every if level not in always]
        sets = [
            always | {f for i, f in enumerate(free) if number >> i & 1} for number in range(2 ** len(free))
        ]
        return [frozenset(kept) for kept in sets]

    def stretches(self, path):
        """(level, all levels whose budget it has) of every measured level."""
        found = []
        for level in range(len(self.levels)):
            if level in path:
                found.append((level, [level]))
            else:
                found[-1][1].append(level)
        return [(level, tuple(taken)) for level, taken in found]

    def sigma2(self, level, taken, query):
        """Variance: rho = moves / (2 sigma2) under the neighbours that the budget is stated for."""
        moves = {"bounded": 2, "add-remove": 1}[self.neighbours]
        budget = sum(self.budgets[i] for i in taken) * Fraction(self.shares[level][query])
        return Fraction(moves, 2) / budget


def triples(preset):
    """Every (path, path, s), each unordered pair of paths once; s = -1 where the largest units differ."""
    last = len(preset.levels) - 1
    for i, a in enumerate(preset.paths):
        for b in preset.paths[i:]:
            if a == b:
                yield a, b, last
            for s in range(-1, last):
                down_to_s = set(range(s + 1))
                if a & down_to_s == b & down_to_s and s + 1 in a and s + 1 in b:
                    yield a, b, s


# ----------------------------------------------------------------------------------------------
# What the secret of a line moves
# ----------------------------------------------------------------------------------------------

# A block is some queries of one measured level: (level, levels whose budget it has, queries). A case is
# {block: cells}.


def cases(preset, line):
    """[(case, s)] for the secret of one line."""
    scope, name = line["scope"], line["name"]
    found = []

    def add(parts, s):
        case = {}
        for block, cells in parts:
            if block[2]:
                case[block] = case.get(block, 0) + cells
        if case:
            found.append((case, s))

    def blocks(path, levels, picks):
        return [
            (level, taken, tuple(q for q in preset.shares[level] if picks(q)))
            for level, taken in preset.stretches(path)
            if level in levels
        ]

    number = preset.levels.index(name) if scope in ("level", "keeping", "within") else None
    everything = range(len(preset.levels))
    visible = [number] if scope == "level" else everything

    def any_query(query):
        return True

    def sees_more(query):
        return bool(preset.queries[query])

    if scope == "attribute":
        for path in preset.paths:
            touching = blocks(path, everything, lambda query: name in preset.queries[query])
            add([(block, 2) for block in touching], len(preset.levels) - 1)
        return found
    if scope in ("total", "level") and preset.neighbours == "add-remove":
        for path in preset.paths:
            add([(block, 1) for block in blocks(path, visible, any_query)], 0)
        return found
    least = {"total": -1, "level": -1, "keeping": number, "within": number}[scope]
    # A change of place leaves exact totals as they are, or it is no change between neighbours.
    least = max(least, preset.exact)
    for a, b, s in triples(preset):
        if s < least or (scope == "within" and a == b and s == len(preset.levels) - 1):
            continue
        shared = [level for level in visible if level <= s]
        apart = [level for level in visible if level > s]
        parts = [(block, 1) for path in (a, b) for block in blocks(path, apart, any_query)]
        if scope != "within":
            parts += [(block, 2) for block in blocks(a, shared, sees_more)]
        add(parts, s)
    return found


def groups(preset, case):
    """(sigma2, count, 1) of a case, exactly."""
    kinds = {}
    for (level, taken, queries), cells in case.items():
        for query in queries:
            sigma2 = preset.sigma2(level, taken, query)
            kinds[sigma2] = kinds.get(sigma2, 0) + cells
    return tuple(sorted((sigma2, n, 1) for sigma2, n in kinds.items()))


# ----------------------------------------------------------------------------------------------
# Screening
# ----------------------------------------------------------------------------------------------

# Rounding in the screen is of the order of 1e-10 relative at most: some 200 factors of 1e-16 each, angles up
# to 1e6 rounded to 1e-10 where next to nothing of the sum is left, terms of one size near 0. This margin is a
# hundred times that.
MARGIN = 1e-8
# Relative amounts by which smoothing raises delta, about: coarse and fast first.
SMOOTHINGS = (1e-3, 1e-5, 3e-7, 3e-8)


class Screen:
    """Upper bounds of delta at one epsilon for many compositions, in double precision.

    With S normal of mean -s^2/2 and variance s^2, independent of the loss L, E[e^S] = 1 and Jensen's
    inequality give delta(eps) <= E_P[(e^{L+S} - e^eps)_+], which for any c > 1 is the integral

        (1/2 pi) int  E_P[e^{z(L+S)}] e^{-(z-1) eps} / (z (z-1)) dt,     z = c + it.

    Its trapezoidal sum with step h adds the same at eps + 2 pi m/h times e^{2 pi m (c-1)/h}, which is
    positive: the sum is an upper bound too, and a good one if 2 pi/h is long enough."""

    def __init__(self, preset, epsilon, mu2, raised):
        self.preset, self.epsilon = preset, epsilon
        c = max(1.5, 0.5 + epsilon / mu2)
        s = math.sqrt(2 * raised) / c
        # Periods on which what comes back is below e^-40 of the answer; and nodes until e^{-s^2 t^2/2} is.
        h = 2 * math.pi / max(60 / (c - 1), 12 * math.sqrt(mu2))
        self.t = h * numpy.arange(int(9 / s / h) + 2)
        self.z = c + 1j * self.t
        weight = numpy.exp(s * s * self.z * (self.z - 1) / 2 - (self.z - 1) * epsilon) / (
            self.z * (self.z - 1)
        )
        weight[1:] *= 2
        self.weight = weight * h / (2 * math.pi)
        self.factors = {}

    def factor(self, sigma2):
        """E_P[e^{zL}] of one mechanism:
        e^{-z/(2 sigma2)} sum_x e^{z x/sigma2 - x^2/(2 sigma2)} / sum_x e^{-x^2/(2 sigma2)}."""
        s = float(sigma2)
        c = self.z[0].real
        norm = sum(
            math.exp(-x * x / (2 * s)) for x in range(-int(40 * math.sqrt(s)) - 2, int(40 * math.sqrt(s)) + 3)
        )
        total = numpy.zeros_like(self.z)
        if s < 2:
            # Terms centred at x = c.
            reach = int(13 * math.sqrt(s)) + 2
            for x in range(math.floor(c) - reach, math.ceil(c) + reach + 1):
                total += numpy.exp((self.z * (x - 0.5) - x * x / 2) / s)
            return total / norm
        # Poisson summation: sqrt(2 pi s) sum_u e^{s (w + 2 pi i u)^2 / 2}, w = z/s, its angle reduced to
        # [-pi, pi].
        angle = self.t / s
        angle -= 2 * math.pi * numpy.round(angle / (2 * math.pi))
        for u in (-1, 0, 1):
            w = c / s + 1j * (angle + 2 * math.pi * u)
            total += numpy.exp(s * w * w / 2 - self.z / (2 * s))
        return total * math.sqrt(2 * math.pi * s) / norm

    def block(self, block):
        if block not in self.factors:
            level, taken, queries = block
            counts = {}
            for query in queries:
                sigma2 = self.preset.sigma2(level, taken, query)
                counts[sigma2] = counts.get(sigma2, 0) + 1
            value = 1
            for sigma2, n in counts.items():
                value = value * self.factor(sigma2) ** n
            self.factors[block] = value
        return self.factors[block]

    def delta(self, case):
        value = self.weight
        for block, cells in case.items():
            value = value * self.block(block)
            if cells == 2:
                value = value * self.block(block)
        return float(value.real.sum())


def screen(preset, line, target, listed):
    """Those of the cases that are not certainly below the target at the upper end; and of the others the
    bound of delta, after the number of the smoothing it took: the more, the nearer."""
    epsilon = float(line["tight"]["upper"])
    waiting, bounds = listed, {}
    for number, raised in enumerate(SMOOTHINGS):
        if not waiting:
            break
        mu2 = max(float(sum(n / s for s, n, _ in key)) for key, _ in waiting)
        screen = Screen(preset, epsilon, mu2, raised)
        left = []
        for key, case in waiting:
            delta = screen.delta(case)
            if delta * (1 + MARGIN) <= target:
                bounds[key] = number, delta
            else:
                left.append((key, case))
        waiting = left
    return waiting, bounds


# ----------------------------------------------------------------------------------------------
# Deciding
# ----------------------------------------------------------------------------------------------


def deltas(key, epsilons, smoothing):
    """The method, and for each epsilon two balls: delta is not below the first and not above the second."""
    composition = Composition(key)

    def quick(*question):
        return evaluate(*question, cross_check=False)

    # Takes up to a minute.
    def patient(*question):
        return "dft", by_dft(*question, max_candidates=6_000_000, max_work=6_000_000)

    for attempt in (quick, patient):
        try:
            method, answers = attempt(composition, epsilons)
        except Unaffordable:
            continue
        if None not in answers:
            return method, [(answer["d"], answer["d"]) for answer in answers]
    return "integration", by_integration(composition, epsilons, smoothing=smoothing)


class Known:
    """What ball arithmetic has said, once for each composition and pair of ends."""

    def __init__(self):
        self.found = {}

    def __call__(self, key, ends, smoothing):
        if (key, ends, smoothing) not in self.found:
            self.found[key, ends, smoothing] = deltas(key, list(ends), smoothing)
        return self.found[key, ends, smoothing]


# Smoothing of enclosures, as fine as it takes to decide; and of the comparison of what was screened.
FINE = [Fraction(1, 8000 * 3**i) for i in range(3)]
# Where the program knows epsilon better than this, no smoothing that is affordable does.
TOO_NARROW = 1e-9
COARSE = Fraction(1, 400)


def check_line(preset, line, delta, known, rng):
    """(what is wrong, what could not be decided, what was done)."""
    listed, reachable = {}, set()
    pairs = cases(preset, line)
    for case, s in pairs:
        key = groups(preset, case)
        listed.setdefault(key, case)
        # That the largest level has more than one unit is not known, so no truth may rest on it.
        if s >= 0:
            reachable.add(key)
    wrong = []
    ends = Fraction(line["tight"]["upper"]), Fraction(line["tight"]["lower"])
    if len(listed) == 1:
        near, bounds = list(listed), {}
    else:
        left, bounds = screen(preset, line, float(delta), list(listed.items()))
        near = [key for key, _ in left]
    nearest = sorted(bounds, key=bounds.get, reverse=True)
    target = ball(delta)
    methods, decided, doubts, reached, may_reach = set(), 0, [], False, False
    width = float(ends[0] - ends[1])
    # If all were screened the largest is decided, and as many as it takes to reach the lower end, but not
    # all.
    queue = near + [key for key in nearest if key in reachable][:4]
    for i, key in enumerate(queue):
        if i >= max(1, len(near)) and reached:
            break
        decided += 1
        asks = not reached and key in reachable
        for smoothing in FINE if width > TOO_NARROW else FINE[:1]:
            method, (at_upper, at_lower) = known(key, ends, smoothing)
            is_below, is_above = bool(at_upper[1] <= target), bool(at_upper[0] > target)
            is_reached, is_missed = bool(at_lower[0] >= target), bool(at_lower[1] < target)
            if (is_below or is_above) and (not asks or is_reached or is_missed):
                break
        methods.add(method)
        if is_above:
            wrong.append(f"delta at the upper end is {at_upper[0]} at least")
        elif not is_below:
            doubts.append("upper end")
        reached = reached or asks and is_reached
        may_reach = may_reach or asks and not is_missed
    if not may_reach:
        wrong.append("delta at the lower end is not reached by any of them")
    elif not reached:
        doubts.append("lower end")
    # A sample of what was screened: the bound must not be below the truth. (Integration is slow with few
    # kinds.)
    pool = sorted(key for key in bounds if len(key) >= 6)
    for key in rng.sample(pool, min(SAMPLE, len(pool))):
        ((low, _),) = by_integration(Composition(key), [ends[0]], smoothing=COARSE)
        bound = bounds[key][1] * (1 + MARGIN)
        if not low <= ball(Fraction(bound)):
            wrong.append(f"the screen has {bound}, truth is at least {low}")
    rho = max(Composition(key).mu2 for key in listed) / 2
    if not Fraction(line["rho"]["lower"]) <= rho <= Fraction(line["rho"]["upper"]):
        wrong.append(f"rho is {rho}")
    done = f"{len(pairs):4} triples {len(listed):4} compositions {decided:2} by {'/'.join(sorted(methods))}"
    return wrong, doubts, done


# Screened compositions of each line that are compared with ball arithmetic.
SAMPLE = 1


def check_counts(directory):
    """Numbers of pairs that were counted otherwise: by the authors of the 43 paths, and by hand."""

    def load(name):
        return Preset((directory / f"{name}.toml").read_text(encoding="utf-8"))

    def count(name, least):
        preset = load(name)
        return len({(a, b) for a, b, s in triples(preset) if s >= least})

    state = load("pl94-persons-us-2020").levels.index("State")
    expected = {
        ("dhc-persons-us-2020", -1): 946,
        ("pl94-persons-us-2020", -1): 136,
        ("pl94-persons-us-2020", state): 51,
    }
    bad = 0
    for (name, least), number in expected.items():
        found = count(name, least)
        bad += found != number
        verdict = "ok  " if found == number else "BAD "
        print(f"{verdict} {name:26} pairs of paths that share level {least}: {found}")
    return bad


def main():
    program, directory, *names = sys.argv[1:]
    directory = pathlib.Path(directory)
    presets = sorted(directory.glob("*.toml"))
    if names == ["--all"]:
        names = [path.stem for path in presets]
    elif not names:
        names = [path.stem for path in presets if not path.stem.startswith("dhc") or "2022" not in path.stem]
    bad, checked, open_ends, start = check_counts(directory), 0, 0, time.time()
    rng = random.Random(1)
    for path in presets:
        if path.stem not in names:
            print(f"     {path.stem:26} left out: --all, or its name, adds it")
            continue
        preset = Preset(path.read_text(encoding="utf-8"))
        run = subprocess.run([program, "certificate", path.stem, "--json"], check=True, capture_output=True)
        certificate = json.loads(run.stdout)
        delta, known = Fraction(certificate["delta"]), Known()
        for line in certificate["lines"]:
            began = time.time()
            wrong, doubts, done = check_line(preset, line, delta, known, rng)
            checked += 1
            bad += bool(wrong)
            open_ends += bool(doubts)
            verdict = "BAD " if wrong else "open" if doubts else "ok  "
            upper = line["tight"]["upper"]
            print(
                f"{verdict} {path.stem:26} {line['label']:32} {upper:20} {done} "
                f"{time.time() - began:.1f}s {'; '.join(wrong + doubts)}",
                flush=True,
            )
    took = time.time() - start
    print(f"{checked} lines checked, {open_ends} not decided but compatible, {bad} bad, {took:.0f} s")
    sys.exit(bad > 0 or checked == 0)


if __name__ == "__main__":
    main()
