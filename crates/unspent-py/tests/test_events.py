"""To and from dp-accounting."""

from fractions import Fraction

import numpy as np
import pytest

import unspent
from unspent import Composition, DiscreteGaussian, Gaussian, UnspentError
from unspent.events import DiscreteGaussianDpEvent

dp_accounting = pytest.importorskip("dp_accounting")
attr = pytest.importorskip("attr")
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")


def test_trees():
    tree = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.5), 3),
            dp_accounting.SelfComposedDpEvent(
                dp_accounting.ComposedDpEvent(
                    [DiscreteGaussianDpEvent("2.5", 2), DiscreteGaussianDpEvent(0.5)]
                ),
                4,
            ),
        ]
    )
    assert Composition.from_dp_event(tree) == Composition(
        [
            Gaussian(sigma2="9/4", count=3),
            DiscreteGaussian(sigma2="25/4", count=4, shift=2),
            DiscreteGaussian(sigma2="1/4", count=4),
        ]
    )


class DpEventOfMyOwn(dp_accounting.GaussianDpEvent):
    """Might do anything besides."""


@pytest.mark.parametrize(
    "event, said",
    [
        (
            dp_accounting.LaplaceDpEvent(1.0),
            "^event: `LaplaceDpEvent` is not an event that is accounted for here",
        ),
        (dp_accounting.NonPrivateDpEvent(), "^event: `NonPrivateDpEvent` is a release without any promise"),
        (dp_accounting.ZCDpEvent(1.0), "^event: `ZCDpEvent` says what is spent and not by which noise"),
        (
            dp_accounting.ComposedDpEvent(
                [
                    dp_accounting.GaussianDpEvent(1.0),
                    dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(1.0)),
                ]
            ),
            r"^event\.events\[1\]: `PoissonSampledDpEvent` is not accounted for at a probability of 0.1",
        ),
        (
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(0.0), 2),
            r"^event\.event: sigma: `0` is not a positive standard deviation",
        ),
        (
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.0), 0),
            r"^event\.count: `0` is not",
        ),
        (dp_accounting.GaussianDpEvent(float("nan")), "^event: sigma: `NaN` is not a finite number"),
        (dp_accounting.ComposedDpEvent([]), "^event: nothing is released in it"),
        (dp_accounting.NoOpDpEvent(), "^event: nothing is released in it"),
        (5, "^event: `int` is not an event"),
        (DpEventOfMyOwn(1.0), r"^event: `.*DpEventOfMyOwn` is not an event"),
        (
            type("GaussianDpEvent", (), {"noise_multiplier": 1.0})(),
            r"^event: `.*\.GaussianDpEvent` is not an event",
        ),
        (
            type("GaussianDpEvent", (), {"noise_multiplier": 1.0, "__module__": "dp_accounting.dp_event"})(),
            "^event: `GaussianDpEvent` is not an event",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_understood_is_refused_by_name(event, said):
    with pytest.raises(UnspentError, match=said) as caught:
        Composition.from_dp_event(event)
    assert caught.value.hint in str(caught.value)


def test_what_adds_nothing():
    gaussian = dp_accounting.GaussianDpEvent(1.0)
    tree = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.NoOpDpEvent(),
            dp_accounting.PoissonSampledDpEvent(1.0, dp_accounting.SelfComposedDpEvent(gaussian, 2)),
            dp_accounting.SelfComposedDpEvent(dp_accounting.NoOpDpEvent(), 5),
        ]
    )
    assert Composition.from_dp_event(tree) == Composition([Gaussian(sigma2=1, count=2)])


@attr.s(frozen=True, slots=True, auto_attribs=True)
class StandIn(dp_accounting.DpEvent):
    """As dp-accounting's, where there is one: the sensitivity is in the L2 norm, the dimension may be
    unknown.
    """

    sigma: float
    sensitivity: float = 1.0
    dimension: "int | None" = None


THEIRS = getattr(dp_accounting.dp_event, "DiscreteGaussianDpEvent", None)


@pytest.fixture(params=[StandIn] if THEIRS is None else [StandIn, THEIRS])
def discrete_event(request, monkeypatch):
    monkeypatch.setattr(dp_accounting.dp_event, "DiscreteGaussianDpEvent", request.param, raising=False)
    return request.param


def test_a_sensitivity_in_the_l2_norm(discrete_event):
    read = Composition.from_dp_event
    for dimension in (None, 1, 4):
        event = discrete_event(sigma=0.5, sensitivity=1.0, dimension=dimension)
        assert read(event) == Composition([DiscreteGaussian(sigma2="1/4")])
    one_dimension = discrete_event(sigma=0.5, sensitivity=2.0, dimension=1)
    assert read(one_dimension) == Composition([DiscreteGaussian(sigma2="1/4", shift=2)])
    for sensitivity, dimension, hint in [
        (2.0, None, "shift=2; 4 that move by 1 are count=4"),
        (2.0, 4, "shift=2; 4 that move by 1 are count=4"),
        (3**0.5, None, "3 answers that move by 1 are count=3"),
        (1.5, 7, "say how far"),
    ]:
        tree = dp_accounting.ComposedDpEvent([discrete_event(1.0, sensitivity, dimension)])
        with pytest.raises(
            UnspentError, match=r"^event\.events\[0\]: sensitivity: `.*` is not 1, the only L2"
        ) as caught:
            read(tree)
        assert hint in caught.value.hint
    with pytest.raises(UnspentError, match="^event: shift: `1.5` is not a whole number"):
        read(discrete_event(1.0, 1.5, 1))


def test_why_other_sensitivities_are_refused():
    """Neither of two integer vectors of norm 2 is worse at every delta."""
    four, two = (
        Composition([DiscreteGaussian(sigma=1, count=4)]),
        Composition([DiscreteGaussian(sigma=1, shift=2)]),
    )
    assert four.rho == two.rho
    assert four.epsilon("1e-6") > two.epsilon("1e-6") and four.epsilon("1e-12") < two.epsilon("1e-12")


def test_an_event_with_more_to_it_is_refused(monkeypatch):
    @attr.s(frozen=True, auto_attribs=True)
    class Later(dp_accounting.DpEvent):
        sigma: float
        sensitivity: float = 1.0
        dimension: "int | None" = None
        clipped: bool = True

    monkeypatch.setattr(dp_accounting.dp_event, "DiscreteGaussianDpEvent", Later, raising=False)
    with pytest.raises(
        UnspentError, match="^event: `DiscreteGaussianDpEvent` has more to it than is known here: clipped"
    ):
        Composition.from_dp_event(Later(1.0))


def test_deep_and_endless_trees():
    deep = dp_accounting.GaussianDpEvent(1.0)
    for _ in range(5000):
        deep = dp_accounting.ComposedDpEvent([deep])
    assert Composition.from_dp_event(deep) == Composition([Gaussian(sigma2=1)])
    endless = dp_accounting.ComposedDpEvent([])
    endless.events.append(endless)
    with pytest.raises(UnspentError, match="^event: there are more than 1000000 events in it"):
        Composition.from_dp_event(endless)
    counted = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.0), np.int64(3))
    assert Composition.from_dp_event(counted) == Composition([Gaussian(sigma2=1, count=3)])


CASES = [
    Composition([DiscreteGaussian(sigma2=5, count=10)]),
    unspent.preset("paper-2022-08-25").composition(),
    Composition([DiscreteGaussian(sigma2="5000", count=1890)]),
    Composition([Gaussian(sigma2=2, count=3)]),
    Composition([DiscreteGaussian(sigma2=5, count=3)]),
    Composition([DiscreteGaussian(sigma2="0.1", count=3), DiscreteGaussian(sigma2="0.37", count=2)]),
]


@pytest.mark.parametrize("composition", CASES)
def test_a_distribution_dominates(composition):
    interval = 1e-3
    distribution = composition.to_pld(value_discretization_interval=interval)
    top = composition.epsilon("1e-12").upper
    # On the grid, and off it.
    for epsilon in np.concatenate(
        [np.arange(0, int(top / interval), 97) * interval, np.linspace(0, top, 61)]
    ):
        above = distribution.get_delta_for_epsilon(float(epsilon))
        exactly = composition.delta(float(epsilon))
        assert Fraction(above) >= exactly.fractions()[0]
        assert above <= 1.001 * exactly.upper + 1e-19
    for delta in (1e-3, 1e-5, 1e-8, 1e-10, 1e-12):
        found = distribution.get_epsilon_for_delta(delta)
        assert composition.epsilon(delta).lower <= found <= composition.epsilon(delta).upper + 1e-4
    # As a difference of two sums, which is how it answers lists.
    grid = np.arange(0, int(top / interval), 501) * interval
    assert (
        np.array(distribution.get_delta_for_epsilon(grid.tolist())) >= composition.delta(grid).lower
    ).all()


def test_it_still_dominates_when_composed():
    first, second = CASES[0], Composition([DiscreteGaussian(sigma2="3.7", count=3)])
    composed = first.to_pld(1e-3).compose(second.to_pld(1e-3))
    for epsilon in np.linspace(0, 12, 25):
        above = composed.get_delta_for_epsilon(epsilon)
        exactly = (first + second).delta(epsilon)
        # dp-accounting convolves with an FFT, which is off by some 1e-16 of the largest mass, either way.
        assert exactly.lower - 1e-14 <= above <= 1.001 * exactly.upper + 1e-14


def test_it_composes_with_their_own():
    theirs = pld.from_discrete_gaussian_mechanism(5**0.5, value_discretization_interval=1e-3)
    ours = Composition([DiscreteGaussian(sigma2=5, count=9)]).to_pld(1e-3)
    assert ours.compose(theirs).get_delta_for_epsilon(5.0) == pytest.approx(CASES[0].delta(5).upper, rel=2e-3)


@pytest.mark.parametrize("interval", [0, -1e-3, float("nan"), 100, 1e-8, 5e-6])
def test_bad_intervals(interval):
    with pytest.raises(UnspentError, match="^interval: "):
        CASES[0].to_pld(interval)


@pytest.mark.parametrize("tail", [0, 1, float("nan"), -1.0])
def test_bad_tails(tail):
    with pytest.raises(UnspentError):
        CASES[0].to_pld(tail_mass=tail)
