"""What the functions take, for annotations."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from unspent._native import Allocation, Mechanism

__all__ = [
    "Array",
    "ArrowTable",
    "Columns",
    "Conversion",
    "Direction",
    "Exact",
    "Guard",
    "Mechanism",
    "Neighbours",
    "Rest",
    "Table",
]

#: A number, exactly: a str like "100000/9563" or "1e-10" says what it says; a float is the double that it is.
Exact: TypeAlias = int | float | str | Fraction | Decimal | np.integer[Any] | np.floating[Any]
#: Numbers in an array, or in anything that NumPy makes one of.
Array: TypeAlias = NDArray[Any] | Sequence[Exact] | Sequence[Sequence[Exact]]
Neighbours: TypeAlias = Literal["bounded", "add-remove"]
Conversion: TypeAlias = Literal["canonne-kamath-steinke", "bun-steinke"]
Direction: TypeAlias = Literal["both", "remove", "add"]


class Columns(Protocol):
    """Columns by name, as in a dict or a pandas DataFrame."""

    def keys(self) -> Iterable[Any]: ...
    def __getitem__(self, name: Any, /) -> Any: ...


class ArrowTable(Protocol):
    """What lends Arrow's memory: a DataFrame of pandas or polars, a pyarrow.Table, a relation of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


#: A table of counts: the path of a file, or columns by name, as in a dict, a DataFrame or a structured array.
Table: TypeAlias = str | PathLike[str] | Columns | ArrowTable | NDArray[Any]


class Guard(TypedDict):
    """No standard deviation of a table is more than so many times what it is with that allocation."""

    guard: Allocation
    times: Exact


#: What becomes of tables that nobody asked for.
Rest: TypeAlias = Literal["drop", "best"] | Guard
