"""An answer is two ends; nothing turns it into one float by accident."""

import math
import operator
import pickle
from fractions import Fraction

import numpy as np
import pytest

from unspent import Bounds, BoundsArray, Composition, DiscreteGaussian, UnspentError

TEN = Composition([DiscreteGaussian(sigma2=5, count=10)])


def test_ends():
    delta = TEN.delta(4)
    lower, upper = delta.fractions()
    assert Fraction(delta.lower) <= lower < upper <= Fraction(delta.upper)
    assert delta.lower in delta and upper in delta and 0 not in delta
    assert math.isclose(10**delta.log10_upper, delta.upper)
    assert [Fraction(text) for text in delta.decimal(3)] == [Fraction("0.00573"), Fraction("0.00574")]
    with pytest.raises(ValueError, match="digits: `0`"):
        delta.decimal(0)


def test_what_no_float_can_hold():
    delta = TEN.delta(1000)
    assert (delta.lower, delta.upper) == (0.0, 5e-324)
    assert -110_000 < delta.log10_lower <= delta.log10_upper < -100_000
    assert delta.decimal(4)[0].split("e")[1] == str(math.floor(delta.log10_lower))
    assert pickle.loads(pickle.dumps(delta)) == delta
    lower, upper = delta.fractions()
    assert 0 < lower < upper < Fraction(1, 10**100_000)
    assert "1e-9999" not in delta and 0 not in delta and -1 not in delta
    assert lower in delta and upper in delta and lower / 2 not in delta and 2 * upper not in delta


def test_what_was_never_computed_is_not_restored():
    """Ends whose decimals nobody could write, or that are out of order."""
    for lower, upper in [
        ((1.0, -(2**63)), (1.0, 0)),
        ((0.0, 0), (1.0, 2**63 - 1)),
        ((1.0, 1), (1.0, 0)),
        ((3.0, 0), (1.0, 9)),
    ]:
        with pytest.raises(ValueError, match="not the parts of bounds"):
            Bounds._restore(lower, upper)
    assert str(Bounds._restore((1.0, -(2**62)), (1.0, 2**62)))


def test_what_no_fraction_can_hold():
    delta = TEN.delta("1e12")
    assert delta.upper == 5e-324 and 0 in delta and 1 not in delta
    with pytest.raises(UnspentError, match="^fractions: "):
        delta.fractions()
    assert delta.decimal(2)[1] and str(delta)


@pytest.mark.parametrize(
    "accident",
    [float, int, bool, abs, round, math.sqrt, np.float64, math.log10]
    + [lambda b: b + 1, lambda b: 1.0 * b, lambda b: b < "x".upper, lambda b: b / b, sum]
    + [
        lambda b: np.array([1.0]) + b,
        lambda b: np.array([b], dtype=float),
    ],
)
def test_accidents(accident):
    with pytest.raises(TypeError):
        accident(TEN.delta(4))


def test_formats_round_the_guarantee_away_from_the_truth():
    delta, tiny = TEN.delta(4), TEN.delta(1000)
    assert [f"{delta:{form}}" for form in (".3f", ".2e", ".3g", ">9.4f", ".1%")] == (
        ["0.006", "5.74e-3", "0.00574", "   0.0058", "0.6%"]
    )
    assert f"{tiny:.3f}" == "0.001" and Fraction(f"{tiny:.3e}") >= tiny.fractions()[1]
    assert Fraction(f"{tiny:.3e}") < tiny.fractions()[1] * Fraction(1002, 1000)
    # Of a trade-off function the lower end is the guarantee.
    tradeoff = TEN.tradeoff("0.05")
    for bounds in (tradeoff, TEN.tradeoff(["0.05"])[0], pickle.loads(pickle.dumps(tradeoff))):
        assert (
            Fraction(f"{bounds:.4f}")
            <= tradeoff.fractions()[0]
            < Fraction(f"{bounds:.4f}") + Fraction(1, 10**4)
        )
    power = TEN.power("0.05")
    assert Fraction(f"{power:.4f}") >= power.fractions()[1]
    assert pickle.loads(pickle.dumps(TEN.tradeoff(["0.05"])))[0].__format__(".4f") == f"{tradeoff:.4f}"
    for wrong in ("f", ".3", "d", ".3d", "s", "x.3f", ".f", "10"):
        with pytest.raises(ValueError, match="is not a format of bounds: it says the digits"):
            format(delta, wrong)


def test_comparisons_are_answered_where_both_ends_agree():
    delta = TEN.delta(4)
    lower, upper = delta.fractions()
    assert delta < 0.5 and delta <= 0.5 and 0.5 > delta and not delta > 0.5 and not delta >= "0.5"
    assert delta > 0 and delta > -1 and not delta < -1 and delta < math.inf and delta > -math.inf
    assert delta <= upper and not delta > upper and delta >= lower and not delta < lower
    assert delta < TEN.delta(3) and TEN.delta(3) >= delta and max(delta, 0.1) == 0.1
    assert TEN.delta(1000) < "1e-9999" and TEN.delta(1000) < 5e-324 and TEN.delta(1000) > 0
    compare = [operator.lt, operator.le, operator.gt, operator.ge]
    for decides in compare:
        with pytest.raises(
            UnspentError, match=r"^the bounds \[.*\] do not decide how the truth compares with"
        ) as caught:
            decides(delta, (lower + upper) / 2)
        assert ".upper or .lower" in caught.value.hint
        with pytest.raises(UnspentError):
            decides(delta, TEN.delta("4.0000000000001") if decides in compare[:2] else delta)
        for no_number in (None, [1], math.nan):
            with pytest.raises((TypeError, ValueError)):
                decides(delta, no_number)
    with pytest.raises(UnspentError):
        operator.lt(delta, upper)
    with pytest.raises(UnspentError):
        operator.gt(delta, lower)


@pytest.mark.parametrize(
    "accident", [np.asarray, np.log10, float, lambda a: a + 1.0, lambda a: np.ones(2) * a, np.mean]
)
def test_accidents_with_arrays(accident):
    with pytest.raises(TypeError):
        accident(TEN.delta([4, 5]))


def test_equality_is_of_both_ends():
    assert TEN.delta(4) == TEN.delta("4") and hash(TEN.delta(4)) == hash(TEN.delta("4"))
    assert TEN.delta(4) != TEN.delta(5)
    assert TEN.delta(4) != TEN.delta(4).upper
    assert len({TEN.delta(4), TEN.delta("4"), TEN.delta(5)}) == 2


def test_arrays_index_like_numpys():
    grid = np.linspace(0, 5, 24).reshape(2, 3, 4)
    deltas = TEN.delta(grid)
    assert isinstance(deltas, BoundsArray)
    assert deltas.shape == deltas.upper.shape == (2, 3, 4) and len(deltas) == 2
    assert deltas[1, 2, 3] == TEN.delta(5)
    assert deltas[1].shape == (3, 4) and deltas[..., 0].shape == (2, 3)
    assert np.array_equal(deltas[grid > 2].upper, deltas.upper[grid > 2])
    flat = TEN.delta([1, 2, 3])
    assert flat[-1] == flat[2] == TEN.delta(3) and isinstance(flat[0], Bounds)
    assert [one.upper for one in flat] == flat.upper.tolist()
    assert [row.shape for row in deltas] == [(3, 4), (3, 4)]
    assert f"{flat[0]}" == str(flat[0])
    for out in (3, -4, 10**30):
        with pytest.raises(IndexError):
            flat[out]


def test_arrays_pickle_and_compare():
    deltas = TEN.delta([[1, 2, 3], [4, 500, 60000]])
    again = pickle.loads(pickle.dumps(deltas))
    assert again == deltas and again.shape == (2, 3)
    assert deltas != TEN.delta([1, 2, 3])
    assert repr(again) == repr(deltas)


def test_unpickling_nonsense():
    for parts in [
        ((1.5, 0), (1.0, 0)),
        ((-1.0, 0), (1.0, 0)),
        ((math.nan, 0), (1.0, 0)),
        ((3.0, 0), (1.0, 9)),
    ]:
        with pytest.raises(ValueError, match="not the parts of bounds"):
            Bounds._restore(*parts)
    for shape in ([3], [], [2**63, 2]):
        with pytest.raises(ValueError, match="not the parts of an array"):
            BoundsArray._restore(shape, ([1.0], [0]), ([1.0], [0]))
    with pytest.raises(ValueError, match="not the parts of an array"):
        BoundsArray._restore([2**63, 2], ([], []), ([], []))
