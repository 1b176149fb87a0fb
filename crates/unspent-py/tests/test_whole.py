"""Whole tables: they add up, are what the files have, and keep to bounds; and what is refused."""

import csv
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from tables import columns, interrupted, seeded, towns

import unspent
from unspent import UnspentError

#: How many characters of a code name a unit of the example.
LENGTHS = {"State": 2, "County": 5, "Tract": 11, "Block group": 12, "Block": 15}

#: The schema of the redistricting file, in two levels.
REDISTRICTING = """
name = "Redistricting"
schema = "pl94-persons"
neighbours = "bounded"
delta = "1e-10"
exact_totals = ["State"]
[queries]
total = []
detailed = ["hhgq", "votingage", "hispanic", "cenrace"]
[[levels]]
name = "State"
sigma2 = { detailed = 2 }
[[levels]]
name = "Block"
sigma2 = { total = 2, detailed = 3 }
"""


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory):
    examples = Path(__file__).resolve().parents[3] / "examples"
    out = tmp_path_factory.mktemp("blocks") / "noisy"
    seeded(examples / "blocks.csv", unspent.Allocation.read(examples / "blocks.toml"), out, units=True)
    return out


def totals(tables, level):
    """The total of every unit, by its code."""
    counts = tables.dense(level)
    return dict(zip(tables.codes(level).tolist(), counts.sum(axis=tuple(range(1, counts.ndim))).tolist()))


def bounds(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["level,geocode,query,answer,at_least,at_most", *rows, ""]))
    return path


@pytest.mark.parametrize("own_measurements", [False, True])
def test_tables_are_whole_and_add_up(noisy, own_measurements):
    estimates = unspent.estimate(noisy, tables=True, own_measurements=own_measurements)
    tables = estimates.tables
    assert tables.levels == estimates.levels == list(LENGTHS)
    assert repr(tables) == "<WholeTables: 5 levels, 16 cells>"
    assert 0 <= tables.largest_gap <= 1e-6
    above = None
    for level, length in LENGTHS.items():
        table, codes, counts = tables.table(level), tables.codes(level), tables.dense(level)
        assert list(table) == ["level", "geocode", "cell", "count"] and set(table["level"]) == {level}
        # The table has every count above 0, and no others.
        assert table["count"].dtype == np.int64 and (table["count"] > 0).all()
        again = np.zeros_like(counts.reshape(len(codes), 16))
        places = {code: place for place, code in enumerate(codes.tolist())}
        again[[places[code] for code in table["geocode"].tolist()], table["cell"]] = table["count"]
        assert np.array_equal(again.reshape(counts.shape), counts)
        assert counts.shape == (len(codes), 2, 8) and set(table["geocode"]) <= set(codes)
        if above is not None:
            units, expected, length = above
            for unit, count in zip(units, expected):
                inside = [code.startswith(unit) for code in codes.tolist()]
                assert np.array_equal(counts[inside].sum(axis=0), count)
        above = codes.tolist(), counts, length
    # Near to the estimates, which are not whole.
    values = estimates.table("Tract", "total")
    assert values["geocode"].tolist() == list(totals(tables, "Tract"))
    near = np.abs(values["value"] - list(totals(tables, "Tract").values()))
    assert near.max() <= 6 * np.sqrt(values["variance"].max()) and near.max() > 0
    # What a cell counts, in words, in the order of the query of all attributes.
    words = tables.cells
    assert list(words) == ["cell", "voting age", "race"] and words["cell"].tolist() == list(range(16))
    labels = [f"{age}; {race}" for age, race in zip(words["voting age"], words["race"])]
    assert labels == estimates.labels("voting age * race")
    # Other areas are still estimated.
    assert len(estimates.district(codes[:2].tolist())["value"]) == 27


def test_a_directory_is_what_memory_has(noisy, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    options = {"tables": True, "replicates": 3, "seed": 5}
    written = unspent.estimate(noisy, out=tmp_path / "out", records=True, **options)
    entry = written.manifest["tables"]
    assert written.manifest == json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert entry["largest_gap"] == written.tables.largest_gap
    assert entry["replicates"]["replicates"] == 3 and entry["replicates"]["seed"] == 5
    for estimates in [written, unspent.estimate(noisy, **options)]:
        tables = estimates.tables
        for level in entry["levels"]:
            files = [parquet.read_table(tmp_path / "out" / file["file"]) for file in level["files"]]
            codes = [code for file in files for code in file["geocode"].to_pylist()]
            values = [counts for file in files for counts in file["values"].to_pylist()]
            assert codes == tables.codes(level["level"]).tolist()
            assert np.array_equal(values, tables.dense(level["level"]).reshape(len(codes), 16))
            assert (
                files[0].schema.metadata[b"unspent.method"].decode() == tables.cells.notes["unspent.method"]
            )
        for name, table in [
            ("replicates.csv", tables.replicates),
            ("replicates-by-size.csv", tables.replicates_by_size),
        ]:
            with open(tmp_path / "out" / name, newline="") as file:
                rows = list(csv.DictReader(file))
            assert list(rows[0]) == list(table)
            for column, values in table.items():
                texts = [row[column] for row in rows]
                if values.dtype.kind == "U":
                    assert values.tolist() == texts
                else:
                    assert np.array_equal(values, [float(text or "nan") for text in texts], equal_nan=True)
    with open(tmp_path / "out" / "records.csv", newline="") as file:
        assert sum(1 for _ in csv.DictReader(file)) == sum(totals(tables, "State").values())
    other = unspent.estimate(noisy, **{**options, "seed": 6}).tables
    assert not np.array_equal(other.replicates["rms_error"], tables.replicates["rms_error"])
    assert np.array_equal(other.dense("Block"), tables.dense("Block"))


def test_replicates_are_labelled_as_a_simulation(noisy):
    tables = unspent.estimate(noisy, tables=True, replicates=2).tables
    for table in [tables.replicates, tables.replicates_by_size]:
        assert table.notes["unspent.replicates"].startswith("2 replicates: a simulation, no guarantee")
    errors = tables.replicates
    assert set(errors["level"]) == set(LENGTHS) and set(errors["query"]) == set(
        ["total", "voting age", "race", "voting age * race"]
    )
    total = errors["query"] == "total"
    assert (errors["rms_error"] >= errors["mean_absolute_error"]).all() and errors["rms_error"][total][-1] > 0
    assert (errors["plain_rms_error"] >= errors["plain_mean_absolute_error"]).all()
    sizes = tables.replicates_by_size
    assert sizes["plain_bias"].dtype == sizes["plain_rms_error"].dtype == float
    assert sizes["units"][sizes["level"] == "Block"].sum() == len(tables.codes("Block"))


def test_frames_keep_what_is_said_of_tables(noisy):
    pytest.importorskip("pandas")
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    tables = unspent.estimate(noisy, tables=True, replicates=1).tables
    table = tables.table("Block")
    assert "biased" in table.notes["unspent.method"]
    assert table.notes["unspent.warning"].startswith("NOT PRIVATE")
    assert table["count"].dtype.metadata["unspent.warning"] == table.notes["unspent.warning"]
    frame = table.to_pandas()
    assert frame.attrs == table.notes and frame["count"].sum() == tables.dense("Block").sum()
    merged = frame.merge(tables.cells.to_pandas(), on="cell")
    adults = merged[merged["voting age"] == "18 and over"]["count"].sum()
    assert adults == tables.dense("State")[0, 1].sum()
    lent = table.to_arrow()
    assert lent["count"].type == arrow.int64()
    assert lent.schema.metadata[b"unspent.method"].decode() == table.notes["unspent.method"]
    assert table.to_polars()["count"].dtype == polars.Int64
    assert repr(table) == f"<WholeTable: {len(frame)} rows of level, geocode, cell, count>"
    sizes = tables.replicates_by_size
    last = np.isnan(sizes["size_to"])
    assert sizes.to_pandas().size_to.dtype == "Int64"
    assert sizes.to_arrow()["size_to"].null_count == last.sum() == sizes.to_polars()["size_to"].null_count()


def test_bounds_are_kept_or_refused(noisy, tmp_path: Path):
    free = unspent.estimate(noisy, tables=True).tables
    (block, before), *_ = totals(free, "Block").items()
    file = bounds(tmp_path / "bounds.csv", f"Block,{block},total,,{before + 40},{before + 50}")
    for given in [file, str(file), [file]]:
        tables = unspent.estimate(noisy, tables=True, bounds=given).tables
        assert before + 40 <= totals(tables, "Block")[block] <= before + 50
    at_most = bounds(tmp_path / "more.csv", f"Block group,{block[:12]},total,,,{before}")
    with pytest.raises(
        UnspentError, match=f"unit `{block[:12]}` of level `Block group`: no tables meet all "
    ):
        unspent.estimate(noisy, tables=True, bounds=[file, at_most])
    with pytest.raises(
        UnspentError, match=f"unit `{block[:12]}` of level `Block group`: no tables meet all "
    ):
        unspent.estimate(noisy, tables=True, bounds=[file, at_most], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(
        UnspentError, match="there is no unit `1` of level `Block`\nhint: bounds are of units"
    ):
        unspent.estimate(noisy, tables=True, bounds=bounds(tmp_path / "none.csv", "Block,1,total,,1,"))
    with pytest.raises(TypeError, match="^bounds: `5` .* is not a file of bounds; give the path of a CSV"):
        unspent.estimate(noisy, tables=True, bounds=5)


def test_published_tables(tmp_path: Path):
    chosen = random.Random(3)
    blocks = [f"99001000100100{n}" for n in range(4)]
    people = {
        "geocode": [chosen.choice(blocks[:3]) for _ in range(300)],
        "hhgq": ["0"] * 300,
        "votingage": [chosen.choice("12") for _ in range(300)],
        "hispanic": [chosen.choice("11112") for _ in range(300)],
        "cenrace": [chosen.choice(["01", "01", "02", "04", "07"]) for _ in range(300)],
    }
    allocation = unspent.Allocation.parse(REDISTRICTING)
    seeded(people, allocation, tmp_path / "noisy", units={"geocode": blocks})
    estimates = unspent.estimate(tmp_path / "noisy", tables=True, published=True, out=tmp_path / "out")
    tables = estimates.tables
    assert sum(totals(tables, "State").values()) == 300
    for level in ["State", "Block"]:
        counts = tables.dense(level)
        assert counts.shape[1:] == (8, 2, 2, 63)
        race, adults = tables.published("P1", level), tables.published("P3", level)
        assert race["geocode"].tolist() == tables.codes(level).tolist()
        assert race["P0010001"].tolist() == list(totals(tables, level).values())
        assert race["P0010003"].tolist() == counts[..., 0].sum(axis=(1, 2, 3)).tolist()
        assert adults["P0030001"].tolist() == counts[:, :, 1].sum(axis=(1, 2, 3)).tolist()
        assert race.notes["unspent.table"] == "P1: race (total population)"
        with open(tmp_path / "out" / "published" / "P1" / f"{level.lower()}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == list(race)
        for code, column in race.items():
            assert column.astype("str").tolist() == [row[code] for row in rows]
    words = tables.published_columns
    with open(tmp_path / "out" / "published" / "columns.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {name: column.tolist() for name, column in words.items()} == {
        name: [row[name] for row in rows] for name in ["table", "code", "label", "universe"]
    }
    with pytest.raises(UnspentError, match="^name: `P9` is not one of P1, P2, P3, P4, P5\nhint: "):
        tables.published("P9", "State")
    with pytest.raises(UnspentError, match="^level: `Tract` is not one of State, Block\nhint: "):
        tables.published("P1", "Tract")


def test_what_is_refused(noisy, tmp_path: Path):
    tables = unspent.estimate(noisy, tables=True).tables
    seeded(columns(), towns(), tmp_path / "one", seed=1)
    seeded(columns(), towns(), tmp_path / "two", seed=2)
    both = tmp_path / "one", tmp_path / "two"
    for ask, said in [
        (
            lambda: unspent.estimate(noisy).tables,
            "^these estimates were made without whole tables\nhint: give estimate tables=True$",
        ),
        (
            lambda: tables.replicates,
            "^these estimates were made without replicates\nhint: give estimate tables=True, replicates=25",
        ),
        (lambda: tables.replicates_by_size, "^these estimates were made without replicates"),
        (lambda: tables.table("Tracts"), "^level: `Tracts` is not one of State, .*\nhint: .*Tract"),
        (lambda: tables.dense("Tracts"), "^level: `Tracts` is not one of State, "),
        (lambda: tables.codes("Tracts"), "^level: `Tracts` is not one of State, "),
        (
            lambda: tables.published("P1", "Tract"),
            "^the schema has no published tables\nhint: P1 to P5 are tables of the shipped schema",
        ),
        (lambda: tables.published_columns, "^the schema has no published tables"),
        (
            lambda: unspent.estimate(noisy, tables=True, published=True, out=tmp_path / "out"),
            "^the schema has no published tables",
        ),
        (
            lambda: unspent.estimate(noisy, tables=True, published=True),
            "^published is given without out\nhint: .* tables.published",
        ),
        (lambda: unspent.estimate(noisy, tables=True, records=True), "^records is given without out\nhint: "),
        (
            lambda: unspent.estimate(noisy, tables=True, seed=5),
            "^seed is given without replicates\nhint: .*replicates=25",
        ),
        (lambda: unspent.estimate(noisy, tables=True, replicates=1001), "^replicates: `1001` is not at most"),
        (
            lambda: unspent.estimate(*both, tables=True, replicates=2),
            "^replicates: tables of several folders of measurements cannot be replicated\nhint: ",
        ),
        *(
            (
                lambda option=option: unspent.estimate(noisy, **option),
                f"^{next(iter(option))} is given without tables\nhint: .*tables=True",
            )
            for option in [
                {"own_measurements": True},
                {"bounds": "bounds.csv"},
                {"replicates": 2},
                {"seed": 2},
                {"published": True, "out": "nowhere"},
                {"records": True, "out": "nowhere"},
            ]
        ),
    ]:
        with pytest.raises(UnspentError, match=said):
            ask()
    assert not (tmp_path / "out").exists()
    # Two folders make one set of tables, if they are not replicated.
    assert sum(totals(unspent.estimate(*both, tables=True).tables, "Town").values()) > 0


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_nothing_behind(noisy, tmp_path: Path):
    """While replicates are made: what was begun is gone when it returns."""
    out = str(tmp_path / "out")
    call = f"unspent.estimate({str(noisy)!r}, out={out!r}, tables=True, replicates=1000)"
    assert interrupted(call, tmp_path) == []
