"""Records and counts in the production schema: against a plain group-by of DuckDB, from any kind of table."""

import random
import warnings
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import unspent
from unspent import NotPrivateWarning, UnspentError

# σ² = 0.001: the noise is 0, but for a chance of 2·exp(−500).
HOMES = """
name = "Homes"
neighbours = "bounded"
delta = "1e-9"
exact_totals = ["State"]
[attributes]
sex = { values = ["female", "male"], codes = ["1", "2"] }
home = { values = ["house", "school", "barracks"], codes = ["01", "02", "03"], optional = true }
age = { first = 0, last = 99 }
[recodes.adult]
of = "age"
groups = { minor = [[0, 17]], adult = [[18, 99]] }
[recodes.quarters]
of = "home"
groups = { quarters = ["school", "barracks"] }
[[impossible]]
name = "old pupils"
where = { home = ["school"], age = [[30, 99]] }
[queries]
total = []
"age * sex" = ["age", "sex"]
"quarters * adult" = ["quarters", "adult"]
detailed = ["home", "sex", "adult"]
[[levels]]
name = "State"
sigma2 = { "age * sex" = "0.001", "quarters * adult" = "0.001" }
[[levels]]
name = "Town"
sigma2 = { total = "0.001", "age * sex" = "0.001", detailed = "0.001" }
[table]
code = "code"
[table.levels]
State = 1
Town = 3
"""

CODES = [f"{state}{town:02}" for state in range(3) for town in range(20)]


def homes():
    return unspent.Allocation.parse(HOMES)


def people(count=4_000, seed=1):
    chosen = random.Random(seed)
    rows = []
    while len(rows) < count:
        sex, home, age = chosen.randrange(2), chosen.choice([0, 0, 0, 1, 2, 3]), chosen.randrange(100)
        if home != 1 or age < 30:
            rows.append((chosen.choice(CODES[:-5]), str(sex + 1), ["01", "02", "03", None][home], age))
    columns = dict(zip(["code", "sex", "home", "age"], zip(*rows, strict=True), strict=True))
    return pa.table({name: list(values) for name, values in columns.items()})


def seeded(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return unspent.measure(*arguments, not_private_seed=7, **options)


def answers(table, level, query):
    """The answers to a query at a level, computed by DuckDB, with a row for every unit."""
    length = {"State": 1, "Town": 3}[level]
    # The cell of a record, or NULL if it is in none; attributes in the order of the schema: sex, home, age.
    cell, size = {
        "total": ("0", 1),
        "age * sex": ("(sex::INT - 1) * 100 + age", 200),
        "quarters * adult": ("CASE WHEN home IN ('02', '03') THEN (age >= 18)::INT END", 2),
        "detailed": ("((sex::INT - 1) * 3 + (home::INT - 1)) * 2 + (age >= 18)::INT", 12),
    }[query]
    codes = sorted({code[:length] for code in CODES})
    counts = np.zeros((len(codes), size), dtype=np.int64)
    sql = f"SELECT code[:{length}], {cell} AS cell, count(*) FROM people WHERE cell IS NOT NULL GROUP BY ALL"
    connection = duckdb.connect()
    connection.register("people", table)
    for code, cell, count in connection.execute(sql).fetchall():
        counts[codes.index(code), cell] = count
    return codes, counts


def check(noisy, table):
    for level in noisy:
        for query, (codes, values) in noisy[level].items():
            expected_codes, expected = answers(table, level, query)
            assert codes.tolist() == expected_codes, (level, query)
            assert np.array_equal(values.reshape(len(codes), -1), expected), (level, query)


UNITS = {"code": CODES}


def test_records_are_a_group_by_of_duckdb(tmp_path: Path):
    table = people()
    noisy = seeded(table, homes(), units=UNITS)
    check(noisy, table)
    assert noisy["Town"]["detailed"].values.shape == (60, 2, 3, 2)
    assert "rows" not in noisy.manifest and noisy.manifest["exact"][0]["level"] == "State"
    # From pandas, polars, a file, packed or not, and in the order of the units.
    connection = duckdb.connect()
    connection.register("people", table)
    connection.execute(f"COPY people TO '{tmp_path}/people.parquet'")
    connection.execute(f"COPY people TO '{tmp_path}/people.csv.gz' (DELIMITER ';')")
    kinds = [table.to_pandas(), pl.from_arrow(table), tmp_path / "people.parquet", tmp_path / "people.csv.gz"]
    for kind in kinds:
        check(seeded(kind, homes(), units=pl.DataFrame(UNITS)), table)
    check(seeded(table.sort_by("code"), homes(), units=UNITS, sorted=True), table)


def test_counts_may_be_their_own_list_of_units():
    table = people()
    counts = pl.from_arrow(table).group_by("code", "sex", "home", "age").len("n").to_arrow()
    empty = pa.table(
        {
            "code": CODES,
            "sex": ["1"] * 60,
            "home": ["01"] * 60,
            "age": pa.array([0] * 60, counts.schema.field("age").type),
            "n": pa.array([0] * 60, counts.schema.field("n").type),
        }
    )
    whole = pa.concat_tables([counts, empty.cast(counts.schema)])
    check(seeded(whole, homes(), count="n", units=True), table)
    check(seeded(counts, homes(), count="n", units=UNITS), table)


def test_what_is_wrong_is_refused_by_name():
    table = people(50)
    with pytest.raises(UnspentError, match="the list of all units is missing"):
        seeded(table, homes())
    with pytest.raises(UnspentError, match="row 51: sex: is not one of the values 1, 2\\n"):
        seeded(
            pa.concat_tables([table, table.slice(0, 1).set_column(1, "sex", [["3"]])]), homes(), units=UNITS
        )
    with pytest.raises(UnspentError, match="the unit is not in the list of units"):
        seeded(table, homes(), units={"code": CODES[:1]})
    with pytest.raises(UnspentError, match="units: unit `000` has another number of records"):
        seeded(table, homes(), units={"code": CODES, "people": [0] * 60}, check_total="people")
    with pytest.raises(UnspentError, match="both count and id are given"):
        seeded(table, homes(), units=UNITS, count="a", id="b")


def test_the_production_schema_of_2020():
    """Every query of P.L. 94-171, with the noise of each unit's own budget."""
    chosen = random.Random(3)
    blocks = [f"44001{tract:06}{block:04}" for tract in (100, 200, 300) for block in (1001, 1002, 2001)]
    blocks += ["440030001001001"]
    rows = [
        (
            chosen.choice(blocks),
            chosen.choice("0001"),
            chosen.choice("12"),
            chosen.choice("12"),
            chosen.randint(1, 63),
        )
        for _ in range(500)
    ]
    names = ["geocode", "hhgq", "votingage", "hispanic", "cenrace"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    noisy = seeded(table, unspent.preset("pl94-persons-us-2020"), units={"geocode": blocks})
    assert noisy.levels == ["US", "State", "County", "Tract", "Block_Group", "Block"]
    assert noisy["Block"]["detailed"].values.shape[1:] == (8, 2, 2, 63)
    assert noisy["County"]["hhinstlevels"].values.shape == (2, 3)
    # The second county has one tract, block group and block: these are bypassed, and it has their budget.
    county = noisy["County"]["total"]
    assert county.codes.tolist() == ["44001", "44003"] and county.sigma2 is None and county.variance is None
    assert county.variances[1] < county.variances[0] / 3
    # So has a block group of one block; other blocks have their own.
    assert len(noisy["Block"]["total"].codes) == 6 and len(noisy["Block_Group"]["total"].codes) == 6
    assert noisy["Block"]["total"].sigma2 is not None
    frame = noisy.to_pandas()
    assert set(frame[(frame.level == "County") & (frame["query"] == "total")].variance) == set(
        county.variances
    )
