"""Allocations: certificates, calibration, files, frames."""

import json
import pickle
import subprocess
from fractions import Fraction

import pytest

import unspent
from unspent import Allocation, UnspentError

CENSUS = unspent.preset("pl94-persons-us-2020")


def test_presets():
    names = unspent.presets()
    assert len(names) == 13 and "paper-2022-08-25" in names
    for name in names:
        allocation = unspent.preset(name)
        assert Allocation.parse(allocation.to_toml()) == allocation
        assert allocation.rho > 0 and allocation.delta == Fraction("1e-10")
    with pytest.raises(
        UnspentError, match="^preset: `pl94-persons-us-2021` is not the name of a preset"
    ) as caught:
        unspent.preset("pl94-persons-us-2021")
    assert caught.value.hint == "did you mean `pl94-persons-us-2020`? (presets() lists them)"


def test_what_an_allocation_says():
    assert (CENSUS.neighbours, CENSUS.record) == ("bounded", "person")
    assert CENSUS.levels == ["US", "State", "County", "Tract", "Block_Group", "Block"]
    assert "cenrace" in CENSUS.attributes and len(CENSUS.queries) == 11
    measurements = CENSUS.measurements
    assert len(measurements) == 65
    assert sum(m.rho for m in measurements) == CENSUS.rho == Fraction(293764, 114921)
    # One person moves two cells of each query.
    assert all(m.rho == 1 / m.sigma2 for m in measurements)


def test_a_signed_certificate():
    """The figures that were signed, and the tight ones beside them."""
    certificate = CENSUS.certificate()
    total = certificate.total
    assert f"{total.canonne_kamath_steinke:.2f}" == "17.14"
    assert total.tight.decimal(6) == ("16.4677", "16.4678")
    assert total.main_path.decimal(6) == ("16.4651", "16.4652")
    assert total.tight.upper < total.canonne_kamath_steinke < total.bun_steinke
    assert total.tight == CENSUS.worst_case().epsilon("1e-10")
    assert total.main_path == CENSUS.composition(path="main").epsilon("1e-10")
    by_label = {line.label: line for line in certificate.lines}
    assert by_label["Block-within-State"].tight == CENSUS.worst_case(within="State").epsilon("1e-10")
    assert by_label["record-within-State"].tight == CENSUS.worst_case(keeping="State").epsilon("1e-10")
    assert by_label["cenrace"].tight == CENSUS.worst_case(attribute="cenrace").epsilon("1e-10")
    assert by_label["State"].tight == CENSUS.worst_case(level="State").epsilon("1e-10")
    assert [line.scope for line in certificate.lines].count("level") == 6
    assert (certificate.published, certificate.delta) == ("canonne-kamath-steinke", Fraction("1e-10"))
    everything = certificate.reductions[0]
    assert everything.name is None and everything.failing < everything.factor < 1
    assert "16.467752  16.467751  16.465156" in str(certificate)
    assert str(certificate).startswith("Promise kept: states epsilon 17.143551 at delta 1e-10.\n")
    assert certificate.kept is True and len(certificate.promises) == 1
    assert any("drawn once" in text for text in certificate.assumptions)
    assert any(text.startswith("Detailed DHC-A") for text in certificate.missing)
    assert repr(certificate).startswith("<Certificate of 'P.L. 94-171")


def test_the_commands_certificate(command):
    """One report, whichever way it is asked for."""
    for name in ("pl94-persons-us-2020", "paper-2022-08-25"):
        printed = subprocess.run([command, "certificate", name, "--json"], capture_output=True, check=True)
        certificate = unspent.preset(name).certificate()
        assert certificate.to_dict() == json.loads(printed.stdout) == json.loads(certificate.to_json())


def test_certificates_pickle():
    certificate = CENSUS.certificate(delta="1e-6", conversion="bun-steinke")
    again = pickle.loads(pickle.dumps(certificate))
    assert again.to_json() == certificate.to_json() != CENSUS.certificate().to_json()


def test_two_products():
    both = unspent.certificate(CENSUS, unspent.preset("dhc-persons-us-2020"))
    assert both.total.tight.upper > 31
    reasons = {reason for part, reason in both.left_out if part.startswith("attribute ")}
    assert reasons == {"not every product has an attribute of that name"}
    assert both.allocations == (CENSUS, unspent.preset("dhc-persons-us-2020"))
    with pytest.raises(UnspentError, match="is for bounded neighbours"):
        unspent.certificate(CENSUS, unspent.preset("paper-2022-08-25"))
    with pytest.raises(
        TypeError, match="^item 0: allocations: `'pl94-persons-us-2020'` \\(str\\) is not an Allocation"
    ):
        unspent.certificate("pl94-persons-us-2020")
    with pytest.raises(UnspentError, match="no product was named"):
        unspent.certificate()


def test_calibration():
    paper = unspent.preset("paper-2022-08-25")
    less = paper.calibrate(epsilon="21.97", delta="1e-10")
    assert abs(less.factor - Fraction("0.878207101742")) < Fraction("1e-10")
    assert less.allocation.composition().delta("21.97").fractions()[1] <= Fraction("1e-10")
    assert all(
        m.sigma2 == less.factor * n.sigma2 for m, n in zip(less.allocation.measurements, paper.measurements)
    )
    assert less.lines[0].promised >= 21.97 and less.lines[1].promised is None
    assert less.lines[0].tight_before.upper < less.lines[0].tight_after.upper
    each = CENSUS.calibrate(each_level=True)
    assert each.factor is None and each.exceeds in (True, False)
    assert all(line.tight_after.lower <= line.promised for line in each.lines[1:])
    with pytest.raises(UnspentError, match="^epsilon, conversion: both are given"):
        paper.calibrate(epsilon=3, conversion="bun-steinke")
    with pytest.raises(UnspentError, match="^epsilon: `-3` is not"):
        paper.calibrate(epsilon=-3)


def test_no_promise():
    text = CENSUS.to_toml()
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("conversion", "epsilon")))
    with pytest.raises(UnspentError, match="^no promise: the allocation does not say"):
        Allocation.parse(text).calibrate()


def test_parts():
    with pytest.raises(
        UnspentError, match="^level, keeping, attribute, within: more than one part was named"
    ):
        CENSUS.composition(level="State", within="County")
    with pytest.raises(UnspentError, match="^level: `state` is not one of US, State") as caught:
        CENSUS.composition(level="state", path="main")
    assert caught.value.hint == "did you mean `State`?"


def test_paths():
    """One composition is no guarantee where there are several paths."""
    assert CENSUS.paths == 16 and unspent.preset("paper-2022-08-25").paths == 1
    with pytest.raises(UnspentError, match="^composition: the noise may take 16 paths"):
        CENSUS.composition()
    with pytest.raises(UnspentError, match="^path: `other` is not"):
        CENSUS.composition(path="other")
    worst, main = CENSUS.worst_case(), CENSUS.composition(path="main")
    assert worst.count > 100 and worst.attained
    assert worst.delta("16.4655").lower > Fraction("1e-10") > main.delta("16.4655").upper
    assert worst.tradeoff("1e-6").lower <= main.tradeoff("1e-6").upper
    assert worst.power("1e-6").upper >= main.power("1e-6").lower
    least, most = worst.rho.fractions()
    assert least <= CENSUS.rho <= most


def test_a_broken_promise_is_said():
    text = """
name = "x"
neighbours = "bounded"
delta = "1e-10"
epsilon = "4"
[[levels]]
name = "a"
[levels.sigma2]
q = 4
"""
    certificate = Allocation.parse(text).certificate()
    assert certificate.kept is False
    assert certificate.promises[0].startswith(
        "PROMISE NOT KEPT: states epsilon 4 at delta 1e-10, delivers at least "
    )
    assert str(certificate).startswith("PROMISE NOT KEPT")
    assert Allocation.parse(text).epsilon == 4
    # Shares of an epsilon are a budget, and keep it.
    shares = text.replace("[levels.sigma2]\nq = 4", "share = 1\n[levels.shares]\nq = 1")
    assert Allocation.parse(shares).certificate().kept is True


def test_two_records_of_one_person():
    units = unspent.preset("pl94-units-us-2020")
    with pytest.raises(UnspentError, match="a record of `P.L. 94-171") as caught:
        unspent.certificate(CENSUS, units)
    assert "touches" in caught.value.hint
    one, two = (unspent.certificate(CENSUS, units.touching(n)).total.rho.upper for n in (1, 2))
    assert one < two
    with pytest.raises(UnspentError, match="^touches: `3` is not 1 or 2"):
        units.touching(3)


def test_files(tmp_path, root):
    path = tmp_path / "budget.toml"
    path.write_text(CENSUS.to_toml())
    assert Allocation.read(path) == Allocation.read(str(path)) == CENSUS
    assert Allocation.read(root / "examples" / "allocation.toml").rho > 0
    path.write_text(CENSUS.to_toml().replace("bounded", "unbounded", 1))
    with pytest.raises(UnspentError) as caught:
        Allocation.read(path)
    assert str(caught.value).startswith(f"{path}:") and "^^^" in str(caught.value)
    table = tmp_path / "budget.csv"
    table.write_text("level,query,rho\nState,total,1/10\nCounty,total,0.2\n")
    read = Allocation.read(table, neighbours="add-remove")
    assert read.rho == Fraction(3, 10) and read.levels == ["State", "County"]
    with pytest.raises(UnspentError, match="does not say what its neighbours are"):
        Allocation.read(table)
    with pytest.raises(UnspentError, match="cannot be read: no such file"):
        Allocation.read(tmp_path / "absent.toml")
    with pytest.raises(TypeError):
        Allocation.read(5)


def test_frames():
    pytest.importorskip("pandas")
    frame = CENSUS.certificate().to_pandas()
    assert list(frame["label"][:2]) == ["total", "US"]
    assert (frame["tight_lower"] <= frame["tight_upper"]).all()
    assert (frame["tight_upper"] < frame["bun_steinke"]).all()
    frame = CENSUS.to_pandas()
    assert len(frame) == 65 and frame["rho"].sum() == CENSUS.rho
    frame = CENSUS.calibrate().to_pandas()
    assert (frame["tight_after"] >= frame["tight_before"]).all()
