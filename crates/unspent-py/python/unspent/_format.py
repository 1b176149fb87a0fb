"""One end of bounds as text, in a form that Python knows, rounded away from the truth."""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

#: More digits than an end has.
_DIGITS = 60


def rounded(text: str, specification: str, up: bool) -> str:
    """A number as the specification says, rounded up or else down."""
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    with localcontext(Context(prec=_DIGITS, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        if "." in specification and specification[-1] in "eEfFgG%":
            try:
                return format(Decimal(text), specification)
            except ValueError:
                pass
    raise ValueError(
        f"`{specification}` is not a format of bounds: it says the digits and e, f, g or %, like .3f"
    )
