"""Reports as pandas DataFrames."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unspent import Allocation, Certificate, Recalibration


def _frame(rows: "list[dict[str, Any]]") -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install 'unspent[pandas]'") from error
    return pandas.DataFrame(rows)


def measurements(allocation: "Allocation") -> Any:
    """Every query at every level; budgets and variances are exact Fractions."""
    return _frame(
        [
            {"level": m.level, "query": m.query, "rho": m.rho, "sigma2": m.sigma2, "shift": m.shift}
            for m in allocation.measurements
        ]
    )


def certificate(report: "Certificate") -> Any:
    """Every line of a certificate; an epsilon is rounded up, except the lower end of the tight one."""
    return _frame(
        [
            {
                "scope": line.scope,
                "name": line.name,
                "label": line.label,
                "rho": line.rho.upper,
                "bun_steinke": line.bun_steinke,
                "canonne_kamath_steinke": line.canonne_kamath_steinke,
                "tight": line.tight.upper,
                "tight_lower": line.tight.lower,
                "attained": line.attained,
                "main_path": None if line.main_path is None else line.main_path.upper,
                "kept": report.kept if line.scope == "total" else None,
            }
            for line in report.lines
        ]
    )


def recalibration(report: "Recalibration") -> Any:
    """Every part before and after; an epsilon is rounded up, a factor is an exact Fraction."""
    return _frame(
        [
            {
                "scope": line.scope,
                "name": line.name,
                "promised": line.promised,
                "factor": line.factor,
                "tight_before": line.tight_before.upper,
                "tight_after": line.tight_after.upper,
            }
            for line in report.lines
        ]
    )
