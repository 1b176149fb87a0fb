"""The reference files: random compositions, chosen ones, and what follows from a profile."""

import json
import os
import sys
import time

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


def run_random(arguments):
    """Draw until there are enough pairs; finished cases are kept in FILE.partial, one per line."""
    partial = arguments.out + ".partial"
    records = finished(partial, arguments.seed)
    pairs = sum(len(r["case"]["points"]) for r in records if r["case"])
    started = time.time()
    special = list(integration_cases(arguments.seed))
    with open(partial, "a") as out:
        while pairs < arguments.pairs:
            index = len(records)
            case = (
                make_integration_case(*special[index])
                if index < len(special)
                else make_case(arguments.seed, index)
            )
            record = {"seed": arguments.seed, "case": case}
            records.append(record)
            keep(record, out)
            if case:
                pairs += len(case["points"])
            if sys.stderr.isatty():
                sys.stderr.write(
                    f"\r{pairs}/{arguments.pairs} pairs, {index + 1} draws, {time.time() - started:.0f} s "
                )
                sys.stderr.flush()
    write_reference(arguments.out, arguments.seed, [r["case"] for r in records if r["case"]])
    os.remove(partial)
    if sys.stderr.isatty():
        sys.stderr.write("\n")
