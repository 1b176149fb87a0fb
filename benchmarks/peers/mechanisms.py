"""Other mechanisms than discrete Gaussian noise: DP-SGD, Laplace noise, events, and mixtures of them.

The compositions are those of the oracle's reference (`oracle/mechanisms.json`), which gives the exact δ at
some ε. Here the question goes the other way: the accountant is told that δ, and the exact answer is that ε.
"""

import json
import math
import pathlib
import sys
import types
from dataclasses import dataclass
from fractions import Fraction

from peers import Accountant, Unsupported, prv_epsilon

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "oracle" / "mechanisms.json"
# By their names in the reference; one that has several ε is asked at each.
NAMES = (
    *(f"subsampled Gaussian {letter}" for letter in "ABCDEFH"),
    "two subsampled Gaussians",
    "subsampled Gaussian and Gaussian",
    "subsampled Gaussian, Laplace, randomised response",
    "Laplace",
    "Laplace and approximate DP",
    "discrete Laplace",
    "pure DP x100",
    "10-ary randomised response, truth 1/2",
)


@dataclass(frozen=True)
class Mixture:
    name: str
    title: str
    composition: tuple  # of dictionaries: kind, count and exact parameters
    epsilon: Fraction
    delta: str

    @property
    def usual(self):
        return self.delta

    @property
    def deltas(self):
        return (self.delta,)


def describe(part):
    """Its kind, parameters and count, in a few words."""
    parameters = ", ".join(
        f"{name} = {value}"
        for name, value in part.items()
        if name not in ("kind", "count") and (name, str(value)) != ("shift", "1")
    )
    return f"{part['count']:,} × {part['kind'].replace('_', ' ')} ({parameters})"


def mixtures():
    cases = json.loads(REFERENCE.read_text(encoding="utf-8"))["cases"]
    found = []
    for name in NAMES:
        # In all of them the larger of the two directions is the removal of a record.
        for case in cases:
            if case["name"] == name and case["direction"] in ("both", "remove"):
                title = " + ".join(describe(part) for part in case["composition"])
                epsilon = Fraction(case["epsilon"])
                found.append(
                    Mixture(
                        f"{name} at {float(epsilon):g}",
                        title,
                        tuple(case["composition"]),
                        epsilon,
                        repr(float(case["delta"])),
                    )
                )
    return tuple(found)


MIXTURES = mixtures()


def sigma(part):
    return math.sqrt(Fraction(part["sigma2"])) / Fraction(part.get("shift", 1))


def loss_of_laplace(part):
    return Fraction(part["shift"]) / Fraction(part["scale"])


def refuse_others(mixture, known):
    for part in mixture.composition:
        if part["kind"] not in known:
            raise Unsupported(f"has no {part['kind'].replace('_', ' ')}")


def ours(mixture):
    import unspent

    classes = {
        "gaussian": unspent.Gaussian,
        "laplace": unspent.Laplace,
        "discrete_laplace": unspent.DiscreteLaplace,
        "randomised_response": unspent.RandomisedResponse,
        "pure_dp": unspent.PureDp,
        "approximate_dp": unspent.ApproximateDp,
    }

    def mechanism(kind, count, q=None, **parameters):
        base = classes[kind.removeprefix("subsampled_")](**parameters)
        return count * (base if q is None else unspent.Subsampled(base, q=q))

    composition = unspent.Composition([mechanism(**part) for part in mixture.composition])

    def epsilon(delta):
        bounds = composition.epsilon(delta)
        return bounds.lower, bounds.upper

    return epsilon


# dp-accounting -----------------------------------------------------------------------------------


def privacy_loss_distribution(part, interval):
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    grid = {"value_discretization_interval": interval}
    dots = {**grid, "use_connect_dots": True}

    def event(delta):
        parameters = common.DifferentialPrivacyParameters(float(Fraction(part["epsilon"])), float(delta))
        return pld.from_privacy_parameters(parameters, **grid)

    make = {
        "gaussian": lambda: pld.from_gaussian_mechanism(float(sigma(part)), **dots),
        "laplace": lambda: pld.from_laplace_mechanism(float(1 / loss_of_laplace(part)), **dots),
        "discrete_laplace": lambda: pld.from_discrete_laplace_mechanism(
            float(1 / Fraction(part["scale"])), int(part["shift"]), **dots
        ),
        "randomised_response": lambda: pld.from_randomized_response(redrawn(part), int(part["k"]), **grid),
        "pure_dp": lambda: event(0),
        "approximate_dp": lambda: event(part["delta"]),
        "subsampled_gaussian": lambda: pld.from_gaussian_mechanism(
            float(sigma(part)), sampling_prob=float(Fraction(part["q"])), **dots
        ),
    }
    return make[part["kind"]]().self_compose(part["count"])


def redrawn(part):
    """The probability of an answer that is drawn anew, which may be the true one."""
    k = int(part["k"])
    if "truth" in part:
        truth = Fraction(part["truth"])
    else:
        ratio = math.exp(Fraction(part["epsilon"]))
        truth = ratio / (ratio + k - 1)
    return float((1 - truth) * k / (k - 1))


def pld(interval):
    def prepare(mixture):
        composed = None
        for part in mixture.composition:
            kind = privacy_loss_distribution(part, interval)
            composed = kind if composed is None else composed.compose(kind)
        return lambda delta: (None, composed.get_epsilon_for_delta(float(delta)))

    return prepare


def rdp(mixture):
    import dp_accounting as dp

    make = {
        "gaussian": lambda part: dp.GaussianDpEvent(float(sigma(part))),
        "laplace": lambda part: dp.LaplaceDpEvent(float(1 / loss_of_laplace(part))),
        "subsampled_gaussian": lambda part: dp.PoissonSampledDpEvent(
            float(Fraction(part["q"])), dp.GaussianDpEvent(float(sigma(part)))
        ),
    }
    refuse_others(mixture, make)
    accountant = dp.rdp.RdpAccountant()
    for part in mixture.composition:
        accountant.compose(make[part["kind"]](part), part["count"])
    return lambda delta: (None, accountant.get_epsilon(float(delta)))


# prv-accountant ----------------------------------------------------------------------------------


def prv_accountant(eps_error):
    def prepare(mixture):
        from prv_accountant import privacy_random_variables as known

        make = {
            "gaussian": lambda part: known.GaussianMechanism(float(sigma(part))),
            "laplace": lambda part: known.LaplaceMechanism(mu=float(loss_of_laplace(part))),
            "pure_dp": lambda part: known.PureDPMechanism(float(Fraction(part["epsilon"]))),
            "subsampled_gaussian": lambda part: known.PoissonSubsampledGaussianMechanism(
                sampling_probability=float(Fraction(part["q"])), noise_multiplier=float(sigma(part))
            ),
        }
        refuse_others(mixture, make)
        prvs = [make[part["kind"]](part) for part in mixture.composition]
        return prv_epsilon(prvs, [part["count"] for part in mixture.composition], eps_error)

    return prepare


# opacus ------------------------------------------------------------------------------------------


def opacus_accountants():
    """Its accountants, without PyTorch: the package imports it for its optimisers alone."""
    if "opacus" not in sys.modules:
        import importlib.util

        package = types.ModuleType("opacus")
        package.__path__ = list(importlib.util.find_spec("opacus").submodule_search_locations)
        optimizers = types.ModuleType("opacus.optimizers")
        optimizers.DPOptimizer = object
        sys.modules["opacus"], sys.modules["opacus.optimizers"] = package, optimizers
    import importlib

    return importlib.import_module("opacus.accountants")


def opacus(name):
    def prepare(mixture):
        refuse_others(mixture, ("subsampled_gaussian",))
        accountant = getattr(opacus_accountants(), name)()
        # What `count` calls of step() would record, at once.
        accountant.history = [
            (float(sigma(part)), float(Fraction(part["q"])), part["count"]) for part in mixture.composition
        ]
        return lambda delta: (None, accountant.get_epsilon(delta=float(delta)))

    return prepare


ACCOUNTANTS = tuple(
    Accountant(*row)
    for row in (
        ("unspent", "interval", ours),
        ("dp-accounting, PLD, 1e-3", "bound", pld(1e-3)),
        ("dp-accounting, PLD, 1e-4 (its default)", "bound", pld(1e-4)),
        ("dp-accounting, RDP", "bound", rdp),
        ("prv-accountant, eps_error 1e-2", "interval", prv_accountant(1e-2)),
        ("opacus, PRV", "bound", opacus("PRVAccountant")),
        ("opacus, RDP", "bound", opacus("RDPAccountant")),
    )
)
