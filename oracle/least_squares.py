"""Best linear unbiased estimates on a tree of units, by the dense definition in exact rationals.

The unknown x is the tables of all leaves, one after the other. Any count of any unit is a row of zeros and
ones over x, because a unit's table is the sum of the tables of the leaves below it. There are

    measurements   X x = m + noise, the noise independent, of variance sigma2 row by row;
    constraints    A x = b, from the exact values and from the cells that must be zero.

All x that obey the constraints are x0 + F y, with any y. The estimate minimises the weighted squares of
X (x0 + F y) - m. With R = X F, S the diagonal matrix of the variances and M = R' S^-1 R, a functional g is

    identified     if g F z = 0 for every z with R z = 0: what no measurement sees does not move it;
    estimated      by g x0 + g F M^- R' S^-1 (m - X x0);
    and two have   the covariance  g F M^- (h F)',

where M^- is any generalised inverse: for identified functionals the choice does not matter. Nothing is
decoupled, nothing goes up or down the tree, and no number is rounded.
"""

import itertools

from flint import fmpq, fmpq_mat, fmpz_mat


class Contradiction(Exception):
    """No table obeys the constraints."""


def rational(text):
    """A rational number written as `7/3` or `5`."""
    numerator, _, denominator = str(text).partition("/")
    return fmpq(int(numerator), int(denominator or 1))


def answer_rows(sizes, parts):
    """The answers of a query, each as zeros and ones over the cells. The last attribute is the fastest."""
    shape = [range(max((g for g in part if g is not None), default=-1) + 1) for part in parts if part]
    rows = {groups: [] for groups in itertools.product(*shape)}
    for cell in itertools.product(*map(range, sizes)):
        groups = tuple(part[value] for part, value in zip(parts, cell) if part)
        for key, row in rows.items():
            row.append(1 if key == groups else 0)
    return list(rows.values())


class Tree:
    """Rows over the tables of the leaves."""

    def __init__(self, problem):
        self.sizes = problem["attributes"]
        self.cells = list(itertools.product(*map(range, self.sizes)))
        self.queries = [answer_rows(self.sizes, q["parts"]) for q in problem["queries"]]
        parents = [u["parent"] for u in problem["units"]]
        self.leaves = [u for u in range(len(parents)) if u not in parents]
        self.below = [set() for _ in parents]
        for leaf in self.leaves:
            unit = leaf
            while unit is not None:
                self.below[unit].add(leaf)
                unit = parents[unit]

    def row(self, unit, table):
        """`table`, zeros and ones over the cells of one unit, as a row over all leaves."""
        return [t if leaf in self.below[unit] else 0 for leaf in self.leaves for t in table]

    def rows(self, unit, query):
        return [self.row(unit, table) for table in self.queries[query]]

    def cell(self, unit, cell):
        return self.row(unit, [1 if c == cell else 0 for c in self.cells])

    @property
    def width(self):
        return len(self.leaves) * len(self.cells)


def constraints(problem, tree):
    """Rows and right-hand sides of what is known without noise."""
    rows, values = [], []
    for unit, known in enumerate(problem["units"]):
        for exact in known["exact"]:
            rows += tree.rows(unit, exact["query"])
            values += exact["values"]
        for cell in tree.cells:
            carried = [cell[a] for a in problem["carrier"]]
            if list(cell) in problem["impossible"] or (problem["carrier"] and carried in known["zeros"]):
                rows.append(tree.cell(unit, cell))
                values.append(0)
    return rows, values


def solutions(rows, values, width):
    """x0 and F such that the solutions are x0 + F y."""
    system = fmpz_mat(len(rows), width + 1, [n for row, b in zip(rows, values) for n in (*row, b)])
    reduced, scale, rank = system.rref()
    pivots = [next(j for j in range(width + 1) if reduced[i, j] != 0) for i in range(rank)]
    if width in pivots:
        raise Contradiction("exact values or zeros contradict each other")
    free = [j for j in range(width) if j not in pivots]
    origin = fmpq_mat(width, 1)
    directions = fmpq_mat(width, len(free))
    for i, p in enumerate(pivots):
        origin[p, 0] = fmpq(reduced[i, width], scale)
        for k, j in enumerate(free):
            directions[p, k] = fmpq(-reduced[i, j], scale)
    for k, j in enumerate(free):
        directions[j, k] = fmpq(1)
    return origin, directions


def estimate(problem):
    """Estimates and covariances, in rationals, of every answer of every query at every unit; None where it
    is not identified. The order is by unit, query, answer."""
    tree = Tree(problem)
    origin, directions = solutions(*constraints(problem, tree), tree.width)
    seen, measured, variances = [], [], []
    for unit, known in enumerate(problem["units"]):
        for measurement in known["measured"]:
            rows = tree.rows(unit, measurement["query"])
            seen += rows
            measured += measurement["values"]
            variances += [rational(measurement["sigma2"])] * len(rows)
    wanted = [
        row
        for unit in range(len(problem["units"]))
        for query in range(len(tree.queries))
        for row in tree.rows(unit, query)
    ]

    def matrix(rows):
        return fmpq_mat(len(rows), tree.width, [n for row in rows for n in row])

    free = directions.ncols()
    design = matrix(seen) * directions
    residual = fmpq_mat(len(measured), 1, measured) - matrix(seen) * origin
    weighted = fmpq_mat(free, len(variances))
    for i, variance in enumerate(variances):
        for j in range(free):
            weighted[j, i] = design[i, j] / variance
    normal = weighted * design
    targets = matrix(wanted) * directions
    known = matrix(wanted) * origin

    # M is positive semidefinite: the block of its pivot columns is regular, and that block's inverse, with
    # zeros around it, is a generalised inverse. The other columns span what no measurement sees.
    reduced, rank = normal.rref()
    pivots = [next(j for j in range(free) if reduced[i, j] != 0) for i in range(rank)]
    unseen = [j for j in range(free) if j not in pivots]
    null = fmpq_mat(free, len(unseen))
    for k, j in enumerate(unseen):
        null[j, k] = fmpq(1)
        for i, p in enumerate(pivots):
            null[p, k] = -reduced[i, j]
    moved = targets * null
    identified = [all(moved[i, k] == 0 for k in range(len(unseen))) for i in range(len(wanted))]

    block = fmpq_mat(rank, rank, [normal[i, j] for i in pivots for j in pivots])
    score = weighted * residual
    right = fmpq_mat(rank, 1, [score[i, 0] for i in pivots])
    picked = fmpq_mat(len(wanted), rank, [targets[i, p] for i in range(len(wanted)) for p in pivots])
    if rank:
        found = known + picked * block.solve(right)
        spread = picked * block.solve(picked.transpose())
    else:
        found, spread = known, fmpq_mat(len(wanted), len(wanted))
    places = range(len(wanted))
    estimates = [found[i, 0] if identified[i] else None for i in places]
    covariance = [[spread[i, j] if identified[i] and identified[j] else None for j in places] for i in places]
    return estimates, covariance
