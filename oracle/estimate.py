"""Random problems with their best linear unbiased estimates and all covariances, one JSON object a line.

usage: python -m oracle.estimate --seed SEED --count COUNT --out FILE [--largest ANSWERS]

A problem has at most so many answers to estimate (unit by query by group). The share of the problems that
have each feature is printed at the end.
"""

import argparse
import collections
import json
import math
import random
import time

from .least_squares import estimate
from .trees import count_answers, count_by_query, depths, draw_problem


def number(value):
    """The double nearest to a rational, an integer where it is one, or None."""
    if value is None:
        return None
    numerator, denominator = int(value.p), int(value.q)
    return numerator if denominator == 1 else numerator / denominator


def make_problem(seed, index, largest):
    """The index-th problem with its answers. Depends on the arguments only. A draw that is too large, has
    no measurement, or identifies nothing, is drawn again."""
    rng = random.Random(f"{seed}/{index}/estimate")
    while True:
        problem = {"seed": seed, **draw_problem(rng)}
        if count_answers(problem) > largest or not any(unit["measured"] for unit in problem["units"]):
            continue
        values, covariance = estimate(problem)
        if any(value is not None for value in values):
            break
    remaining = iter(map(number, values))
    problem["estimates"] = [
        [unit, query, [next(remaining) for _ in range(count)]]
        for unit in range(len(problem["units"]))
        for query, count in enumerate(count_by_query(problem))
    ]
    problem["covariance"] = [[number(value) for value in row] for row in covariance]
    return problem


def features(problem):
    """Names of what occurs in a problem."""
    units, queries = problem["units"], problem["queries"]
    parents = [u["parent"] for u in units]
    depth = depths(parents)
    leaves = [u for u in range(len(units)) if u not in parents]
    measured = [{m["query"] for m in u["measured"]} for u in units]
    found = {f"{len(problem['attributes'])} attributes", f"{len(units)} units"}

    def note(name, condition):
        if condition:
            found.add(name)

    def blank(unit):
        """Nothing is measured in the whole subtree."""
        return not measured[unit] and all(blank(c) for c, p in enumerate(parents) if p == unit)

    recodes = [
        (a, part)
        for query in queries
        for a, part in enumerate(query["parts"])
        if part and part != list(range(len(part)))
    ]
    note("plain marginals only", not recodes)
    note("recodes", recodes)
    note("recodes: values in no group", any(None in part for _, part in recodes))
    note("recodes: groups that cross", any(a == b and crosses(p, q) for a, p in recodes for b, q in recodes))
    note("structural zeros", problem["impossible"])
    note("zeros of single units", any(u["zeros"] for u in units))
    note("zeros listed at inner units", any(units[p]["zeros"] for p in parents if p is not None))
    values = math.prod(problem["attributes"][a] for a in problem["carrier"])
    note("a unit of zeros only", problem["carrier"] and any(len(u["zeros"]) == values for u in units))
    exact = [(u, e["query"]) for u in range(len(units)) for e in units[u]["exact"]]
    note("exact values", exact)
    note("exact totals", any(not any(queries[q]["parts"]) for _, q in exact))
    note("exact queries other than totals", any(any(queries[q]["parts"]) for _, q in exact))
    note("exact below the root", any(depth[u] > 0 for u, _ in exact))
    note(
        "exact at all of several units of a level",
        any(
            depth.count(d) > 1 and all((u, q) in exact for u in range(len(units)) if depth[u] == d)
            for d in set(depth)
            for q in range(len(queries))
        ),
    )
    note("exact and measured", any(q in measured[u] for u, q in exact))
    note("a query missing at some units", len({frozenset(m) for m in measured}) > 1)
    note("a unit without measurements", any(not m for m in measured))
    note("an unmeasured leaf", any(not measured[u] for u in leaves))
    for parent in set(parents) - {None}:
        children = [c for c, p in enumerate(parents) if p == parent]
        empty = sum(map(blank, children))
        note("exactly one child of several unmeasured", empty == 1 and len(children) > 1)
        note("several children unmeasured", empty > 1)
        note("a unit with a single child", len(children) == 1)
    note("leaves at several depths", len({depth[u] for u in leaves}) > 1)
    variances = collections.defaultdict(set)
    for u, unit in enumerate(units):
        for m in unit["measured"]:
            variances[depth[u], m["query"]].add(m["sigma2"])
    note("variances differ within a level", any(len(v) > 1 for v in variances.values()))
    answers = [value for _, _, values in problem["estimates"] for value in values]
    note("something not identified", None in answers)
    variance = [row[i] for i, row in enumerate(problem["covariance"])]
    note("something known exactly", 0 in variance)
    note("nothing uncertain", not any(variance))
    return found


def crosses(first, second):
    """Whether neither recode can be had from the other by merging and dropping groups."""

    def refines(fine, coarse):
        image = collections.defaultdict(set)
        for f, c in zip(fine, coarse):
            image[f].add(c)
        return image.pop(None, {None}) == {None} and all(len(groups) == 1 for groups in image.values())

    return not refines(first, second) and not refines(second, first)


def main():
    parser = argparse.ArgumentParser(prog="oracle.estimate", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--out", required=True, metavar="FILE")
    parser.add_argument("--largest", type=int, default=200, metavar="ANSWERS")
    arguments = parser.parse_args()
    started = time.monotonic()
    shares = collections.Counter()
    with open(arguments.out, "w") as out:
        for index in range(arguments.count):
            problem = make_problem(arguments.seed, index, arguments.largest)
            shares.update(features(problem))
            out.write(json.dumps(problem, separators=(",", ":")) + "\n")
    for name, times in sorted(shares.items()):
        print(f"{times / arguments.count:7.1%}  {name}")
    print(f"{arguments.count} problems in {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
