"""Reports as pandas DataFrames."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unspent import Allocation, NoisyMeasurement


def frame(data: Any) -> Any:
    """A DataFrame of columns by name, or of rows."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install 'unspent[pandas]'") from error
    return pandas.DataFrame(data)


def noisy(levels: "dict[str, dict[str, NoisyMeasurement]]") -> Any:
    """Every value of noisy measurements, with its level, unit, query and place in the query."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ["level", "geocode", "query", "cell", "value", "variance"]
    }
    for level, queries in levels.items():
        for query, measured in queries.items():
            values = measured.values.reshape(len(measured.codes), -1)
            units, cells = values.shape
            columns["level"].append(np.full(units * cells, level))
            columns["geocode"].append(np.repeat(measured.codes, cells))
            columns["query"].append(np.full(units * cells, query))
            columns["cell"].append(np.tile(np.arange(cells), units))
            columns["value"].append(values.reshape(-1))
            columns["variance"].append(np.repeat(measured.variances, cells))
    return frame({name: np.concatenate(parts) for name, parts in columns.items()})


def measurements(allocation: "Allocation") -> Any:
    """Every query at every level; budgets and variances are exact Fractions."""
    return frame(
        [
            {"level": m.level, "query": m.query, "rho": m.rho, "sigma2": m.sigma2, "shift": m.shift}
            for m in allocation.measurements
        ]
    )
