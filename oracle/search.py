"""The hostile search: fresh answers of all kinds from the program, each beside an exact one.

    python -m oracle.search run --seed 1 --answers 100000 --out target/search-1.jsonl
    python -m oracle.search report target/search-1.jsonl

A line for each draw, so that a run can be stopped and started again. A draw depends on the seed and its index
alone, but for where it is cut short because its answers take long. `report` counts answers by kind: inside,
outside, refused, and how wide they are.
"""

import argparse
import json
import os
import random
import time

from .hostile import compose
from .laws import Unaffordable
from .tally import Tally
from .truths import Truths

# Of so many draws, this many are about something else than one law of the loss.
EXTRA = 0.25

# Of a composition that takes the program so many seconds no more is asked.
PATIENCE = 1.0

# Seconds for an exact value.
LONGEST_TRUTH = 5.0


def draw(seed, index):
    """What was asked, and the answers."""
    from .asked import TooLong, answer, composition, limited
    from .extras import EXTRAS

    rng = random.Random(f"{seed}/{index}")
    if rng.random() < EXTRA:
        name = rng.choices(list(EXTRAS), [weight for weight, _ in EXTRAS.values()])[0]
        return {"family": name}, [found.row() for found in EXTRAS[name][1](rng)]
    family, listed, depth, parts = compose(rng)
    record = {"family": family, "depth": depth, "composition": parts}
    rows, spent = [], 0.0
    try:
        with limited(LONGEST_TRUTH):
            truths = Truths(rng, parts, listed, depth)
        made = composition(parts, truths.direction)
        record |= {"direction": truths.direction, "method": made.method}
        questions = truths.questions()
        while spent <= PATIENCE:
            with limited(LONGEST_TRUTH):
                question = next(questions, None)
            if question is None:
                return record, rows
            if not question.is_known():
                rows.append([question.kind, "truth not known", None, 0.0])
                continue
            found = answer(made, question)
            spent += found.seconds
            rows.append(found.row())
        return record | {"cut short": True}, rows
    except (Unaffordable, TooLong) as error:
        return record | {"left out": str(error) or "the truth takes too long"}, rows


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
            if wrong(rows):
                print("OUTSIDE", json.dumps(record), flush=True)
                # A draw depends on its seed alone: what is not found again is the machine's.
                print("AGAIN" if wrong(draw(arguments.seed, index - 1)[1]) else "NOT AGAIN", flush=True)
    print(f"{answers} answers, {index} draws")
    Tally([arguments.out]).report()


def wrong(rows):
    return any(row[1] in ("outside", "panic") for row in rows)


def asked(rows):
    return sum(row[1] != "truth not known" for row in rows)


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
    two.add_argument("files", nargs="+")
    two.set_defaults(run=lambda arguments: Tally(arguments.files).report())
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
