"""A small allocation and a table for it, in memory."""

import numpy as np

import unspent

#: Two levels and two queries.
TOWNS = """
name = "Towns"
neighbours = "add-remove"
delta = "1e-10"
attributes = ["age"]
[queries]
total = []
age = ["age"]
[[levels]]
name = "County"
sigma2 = { total = "16/3", age = 20 }
[[levels]]
name = "Town"
sigma2 = { total = 5, age = 2000 }
[table]
code = "code"
cells = [{ age = "child", column = "children" }, { age = "adult", column = "adults" }]
[table.levels]
County = 2
Town = 4
[table.attributes]
age = ["child", "adult"]
"""


def towns():
    return unspent.Allocation.parse(TOWNS)


def columns(rows=30):
    return {
        "code": np.array([f"{1000 + 10 * i:04}" for i in range(rows)]),
        "children": np.arange(rows),
        "adults": 3 * np.arange(rows, dtype=np.int32),
    }
