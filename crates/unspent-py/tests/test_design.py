"""The allocation with the least epsilon that meets needs."""

import json
import os
import subprocess
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from tables import columns, towns

import unspent
from unspent import Needs, UnspentError

#: As in examples/needs.toml.
UNITS = {"State": 1, "County": 5, "Tract": 250, "Block group": 792, "Block": 25181}
MINORITIES = ["black", "hispanic", "aian", "asian", "nhpi", "other", "two or more"]
TOWNS = {"County": 1, "Town": 20}


def blocks(root: Path) -> unspent.Allocation:
    return unspent.Allocation.read(root / "examples" / "blocks.toml")


def example(root: Path, spread="scattered", **options) -> Needs:
    """The needs of examples/needs.toml."""
    return (
        Needs(blocks(root), units=UNITS, **{"rest": "drop", **options})
        .need("County", margin=5, confidence="0.95", name="county totals")
        .need("Block group", table=["voting age", "race"], margin=12, name="voting age by race")
        .need(
            "Block",
            count=30,
            spread=spread,
            where={"race": MINORITIES},
            share="0.01",
            population=1300,
            name="minority share of a district",
        )
    )


def run(command: Path, *arguments) -> str:
    # Tables are not broken for pipes, unless COLUMNS says so; readline sets it behind Python's back.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run([command, "design", *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def test_the_command_says_the_same(command: Path, root: Path):
    file = root / "examples" / "needs.toml"
    found = unspent.design(file)
    assert found.to_dict() == json.loads(run(command, file, "--json"))
    assert run(command, file).startswith(str(found))
    checked = Needs.read(str(file)).check(blocks(root))
    other = root / "examples" / "blocks.toml"
    assert checked.to_dict() == json.loads(run(command, file, "--check", other, "--json"))
    numbers = ",".join(map(str, UNITS.values()))
    explained = blocks(root).explain(UNITS)
    written = run(command, "--explain", other, "--per-level", numbers, "--json")
    assert explained.to_dict() == json.loads(written)


def test_needs_in_code_are_those_of_the_file(root: Path):
    file = unspent.design(root / "examples" / "needs.toml")
    found = unspent.design(example(root))
    assert found.to_dict() == file.to_dict() and str(found) == str(file)
    assert json.loads(found.to_json()) == found.to_dict()
    assert 15.385 < found.epsilon.lower <= found.epsilon.upper < 15.386
    assert found.factor == 1 and found.delta == Fraction(1, 10**10)
    assert isinstance(found.rho, Fraction) and 0.998 < found.least_rho / found.rho <= 1
    assert found.allocation.rho == found.rho
    certified = found.allocation.certificate().total.tight
    assert certified.lower <= found.epsilon.upper and found.epsilon.lower <= certified.upper
    assert found.allocation.epsilon >= found.epsilon.fractions()[1]
    names = ["county totals", "voting age by race", "minority share of a district"]
    assert found.needs["name"] == names and found.needs["met"] == [True] * 3
    assert all(predicted <= asked for asked, predicted in zip(found.needs["asked"], found.needs["predicted"]))
    packed = example(root, spread="packed").design(prices=False)
    assert packed.epsilon.upper < 6.7
    assert packed.needs["tenth_wider_saves"] == [None] * 3 and found.needs["tenth_wider_saves"][2] > 0


def test_frames(root: Path):
    pandas = pytest.importorskip("pandas")
    needs = example(root, spread="packed")
    found = needs.design(prices=False)
    assert repr(needs) == f"<Needs '{blocks(root).name}': 3 needs>" and len(needs) == 3
    frame = found.to_pandas()
    assert frame.shape == (3, 12) and list(frame.columns) == list(found.needs)
    tables = pandas.DataFrame(found.tables)
    queries = len(blocks(root).queries)
    assert tables.shape == (5 * queries, 5)
    assert sum(rho for rho in found.tables["rho"] if rho is not None) == found.rho
    assert needs.check(found.allocation).to_pandas().shape == (3, 10)
    assert blocks(root).explain(UNITS).to_pandas().shape[1] == 5


def test_a_given_epsilon(root: Path):
    """The factor is below 1 where more is given than is needed, and above where that is allowed."""
    needs = Needs(towns(), units=TOWNS, rest="drop").need("Town", margin=10)
    least = needs.design(prices=False)
    for epsilon, wider in [("4", False), (Decimal("0.3"), True)]:
        given = Needs(towns(), units=TOWNS, rest="drop", epsilon=epsilon, wider=wider)
        found = given.need("Town", margin=10).design()
        assert found.epsilon <= Fraction(epsilon)
        assert (found.factor > 1) == (least.epsilon > Fraction(epsilon)) == wider
    with pytest.raises(UnspentError, match="\nhint: "):
        Needs(towns(), units=TOWNS, rest="drop", epsilon="0.3").need("Town", margin=10).design()


def test_needs_are_kept():
    """Each way to write a number is the same, and so is a list of units of the same shape."""
    designs = [
        Needs(towns(), units=TOWNS, rest="drop").need("Town", table="age", margin=margin).design()
        for margin in [10, "10", Fraction(10), Decimal("10.0"), 10.0]
    ]
    assert all(found.to_dict() == designs[0].to_dict() for found in designs)
    half = Needs(towns(), units=TOWNS, rest="drop").need("Town", margin="21/2", where={"age": "adult"})
    assert half.names == ["Town: age = adult"]
    listed = Needs(towns(), units=columns(30), rest="drop").need("Town", margin=6).need("County", margin=9)
    found = listed.design()
    assert found.least_rho is None and found.to_dict()["units"] == {"tree": "listed", "per_level": [3, 30]}
    assert listed.check(found.allocation).met
    promised = Needs(towns(), units=TOWNS, rest="drop").promise(5, attribute="age")
    promised.need("Town", table=["age"], margin=12)
    assert promised.design().to_dict()["promises"][0]["promised"] == "5"
    guarded = Needs(towns(), units=TOWNS, rest={"guard": towns(), "times": "1.5"}, name="Guarded")
    found = guarded.need("Town", margin=3).design()
    assert found.allocation.name == "Designed: Guarded" and found.to_dict()["guarded"]["largest"] <= 1.5
    sure = Needs(towns(), units=TOWNS, rest="drop", law="guaranteed").need("Town", table="age", margin=10)
    assert sure.design().rho > designs[0].rho


def test_a_check():
    needs = Needs(towns(), units=TOWNS, rest="drop").need("Town", margin=1).need("County", margin=100)
    checked = needs.check(towns())
    assert not checked.met and checked.needs["met"] == [False, True]
    assert repr(checked) == "<Checked 'Towns': 1 of 2 needs met>" and "County" in str(checked)
    assert checked.rho == towns().rho and towns().worst_case().epsilon("1e-10").upper == checked.epsilon.upper


def test_an_allocation_is_explained():
    explained = towns().explain(units=TOWNS)
    assert repr(explained) == "<Explained 'Towns': 4 tables>" and explained.rho == towns().rho
    assert explained.least_rho <= explained.rho
    assert sum(explained.tables["importance"]) == pytest.approx(1, abs=1e-4)
    assert sum(explained.tables["own_noise"]) == pytest.approx(1)
    assert "County" in str(explained) and json.loads(explained.to_json()) == explained.to_dict()


def test_a_file_can_be_added_to(root: Path):
    needs = Needs.read(root / "examples" / "needs.toml").need("Tract", margin=8)
    assert len(needs) == 4 and needs.names[3] == "Tract: total"


@pytest.mark.parametrize(
    "options, said",
    [
        (
            {"units": None},
            "^units: how many units the levels County, Town have is not known\nhint: give units=",
        ),
        ({"units": {"County": 1}}, "^units: how many units `Town` has is not said\nhint: "),
        ({"units": {"County": 1, "Towns": 2}}, "^units: `Towns` is not one of .*\nhint: did you mean `Town`"),
        ({"units": {"County": 3, "Town": 2}}, "^units: Town: `2` is not a number from 1 on, and no fewer"),
        ({"units": "nowhere.csv"}, "^nowhere.csv: cannot be read: No such file"),
        ({"rest": "lost"}, '^rest: `lost` is not "drop", "best" or .*\nhint: '),
        ({"rest": "best"}, "^best: the least epsilon leaves nothing .*\nhint: give epsilon"),
        ({"rest": {"guard": towns(), "times": 0}}, "^times: `0` is not a number above 0\nhint: "),
        ({"wider": True}, "^wider: the least epsilon meets all margins as they are\nhint: "),
        ({"epsilon": 0}, "^epsilon: `0` is not a number above 0\nhint: "),
        ({"delta": 2}, "^delta: `2` is not"),
        ({"law": "exact"}, "^law: `exact` is not `normal` or `guaranteed`\nhint: "),
        ({"exact_totals": ["State"]}, "State"),
        ({"schema": "schema.toml"}, "^schema is given without a list of units\nhint: "),
    ],
)
def test_needs_that_are_refused(options, said):
    with pytest.raises(UnspentError, match=said) as raised:
        Needs(towns(), **{"units": TOWNS, "rest": "drop", **options})
    assert raised.value.hint


@pytest.mark.parametrize(
    "options, said",
    [
        (
            {"level": "Twon"},
            "^level: `Twon` is not one of the levels County, Town\nhint: did you mean `Town`",
        ),
        ({"margin": None}, "^`margin` is missing\nhint: "),
        ({"margin": 0}, "^margin: `0` is not a number above 0\nhint: no finite budget"),
        ({"margin": "5 %"}, "^margin: `5 %` is not a number\nhint: "),
        ({"share": "0.1"}, "^share: there is a margin already\nhint: "),
        ({"population": 10}, "^population: says something of a share, and there is none\nhint: "),
        ({"table": ["sex"]}, "sex.*\nhint: "),
        ({"where": {"age": ["old"]}}, "^age: `old` is not one of child, adult\nhint: "),
        ({"where": {"age": []}}, "\nhint: "),
        ({"margin": None, "share": "0.1", "where": {"age": "adult"}}, "^`population` is missing\nhint: "),
        ({"count": 21}, "^count: a set of 21 units, where `Town` has 20\nhint: "),
        ({"count": "1/2"}, "^count: `1/2` is not a whole number"),
        ({"spread": "packed"}, "^spread: there is no set of units\nhint: "),
        ({"count": 2, "spread": "wide"}, "^spread: `wide` is not `scattered` or `packed`\nhint: "),
        ({"parts": {"Town": 21}}, "^parts: `21` is not from 1 to 20, the number of units of Town\nhint: "),
        ({"parts": {"Twon": 1}}, "^parts: `Twon` is not one of .*\nhint: did you mean `Town`"),
        ({"parts": {}}, "^parts: there is no unit in the set\nhint: "),
        ({"parts": {"Town": 2}, "count": 2}, "^count: there are parts already\nhint: "),
        ({"confidence": 95}, "^confidence: `95` is not a number above 0 and below 1"),
        ({"name": ""}, "^name: `` is not a text of one line"),
        ({"name": "taken"}, "^name: `taken` is already the name of a need\nhint: "),
    ],
)
def test_a_need_that_is_refused(options, said):
    needs = Needs(towns(), units=TOWNS, rest="drop").need("Town", margin=9, name="taken")
    with pytest.raises(UnspentError, match=said) as raised:
        needs.need(**{"level": "Town", "margin": 5, **options})
    assert raised.value.hint and "|" not in str(raised.value)
    assert needs.names == ["taken"], "what is refused is not added"


def test_what_else_is_refused(tmp_path: Path):
    needs = Needs(towns(), units=TOWNS, rest="drop")
    with pytest.raises(UnspentError, match="^needs: there is none\nhint: "):
        needs.design()
    with pytest.raises(
        UnspentError, match="^promises: one part of the release is needed, and only one\nhint"
    ):
        needs.promise(3)
    with pytest.raises(UnspentError, match="^attribute: `race` is not one of the attributes age"):
        needs.promise(3, attribute="race")
    with pytest.raises(TypeError, match="^margin: `True` .bool. is not a number"):
        needs.need("Town", margin=True)
    with pytest.raises(TypeError, match="^where: age: `5` .int. is not a value, or several"):
        needs.need("Town", margin=5, where={"age": 5})
    with pytest.raises(TypeError, match="^rest: "):
        Needs(towns(), units=TOWNS, rest={"guard": towns()})
    with pytest.raises(TypeError, match="^needs: `5` .int. is not needs; give the path"):
        unspent.design(5)
    with pytest.raises(UnspentError, match="nowhere.toml: cannot be read"):
        unspent.design("nowhere.toml")
    file = tmp_path / "needs.toml"
    file.write_text('allocation = "pl94-persons-us-2020"\ngoal = "least"\n')
    with pytest.raises(UnspentError, match="needs.toml:2:8: goal: `least` is not `least-epsilon`\n"):
        unspent.design(file)
