"""To and from dp-accounting (``pip install 'unspent[dp-accounting]'``).

Its events describe a release as a tree. :meth:`unspent.Composition.from_dp_event` reads those of which
everything is known here, and refuses any other by name:

- ``GaussianDpEvent``: continuous noise.
- ``DiscreteGaussianDpEvent``, that of this module or dp-accounting's own, which 0.6.0 does not have yet. The
  sensitivity of dp-accounting's is that of a vector in the L2 norm, which says which integers move only if it
  is 1, or if the dimension is 1 and the sensitivity whole (N11). State any other as
  ``DiscreteGaussian(shift=…, count=…)``; a sensitivity of the square root of k may be k counts that move by
  1, which is ``count=k``.
- ``ComposedDpEvent`` and ``SelfComposedDpEvent``; ``NoOpDpEvent``, which adds nothing;
  ``PoissonSampledDpEvent`` with a probability of 1, which is the event in it.

>>> from unspent import Composition
>>> from unspent.events import DiscreteGaussianDpEvent
>>> Composition.from_dp_event(DiscreteGaussianDpEvent(sigma="1.5"))
Composition([DiscreteGaussian(sigma2='2.25', count=1, shift=1)])
"""

import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unspent._native import DiscreteGaussian, Gaussian, UnspentError
from unspent.typing import Exact, Mechanism

__all__ = ["DiscreteGaussianDpEvent", "mechanisms"]


def require() -> Any:
    """dp-accounting, or an error that says how to get it."""
    try:
        import dp_accounting
    except ImportError as error:
        raise ImportError("this needs dp-accounting: pip install 'unspent[dp-accounting]'") from error
    return dp_accounting


@dataclass(frozen=True)
class DiscreteGaussianDpEvent:
    """Noise N_Z(0, sigma**2) on one integer that one record moves by ``sensitivity``.

    Its arguments are those of ``from_discrete_gaussian_mechanism``. It can stand in trees of dp-accounting's
    events that are read here; dp-accounting's own accountants do not know it.
    """

    sigma: Exact
    sensitivity: int = 1


#: More events than any tree that was meant.
MOST = 1_000_000


#: The way to an event: that of the event it is in, and its own part.
_Place = tuple[Any, str]

#: An event that is still to be read, how often, and where it is.
_Left = tuple[Any, int, _Place]


def mechanisms(event: Any) -> list[Mechanism]:
    """The mechanisms of a tree of events; any event that is not understood is refused by name."""
    known = _known()
    found: list[Mechanism] = []
    left: list[_Left] = [(event, 1, (None, "event"))]
    for _ in range(MOST):
        if not left:
            if not found:
                raise _refused(
                    (None, "event"),
                    ": nothing is released in it",
                    "its epsilon and its delta are 0, without accounting",
                )
            return found
        event, times, place = left.pop()
        kind = type(event)
        if kind in known:
            known[kind](event, times, place, found, left)
        else:
            hint = "GaussianDpEvent, DiscreteGaussianDpEvent, ComposedDpEvent and SelfComposedDpEvent are"
            raise _refused(place, f": `{_name(kind)}` is not an event that is accounted for here", hint)
    raise _refused(
        (None, "event"), f": there are more than {MOST} events in it", "self-compose what is repeated"
    )


_Reader = Callable[[Any, int, _Place, list[Mechanism], list[_Left]], None]


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


def _leaf(read: Callable[[Any, int], Mechanism]) -> _Reader:
    """One mechanism."""

    def reader(event: Any, times: int, place: _Place, found: list[Mechanism], _left: list[_Left]) -> None:
        try:
            found.append(read(event, times))
        except UnspentError as error:
            message, _, hint = str(error).rpartition("\nhint: ")
            raise _refused(place, f": {message}", hint) from None

    return reader


def _own(event: DiscreteGaussianDpEvent, times: int) -> Mechanism:
    return DiscreteGaussian(sigma=event.sigma, count=times, shift=event.sensitivity)


def _discrete_gaussian(event: Any, times: int) -> Mechanism:
    dimension = getattr(event, "dimension", None)
    if dimension == 1 and not isinstance(dimension, bool):
        return DiscreteGaussian(sigma=event.sigma, count=times, shift=event.sensitivity)
    return DiscreteGaussian(sigma=event.sigma, count=times, sensitivity=event.sensitivity)


def _nothing(_event: Any, _times: int, _place: _Place, _found: list[Mechanism], _left: list[_Left]) -> None:
    pass


def _composed(event: Any, times: int, place: _Place, _found: list[Mechanism], left: list[_Left]) -> None:
    parts = [(part, times, (place, f".events[{i}]")) for i, part in enumerate(event.events)]
    left.extend(reversed(parts))


def _self_composed(event: Any, times: int, place: _Place, _found: list[Mechanism], left: list[_Left]) -> None:
    left.append((event.event, times * _whole(event.count, place), (place, ".event")))


def _sampled(event: Any, times: int, place: _Place, _found: list[Mechanism], left: list[_Left]) -> None:
    if event.sampling_probability != 1 or isinstance(event.sampling_probability, bool):
        message = (
            f": `PoissonSampledDpEvent` is not accounted for at a probability of {event.sampling_probability}"
        )
        raise _refused(place, message, "only 1 is, where every record is in the sample")
    left.append((event.event, times, (place, ".event")))


def _refuses(message: str, hint: str) -> _Reader:
    def reader(_event: Any, _times: int, place: _Place, _found: list[Mechanism], _left: list[_Left]) -> None:
        raise _refused(place, f": {message}", hint)

    return reader


def _of_a_later_version(name: str, more: list[str]) -> _Reader:
    message = f"`{name}` has more to it than is known here: {', '.join(more)}"
    return _refuses(message, "state the noise itself: DiscreteGaussian or Gaussian")


#: dp-accounting's events: the fields that are known, and what is done with them.
_THEIRS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    "GaussianDpEvent": (
        ("noise_multiplier",),
        _leaf(lambda event, times: Gaussian(sigma=event.noise_multiplier, count=times)),
    ),
    "DiscreteGaussianDpEvent": (("sigma", "sensitivity", "dimension"), _leaf(_discrete_gaussian)),
    "NoOpDpEvent": ((), _nothing),
    "ComposedDpEvent": (("events",), _composed),
    "SelfComposedDpEvent": (("event", "count"), _self_composed),
    "PoissonSampledDpEvent": (("sampling_probability", "event"), _sampled),
    "NonPrivateDpEvent": (
        (),
        _refuses(
            "`NonPrivateDpEvent` is a release without any promise: no epsilon holds with it",
            "leave it out only if it was not released",
        ),
    ),
    "ZCDpEvent": (
        ("rho", "xi"),
        _refuses(
            "`ZCDpEvent` says what is spent and not by which noise, and so has no tight epsilon",
            "state the noise itself, with a GaussianDpEvent or a DiscreteGaussianDpEvent",
        ),
    ),
}


def _name(kind: type) -> str:
    """As its author knows it."""
    is_plain = kind.__module__.split(".")[0] in ("dp_accounting", "builtins")
    return kind.__name__ if is_plain else f"{kind.__module__}.{kind.__name__}"


def _whole(count: Any, place: _Place) -> int:
    try:
        whole = operator.index(count)
    except TypeError:
        whole = 0
    if isinstance(count, bool) or whole < 1:
        raise _refused(place, f".count: `{count}` is not a whole number of at least 1", "it says how often")
    return whole


def _refused(place: "_Place | None", message: str, hint: str) -> UnspentError:
    parts: list[str] = []
    # Of a deep tree only the end.
    while place is not None and len(parts) < 10:
        place, part = place
        parts.append(part)
    shown = ("…" if place is not None else "") + "".join(reversed(parts))
    error = UnspentError(f"{shown}{message}\nhint: {hint}")
    error.hint = hint
    return error


def privacy_loss_distribution(interval: float, lowest: int, masses: Any, infinite: float) -> Any:
    """dp-accounting's distribution with these masses at the multiples of the interval from ``lowest`` on."""
    require()
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    # The pair is symmetric: adding and removing a record have the same distribution of losses.
    pmf = pld_pmf.DensePLDPmf(interval, lowest, masses, infinite, pessimistic_estimate=True)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)
