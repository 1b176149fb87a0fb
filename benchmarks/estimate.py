"""Estimates: how long they take beside a general sparse solver, and how often their intervals are right.

`make bench-estimate` and `make coverage` build the command and run a part each. Times: Rhode Island's real
blocks (16 cells), a made-up state of its size with the production schema (2,016 cells), 10⁸ cells of leaves,
and a map of 10⁶ blocks; beside ours, in the same run, scipy's LSQR on the same least squares problem where it
fits into memory. Coverage: Rhode Island measured and estimated again and again, against the true counts.

usage: estimate.py path/to/unspent times|coverage [runs]
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import coo_matrix, csr_matrix, identity, kron, vstack
from scipy.sparse.linalg import lsqr

DATA = Path(__file__).parent.parent / "data"
TABLE, ALLOCATION = DATA / "ri-2010-blocks.csv", DATA / "ri-2010-allocation.toml"
LENGTHS = {"State": 2, "County": 5, "Tract": 11, "Block group": 12, "Block": 15}
ATTRIBUTES = {"voting age": 2, "race": 8}


# Races of blocks, for the population that `synthesize` makes up.
RACES = """
name = "Races of blocks"
neighbours = "bounded"
delta = "1e-10"
attributes = ["race"]
[queries]
total = []
race = ["race"]
"""
LEVELS = ["US", "State", "County", "Tract Subset", "Optimized Block Group", "Block"]
RACES += "".join(f'[[levels]]\nname = "{level}"\nsigma2 = {{ total = 9, race = 16 }}\n' for level in LEVELS)


def run(*command):
    """Seconds, and megabytes at most."""
    start = time.perf_counter()
    words = [str(part) for part in command]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = 0
    while child.poll() is None:
        peak = max(peak, peak_memory(child.pid))
        time.sleep(0.01)
    if child.returncode != 0:
        sys.exit(f"{' '.join(words)}: {child.stderr.read().decode()}")
    return time.perf_counter() - start, peak // 1024


def peak_memory(process):
    """Kilobytes so far. What a child is said to have used includes what its parent had before it."""
    try:
        with open(f"/proc/{process}/status") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), 0)
    except FileNotFoundError:
        return 0


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    return path


def rows(folder, level):
    manifest = json.loads((folder / "manifest.json").read_text())
    entry = next(entry for entry in manifest["levels"] if entry["level"] == level)
    return entry, pl.concat([pl.read_parquet(folder / file["file"]) for file in entry["files"]])


def values(table, query, column):
    """A row for each unit, a column for each answer; NaN where there is none."""
    lists = table.filter(pl.col("query_name") == query)[column]
    return lists.explode().cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(len(lists), -1)


def tells(query):
    """Which attributes a query tells apart, by its name."""
    return [name in query.split(" * ") for name in ATTRIBUTES]


def sparse_problem(noisy):
    """The least squares problem over the cells of all blocks, with weights."""
    leaves = rows(noisy, "Block")[1]["geocode"].unique(maintain_order=True).to_list()
    matrices, right = [], []
    for level, length in LENGTHS.items():
        entry, table = rows(noisy, level)
        place = {code: i for i, code in enumerate(table["geocode"].unique(maintain_order=True))}
        at = ([place[leaf[:length]] for leaf in leaves], range(len(leaves)))
        inside = coo_matrix((np.ones(len(leaves)), at), shape=(len(place), len(leaves)))
        for query in entry["queries"]:
            name = query["query_name"]
            parts = zip(tells(name), ATTRIBUTES.values(), strict=True)
            first, second = (identity(n) if told else csr_matrix(np.ones((1, n))) for told, n in parts)
            weight = query["variance"] ** -0.5
            matrices.append(kron(inside, kron(first, second)) * weight)
            right.append(values(table, name, "value").ravel() * weight)
    return vstack(matrices).tocsr(), np.concatenate(right)


def against_lsqr(noisy, out):
    matrix, right = sparse_problem(noisy)
    start = time.perf_counter()
    solved = lsqr(matrix, right, atol=1e-12, btol=1e-12, iter_lim=5000)
    seconds = time.perf_counter() - start
    ours = values(rows(out, "Block")[1], "total", "value").ravel()
    apart = np.abs(ours - solved[0].reshape(-1, 16).sum(axis=1)).max()
    print(f"  scipy's LSQR on it in memory, without any variance: {seconds:.2f} s, {solved[2]} iterations")
    rows_count, unknowns = matrix.shape
    print(f"  {rows_count} rows, {unknowns} unknowns; a block's total differs by {apart:.1e} at most")


def times(command):
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        noisy, out = place / "ri", place / "ri-estimates"
        run(command, "measure", TABLE, "--allocation", ALLOCATION, "--out", noisy)
        seconds, megabytes = run(command, "estimate", noisy, "--out", out)
        print(f"Rhode Island × 16 cells, with files: {seconds:.2f} s, {megabytes} MB", flush=True)
        against_lsqr(noisy, out)
        sizes = {
            "Rhode Island's size × 2,016 cells": ["--state", "rhode-island-sized"],
            "10⁸ cells of leaves (49,604 × 2,016)": ["--blocks", 49_604],
        }
        for name, size in sizes.items():
            table = place / "persons.csv"
            made = ["--schema", "pl94", *size, "--rows", "counts", "--force"]
            run(command, "synthesize", *made, "--out", table)
            noisy = fresh(place / "noisy")
            units = place / "persons-units.csv"
            asked = ["--allocation", "pl94-persons-us-2020", "--units", units]
            run(command, "measure", table, *asked, "--out", noisy)
            seconds, megabytes = run(command, "estimate", noisy, "--out", fresh(place / "out"))
            print(f"{name}, with files: {seconds:.2f} s, {megabytes} MB", flush=True)
        table, noisy = place / "million.csv", fresh(place / "noisy")
        run(command, "synthesize", "--blocks", 1_000_000, "--out", table)
        (place / "races.toml").write_text(RACES)
        run(command, "measure", table, "--allocation", place / "races.toml", "--out", noisy)
        codes = pl.read_csv(table, columns=["geocode"], schema_overrides={"geocode": pl.String})
        # Districts of whole and of divided block groups.
        district = pl.col("geocode").str.slice(0, 2) + "-" + pl.col("geocode").str.slice(13, 1)
        codes.with_columns(district=district).write_csv(place / "map.csv")
        top = ["--levels", "US"]
        seconds, _ = run(command, "estimate", noisy, *top, "--out", fresh(place / "out"))
        asked = [*top, "--districts", place / "map.csv"]
        more, megabytes = run(command, "estimate", noisy, *asked, "--out", fresh(place / "out"))
        print(f"10⁶ blocks: {seconds:.2f} s; with a map of their districts {more:.2f} s, {megabytes} MB")


def truth():
    """The true answers: for each level and query an array with a row for each unit."""
    table = pl.read_csv(TABLE, schema_overrides={"geoid": pl.String})
    names = [name.removeprefix("pop_") for name in table.columns if name.startswith("pop_")]
    adults = np.stack([table[f"vap_{name}"].to_numpy() for name in names], axis=1)
    everybody = np.stack([table[f"pop_{name}"].to_numpy() for name in names], axis=1)
    cells = np.stack([everybody - adults, adults], axis=1).astype(float)
    answers = {}
    for level, length in LENGTHS.items():
        codes = table["geoid"].str.slice(0, length)
        place = {code: i for i, code in enumerate(codes.unique(maintain_order=True))}
        of_level = np.zeros((len(place), 2, 8))
        np.add.at(of_level, [place[code] for code in codes], cells)
        for query in ["total", "race", "voting age * race"]:
            summed = tuple(i + 1 for i, told in enumerate(tells(query)) if not told)
            answers[level, query] = of_level.sum(axis=summed).reshape(len(place), -1)
    return answers


def coverage(command, runs):
    true = truth()
    normal, guaranteed, answers, by_row = {}, {}, {}, {}
    for confidence in ["0.9", "0.95"]:
        by_row[confidence] = np.zeros(10_000)
    with tempfile.TemporaryDirectory() as place:
        for _ in range(runs):
            noisy = fresh(Path(place) / "noisy")
            run(command, "measure", TABLE, "--allocation", ALLOCATION, "--out", noisy)
            for confidence in by_row:
                out = fresh(Path(place) / "out")
                run(command, "estimate", noisy, "--leaf-cells", "--confidence", confidence, "--out", out)
                for level in LENGTHS:
                    table = rows(out, level)[1]
                    for query in ["total", "race", "voting age * race"]:
                        count = true[level, query]
                        inside = [
                            (values(table, query, lower) <= count) & (count <= values(table, query, upper))
                            for lower, upper in [("lower", "upper"), ("lower_guaranteed", "upper_guaranteed")]
                        ]
                        key = level, query, confidence
                        normal[key] = normal.get(key, 0) + inside[0].sum()
                        guaranteed[key] = guaranteed.get(key, 0) + inside[1].sum()
                        answers[key] = answers.get(key, 0) + count.size
                        if (level, query) == ("Block", "race"):
                            by_row[confidence] += inside[1].ravel()[:10_000]
    print(f"{runs} runs. level, query, confidence: normal, guaranteed")
    for key, count in answers.items():
        print(", ".join(key), f"{normal[key] / count:.4f}, {guaranteed[key] / count:.4f}", sep=": ")
    for confidence, hits in by_row.items():
        print(f"guaranteed at {confidence}, the row of 10,000 that is right least often: {hits.min() / runs}")


if __name__ == "__main__":
    if sys.argv[2] == "times":
        times(sys.argv[1])
    else:
        coverage(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 100)
