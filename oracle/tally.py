"""What a search has found: answers by kind and by family, and everything that is wrong, wide or slow."""

import json
import sys
from collections import Counter, defaultdict

WRONG = ("outside", "panic")
STATES = (*WRONG, "wide", "refused", "too long", "truth not known")
# An answer wider than nine tenths of itself says little.
USELESS = -0.05


def print_row(*cells):
    print("|", " | ".join(map(str, cells)), "|")


def quantile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]


class Tally:
    def __init__(self, paths):
        self.kinds, self.families = defaultdict(lambda: defaultdict(list)), defaultdict(Counter)
        self.rows, self.failed = defaultdict(list), []
        for path in paths:
            with open(path) as lines:
                for line in lines:
                    self.add(json.loads(line))

    def add(self, record):
        index, family = record["index"], self.families[record["family"]]
        if "error" in record:
            self.failed.append((index, record["error"]))
        family["left out" if "left out" in record else "draws"] += 1
        family["cut short"] += "cut short" in record
        for row in record["rows"]:
            kind, status, width, milliseconds = row[:4]
            self.kinds[kind][status].append((width, milliseconds))
            family["answers"] += status != "truth not known"
            useless = width is not None and width > USELESS
            family["useless"] += useless
            self.rows[status].append((index, row))
            if useless:
                self.rows["useless"].append((index, row))

    def report(self):
        """Tables, and an exit code other than 0 if anything is outside."""
        print_row("kind", "answers", *STATES, "width: median", "99 %", "most", "ms: median", "99 %")
        print_row(*["---"] * (7 + len(STATES)))
        total = Counter()
        for kind, found in sorted(self.kinds.items()):
            held = found["inside"] + found["wide"] + found["outside"]
            widths = sorted(width for width, _ in held if width is not None)
            times = sorted(time for _, time in held)
            states = [len(found[state]) for state in STATES]
            count = len(held) + sum(len(found[state]) for state in ("refused", "too long", "panic"))
            shown = [f"10^{quantile(widths, share):.1f}" if widths else "" for share in (0.5, 0.99, 1)]
            spent = [f"{quantile(times, share):.2f}" if times else "" for share in (0.5, 0.99)]
            print_row(kind, count, *states, *shown, *spent)
            total.update({"answers": count, **dict(zip(STATES, states))})
        print_row("all", total["answers"], *(total[state] for state in STATES), *[""] * 5)
        print()
        columns = ("draws", "answers", "left out", "cut short", "useless")
        print_row("family", *columns)
        print_row(*["---"] * 6)
        for family, found in sorted(self.families.items()):
            print_row(family, *(found[column] for column in columns))
        refusals = Counter(row[4][:70] for _, row in self.rows["refused"])
        print("\nrefused:", *(f"{n} × {text}" for text, n in refusals.most_common(20)), sep="\n  ")
        slow = ((row[3], index, row[0]) for rows in self.rows.values() for index, row in rows)
        print("slowest (ms, draw, kind):", *sorted(set(slow), reverse=True)[:8], sep="\n  ")
        for name in ("useless", "wide", *WRONG):
            for index, row in self.rows[name][:20]:
                print(f"{name}: draw {index}: {row}")
        for index, error in self.failed[:20]:
            print(f"failed: draw {index}: {error}")
        wrong = sum(len(self.rows[name]) for name in WRONG)
        if wrong or self.failed:
            sys.exit(f"{wrong} answers are outside or panicked, {len(self.failed)} draws failed")
