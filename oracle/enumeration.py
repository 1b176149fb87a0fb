"""Method 3: enumeration of atoms."""

import math

from flint import arb

from .balls import LN2, WANTED_BITS, precision, zero_to
from .composition import Unaffordable, radius_for, refine, summarize, tail_bound
from .convolution import single_pmf


def by_enumeration(composition, epsilons, max_atoms=120_000):
    """For a few mechanisms: list the atoms of all but the widest one, sum that one's tail.

    P[sum a_j X_j > b] with integers a_j, b: for every (x_1, .., x_{n-1}) the last mechanism must reach
    floor((b - sum a_j x_j) / a_n) + 1, which is decided exactly."""
    mechanisms = sorted(
        ((s, d) for s, n, d in composition.groups for _ in range(min(n, 8))), key=lambda m: m[0]
    )
    if composition.count > 4:
        raise Unaffordable("too many mechanisms to enumerate")
    *listed, last = mechanisms
    scale = math.lcm(*(f.denominator for s, d in mechanisms for f in [d / s]))
    slopes = [int(d / s * scale) for s, d in listed]
    last_slope = int(last[1] / last[0] * scale)

    def attempt(wanted, bits):
        atoms = 1
        for s, _ in listed:
            atoms *= 2 * radius_for(bits, s) + 1
        if atoms > max_atoms or radius_for(bits, last[0]) > 300_000:
            raise Unaffordable(f"{atoms} atoms")
        with precision(bits + 64):
            # Atoms of the listed mechanisms as (integer slope sum, probability).
            table = [(0, arb(1))]
            for (s, _), slope in zip(listed, slopes):
                one = single_pmf(s, bits)
                both = [(slope * x, one[abs(x)]) for x in range(1 - len(one), len(one))]
                table = [(a + b, p * q) for a, p in table for b, q in both]
            # Upper tails of the last mechanism: tails[i] encloses P[X >= i - radius] up to `rest`.
            one = single_pmf(last[0], bits)
            radius = len(one) - 1
            running, tails = arb(0), []
            for x in range(radius, -radius - 1, -1):
                running += one[abs(x)]
                tails.append(running)
            tails.reverse()
            top = len(tails)
            # Truncation of any mechanism loses nonnegative mass, at most this much in all.
            lost = 2 * arb(tail_bound(radius + 1, last[0]))
            for s, _ in listed:
                lost += 2 * tail_bound(radius_for(bits, s) + 1, s)
            lost = zero_to(lost)
            everything = tails[0]

            def exceeds(level):
                """P[sum a_j X_j > level], level rational in units of the losses."""
                b = math.floor(level * scale)  # integers exceed level*scale iff they exceed its floor
                total = arb(0)
                for a, probability in table:
                    i = (b - a) // last_slope + 1 + radius
                    if i < top:
                        total += probability * (tails[i] if i > 0 else everything)
                return total + lost

            answers = []
            for epsilon in wanted:
                # Under Q each X is X + shift, which adds mu2 to the sum of the slopes.
                p = exceeds(epsilon + composition.mu2 / 2)
                q = exceeds(epsilon - composition.mu2 / 2)
                answers.append(summarize(p, q, epsilon))
            return answers

    deepest = max(composition.depth(e) for e in epsilons)
    return refine(composition, epsilons, attempt, int(deepest / LN2) + WANTED_BITS + 30)
