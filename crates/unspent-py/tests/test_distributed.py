"""What `unspent.spark` is built on: releases that several processes measure, without a cluster."""

import copy
import json
import pickle
import warnings

import numpy as np
import pyarrow as pa
import pytest
from tables import TOWNS, columns
from test_records import CODES, HOMES, people

import unspent
from unspent import NotPrivateWarning, UnspentError
from unspent._native import ReleaseKey, ReleasePlan, TableReader, UnitNoise

# Noise of every kind, with a wide one.
NOISY = HOMES.replace('"0.001"', '"5"').replace('detailed = "5"', 'detailed = "2000/3"')


def seeded(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return call(*arguments, **options)


@pytest.fixture(scope="module")
def key():
    return seeded(ReleaseKey.not_private, 7)


def texts(pair):
    offsets, letters = pair
    return [bytes(letters[a:b]).decode() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def summed(reader, parts, units, level):
    """Units of a level, and the counts of their cells, as a cluster adds them up: in whatever order."""
    codes = sorted(set(texts(reader.units(units)["codes"][level])))
    cells = {code: {} for code in codes}
    for part in parts:
        read = reader.read(part)
        names = texts(read["codes"][level])
        for row, cell, count in zip(read["rows"], read["cells"], read["counts"], strict=True):
            counts = cells[names[row]]
            counts[cell] = counts.get(cell, 0) + count
    return codes, [cells[code] for code in codes]


def entries(cells):
    offsets = np.cumsum([0, *(len(of) for of in cells)])
    numbers, counts = ([n for of in cells for n in part(of)] for part in (dict.keys, dict.values))
    return offsets, np.array(numbers, dtype=np.int64), np.array(counts, dtype=np.int64)


def test_records_in_parts_have_the_values_of_measure(key):
    allocation, table, units = unspent.Allocation.parse(NOISY), people(), pa.table({"code": CODES})
    plan = ReleasePlan(allocation, listed=True)
    known = seeded(unspent.measure, table, allocation, units=units, not_private_seed=7)
    reader = TableReader(plan.text)
    for level in plan.to_dict()["levels"]:
        noise = UnitNoise(plan.text, key, level["name"])
        parts = [table.slice(at, 900) for at in range(0, table.num_rows, 900)]
        codes, cells = summed(reader, parts, units, level["name"])
        whole = noise.noisy(codes, entries(cells))
        for query, values in zip(level["queries"], whole, strict=True):
            found, expected = known[level["name"]][query["name"]]
            assert list(found) == codes
            assert np.array_equal(expected.reshape(-1), values)
        for query, values in zip(level["exact"], noise.exact(codes, entries(cells)), strict=True):
            assert query["name"] == "total" and values.sum() == table.num_rows
        # Units in any order and number, given in any way.
        back = codes[::-1]
        size = plan.to_dict()["cells"]["size"]
        dense = np.array([[of.get(cell, 0) for cell in range(size)] for of in reversed(cells)])
        for query, values in enumerate(noise.noisy(pa_texts(back), dense)):
            length = level["queries"][query]["length"]
            expected = whole[query].reshape(len(codes), length)[::-1]
            assert np.array_equal(values.reshape(len(codes), length), expected)


def pa_texts(codes):
    """Arrow's buffers of a slice."""
    array = pa.array(["before", *codes]).slice(1)
    _, offsets, letters = array.buffers()
    return np.frombuffer(offsets, np.int32)[1 : len(codes) + 2], np.frombuffer(letters, np.uint8)


def test_units_with_columns_have_the_values_of_measure(key):
    allocation = unspent.Allocation.parse(TOWNS)
    table = columns()
    plan = ReleasePlan(allocation, listed=False)
    read = TableReader(plan.text).read(table)
    cells = plan.to_dict()["cells"]["listed"]
    matrix = np.zeros((30, 2), dtype=np.int64)
    matrix[read["rows"], np.searchsorted(cells, read["cells"])] = read["counts"]
    known = seeded(unspent.measure, table, allocation, not_private_seed=7)
    noisy = UnitNoise(plan.text, key, "Town").noisy(read["codes"]["Town"], matrix)
    for query, values in zip(("total", "age"), noisy, strict=True):
        assert np.array_equal(known["Town"][query].values.reshape(-1), values)


def test_the_end_is_what_the_command_writes(tmp_path):
    allocation = unspent.Allocation.parse(TOWNS)
    measured = seeded(unspent.measure, columns(), allocation, tmp_path / "noisy", not_private_seed=7)
    plan = ReleasePlan(allocation, listed=False)
    manifest = measured.manifest
    said = {name: manifest[name] for name in ("started", "finished", "table", "levels", "rows")}
    files = plan.files(**said, not_private_seed=7)
    assert sorted(files) == sorted(path.name for path in (tmp_path / "noisy").iterdir() if path.is_file())
    ours = json.loads(files["manifest.json"])
    assumed = ours.pop("assumes")
    assert assumed.startswith(manifest.pop("assumes")) and "several machines" in assumed
    # The certificates have these words too.
    stated, expected = ({file["name"]: file["sha256"] for file in of.pop("files")} for of in (ours, manifest))
    assert {name for name in stated if stated[name] != expected.pop(name)} == {
        "certificate.md",
        "certificate.html",
    }
    assert not expected
    assert ours == manifest and plan.certificate() == manifest["certificate"]
    for name in ("allocation.toml", "NOT-PRIVATE.txt"):
        assert files[name] == (tmp_path / "noisy" / name).read_text()
    for levels in (said["levels"][:1], [*said["levels"], {"level": "Street", "files": []}]):
        with pytest.raises(UnspentError, match="level `(Town|Street)`"):
            plan.files(**{**said, "levels": levels}, not_private_seed=7)
    said["levels"][0]["files"][0]["rows"] += 1
    with pytest.raises(UnspentError, match="its rows and units do not fit"):
        plan.files(**said)


def test_the_plan_is_refused_before_anything_is_read():
    with pytest.raises(UnspentError, match="the list of all units is missing"):
        ReleasePlan(unspent.Allocation.parse(NOISY), listed=False)
    broken = unspent.Allocation.parse(TOWNS.replace("[queries]", 'epsilon = "0.1"\n[queries]'))
    with pytest.raises(UnspentError, match="Towns"):
        ReleasePlan(broken, listed=False)
    assert ReleasePlan(broken, listed=False, break_promise=True).certificate()["kept"] is False
    with pytest.raises(UnspentError, match="bypass"):
        ReleasePlan(unspent.Allocation.parse(TOWNS), listed=False, bypass="only-children")


def test_the_key_is_shown_by_name_only(key):
    private = ReleaseKey.from_os()
    assert (repr(private), repr(key)) == ("<ReleaseKey, private>", "<ReleaseKey, NOT PRIVATE>")
    assert private.is_private and not key.is_private and len(private.expose()) == 32
    again = ReleaseKey.from_exposed(private.expose(), private=True)
    assert again.expose() == private.expose() and again.is_private
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="expose"):
            leak(private)
    with pytest.raises(UnspentError, match="32 bytes, not 3"):
        ReleaseKey.from_exposed(b"abc", private=False)
    with pytest.warns(NotPrivateWarning, match="seed 3"):
        ReleaseKey.not_private(3)


def test_what_a_unit_may_not_be_is_refused_without_a_count(key):
    noise = UnitNoise(ReleasePlan(unspent.Allocation.parse(TOWNS), listed=False).text, key, "Town")
    one = np.array([[3141, 5926]])
    for codes, cells, message in [
        (["1000", "1000"], np.vstack([one, one]), "a unit comes twice"),
        (["2000", "1000", "2000"], np.vstack([one] * 3), "a unit comes twice"),
        (["1000"], -one, "negative"),
        (["10000"], one, "code"),
        (["10"], one, "code"),
        (["1000", "1001"], one, "a matrix of 2 units × 2 cells"),
        (["1000"], (np.array([0, 1]), np.array([2]), np.array([3141])), "a cell has a number beyond 1"),
        (["1000"], (np.array([0, 1]), np.array([-1]), np.array([3141])), "a cell has a number beyond 1"),
        (["1000"], (np.array([0, 2]), np.array([1]), np.array([3141])), "do not fit"),
        (["1000"], (np.array([1, 0]), np.array([1]), np.array([3141])), "do not fit"),
        (["1000"], np.array([[2**63 - 1, 1]]), "a sum exceeds"),
    ]:
        with pytest.raises(UnspentError, match=message) as raised:
            noise.noisy(codes, cells)
        assert not any(secret in str(raised.value) for secret in ("3141", "5926", "9223"))
