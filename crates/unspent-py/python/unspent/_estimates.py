"""Tables of estimates: columns by name."""

from typing import TYPE_CHECKING, Any

import numpy as np

from unspent._frames import frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: The numbers of an estimate; the ends of its intervals are counts.
NUMBERS = ["value", "variance", "lower", "upper", "lower_guaranteed", "upper_guaranteed"]
COUNTS = NUMBERS[2:]


class EstimateTable(dict[str, Any]):
    """Estimates: columns by name, as NumPy's arrays. A number that there is not is nan."""

    __module__ = "unspent"

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Ends of intervals are Int64: they stay counts where some are missing."""
        made = frame(dict(self))
        return made.astype({name: "Int64" for name in self._counts()})

    def to_polars(self) -> Any:
        """A polars DataFrame, with null for what is missing."""
        import polars

        made = polars.DataFrame(dict(self), nan_to_null=True)
        return made.with_columns(polars.col(name).cast(polars.Int64) for name in self._counts())

    def to_arrow(self) -> Any:
        """A table of pyarrow, with null for what is missing."""
        import pyarrow  # type: ignore[import-untyped]

        made = {name: pyarrow.array(column, from_pandas=True) for name, column in self.items()}
        made.update({name: made[name].cast(pyarrow.int64()) for name in self._counts()})
        return pyarrow.table(made)

    def _counts(self) -> "Iterator[str]":
        return (name for name in COUNTS if name in self and "ratio" not in self)

    def __repr__(self) -> str:
        rows = len(next(iter(self.values()), ()))
        return f"<EstimateTable: {rows} rows of {', '.join(self)}>"


def units(
    level: str, names: list[str], blocks: Any, numbers: "list[NDArray[Any]]", warning: str | None
) -> EstimateTable:
    """Answers for units: rows for each unit and query, of which code, query and number of rows are given."""
    codes, queries, lengths = blocks
    rows = int(lengths.sum())
    first = np.cumsum(lengths) - lengths
    columns = {
        "level": np.full(rows, level),
        "geocode": np.repeat(np.array(codes, dtype="str"), lengths),
        "query": np.repeat(np.array(names, dtype="str")[queries], lengths),
        "cell": np.arange(rows) - np.repeat(first, lengths),
    }
    return EstimateTable({**columns, **labelled(numbers, warning)})


def answers(
    columns: dict[str, Any], numbers: "list[NDArray[Any]]", covariances: Any, warning: str | None
) -> EstimateTable:
    """Answers for areas."""
    made = EstimateTable({**texts(columns), **labelled(numbers, warning)})
    if covariances is not None:
        made["covariance"] = covariances
    return made


def covariances(differences: EstimateTable) -> EstimateTable:
    """What differences say of the covariance of two areas."""
    return EstimateTable({name: differences[name] for name in ("query", "cell", "label", "covariance")})


def ratios(columns: dict[str, Any], warning: str | None) -> EstimateTable:
    """Ratios in areas."""
    made = EstimateTable(texts(columns))
    made["value"] = made["value"].view(float64(warning))
    return made


def texts(columns: dict[str, Any]) -> dict[str, Any]:
    """Lists of str as arrays, also if they are empty."""
    return {
        name: np.array(column, dtype="str") if isinstance(column, list) else column
        for name, column in columns.items()
    }


def labelled(numbers: "list[NDArray[Any]]", warning: str | None) -> dict[str, Any]:
    """The numbers of estimates by name; what is said of noise that is not private stays with the values."""
    columns = dict(zip(NUMBERS, numbers))
    columns["value"] = columns["value"].view(float64(warning))
    return columns


def float64(warning: str | None) -> Any:
    """The dtype, labelled with a warning if there is one."""
    return np.dtype("float64", metadata={"unspent.warning": warning} if warning else {})
