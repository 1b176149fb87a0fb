"""Checks of the exact estimates: cases worked by hand, and random problems in double precision by another
formulation."""

import copy
import json
import random

import numpy
from flint import fmpq, fmpq_mat

from .estimate import make_problem, number
from .least_squares import Contradiction, Tree, answer_rows, constraints, estimate, rational, solutions


def scalar_problem(*units):
    """One cell, one query (the total). Each unit is (parent, measured, exact), where measured is
    (value, sigma2) or None and exact a value or None."""
    return {
        "attributes": [1],
        "impossible": [],
        "carrier": [],
        "queries": [{"name": "total", "parts": [None]}],
        "units": [
            {
                "parent": parent,
                "measured": [{"query": 0, "sigma2": str(m[1]), "values": [m[0]]}] if m else [],
                "exact": [] if exact is None else [{"query": 0, "values": [exact]}],
                "zeros": [],
            }
            for parent, m, exact in units
        ],
    }


def by_hand():
    """Problems with the estimates and covariances of their closed forms."""
    p, a, b = rational("7/3"), rational("5"), rational("1/2")
    top, left, right = 40, 11, 23
    below, both = left + right, a + b
    # Parent and two children measured: the parent's variance is v, a child takes the share a / (a + b).
    v = 1 / (1 / p + 1 / both)
    t = v * (top / p + below / both)
    g, h = a / both, b / both
    yield (
        scalar_problem((None, (top, p), None), (0, (left, a), None), (0, (right, b), None)),
        [t, left + g * (t - below), right + h * (t - below)],
        [
            [v, g * v, h * v],
            [g * v, a * (1 - g) + g * g * v, g * h * v - a * h],
            [h * v, g * h * v - a * h, b * (1 - h) + h * h * v],
        ],
    )
    # The parent known exactly, by itself or by a chain of single units above: the same with v = 0.
    children = [a * b / both * sign for sign in (1, -1)]
    known = [top, left + g * (top - below), right + h * (top - below)]
    yield (
        scalar_problem((None, None, top), (0, (left, a), None), (0, (right, b), None)),
        known,
        [[0, 0, 0], [0, *children], [0, *reversed(children)]],
    )
    yield (
        scalar_problem((None, None, top), (0, None, None), (1, (left, a), None), (1, (right, b), None)),
        known[:1] + known,
        [[0] * 4, [0] * 4, [0, 0, *children], [0, 0, *reversed(children)]],
    )
    # One child not measured: it is the difference.
    yield (
        scalar_problem((None, (top, p), None), (0, (left, a), None), (0, None, None)),
        [top, left, top - left],
        [[p, 0, p], [0, a, -a], [p, -a, p + a]],
    )
    # Two not measured: only their sum is known, and they stay unknown where the third is known exactly.
    yield (
        scalar_problem((None, (top, p), None), (0, None, None), (0, None, left), (0, None, None)),
        [top, None, left, None],
        [[p, None, 0, None], [None] * 4, [0, None, 0, None], [None] * 4],
    )


def by_decomposition(problem):
    """Estimates and covariances in double precision. The unknowns are the tables of all units, and that a
    parent is the sum of its children is a constraint. Solved by singular values. NaN if not identified."""
    units, sizes = problem["units"], problem["attributes"]
    width = int(numpy.prod(sizes))

    def indicator(part, size):
        """One attribute's factor of a query: its groups by its values."""
        if part is None:
            return numpy.ones((1, size))
        groups = max(g for g in part if g is not None) + 1
        return numpy.array([[float(g == k) for g in part] for k in range(groups)])

    def at(unit, table):
        row = numpy.zeros((len(table), len(units), width))
        row[:, unit] = table
        return row.reshape(len(table), len(units) * width)

    queries = []
    for query in problem["queries"]:
        product = numpy.ones((1, 1))
        for part, size in zip(query["parts"], sizes):
            product = numpy.kron(product, indicator(part, size))
        queries.append(product)

    fixed, values, seen, measured, deviations = [], [], [], [], []
    for u, unit in enumerate(units):
        children = [c for c, other in enumerate(units) if other["parent"] == u]
        if children:
            fixed.append(at(u, numpy.eye(width)) - sum(at(c, numpy.eye(width)) for c in children))
            values.append(numpy.zeros(width))
        for exact in unit["exact"]:
            fixed.append(at(u, queries[exact["query"]]))
            values.append(exact["values"])
        zero = numpy.zeros(sizes, dtype=bool)
        for cell in problem["impossible"]:
            zero[tuple(cell)] = True
        for carried in unit["zeros"]:
            place = dict(zip(problem["carrier"], carried))
            zero[tuple(place.get(axis, slice(None)) for axis in range(len(sizes)))] = True
        fixed.append(at(u, numpy.eye(width)[zero.ravel()]))
        values.append(numpy.zeros(zero.sum()))
        for m in unit["measured"]:
            seen.append(at(u, queries[m["query"]]))
            measured += m["values"]
            deviations += [float(rational(m["sigma2"])) ** 0.5] * len(m["values"])
    wanted = numpy.concatenate([at(u, q) for u in range(len(units)) for q in queries])
    fixed, seen = numpy.concatenate(fixed), numpy.concatenate(seen)

    def split(matrix, scale):
        """The pseudo-inverse, and a basis of what the matrix maps to zero. Its entries come from numbers as
        large as `scale`: singular values far below that are rounding errors."""
        if not matrix.size:
            return numpy.zeros(matrix.T.shape), numpy.eye(matrix.shape[1])
        left, singular, right = numpy.linalg.svd(matrix)
        rank = int((singular > 1e-9 * scale).sum())
        return (right[:rank].T / singular[:rank]) @ left[:, :rank].T, right[rank:].T

    inverse, free = split(fixed, 1)
    origin = inverse @ numpy.concatenate(values)
    deviations = numpy.array(deviations)
    inverse, null = split((seen @ free) / deviations[:, None], 1 / deviations.min())
    targets = wanted @ free
    estimates = wanted @ origin + targets @ (inverse @ ((numpy.array(measured) - seen @ origin) / deviations))
    covariance = targets @ inverse @ inverse.T @ targets.T
    lost = numpy.abs(targets @ null).max(axis=1, initial=0) > 1e-7
    estimates[lost] = numpy.nan
    covariance[lost] = numpy.nan
    covariance[:, lost] = numpy.nan
    return estimates, covariance


def recovers(problem, rng):
    """Whether measurements without noise of any tables that obey the constraints give back these tables."""
    tree = Tree(problem)
    origin, directions = solutions(*constraints(problem, tree), tree.width)
    steps = [rng.randint(-50, 50) for _ in range(directions.ncols())]
    tables = origin + directions * fmpq_mat(len(steps), 1, steps)

    def true_values(unit, query):
        return [sum(tables[i, 0] for i, n in enumerate(row) if n) for row in tree.rows(unit, query)]

    noiseless = copy.deepcopy(problem)
    for u, unit in enumerate(noiseless["units"]):
        for m in unit["measured"]:
            m["values"] = true_values(u, m["query"])
    places = [(u, q) for u in range(len(problem["units"])) for q in range(len(problem["queries"]))]
    truth = [value for place in places for value in true_values(*place)]
    return all(value is None or value == true for value, true in zip(estimate(noiseless)[0], truth))


def check_estimates(problems=150):
    """How many checks fail."""
    bad = 0

    def check(name, good):
        nonlocal bad
        if not good:
            print(f"estimates: {name}")
            bad += 1

    rows = answer_rows([2, 3], [None, [1, None, 0]])
    check("rows of a recode", rows == [[0, 0, 1, 0, 0, 1], [1, 0, 0, 1, 0, 0]])
    rows = answer_rows([2, 2], [[0, 1], [0, 1]])
    check("the last attribute is the fastest", rows == [[int(i == j) for j in range(4)] for i in range(4)])
    for i, (problem, values, covariance) in enumerate(by_hand()):
        check(f"case {i} worked by hand", estimate(problem) == (values, covariance))
    try:
        estimate(scalar_problem((None, None, 3), (0, (2, 1), 4)))
        check("a contradiction is found", False)
    except Contradiction:
        pass
    check("rounding", [number(fmpq(1, 3)), number(fmpq(4)), number(None)] == [1 / 3, 4, None])

    first = make_problem(1, 0, 60)
    check("the same seed, the same problem", json.dumps(first) == json.dumps(make_problem(1, 0, 60)))
    for index in range(problems):
        problem = make_problem(1, index, 60)
        values = numpy.array([v for _, _, vs in problem["estimates"] for v in vs], dtype=float)
        covariance = numpy.array(problem["covariance"], dtype=float)
        near_values, near_covariance = by_decomposition(problem)
        close = numpy.allclose(values, near_values, rtol=1e-8, atol=1e-6, equal_nan=True)
        scale = numpy.nanmax(numpy.abs(covariance))
        near = numpy.allclose(covariance, near_covariance, rtol=0, atol=1e-9 * scale + 1e-9, equal_nan=True)
        check(f"estimates of problem {index} by singular values", close)
        check(f"covariances of problem {index} by singular values", near)
        check(f"estimates of problem {index} without noise", recovers(problem, random.Random(index)))
    return bad
