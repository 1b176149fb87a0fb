"""To and from dp-accounting."""

from fractions import Fraction

import numpy as np
import pytest

import unspent
from unspent import (
    ApproximateDp,
    Composition,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    PureDp,
    RandomisedResponse,
    Subsampled,
    UnspentError,
    ZeroConcentratedDp,
)
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


def sampled(probability, event=None):
    if event is None:
        event = dp_accounting.GaussianDpEvent(1.0)
    return dp_accounting.PoissonSampledDpEvent(probability, event)


RESPONSE = dp_accounting.RandomizedResponseDpEvent(0.5, 4)


def test_every_kind():
    read = Composition.from_dp_event
    steps = dp_accounting.SelfComposedDpEvent(sampled(0.25), 7)
    assert read(steps) == Composition(Subsampled(Gaussian(sigma=1), q="1/4", count=7))
    assert read(dp_accounting.LaplaceDpEvent(1.5)) == Composition(Laplace(scale="1.5"))
    geometric = dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.1, 3)
    assert read(geometric) == Composition(DiscreteLaplace(scale=1 / Fraction(0.1), shift=3))
    on_a_sample = sampled(0.5, geometric)
    assert read(on_a_sample).mechanisms[0].base == DiscreteLaplace(scale=1 / Fraction(0.1), shift=3)
    assert read(sampled(0.5, DiscreteGaussianDpEvent(2))) == Composition(
        Subsampled(DiscreteGaussian(sigma=2), q="1/2")
    )
    assert read(sampled(0.5, dp_accounting.LaplaceDpEvent(1.5))) == Composition(
        Subsampled(Laplace(scale="1.5"), q="1/2")
    )
    assert read(dp_accounting.ZCDpEvent(0.5)) == Composition(ZeroConcentratedDp(rho="1/2"))
    assert read(RESPONSE, neighbours="bounded") == Composition(RandomisedResponse(k=4, truth="5/8"))
    mixture = dp_accounting.dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 3.0], [0.75, 0.25])
    assert read(mixture) == Composition(Subsampled(Gaussian(sigma=2, shift=3), q="1/4"))
    # In doubles these sum to more than 1, and less than 1 is left for the sample.
    about = dp_accounting.dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 3.0, 3.0], [0.9, 0.05, 0.05])
    assert read(about).mechanisms[0].q == max(2 * Fraction(0.05), 1 - Fraction(0.9))


def test_an_event_of_epsilon_and_delta(monkeypatch):
    """0.6.0 does not have it."""

    @attr.s(frozen=True, auto_attribs=True)
    class EpsilonDeltaDpEvent(dp_accounting.DpEvent):
        epsilon: float
        delta: float

    monkeypatch.setattr(dp_accounting.dp_event, "EpsilonDeltaDpEvent", EpsilonDeltaDpEvent, raising=False)
    event = dp_accounting.SelfComposedDpEvent(EpsilonDeltaDpEvent(0.5, 0.25), 3)
    assert Composition.from_dp_event(event) == Composition(ApproximateDp(epsilon="1/2", delta="1/4", count=3))


def test_samples_of_samples_and_of_several():
    read = Composition.from_dp_event
    thrice = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(2.0), 3)
    both = dp_accounting.ComposedDpEvent([thrice, dp_accounting.GaussianDpEvent(1.0)])
    assert read(sampled(0.5, both)) == Composition(Subsampled(Gaussian(sigma2="4/7"), q="1/2"))
    assert read(sampled(0.5, sampled(0.25))) == Composition(Subsampled(Gaussian(sigma=1), q="1/8"))
    assert read(sampled(0.5, dp_accounting.NoOpDpEvent())) == read(sampled(0.0))
    deep = dp_accounting.GaussianDpEvent(1.0)
    for _ in range(1000):
        deep = sampled(0.999, deep)
    with pytest.raises(UnspentError, match="there are more than 50 samples in each other"):
        read(deep)


def test_nothing_is_0_private():
    nothing = [dp_accounting.NoOpDpEvent(), dp_accounting.ComposedDpEvent([]), sampled(0.0)]
    for event in nothing:
        release = Composition.from_dp_event(event)
        assert release == Composition(PureDp(epsilon=0))
        assert release.epsilon("1e-20").upper == 0 and release.delta("1e-9").upper == 0


def test_neighbours_that_replace():
    def read(event):
        return Composition.from_dp_event(event, neighbours="bounded")

    assert read(dp_accounting.GaussianDpEvent(1.5)) == Composition(Gaussian(sigma="1.5", shift=2))
    assert read(dp_accounting.LaplaceDpEvent(1.5)) == Composition(Laplace(scale="1.5", shift=2))
    geometric = dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.5, 3)
    assert read(geometric) == Composition(DiscreteLaplace(scale=2, shift=6))
    # It says how far a record moves the integer, whatever neighbours are.
    assert read(DiscreteGaussianDpEvent(2)) == Composition(DiscreteGaussian(sigma=2))
    with pytest.raises(UnspentError, match="is for neighbours that add or remove a record"):
        read(dp_accounting.ComposedDpEvent([RESPONSE, sampled(0.1)]))
    with pytest.raises(UnspentError, match="^neighbours: `replace` is not"):
        Composition.from_dp_event(RESPONSE, neighbours="replace")


class DpEventOfMyOwn(dp_accounting.GaussianDpEvent):
    """Might do anything besides."""


@pytest.mark.parametrize(
    "event, said",
    [
        (
            dp_accounting.NonPrivateDpEvent(),
            "^event: `NonPrivateDpEvent` is a release without any promise: no epsilon holds with it",
        ),
        (
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(0.0), 2),
            r"^event\.event: `GaussianDpEvent` with a noise_multiplier of 0: no epsilon holds with it",
        ),
        (
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(-1.0), 2),
            r"^event\.event: sigma: `-1` is not a positive standard deviation",
        ),
        (dp_accounting.ZCDpEvent(1.0, 0.5), "^event: `ZCDpEvent` is not accounted for with an xi of 0.5"),
        (dp_accounting.ZCDpEvent(0.0), "^event: ZeroConcentratedDp: rho: `0` is not a positive number"),
        (dp_accounting.LaplaceDpEvent(-1.0), "^event: Laplace: scale: `-1` is not a scale b"),
        (dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.0, 1), "^event: noise_parameter: `0.0` is not a"),
        (
            dp_accounting.dp_event.DiscreteLaplaceDpEvent(1.0, 1.5),
            "^event: DiscreteLaplace: shift: `1.5` is not a whole number",
        ),
        (sampled(1.5), "^event: Subsampled: q: `3/2` is not a probability above 0 and at most 1"),
        (sampled(-0.5), "^event: Subsampled: q: `-1/2` is not a probability"),
        (sampled(float("nan")), "^event: sampling_probability: `nan` is not a finite number"),
        (sampled(True), "^event: sampling_probability: `True` is not a finite number"),
        (
            dp_accounting.ComposedDpEvent([dp_accounting.NoOpDpEvent(), sampled(0.1, RESPONSE)]),
            r"^event\.events\[1\]\.event: `RandomizedResponseDpEvent` is for neighbours that replace",
        ),
        (
            sampled(0.1, dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(1.0), 2)),
            "^event: `PoissonSampledDpEvent` is not accounted for with several answers on one sample: 2 lap",
        ),
        (
            sampled(0.1, dp_accounting.ZCDpEvent(1.0)),
            "^event: `PoissonSampledDpEvent` is not accounted for of zcdp",
        ),
        (
            sampled(0.1, dp_accounting.NonPrivateDpEvent()),
            r"^event\.event: `NonPrivateDpEvent` is a release without any promise",
        ),
        (
            dp_accounting.dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25]),
            "^event: `MixtureOfGaussiansDpEvent` is not accounted for with several sensitivities",
        ),
        (
            dp_accounting.dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.25]),
            r"^event\.sampling_probs: they sum to 0\.75",
        ),
        (
            dp_accounting.SampledWithoutReplacementDpEvent(100, 10, dp_accounting.GaussianDpEvent(1.0)),
            "^event: `SampledWithoutReplacementDpEvent` is not accounted for here",
        ),
        (
            dp_accounting.SingleEpochTreeAggregationDpEvent(1.0, 8),
            "^event: `SingleEpochTreeAggregationDpEvent` is not an event that is accounted for here",
        ),
        (dp_accounting.UnsupportedDpEvent(), "^event: `UnsupportedDpEvent` is not an event"),
        (
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.0), 0),
            r"^event\.count: `0` is not",
        ),
        (dp_accounting.GaussianDpEvent(float("nan")), "^event: sigma: `NaN` is not a finite number"),
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


def test_each_direction_has_a_distribution():
    steps = Composition(
        [Subsampled(Gaussian(sigma=1), q="0.1", count=40), ApproximateDp(epsilon=1, delta="1e-6")]
    )
    distribution = steps.to_pld(value_discretization_interval=0.01, tail_mass=1e-12)
    for epsilon in (0.0, 0.5, 1.234, 3.0, 5.0):
        above = distribution.get_delta_for_epsilon(epsilon)
        exactly = steps.delta(epsilon)
        assert exactly.lower <= above <= 1.01 * exactly.upper + 1e-11
    # Each by itself, as dp-accounting has it for its own.
    for direction, pmf in [("remove", distribution._pmf_remove), ("add", distribution._pmf_add)]:
        for epsilon in (0.5, 2.0):
            exactly = steps.in_direction(direction).delta(epsilon)
            assert exactly.lower <= pmf.get_delta_for_epsilon(epsilon) <= 1.01 * exactly.upper + 1e-11
    with pytest.raises(UnspentError, match="^zCDP event: this mechanism has no law of the privacy loss"):
        Composition(ZeroConcentratedDp(rho=1)).to_pld()


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
