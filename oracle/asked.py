"""The program's answers, through its Python package, and whether the truth lies inside."""

import math
import signal
import time
from contextlib import contextmanager
from fractions import Fraction

from flint import arb

import unspent

from .balls import ball, scientific
from .tally import USELESS

NOISE = {
    "discrete_gaussian": unspent.DiscreteGaussian,
    "gaussian": unspent.Gaussian,
    "laplace": unspent.Laplace,
    "discrete_laplace": unspent.DiscreteLaplace,
    "truncated_discrete_gaussian": unspent.TruncatedDiscreteGaussian,
    "finite": unspent.Finite,
    "randomised_response": unspent.RandomisedResponse,
    "approximate_dp": unspent.ApproximateDp,
    "pure_dp": unspent.PureDp,
    "zcdp": unspent.ZeroConcentratedDp,
    "renyi_dp": unspent.RenyiDp,
}


# Seconds for an answer; how many take longer is counted.
LONGEST_WAIT = 5.0

# Bits of a fraction that is handed over as one.
LONGEST = 10_000


def mechanism(part):
    kind = part["kind"]
    rest = {name: value for name, value in part.items() if name not in ("kind", "count")}
    if kind.startswith("subsampled_"):
        q = rest.pop("q")
        return unspent.Subsampled(NOISE[kind[11:]](**rest), q=q, count=part["count"])
    return NOISE[kind](**rest, count=part["count"])


def composition(parts, direction="both"):
    return unspent.Composition([mechanism(part) for part in parts], direction=direction)


class Answer:
    """One answer: whether it holds, how wide it is, how long it took."""

    def __init__(self, kind, status, width=None, seconds=0.0, text=""):
        self.kind, self.status, self.width, self.seconds, self.text = kind, status, width, seconds, text

    def row(self):
        row = [self.kind, self.status, self.width, round(1000 * self.seconds, 3)]
        return [*row, self.text] if self.text else row


class TooLong(Exception):
    """An answer was waited for, and did not come."""


def give_up(_signal, _frame):
    raise TooLong


signal.signal(signal.SIGALRM, give_up)


@contextmanager
def limited(seconds):
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def ask(kind, call, *arguments, **named):
    """(what is returned, seconds), or an Answer that says why nothing is."""
    start = time.perf_counter()
    try:
        with limited(LONGEST_WAIT):
            found = call(*arguments, **named)
    except unspent.UnspentError as error:
        return None, Answer(kind, "refused", seconds=time.perf_counter() - start, text=str(error)[:160])
    except TooLong:
        return None, Answer(kind, "too long", seconds=time.perf_counter() - start)
    except BaseException as error:
        if "Panic" not in type(error).__name__:
            raise
        return None, Answer(kind, "panic", seconds=time.perf_counter() - start, text=str(error)[:160])
    return (found, time.perf_counter() - start), None


def ends(bounds):
    """Both ends, exactly. A float is an upper end."""
    lower, upper = bounds.fractions()
    return ball(lower), ball(upper)


def width_of(lower, upper):
    """log10 of the relative width; None for a point."""
    if not upper > lower:
        return None
    if not lower > 0:
        return 0.0
    share = (1 - lower / upper).mid()
    return round(float(share.log().mid()) / math.log(10), 2) if share > 0 else None


def judge(kind, bounds, truth, seconds, about=""):
    """Inside, or outside: only what is certain is called outside."""
    lower, upper = ends(bounds)
    holds = not (lower > truth) and not (upper < truth)
    width = width_of(lower, upper)
    plain = holds and (width is None or width <= USELESS)
    text = "" if plain else f"{about}: {bounds.decimal(17)}, exactly {truth.str(25)}"
    return Answer(kind, "inside" if holds else "outside", width, seconds, text)


def answer(made, question):
    """The program's answer to a question."""
    kind, argument = question.kind, question.argument
    call = getattr(made, kind)
    if argument is not None and argument.denominator.bit_length() > LONGEST:
        # Too long as a fraction.
        argument = scientific(argument)
    found, refusal = ask(kind, call, *([] if argument is None else [argument]))
    if refusal:
        if refusal.status != "refused":
            refusal.text += f" at {str(argument)[:200]}"
        return refusal
    return judge(kind, found[0], question.truth, found[1], str(argument)[:200])


def upper_end(kind, found, truth, seconds, most=None, about=""):
    """A float that must not be below the truth, nor needlessly above it."""
    value = ball(Fraction(found)) if math.isfinite(found) else arb("inf")
    if value < truth:
        return Answer(kind, "outside", None, seconds, f"{about}: {found!r} below {truth.str(25)}")
    if most is not None and value > truth * (1 + ball(most)) + ball(Fraction(1, 10**300)):
        return Answer(kind, "wide", width_of(arb(truth.lower()), value), seconds, f"{about}: {found!r}")
    return Answer(kind, "inside", width_of(arb(truth.lower()), value), seconds)
