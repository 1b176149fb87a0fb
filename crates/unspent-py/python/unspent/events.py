"""To and from dp-accounting (``pip install 'unspent[dp-accounting]'``).

Its events describe a release as a tree. :meth:`unspent.Composition.from_dp_event` reads those of which everything
is known here; dp-accounting has no event for discrete Gaussian noise yet, so there is one here.

>>> from unspent import Composition
>>> from unspent.events import DiscreteGaussianDpEvent
>>> Composition.from_dp_event(DiscreteGaussianDpEvent(sigma="1.5"))
Composition([DiscreteGaussian(sigma2='2.25', count=1, shift=1)])
"""

from collections.abc import Callable, Iterator
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

    To stand in trees of dp-accounting's events, which call these ``from_discrete_gaussian_mechanism``'s arguments so.
    """

    sigma: Exact
    sensitivity: int = 1


def mechanisms(event: Any) -> list[Mechanism]:
    """The mechanisms of a tree of events; any event that is not understood is refused by name."""
    return list(_walk(event, 1, "event"))


def _walk(event: Any, times: int, place: str) -> Iterator[Mechanism]:
    # By name: neither do they have to be imported to be recognised, nor is a subclass taken for what it extends.
    name = type(event).__name__
    if name == "ComposedDpEvent":
        for i, part in enumerate(event.events):
            yield from _walk(part, times, f"{place}.events[{i}]")
    elif name == "SelfComposedDpEvent":
        count = event.count
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise UnspentError(f"{place}.count: `{count}` is not a whole number of at least 1")
        yield from _walk(event.event, times * count, f"{place}.event")
    elif name == "GaussianDpEvent":
        yield _named(place, lambda: Gaussian.from_scale(event.noise_multiplier, count=times))
    elif name == "DiscreteGaussianDpEvent":
        yield _named(place, lambda: DiscreteGaussian.from_scale(event.sigma, count=times, shift=event.sensitivity))
    else:
        raise UnspentError(f"{place}: `{name}` is not an event that is accounted for here\nhint: {_READ} are")


def _named(place: str, make: Callable[[], Mechanism]) -> Mechanism:
    try:
        return make()
    except UnspentError as error:
        raise UnspentError(f"{place}: {error}") from None


def privacy_loss_distribution(interval: float, lowest: int, masses: Any, infinite: float) -> Any:
    """dp-accounting's distribution with these masses at the multiples of the interval from ``lowest`` on."""
    require()
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    # The pair is symmetric: adding and removing a record have the same distribution of losses.
    pmf = pld_pmf.DensePLDPmf(interval, lowest, masses, infinite, pessimistic_estimate=True)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)
