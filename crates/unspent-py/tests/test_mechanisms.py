"""Every mechanism: exact values lie inside the bounds, parameters are exact, bad ones are refused by name."""

import json
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import unspent
from unspent import (
    ApproximateDp,
    Composition,
    DiscreteGaussian,
    DiscreteLaplace,
    Finite,
    Gaussian,
    GaussianDp,
    Laplace,
    Mechanism,
    PureDp,
    RandomisedResponse,
    RenyiDp,
    Subsampled,
    TruncatedDiscreteGaussian,
    UnspentError,
    ZeroConcentratedDp,
)

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = json.loads((ROOT / "oracle" / "mechanisms.json").read_text())["cases"]

#: What the reference calls them.
KINDS = {
    "discrete_gaussian": DiscreteGaussian,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "discrete_laplace": DiscreteLaplace,
    "randomised_response": RandomisedResponse,
    "pure_dp": PureDp,
    "approximate_dp": ApproximateDp,
    "finite": Finite,
    "truncated_discrete_gaussian": TruncatedDiscreteGaussian,
    "zcdp": ZeroConcentratedDp,
    "rdp": RenyiDp,
    "gdp": GaussianDp,
}


def mechanism(described):
    parameters = dict(described)
    kind, count = parameters.pop("kind"), parameters.pop("count")
    if "b" in parameters:
        parameters["scale"] = parameters.pop("b")
    if kind.startswith("subsampled_"):
        q = parameters.pop("q")
        return Subsampled(KINDS[kind.removeprefix("subsampled_")](**parameters), q=q, count=count)
    return KINDS[kind](**parameters, count=count)


def test_all_of_the_reference_is_here():
    assert len(REFERENCE) == 81
    assert {case["direction"] for case in REFERENCE} == {"both", "remove", "add"}


@pytest.mark.parametrize("case", REFERENCE, ids=[f"{i} {case['name']}" for i, case in enumerate(REFERENCE)])
def test_reference(case):
    release = Composition(
        [mechanism(described) for described in case["composition"]], direction=case["direction"]
    )
    digits, truth = case["certain_digits"], Fraction(case["delta"])
    off = 0 if digits == "exact zero" else truth / 10 ** (digits - 1)
    found = release.delta(case["epsilon"])
    lower, upper = found.fractions()
    assert lower <= truth + off and truth - off <= upper
    if truth == 0:
        assert upper == 0
    # Both together are at least each of them.
    assert release.in_direction("both").delta(case["epsilon"]).fractions()[1] >= truth - off
    # The other way round: not below the epsilon at which delta is that, rounded down.
    if 0 < truth < 1 and Fraction(case["epsilon"]) > 0 and truth - off > release.infinity.fractions()[1]:
        assert release.epsilon(truth - off).fractions()[1] >= Fraction(case["epsilon"])


EVERY = [
    DiscreteGaussian(sigma2="100000/9563", count=7, shift=2),
    Gaussian(sigma2="0.1", shift="1/3"),
    Laplace(scale="1.5", count=4, shift="2/3"),
    DiscreteLaplace(scale="1/3", shift=2),
    RandomisedResponse(k=4, truth="1/2", count=2),
    RandomisedResponse(k=2, epsilon="0.5"),
    ApproximateDp(epsilon="1/2", delta="1e-6", count=3),
    PureDp(epsilon=1),
    Finite(p=["1/2", "1/2", 0], q=["1/4", "1/2", "1/4"], count=5),
    RenyiDp(orders=[2, "7/2"], epsilons=["0.1", 1], count=3),
    Subsampled(Laplace(scale=2), q="0.1", count=4),
    TruncatedDiscreteGaussian(sigma2=4, bound=12, shift=2),
    Subsampled(Gaussian(sigma="1.1", shift=2), q="256/60000", count=14000),
    Subsampled(DiscreteGaussian(sigma=2), q="0.1"),
    Subsampled(DiscreteLaplace(scale=2), q=0.1),
    ZeroConcentratedDp(rho="1/8", count=2),
]


@pytest.mark.parametrize("one", EVERY, ids=repr)
def test_what_all_share(one):
    assert isinstance(one, Mechanism)
    again = eval(repr(one), vars(unspent))
    assert again == one and hash(again) == hash(one) and type(again) is type(one) and repr(again) == repr(one)
    pickled = pickle.loads(pickle.dumps(one))
    assert pickled == one and type(pickled) is type(one)
    assert 3 * one == one * 3 == np.int64(3) * one and (3 * one).count == 3 * one.count
    assert type(3 * one) is type(one) and 3 * one != one
    assert Composition(one) + one == one + one == Composition(2 * one) == 2 * Composition(one)
    assert Composition(one).mechanisms == [one]
    assert one.kind in (*KINDS, *(f"subsampled_{kind}" for kind in KINDS)) and one.parameters
    assert one != Gaussian(sigma=12345) and one != 5
    release = Composition([one], direction="remove")
    assert eval(repr(release), vars(unspent)) == release == pickle.loads(pickle.dumps(release))
    assert release != Composition(one)
    with pytest.raises(UnspentError, match="^count: "):
        0 * one


def test_all_of_them_together():
    release = Composition(EVERY[:-1])
    assert 0 < release.delta(30).lower <= release.delta(30).upper < 1
    one_sided = Composition(EVERY)
    assert one_sided.method == "one-sided"
    assert one_sided.delta(30).upper >= release.delta(30).lower
    assert Composition(reversed(EVERY)).delta(30) == one_sided.delta(30)


def test_parameters():
    assert Laplace(scale=2, sensitivity="1/2") == Laplace(scale=Decimal("2"), shift=0.5)
    assert Laplace(scale=0.1).scale == Fraction(0.1) and Laplace(scale="0.1").scale == Fraction(1, 10)
    assert DiscreteLaplace(scale=2, sensitivity=3).shift == 3
    assert RandomisedResponse(k=3, truth="1/2").epsilon is None
    assert RandomisedResponse(k=3, epsilon="1/2").epsilon == Fraction(1, 2)
    assert Finite(p=["1/3", "2/3"], q=np.array([0.5, 0.5])).q == [Fraction(1, 2)] * 2
    assert PureDp(epsilon="1/2") == ApproximateDp(epsilon="1/2", delta=0)
    assert GaussianDp(mu="1/2", count=3) == Gaussian(sigma=2, count=3)
    assert TruncatedDiscreteGaussian(sigma=2, bound=5) == TruncatedDiscreteGaussian(scale=2, bound=5)
    assert TruncatedDiscreteGaussian(sigma2=4, bound=5).parameters == {"sigma2": 4, "shift": 1, "bound": 5}
    step = Subsampled(Gaussian(sigma=2), q="0.1", count=5)
    assert (step.base, step.q, step.count) == (Gaussian(sigma=2), Fraction(1, 10), 5)
    # A sample of everything is no sample.
    everything = Subsampled(Gaussian(sigma=2), q=1)
    assert everything == Gaussian(sigma=2) and everything.q == 1 and everything.base == Gaussian(sigma=2)
    assert Composition(everything) == Composition(Gaussian(sigma=2))


def test_limits_and_closed_forms():
    two = Composition(RandomisedResponse(k=2, epsilon=1, count=10))
    pure = Composition(PureDp(epsilon=1, count=10))
    for epsilon in ("0.3", 1, 5, "9.5"):
        a, b = two.delta(epsilon), pure.delta(epsilon)
        assert a.lower <= b.upper and b.lower <= a.upper
    assert two.delta(10).upper == 0 == pure.delta(10).upper
    # One Laplace: delta = 1 - exp((epsilon - shift/scale) / 2).
    one = Composition(Laplace(scale=2)).delta("1/4")
    assert one.lower <= -np.expm1(-0.125) * (1 + 1e-15) and -np.expm1(-0.125) * (1 - 1e-15) <= one.upper


def test_what_is_revealed():
    release = Composition(ApproximateDp(epsilon=1, delta="1/4", count=2))
    assert Fraction(7, 16) in release.infinity
    with pytest.raises(UnspentError, match="^delta: .* is not a delta above 0.43749.*, the probability that"):
        release.epsilon("0.4")
    assert release.epsilon("0.5").upper < 2
    assert Composition(Gaussian(sigma=1)).infinity.upper == 0


def test_mu():
    noise = Composition([Gaussian(sigma=2, count=9), GaussianDp(mu="1/2", count=7)])
    assert noise.mu.fractions() == (2, 2)
    mu = unspent.largest_mu(epsilon=1, delta="1e-6")
    assert Composition(GaussianDp(mu=mu)).delta(1).fractions()[1] <= Fraction("1e-6")
    more = mu * Fraction("1.00000001")
    assert Composition(GaussianDp(mu=more)).delta(1).fractions()[0] > Fraction("1e-6")
    with pytest.raises(UnspentError, match="^discrete Gaussian: this mechanism has no mu of Gaussian DP"):
        Composition(DiscreteGaussian(sigma=2)).mu  # noqa: B018


def test_one_parameter_is_found_beside_others():
    beside = [Gaussian(sigma=4), DiscreteGaussian(sigma=9, count=2)]
    found = unspent.parameter("laplace:b=?,count=10", epsilon=2, delta="1e-6", beside=beside)
    assert (found.name, found.shape, found.next_fails) == ("b", "monotone", True)
    assert found.mechanism == Laplace(scale=found.value, count=10)
    assert found.delta.fractions()[1] <= Fraction("1e-6") < found.next_delta.fractions()[0]
    assert found.next_value < found.value
    assert found.composition == Composition([found.mechanism, *beside])
    assert found.composition.epsilon("1e-6").upper <= 2.0001
    assert repr(found) == f"Parameter(b={float(found.value)!r})"
    # As many as may be, and in one direction.
    count = unspent.parameter("gaussian:sigma=10,count=?", epsilon=1, delta="1e-6", direction="add")
    assert count.value == 5 and count.next_value == 6


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        ("laplace:b=1", "^mechanism: `laplace:b=1` has no `\\?`"),
        ("laplace:b=?,count=?", "^laplace: more than one parameter is `\\?`"),
        ("laplce:b=?", "laplce"),
        ("laplace:b=?,cuont=2", "cuont"),
    ],
)
def test_what_is_no_open_parameter_is_refused(mechanism, said):
    with pytest.raises(UnspentError, match=said) as refused:
        unspent.parameter(mechanism, epsilon=1, delta="1e-6")
    assert refused.value.hint


@pytest.mark.parametrize("conversion", ["canonne-kamath-steinke", "bun-steinke"])
def test_rho_for_a_promise(conversion):
    rho = unspent.largest_rho(1, "1e-6", conversion)
    assert Composition(Gaussian.from_rho(rho)).zcdp_epsilon("1e-6", conversion) <= 1
    more = rho * Fraction("1.00000000001")
    assert Composition(Gaussian.from_rho(more)).zcdp_epsilon("1e-6", conversion) > 1
    # The tighter conversion is what is certified of an event.
    if conversion == "canonne-kamath-steinke":
        assert Composition(ZeroConcentratedDp(rho=rho)).epsilon("1e-6").upper == pytest.approx(1, rel=1e-9)
    with pytest.raises(UnspentError, match="^delta: "):
        unspent.largest_rho(1, 0, conversion)


def test_directions():
    steps = Composition(Subsampled(Gaussian(sigma=1), q="0.01", count=100))
    add, remove = steps.in_direction("add"), steps.in_direction("remove")
    assert (steps.direction, add.direction, remove.direction) == ("both", "add", "remove")
    assert add == Composition(steps.mechanisms, direction="add") != remove
    assert add.delta(1) < remove.delta(1) == steps.delta(1)
    assert (add + Laplace(scale=1)).direction == (2 * add).direction == "add"
    assert add.q_tail(1) < remove.q_tail(1)
    with pytest.raises(UnspentError, match="^direction: one is for add, one for remove"):
        add + remove
    with pytest.raises(UnspentError, match="^direction: `up` is not `both`, `remove` or `add`"):
        steps.in_direction("up")
    with pytest.raises(UnspentError, match="^p_tail: the privacy loss has one law if the record is added"):
        steps.p_tail(1)


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Subsampled(Gaussian(sigma=1), q=0), "^Subsampled: q: `0` is not a probability above 0"),
        (lambda: Subsampled(Gaussian(sigma=1), q="1.01"), "^Subsampled: q: `101/100` is not a probability"),
        (lambda: Subsampled(Gaussian(sigma=1), q=float("nan")), "^Subsampled: q: `NaN` is not a finite"),
        (lambda: Subsampled(Gaussian(sigma=1, count=2), q="0.1"), "^Subsampled: the noise has a count of 2"),
        (lambda: Subsampled(PureDp(epsilon=1), q="0.1"), "^Subsampled: ApproximateDp is not accounted for"),
        (
            lambda: Subsampled(Subsampled(Gaussian(sigma=1), q="0.1"), q="0.1"),
            "^Subsampled: Subsampled is not accounted for",
        ),
        (lambda: Laplace(scale=0), "^Laplace: scale: `0` is not a scale b of Laplace noise between 1e-3"),
        (lambda: Laplace(scale=-1), "^Laplace: scale: `-1` is not a scale"),
        (lambda: Laplace(scale=float("inf")), "^Laplace: scale: `inf` is not a finite number"),
        (lambda: Laplace(scale=1, shift=0), "^Laplace: shift: `0` is not a number between 1e-6 and 1e6"),
        (lambda: Laplace(scale=1, count=0), "^Laplace: count: `0` is not a whole number between 1"),
        (lambda: Laplace(scale=1, count="1.5"), "^Laplace: count: `1.5` is not a whole number between 1"),
        (lambda: DiscreteLaplace(scale=1, shift="1.5"), "^DiscreteLaplace: shift: `1.5` is not a whole"),
        (lambda: DiscreteLaplace(scale=1, shift=-1), "^DiscreteLaplace: shift: `-1` is not a whole"),
        (lambda: DiscreteLaplace(scale=1, shift=0), "^DiscreteLaplace: shift: `0` is not a whole"),
        (lambda: RandomisedResponse(k=1, epsilon=1), "^RandomisedResponse: k: `1` is not a whole number"),
        (lambda: RandomisedResponse(k=2, truth="1/2"), "^RandomisedResponse: truth: `1/2` is not a prob"),
        (lambda: RandomisedResponse(k=2), "^RandomisedResponse: give one of epsilon and truth"),
        (lambda: RandomisedResponse(k=2, epsilon=1, truth=1), "^RandomisedResponse: give one of epsilon"),
        (lambda: ApproximateDp(epsilon=-1, delta=0), "^ApproximateDp: epsilon: `-1` is not a number"),
        (lambda: ApproximateDp(epsilon=1, delta=1), "^ApproximateDp: delta: `1` is not a number of at least"),
        (lambda: PureDp(epsilon="x"), "^PureDp: epsilon: `x` is not a number"),
        (lambda: Finite(p=["1/2", "1/3"], q=["1/2", "1/2"]), "^Finite: p: `5/6` is not masses that sum"),
        (lambda: Finite(p=["3/2", "-1/2"], q=["1/2", "1/2"]), "^Finite: p: `-1/2` is not a mass of at"),
        (lambda: Finite(p=[1], q=["1/2", "1/2"]), "^Finite: .*p has 1 masses and q has 2"),
        (lambda: Finite(p=[0.1] * 10, q=[0.1] * 10), "^Finite: p: `.*` is not masses that sum to 1 exactly"),
        (lambda: Finite(p=[1.0, np.nan], q=[0, 1]), "^.*Finite: p: `NaN` is not a finite number"),
        (lambda: Finite(p=[], q=[]), "^Finite: .*p has 0 masses"),
        (lambda: TruncatedDiscreteGaussian(sigma2=4, bound=0), "^TruncatedDiscreteGaussian: bound: `0` is"),
        (lambda: TruncatedDiscreteGaussian(bound=3), "^nothing says how wide the noise is"),
        (lambda: ZeroConcentratedDp(rho=0), "^ZeroConcentratedDp: rho: `0` is not a positive number"),
        (lambda: GaussianDp(mu=0), "^gdp: mu: `0` is not a positive number"),
        (
            lambda: Composition(Finite(p=["1/2", "1/2", 0], q=["1/4", "1/2", "1/4"])).tradeoff("0.1"),
            "^the trade-off function: some mechanism reveals the record for certain",
        ),
        (lambda: Composition(ZeroConcentratedDp(rho=1)).q_tail(1), "^zCDP event: this mechanism has no law"),
        (lambda: Composition(Laplace(scale=1)).rho, "^Laplace: this mechanism has no exact rho"),
        (lambda: Composition(Laplace(scale=1)).zcdp_epsilon("1e-6"), "^Laplace: this mechanism has no exact"),
    ],
    ids=range(36),
)
def test_what_makes_no_sense_is_refused_by_name(make, said):
    with pytest.raises(UnspentError, match=said) as caught:
        make()
    assert caught.value.hint and str(caught.value).endswith(f"\nhint: {caught.value.hint}")


def test_wrong_types():
    with pytest.raises(TypeError, match="^Laplace: scale: `None` .*is not a number"):
        Laplace(scale=None)
    with pytest.raises(TypeError):
        Laplace(2)
    with pytest.raises(TypeError, match="^mechanisms: `5` .*is not a mechanism"):
        Subsampled(5, q="0.1")
    with pytest.raises(TypeError, match="^shift and sensitivity are given"):
        Laplace(scale=1, shift=1, sensitivity=1)
    with pytest.raises(TypeError):
        Mechanism()


@pytest.mark.parametrize(
    "release, epsilon",
    [
        (Composition(Subsampled(Gaussian(sigma=1), q="1e-12", count=1000)), 1),
        (Composition(Subsampled(Gaussian(sigma="0.1"), q="0.01", count=200)), 1),
        (Composition(Laplace(scale="0.001", count=3)), 100),
        (Composition(PureDp(epsilon=0, count=1000)), 0),
        (Composition(EVERY[2]), 400),
    ],
    ids=range(5),
)
def test_extremes_have_an_answer(release, epsilon):
    found = release.delta(epsilon)
    assert 0 <= found.lower <= found.upper <= 1
