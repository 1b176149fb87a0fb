"""The cases of benchmarks/tables.py: what is measured, its true tables, and how files of tables are read."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import tomllib
from estimate import DATA, LENGTHS, TABLE, rows, run, values
from scipy.sparse import coo_matrix, csr_matrix, identity, kron

REPOSITORY = DATA.parent
EXAMPLE = REPOSITORY / "examples" / "blocks.toml"
CRATE = REPOSITORY / "crates" / "unspent"
PRODUCTION = "pl94-persons-us-2020"
# Where bands of the units' true sizes begin.
BANDS = [0, 1, 10, 100, 1_000, 10_000]


class Case:
    """True tables of all blocks, and what is asked of them."""

    def __init__(self, name, asked, blocks, cells, attributes, queries, lengths, bars, state_query=None):
        self.name, self.asked, self.codes, self.cells = name, asked, blocks, cells
        self.lengths, self.bars, self.state_query = lengths, bars, state_query
        self.blocks = len(blocks)
        # For each query, which answer a cell counts for.
        self.queries = {}
        for query, told in queries.items():
            matrix = identity(1)
            for attribute, length in attributes.items():
                part = identity(length) if attribute in told else csr_matrix(np.ones((length, 1)))
                matrix = kron(matrix, part)
            self.queries[query] = csr_matrix(matrix, dtype=np.int64)

    def measure(self, command, noisy):
        run(command, "measure", *self.asked, "--out", noisy)

    def manifest(self, out):
        return json.loads((out / "manifest.json").read_text())

    def true_counts(self, level, codes):
        """A row for each unit of a level."""
        place = {code: i for i, code in enumerate(codes)}
        length = self.lengths[level]
        of = np.array([place.get(code[:length], -1) for code in self.codes])
        known = np.flatnonzero(of >= 0)
        sums = coo_matrix(
            (np.ones(len(known), dtype=np.int64), (of[known], known)), (len(codes), self.blocks)
        )
        return sums.tocsr() @ self.cells

    def errors_of_estimates(self, out):
        """Level, query, and a matrix of errors, for all queries whose estimates are in the files."""
        for entry in self.manifest(out)["levels"]:
            _, table = rows(out, entry["level"])
            true = None
            for query in entry["queries"]:
                if query not in self.queries:
                    continue
                if true is None:
                    codes = table.filter(pl.col("query_name") == query)["geocode"].to_list()
                    true = self.true_counts(entry["level"], codes)
                yield (
                    entry["level"],
                    query,
                    values(table, query, "value") - (true @ self.queries[query]).toarray(),
                )

    def state_error(self, out):
        """Errors of the State's table for the query that has a bar."""
        entry = next(entry for entry in self.manifest(out)["tables"]["levels"] if entry["level"] == "State")
        codes, counts = read_tables(self, out, entry)
        wrong = counts - self.true_counts("State", codes)
        return (wrong @ self.queries[self.state_query]).toarray().ravel()

    def state_sd(self, out):
        variances = values(rows(out, "State")[1], self.state_query, "variance")
        return float(np.sqrt(variances.mean()))


class Level:
    """The tables of a level, and the true ones."""

    def __init__(self, case, name, codes, counts):
        self.name, self.codes, self.counts = name, codes, counts
        self.length = case.lengths[name]
        self.true = case.true_counts(name, codes)

    def assert_adds_up_to(self, above):
        """Units whose parent is not there were bypassed: their tables are in the level above that."""
        place = {code: i for i, code in enumerate(above.codes)}
        parents = np.array([place.get(code[: above.length], -1) for code in self.codes])
        known = np.flatnonzero(parents >= 0)
        shape = (len(above.codes), len(self.codes))
        sums = coo_matrix((np.ones(len(known), dtype=np.int64), (parents[known], known)), shape).tocsr()
        has_children = np.asarray(sums.sum(axis=1)).ravel() > 0
        wrong = (sums @ self.counts - above.counts)[np.flatnonzero(has_children)]
        assert abs(wrong).sum() == 0, f"tables of {self.name} do not add up to those of {above.name}"


def read_tables(case, out, entry):
    """Codes, and a sparse matrix with a row for each unit."""
    table = pl.concat([pl.read_parquet(out / file["file"]) for file in entry["files"]])
    cells = case.cells.shape[1]
    if "values" in table.columns:
        counts = table["values"].explode().to_numpy().reshape(len(table), cells)
        return table["geocode"].to_list(), csr_matrix(counts, dtype=np.int64)
    lengths = table["index"].list.len().to_numpy()
    somebody = table.filter(pl.col("index").list.len() > 0)
    at = np.repeat(np.arange(len(table)), lengths)
    found = somebody["count"].explode().to_numpy().astype(np.int64), somebody["index"].explode().to_numpy()
    return table["geocode"].to_list(), coo_matrix((found[0], (at, found[1])), (len(table), cells)).tocsr()


def rhode_island():
    table = pl.read_csv(TABLE, schema_overrides={"geoid": pl.String})
    names = [name.removeprefix("pop_") for name in table.columns if name.startswith("pop_")]
    adults = np.stack([table[f"vap_{name}"].to_numpy() for name in names], axis=1)
    everybody = np.stack([table[f"pop_{name}"].to_numpy() for name in names], axis=1)
    cells = csr_matrix(np.concatenate([everybody - adults, adults], axis=1), dtype=np.int64)
    age, race = "voting age", "race"
    queries = {"total": [], age: [age], race: [race], f"{age} * {race}": [age, race]}
    bars = {
        ("Tract", "total"): 1.5,
        ("Tract", f"{age} * {race}"): 1.0,
        ("Block", "total"): 1.5,
        ("Block", f"{age} * {race}"): 0.24,
    }
    asked = [TABLE, "--allocation", EXAMPLE]
    name = "Rhode Island × 16 cells"
    return Case(name, asked, table["geoid"].to_list(), cells, {age: 2, race: 8}, queries, LENGTHS, bars)


def schema():
    return tomllib.loads((CRATE / "schemas" / "pl94-persons.toml").read_text())["attributes"]


def made_up_state(command, place):
    people, units = place / "persons.csv", place / "persons-units.csv"
    made = ["--schema", "pl94", "--state", "rhode-island-sized", "--rows", "counts", "--force"]
    run(command, "synthesize", *made, "--out", people)
    attributes = schema()
    table = pl.read_csv(people, schema_overrides={name: pl.String for name in ["geocode", *attributes]})
    blocks = pl.read_csv(units, schema_overrides={"geocode": pl.String})["geocode"].to_list()
    at = np.zeros(len(table), dtype=np.int64)
    for name, attribute in attributes.items():
        number = {code: i for i, code in enumerate(attribute["codes"])}
        at = at * len(number) + table[name].replace_strict(number, return_dtype=pl.Int64).to_numpy()
    sizes = {name: len(attribute["codes"]) for name, attribute in attributes.items()}
    place_of = {code: i for i, code in enumerate(blocks)}
    of = [place_of[code] for code in table["geocode"]]
    shape = (len(blocks), int(np.prod(list(sizes.values()))))
    cells = coo_matrix((table["count"].to_numpy().astype(np.int64), (of, at)), shape).tocsr()
    singles = {name: [name] for name in attributes}
    pairs = ["hispanic * cenrace", "votingage * hispanic * cenrace"]
    queries = {"total": [], **singles, **{query: query.split(" * ") for query in pairs}}
    queries["detailed"] = list(attributes)
    lengths = tomllib.loads(people.with_suffix(".toml").read_text())["table"]["levels"]
    bars = {("Tract", "total"): 1.5, ("Tract", "votingage"): 6.9, ("Block", "total"): 5.8}
    asked = [people, "--allocation", PRODUCTION, "--units", units]
    name = "A made-up state of Rhode Island's size × 2,016 cells"
    return Case(name, asked, blocks, cells, sizes, queries, lengths, bars, "hhgq")


def one_large_parent(command, place, noisy):
    """Measures 2,500 tracts of one parent, with the noise that production has for tracts."""
    blocks, tracts = place / "large-blocks.csv", place / "large.csv"
    made = ["--schema", "pl94", "--blocks", 400_000, "--rows", "counts", "--force"]
    run(command, "synthesize", *made, "--out", blocks)
    attributes = list(schema())
    table = pl.read_csv(blocks, schema_overrides={name: pl.String for name in ["geocode", *attributes]})
    table = table.with_columns(pl.col("geocode").str.slice(0, 11))
    codes = table["geocode"].unique().sort().head(2_500)
    assert len(codes) == 2_500
    by = ["geocode", *attributes]
    table.filter(pl.col("geocode").is_in(codes.implode())).group_by(by).agg(pl.col("count").sum()).sort(
        by
    ).write_csv(tracts)
    reading = {"US": 0, "Tract": 11}
    lines = ['schema = "pl94-persons"', "[table]", 'code = "geocode"', 'count = "count"', "[table.levels]"]
    lines += [f"{level} = {length}" for level, length in reading.items()]
    tracts.with_suffix(".toml").write_text("\n".join(lines) + "\n")
    preset = tomllib.loads((CRATE / "presets" / f"{PRODUCTION}.toml").read_text())
    kept = [level for level in preset["levels"] if level["name"] in reading]
    # The shares of these levels, all together: each has the noise that it has in production.
    parts = {level["name"]: [int(part) for part in level["share"].split("/")] for level in kept}
    number, whole = (int(part) for part in preset["rho"].split("/"))
    used, of = sum(part for part, _ in parts.values()), parts["US"][1]
    lines = ['name = "One large parent"', 'record = "person"', 'neighbours = "bounded"', 'delta = "1e-10"']
    lines += ['conversion = "canonne-kamath-steinke"', f'rho = "{number * used}/{whole * of}"']
    lines += ['schema = "pl94-persons"']
    for level in kept:
        lines += ["[[levels]]", f'name = "{level["name"]}"', f'share = "{parts[level["name"]][0]}/{used}"']
        lines += ["[levels.shares]", *(f'"{query}" = "{share}"' for query, share in level["shares"].items())]
    allocation = Path(place) / "large-allocation.toml"
    allocation.write_text("\n".join(lines) + "\n")
    run(command, "measure", tracts, "--allocation", allocation, "--units-of-table", "--out", noisy)
