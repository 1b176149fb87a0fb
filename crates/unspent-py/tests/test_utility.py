"""What noise does to a table, asked from Python."""

import json
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from tables import TOWNS, columns, towns

import unspent
from unspent import NotPrivateWarning, UnspentError


def promising():
    return unspent.Allocation.parse(
        TOWNS.replace('delta = "1e-10"', 'delta = "1e-10"\nconversion = "bun-steinke"')
    )


def test_before_and_after_calibration():
    report = unspent.utility(columns(), promising(), query="age", by="age")
    assert report.levels == ["County", "Town"] and "NOT PRIVATE" in report.warning
    found = report.to_dict()
    assert json.loads(report.to_json()) == found
    assert found["rows"] == 30 and found["by"] == ["age"] and found["change"]["scope"] == "total"
    town = found["levels"][1]["all"]
    assert town["plain"]["before"]["mse"] == pytest.approx(2000)
    assert town["plain"]["after"]["mse"] < 2000 and town["cut"]["before"]["mse"] < 2000
    assert town["plain"]["before"]["bias"] == 0 and town["cut"]["before"]["bias"] > 0
    text = str(report)
    assert (
        "Raw noisy counts:" in text
        and "Clamped at zero:" in text
        and "Town, clamped at zero, by cell:" in text
    )
    assert "County, clamped at zero, by cell:" in report.text("county")
    with pytest.raises(UnspentError, match="^level: `State` is not one of County, Town"):
        report.text("State")
    assert repr(report) == "<UtilityReport: 30 rows, 2 levels; NOT PRIVATE>"


def test_noise_may_be_given_directly():
    schema_of = towns()
    report = unspent.utility(
        columns(), schema_of, schema_of, sigma2={"Town": (8, "2"), "County": (8, 2)}, query="total"
    )
    for level in report.to_dict()["levels"]:
        pair = level["all"]["plain"]
        assert pair["after"]["mse"] / pair["before"]["mse"] == pytest.approx(0.25, rel=1e-3)
    other = unspent.utility(columns(), schema_of, schema_of, sigma={"Town": ("1.5", 3)}, query="total")
    assert other.to_dict()["levels"][1]["sigma2_before"] == "2.25"


def test_the_command_says_the_same(command: Path, root: Path):
    table, budget = root / "examples" / "blocks.csv", root / "examples" / "blocks.toml"
    arguments = [
        "utility",
        table,
        "--before",
        budget,
        "--query",
        "race",
        "--by",
        "race",
        "--trials",
        "20",
        "--json",
    ]
    written = subprocess.run(
        [command, *arguments, "--not-private-seed", "5"], capture_output=True, check=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        report = unspent.utility(
            table, unspent.Allocation.read(budget), query="race", by=["race"], trials=20, not_private_seed=5
        )
    assert json.loads(written.stdout) == report.to_dict()


def test_to_pandas():
    pytest.importorskip("pandas")
    frame = unspent.utility(columns(), promising(), query="age").to_pandas()
    assert list(frame.columns[:4]) == ["level", "cell", "band", "counts"]
    whole = frame[(frame.level == "Town") & frame.cell.isna() & frame.band.isna()]
    assert whole.published.tolist() == ["plain", "cut", "estimate"]
    assert np.allclose(whole.mse_before.iloc[0], 2000) and whole.mse_before.iloc[2] < 2000
    assert np.isnan(whole.mae_before.iloc[2]) and whole.bias_after.iloc[2] == 0
    assert frame.warning.str.contains("NOT PRIVATE").all()


@pytest.mark.parametrize(
    "arguments, options, said",
    [
        ((), {}, "^table: nothing says how the table is read\nhint: give schema="),
        ((towns(),), {}, "^no promise: .*\nhint: give after=, an Allocation with the noise after"),
        (
            (towns(), towns()),
            {},
            "^level `County`: its queries have different noise\nhint: give query=, one of: total, age",
        ),
        (
            (towns(), towns()),
            {"query": "sex"},
            "^query: `sex` is not asked at level `County`\nhint: it asks total, age",
        ),
        (
            (towns(), towns()),
            {"query": "age", "by": "sex"},
            "attributes: `sex` is not one of the attributes and recodes age",
        ),
        (
            (towns(), towns()),
            {"query": "age", "bands": [1, 2]},
            "^bands: `1,2` is not ascending numbers from 0 on",
        ),
        (
            (towns(), towns()),
            {"sigma2": {"State": (1, 1)}},
            "^sigma2: level: `State` is not one of the levels of the table",
        ),
        ((towns(), towns()), {"sigma2": {"Town": 0}}, "^level `Town`: sigma2: `0` is not a variance"),
        (
            (towns(), towns()),
            {"query": "age", "trials": 2**40},
            "^trials: `1099511627776` is not a whole number up to",
        ),
    ],
)
def test_nonsense(arguments, options, said):
    with pytest.raises(UnspentError, match=said):
        unspent.utility(columns(), *arguments, **options)


def test_wrong_types():
    with pytest.raises(TypeError, match="^sigma2: .* is not one number, or a pair"):
        unspent.utility(columns(), towns(), towns(), sigma2={"Town": (1, 2, 3)})
    with pytest.raises(TypeError, match="^by: .* is not names of attributes"):
        unspent.utility(columns(), towns(), towns(), by=5)


def test_values_are_not_shown():
    table = {**columns(), "adults": np.where(np.arange(30) == 12, -98765, 1)}
    with pytest.raises(UnspentError, match="^table: row 13: adults: is not a count") as refused:
        unspent.utility(table, promising(), query="age")
    assert "98765" not in str(refused.value)
