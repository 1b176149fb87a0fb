"""The reference files: random compositions, chosen ones, and what follows from a profile."""

import json
import os
import sys

from .calibration import calibrations
from .conversions import conversions
from .draw import integration_cases, make_case, make_integration_case
from .standard import standard
from .tradeoff import tradeoffs


def write(path, **sections):
    """One JSON object; a list has an entry a line."""
    parts = []
    for name, content in sections.items():
        if isinstance(content, list):
            lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in content)
            parts.append(f"{json.dumps(name)}:[\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(name)}:{json.dumps(content)}")
    with open(path, "w") as out:
        out.write("{" + ",".join(parts) + "}\n")


def run_fixed(arguments):
    """The files that depend on nothing."""
    what = (
        "delta (d), P[L>eps] (p), Q[L>eps] (q) and 1-delta (c); groups are [sigma2, count, shift]; "
        "digits are right to one unit in the last"
    )
    write(os.path.join(arguments.directory, "standard.json"), what=what, cases=standard())
    what = (
        "conversions from zCDP, trade-off functions f(a) with 1 - f(a), and the factors of all sigma2 "
        "between which delta crosses a target; digits are right to one unit in the last"
    )
    write(
        os.path.join(arguments.directory, "guarantees.json"),
        what=what,
        conversions=conversions(),
        tradeoffs=tradeoffs(),
        calibrations=calibrations(),
    )


def write_reference(path, seed, cases):
    what = (
        "delta (d), P[L>eps] (p), Q[L>eps] (q) and 1-delta (c) of discrete Gaussian compositions; "
        "groups are [sigma2, count, shift]; digits are right to one unit in the last; "
        "method integration: d = [lower, upper]"
    )
    write(path, what=what, seed=seed, cases=cases)


def finished(partial, seed):
    """The records that an earlier run has kept, one a line; a line that it did not finish is dropped."""
    if not os.path.exists(partial):
        return []
    with open(partial) as lines:
        records = [json.loads(line) for line in lines if line.endswith("\n")]
    if records and records[0]["seed"] != seed:
        sys.exit(f"{partial} belongs to another seed")
    with open(partial, "w") as out:
        for record in records:
            keep(record, out)
    return records


def keep(record, out):
    """Writes a record at once, whatever becomes of the run."""
    out.write(json.dumps(record, separators=(",", ":")) + "\n")
    out.flush()


def draw_until(wanted, arguments, draw, size):
    """Records `draw(index)` until their sizes add up; finished ones are kept in FILE.partial, one a line."""
    partial = arguments.out + ".partial"
    records = finished(partial, arguments.seed)
    total = sum(map(size, records))
    with open(partial, "a") as out:
        while total < wanted:
            record = {"seed": arguments.seed, **draw(len(records))}
            records.append(record)
            keep(record, out)
            total += size(record)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{total}/{wanted} values, {len(records)} draws ")
                sys.stderr.flush()
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    return records


def run_random(arguments):
    """Draws until there are enough pairs."""
    special = list(integration_cases(arguments.seed))

    def draw(index):
        if index < len(special):
            return {"case": make_integration_case(*special[index])}
        return {"case": make_case(arguments.seed, index)}

    def pairs(record):
        return len(record["case"]["points"]) if record["case"] else 0

    records = draw_until(arguments.pairs, arguments, draw, pairs)
    write_reference(arguments.out, arguments.seed, [r["case"] for r in records if r["case"]])
    os.remove(arguments.out + ".partial")
