"""The units of every level and their counts, as one Spark plan.

Which partition a unit is in, and its place there, depends on its code, on the plan of the release and on the
public number of units: on nothing that is counted. Adaptive execution, which looks at the sizes of exact
data, is off while the plan runs.

```text
table    ─▶ g n0 n1 …    ─┬▶ smallest units, sorted ─▶ MeasureRows  ─┐
                          └▶ sums by larger units   ─▶ MeasureSums  ─┤
records  ─▶ g cell n     ─┬▶ smallest units, sorted ─▶ MeasureCells ─┼▶ folder, geocode, query_name, …
units    ─▶ g LISTED 1   ─┴▶ sums by larger units   ─▶ MeasureCells ─┘
```
"""

from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from unspent._native import ReleaseKey, UnspentError
from unspent.spark import _tasks as tasks

#: Values of a file, if nothing else is said; as the command cuts them.
VALUES_IN_FILE = 2_000_000
#: So many more parents than partitions are dealt out to partitions evenly enough.
MANY = 8


class Sums:
    """A plan of a release, and the DataFrames that it is about."""

    def __init__(self, text: str, plan: dict[str, Any], df: Any, units: Any) -> None:
        self.text, self.plan, self.df = text, plan, df
        self.by_cell = plan["rows"] != "units"
        self.levels: list[dict[str, Any]] = plan["levels"]
        self.depths: list[dict[str, Any]] = plan["code_levels"]
        #: Whether the code of every level is the first characters of one column.
        self.nested = all("prefix" in level for level in self.depths)
        columns = plan["columns"]
        self.keys = ["g"] if self.nested else [f"k{i}" for i in range(len(columns["codes"]))]
        self.counts = [f"n{i}" for i in range(len(columns["counts"]))]
        self.table = self._selected("table", df, counted=True)
        self.units = self._selected("units", units, counted=False) if self.by_cell else self.table
        self.codes = self.units.select(*(F.col(key) for key in self.keys))

    def _selected(self, what: str, df: Any, counted: bool) -> Any:
        """The columns that are read, under names of our own."""
        wanted = self.plan["columns"]
        columns = [
            _column(what, df, name, TEXTS).cast("string").alias(key)
            for name, key in zip(wanted["codes"], self.keys)
        ]
        if counted:
            columns += [
                _column(what, df, name, TEXTS).alias(f"v{i}") for i, name in enumerate(wanted["values"])
            ]
            columns += [
                _column(what, df, name, WHOLE).cast("bigint").alias(key)
                for name, key in zip(wanted["counts"], self.counts)
            ]
        return df.select(*columns)

    def code(self, depth: int) -> Any:
        """The code of a level, of the columns that codes are in."""
        level = self.depths[depth]
        if self.nested:
            return F.substring("g", 1, level["prefix"])
        at = self.plan["columns"]["codes"].index
        if "prefix" in level:
            return F.substring(f"k{at(level['column'])}", 1, level["prefix"])
        columns = [F.col(f"k{at(name)}") for name in level["columns"]]
        return columns[0] if len(columns) == 1 else F.concat_ws("-", *columns)

    def units_by_level(self) -> Any:
        """The number of units of each level that is measured, and of the smallest: public figures."""
        depths = sorted({level["depth"] for level in self.levels} | {len(self.depths) - 1}, reverse=True)
        found, codes = None, self.codes
        if not self.nested:
            codes = codes.select(*(self.code(depth).alias(f"u{depth}") for depth in range(len(self.depths))))
        for depth in depths:
            if depth < len(self.depths) - 1:
                above = [f"u{j}" for j in range(depth + 1)]
                codes = codes.select(self.code(depth).alias("g")) if self.nested else codes.select(*above)
                codes = codes.distinct()
            counted = codes.agg(F.count(F.lit(1)).alias("units")).select(F.lit(depth).alias("depth"), "units")
            found = counted if found is None else found.unionByName(counted)
        return found

    def has_id_twice(self) -> Any:
        """A row if two records have the same number."""
        name = f"v{len(self.plan['columns']['values']) - 1}"
        ids = self.table.select(F.col(name).cast("string").alias("id"))
        return ids.groupBy("id").agg(F.count(F.lit(1)).alias("n")).where("n > 1").limit(1)

    def partitions(self, units: dict[int, int], smallest: int | None) -> dict[int, int]:
        """The number of partitions of each level, from the numbers of units."""
        values = {len(self.depths) - 1: units[len(self.depths) - 1]}
        for level in self.levels:
            length = sum(query["length"] for query in level["queries"])
            values[level["depth"]] = units[level["depth"]] * max(1, length)
        size = VALUES_IN_FILE if smallest is None else max(1, -(-max(values.values()) // smallest))
        return {depth: max(1, min(units[depth], -(-count // size))) for depth, count in values.items()}

    def measured(
        self, key: ReleaseKey, units: dict[int, int], partitions: dict[int, int], notes: dict[str, str]
    ) -> Any:
        """All rows of all levels, with noise."""
        schema = output_schema(notes)
        last = len(self.depths) - 1
        smallest = next((level for level in self.levels if level["smallest"]), None)
        unmeasured = {"name": self.depths[last]["name"], "queries": [], "exact": [], "smallest": True}
        base = self._smallest_units(units, partitions[last])
        order = ["g", "cell"] if self.by_cell else ["g"]
        lead = [] if self.nested else ["g"]
        values = ["cell", "n"] if self.by_cell else self.counts
        counts = [] if self.by_cell else list(self.plan["columns"]["counts"])
        kind: type[tasks.MeasureUnits] = tasks.MeasureCells if self.by_cell else tasks.MeasureRows
        level = {**(smallest or unmeasured), "lead": len(lead)}
        task = kind(key if smallest else None, self.text, level, self.plan["columns"]["codes"] + counts)
        rows = base.sortWithinPartitions(*order).select(*lead, *self.keys, *values)
        found = rows.mapInArrow(_small(task, self.df), schema)
        current = base
        for level in sorted(self.levels, key=lambda level: -int(level["depth"])):
            depth = level["depth"]
            if depth == last:
                continue
            current = self._sums(current, depth)
            larger = {**level, "cells": self.plan["cells"]["columns"], "lead": 0}
            kind = tasks.MeasureCells if self.by_cell else tasks.MeasureSums
            rows = current.repartition(partitions[depth], "g").sortWithinPartitions(*order)
            task = kind(key, self.text, larger, counts)
            found = found.unionByName(rows.select("g", *values).mapInArrow(_small(task, self.df), schema))
        return found

    def _smallest_units(self, units: dict[int, int], partitions: int) -> Any:
        """The units of the smallest level, those of one larger unit together if there are many such."""
        rows = self.table
        if self.by_cell:
            fields = [T.StructField(key, T.StringType()) for key in self.keys]
            fields += [T.StructField(name, T.LongType(), False) for name in ("cell", "n")]
            named = self.plan["columns"]
            task = tasks.ReadRecords(
                self.text, len(self.keys), named["codes"] + named["values"] + named["counts"]
            )
            listed = self.units.select(
                *self.keys,
                F.lit(tasks.LISTED).cast("bigint").alias("cell"),
                F.lit(1).cast("bigint").alias("n"),
            )
            rows = rows.mapInArrow(task, T.StructType(fields)).unionByName(listed)
        if not self.nested:
            above = [self.code(depth).alias(f"u{depth}") for depth in range(len(self.depths) - 1)]
            rows = rows.select("*", *above, self.code(len(self.depths) - 1).alias("g"))
        self.parent = self._parent(units, partitions)
        by = "g" if self.parent is None else "p"
        if self.parent is not None:
            rows = rows.withColumn("p", self.code(self.parent))
        rows = rows.repartition(partitions, by)
        if self.by_cell:
            # The rows of a unit are in one partition: they are added up where they are.
            keys = dict.fromkeys([by, "g", *self.keys, *self._above(len(self.depths) - 1)])
            rows = rows.groupBy(*keys, "cell").agg(F.try_sum("n").alias("n"))
        return rows

    def _parent(self, units: dict[int, int], partitions: int) -> int | None:
        """The level whose units stay together."""
        if not self.nested:
            return None
        larger = [level["depth"] for level in self.levels if not level["smallest"]]
        return max((depth for depth in larger if units[depth] >= MANY * partitions), default=None)

    def _above(self, depth: int) -> list[str]:
        """The columns that have the codes of larger units, if codes do not."""
        return [] if self.nested else [f"u{j}" for j in range(depth)]

    def _sums(self, rows: Any, depth: int) -> Any:
        """The sums of units that lie in one of that level. Sums that are too large are null."""
        if self.nested:
            code = F.col("p") if depth == self.parent and "p" in rows.columns else self.code(depth)
        else:
            code = F.col(f"u{depth}")
        by = [code.alias("g"), *([F.col("cell")] if self.by_cell else [])]
        sums = [F.try_sum(name).alias(name) for name in (["n"] if self.by_cell else self.counts)]
        ends = [
            end(name).alias(f"{name}_{end.__name__}") for name in self._above(depth) for end in (F.min, F.max)
        ]
        rows = rows.groupBy(*by).agg(*sums, *ends)
        for name in self._above(depth):
            same = F.col(f"{name}_min").eqNullSafe(F.col(f"{name}_max"))
            rows = rows.where(F.when(same, True).otherwise(F.raise_error(F.lit(tasks.LIES_IN_TWO))))
            rows = rows.withColumnRenamed(f"{name}_min", name).drop(f"{name}_max")
        return rows


def output_schema(notes: dict[str, str]) -> T.StructType:
    """The rows of measurements. Spark writes notes on a column into every file."""
    kinds = [T.StringType()] * 3 + [T.ArrayType(T.IntegerType(), False), T.ArrayType(T.LongType(), False)]
    kinds += [T.DoubleType()] * 2
    return T.StructType(
        [
            T.StructField(name, kind, False, notes if name == "geocode" else None)
            for name, kind in zip(tasks.OUTPUT.names, kinds)
        ]
    )


TEXTS = (T.StringType, T.ByteType, T.ShortType, T.IntegerType, T.LongType)
WHOLE = TEXTS[1:]


def _column(what: str, df: Any, name: str, kinds: tuple[type, ...]) -> Any:
    """A column of a DataFrame; fails unless it is of such a type."""
    fields = [field for field in df.schema.fields if field.name == name]
    if len(fields) != 1:
        there = "there is no column" if not fields else "there are several columns"
        raise UnspentError(
            f"{what}: {there} `{name}`\nhint: it has {', '.join(df.columns)}; the schema names what is read"
        )
    kind = fields[0].dataType
    collation = getattr(kind, "collation", "UTF8_BINARY")
    if not isinstance(kind, kinds) or collation not in (None, "UTF8_BINARY"):
        allowed = "integers" if kinds is WHOLE else "texts or integers"
        raise UnspentError(
            f"{what}: column `{name}` is of {kind.simpleString()}, not of {allowed}\n"
            "hint: cast it before; texts have the collation UTF8_BINARY"
        )
    return F.col("`" + name.replace("`", "``") + "`")


def _small(task: Any, df: Any) -> Any:
    """The same; fails if Spark would write it to disks in the clear, as it does with functions that are
    large.
    """
    from pyspark.cloudpickle import dumps

    threshold = df.sparkSession.sparkContext._jvm.PythonUtils.getBroadcastThreshold(
        df.sparkSession.sparkContext._jsc
    )
    if 2 * len(dumps(task)) > threshold:
        raise UnspentError(
            "spark: the allocation is too large to travel with its key: Spark would write both to disks\n"
            "hint: raise spark.broadcast.UDFCompressionThreshold above twice its size"
        )
    return task
