"""Tables of estimates: columns by name."""

import math
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from unspent._frames import frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

#: The numbers of an estimate; the ends of its intervals are counts.
NUMBERS = ["value", "variance", "lower", "upper", "lower_guaranteed", "upper_guaranteed"]
COUNTS = NUMBERS[2:]


#: Rows that a notebook shows.
SHOWN = 10


def _cells(tag: str, values: "Iterable[object]") -> str:
    """Cells of a row; a number of an estimate is shown with six digits, a count with all."""

    def text(value: object) -> str:
        if isinstance(value, float):
            return "" if math.isnan(value) else f"{value:.6g}" if value % 1 else f"{value:.0f}"
        return escape(str(value))

    return "".join(f"<{tag}>{text(value)}</{tag}>" for value in values)


def named(rows: "Iterable[tuple[str, str]]") -> str:
    """Rows with a name each, for a notebook."""
    cells = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table><tbody>{cells}</tbody></table>"


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
        import pyarrow

        made = {name: pyarrow.array(column, from_pandas=True) for name, column in self.items()}
        made.update({name: made[name].cast(pyarrow.int64()) for name in self._counts()})
        return pyarrow.table(made)

    def _counts(self) -> "Iterator[str]":
        return (name for name in COUNTS if name in self and "ratio" not in self)

    def _repr_html_(self) -> str:
        rows = len(next(iter(self.values()), ()))
        shown = [[column[row] for column in self.values()] for row in range(min(rows, SHOWN))]
        cells = "".join(f"<tr>{_cells('td', row)}</tr>" for row in shown)
        more = f"<p>{SHOWN} of {rows} rows</p>" if rows > SHOWN else ""
        return f"<table><thead><tr>{_cells('th', self)}</tr></thead><tbody>{cells}</tbody></table>{more}"

    def __repr__(self) -> str:
        rows = len(next(iter(self.values()), ()))
        return f"<{type(self).__name__}: {rows} rows of {', '.join(self)}>"


class WholeTable(EstimateTable):
    """Whole counts, or how far they may be from the truth: columns by name, as NumPy's arrays.

    `notes` says what they are and how they are biased. It goes with them to pandas, as `attrs`, and to
    pyarrow, as metadata.
    """

    __module__ = "unspent"

    def __init__(self, columns: dict[str, Any], notes: dict[str, str]) -> None:
        super().__init__(columns)
        self.notes = notes

    def _repr_html_(self) -> str:
        return super()._repr_html_() + "".join(f"<p>{escape(note)}</p>" for note in self.notes.values())

    def to_pandas(self) -> Any:
        """A pandas DataFrame, whose `attrs` are the notes."""
        made = super().to_pandas()
        made.attrs.update(self.notes)
        return made

    def to_arrow(self) -> Any:
        """A table of pyarrow, whose metadata are the notes."""
        return super().to_arrow().replace_schema_metadata(self.notes)

    def _counts(self) -> "Iterator[str]":
        return (name for name in ["size_to"] if name in self)


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


def cells(attributes: list[tuple[str, list[str]]], notes: dict[str, str]) -> WholeTable:
    """What the cells of whole tables are."""
    shape = [len(values) for _, values in attributes]
    places = np.indices(shape).reshape(len(shape), math.prod(shape))
    columns: dict[str, Any] = {"cell": np.arange(math.prod(shape))}
    for (name, values), place in zip(attributes, places):
        columns["cell_" if name == "cell" else name] = np.array(values, dtype="str")[place]
    return WholeTable(columns, notes)


def codes(units: list[str]) -> "NDArray[Any]":
    """Codes of units."""
    return np.array(units, dtype="str")


def counts(level: str, arrays: Any, notes: dict[str, str]) -> WholeTable:
    """Whole tables of units: the code of each and how many cells it has, then all cells and counts."""
    units, lengths, cells, counts = arrays
    columns = {
        "level": np.full(len(cells), level),
        "geocode": np.repeat(codes(units), lengths),
        "cell": cells,
        "count": counts.view(int64(notes)),
    }
    return WholeTable(columns, notes)


def dense(shape: list[int], arrays: Any, notes: dict[str, str]) -> "NDArray[Any]":
    """The same as an array."""
    units, lengths, cells, counts = arrays
    made = np.zeros((len(units), math.prod(shape)), dtype=int64(notes))
    made[np.repeat(np.arange(len(units)), lengths), cells] = counts
    return made.reshape(len(units), *shape)


def published(units: list[str], columns: dict[str, Any], notes: dict[str, str]) -> WholeTable:
    """A published table, with a row for each unit."""
    counts = {name: column.view(int64(notes)) for name, column in columns.items()}
    return WholeTable({"geocode": codes(units), **counts}, notes)


def published_columns(rows: list[tuple[str, str, str, str]], notes: dict[str, str]) -> WholeTable:
    """What the columns of published tables count."""
    columns = zip(("table", "code", "label", "universe"), zip(*rows))
    return WholeTable({name: np.array(column, dtype="str") for name, column in columns}, notes)


def simulated(columns: dict[str, Any], notes: dict[str, str]) -> WholeTable:
    """Errors of whole tables; the last band of sizes has no end, and plain replicates may lack a band."""
    for name in {"size_to", "plain_bias", "plain_rms_error"} & columns.keys():
        columns[name] = [math.nan if number is None else float(number) for number in columns[name]]
    return WholeTable({name: np.array(column) for name, column in columns.items()}, notes)


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


def int64(notes: dict[str, str]) -> Any:
    """The dtype of whole counts, labelled with what must be said of them."""
    return np.dtype("int64", metadata=notes)
