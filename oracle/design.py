"""Random needs with the least budget that meets them, one JSON object a line.

usage: python -m oracle.design --seed SEED --count COUNT --out FILE

Queries are marginals and trees are regular, so that every variance is a sum of numbers over linear functions
of the precisions, and the least budget is a second-order cone program. Clarabel solves it.

Small problems are solved a second time by the definition of the best estimate: the variance of a sum is at
most v if there are weights of all measurements of all units with the right mean and a variance of at most v.
That uses neither a basis nor a formula for trees. Both budgets are written, and must agree.
"""

import argparse
import collections
import itertools
import json
import math
import random

import clarabel
import numpy as np
from scipy import sparse
from scipy.stats import norm

LARGEST_DENSE = 700  # measurements times sums


# --- Drawing ---------------------------------------------------------------------------------------------


def decimal(value):
    """Three digits, as text."""
    return f"{value:.3g}" if 1e-3 < value < 1e3 else f"{value:.2e}"


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def draw_units(rng, levels, whole):
    """How many units each level has."""
    while True:
        units = [rng.choice([1, 1, 1, 2, 3])]
        for _ in range(levels - 1):
            above = units[-1]
            units.append(above * rng.randint(1, 6) if whole else rng.randint(above, 8 * above))
        if units[-1] <= 2000:
            return units


def draw_values(rng, sizes, part):
    """Values of some attributes: pairs of an attribute and its values."""
    chosen = []
    for attribute, size in enumerate(sizes):
        if rng.random() < part:
            count = rng.randint(1, size)
            chosen.append([attribute, sorted(rng.sample(range(size), count))])
    return chosen


def draw_need(rng, problem, whole):
    sizes, units = problem["attributes"], problem["units"]
    level = rng.randrange(len(units))
    need = {"level": level, "confidence": rng.choice(["0.9", "0.95", "0.99"])}
    kind = rng.choice(["table", "table", "count", "share"])
    if kind == "table":
        need["by"] = rng.choice(problem["queries"])
    if kind == "count":
        need["of"] = draw_values(rng, sizes, 0.7)
    if kind == "share":
        need["of"], need["among"] = draw_values(rng, sizes, 0.8), draw_values(rng, sizes, 0.3)
        need["share"] = decimal(log_uniform(rng, 0.02, 0.1))
        need["population"] = str(rng.randint(100, 1000))
        need["about"] = rng.choice([None, "0.2", "0.5"])
    else:
        need["margin"] = decimal(log_uniform(rng, 5, 50))
    if rng.random() < 0.3:
        spread = rng.choice(["scattered", "packed"] if whole else ["scattered"])
        need["set"] = [rng.randint(1, min(units[level], 30)), spread]
    elif kind == "table" and rng.random() < 0.2:
        need["all"] = True
    return need


def draw_problem(rng):
    sizes = [rng.randint(2, 4) for _ in range(rng.randint(1, 3))]
    marginals = [list(q) for r in range(len(sizes) + 1) for q in itertools.combinations(range(len(sizes)), r)]
    queries = rng.sample(marginals, rng.randint(1, min(5, len(marginals))))
    whole = rng.random() < 0.6
    problem = {
        "attributes": sizes,
        "queries": queries,
        "units": draw_units(rng, rng.randint(1, 4), whole),
        "neighbours": rng.choice(["bounded", "add-remove"]),
        "law": rng.choice(["guaranteed", "guaranteed", "normal"]),
    }
    problem["needs"] = [draw_need(rng, problem, whole) for _ in range(rng.randint(1, 5))]
    return problem


# --- What is asked: sums of cells, as numbers over the cells of a histogram -------------------------------


def box(sizes, chosen):
    """For each attribute, 1 where a value is counted."""
    factors = [np.ones(size) for size in sizes]
    for attribute, values in chosen:
        factors[attribute] = np.zeros(sizes[attribute])
        factors[attribute][values] = 1
    return factors


def outer(factors):
    found = np.ones(())
    for factor in factors:
        found = np.multiply.outer(found, factor)
    return found


def quantile(problem, need):
    """The margin of a deviation of 1."""
    missed = 1 - float(need["confidence"])
    if need.get("all"):
        answers = math.prod(problem["attributes"][a] for a in need["by"])
        missed /= answers * problem["units"][need["level"]]
    return math.sqrt(2 * math.log(2 / missed)) if problem["law"] == "guaranteed" else norm.isf(missed / 2)


def sums(problem, need):
    """Each sum of cells with the variance that it may have."""
    sizes = problem["attributes"]
    if "by" in need:
        # All cells of a marginal are known equally well.
        of = [outer(box(sizes, [(a, [0]) for a in need["by"]]))]
        margin = float(need["margin"])
    elif "share" not in need:
        of, margin = [outer(box(sizes, need["of"]))], float(need["margin"])
    else:
        share = float(need["share"])
        among = outer(box(sizes, need["among"]))
        part = outer(box(sizes, need["of"])) * among
        ends = (0, 1) if need["about"] is None else (float(need["about"]),) * 2
        of = [part - (ends[0] - share) * among, part - (ends[1] + share) * among]
        margin = share * float(need["population"])
    limit = (margin / quantile(problem, need)) ** 2
    return [(g, limit) for g in of]


# --- The closed form: sums over levels and sets of attributes ----------------------------------------------


def squared_parts(sizes, weights):
    """For each set of attributes, the squared length of the part that is a contrast of these attributes and
    constant in all others."""
    found = {}
    for r in range(len(sizes) + 1):
        for contrast in itertools.combinations(range(len(sizes)), r):
            part = weights
            for axis in range(len(sizes)):
                mean = part.mean(axis=axis, keepdims=True)
                part = part - mean if axis in contrast else np.broadcast_to(mean, part.shape)
            found[contrast] = float((part**2).sum())
    return found


def level_parts(problem, need):
    """For each level k, the factor of 1/p_k."""
    units, level = problem["units"], need["level"]
    count, spread = need.get("set", [1, "packed"])
    inside = [units[level] / units[k] for k in range(level + 1)]

    def squares(k):
        """The sum of squared numbers of units of the set in each unit of level k."""
        if spread == "scattered":
            return max(count, count**2 / units[k])
        full, rest = divmod(count, inside[k])
        return full * inside[k] ** 2 + rest**2

    together = [0] + [squares(k) / inside[k] for k in range(level + 1)]
    return [(after - before) / m for before, after, m in zip(together, together[1:], inside)]


def atoms(problem):
    """Level and contrast to the row B with p = B w; variables are queries at levels, level by level."""
    sizes, units, queries = problem["attributes"], problem["units"], problem["queries"]
    rows = {}
    for k, contrast in itertools.product(
        range(len(units)),
        [c for r in range(len(sizes) + 1) for c in itertools.combinations(range(len(sizes)), r)],
    ):
        row = np.zeros(len(units) * len(queries))
        for level in range(k, len(units)):
            for q, query in enumerate(queries):
                if set(contrast) <= set(query):
                    left_out = math.prod(m for a, m in enumerate(sizes) if a not in query)
                    row[level * len(queries) + q] = left_out * units[k] / units[level]
        rows[k, contrast] = row
    return rows


def limits(problem):
    """Limits as (terms, limit), with terms {atom: factor}; none if a sum is not determined."""
    rows = atoms(problem)
    found = []
    for need in problem["needs"]:
        by_level = level_parts(problem, need)
        for weights, limit in sums(problem, need):
            parts = squared_parts(problem["attributes"], weights)
            terms = {
                (k, contrast): c * length
                for k, c in enumerate(by_level)
                for contrast, length in parts.items()
                if c * length > 1e-12
            }
            if any(not rows[atom].any() for atom in terms):
                return None
            found.append((terms, limit))
    return found


# --- Cone programs ------------------------------------------------------------------------------------------


class Program:
    """Least cost with affine constraints and rotated cones."""

    def __init__(self, costs):
        self.costs = list(costs)
        self.cones, self.rows = [], []  # a row is ({variable: coefficient}, constant): the value is in a cone

    def variables(self, count):
        first = len(self.costs)
        self.costs += [0.0] * count
        return range(first, first + count)

    def at_least_zero(self, row, constant=0.0):
        self.rows.append((row, constant))
        self.cones.append(clarabel.NonnegativeConeT(1))

    def equal_to_zero(self, row, constant):
        self.rows.append((row, constant))
        self.cones.append(clarabel.ZeroConeT(1))

    def product_at_least(self, first, second, rows):
        """first * second >= the sum of squares of rows: the sum is as long as (2 rows, first - second)."""
        total = collections.Counter(first)
        total.update(second)
        difference = collections.Counter(first)
        difference.subtract(second)
        self.rows.append((total, 0.0))
        self.rows += [({v: 2 * x for v, x in row.items()}, 2 * constant) for row, constant in rows]
        self.rows.append((difference, 0.0))
        self.cones.append(clarabel.SecondOrderConeT(2 + len(rows)))

    def solve(self):
        entries = [(i, v, -x) for i, (row, _) in enumerate(self.rows) for v, x in row.items()]
        i, v, x = zip(*entries)
        count = len(self.costs)
        matrix = sparse.csc_matrix((x, (i, v)), shape=(len(self.rows), count))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-9
        constants = np.array([constant for _, constant in self.rows])
        nothing = sparse.csc_matrix((count, count))
        costs = np.array(self.costs)
        found = clarabel.DefaultSolver(nothing, costs, matrix, constants, self.cones, settings).solve()
        return str(found.status), found.obj_val, np.array(found.x)


def cost(problem):
    """The rho of precision 1."""
    return 1.0 if problem["neighbours"] == "bounded" else 0.5


def solve(problem, found, scale):
    """The least budget by the closed form; precisions are multiples of `scale`."""
    rows = atoms(problem)
    count = len(problem["units"]) * len(problem["queries"])
    program = Program([cost(problem)] * count)
    for variable in range(count):
        program.at_least_zero({variable: 1.0})
    used = sorted({atom for terms, _ in found for atom in terms})
    places = dict(zip(used, program.variables(len(used))))
    for atom, place in places.items():
        precision = {v: float(x) for v, x in enumerate(rows[atom]) if x}
        # Variances by their inverse: t p >= 1.
        program.product_at_least({place: 1.0}, precision, [({}, 1.0)])
    for terms, limit in found:
        row = {places[atom]: -factor / (limit * scale) for atom, factor in terms.items()}
        program.at_least_zero(row, 1.0)
    status, value, x = program.solve()
    return status, value * scale, x[:count] * scale


# --- By the definition -------------------------------------------------------------------------------------


def members(problem, need):
    """The units of a set, one by one; none if no set is as the closed form says."""
    units, level = problem["units"], need["level"]
    count, spread = need.get("set", [1, "packed"])
    if spread == "packed":
        return list(range(count))
    taken = [[0] * u for u in units]
    chosen = []
    for _ in range(count):
        inside = range(units[0])
        for k in range(level + 1):
            unit = min(inside, key=lambda u: taken[k][u])
            taken[k][unit] += 1
            if k < level:
                children = units[k + 1] // units[k]
                inside = range(unit * children, (unit + 1) * children)
        chosen.append(unit)
    even = all(min(t) == max(t) or (min(t), max(t)) == (0, 1) for t in taken[: level + 1])
    return chosen if even else None


def solve_dense(problem, scale):
    """The least budget by weights of all measurements; none if it is too large or units are not whole."""
    sizes, units, queries = problem["attributes"], problem["units"], problem["queries"]
    if any(b % a for a, b in zip(units, units[1:])):
        return None
    sets = [members(problem, need) for need in problem["needs"]]
    if None in sets:
        return None
    cells, leaves = math.prod(sizes), units[-1]
    values = list(itertools.product(*map(range, sizes)))
    # For each variable its measurements, each as the columns that it counts.
    measured = []
    for level, query in itertools.product(range(len(units)), queries):
        answers = collections.defaultdict(list)
        inside = leaves // units[level]
        for leaf, (cell, value) in itertools.product(range(leaves), enumerate(values)):
            answers[leaf // inside, tuple(value[a] for a in query)].append(leaf * cells + cell)
        measured.append(list(answers.values()))
    asked = [(need, s, g) for need, s in zip(problem["needs"], sets) for g in sums(problem, need)]
    if sum(map(len, measured)) * len(asked) > LARGEST_DENSE:
        return None
    program = Program([cost(problem)] * len(measured))
    for variable in range(len(measured)):
        program.at_least_zero({variable: 1.0})
    for need, chosen, (weights, limit) in asked:
        wanted = np.zeros(leaves * cells)
        inside = leaves // units[need["level"]]
        for unit in chosen:
            for leaf in range(unit * inside, (unit + 1) * inside):
                wanted[leaf * cells : (leaf + 1) * cells] += weights.ravel()
        means = [{} for _ in wanted]
        parts = program.variables(len(measured))
        for variable, (answers, part) in enumerate(zip(measured, parts)):
            own = program.variables(len(answers))
            for place, columns in zip(own, answers):
                for column in columns:
                    means[column][place] = 1.0
            # The part of the variance times the precision is at least the sum of squared weights.
            program.product_at_least({part: 1.0}, {variable: 1.0}, [({place: 1.0}, 0.0) for place in own])
        for mean, constant in zip(means, wanted):
            program.equal_to_zero(mean, -constant)
        program.at_least_zero({part: -1.0 / (limit * scale) for part in parts}, 1.0)
    status, value, _ = program.solve()
    return status, value * scale


# --- All together --------------------------------------------------------------------------------------


def make_problem(seed, index):
    """The index-th problem with its least budget. Depends on the arguments only. Problems that the queries
    do not determine, or whose precisions differ so much that a general solver loses digits, are drawn
    again."""
    rng = random.Random(f"{seed}/{index}/design")
    while True:
        problem = draw_problem(rng)
        found = limits(problem)
        if not found:
            continue
        status, _, w = solve(problem, found, scale_of(problem, found))
        if status not in ("Solved", "AlmostSolved"):
            continue
        needed = w[w > 1e-4 * w.max()]
        if needed.max() / needed.min() < 1e3:
            break
    # Once more, in units of what is needed.
    scale = float(w.max())
    status, value, w = solve(problem, found, scale)
    if status == "Solved":
        check(problem, found, w)
    problem["status"], problem["rho"] = status, value
    dense = solve_dense(problem, scale)
    problem["dense"] = None
    if dense is not None and dense[0] == "Solved" == status:
        problem["dense"] = dense[1]
    return problem


def scale_of(problem, found):
    """A precision of all queries that meets all limits."""
    rows = atoms(problem)
    even = {atom: rows[atom].sum() for atom in rows}
    return max(sum(c / even[atom] for atom, c in terms.items()) / limit for terms, limit in found)


def check(problem, found, w):
    """The precisions meet the limits, nearly."""
    rows = atoms(problem)
    w = np.maximum(w, 0)
    for terms, limit in found:
        assert sum(c / (rows[atom] @ w) for atom, c in terms.items()) <= limit * (1 + 1e-4)


def features(problem):
    needs, units = problem["needs"], problem["units"]
    yield f"{len(units)} levels"
    yield problem["law"]
    yield problem["neighbours"]
    yield problem["status"]
    if problem["dense"] is not None:
        yield "solved by the definition too"
    if any(b % a for a, b in zip(units, units[1:])):
        yield "numbers of units are not whole"
    for name, has in [
        ("a table", lambda n: "by" in n),
        ("a count", lambda n: "of" in n and "share" not in n),
        ("a share", lambda n: "share" in n),
        ("a scattered set", lambda n: n.get("set", [0, ""])[1] == "scattered"),
        ("a packed set", lambda n: n.get("set", [0, ""])[1] == "packed"),
        ("all at once", lambda n: n.get("all")),
    ]:
        if any(map(has, needs)):
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    found, worst = collections.Counter(), 0.0
    with open(arguments.out, "w") as out:
        for index in range(arguments.count):
            problem = make_problem(arguments.seed, index)
            found.update(features(problem))
            if problem["dense"] is not None:
                worst = max(worst, abs(problem["dense"] / problem["rho"] - 1))
            print(json.dumps(problem, separators=(",", ":")), file=out)
    for feature, count in sorted(found.items()):
        print(f"{feature}: {count / arguments.count:.1%}")
    print(f"largest difference between the closed form and the definition: {worst:.1e}")
    assert worst < 1e-6


if __name__ == "__main__":
    main()
