"""The hostile search: fresh answers of all kinds from the program, each beside an exact one.

    python -m oracle.search run --seed 1 --answers 100000 --out target/search-1.jsonl
    python -m oracle.search report target/search-1.jsonl

A line for each draw, so that a run can be stopped and started again; a draw depends on the seed and its index
alone, but for where it is cut short because its answers take long. `report` counts answers by kind: inside, outside, refused, and how wide they are.
"""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter, defaultdict

from .hostile import compose
from .laws import Unaffordable
from .truths import Truths

# Of so many draws, this many are about something else than one law of the loss.
EXTRA = 0.2

# Of a composition that takes the program so many seconds no more is asked.
PATIENCE = 3.0


def draw(seed, index):
    """What was asked, and the answers."""
    from .asked import answer, composition
    from .extras import EXTRAS

    rng = random.Random(f"{seed}/{index}")
    if rng.random() < EXTRA:
        name = rng.choices(list(EXTRAS), [weight for weight, _ in EXTRAS.values()])[0]
        return {"family": name}, [found.row() for found in EXTRAS[name][1](rng)]
    family, listed, depth, parts = compose(rng)
    record = {"family": family, "depth": depth, "composition": parts}
    try:
        truths = Truths(rng, parts, listed, depth)
        made = composition(parts, truths.direction)
        record |= {"direction": truths.direction, "method": made.method}
        rows, spent = [], 0.0
        for question in truths.questions():
            if spent > PATIENCE:
                record["cut short"] = True
                break
            if not question.is_known():
                rows.append([question.kind, "truth not known", None, 0.0])
                continue
            found = answer(made, question)
            spent += found.seconds
            rows.append(found.row())
        return record, rows
    except Unaffordable as error:
        return record | {"left out": str(error)}, []


def run(arguments):
    done, answers = 0, 0
    if os.path.exists(arguments.out):
        with open(arguments.out) as lines:
            for line in lines:
                done, answers = done + 1, answers + asked(json.loads(line)["rows"])
    start = time.monotonic()
    with open(arguments.out, "a") as out:
        index = done
        while answers < arguments.answers and time.monotonic() - start < arguments.minutes * 60:
            began = time.monotonic()
            try:
                record, rows = draw(arguments.seed, index)
            except Exception as error:
                record, rows = {"family": "failed", "error": f"{type(error).__name__}: {error}"}, []
                print(f"draw {index} failed: {record['error']}", flush=True)
            record = {"index": index, **record, "seconds": round(time.monotonic() - began, 3), "rows": rows}
            out.write(json.dumps(record, separators=(",", ":")) + "\n")
            out.flush()
            answers += asked(rows)
            index += 1
            if any(row[1] == "outside" for row in rows):
                print("OUTSIDE", json.dumps(record), flush=True)
    print(f"{answers} answers, {index} draws")
    report(arguments)


def asked(rows):
    return sum(row[1] != "truth not known" for row in rows)


def quantile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


def report(arguments):
    """Tables, and an exit code other than 0 if anything is outside."""
    kinds, families = defaultdict(lambda: defaultdict(list)), defaultdict(Counter)
    outside, wide, refusals, slow, failed = [], [], Counter(), [], 0
    with open(arguments.out) as lines:
        for line in lines:
            record = json.loads(line)
            failed += "error" in record
            families[record["family"]]["left out" if "left out" in record else "draws"] += 1
            families[record["family"]]["cut short"] += "cut short" in record
            for row in record["rows"]:
                kind, status, width, milliseconds = row[:4]
                kinds[kind][status].append((width, milliseconds))
                families[record["family"]][status] += 1
                # Wider than nine tenths of itself.
                families[record["family"]]["useless"] += width is not None and width > -0.05
                if status == "outside":
                    outside.append((record["index"], row))
                elif status == "wide":
                    wide.append((record["index"], row))
                elif status == "refused":
                    refusals[row[4][:70]] += 1
                slow.append((milliseconds, record["index"], kind))
    print("| kind | answers | outside | wide | refused | too long | truth not known | width median | 99 % | most | ms 99 % |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    total = Counter()
    for kind, found in sorted(kinds.items()):
        good = found["inside"] + found["wide"] + found["outside"]
        widths = sorted(w for w, _ in good if w is not None)
        times = sorted(t for _, t in good)
        count = len(good) + len(found["refused"]) + len(found["too long"])
        total["answers"] += count
        for status in ("outside", "wide", "refused", "too long", "truth not known"):
            total[status] += len(found[status])
        shown = ["10^%.1f" % quantile(widths, s) if widths else "" for s in (0.5, 0.99, 1)]
        print(
            f"| {kind} | {count} | {len(found['outside'])} | {len(found['wide'])} | {len(found['refused'])} | "
            f"{len(found['too long'])} | {len(found['truth not known'])} | {' | '.join(shown)} | "
            f"{quantile(times, 0.99) or 0:.1f} |"
        )
    print(dict(total))
    print("\n| family | draws | answers | left out | cut short | useless |\n|---|---|---|---|---|---|")
    for family, found in sorted(families.items()):
        answers = sum(found[s] for s in ("inside", "wide", "outside", "refused", "too long"))
        print(f"| {family} | {found['draws']} | {answers} | {found['left out']} | {found['cut short']} | {found['useless']} |")
    print("\nrefused:", *(f"{n} × {text}" for text, n in refusals.most_common(20)), sep="\n  ")
    print("slowest (ms, draw, kind):", *sorted(slow, reverse=True)[:8], sep="\n  ")
    for name, found in (("wide", wide), ("OUTSIDE", outside)):
        for index, row in found[:20]:
            print(f"{name}: draw {index}: {row}")
    if outside or failed:
        sys.exit(f"{len(outside)} answers are outside, {failed} draws failed")


def main():
    parser = argparse.ArgumentParser(prog="oracle.search", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("--seed", type=int, required=True)
    one.add_argument("--answers", type=int, required=True)
    one.add_argument("--minutes", type=float, default=1e6)
    one.add_argument("--out", required=True)
    one.set_defaults(run=run)
    two = commands.add_parser("report")
    two.add_argument("out")
    two.set_defaults(run=report)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
