"""To and from dp-accounting (``pip install 'unspent[dp-accounting]'``).

Its events describe a release as a tree. :meth:`unspent.Composition.from_dp_event` reads those of which everything
is known here; dp-accounting has no event for discrete Gaussian noise yet, so there is one here.

>>> from unspent import Composition
>>> from unspent.events import DiscreteGaussianDpEvent
>>> Composition.from_dp_event(DiscreteGaussianDpEvent(sigma="1.5"))
Composition([DiscreteGaussian(sigma2='2.25', count=1, shift=1)])
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unspent._native import DiscreteGaussian, Gaussian, UnspentError
from unspent.typing import Exact, Mechanism

__all__ = ["DiscreteGaussianDpEvent", "mechanisms"]

_READ = "GaussianDpEvent, DiscreteGaussianDpEvent, ComposedDpEvent and SelfComposedDpEvent"


def require() -> Any:
    """dp-accounting, or an error that says how to get it."""
    try:
        import dp_accounting
    except ImportError as error:
        raise ImportError("this needs dp-accounting: pip install 'unspent[dp-accounting]'") from error
    return dp_accounting


@dataclass(frozen=True)
class DiscreteGaussianDpEvent:
    """Noise N_Z(0, sigma**2) on an integer that one record moves by ``sensitivity``.

    Its arguments are those of ``from_discrete_gaussian_mechanism``. It can stand in trees of dp-accounting's events
    that are read here; dp-accounting's own accountants do not know it.
    """

    sigma: Exact
    sensitivity: int = 1


#: More events than any tree that was meant.
MOST = 1_000_000


#: The way to an event: that of the event it is in, and its own part.
_Place = tuple[Any, str]


def mechanisms(event: Any) -> list[Mechanism]:
    """The mechanisms of a tree of events; any event that is not understood is refused by name."""
    found: list[Mechanism] = []
    left: list[tuple[Any, int, _Place]] = [(event, 1, (None, "event"))]
    for _ in range(MOST):
        if not left:
            return found
        event, times, place = left.pop()
        name = _name(type(event))
        if name == "ComposedDpEvent":
            parts = [(part, times, (place, f".events[{i}]")) for i, part in enumerate(event.events)]
            left.extend(reversed(parts))
        elif name == "SelfComposedDpEvent":
            left.append((event.event, times * _whole(event.count, place), (place, ".event")))
        elif name in _LEAVES:
            try:
                found.append(_LEAVES[name](event, times))
            except UnspentError as error:
                message, _, hint = str(error).rpartition("\nhint: ")
                raise _refused(place, f": {message}", hint) from None
        else:
            raise _refused(place, f": `{name}` is not an event that is accounted for here", f"{_READ} are")
    raise _refused((None, "event"), f": there are more than {MOST} events in it", "self-compose what is repeated")


_LEAVES: dict[str, Callable[[Any, int], Mechanism]] = {
    "GaussianDpEvent": lambda event, times: Gaussian.from_scale(event.noise_multiplier, count=times),
    "DiscreteGaussianDpEvent": lambda event, times: DiscreteGaussian.from_scale(
        event.sigma, count=times, shift=event.sensitivity
    ),
}


def _name(kind: type) -> str:
    """By name, so that no event need be imported to be recognised; of that package, not of one that extends it."""
    is_known = kind.__module__.split(".")[0] in ("dp_accounting", "unspent", "builtins")
    return kind.__name__ if is_known else f"{kind.__module__}.{kind.__name__}"


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
