"""Whole tables: how long they take beside an interior-point solver, and how far they are from the truth.

`make bench-tables` and `make table-errors` build what is needed and run a part each. Both have two cases:
Rhode Island's real blocks (16 cells, examples/blocks.toml), and a made-up state of its size with the schema
and the allocation of production (2,016 cells). Every figure that has a bar is printed with it.

Errors: over fresh noise in every run, those of our tables, of the production system's scheme
(`--own-measurements`) and of the estimates that both are made from; the mean error of totals by the true size
of the unit; and the errors that replicates predict, beside the measured ones.

usage: tables.py path/to/unspent times|errors [runs]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from estimate import fresh, run
from table_cases import BANDS, Level, made_up_state, one_large_parent, read_tables, rhode_island

# Runs that look at the State alone: it is one unit, and its error needs more of them.
STATE_RUNS = 30
REPLICATES = 25
# Of the country: blocks; states, counties and tracts.
BLOCKS, UPPER = 8_130_000, 51 + 3_143 + 84_414
ASSUMPTIONS = """\
  It assumes: block groups of as many blocks as here, with as many values in them; that a state, a county or a
  tract costs as much as a tract of the large parent, whose tables have all cells (too much: those of the
  state here are counted twice); two cores; and memory for the tables of all units at once."""


def bar(value, limit, unit="", digits=2):
    return f"{value:.{digits}f}{unit} (bar {limit}{unit}: {'ok' if value <= limit else 'MISSED'})"


def load():
    return f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def bench(*words):
    """Runs a part of the Rust bench; what it says goes to the terminal."""
    words = [str(word) for word in words]
    command = ["cargo", "bench", "--quiet", "--locked", "--profile", "release", "-p", "unspent-bench-tables"]
    sys.stdout.flush()
    return subprocess.run([*command, "--", *words]).returncode == 0


def same_tables(a, b):
    """Whether two folders have the same rows in all files of tables."""
    files = sorted(path.relative_to(a) for path in (a / "tables").rglob("*.parquet"))
    others = sorted(path.relative_to(b) for path in (b / "tables").rglob("*.parquet"))
    equal = (pl.read_parquet(a / file).equals(pl.read_parquet(b / file)) for file in files)
    return bool(files) and files == others and all(equal)


def on_one_core(*command):
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        return run(*command)
    finally:
        os.sched_setaffinity(0, cores)


def time_case(command, case, place, seconds_bar):
    """Seconds that the tables of a case take by themselves; and whether all was as it must be."""
    noisy, out, plain = place / "noisy", place / "out", place / "plain"
    case.measure(command, fresh(noisy))
    print(f"{case.name}; {load()}", flush=True)
    found = [run(command, "estimate", noisy, "--tables", "--out", fresh(out)) for _ in range(3)]
    seconds, megabytes = (float(np.median(column)) for column in zip(*found, strict=True))
    without = float(np.median([run(command, "estimate", noisy, "--out", fresh(plain))[0] for _ in range(3)]))
    print(f"  with files: {bar(seconds, seconds_bar, ' s')}, {bar(megabytes / 1000, 2, ' GB')}", flush=True)
    print(f"  estimates without tables: {without:.2f} s (medians of 3)")
    entry = case.manifest(out)["tables"]
    gap = entry["largest_gap"]
    print(f"  {entry['parents']} parents, largest gap {gap:.1e} at {entry['largest_gap_at']} (bar 1e-6)")
    alone, _ = on_one_core(command, "estimate", noisy, "--tables", "--out", fresh(plain))
    same = same_tables(out, plain)
    print(f"  on one core: {alone:.2f} s, {'the same tables' if same else 'OTHER TABLES'}", flush=True)
    near = bench("peer", noisy, 100)
    return seconds, same and near and gap <= 1e-6


def times(command):
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        _, small = time_case(command, rhode_island(), place, 1)
        case = made_up_state(command, place)
        seconds, large = time_case(command, case, place, 30)
        noisy = fresh(place / "noisy")
        one_large_parent(command, place, noisy)
        print(f"One parent of 2,500 × 2,016; {load()}", flush=True)
        whole, megabytes = run(command, "estimate", noisy, "--tables", "--out", fresh(place / "out"))
        without, _ = run(command, "estimate", noisy, "--out", fresh(place / "plain"))
        parent = max(whole - without, 0)
        print(f"  all with files {whole:.1f} s, without tables {without:.1f} s, {megabytes} MB")
        print(f"  so that its tables take {bar(parent, 60, ' s')}", flush=True)
        parts = bench("large", noisy)
    of_blocks, of_upper = seconds / case.blocks, parent / 2_500
    print("The country with 2,016 cells, by these figures:")
    print(
        f"  {BLOCKS} blocks at {1e3 * of_blocks:.2f} ms each, with files: {BLOCKS * of_blocks / 60:.0f} min"
    )
    print(f"  {UPPER} units above at {1e3 * of_upper:.1f} ms each: {UPPER * of_upper / 60:.0f} min")
    print(ASSUMPTIONS)
    return small and large and parts


class Errors:
    """Mean errors of every run by level and query, and sums of those of totals by size."""

    def __init__(self):
        self.by_query, self.by_size = {}, {}

    def add(self, level, query, errors, count):
        """Errors are the entries of a matrix that are not 0, of so many."""
        errors = errors.astype(float)
        of_runs = self.by_query.setdefault((level, query), [])
        of_runs.append([np.abs(errors).sum() / count, np.square(errors).sum() / count])

    def add_sizes(self, level, errors, sizes):
        for band in range(len(BANDS)):
            inside = np.searchsorted(BANDS, sizes, side="right") - 1 == band
            if inside.any():
                sums = self.by_size.setdefault((level, BANDS[band]), np.zeros(2))
                sums += [errors[inside].sum(), inside.sum()]

    def mean_absolute(self, key):
        return float(np.mean(self.by_query[key], axis=0)[0])

    def by_chance(self, key):
        """The standard error of the mean absolute error, from how much runs differ."""
        of_runs = np.array(self.by_query[key])[:, 0]
        return float(of_runs.std(ddof=1) / np.sqrt(len(of_runs))) if len(of_runs) > 1 else float("nan")

    def rms(self, key):
        return float(np.mean(self.by_query[key], axis=0)[1] ** 0.5)

    def bias(self, key):
        total, count = self.by_size[key]
        return total / count


def add_tables(errors, case, out):
    """Adds the errors of tables, and asserts that they add up."""
    above = None
    for entry in case.manifest(out)["tables"]["levels"]:
        level = Level(case, entry["level"], *read_tables(case, out, entry))
        assert level.counts.nnz == 0 or level.counts.data.min() >= 0
        if above is not None:
            level.assert_adds_up_to(above)
        above = level
        difference = level.counts - level.true
        for query, cells in case.queries.items():
            wrong = difference @ cells
            errors.add(level.name, query, wrong.data, wrong.shape[0] * wrong.shape[1])
        totals = np.asarray(difference.sum(axis=1)).ravel()
        errors.add_sizes(level.name, totals, np.asarray(level.true.sum(axis=1)).ravel())


def add_estimates(errors, case, out):
    for level, query, wrong in case.errors_of_estimates(out):
        errors.add(level, query, wrong.ravel(), wrong.size)


def report(case, ours, own, estimates, predicted, runs):
    print(f"{case.name}: {runs} runs")
    print("  mean absolute error (root mean square), of the estimate's, ours, the production scheme's")
    for key in ours.by_query:
        level, query = key
        estimate = "–" if key not in estimates.by_query else f"{estimates.mean_absolute(key):.3f}"
        found = ours.mean_absolute(key)
        shown = f"{found:.3f}"
        if key in case.bars:
            shown = f"{bar(found, case.bars[key], digits=3)} ± {ours.by_chance(key):.3f}"
        theirs = f"{own.mean_absolute(key):.3f} ({own.rms(key):.2f})"
        print(f"  {level}, {query}: {estimate}; {shown} ({ours.rms(key):.2f}); {theirs}")
    print("  mean error of totals by true size: ours, as replicates expect it, the production scheme's")
    for key in ours.by_size:
        expected = predicted.bias.get(key)
        shown = "–" if expected is None else f"{expected:+.2f}"
        level, size = key
        units = int(ours.by_size[key][1] / runs)
        means = f"{ours.bias(key):+.2f}, {shown}, {own.bias(key):+.2f}"
        print(f"  {level}, from {size} people ({units} units): {means}")
    print(f"  root mean square errors as {REPLICATES} replicates of one run predict them, and as they are")
    for key, units in predicted.units.items():
        if units >= 200 and key in ours.by_query:
            ratio = predicted.rms[key] / ours.rms(key)
            mark = "ok" if 0.9 <= ratio <= 1.1 else "MISSED"
            numbers = f"{predicted.rms[key]:.3f}, {ours.rms(key):.3f}"
            plain = predicted.plain[key] / ours.rms(key)
            bars = f"(bar 0.9 to 1.1: {mark}; plain {plain:.3f})"
            print(f"  {', '.join(key)}: {numbers}; ratio {ratio:.3f} {bars}")
    sys.stdout.flush()


class Predicted:
    """What replicates predict."""

    def __init__(self, out):
        errors = pl.read_csv(out / "replicates.csv")
        keys = list(zip(errors["level"], errors["query"], strict=True))
        self.rms = dict(zip(keys, errors["rms_error"], strict=True))
        self.plain = dict(zip(keys, errors["plain_rms_error"], strict=True))
        self.units = dict(zip(keys, errors["units"], strict=True))
        sizes = pl.read_csv(out / "replicates-by-size.csv")
        self.bias = {(row["level"], row["size_from"]): row["bias"] for row in sizes.iter_rows(named=True)}


def errors_of(command, case, place, runs):
    ours, own, estimates = Errors(), Errors(), Errors()
    state_errors, state_sd = [], None
    noisy, out = place / "noisy", place / "out"
    for number in range(runs):
        case.measure(command, fresh(noisy))
        run(command, "estimate", noisy, "--tables", "--out", fresh(out))
        add_tables(ours, case, out)
        add_estimates(estimates, case, out)
        if case.state_query:
            state_errors.append(case.state_error(out))
            state_sd = case.state_sd(out)
        run(command, "estimate", noisy, "--tables", "--own-measurements", "--out", fresh(out))
        add_tables(own, case, out)
        print(f"{case.name}: run {number + 1} of {runs}", file=sys.stderr, flush=True)
    run(command, "estimate", noisy, "--tables", "--replicates", REPLICATES, "--out", fresh(out))
    report(case, ours, own, estimates, Predicted(out), runs)
    if not case.state_query:
        return
    # Estimates of the State alone are written, and all tables are made.
    for _ in range(STATE_RUNS - runs):
        case.measure(command, fresh(noisy))
        only = ["--levels", "State", "--queries", case.state_query]
        run(command, "estimate", noisy, "--tables", *only, "--out", fresh(out))
        state_errors.append(case.state_error(out))
    rms = float(np.sqrt(np.square(state_errors).mean()))
    spread = 100 / np.sqrt(2 * np.size(state_errors))
    name = f"State, {case.state_query}: root mean square error of {len(state_errors)} runs {rms:.2f}"
    ratio = f"the estimate's deviation {state_sd:.2f}; ratio {bar(rms / state_sd, 1.1)}"
    print(f"  {name}, {ratio}; ± {spread:.0f} % or more by chance", flush=True)


def errors(command, runs):
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        print(load(), flush=True)
        errors_of(command, rhode_island(), place, runs)
        errors_of(command, made_up_state(command, place), place, runs)
        print(load())


if __name__ == "__main__":
    if sys.argv[2] == "times":
        sys.exit(0 if times(sys.argv[1]) else 1)
    else:
        errors(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 10)
