"""The problems every accountant is asked: groups of (sigma2, count), each noise moved by 1, and the deltas.

Numbers are exact fractions; an accountant that takes a floating-point sigma gets the double nearest to it.
"""

from dataclasses import dataclass
from fractions import Fraction

DELTAS = ("1e-5", "1e-10", "1e-20", "1e-50")
# What is timed, and what the summary compares.
USUAL_DELTA = "1e-10"


@dataclass(frozen=True)
class Problem:
    name: str
    title: str
    groups: tuple  # of (sigma2, count)
    deltas = DELTAS
    usual = USUAL_DELTA

    @property
    def count(self):
        return sum(count for _, count in self.groups)

    @property
    def rho(self):
        return sum(count / (2 * sigma2) for sigma2, count in self.groups)

    def half_lattice_step(self):
        """The coarsest grid that holds every loss (X - 1/2) / sigma2, or None if it is uselessly fine."""
        step = Fraction(0)
        for sigma2, _ in self.groups:
            loss = 1 / (2 * sigma2)
            # gcd of fractions; losses are odd multiples of 1/(2 sigma2), and even ones do no harm.
            while loss:
                step, loss = loss, step % loss
        return step if step > Fraction(1, 10**8) else None


# The eighty queries of the 2022-08-25 demonstration (preset paper-2022-08-25): ten at each of eight levels,
# two of which have the same share a/1000 of rho = 3.65, with sigma2 = 10 / (2 rho a/1000).
CENSUS_SHARES = ((20, 10), (274, 10), (85, 10), (131, 20), (238, 10), (118, 10), (3, 10))

# sqrt(2) to forty digits: the decimal is the problem, so that everybody solves the same.
ROOT_2 = Fraction("1.4142135623730950488016887242096980785697")

PROBLEMS = (
    Problem("ten", "10 × N_ℤ(0, 5)", ((Fraction(5), 10),)),
    Problem("many", "1,890 × N_ℤ(0, 5000)", ((Fraction(5000), 1890),)),
    Problem("million", "10⁶ × N_ℤ(0, 10⁶)", ((Fraction(10**6), 10**6),)),
    Problem(
        "census",
        "the 80-fold 2022-08-25 (paper-2022-08-25)",
        tuple((Fraction(100000, 73 * share), count) for share, count in CENSUS_SHARES),
    ),
    Problem(
        "incommensurate",
        "σ² = 5 + √2·j, j = 0 … 32, ten of each (√2 to forty digits)",
        tuple((5 + ROOT_2 * j, 10) for j in range(33)),
    ),
)
