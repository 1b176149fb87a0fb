"""Pictures with matplotlib (``pip install 'unspent[plot]'``): what is drawn is the guarantee, never an
estimate.

Both functions take compositions or allocations, one or several, or a dict of them with labels; they draw into
``ax`` or into new axes, which they return.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unspent._native import Allocation, Composition
from unspent.typing import Conversion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curve", "tradeoff"]

Release: TypeAlias = Composition | Allocation
Releases: TypeAlias = Release | Iterable[Release] | Mapping[str, Release]

#: The published conversions from rho, and how they are drawn.
CONVERSIONS: dict[Conversion, tuple[str, str]] = {
    "canonne-kamath-steinke": ("--", "Canonne–Kamath–Steinke"),
    "bun-steinke": (":", "Bun–Steinke"),
}

#: Points of a curve, unless they are given.
POINTS = 201


def curve(
    releases: Releases,
    epsilon: "Any | None" = None,
    *,
    smallest_delta: "str | float" = "1e-15",
    conversions: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """delta against epsilon, on a logarithmic axis that has no smallest number.

    Drawn are the upper bounds. ``epsilon`` is the grid; without one it reaches to where the last release has
    come down to ``smallest_delta``. With ``conversions`` the published conversions from rho are drawn beside
    them.
    """
    named, ax = _compositions(releases), _axes(ax)
    named = _entitle(ax, named)
    if epsilon is None:
        top = max(composition.epsilon(smallest_delta).upper for _, composition in named)
        grid = np.linspace(0.0, top, POINTS)
    else:
        grid = np.asarray(epsilon, dtype=float)
    for label, composition in named:
        (line,) = ax.plot(grid, composition.delta(grid).log10_upper, label=label or "tight")
        for conversion, (style, _) in CONVERSIONS.items() if conversions else ():
            stated = [composition.zcdp_delta(e, conversion) for e in grid.tolist()]
            ax.plot(grid, np.log10(stated), style, color=line.get_color(), alpha=0.7)
    for style, authors in CONVERSIONS.values() if conversions else ():
        ax.plot([], [], style, color="0.4", label=f"{authors}, from ρ")
    ax.yaxis.set_major_formatter(_power_of_ten)
    ax.set_xlabel("ε")
    ax.set_ylabel("δ (upper bound)")
    return _finish(ax)


def tradeoff(releases: Releases, alpha: "Any | None" = None, *, ax: "Axes | None" = None) -> "Axes":
    """The trade-off function: how often the best attacker misses against how often it raises a false alarm.

    Drawn are the lower bounds, the guarantee. The diagonal is an attacker who guesses.
    """
    named, ax = _compositions(releases), _axes(ax)
    named = _entitle(ax, named)
    grid = np.linspace(0.0, 1.0, POINTS) if alpha is None else np.asarray(alpha, dtype=float)
    for label, composition in named:
        ax.plot(grid, composition.tradeoff(grid).lower, label=label or "the best attacker")
    ax.plot([0.0, 1.0], [1.0, 0.0], color="0.6", linewidth=0.8, linestyle="--", label="guessing")
    ax.set_xlabel("false alarms, α")
    ax.set_ylabel("misses (lower bound)")
    ax.set_aspect("equal")
    return _finish(ax)


def _compositions(releases: Releases) -> "list[tuple[str | None, Composition]]":
    if isinstance(releases, (Composition, Allocation)):
        releases = [releases]
    pairs: Iterable[tuple[str | None, Release]]
    if isinstance(releases, Mapping):
        pairs = releases.items()
    else:
        pairs = [(release.name if isinstance(release, Allocation) else None, release) for release in releases]
    named = []
    for label, release in pairs:
        if isinstance(release, Allocation):
            release = release.composition()
        if not isinstance(release, Composition):
            raise TypeError(f"releases: a {type(release).__name__} is not a Composition or an Allocation")
        named.append((label, release))
    if not named:
        raise ValueError("releases: there is nothing to draw")
    return named


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("unspent.plot needs matplotlib: pip install 'unspent[plot]'") from error
    return pyplot.subplots()[1]


def _entitle(
    ax: "Axes", named: "list[tuple[str | None, Composition]]"
) -> "list[tuple[str | None, Composition]]":
    """A single name is a title: as a label it would only be long."""
    if len(named) == 1 and named[0][0]:
        ax.set_title(named[0][0], fontsize="medium", wrap=True)
        return [(None, named[0][1])]
    return named


def _power_of_ten(value: float, _position: float) -> str:
    return f"$10^{{{value:g}}}$"


def _finish(ax: "Axes") -> "Axes":
    ax.grid(True, alpha=0.3)
    if any(not label.startswith("_") for label in ax.get_legend_handles_labels()[1]):
        ax.legend(frameon=False)
    return ax
