"""An accountant with dp-accounting's interface (``pip install dp-accounting``).

One line of a program changes:

>>> import dp_accounting
>>> from unspent.dp_accounting import Accountant  # was: from dp_accounting.pld import PLDAccountant
>>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
>>> accountant = Accountant().compose(step, 10_000)
>>> accountant.get_epsilon(1e-10)
9.31613...

Answers are floats, as there, but guarantees: the upper ends of certified bounds, rounded up, for the doubles
that the events hold. Both ends are those of ``accountant.composition``:

>>> print(accountant.composition.epsilon(1e-10))
[9.3161385, 9.3161386]

Which events are understood is in :mod:`unspent.events`.
"""

import math
from typing import Any

from unspent._native import Composition, Mechanism, PureDp, UnspentError
from unspent.events import Reading, exact, require
from unspent.typing import Exact, Neighbours

__all__ = ["Accountant"]

require()
from dp_accounting import NeighboringRelation, PrivacyAccountant  # noqa: E402

#: What a record that is replaced by one that adds nothing moves is what one that is removed moves.
_NEIGHBOURS: dict[Any, Neighbours] = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add-remove",
    NeighboringRelation.REPLACE_SPECIAL: "add-remove",
    NeighboringRelation.REPLACE_ONE: "bounded",
}


class Accountant(PrivacyAccountant):  # type: ignore[misc]
    """A privacy accountant of dp-accounting's kind whose answers are certified.

    ``compose``, ``supports``, ``ledger`` and ``neighboring_relation`` are dp-accounting's own. With
    ``REPLACE_ONE`` a record moves a sum by twice what it adds to it; Poisson samples are refused then.
    """

    def __init__(self, neighboring_relation: Any = NeighboringRelation.ADD_OR_REMOVE_ONE) -> None:
        super().__init__(neighboring_relation)
        self._neighbours = _NEIGHBOURS[neighboring_relation]
        self._mechanisms: list[Mechanism] = []
        self._reveals = False
        self._composition: Composition | None = None

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        try:
            read = Reading(event, self._neighbours)
            # Asked whether an event is supported, the count is 0.
            found = [max(count, 1) * mechanism for mechanism in read.found]
            if found and not do_compose:
                # Some mechanisms are refused only where they are composed.
                Composition(found)
        except UnspentError as error:
            return self.CompositionErrorDetails(invalid_event=event, error_message=str(error))
        if do_compose:
            self._mechanisms += found
            self._reveals |= read.reveals is not None
            self._composition = None
        return None

    @property
    def composition(self) -> Composition:
        """What was composed so far; its answers have both ends."""
        if self._reveals:
            raise UnspentError("composition: something was released without noise: no epsilon holds with it")
        if self._composition is None:
            self._composition = Composition(self._mechanisms or PureDp(epsilon=0))
        return self._composition

    def get_epsilon(self, target_delta: Exact) -> float:
        """An epsilon with which all of it is (epsilon, target_delta)-differentially private.

        It is infinite if the record is revealed with a greater probability than that, and at a delta of 0.
        """
        if self._reveals or target_delta == 0:
            return math.inf
        if target_delta == 1:
            return 0.0
        composition = self.composition
        # Otherwise it is said that no epsilon is finite, and why.
        least = composition.infinity.fractions()[0]
        if 0 < least and exact("target_delta", target_delta) <= least:
            return math.inf
        return composition.epsilon(target_delta).upper

    def get_delta(self, target_epsilon: Exact) -> float:
        """A delta with which all of it is (target_epsilon, delta)-differentially private."""
        if self._reveals:
            return 1.0
        if target_epsilon == math.inf:
            return self.composition.infinity.upper
        return self.composition.delta(target_epsilon).upper
