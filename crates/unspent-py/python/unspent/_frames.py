"""Reports as pandas DataFrames."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unspent import Allocation


def frame(data: Any) -> Any:
    """A DataFrame of columns by name, or of rows."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install 'unspent[pandas]'") from error
    return pandas.DataFrame(data)


def measurements(allocation: "Allocation") -> Any:
    """Every query at every level; budgets and variances are exact Fractions."""
    return frame(
        [
            {"level": m.level, "query": m.query, "rho": m.rho, "sigma2": m.sigma2, "shift": m.shift}
            for m in allocation.measurements
        ]
    )
