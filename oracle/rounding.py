"""Random transportation problems with the cost of the nearest whole tables, one JSON object a line.

usage: python -m oracle.rounding --seed SEED --count COUNT --out FILE

The cost of an entry is written as one variable between 0 and 1 for every unit, each dearer than the one
before, so a linear program has the same optimum. HiGHS solves it; its whole solution is checked, and its cost
is computed again in rationals. The share of the problems that have each feature is printed at the end.
"""

import argparse
import collections
import json
import random
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix


def draw_near(rng, count, kind):
    """A decimal near a count, as text."""
    if kind == "close":
        return f"{max(0.0, count + rng.gauss(0, 0.4)):.3g}"
    if kind == "off":
        return f"{count + rng.gauss(0, 2):.2f}"
    if kind == "far":
        return f"{rng.uniform(-20, 40):.1f}"
    return str(count + rng.choice([0, 0, 0.5, -0.5]))


def draw_problem(rng):
    """Sums of some whole table, and numbers near it or far from it. Groups: none, one, or several."""
    children, cells = rng.randint(2, 12), rng.randint(2, 12)
    density, largest = rng.choice([(0.2, 3), (0.5, 3), (1, 3), (0.3, 12), (1, 8)])

    def draw_count():
        return rng.randint(0, largest) if rng.random() < density else 0

    kind = rng.choice(["close", "close", "off", "far", "ties"])
    table = [[draw_count() for _ in range(children)] for _ in range(cells)]
    problem = {
        "kind": kind,
        "children": children,
        "near": [float(draw_near(rng, count, kind)) for column in table for count in column],
        "columns": [sum(column) for column in table],
        "group_of": None,
        "rows": None,
    }
    groups = rng.choice([0, 1, 1, rng.randint(2, 4)])
    if groups:
        group_of = [rng.randrange(groups) for _ in range(cells)]
        members = [[table[cell] for cell in range(cells) if group_of[cell] == g] for g in range(groups)]
        problem["group_of"] = group_of
        problem["rows"] = [sum(column[c] for column in of) for of in members for c in range(children)]
    return problem


def solve(problem):
    """The nearest whole table."""
    children, columns = problem["children"], problem["columns"]
    group_of, rows = problem["group_of"], problem["rows"]
    costs, entries, constraints = [], [], []
    for cell, column in enumerate(columns):
        for child in range(children):
            entry = cell * children + child
            row = None if rows is None else group_of[cell] * children + child
            for unit in range(column if row is None else min(column, rows[row])):
                costs.append(1 + 2 * (unit - problem["near"][entry]))
                entries.append(entry)
                constraints.append((cell, row))
    table = [0] * len(problem["near"])
    if not entries:
        return table
    at = np.arange(len(entries))
    first, second = [c for c, _ in constraints], [r for _, r in constraints]
    sums = list(columns)
    if rows is not None:
        at, first = np.concatenate([at, at]), first + [len(columns) + r for r in second]
        sums += rows
    matrix = coo_matrix((np.ones(len(at)), (first, at)), shape=(len(sums), len(entries)))
    solution = linprog(costs, A_eq=matrix.tocsr(), b_eq=sums, bounds=(0, 1), method="highs-ds")
    assert solution.status == 0, solution.message
    for entry, value in zip(entries, solution.x, strict=True):
        assert abs(value - round(value)) < 1e-6, "a vertex is whole"
        table[entry] += round(value)
    return table


def check(problem, table):
    """The table has all sums."""
    children, group_of = problem["children"], problem["group_of"]
    rows = None if problem["rows"] is None else [0] * len(problem["rows"])
    for cell, column in enumerate(problem["columns"]):
        counts = table[cell * children : (cell + 1) * children]
        assert sum(counts) == column
        for child, count in enumerate(counts):
            if rows is not None:
                rows[group_of[cell] * children + child] += count
    assert rows == problem["rows"]


def make_problem(seed, index):
    """The index-th problem with its cost. Depends on the arguments only."""
    problem = draw_problem(random.Random(f"{seed}/{index}/rounding"))
    table = solve(problem)
    check(problem, table)
    near = [Fraction(repr(value)) for value in problem["near"]]
    problem["cost"] = float(sum((y - x) ** 2 for y, x in zip(table, near, strict=True)))
    return problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    found = collections.Counter()
    with open(arguments.out, "w") as out:
        for index in range(arguments.count):
            problem = make_problem(arguments.seed, index)
            groups = 0 if problem["rows"] is None else len(problem["rows"]) // problem["children"]
            found.update([problem["kind"], ["no group", "one group", "several groups"][min(groups, 2)]])
            problem["near"] = [int(x) if x == int(x) else x for x in problem["near"]]
            print(json.dumps(problem, separators=(",", ":")), file=out)
    for feature, count in sorted(found.items()):
        print(f"{feature}: {count / arguments.count:.0%}")


if __name__ == "__main__":
    main()
