#!/usr/bin/env python3
"""Checks certificates against the oracle: presets read, scopes picked and delta computed a second time.

usage: certificates.py UNSPENT PRESETS_DIRECTORY [PRESET ...]

Nothing is shared with the program but the text of the presets. For every line of every certificate the oracle's
delta must be at most the certificate's at the tight epsilon (its upper end) and at least that at the lower end.
"""

import json
import pathlib
import subprocess
import sys
import time
import tomllib
from fractions import Fraction

from oracle import Composition, Unaffordable, ball, by_integration, evaluate


def measurements(preset):
    """(level number, query, sigma2) of every query at every level, and the moves of the total."""
    moves = {"bounded": 2, "add-remove": 1}[preset["neighbours"]]
    found = []
    for number, level in enumerate(preset["levels"]):
        for query, share in level["shares"].items():
            rho = Fraction(preset["rho"]) * Fraction(level["share"]) * Fraction(share)
            found.append((number, query, Fraction(moves, 2) / rho))
    return found, moves


def groups(preset, line):
    """The mechanisms that the secret of a line can move."""
    found, moves = measurements(preset)
    names = [level["name"] for level in preset["levels"]]
    picked = {
        "total": lambda level, query: True,
        "level": lambda level, query: names[level] == line["name"],
        "attribute": lambda level, query: line["name"] in preset["queries"][query],
        "within": lambda level, query: level > names.index(line["name"]),
    }[line["scope"]]
    count = moves if line["scope"] in ("total", "level") else 2
    kinds = {}
    for level, query, sigma2 in found:
        if picked(level, query):
            kinds[sigma2] = kinds.get(sigma2, 0) + count
    return [(sigma2, n, 1) for sigma2, n in kinds.items()]


def deltas(composition, epsilons):
    """The method, and for each epsilon a ball or pair of balls around delta."""
    try:
        method, answers = evaluate(composition, epsilons, cross_check=False)
        if None not in answers:
            return method, [(answer["d"], answer["d"]) for answer in answers]
    except Unaffordable:
        pass
    return "integration", by_integration(composition, epsilons)


def main():
    program, directory, *names = sys.argv[1:]
    presets = sorted(pathlib.Path(directory).glob("*.toml"))
    bad = checked = 0
    for path in presets:
        if names and path.stem not in names:
            continue
        preset = tomllib.loads(path.read_text(encoding="utf-8"))
        run = subprocess.run([program, "certificate", path.stem, "--json"], check=True, capture_output=True)
        certificate = json.loads(run.stdout)
        known = {}
        for line in certificate["lines"]:
            start = time.time()
            mechanisms = groups(preset, line)
            composition = Composition(mechanisms)
            ends = Fraction(line["tight"]["upper"]), Fraction(line["tight"]["lower"])
            key = (tuple(sorted(mechanisms)), ends)
            if key not in known:
                known[key] = deltas(composition, list(ends))
            method, (at_upper, at_lower) = known[key]
            target = ball(Fraction(certificate["delta"]))
            if method == "integration":
                # The oracle's bracket is as wide as ours: the two must be compatible.
                fine = at_upper[0] <= target and at_lower[1] >= target
            else:
                fine = at_upper[1] <= target and at_lower[0] >= target
            fine = fine and Fraction(line["rho"]["lower"]) <= composition.mu2 / 2 <= Fraction(line["rho"]["upper"])
            checked += 1
            bad += not fine
            print(f"{'ok  ' if fine else 'BAD '} {path.stem:26} {line['label']:36} {float(ends[0]):.8f} {method} {time.time() - start:.1f}s", flush=True)
    print(f"{checked} lines checked, {bad} bad")
    sys.exit(bad > 0 or checked == 0)


if __name__ == "__main__":
    main()
