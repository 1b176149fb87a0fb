"""To and from dp-accounting."""

from fractions import Fraction

import numpy as np
import pytest

import unspent
from unspent import Composition, DiscreteGaussian, Gaussian, UnspentError
from unspent.events import DiscreteGaussianDpEvent

dp_accounting = pytest.importorskip("dp_accounting")
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")


def test_trees():
    tree = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.5), 3),
            dp_accounting.SelfComposedDpEvent(
                dp_accounting.ComposedDpEvent([DiscreteGaussianDpEvent("2.5", 2), DiscreteGaussianDpEvent(0.5)]), 4
            ),
        ]
    )
    assert Composition.from_dp_event(tree) == Composition(
        [
            Gaussian("9/4", count=3),
            DiscreteGaussian("25/4", count=4, shift=2),
            DiscreteGaussian("1/4", count=4),
        ]
    )


class DpEventOfMyOwn(dp_accounting.GaussianDpEvent):
    """Might do anything besides."""


@pytest.mark.parametrize(
    "event, said",
    [
        (dp_accounting.LaplaceDpEvent(1.0), "^event: `LaplaceDpEvent` is not an event that is accounted for here"),
        (dp_accounting.NonPrivateDpEvent(), "^event: `NonPrivateDpEvent` is not"),
        (dp_accounting.ZCDpEvent(1.0), "^event: `ZCDpEvent` is not"),
        (
            dp_accounting.ComposedDpEvent(
                [
                    dp_accounting.GaussianDpEvent(1.0),
                    dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(1.0)),
                ]
            ),
            r"^event\.events\[1\]: `PoissonSampledDpEvent` is not",
        ),
        (
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(0.0), 2),
            r"^event\.event: scale: `0` is not a positive number",
        ),
        (dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.0), 0), r"^event\.count: `0` is not"),
        (dp_accounting.GaussianDpEvent(float("nan")), "^event: scale: `NaN` is not a finite number"),
        (dp_accounting.ComposedDpEvent([]), "^composition: there is no mechanism in it"),
        (5, "^event: `int` is not an event"),
        (DpEventOfMyOwn(1.0), r"^event: `.*DpEventOfMyOwn` is not an event"),
        (type("GaussianDpEvent", (), {"noise_multiplier": 1.0})(), r"^event: `.*\.GaussianDpEvent` is not an event"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_understood_is_refused_by_name(event, said):
    with pytest.raises(UnspentError, match=said) as caught:
        Composition.from_dp_event(event)
    assert caught.value.hint in str(caught.value)


def test_deep_and_endless_trees():
    deep = dp_accounting.GaussianDpEvent(1.0)
    for _ in range(5000):
        deep = dp_accounting.ComposedDpEvent([deep])
    assert Composition.from_dp_event(deep) == Composition([Gaussian(1)])
    endless = dp_accounting.ComposedDpEvent([])
    endless.events.append(endless)
    with pytest.raises(UnspentError, match="^event: there are more than 1000000 events in it"):
        Composition.from_dp_event(endless)
    counted = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.0), np.int64(3))
    assert Composition.from_dp_event(counted) == Composition([Gaussian(1, count=3)])


CASES = [
    Composition([DiscreteGaussian(5, count=10)]),
    unspent.preset("paper-2022-08-25").composition(),
    Composition([DiscreteGaussian("5000", count=1890)]),
    Composition([Gaussian(2, count=3)]),
    Composition([DiscreteGaussian(5, count=3)]),
    Composition([DiscreteGaussian("0.1", count=3), DiscreteGaussian("0.37", count=2)]),
]


@pytest.mark.parametrize("composition", CASES)
def test_a_distribution_dominates(composition):
    interval = 1e-3
    distribution = composition.to_pld(value_discretization_interval=interval)
    top = composition.epsilon("1e-12").upper
    # On the grid, and off it.
    for epsilon in np.concatenate([np.arange(0, int(top / interval), 97) * interval, np.linspace(0, top, 61)]):
        above = distribution.get_delta_for_epsilon(float(epsilon))
        exactly = composition.delta(float(epsilon))
        assert Fraction(above) >= exactly.fractions()[0]
        assert above <= 1.001 * exactly.upper + 1e-19
    for delta in (1e-3, 1e-5, 1e-8, 1e-10, 1e-12):
        found = distribution.get_epsilon_for_delta(delta)
        assert composition.epsilon(delta).lower <= found <= composition.epsilon(delta).upper + 1e-4
    # As a difference of two sums, which is how it answers lists.
    grid = np.arange(0, int(top / interval), 501) * interval
    assert (np.array(distribution.get_delta_for_epsilon(grid.tolist())) >= composition.delta(grid).lower).all()


def test_it_still_dominates_when_composed():
    first, second = CASES[0], Composition([DiscreteGaussian("3.7", count=3)])
    composed = first.to_pld(1e-3).compose(second.to_pld(1e-3))
    for epsilon in np.linspace(0, 12, 25):
        above = composed.get_delta_for_epsilon(epsilon)
        exactly = (first + second).delta(epsilon)
        # dp-accounting convolves with an FFT, which is off by some 1e-16 of the largest mass, either way.
        assert exactly.lower - 1e-14 <= above <= 1.001 * exactly.upper + 1e-14


def test_it_composes_with_their_own():
    theirs = pld.from_discrete_gaussian_mechanism(5**0.5, value_discretization_interval=1e-3)
    ours = Composition([DiscreteGaussian(5, count=9)]).to_pld(1e-3)
    assert ours.compose(theirs).get_delta_for_epsilon(5.0) == pytest.approx(CASES[0].delta(5).upper, rel=2e-3)


@pytest.mark.parametrize("interval", [0, -1e-3, float("nan"), 100, 1e-8, 5e-6])
def test_bad_intervals(interval):
    with pytest.raises(UnspentError, match="^interval: "):
        CASES[0].to_pld(interval)


@pytest.mark.parametrize("tail", [0, 1, float("nan"), -1.0])
def test_bad_tails(tail):
    with pytest.raises(UnspentError):
        CASES[0].to_pld(tail_mass=tail)
