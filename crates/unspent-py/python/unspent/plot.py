"""Pictures with matplotlib (``pip install matplotlib``): what is drawn is the guarantee, never an
estimate.

Both functions take compositions or allocations, one or several, or a dict of them with labels; they draw into
``ax`` or into new axes, which they return. Of allocations the neighbours are named, without which no figure
means anything.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unspent._native import Allocation, Composition
from unspent.typing import Conversion, Exact

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
    delta: "Exact | None" = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """delta against epsilon, on a logarithmic axis that has no smallest number.

    Drawn are the upper bounds. ``epsilon`` is the grid; without one it reaches to where the last release has
    come down to ``smallest_delta``. With ``conversions`` the published conversions from rho are drawn beside
    them. At ``delta``, that of the allocations unless given, there is a line, and each release's epsilon is
    written at it.
    """
    ax = _axes(ax)
    delta = _common_delta(releases) if delta is None else delta
    named = _entitle(ax, "Privacy curve", releases)
    if epsilon is None:
        top = max(composition.epsilon(smallest_delta).upper for _, composition in named)
        grid = np.linspace(0.0, top, POINTS)
    else:
        grid = np.asarray(epsilon, dtype=float)
    for label, composition in named:
        (line,) = ax.plot(grid, composition.delta(grid).log10_upper, label=label or "tight")
        if delta is not None:
            _mark(ax, composition, delta, line.get_color())
        for conversion, (style, _) in CONVERSIONS.items() if conversions else ():
            stated = [composition.zcdp_delta(e, conversion) for e in grid.tolist()]
            ax.plot(grid, np.log10(stated), style, color=line.get_color(), alpha=0.7)
    if delta is not None:
        shown = f"{float(_fraction(delta)):g}"
        ax.axhline(_log10(delta), color="0.5", linewidth=0.8, label=f"δ = {shown}")
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
    ax = _axes(ax)
    named = _entitle(ax, "Trade-off function", releases)
    grid = np.linspace(0.0, 1.0, POINTS) if alpha is None else np.asarray(alpha, dtype=float)
    for label, composition in named:
        ax.plot(grid, composition.tradeoff(grid).lower, label=label or "the best attacker")
    ax.plot([0.0, 1.0], [1.0, 0.0], color="0.6", linewidth=0.8, linestyle="--", label="guessing")
    ax.set_xlabel("false alarms, α")
    ax.set_ylabel("misses (lower bound)")
    ax.set_aspect("equal")
    return _finish(ax)


def _pairs(releases: Releases) -> "list[tuple[str | None, Release]]":
    if isinstance(releases, (Composition, Allocation)):
        releases = [releases]
    if isinstance(releases, Mapping):
        return list(releases.items())
    return [(release.name if isinstance(release, Allocation) else None, release) for release in releases]


def _compositions(pairs: "list[tuple[str | None, Release]]") -> "list[tuple[str | None, Composition]]":
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


def _common_delta(releases: Releases) -> "Fraction | None":
    """What all that state one agree on."""
    stated = {r.delta for _, r in _pairs(releases) if isinstance(r, Allocation) and r.delta is not None}
    return stated.pop() if len(stated) == 1 else None


def _mark(ax: "Axes", composition: Composition, delta: "Exact", colour: "Any") -> None:
    found = composition.epsilon(delta)
    epsilon = found.upper
    if not math.isfinite(epsilon):
        return
    ax.plot([epsilon], [_log10(delta)], "o", color=colour, markersize=4, label="_mark")
    digits = 4 - 1 - math.floor(math.log10(epsilon)) if epsilon > 0 else 0
    # The format of bounds rounds up.
    ax.annotate(
        f"ε ≤ {found:.{max(digits, 0)}f}",
        (epsilon, _log10(delta)),
        xytext=(-6, -14),
        textcoords="offset points",
        ha="right",
        color=colour,
    )


def _fraction(number: "Exact") -> Fraction:
    return Fraction(number.item() if isinstance(number, np.generic) else number)


def _log10(delta: "Exact") -> float:
    """Also of what is too small for a double."""
    exact = _fraction(delta)
    return math.log10(exact.numerator) - math.log10(exact.denominator)


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("unspent.plot needs matplotlib: pip install matplotlib") from error
    return pyplot.subplots()[1]


def _entitle(ax: "Axes", kind: str, releases: Releases) -> "list[tuple[str | None, Composition]]":
    """What is drawn; a single name is part of the title, as a label it would only be long."""
    pairs = _pairs(releases)
    named = _compositions(pairs)
    neighbours = {release.neighbours for _, release in pairs if isinstance(release, Allocation)}
    if len(neighbours) > 1:
        named = [
            (f"{label} ({release.neighbours})" if isinstance(release, Allocation) else label, composition)
            for (label, release), (_, composition) in zip(pairs, named)
        ]
    single = named[0][0] if len(named) == 1 else None
    about = f"{neighbours.pop()} neighbours" if len(neighbours) == 1 else ""
    lines = [single or kind, about]
    ax.set_title("\n".join(line for line in lines if line), fontsize="medium", wrap=True)
    return [(None, named[0][1])] if single else named


def _power_of_ten(value: float, _position: float) -> str:
    return f"$10^{{{value:g}}}$"


def _finish(ax: "Axes") -> "Axes":
    ax.grid(True, alpha=0.3)
    if any(not label.startswith("_") for label in ax.get_legend_handles_labels()[1]):
        ax.legend(frameon=False)
    return ax
