"""To and from dp-accounting (``pip install dp-accounting``).

Its events describe a release as a tree. :meth:`unspent.Composition.from_dp_event` reads those that have a
pair of laws, and refuses any other by name:

- ``GaussianDpEvent``, ``LaplaceDpEvent``, ``DiscreteLaplaceDpEvent``.
- ``DiscreteGaussianDpEvent``, that of this module or dp-accounting's own, which 0.6.0 does not have yet. The
  sensitivity of dp-accounting's is that of a vector in the L2 norm, which says which integers move only if it
  is 1, or if the dimension is 1 and the sensitivity whole (N11). State any other as
  ``DiscreteGaussian(shift=…, count=…)``; a sensitivity of the square root of k may be k counts that move by
  1, which is ``count=k``.
- ``PoissonSampledDpEvent`` of one of these, of several ``GaussianDpEvent`` on the same sample, or of another
  sample.
- ``MixtureOfGaussiansDpEvent`` with one sensitivity other than 0, which is Gaussian noise on a sample.
- ``RandomizedResponseDpEvent``, ``EpsilonDeltaDpEvent``, and ``ZCDpEvent`` with ``xi=0``, of which the upper
  end of a bound is known only.
- ``ComposedDpEvent`` and ``SelfComposedDpEvent``; ``NoOpDpEvent``, which adds nothing.

These events say what one record adds to an answer, so that neighbours matter. With ``"add-remove"`` that is
how far an answer moves. With ``"bounded"`` a record is replaced, and moves an answer by up to twice as much.
Poisson samples are for the former, randomised responses for the latter; both together are refused.

>>> from unspent import Composition
>>> from unspent.events import DiscreteGaussianDpEvent
>>> Composition.from_dp_event(DiscreteGaussianDpEvent(sigma="1.5"))
Composition([DiscreteGaussian(sigma2='2.25', count=1, shift=1)])
"""

import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from unspent._native import (
    ApproximateDp,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    PureDp,
    RandomisedResponse,
    Subsampled,
    UnspentError,
    ZeroConcentratedDp,
)
from unspent.typing import Exact, Neighbours

__all__ = ["DiscreteGaussianDpEvent", "mechanisms"]


def require() -> Any:
    """dp-accounting, or an error that says how to get it."""
    try:
        import dp_accounting
    except ImportError as error:
        raise ImportError("this needs dp-accounting: pip install dp-accounting") from error
    return dp_accounting


@dataclass(frozen=True)
class DiscreteGaussianDpEvent:
    """Noise N_Z(0, sigma**2) on one integer that one record, added or replaced, moves by ``sensitivity``.

    Its arguments are those of ``from_discrete_gaussian_mechanism``. It can stand in trees of dp-accounting's
    events that are read here; dp-accounting's own accountants do not know it.
    """

    sigma: Exact
    sensitivity: int = 1


#: More events than any tree that was meant, and more samples inside samples.
MOST = 1_000_000
DEEPEST = 50


#: The way to an event: that of the event it is in, and its own part.
_Place = tuple[Any, str]

#: The way to the whole tree.
_ROOT: _Place = (None, "event")


def mechanisms(event: Any, neighbours: Neighbours = "add-remove") -> list[Mechanism]:
    """The mechanisms of a tree of events; any event that is not understood is refused by name."""
    read = Reading(event, neighbours)
    if read.reveals is not None:
        place, message = read.reveals
        raise _refused(place, f": {message}: no epsilon holds with it", _LEAVE_OUT)
    # What releases nothing is 0-differentially private.
    return read.found or [PureDp(epsilon=0)]


_LEAVE_OUT = "leave it out only if it was not released"


class Reading:
    """What a tree of events comes to."""

    def __init__(self, event: Any, neighbours: Neighbours, place: _Place = _ROOT, depth: int = 0) -> None:
        self.neighbours = neighbours
        self.depth = depth
        #: The mechanisms.
        self.found: list[Mechanism] = []
        #: Where something is released without any noise, and what.
        self.reveals: tuple[_Place, str] | None = None
        #: Events that are still to be read, how often, and where they are.
        self.left: list[tuple[Any, int, _Place]] = [(event, 1, place)]
        known = _known()
        for _ in range(MOST):
            if not self.left:
                return
            event, times, place = self.left.pop()
            kind = type(event)
            if kind not in known:
                hint = "unspent.events lists those that are"
                raise _refused(place, f": `{_name(kind)}` is not an event that is accounted for here", hint)
            known[kind](self, event, times, place)
        raise _refused(_ROOT, f": there are more than {MOST} events in it", "self-compose what is repeated")

    @property
    def moved(self) -> int:
        """How far one record moves what it adds 1 to: replaced, it takes 1 away and adds another."""
        return 2 if self.neighbours == "bounded" else 1

    def only_for(self, neighbours: Neighbours, place: _Place, name: str) -> None:
        """Refuses an event that is about other neighbours."""
        if self.neighbours != neighbours:
            said = {"bounded": "replace a record", "add-remove": "add or remove a record"}[neighbours]
            hint = f'the same neighbours are meant in all events; for these give neighbours="{neighbours}"'
            raise _refused(place, f": `{name}` is for neighbours that {said}", hint)


_Reader = Callable[[Reading, Any, int, _Place], None]


def _known() -> dict[type, _Reader]:
    """What is done with each class: by the class itself, as others may give its name to something else."""
    known: dict[type, _Reader] = {DiscreteGaussianDpEvent: _leaf(_own)}
    # Whoever has an event of theirs has imported the module.
    theirs = sys.modules.get("dp_accounting.dp_event")
    for name, (fields, reader) in _THEIRS.items():
        kind = getattr(theirs, name, None)
        if isinstance(kind, type):
            # A field that came later may change what the event means.
            more = [field.name for field in getattr(kind, "__attrs_attrs__", ()) if field.name not in fields]
            known[kind] = _of_a_later_version(name, more) if more else reader
    return known


def _leaf(read: Callable[[Reading, Any, int], Mechanism]) -> _Reader:
    """One mechanism."""

    def reader(reading: Reading, event: Any, times: int, place: _Place) -> None:
        try:
            reading.found.append(read(reading, event, times))
        except UnspentError as error:
            message, _, hint = str(error).rpartition("\nhint: ")
            raise _refused(place, f": {message}", hint) from None

    return reader


def _noise(read: Callable[[Reading, Any, int], Mechanism]) -> _Reader:
    """Noise in units of what one record adds: without any, all is revealed."""
    leaf = _leaf(read)

    def reader(reading: Reading, event: Any, times: int, place: _Place) -> None:
        if event.noise_multiplier == 0:
            reading.reveals = (place, f"`{type(event).__name__}` with a noise_multiplier of 0")
        else:
            leaf(reading, event, times, place)

    return reader


def _own(_reading: Reading, event: DiscreteGaussianDpEvent, times: int) -> Mechanism:
    return DiscreteGaussian(sigma=event.sigma, count=times, shift=event.sensitivity)


def _gaussian(reading: Reading, event: Any, times: int) -> Mechanism:
    return Gaussian(sigma=event.noise_multiplier, count=times, shift=reading.moved)


def _laplace(reading: Reading, event: Any, times: int) -> Mechanism:
    return Laplace(scale=event.noise_multiplier, count=times, shift=reading.moved)


def _discrete_laplace(reading: Reading, event: Any, times: int) -> Mechanism:
    decay = exact("noise_parameter", event.noise_parameter)
    if decay <= 0:
        raise _error(f"noise_parameter: `{event.noise_parameter}` is not a positive number", _DECAY)
    shift = reading.moved * exact("sensitivity", event.sensitivity)
    return DiscreteLaplace(scale=1 / decay, count=times, shift=shift)


_DECAY = "it is how fast the noise falls off, one over its scale"


def _discrete_gaussian(reading: Reading, event: Any, times: int) -> Mechanism:
    dimension = getattr(event, "dimension", None)
    if dimension == 1 and not isinstance(dimension, bool):
        shift = reading.moved * exact("sensitivity", event.sensitivity)
        return DiscreteGaussian(sigma=event.sigma, count=times, shift=shift)
    if reading.moved != 1:
        message = "`DiscreteGaussianDpEvent`: a record that is replaced moves one integer by 2 or two by 1"
        raise _error(message, "state the noise itself: DiscreteGaussian(shift=…, count=…)")
    return DiscreteGaussian(sigma=event.sigma, count=times, sensitivity=event.sensitivity)


def _randomised_response(reading: Reading, event: Any, times: int, place: _Place) -> None:
    reading.only_for("bounded", place, "RandomizedResponseDpEvent")
    if event.num_buckets == 1 or event.noise_parameter == 1:
        return
    if event.noise_parameter == 0:
        reading.reveals = (place, "`RandomizedResponseDpEvent` with a noise_parameter of 0")
        return

    def read(_reading: Reading, event: Any, times: int) -> Mechanism:
        # With this probability the answer is any of the values, also the true one.
        random, values = exact("noise_parameter", event.noise_parameter), event.num_buckets
        truth = 1 - random + random / _whole(values, (place, ".num_buckets"))
        return RandomisedResponse(k=values, truth=truth, count=times)

    _leaf(read)(reading, event, times, place)


def _epsilon_delta(_reading: Reading, event: Any, times: int) -> Mechanism:
    return ApproximateDp(epsilon=event.epsilon, delta=event.delta, count=times)


def _zcdp(_reading: Reading, event: Any, times: int) -> Mechanism:
    if event.xi != 0:
        message = f"`ZCDpEvent` is not accounted for with an xi of {event.xi}"
        raise _error(message, "state the noise itself, if it is known")
    return ZeroConcentratedDp(rho=event.rho, count=times)


def _nothing(_reading: Reading, _event: Any, _times: int, _place: _Place) -> None:
    pass


def _non_private(reading: Reading, _event: Any, _times: int, place: _Place) -> None:
    reading.reveals = (place, "`NonPrivateDpEvent` is a release without any promise")


def _composed(reading: Reading, event: Any, times: int, place: _Place) -> None:
    parts = [(part, times, (place, f".events[{i}]")) for i, part in enumerate(event.events)]
    reading.left.extend(reversed(parts))


def _self_composed(reading: Reading, event: Any, times: int, place: _Place) -> None:
    times *= _whole(event.count, (place, ".count"))
    reading.left.append((event.event, times, (place, ".event")))


def _poisson_sampled(reading: Reading, event: Any, times: int, place: _Place) -> None:
    inner: _Place = (place, ".event")
    if event.sampling_probability == 1 and not isinstance(event.sampling_probability, bool):
        reading.left.append((event.event, times, inner))
        return
    reading.only_for("add-remove", place, "PoissonSampledDpEvent")
    if reading.depth == DEEPEST:
        raise _refused(place, f": there are more than {DEEPEST} samples in each other", "multiply them out")
    content = Reading(event.event, reading.neighbours, inner, reading.depth + 1)

    def read(_reading: Reading, event: Any, times: int) -> Mechanism:
        return _on_a_sample(content.found, exact("sampling_probability", event.sampling_probability), times)

    if event.sampling_probability == 0 and not isinstance(event.sampling_probability, bool):
        return
    reading.reveals = reading.reveals or content.reveals
    if content.found:
        _leaf(read)(reading, event, times, place)


def _on_a_sample(content: list[Mechanism], q: Fraction, times: int) -> Mechanism:
    """Mechanisms on one Poisson sample."""
    gaussians = [noise for noise in content if isinstance(noise, Gaussian)]
    if len(gaussians) == len(content):
        # Independent Gaussian noise on answers that one record moves is that on one answer (M2 holds for the
        # pair of all of them together): the squares of shift over sigma add up.
        rho = sum((noise.rho for noise in gaussians), Fraction(0))
        return Subsampled(Gaussian.from_rho(rho), q=q, count=times)
    if len(content) == 1 and content[0].count == 1:
        noise = content[0]
        if isinstance(noise, Subsampled):
            # In both samples, independently.
            return Subsampled(noise.base, q=q * noise.q, count=times)
        if isinstance(noise, (DiscreteGaussian, Laplace, DiscreteLaplace)):
            return Subsampled(noise, q=q, count=times)
        raise _error(f"`PoissonSampledDpEvent` is not accounted for of {noise.kind}", "of noise it is")
    kinds = ", ".join(sorted({f"{noise.count} {noise.kind}" for noise in content}))
    message = f"`PoissonSampledDpEvent` is not accounted for with several answers on one sample: {kinds}"
    raise _error(message, "only Gaussian ones are; if each had a sample of its own, sample each")


def _mixture(reading: Reading, event: Any, times: int, place: _Place) -> None:
    reading.only_for("add-remove", place, "MixtureOfGaussiansDpEvent")
    weights: dict[Fraction, Fraction] = {}
    for distance, weight in zip(event.sensitivities, event.sampling_probs):
        distance, weight = exact("sensitivities", distance), exact("sampling_probs", weight)
        weights[abs(distance)] = weights.get(abs(distance), Fraction(0)) + weight
        if weight < 0:
            raise _refused(place, f".sampling_probs: `{weight}` is not a probability", "none is negative")
    total = sum(weights.values(), Fraction(0))
    if len(event.sensitivities) != len(event.sampling_probs) or abs(total - 1) > Fraction("1e-9"):
        hint = "there is one for every sensitivity, and they sum to 1"
        raise _refused(place, f".sampling_probs: they sum to {float(total)}", hint)
    still = weights.pop(Fraction(0), Fraction(0))
    moving = {distance: weight for distance, weight in weights.items() if weight > 0}
    if not moving:
        return
    if len(moving) > 1:
        message = ": `MixtureOfGaussiansDpEvent` is not accounted for with several sensitivities other than 0"
        raise _refused(place, message, "the largest with all their probability together is an upper bound")

    def read(_reading: Reading, event: Any, times: int) -> Mechanism:
        [(distance, weight)] = moving.items()
        noise = Gaussian(sigma=event.standard_deviation, shift=distance)
        # Doubles sum to 1 about: the larger of both readings.
        return Subsampled(noise, q=min(max(weight, 1 - still), Fraction(1)), count=times)

    if event.standard_deviation == 0:
        reading.reveals = (place, "`MixtureOfGaussiansDpEvent` with a standard_deviation of 0")
    else:
        _leaf(read)(reading, event, times, place)


def _refuses(message: str, hint: str) -> _Reader:
    def reader(_reading: Reading, _event: Any, _times: int, place: _Place) -> None:
        raise _refused(place, f": {message}", hint)

    return reader


def _of_a_later_version(name: str, more: list[str]) -> _Reader:
    message = f"`{name}` has more to it than is known here: {', '.join(more)}"
    return _refuses(message, "state the noise itself: DiscreteGaussian or Gaussian")


_SAMPLES = "records that are sampled independently are a PoissonSampledDpEvent"

#: dp-accounting's events: the fields that are known, and what is done with them.
_THEIRS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    "GaussianDpEvent": (("noise_multiplier",), _noise(_gaussian)),
    "LaplaceDpEvent": (("noise_multiplier",), _noise(_laplace)),
    "DiscreteLaplaceDpEvent": (("noise_parameter", "sensitivity"), _leaf(_discrete_laplace)),
    "DiscreteGaussianDpEvent": (("sigma", "sensitivity", "dimension"), _leaf(_discrete_gaussian)),
    "RandomizedResponseDpEvent": (("noise_parameter", "num_buckets"), _randomised_response),
    "EpsilonDeltaDpEvent": (("epsilon", "delta"), _leaf(_epsilon_delta)),
    "ZCDpEvent": (("rho", "xi"), _leaf(_zcdp)),
    "NoOpDpEvent": ((), _nothing),
    "NonPrivateDpEvent": ((), _non_private),
    "ComposedDpEvent": (("events",), _composed),
    "SelfComposedDpEvent": (("event", "count"), _self_composed),
    "PoissonSampledDpEvent": (("sampling_probability", "event"), _poisson_sampled),
    "MixtureOfGaussiansDpEvent": (("standard_deviation", "sensitivities", "sampling_probs"), _mixture),
    "SampledWithoutReplacementDpEvent": (
        ("source_dataset_size", "sample_size", "event"),
        _refuses("`SampledWithoutReplacementDpEvent` is not accounted for here", _SAMPLES),
    ),
    "SampledWithReplacementDpEvent": (
        ("source_dataset_size", "sample_size", "event"),
        _refuses("`SampledWithReplacementDpEvent` is not accounted for here", _SAMPLES),
    ),
}


def _name(kind: type) -> str:
    """As its author knows it."""
    is_plain = kind.__module__.split(".")[0] in ("dp_accounting", "builtins")
    return kind.__name__ if is_plain else f"{kind.__module__}.{kind.__name__}"


def exact(name: str, value: Any) -> Fraction:
    """A number of an event, exactly: of a double what it is."""
    try:
        if not isinstance(value, bool):
            return Fraction(value if isinstance(value, (int, str, Fraction)) else float(value))
    except (TypeError, ValueError, OverflowError):
        pass
    raise _error(f"{name}: `{value}` is not a finite number", "dp-accounting takes any, but means one")


def _whole(count: Any, place: _Place) -> int:
    try:
        whole = operator.index(count)
    except TypeError:
        whole = 0
    if isinstance(count, bool) or whole < 1:
        raise _refused(place, f": `{count}` is not a whole number of at least 1", "it says how many")
    return whole


def _refused(place: "_Place | None", message: str, hint: str) -> UnspentError:
    parts: list[str] = []
    # Of a deep tree only the end.
    while place is not None and len(parts) < 10:
        place, part = place
        parts.append(part)
    shown = ("…" if place is not None else "") + "".join(reversed(parts))
    return _error(f"{shown}{message}", hint)


def _error(message: str, hint: str) -> UnspentError:
    error = UnspentError(f"{message}\nhint: {hint}")
    error.hint = hint
    return error


#: The interval, the lowest loss in intervals, the masses from there on, and that at infinity.
_Law = tuple[float, int, Any, float]


def privacy_loss_distribution(removed: _Law, added: "_Law | None" = None) -> Any:
    """dp-accounting's distribution with these laws; without the second adding a record has the first, too."""
    require()
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    laws = [removed] if added is None else [removed, added]
    pmfs = [pld_pmf.DensePLDPmf(*law, pessimistic_estimate=True) for law in laws]
    return privacy_loss_distribution.PrivacyLossDistribution(*pmfs)
