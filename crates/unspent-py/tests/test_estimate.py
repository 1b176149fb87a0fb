"""Estimates from noisy measurements, against dense least squares; and what is refused."""

import csv
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from tables import TOWNS, columns, interrupted, seeded, towns

import unspent
from unspent import UnspentError

NUMBERS = ["value", "variance", "lower", "upper", "lower_guaranteed", "upper_guaranteed"]
#: How many characters of a code name a unit.
LENGTHS = {"State": 2, "County": 5, "Tract": 11, "Block group": 12, "Block": 15}
#: What each answer of a query adds up, of two ages by eight races.
CELLS = {
    "total": np.ones((1, 16)),
    "voting age": np.kron(np.eye(2), np.ones(8)),
    "race": np.kron(np.ones(2), np.eye(8)),
    "voting age * race": np.eye(16),
}
#: Normal, and sub-Gaussian: P(|error| ≥ m) ≤ 2 exp(−m²/2σ²).
MARGINS = [1.959963984540054, math.sqrt(2 * math.log(2 / 0.05))]


class Dense:
    """All measurements of all units as one problem of least squares, in the cells of the blocks."""

    def __init__(self, noisy):
        self.blocks = noisy["Block"]["total"].codes.tolist()
        rows, values, variances = [], [], []
        for level in noisy:
            for query, measured in noisy[level].items():
                for unit, code in enumerate(measured.codes):
                    rows.append(np.kron(self.inside(code), CELLS[query]))
                    answers = measured.values[unit].reshape(-1)
                    values.append(answers)
                    variances.append(np.full(len(answers), float(measured.sigma2)))
        a, y, w = np.vstack(rows), np.concatenate(values), 1 / np.concatenate(variances)
        self.covariances = np.linalg.inv(a.T @ (w[:, None] * a))
        self.cells = self.covariances @ (a.T @ (w * y))

    def inside(self, *codes):
        """Which blocks are in one of the units."""
        return np.array([float(any(block.startswith(code) for code in codes)) for block in self.blocks])

    def answers(self, query, weights):
        """Estimates of the answers, and their covariances, for a sum of blocks."""
        a = np.kron(weights, CELLS[query])
        return a @ self.cells, a @ self.covariances @ a.T

    def covariance(self, query, one, other):
        a, b = (np.kron(weights, CELLS[query]) for weights in (one, other))
        return np.diag(a @ self.covariances @ b.T)


def close(found, expected):
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory):
    """The measurements, their folder, and the dense solution."""
    examples = Path(__file__).resolve().parents[3] / "examples"
    out = tmp_path_factory.mktemp("blocks") / "noisy"
    allocation = unspent.Allocation.read(examples / "blocks.toml")
    seeded(examples / "blocks.csv", allocation, out, units=True)
    return out, Dense(unspent.read_measurements(out))


def answers_of(table, query):
    return {name: column[table["query"] == query] for name, column in table.items()}


def check_ends(found, least=0.0):
    """Whole counts inside the margins, or nan if there is none."""
    deviation = np.sqrt(found["variance"])
    for margin, (lower, upper) in zip(
        MARGINS, [("lower", "upper"), ("lower_guaranteed", "upper_guaranteed")]
    ):
        low = np.maximum(np.ceil(found["value"] - margin * deviation), least)
        high = np.floor(found["value"] + margin * deviation)
        none = low > high
        assert np.array_equal(found[lower], np.where(none, np.nan, low), equal_nan=True)
        assert np.array_equal(found[upper], np.where(none, np.nan, high), equal_nan=True)


def test_every_unit_is_the_least_squares_estimate(blocks):
    noisy, dense = blocks
    estimates = unspent.estimate(noisy)
    assert estimates.levels == list(LENGTHS) and sorted(estimates.queries) == sorted(CELLS)
    assert repr(estimates) == "<Estimates: 5 levels, 4 queries>"
    assert estimates.manifest is None and estimates.areas == []
    for level, length in LENGTHS.items():
        table = estimates.table(level)
        assert list(table) == ["level", "geocode", "query", "cell", *NUMBERS]
        codes = sorted({block[:length] for block in dense.blocks})
        assert len(table["value"]) == 27 * len(codes) and set(table["level"]) == {level}
        for query, cells in CELLS.items():
            found = answers_of(table, query)
            assert found["geocode"].tolist() == [code for code in codes for _ in cells]
            assert found["cell"].tolist() == list(range(len(cells))) * len(codes)
            expected = [dense.answers(query, dense.inside(code)) for code in codes]
            close(found["value"], np.concatenate([values for values, _ in expected]))
            close(found["variance"], np.concatenate([np.diag(variances) for _, variances in expected]))
            check_ends(found)
            one = estimates.table(level, query)
            assert all(np.array_equal(one[name], found[name], equal_nan=True) for name in NUMBERS)


def areas(dense):
    """Sets of codes: a block, blocks of several tracts, a tract, and large and small units together."""
    tracts = sorted({block[:11] for block in dense.blocks})
    beside = [block for block in dense.blocks if not block.startswith(tracts[0])]
    return [[dense.blocks[3]], dense.blocks[::5], [tracts[0]], [tracts[0], *beside[:3]], dense.blocks[:6]]


def test_any_area(blocks):
    noisy, dense = blocks
    estimates = unspent.estimate(noisy)
    for codes in areas(dense):
        table = estimates.district(np.array(codes), name="here")
        assert list(table) == ["area", "query", "cell", "label", *NUMBERS] and set(table["area"]) == {"here"}
        for query in CELLS:
            found = answers_of(table, query)
            values, variances = dense.answers(query, dense.inside(*codes))
            close(found["value"], values)
            close(found["variance"], np.diag(variances))
            check_ends(found)
    assert set(estimates.district(dense.blocks[0])["area"]) == {dense.blocks[0]}
    assert answers_of(table, "race")["label"].tolist() == estimates.labels("race")
    assert estimates.labels("race")[:2] == ["white", "black"]
    # A unit counts once.
    twice = estimates.district([dense.blocks[0], dense.blocks[0]])
    close(twice["value"], estimates.district(dense.blocks[0])["value"])


def test_covariances_of_any_two_areas(blocks):
    noisy, dense = blocks
    estimates = unspent.estimate(noisy)
    for one in areas(dense):
        for other in areas(dense)[::2]:
            found = estimates.covariance(one, other)
            assert list(found) == ["query", "cell", "label", "covariance"]
            table = estimates.difference(one, other)
            inside = dense.inside(*one), dense.inside(*other)
            for query in CELLS:
                expected = dense.covariance(query, *inside)
                close(answers_of(found, query)["covariance"], expected)
                difference = answers_of(table, query)
                close(difference["covariance"], expected)
                values, variances = dense.answers(query, inside[0] - inside[1])
                close(difference["value"], values)
                close(difference["variance"], np.diag(variances))
                if (inside[0] != inside[1]).any():
                    check_ends(difference, -np.inf)
    # One code is a set of one; with itself it is the variance.
    block = dense.blocks[7]
    close(estimates.covariance(block, block)["covariance"], estimates.district(block)["variance"])


def test_maps_sums_and_ratios(blocks, tmp_path: Path):
    noisy, dense = blocks
    halves = {"1": dense.blocks[:10], "2": dense.blocks[10:]}
    with open(tmp_path / "map.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["code", "district"])
        writer.writerows([block, name] for name, codes in halves.items() for block in codes)
    options = {"sums": 'adults: "voting age" = "18 and over"', "ratios": ["adults / total"]}
    estimates = unspent.estimate(noisy, districts=tmp_path / "map.csv", **options)
    assert estimates.areas == ["district:1", "district:2"] and estimates.queries[-1] == "adults"
    table = estimates.districts()
    assert list(table)[:5] == ["map", "area", "query", "cell", "label"]
    for name, codes in halves.items():
        here = {key: column[table["area"] == name] for key, column in table.items()}
        values, variances = dense.answers("voting age", dense.inside(*codes))
        close(answers_of(here, "adults")["value"], values[1])
        close(answers_of(here, "adults")["variance"], variances[1, 1])
        named = estimates.district(f"district:{name}")
        assert np.array_equal(named["value"], here["value"])
    # From the map, beside other codes, and from codes alone: the same.
    expected = estimates.covariance("district:1", "district:2")["covariance"]
    close(estimates.covariance("district:1", halves["2"])["covariance"], expected)
    close(estimates.covariance(halves["1"], halves["2"])["covariance"], expected)
    ratios = estimates.ratios()
    units = sum(len({block[:length] for block in dense.blocks}) for length in list(LENGTHS.values())[:-1])
    assert len(ratios["value"]) == 2 + units and ratios["map"][:3].tolist() == ["district"] * 2 + ["State"]
    state = dense.inside("99")
    share = dense.answers("voting age", state)[0][1] / dense.answers("total", state)[0][0]
    close(ratios["value"][2], share)
    assert ratios["lower_guaranteed"][2] < ratios["lower"][2] < share < ratios["upper"][2] < 1
    assert ratios.to_pandas().note[2] == "" and ratios.to_pandas().lower.dtype == np.float64
    # A map may be called as codes are in messages.
    (tmp_path / "map.csv").write_text(f"code,given\n{dense.blocks[3]},a\n{dense.blocks[4]},b\n")
    given = unspent.estimate(noisy, districts=str(tmp_path / "map.csv"))
    expected = dense.covariance("race", dense.inside(dense.blocks[5]), dense.inside(dense.blocks[4]))
    close(answers_of(given.covariance(dense.blocks[5], "given:b"), "race")["covariance"], expected)
    again = unspent.estimate(noisy, districts=halves, **options)
    assert again.areas == estimates.areas
    assert np.array_equal(again.districts()["value"], table["value"])


def test_frames(blocks):
    pytest.importorskip("pandas")
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    # Half of the intervals of zeros contain no count.
    table = unspent.estimate(blocks[0], confidence="0.5").table("Block", "race")
    missing = np.isnan(table["lower"])
    assert missing.any() and not missing.all() and not np.isnan(table["value"]).any()
    frame = table.to_pandas()
    assert list(frame.columns) == list(table) and frame.lower.dtype == "Int64"
    assert frame.lower.isna().tolist() == missing.tolist()
    assert frame.upper[~missing].tolist() == table["upper"][~missing].tolist()
    lazy = table.to_polars()
    assert lazy["lower"].dtype == polars.Int64 and lazy["lower"].is_null().to_list() == missing.tolist()
    lent = table.to_arrow()
    assert lent["lower"].type == arrow.int64() and lent["lower"].null_count == missing.sum()
    assert lent["value"].to_pylist() == table["value"].tolist() == lazy["value"].to_list()
    assert repr(table).startswith("<EstimateTable: 192 rows of level, geocode, query, cell, value, ")


def test_what_is_not_determined_is_missing(tmp_path: Path):
    ages = TOWNS.replace("sigma2 = { total = 5, age = 2000 }", "sigma2 = { total = 5 }")
    out = seeded(columns(), unspent.Allocation.parse(ages), tmp_path / "noisy").path
    estimates = unspent.estimate(out)
    town = estimates.table("Town", "age")
    assert all(np.isnan(town[name]).all() for name in NUMBERS) and len(town["value"]) == 60
    assert town.to_arrow()["variance"].null_count == 60
    assert not np.isnan(estimates.table("Town", "total")["value"]).any()
    assert not np.isnan(estimates.table("County", "age")["value"]).any()
    county = estimates.difference("10", "11")
    assert not np.isnan(county["covariance"]).any()
    inside = answers_of(estimates.covariance("1000", "1010"), "age")
    assert np.isnan(inside["covariance"]).all()


def test_a_directory_is_what_memory_has(blocks, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    noisy, dense = blocks
    halves = {"1": dense.blocks[:10], "2": dense.blocks[10:]}
    options = {"districts": halves, "differences": [("district:1", "district:2")], "leaf_cells": True}
    estimates = unspent.estimate(noisy, out=tmp_path / "out", **options)
    assert estimates.manifest == json.loads((tmp_path / "out" / "manifest.json").read_text())
    for level in estimates.manifest["levels"]:
        table = estimates.table(level["level"])
        files = [parquet.read_table(tmp_path / "out" / file["file"]) for file in level["files"]]
        for name in NUMBERS:
            written = [number for file in files for answers in file[name].to_pylist() for number in answers]
            written = np.array(written, dtype=float)
            assert np.array_equal(written, table[name], equal_nan=True)
    with open(tmp_path / "out" / "differences.csv", newline="") as file:
        written = [float(row["covariance"]) for row in csv.DictReader(file)]
    assert written == estimates.difference("district:1", "district:2")["covariance"].tolist()
    with pytest.raises(UnspentError, match="^out: `.*` exists already\nhint: choose another name"):
        unspent.estimate(noisy, out=tmp_path / "out")


def test_two_folders_are_one_estimate(tmp_path: Path):
    for seed in (1, 2):
        seeded(columns(), towns(), tmp_path / str(seed), seed=seed)
    both = unspent.estimate(tmp_path / "1", tmp_path / "2").table("Town")
    one, two = (unspent.estimate(tmp_path / name).table("Town") for name in "12")
    # The same noise twice: half of the variance, and the mean.
    close(both["variance"], one["variance"] / 2)
    close(both["value"], (one["value"] + two["value"]) / 2)


def test_noise_that_is_not_private_is_labelled(blocks, tmp_path: Path):
    estimates = unspent.estimate(blocks[0])
    assert estimates.warning.startswith("NOT PRIVATE")
    assert estimates.table("State")["value"][:2].dtype.metadata["unspent.warning"] == estimates.warning
    unspent.measure(columns(), towns(), tmp_path / "noisy")
    private = unspent.estimate(str(tmp_path / "noisy"))
    assert private.warning is None and not private.table("Town")["value"].dtype.metadata


def test_what_is_refused(blocks, tmp_path: Path):
    noisy, dense = blocks
    estimates = unspent.estimate(noisy)
    for ask, said in [
        (lambda: estimates.table("Tracts"), "^level: `Tracts` is not one of State, .*\nhint: .*Tract"),
        (lambda: estimates.table("Tract", "rac"), "^query: `rac` is not one of .*\nhint: .*`race`"),
        (lambda: estimates.labels("rac"), "^query: `rac` is not one of "),
        (
            lambda: estimates.district("nowhere"),
            "unit `nowhere` is not among the units that are measured\nhi",
        ),
        (lambda: estimates.covariance(dense.blocks[0], "nowhere"), "unit `nowhere` is not among the units"),
        (lambda: estimates.district([]), "^codes: there is no code\nhint: "),
        (
            lambda: estimates.district(["99", dense.blocks[0]]),
            "^area `given:codes` has unit `99` and a unit inside it",
        ),
        (lambda: unspent.estimate(tmp_path / "none"), "none: .*\nhint: "),
        (lambda: unspent.estimate(noisy, districts={"1": ["nowhere"]}), "unit `nowhere` is not among the u"),
        (lambda: unspent.estimate(noisy, confidence=2), "^confidence: `2` is not"),
        (lambda: unspent.estimate(noisy, queries="rac"), "^query: `rac` is not one of "),
        (lambda: unspent.estimate(noisy, sums="adults"), "adults"),
        (lambda: unspent.estimate(noisy, ratios="a / b"), "^ratio: `a` is not a sum of cells"),
        (lambda: unspent.estimate(noisy, levels="Tract"), "^levels is given without out\nhint: "),
        (lambda: unspent.estimate(noisy, districts="nowhere.csv"), "^nowhere.csv: cannot be read: No such"),
        (
            lambda: unspent.estimate(seeded(columns(), towns())),
            "^noisy: measurements in memory cannot be estimated\nhint: give measure out=",
        ),
    ]:
        with pytest.raises(UnspentError, match=said):
            ask()
    with pytest.raises(TypeError, match="^noisy: `5` .* is not a folder; give a path"):
        unspent.estimate(5)
    with pytest.raises(
        TypeError, match="^codes: .* is not a code, or several; give them as str, with their leading zeros"
    ):
        estimates.district([990010001001000])
    with pytest.raises(TypeError, match="^districts: `5` .* is not a map; give the path"):
        unspent.estimate(noisy, districts=5)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path):
    """While estimates are written: what was begun is gone when it returns."""
    count = 1_000_000
    table = {
        "code": np.char.zfill(np.arange(count).astype("U7"), 7),
        "children": np.arange(count) % 5,
        "adults": np.arange(count) % 7,
    }
    budget = unspent.Allocation.parse(TOWNS.replace("Town = 4", "Town = 7"))
    seeded(table, budget, tmp_path / "noisy")
    noisy, out = str(tmp_path / "noisy"), str(tmp_path / "out")
    assert interrupted(f"unspent.estimate({noisy!r}, out={out!r})", tmp_path) == ["noisy"]


#: Two attributes whose values have the same labels, and noise that is 0 for all practical purposes.
ALIKE = """
name = "Two flags"
neighbours = "add-remove"
delta = "1e-10"
[attributes]
hispanic = ["0", "1"]
adult = ["0", "1"]
[queries]
hispanic = ["hispanic"]
both = ["hispanic", "adult"]
[[levels]]
name = "State"
sigma2 = { hispanic = "1e-3", both = "1e-3" }
[[levels]]
name = "Town"
sigma2 = { both = "1e-3" }
[table]
code = "code"
[table.levels]
State = 1
Town = 2
"""


def test_attributes_with_the_same_labels_are_told_apart_by_their_names(tmp_path: Path):
    people = {
        "code": ["11", "11", "11", "12"],
        "hispanic": ["1", "1", "0", "0"],
        "adult": ["0", "0", "1", "0"],
    }
    units = {"code": ["11", "12"]}
    seeded(people, unspent.Allocation.parse(ALIKE), tmp_path / "noisy", units=units)
    found = unspent.estimate(tmp_path / "noisy").table("State", "both")
    assert np.round(found["value"]).tolist() == [1, 1, 2, 0]
