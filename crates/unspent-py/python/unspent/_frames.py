"""Reports as pandas DataFrames."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unspent import Allocation, NoisyMeasurement


def frame(data: Any) -> Any:
    """A DataFrame of columns by name, or of rows."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install pandas") from error
    return pandas.DataFrame(data)


def noisy(levels: "dict[str, dict[str, NoisyMeasurement]]") -> Any:
    """Every value of noisy measurements, with its level, unit, query and place in the query."""
    return frame(noisy_columns(levels))


def noisy_polars(levels: "dict[str, dict[str, NoisyMeasurement]]") -> Any:
    """The same for polars."""
    import polars

    return polars.DataFrame(noisy_columns(levels))


def noisy_arrow(levels: "dict[str, dict[str, NoisyMeasurement]]") -> Any:
    """The same for pyarrow."""
    import pyarrow

    return pyarrow.table(noisy_columns(levels))


def ends(values: Any, widths: Any) -> tuple[Any, Any]:
    """Both ends of the intervals around noisy counts, of so much to either side in each unit."""
    counts = np.asarray(values)
    around = widths.reshape([-1] + [1] * (counts.ndim - 1))
    return np.maximum(counts - around, 0), counts + around


def noisy_columns(levels: "dict[str, dict[str, NoisyMeasurement]]") -> dict[str, Any]:
    """The columns of such a table."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ["level", "geocode", "query", "cell", "value", "variance"]
    }
    for level, queries in levels.items():
        for query, measured in queries.items():
            cells = math.prod(measured.values.shape[1:])
            values = measured.values.reshape(len(measured.codes), cells)
            units, cells = values.shape
            columns["level"].append(np.full(units * cells, level))
            columns["geocode"].append(np.repeat(measured.codes, cells))
            columns["query"].append(np.full(units * cells, query))
            columns["cell"].append(np.tile(np.arange(cells), units))
            columns["value"].append(values.reshape(-1))
            columns["variance"].append(np.repeat(measured.variances, cells))
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def measurements(allocation: "Allocation") -> Any:
    """Every query at every level; budgets and variances are exact Fractions."""
    return frame(
        [
            {"level": m.level, "query": m.query, "rho": m.rho, "sigma2": m.sigma2, "shift": m.shift}
            for m in allocation.measurements
        ]
    )
