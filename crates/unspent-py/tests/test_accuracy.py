"""How far estimates will be from the true counts, without data."""

import json
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from tables import TOWNS, columns, towns

import unspent
from unspent import NotPrivateWarning, UnspentError


def deviations(found):
    return {
        (level["level"], query["query"]): query["estimate"]["sd"]
        for level in found.to_dict()["levels"]
        for query in level["queries"]
    }


def test_a_regular_tree():
    """One total of variance 4, and four counts of variance 1 that add up to it: 2 together."""
    allocation = unspent.Allocation.parse(
        TOWNS.replace('total = "16/3", age = 20', "total = 4").replace("total = 5, age = 2000", "age = 1")
    )
    found = unspent.accuracy(allocation, [1, 2])
    assert found.levels == ["County", "Town"] and repr(found) == "<Accuracy 'Towns': 2 levels>"
    assert deviations(found)["County", "total"] == pytest.approx(np.sqrt(2), rel=1e-7)
    total = found.to_dict()["levels"][0]["queries"][0]
    assert total["margin"] == pytest.approx(1.959964 * np.sqrt(2), rel=1e-6)
    assert json.loads(found.to_json()) == found.to_dict() and "County" in str(found)
    wider = unspent.accuracy(allocation, per_level=[1, 2], confidence="0.99")
    assert wider.to_dict()["levels"][0]["queries"][0]["margin"] > 1.3 * total["margin"]
    bounded = unspent.Allocation.parse(allocation.to_toml().replace("add-remove", "bounded"))
    exact = unspent.accuracy(bounded, [1, 2], exact_totals="County").to_dict()
    assert exact["exact_totals"] == ["County"]
    assert exact["levels"][0]["queries"][0]["estimate"] == {"known": "exact"}
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert len(frame) == 4 and list(frame.level) == ["County", "County", "Town", "Town"]


def test_a_list_of_units_has_the_errors_of_its_estimates(root: Path, tmp_path: Path):
    examples = root / "examples"
    allocation = unspent.Allocation.read(examples / "blocks.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        unspent.measure(
            examples / "blocks.csv", allocation, tmp_path / "noisy", units=True, not_private_seed=1
        )
    estimates = unspent.estimate(tmp_path / "noisy")
    found = unspent.accuracy(allocation, units=examples / "blocks.csv")
    for (level, query), deviation in deviations(found).items():
        variances = estimates.table(level, query)["variance"]
        assert deviation == pytest.approx(np.sqrt(variances.mean()), rel=1e-9)
    assert deviations(estimates.accuracy()) == pytest.approx(deviations(found), rel=1e-9)
    lines = (examples / "blocks.csv").read_text().splitlines()[1:]
    codes = {"geoid": [line.split(",")[0] for line in lines]}
    assert unspent.accuracy(allocation, units=codes).to_dict() == found.to_dict()


def test_the_command_says_the_same(command: Path, root: Path):
    example = root / "examples" / "blocks.toml"
    done = subprocess.run(
        [command, "accuracy", example, "--per-level", "1,5,244,815,25181", "--json"],
        check=True,
        capture_output=True,
    )
    ours = unspent.accuracy(unspent.Allocation.read(example), [1, 5, 244, 815, 25181])
    assert ours.to_dict() == json.loads(done.stdout)


def test_what_is_refused():
    for options, said in [
        ({}, "^per_level: how many units the levels County, Town have is not known\nhint: "),
        ({"per_level": [1]}, "^per_level: `1` is not 2 numbers of units, of County, Town"),
        ({"per_level": [2, 1]}, "^per_level: `2,1` is not numbers from 1 on that do not fall"),
        ({"per_level": [1, 2], "units": columns()}, "^both per_level and units are given\nhint: "),
        ({"per_level": [1, 2], "bypass": "none"}, "^bypass is given without units\nhint: "),
        ({"per_level": [1, 2], "confidence": 1}, "^confidence: `1` is not"),
        ({"per_level": [1, 2], "exact_totals": ["State"]}, "State"),
        ({"units": "nowhere.csv"}, "^nowhere.csv: cannot be read: No such file"),
    ]:
        with pytest.raises(UnspentError, match=said):
            unspent.accuracy(towns(), **options)
