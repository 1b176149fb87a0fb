"""Accountants with the interfaces of dp-accounting and of opacus."""

import copy
import json
import math
from collections import OrderedDict
from types import SimpleNamespace

import pytest

import unspent.opacus
from unspent import Composition, Gaussian, Laplace, PureDp, RandomisedResponse, Subsampled, UnspentError

dp_accounting = pytest.importorskip("dp_accounting")
pld = pytest.importorskip("dp_accounting.pld")

from dp_accounting import dp_event  # noqa: E402

from unspent.dp_accounting import Accountant  # noqa: E402

STEP = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize(
    "event, count, delta, off",
    [
        (dp_accounting.GaussianDpEvent(2.0), 10, 1e-6, 1e-3),
        (dp_accounting.LaplaceDpEvent(3.0), 20, 1e-6, 1e-3),
        (dp_event.DiscreteLaplaceDpEvent(0.4, 2), 10, 1e-5, 1e-3),
        (STEP, 1000, 1e-6, 1e-3),
        (
            dp_accounting.ComposedDpEvent(
                [dp_accounting.LaplaceDpEvent(8.0), dp_accounting.SelfComposedDpEvent(STEP, 200)]
            ),
            3,
            1e-6,
            1e-3,
        ),
    ],
    ids=["gaussian", "laplace", "geometric", "dp-sgd", "composed"],
)
def test_it_agrees_with_theirs(event, count, delta, off):
    """Theirs is an upper bound on a grid of 1e-4, not far off at these deltas; ours encloses the truth."""
    theirs = pld.PLDAccountant().compose(event, count)
    ours = Accountant().compose(event, count)
    found = ours.composition.epsilon(delta)
    assert ours.get_epsilon(delta) == found.upper
    assert found.lower <= theirs.get_epsilon(delta) <= (1 + off) * found.upper
    for epsilon in (0.5, 1.0, found.upper):
        exactly = ours.composition.delta(epsilon)
        assert ours.get_delta(epsilon) == exactly.upper
        assert exactly.lower * (1 - 1e-9) <= theirs.get_delta(epsilon) <= 1.01 * exactly.upper + 1e-12
    assert ours.ledger == theirs.ledger and ours.supports(event)
    assert ours.neighboring_relation == theirs.neighboring_relation


def test_what_theirs_misses():
    """Far out their upper bound is below the certified lower one, and below 1e-15 it is no bound at all."""
    ours, theirs = Accountant().compose(STEP, 10_000), pld.PLDAccountant().compose(STEP, 10_000)
    assert theirs.get_delta(10.0) < ours.composition.delta(10).lower
    assert ours.get_delta(30.0) < 1e-67


def test_it_is_one_of_theirs():
    def fresh():
        return Accountant()

    def event(noise):
        return dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(noise), 10)

    noise = dp_accounting.calibrate_dp_mechanism(fresh, event, 1.0, 1e-6, tol=1e-6)
    assert isinstance(fresh(), dp_accounting.PrivacyAccountant)
    released = Composition(Gaussian(sigma=noise, count=10)).epsilon(1e-6)
    assert 1 - 1e-5 < released.upper <= 1
    chained = Accountant().compose(dp_accounting.GaussianDpEvent(noise)).compose(STEP, 3)
    assert chained.composition == Composition(
        [Gaussian(sigma=noise), Subsampled(Gaussian(sigma=1), q=0.01, count=3)]
    )
    before = chained.get_epsilon(1e-6)
    copied = copy.deepcopy(chained).compose(STEP)
    assert chained.get_epsilon(1e-6) == before < copied.get_epsilon(1e-6)


def test_a_history_that_was_json_is_continued():
    accountant = unspent.opacus.Accountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    loaded = unspent.opacus.Accountant()
    loaded.load_state_dict(json.loads(json.dumps(accountant.state_dict())))
    loaded.step(noise_multiplier=1.0, sample_rate=0.1)
    assert loaded.history == [(1.0, 0.1, 2)]


def test_a_rate_that_is_none_is_refused_also_without_noise():
    accountant = unspent.opacus.Accountant()
    for rate in (math.nan, -0.5, 2.0):
        for noise in (0.0, 1.0):
            with pytest.raises(UnspentError):
                accountant.step(noise_multiplier=noise, sample_rate=rate)
    accountant.step(noise_multiplier=0.0, sample_rate=0.0)
    accountant.step(noise_multiplier=0.0, sample_rate=0.1)
    assert accountant.get_epsilon(1e-5) == math.inf
    with pytest.raises(UnspentError):
        accountant.step(noise_multiplier=None, sample_rate=0.1)


def test_what_is_not_supported():
    accountant = Accountant()
    tree = dp_accounting.SingleEpochTreeAggregationDpEvent(1.0, 8)
    assert not accountant.supports(tree) and not accountant.supports(dp_accounting.UnsupportedDpEvent())
    with pytest.raises(
        dp_accounting.UnsupportedEventError, match="SingleEpochTreeAggregationDpEvent` is not"
    ):
        accountant.compose(tree)
    response = dp_event.RandomizedResponseDpEvent(0.5, 4)
    assert not accountant.supports(response)
    replaced = Accountant(REPLACE_ONE)
    assert replaced.supports(response) and not replaced.supports(STEP)
    assert accountant.ledger == dp_accounting.NoOpDpEvent()
    with pytest.raises(TypeError):
        accountant.compose(5)


def test_neighbours_that_replace():
    theirs = pld.PLDAccountant(REPLACE_ONE).compose(dp_accounting.GaussianDpEvent(4.0), 5)
    ours = Accountant(REPLACE_ONE).compose(dp_accounting.GaussianDpEvent(4.0), 5)
    assert ours.composition == Composition(Gaussian(sigma=4, shift=2, count=5))
    exactly = ours.composition.epsilon(1e-6)
    assert exactly.lower <= theirs.get_epsilon(1e-6) <= exactly.upper * (1 + 1e-3)
    special = Accountant(dp_accounting.NeighboringRelation.REPLACE_SPECIAL).compose(STEP, 5)
    assert special.composition == Accountant().compose(STEP, 5).composition


def test_repeated_responses_count():
    """Ten responses are ten, composed at once or one by one."""
    response = dp_event.RandomizedResponseDpEvent(0.5, 4)
    at_once = Accountant(REPLACE_ONE).compose(response, 10)
    one_by_one, theirs = Accountant(REPLACE_ONE), pld.PLDAccountant(REPLACE_ONE)
    for _ in range(10):
        one_by_one.compose(response)
        theirs.compose(response)
    assert at_once.composition == Composition(RandomisedResponse(k=4, truth="5/8", count=10))
    assert at_once.get_epsilon(1e-3) == one_by_one.get_epsilon(1e-3)
    assert theirs.get_epsilon(1e-3) == pytest.approx(at_once.get_epsilon(1e-3), abs=2e-3)


def test_ends():
    nothing = Accountant()
    assert nothing.get_epsilon(1e-6) == 0 and nothing.composition == Composition(PureDp(epsilon=0))
    assert nothing.compose(dp_accounting.NoOpDpEvent()).get_epsilon(1e-6) == 0
    for event in (dp_accounting.NonPrivateDpEvent(), dp_accounting.GaussianDpEvent(0.0)):
        revealed = Accountant().compose(STEP).compose(event)
        assert revealed.get_epsilon(0.1) == math.inf and revealed.get_delta(100.0) == 1
        with pytest.raises(UnspentError, match="no epsilon holds"):
            revealed.composition  # noqa: B018
    one = Accountant().compose(dp_accounting.LaplaceDpEvent(1.0))
    assert one.get_epsilon(0) == math.inf and one.get_epsilon(1.0) == 0
    assert one.get_delta(1.0) == 0 == one.get_delta(math.inf)
    for wrong in (-0.1, 1.5, math.nan):
        with pytest.raises(UnspentError):
            one.get_epsilon(wrong)
    with pytest.raises(UnspentError):
        one.get_delta(math.nan)


def trained(accountant, steps=20):
    for _ in range(steps):
        accountant.step(noise_multiplier=1.1, sample_rate=0.01)
    return accountant


def test_steps_of_opacus():
    accountant = trained(unspent.opacus.Accountant())
    accountant.step(noise_multiplier=2.0, sample_rate=1.0)
    assert accountant.history == [(1.1, 0.01, 20), (2.0, 1.0, 1)] and len(accountant) == 21
    exactly = Composition([Subsampled(Gaussian(sigma=1.1), q=0.01, count=20), Gaussian(sigma=2)])
    assert accountant.composition == exactly
    assert accountant.get_epsilon(1e-6) == exactly.epsilon(1e-6).upper
    # What other accountants of opacus need.
    assert accountant.get_epsilon(delta=1e-6, eps_error=0.1, alphas=[2]) == accountant.get_epsilon(1e-6)
    assert unspent.opacus.Accountant().get_epsilon(1e-6) == 0
    assert accountant.mechanism() == unspent.opacus.Accountant.mechanism() == "unspent"


def test_states_of_opacus():
    accountant = trained(unspent.opacus.Accountant())
    state = accountant.state_dict()
    assert isinstance(state, OrderedDict) and state["mechanism"] == "unspent"
    again = unspent.opacus.Accountant()
    again.load_state_dict(state)
    trained(accountant, 1)
    assert len(again) == 20 and len(accountant) == 21
    given = {}
    assert again.state_dict(destination=given) is given and given["history"] == [(1.1, 0.01, 20)]
    for wrong in (None, {}, {"history": []}, {"mechanism": "unspent"}):
        with pytest.raises(ValueError, match="^state_dict: there is no history"):
            again.load_state_dict(wrong)
    with pytest.raises(ValueError, match="^state_dict: it is that of the accountant `prv`"):
        again.load_state_dict({"history": [], "mechanism": "prv"})


def test_hooks_of_opacus():
    accountant = unspent.opacus.Accountant()
    hook = accountant.get_optimizer_hook_fn(0.01)
    hook(SimpleNamespace(noise_multiplier=1.0, accumulated_iterations=2))
    assert accountant.history == [(1.0, 0.02, 1)]


def test_bad_steps_of_opacus():
    accountant = unspent.opacus.Accountant()
    for noise, rate in [(-1.0, 0.1), (1.0, 1.5), (math.nan, 0.1), (1.0, -0.1), (math.inf, 0.1)]:
        with pytest.raises(UnspentError):
            accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == []
    accountant.step(noise_multiplier=0.0, sample_rate=0.1)
    assert accountant.get_epsilon(1e-6) == math.inf
    # As opacus searches for the noise that keeps a promise.
    accountant.history = [(1.0, 0.01, 100)]
    assert 0 < accountant.get_epsilon(delta=1e-5) < 10


def test_noise_of_a_survey_and_a_model():
    """What neither of the two does alone."""
    model = trained(unspent.opacus.Accountant(), 1000).composition
    both = model + Laplace(scale=10, count=5)
    assert model.epsilon(1e-6).upper < both.epsilon(1e-6).lower
