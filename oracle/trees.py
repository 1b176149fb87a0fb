"""Random problems for the estimates: attributes, queries, a tree of units, and what is known of each.

Everything known comes from a hidden truth: integer tables at the leaves. Each feature is switched on by its
own coin, so that they meet in all combinations.
"""

import itertools
import math
from fractions import Fraction

from .draw import log_uniform
from .least_squares import Tree

SMALLEST, LARGEST = Fraction(1, 3), Fraction(10**4)  # of sigma2


def draw_attributes(rng):
    while True:
        sizes = [rng.choice([1, 2, 2, 2, 3, 3, 3, 4, 4]) for _ in range(rng.choice([1, 2, 2, 3, 3, 3]))]
        if math.prod(sizes) <= 24:
            return sizes


def draw_recode(rng, size):
    """Values to groups. In two of five some values are in no group, and the groups come in any order."""
    count = rng.randint(1, size)
    groups = list(range(count)) + [rng.randrange(count) for _ in range(size - count)]
    rng.shuffle(groups)
    if rng.random() < 0.4:
        groups = [None if rng.random() < 0.35 else g for g in groups]
    names = {g: i for i, g in enumerate(sorted({g for g in groups if g is not None}))}
    return [names.get(g) for g in groups] if names else [0] * size


def draw_queries(rng, sizes, recodes):
    """Distinct queries. The total and the whole table are often among them."""
    parts = []
    if rng.random() < 0.6:
        parts.append([None] * len(sizes))
    if rng.random() < 0.5:
        parts.append([list(range(size)) for size in sizes])
    for _ in range(rng.randint(2, 3) if recodes else rng.randint(1, 3)):
        query = []
        for size in sizes:
            recoded = recodes and rng.random() < 0.65
            query.append(draw_recode(rng, size) if recoded else rng.choice([None, list(range(size))]))
        parts.append(query)
    distinct = [p for i, p in enumerate(parts) if p not in parts[:i]]
    rng.shuffle(distinct)
    return [{"name": f"q{i}", "parts": p} for i, p in enumerate(distinct)]


def draw_parents(rng):
    """The parent of each unit, parents first. Some trees are chains, some flat, some irregular."""
    count = rng.choice([1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9])
    shape = rng.random()
    parents = [None]
    for unit in range(1, count):
        if shape < 0.2:
            parent = 0
        elif shape < 0.45:
            parent = (unit - 1) // 2
        elif shape < 0.7:
            parent = unit - 1 if rng.random() < 0.6 else rng.randrange(unit)
        else:
            parent = rng.randrange(unit)
        parents.append(parent)
    return parents


def depths(parents):
    found = []
    for parent in parents:
        found.append(0 if parent is None else found[parent] + 1)
    return found


def draw_impossible(rng, cells):
    """Cells that are zero everywhere; never all of them."""
    share = rng.choice([0.1, 0.25, 0.5])
    impossible = [cell for cell in cells if rng.random() < share]
    return impossible if len(impossible) < len(cells) else impossible[1:]


def draw_zeros(rng, sizes, carrier, parents):
    """Zeros of leaves, and at inner units some of those that all children have."""
    every = list(itertools.product(*(range(sizes[a]) for a in carrier)))
    share = rng.choice([0.15, 0.3, 0.5])
    zeros = [[] for _ in parents]
    common = [None] * len(parents)
    for unit in reversed(range(len(parents))):
        if unit not in parents:
            zeros[unit] = [v for v in every if rng.random() < share]
            if len(zeros[unit]) == len(every) and rng.random() < 0.8:
                zeros[unit].pop(rng.randrange(len(every)))  # a unit of zeros only is rare
            common[unit] = set(zeros[unit])
        else:
            common[unit] = set.intersection(*(common[c] for c, p in enumerate(parents) if p == unit))
            zeros[unit] = [v for v in every if v in common[unit] and rng.random() < 0.6]
    return zeros


def draw_sigma2(rng):
    size = log_uniform(rng, float(SMALLEST), float(LARGEST) if rng.random() < 0.5 else 100)
    denominator = rng.choice([1, 1, 2, 3, 5, 7, 12])
    return min(LARGEST, max(SMALLEST, Fraction(round(size * denominator), denominator)))


def draw_missing(rng, parents, depth, queries):
    """Pairs of unit and query without a measurement."""
    units = range(len(parents))
    missing = set()

    def within(top):
        """The units of the subtree of `top`."""
        found = {top}
        for unit in range(top + 1, len(parents)):
            if parents[unit] in found:
                found.add(unit)
        return found

    if rng.random() < 0.25:
        share = rng.choice([0.1, 0.3, 0.6])
        missing |= {(u, q) for u in units for q in queries if rng.random() < share}
    if rng.random() < 0.25:
        lost = {(d, q) for d in set(depth) for q in queries if rng.random() < 0.3}
        missing |= {(u, q) for u in units for q in queries if (depth[u], q) in lost}
    if rng.random() < 0.15:
        share = rng.choice([0.2, 0.5])
        missing |= {(u, q) for u in units if rng.random() < share for q in queries}
    several = [u for u in units if parents.count(u) > 1]
    if several and rng.random() < 0.35:
        # One child, or more of them, with nothing at all below, or without one of the queries.
        parent = rng.choice(several)
        children = [c for c, p in enumerate(parents) if p == parent]
        count = 1 if rng.random() < 0.5 else rng.randint(2, len(children))
        some = list(queries) if rng.random() < 0.5 else [rng.choice(list(queries))]
        for child in rng.sample(children, count):
            missing |= {(u, q) for u in within(child) for q in some}
    return missing


def draw_exact(rng, parents, depth, queries):
    """Pairs of unit and query of which the values are known exactly."""
    totals = [i for i, q in enumerate(queries) if not any(q["parts"])]
    exact = set()
    for _ in range(rng.choice([1, 1, 2])):
        query = rng.choice(totals) if totals and rng.random() < 0.6 else rng.randrange(len(queries))
        where = rng.random()
        if where < 0.3:
            exact.add((0, query))
        elif where < 0.65:
            level = rng.choice(depth)
            exact |= {(u, query) for u in range(len(parents)) if depth[u] == level}
        elif where < 0.9:
            exact |= {(u, query) for u in range(len(parents)) if rng.random() < 0.4}
        else:
            exact |= {(u, query) for u in range(len(parents))}
    return exact


def draw_truth(rng, tree, impossible, zeros, carrier):
    """The table of each unit."""
    leaves = {}
    for leaf in tree.leaves:
        sparse = rng.choice([0, 0.3, 0.7])
        leaves[leaf] = [
            0
            if cell in impossible
            or (carrier and tuple(cell[a] for a in carrier) in zeros[leaf])
            or rng.random() < sparse
            else round(log_uniform(rng, 1, 3000))
            for cell in tree.cells
        ]
    return [[sum(column) for column in zip(*(leaves[leaf] for leaf in below))] for below in tree.below]


def draw_problem(rng):
    """A problem without its answers, of any size."""
    sizes = draw_attributes(rng)
    queries = draw_queries(rng, sizes, recodes=rng.random() < 0.6)
    parents = draw_parents(rng)
    depth = depths(parents)
    cells = list(itertools.product(*map(range, sizes)))
    impossible = draw_impossible(rng, cells) if rng.random() < 0.4 else []
    carrier, zeros = [], [[] for _ in parents]
    if rng.random() < 0.4:
        carrier = sorted(rng.sample(range(len(sizes)), rng.randint(1, len(sizes))))
        zeros = draw_zeros(rng, sizes, carrier, parents)
    problem = {
        "attributes": sizes,
        "impossible": [list(cell) for cell in impossible],
        "carrier": carrier,
        "queries": queries,
        "units": [{"parent": p, "measured": [], "exact": [], "zeros": []} for p in parents],
    }
    tree = Tree(problem)
    truth = draw_truth(rng, tree, impossible, zeros, carrier)

    def true_values(unit, query):
        return [sum(t for t, n in zip(truth[unit], row) if n) for row in tree.queries[query]]

    names = range(len(queries))
    missing = draw_missing(rng, parents, depth, names)
    exact = draw_exact(rng, parents, depth, queries) if rng.random() < 0.5 else set()
    dropped = exact if rng.random() < 0.7 else set()  # mostly, what is known exactly is not measured too
    by_unit = rng.random() < 0.6
    by_level = {(d, q): draw_sigma2(rng) for d in sorted(set(depth)) for q in names}
    for unit, known in enumerate(problem["units"]):
        known["zeros"] = [list(v) for v in zeros[unit]]
        for query in names:
            if (unit, query) in exact:
                known["exact"].append({"query": query, "values": true_values(unit, query)})
            if (unit, query) in missing or (unit, query) in dropped:
                continue
            sigma2 = draw_sigma2(rng) if by_unit else by_level[depth[unit], query]
            deviation = math.sqrt(sigma2)
            values = [v + round(rng.gauss(0, deviation)) for v in true_values(unit, query)]
            known["measured"].append({"query": query, "sigma2": str(sigma2), "values": values})
    return problem


def count_by_query(problem):
    """The number of answers of each query."""
    return [
        math.prod(max(g for g in part if g is not None) + 1 for part in query["parts"] if part)
        for query in problem["queries"]
    ]


def count_answers(problem):
    return sum(count_by_query(problem)) * len(problem["units"])
