"""An accountant with the interface of opacus' accountants, for models trained with DP-SGD.

It can be imported without opacus. With opacus, register the accountant once; then every engine can use it:

    import opacus
    import unspent.opacus

    opacus.accountants.register_accountant("unspent", unspent.opacus.Accountant)
    engine = opacus.PrivacyEngine(accountant="unspent")

>>> from unspent.opacus import Accountant
>>> accountant = Accountant()
>>> for _ in range(14_000):
...     accountant.step(noise_multiplier=1.1, sample_rate=256 / 60_000)
>>> accountant.get_epsilon(delta=1e-5)
2.37583...
"""

import math
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from copy import deepcopy
from typing import Any

from unspent._native import Composition, Gaussian, Mechanism, PureDp, Subsampled, UnspentError
from unspent.typing import Exact

__all__ = ["Accountant"]


class Accountant:
    """Steps of Gaussian noise on Poisson samples, and a certified epsilon for all of them.

    ``history`` is as in opacus: triples of noise multiplier, sample rate and number of steps. The noise
    multiplier is sigma over the clipping norm; neighbours add or remove a record.
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    @classmethod
    def mechanism(cls) -> str:
        """The name that opacus may know it by."""
        return "unspent"

    def __len__(self) -> int:
        """The number of steps so far."""
        return sum(steps for _, _, steps in self.history)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One step of the optimiser."""
        # What makes no sense is refused here, and not when the model is trained.
        _steps(noise_multiplier, sample_rate, 1)
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    @property
    def composition(self) -> Composition:
        """All steps so far; its answers have both ends."""
        steps = [step for entry in self.history if (step := _steps(*entry)) is not None]
        return Composition(steps or PureDp(epsilon=0))

    def get_epsilon(self, delta: Exact, *_arguments: Any, **_options: Any) -> float:
        """An epsilon with which all steps are (epsilon, delta)-differentially private, rounded up.

        What other accountants need besides, like ``eps_error`` or ``alphas``, is taken and not used.
        """
        if any(noise == 0 and rate != 0 for noise, rate, _ in self.history):
            return math.inf
        return self.composition.epsilon(delta).upper

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """What an optimiser calls after every step."""

        def hook(optimizer: Any) -> None:
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook

    def state_dict(self, destination: "MutableMapping[str, Any] | None" = None) -> MutableMapping[str, Any]:
        """The history, to be saved with a model."""
        destination = OrderedDict() if destination is None else destination
        destination["history"] = deepcopy(self.history)
        destination["mechanism"] = self.mechanism()
        return destination

    def load_state_dict(self, state_dict: MutableMapping[str, Any]) -> None:
        """The history that was saved."""
        if not state_dict or "history" not in state_dict or "mechanism" not in state_dict:
            raise UnspentError("state_dict: there is no history of an accountant in it")
        if state_dict["mechanism"] != self.mechanism():
            raise UnspentError(f"state_dict: it is that of the accountant `{state_dict['mechanism']}`")
        self.history = deepcopy(state_dict["history"])


def _steps(noise_multiplier: float, sample_rate: float, steps: int) -> "Mechanism | None":
    """Equal steps; none if no record is in them, or if there is no noise."""
    if sample_rate == 0:
        return None
    is_plain = noise_multiplier == 0
    # The rate must make sense also where there is no noise.
    made = Subsampled(Gaussian(sigma=1 if is_plain else noise_multiplier), q=sample_rate, count=steps)
    return None if is_plain else made
