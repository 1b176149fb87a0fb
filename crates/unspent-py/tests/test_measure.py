"""Noisy measurements: from files and from memory, into files and into memory; and what is refused."""

import csv
import hashlib
import json
import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from tables import TOWNS, columns, interrupted, towns

import unspent
from unspent import NotPrivateWarning, UnspentError


def seeded(*arguments, seed=7, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return unspent.measure(*arguments, not_private_seed=seed, **options)


def same(one, other):
    assert one.levels == other.levels
    for level in one:
        assert list(one[level]) == list(other[level])
        for query in one[level]:
            a, b = one[level][query], other[level][query]
            assert np.array_equal(a.codes, b.codes) and np.array_equal(a.values, b.values)
            assert (a.sigma2, a.rho, a.variance) == (b.sigma2, b.rho, b.variance)


def test_in_memory():
    noisy = seeded(columns(), towns())
    assert noisy.levels == ["County", "Town"] and len(noisy) == 2 and "Town" in noisy and "State" not in noisy
    assert repr(noisy) == "<Measurements 'Towns': 2 levels, 99 values>"
    total, age = noisy["Town"]["total"], noisy["Town"]["age"]
    assert total.values.shape == (30, 1) and age.values.shape == (30, 2) and age.values.dtype == np.int64
    assert total.codes.tolist() == columns()["code"].tolist()
    assert (total.level, total.query, total.sigma2, age.rho) == (
        "Town",
        "total",
        5,
        unspent.Allocation.parse(TOWNS).measurements[3].rho,
    )
    codes, values = total
    assert np.array_equal(codes, total.codes) and np.array_equal(values, total.values)
    # σ² = 5: all within 25 of the exact ones, and not all of them exact.
    errors = values[:, 0] - 4 * np.arange(30)
    assert np.abs(errors).max() < 25 and errors.any()
    assert noisy.manifest["rows"] == 30 and noisy.manifest["certificate"]["delta"] == "1e-10"
    with pytest.raises(KeyError, match="level `State`: the levels are County, Town"):
        noisy["State"]


def test_all_kinds_of_tables_are_the_same(tmp_path: Path):
    expected = seeded(columns(), towns())
    data = columns()
    structured = np.zeros(30, dtype=[("adults", "i4"), ("code", "U4"), ("children", "u2"), ("other", "f8")])
    for name in data:
        structured[name] = data[name]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data).assign(weight=0.5)
    with open(tmp_path / "towns.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(zip(*data.values()))
    lists = {
        name: list(map(str, column)) if name == "code" else column.tolist() for name, column in data.items()
    }
    objects = {name: np.array(column, dtype=object) for name, column in lists.items()}
    numbers = {**data, "code": np.arange(1000, 1300, 10)}
    for table in (
        structured,
        frame,
        tmp_path / "towns.csv",
        str(tmp_path / "towns.csv"),
        lists,
        objects,
        numbers,
    ):
        same(expected, seeded(table, towns()))
    same(expected, seeded(frame.astype({"children": "Int64", "code": "string"}), towns()))


def test_a_directory_is_what_memory_has(tmp_path: Path):
    written = seeded(columns(), towns(), tmp_path / "noisy")
    assert written.path == tmp_path / "noisy" and not written.private
    assert "WARNING: NOT PRIVATE" in str(written) and "not differentially private" in str(written)
    read = unspent.read_measurements(tmp_path / "noisy")
    same(read, seeded(columns(), towns()))
    assert read.manifest == json.loads((tmp_path / "noisy" / "manifest.json").read_text())
    assert written.manifest == read.manifest
    assert sorted(path.name for path in written.path.iterdir()) == [
        "NOT-PRIVATE.txt",
        "allocation.toml",
        "certificate.html",
        "certificate.md",
        "county",
        "manifest.json",
        "town",
    ]
    again = unspent.Allocation.read(tmp_path / "noisy" / "allocation.toml")
    assert again == towns()


def test_the_command_releases_the_same(command: Path, tmp_path: Path, root: Path):
    example = root / "examples" / "blocks.toml"
    table = root / "examples" / "blocks.csv"
    subprocess.run(
        [
            command,
            "measure",
            table,
            "--allocation",
            example,
            "--out",
            tmp_path / "noisy",
            "--not-private-seed",
            "3",
        ],
        check=True,
        capture_output=True,
    )
    theirs = unspent.read_measurements(tmp_path / "noisy")
    ours = seeded(table, unspent.Allocation.read(example), seed=3, threads=1)
    same(theirs, ours)
    seeded(table, unspent.Allocation.read(example), tmp_path / "ours", seed=3)
    for path in (tmp_path / "noisy").rglob("*"):
        if path.is_file() and path.suffix != ".json":
            assert (
                path.read_bytes() == (tmp_path / "ours" / path.relative_to(tmp_path / "noisy")).read_bytes()
            ), path
    manifests = [json.loads((tmp_path / run / "manifest.json").read_text()) for run in ("noisy", "ours")]
    for manifest in manifests:
        del manifest["started"], manifest["finished"]
    assert manifests[0] == manifests[1]


def test_private_noise_is_another_every_time():
    one, two = (unspent.measure(columns(), towns()) for _ in range(2))
    assert one.private and "warning" not in one.manifest
    assert not np.array_equal(one["Town"]["age"].values, two["Town"]["age"].values)
    assert one["Town"]["age"].values.dtype.metadata is None


def test_a_seed_repeats_and_says_so():
    with pytest.warns(NotPrivateWarning, match="^NOT PRIVATE: the noise was made from the fixed seed 7"):
        noisy = unspent.measure(columns(), towns(), not_private_seed=7)
    assert not noisy.private and noisy.manifest["warning"].startswith("NOT PRIVATE")
    values = noisy["Town"]["total"].values
    assert values[:3].dtype.metadata["unspent.warning"].startswith("NOT PRIVATE")
    same(noisy, seeded(columns(), towns(), threads=3))


def test_to_pandas():
    pytest.importorskip("pandas")
    noisy = seeded(columns(), towns())
    frame = noisy.to_pandas()
    assert (
        list(frame.columns) == ["level", "geocode", "query", "cell", "value", "variance"] and len(frame) == 99
    )
    town = frame[(frame.level == "Town") & (frame["query"] == "age")]
    assert np.array_equal(town.value.to_numpy().reshape(30, 2), noisy["Town"]["age"].values)
    assert town.geocode.iloc[2] == "1010" and town.cell.iloc[3] == 1


@pytest.mark.parametrize(
    "change, said",
    [
        ({"adults": np.where(np.arange(30) == 12, -98765, 1)}, "^table: row 13: adults: is not a count\n"),
        ({"adults": np.full(30, 98.5)}, "^table: row 1: adults: is not a count"),
        ({"adults": np.full(30, True)}, "^table: column `adults` is of bool, not of integers or texts"),
        ({"adults": np.full(30, 2**63 + 98765, dtype=np.uint64)}, "^table: row 1: adults: is not a count"),
        ({"adults": [98765] * 29 + [None]}, "^table: row 30: adults: is missing"),
        ({"adults": np.full((30, 2), 98765)}, "^table: column `adults` is not one column"),
        ({"adults": ["98765"] * 30}, "^table: column `adults` is of texts, not of integers"),
        ({"adults": np.full(29, 98765)}, "^table: column `adults` has 29 rows; column `code` has 30"),
        ({"code": ["98765"] * 30}, "^table: row 1: code: is not a code of 4 characters"),
        ({"code": np.array(["1010"] * 30)}, "^table: row 2: there are two rows for one unit of level `Town`"),
        ({"code": np.array([b"1010"] * 30)}, r"^table: column `code` is of \|S4, not of integers or texts"),
    ],
)
def test_bad_tables_are_refused_and_their_values_not_shown(change, said, tmp_path: Path):
    for out in (None, tmp_path / "noisy"):
        with pytest.raises(UnspentError, match=said) as refused:
            unspent.measure({**columns(), **change}, towns(), out)
        assert "98765" not in str(refused.value) and "98.5" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_values_are_shown_to_whom_asks_for_them():
    table = {**columns(), "adults": np.where(np.arange(30) == 12, -98765, 1)}
    with pytest.raises(UnspentError, match="^table: row 13: adults: `-98765` is not a count"):
        unspent.measure(table, towns(), show_values=True)


def test_what_is_missing_is_named(tmp_path: Path):
    renamed = {"code": columns()["code"], "kids": columns()["children"], "adults": columns()["adults"]}
    with pytest.raises(
        UnspentError, match="^table: there is no column `children`\nhint: the table has code, adults, kids;"
    ):
        unspent.measure(renamed, towns())
    bare = unspent.Allocation.parse(TOWNS.split("[table]")[0])
    with pytest.raises(
        UnspentError, match="^`Towns` does not say how a table is read\nhint: give schema=, a file"
    ):
        unspent.measure(columns(), bare)
    (tmp_path / "towns.toml").write_text("[table]" + TOWNS.split("[table]", 1)[1])
    same(seeded(columns(), towns()), seeded(columns(), bare, schema=tmp_path / "towns.toml"))
    with pytest.raises(UnspentError, match="^nowhere.csv: cannot be read: No such file"):
        unspent.measure("nowhere.csv", towns())
    with pytest.raises(TypeError, match="^table: `<class 'int'>` .* is not a table; give a path"):
        unspent.measure(5, towns())
    with pytest.raises(TypeError):
        unspent.measure(columns(), "pl94-persons-us-2020")
    for options, said in [
        ({"threads": 0}, "^threads: `0` is not"),
        ({"not_private_seed": -1}, "^not_private_seed: `-1` is not"),
        ({"delta": 2}, "^delta: `2` is not"),
        ({"schema": "nowhere.toml"}, "^nowhere.toml: "),
    ]:
        with pytest.raises(UnspentError, match=said):
            unspent.measure(columns(), towns(), **options)


def test_what_is_there_stays(tmp_path: Path):
    with pytest.raises(UnspentError, match="^out: `.*` exists already\nhint: choose another name"):
        unspent.measure(columns(), towns(), tmp_path)
    with pytest.raises(UnspentError, match="^out: the directory of `.*nowhere/noisy` does not exist"):
        unspent.measure(columns(), towns(), tmp_path / "nowhere" / "noisy")
    assert list(tmp_path.iterdir()) == []


def test_a_promise_that_is_not_kept():
    stating = unspent.Allocation.parse(TOWNS.replace('delta = "1e-10"', 'delta = "1e-10"\nepsilon = "0.5"'))
    with pytest.raises(
        UnspentError, match="PROMISE NOT KEPT: states epsilon 0.5 .*\nhint: .*break_promise=True"
    ):
        unspent.measure(columns(), stating)
    assert unspent.measure(columns(), stating, break_promise=True).manifest["kept"] is False


def test_a_directory_that_was_changed_is_refused(tmp_path: Path):
    seeded(columns(), towns(), tmp_path / "noisy")
    part = tmp_path / "noisy" / "town" / "part-00000.parquet"
    bytes_ = part.read_bytes()
    for damaged in (bytes_[: len(bytes_) // 2], bytes_[:400] + bytes([bytes_[400] ^ 1]) + bytes_[401:]):
        part.write_bytes(damaged)
        for read in (unspent.read_measurements, unspent.estimate):
            with pytest.raises(
                UnspentError, match="part-00000.parquet: its SHA-256 is .* that manifest.json states\nhint: "
            ):
                read(tmp_path / "noisy")
    part.unlink()
    with pytest.raises(UnspentError, match="part-00000.parquet: cannot be read: No such file"):
        unspent.read_measurements(tmp_path / "noisy")
    with pytest.raises(
        UnspentError, match="has no folder of a level\nhint: noisy measurements have a manifest.json"
    ):
        unspent.read_measurements(tmp_path)


def test_damaged_parquet_is_an_error_and_nothing_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    seeded(columns(), towns(), tmp_path / "noisy")
    part = tmp_path / "noisy" / "town" / "part-00000.parquet"
    good = part.read_bytes()
    manifest = tmp_path / "noisy" / "manifest.json"
    text, digest = manifest.read_text(), hashlib.sha256(good).hexdigest()
    refused = 0
    for at in range(4, len(good) - 8, 3):
        damaged = good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]
        part.write_bytes(damaged)
        # Files of others may be damaged and have their digest all the same.
        manifest.write_text(text.replace(digest, hashlib.sha256(damaged).hexdigest()))
        try:
            unspent.read_measurements(tmp_path / "noisy")
        except UnspentError:
            refused += 1
    assert refused > 50
    assert capfd.readouterr().err == "", "no panic is reported besides"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path):
    """In the middle of a table that takes a while: what was begun is gone when it returns."""
    table = tmp_path / "towns.csv"
    with open(table, "w") as file:
        file.write("code,children,adults\n")
        for i in range(2_000_000):
            file.write(f"{i:07},{i % 5},{i % 7}\n")
    budget = TOWNS.replace("Town = 4", "Town = 7")
    noisy = str(tmp_path / "noisy")
    left = interrupted(
        f"unspent.measure({str(table)!r}, unspent.Allocation.parse({budget!r}), {noisy!r})", tmp_path
    )
    assert left == ["towns.csv"]
