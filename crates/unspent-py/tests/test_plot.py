"""Pictures show the guarantees: what is drawn is read back."""

import numpy as np
import pytest

import unspent
from unspent import (
    ApproximateDp,
    Composition,
    DiscreteGaussian,
    Gaussian,
    Subsampled,
    ZeroConcentratedDp,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

TEN = Composition([DiscreteGaussian(sigma2=5, count=10)])


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_a_curve_is_the_upper_bound():
    axes = unspent.plot.curve(TEN, np.linspace(0, 12, 7))
    tight, cks, bun_steinke, *_legend = axes.get_lines()
    assert tight.get_xdata().tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert tight.get_ydata().tolist() == TEN.delta([0, 2, 4, 6, 8, 10, 12]).log10_upper.tolist()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["tight", "Canonne–Kamath–Steinke, from ρ", "Bun–Steinke, from ρ"]
    assert (cks.get_ydata() >= tight.get_ydata()).all() and (bun_steinke.get_ydata() >= cks.get_ydata()).all()


def test_its_axis_has_no_smallest_number():
    axes = unspent.plot.curve(TEN, np.linspace(0, 1000, 5), conversions=False)
    assert axes.get_lines()[0].get_ydata()[-1] < -100_000
    axes.figure.canvas.draw()
    assert any("-100000" in label.get_text() for label in axes.get_yticklabels())


def test_grids_reach_far_enough():
    axes = unspent.plot.curve(
        [TEN, Composition([Gaussian(sigma2=50)])], smallest_delta="1e-30", conversions=False
    )
    assert [len(line.get_xdata()) for line in axes.get_lines()] == [201, 201]
    assert axes.get_lines()[0].get_ydata()[-1] == pytest.approx(-30, abs=1e-6)


def test_what_has_no_rho_or_may_reveal_the_record_is_drawn_too():
    steps = Composition(Subsampled(Gaussian(sigma=1), q="0.01", count=1000))
    bought = Composition([ApproximateDp(epsilon=1, delta="1e-6", count=3), Gaussian(sigma=2)])
    known = Composition(ZeroConcentratedDp(rho=1))
    axes = unspent.plot.curve({"steps": steps, "bought": bought, "ten": TEN}, delta="1e-7")
    assert len(axes.get_lines()) == 3 + 2 + 2 + 1 + 2
    # At 1e-7 the second has no finite epsilon.
    assert len(axes.texts) == 2
    alone = unspent.plot.curve(bought)
    assert bought.delta(alone.get_lines()[0].get_xdata()[-1]).upper < 0.02
    labels = [text.get_text() for text in unspent.plot.curve(known).get_legend().get_texts()]
    assert labels == ["upper bound"]


def test_a_tradeoff_is_the_lower_bound():
    figure, axes = pyplot.subplots()
    census = unspent.preset("pl94-persons-us-2020")
    levels = {level: census.composition(level=level, path="main") for level in ("US", "Block")}
    assert unspent.plot.tradeoff(levels, [0.01, 0.05], ax=axes) is axes
    us, block, guessing = axes.get_lines()
    assert us.get_ydata().tolist() == levels["US"].tradeoff([0.01, 0.05]).lower.tolist()
    assert [line.get_label() for line in (us, block, guessing)] == ["US", "Block", "guessing"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["US", "Block", "guessing"]


def test_an_allocation_is_drawn_by_its_name():
    axes = unspent.plot.tradeoff(unspent.preset("paper-2022-08-25"), [0.05])
    name = "2022-08-25 demonstration as read by Su, Su and Wang"
    assert axes.get_title() == f"{name}\nadd-remove neighbours"


def test_the_epsilon_at_delta_is_marked():
    axes = unspent.plot.curve(TEN, np.linspace(0, 12, 7), delta="1e-11")
    assert axes.get_title() == "Privacy curve"
    (mark,) = [line for line in axes.get_lines() if line.get_label() == "_mark"]
    upper = TEN.epsilon("1e-11").upper
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (upper, pytest.approx(-11))
    (written,) = axes.texts
    assert written.get_text() == "ε ≤ 10.13" and upper <= 10.13
    assert "δ = 1e-11" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_allocations_say_their_delta_and_neighbours():
    paper = unspent.preset("paper-2022-08-25")
    axes = unspent.plot.curve(paper, np.linspace(0, 25, 5), conversions=False)
    assert axes.get_title() == f"{paper.name}\nadd-remove neighbours"
    assert paper.composition().epsilon("1e-10").upper <= 20.33
    assert [text.get_text() for text in axes.texts] == ["ε ≤ 20.33"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["tight", "δ = 1e-10"]


@pytest.mark.parametrize("nothing, error", [([], ValueError), ([5], TypeError), ({"a": None}, TypeError)])
def test_nonsense(nothing, error):
    with pytest.raises(error, match="^releases: "):
        unspent.plot.curve(nothing)


def test_files(tmp_path):
    path = tmp_path / "curve.svg"
    unspent.plot.curve(TEN).figure.savefig(path)
    assert path.stat().st_size > 10_000
