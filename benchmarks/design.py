"""Designs: how often estimates are within the margins that were asked for.

`make design-coverage` builds the command and runs it: a design, and then noise and estimates again and again,
against the true counts. The health release of examples/health.toml on a made-up population, and county totals
and block groups of Rhode Island's real blocks on their own list of units. A need that binds must be met as
often as it says, within three standard errors; on the list of units this is so for the worst unit, and all
units together are within their margins at least as often.

usage: design.py path/to/unspent [runs]
"""

import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from estimate import TABLE, fresh, rows, run, values

EXAMPLES = Path(__file__).parent.parent / "examples"
AGES, SEXES, CONDITIONS = 12, 2, 5

REAL_TREE = """
allocation = "{blocks}"
units = {{ list = "{list}" }}
goal = "least-epsilon"
[[needs]]
name = "county totals"
level = "County"
margin = 5
[[needs]]
name = "block groups by voting age and race"
level = "Block group"
table = ["voting age", "race"]
margin = 12
[rest]
drop = true
"""


def attribute_values():
    """The values of the health release, as its file lists them."""
    text = (EXAMPLES / "health.toml").read_text()
    lists = [text.split(f"\n{name} = [")[1].split("]")[0] for name in ("age", "sex", "condition")]
    return [[word.strip().strip('"') for word in one.split(",") if word.strip()] for one in lists]


def health_table(path):
    """A made-up population: districts of 14 regions, with counts of all cells."""
    random = np.random.default_rng(7)
    ages, sexes, conditions = attribute_values()
    assert (len(ages), len(sexes), len(conditions)) == (AGES, SEXES, CONDITIONS)
    codes = [f"{region + 10}{district + 10}" for region in range(14) for district in range(18)]
    counts = random.poisson(random.gamma(2, 6, size=(len(codes), AGES, SEXES, CONDITIONS)))
    cells = list(product(ages, sexes, conditions))
    table = pl.DataFrame(
        {
            "district": np.repeat(codes, len(cells)),
            "age": [cell[0] for cell in cells] * len(codes),
            "sex": [cell[1] for cell in cells] * len(codes),
            "condition": [cell[2] for cell in cells] * len(codes),
            "patients": counts.ravel(),
        }
    )
    table.write_csv(path / "health.csv")
    pl.DataFrame({"district": codes}).write_csv(path / "districts.csv")
    return codes, counts


class Tally:
    """How often errors are within a margin; a run is one draw, since its errors depend on each other."""

    def __init__(self, confidence=0.95):
        self.confidence, self.runs = confidence, []

    def add(self, errors, margin):
        # Estimates are real numbers: the margin itself is inside.
        self.runs.append((np.abs(errors) <= margin).mean())

    def report(self, name, binds=True):
        found = np.array(self.runs)
        error = max(found.std(ddof=1) / np.sqrt(len(found)), 1e-4)
        off = (found.mean() - self.confidence) / error
        good = abs(off) <= 3 if binds else off >= -3
        verdict = "ok" if good else "MISSED"
        shown = f"{found.mean():.4f} ± {error:.4f} ({off:+.1f} standard errors: {verdict})"
        print(f"  {name}: {shown}", flush=True)
        return good


def health(command, place, runs):
    codes, counts = health_table(place)
    allocation, noisy, out = place / "a.toml", place / "noisy", place / "out"
    run(command, "design", EXAMPLES / "health.toml", "--out", allocation)
    regions = [code[:2] for code in codes]
    order = sorted(set(regions))
    inside = np.array([[region == one for region in regions] for one in order], dtype=float)
    by_condition = counts.sum(axis=(1, 2))
    truth = {
        "districts": counts.sum(axis=(1, 2, 3)),
        "condition": by_condition,
        "regions": np.tensordot(inside, counts.sum(axis=3), axes=1).reshape(len(order), -1),
        "country": counts.sum(axis=0).ravel(),
        "region condition": inside @ by_condition,
    }
    names = ["districts", "districts by condition", "regions", "country", "five districts", "prevalence"]
    tallies = {name: Tally() for name in names}
    random = np.random.default_rng(11)
    for _ in range(runs):
        words = ["--units", place / "districts.csv", "--count", "patients", "--out", fresh(noisy)]
        run(command, "measure", place / "health.csv", "--allocation", allocation, *words)
        run(command, "estimate", noisy, "--out", fresh(out))
        table = {level: rows(out, level)[1] for level in ("Country", "Region", "District")}
        district = values(table["District"], "condition", "value") - truth["condition"]
        errors = values(table["District"], "total", "value").ravel() - truth["districts"]
        tallies["districts"].add(errors, 12)
        tallies["districts by condition"].add(district, 15)
        region = values(table["Region"], "age * sex", "value") - truth["regions"]
        tallies["regions"].add(region, 10)
        country = values(table["Country"], "detailed", "value").ravel() - truth["country"]
        tallies["country"].add(country, 12)
        # Five districts of five regions: as scattered as can be.
        chosen = [random.choice(18) + 18 * region for region in random.permutation(14)[:5]]
        tallies["five districts"].add(district[chosen].sum(axis=0), 30)
        # The error of a share among 2,500 patients of whom a fifth have it: m̂ − (s ± x)T̂, on both sides.
        of_region = values(table["Region"], "condition", "value") - truth["region condition"]
        total = of_region.sum(axis=1)
        high = of_region[:, 3] - 0.205 * total <= 0.005 * 2500
        low = of_region[:, 3] - 0.195 * total >= -0.005 * 2500
        tallies["prevalence"].add(np.where(high & low, 0.0, 1.0), 0.5)
    print(f"Health release, {runs} runs")
    loose = {"districts by condition"}
    return all([tallies[name].report(name, name not in loose) for name in names])


def real_tree(command, place, runs):
    text = REAL_TREE.format(blocks=EXAMPLES / "blocks.toml", list=TABLE)
    (place / "needs.toml").write_text(text)
    allocation, noisy, out = place / "ri.toml", place / "noisy", place / "out"
    run(command, "design", place / "needs.toml", "--out", allocation)
    blocks = pl.read_csv(TABLE, schema_overrides={"geoid": pl.Utf8}).sort("geoid")
    races = ["white", "black", "hisp", "aian", "asian", "nhpi", "other", "two"]
    adults = [pl.col(f"vap_{race}") for race in races]
    minors = [pl.col(f"pop_{race}") - pl.col(f"vap_{race}") for race in races]
    cells = blocks.select([c.alias(f"c{i}") for i, c in enumerate(minors + adults)])
    cells = cells.with_columns(blocks["geoid"].str.slice(0, 12).alias("group"))
    groups = cells.group_by("group").sum().sort("group")
    in_groups = groups.drop("group").to_numpy()
    county = groups["group"].str.slice(0, 5).to_numpy()
    counties = np.array([in_groups[county == one].sum() for one in np.unique(county)])
    totals, in_cells, errors_of_counties, wrong = Tally(), Tally(), [], 0
    for _ in range(runs):
        run(command, "measure", TABLE, "--allocation", allocation, "--out", fresh(noisy))
        run(command, "estimate", noisy, "--out", fresh(out))
        errors = values(rows(out, "County")[1], "total", "value").ravel() - counties
        errors_of_counties.append(errors)
        totals.add(errors, 5)
        of_groups = values(rows(out, "Block group")[1], "voting age * race", "value") - in_groups
        in_cells.add(of_groups, 12)
        wrong = wrong + (np.abs(of_groups) > 12)
    print(f"Rhode Island's own units, {runs} runs")
    good = totals.report("county totals, all units", binds=False)
    good &= in_cells.report("block groups by voting age and race, all units", binds=False)
    # The unit that deviates most: the design is for it.
    spread = np.square(np.array(errors_of_counties)).mean(axis=0)
    worst = Tally()
    for errors in errors_of_counties:
        worst.add(errors[[np.argmax(spread)]], 5)
    good &= worst.report("county totals, the worst unit", binds=False)
    found = 1 - wrong.mean(axis=1) / runs
    low = 3 * np.sqrt(0.05 * 0.95 / (runs * wrong.shape[1]))
    print(f"  the least of {len(found)} block groups: {found.min():.4f} (0.95 would vary by ±{low:.4f})")
    return good


if __name__ == "__main__":
    command, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as place:
        good = health(command, Path(place), runs)
        good &= real_tree(command, Path(place), runs)
    print(subprocess.run([command, "--version"], capture_output=True, text=True).stdout.strip())
    sys.exit(0 if good else 1)
