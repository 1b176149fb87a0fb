"""What is refused before any count is looked at."""

from typing import Any

from unspent._native import UnspentError

#: Operators whose rows may be others when they are made again.
UNSTEADY = {
    "AsOfJoin",
    "AttachDistributedSequence",
    "GlobalLimit",
    "LocalLimit",
    "Offset",
    "Sample",
    "Tail",
}

#: Functions of several rows that depend neither on their order nor on how they are divided. All others are
#: refused, also those that a later Spark may bring.
STEADY = {
    "average",
    "bitand",
    "bitor",
    "bitxor",
    "booland",
    "boolor",
    "count",
    "countif",
    "hyperloglogplusplus",
    "max",
    "median",
    "min",
    "percentile",
    # There is one row for each of the values that became columns.
    "pivotfirst",
    "regrcount",
    "sum",
    "tryaverage",
    "trysum",
    # What a function in Python does cannot be seen.
    "pythonudaf",
    "pythonudf",
}

#: Those that round, so that the order of doubles matters.
ROUNDED = {"average", "sum", "tryaverage", "trysum"}

#: Functions of a window that rows with equal keys have the same of.
RANKS = {"CumeDist", "DenseRank", "PercentRank", "Rank"}

#: What a cluster must have, each by any of these settings, with the version of Spark that has learnt it.
PROTECTED = {
    "authentication": {"spark.authenticate": 3},
    "encryption of the network": {"spark.network.crypto.enabled": 3, "spark.ssl.rpc.enabled": 4},
    "encryption of disks": {"spark.io.encryption.enabled": 3},
}


def check_frame(what: str, df: Any) -> None:
    """Fails unless it is a DataFrame of Spark's own driver, with the same rows whenever they are made."""
    module = type(df).__module__
    if module.startswith("pyspark.sql.connect"):
        raise UnspentError(
            f"{what}: is a DataFrame of Spark Connect, which is not supported\n"
            "hint: the key would travel through another server; run the driver in the cluster"
        )
    if not module.startswith("pyspark.sql") or not hasattr(df, "_jdf"):
        raise TypeError(f"{what}: `{type(df)}` is not a DataFrame of Spark")
    if df.isStreaming:
        raise UnspentError(f"{what}: is a stream\nhint: measure a table that is complete")
    plan = df._jdf.queryExecution().analyzed()
    if not plan.deterministic():
        raise UnspentError(
            f"{what}: its plan is not deterministic: made again it may have other rows\n"
            "hint: Spark makes rows again after failures, and other counts with the same noise would publish "
            "their difference; write the rows to a file first and read that"
        )
    unsteady = _unsteady(plan)
    if unsteady:
        raise UnspentError(
            f"{what}: its plan has {', '.join(sorted(unsteady))}: made again it may have other rows\n"
            "hint: write the rows to a file first and read that"
        )


def _unsteady(plan: Any) -> set[str]:
    """Names of such operators and functions in a plan and its subqueries."""
    name = str(plan.nodeName())
    found = {name} & UNSTEADY
    # Which of the rows with equal keys it keeps is a matter of their order.
    if name == "Deduplicate" and plan.keys().size() < plan.child().output().size():
        found.add(name)
    # An RDD hides the plan that it was made by, and its own order or rows may be others as well.
    if name in ("ExternalRDD", "LogicalRDD"):
        level = str(plan.rdd().outputDeterministicLevel())
        found |= {f"an RDD ({level})"} - {"an RDD (DETERMINATE)"}
    if name in ("Aggregate", "Window"):
        found = found.union(*(_functions(expression) for expression in _all(plan.expressions())))
    return found.union(*(_unsteady(part) for part in _all(plan.children()) + _all(plan.subqueries())))


def _functions(expression: Any) -> set[str]:
    """Names of functions of several rows, in an expression, that are not known to be steady."""
    found: set[str] = set()
    name, parts = str(expression.nodeName()), _all(expression.children())
    if name == "AggregateExpression":
        found = _unsteady_function(parts[0])
    elif name == "WindowExpression":
        function, specification = parts
        frame = str(_all(specification.children())[-1].sql())
        if str(function.nodeName()) not in RANKS:
            if str(function.nodeName()) != "AggregateExpression":
                found = _unsteady_function(function)
            # Which rows come before one is a matter of the order of equal rows.
            if frame.startswith("ROWS") and frame != WHOLE:
                found.add("a window of ROWS")
    return found.union(*(_functions(part) for part in parts))


WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def _unsteady_function(function: Any) -> set[str]:
    name = str(function.nodeName())
    # Some are called as in SQL, others as in Spark's own code.
    plain = name.replace("_", "").lower()
    if plain not in STEADY:
        return {name}
    kinds = {str(part.dataType().typeName()) for part in _all(function.children())} & {"double", "float"}
    return {f"{name} of {kind}s" for kind in kinds} if plain in ROUNDED else set()


def _all(parts: Any) -> list[Any]:
    """The parts of a sequence of Scala's."""
    return [parts.apply(at) for at in range(parts.size())]


def check_cluster(conf: Any, version: str, allow_unencrypted: bool) -> None:
    """Fails if exact counts or the key would cross a network or lie on disks in the clear."""
    master = conf.get("spark.master", "")
    if allow_unencrypted or master == "local" or master.startswith("local["):
        return
    missing = []
    for what, settings in PROTECTED.items():
        known = [name for name, since in settings.items() if since <= int(version.split(".")[0])]
        if not any(conf.get(name, "false").strip().lower() == "true" for name in known):
            missing.append(f"{what} ({' or '.join(known)})")
    if missing:
        raise UnspentError(
            f"spark: the cluster {master} has no {', no '.join(missing)}\n"
            "hint: exact counts and the key of the noise cross its network, and exact counts lie on its "
            "disks; allow_unencrypted=True measures all the same, where nobody else can look"
        )
