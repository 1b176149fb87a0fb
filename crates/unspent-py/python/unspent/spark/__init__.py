"""Noisy measurements of tables that are too large for one machine (``pip install pyspark pyarrow pandas``).

Spark makes rows again: after a failure, for a task that is slow, for a DataFrame that is used twice. Noise
that was drawn anew would then give one count two noises. Here noise is a function of its address: the key of
the release, the level, the query, sigma2, the unit and the cell. Whatever is made again is the same.
"""

import datetime
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "unspent.spark needs pyspark, pyarrow and pandas: pip install pyspark pyarrow pandas"
    ) from error

import unspent
from unspent._native import Allocation, ReleaseKey, ReleasePlan, UnspentError
from unspent.spark import _tasks
from unspent.spark._checks import check_cluster, check_frame
from unspent.spark._files import Output
from unspent.spark._sums import Sums

__all__ = ["Measured", "measure"]

#: Settings of the job, besides the number of partitions.
SETTINGS = {
    # It would cut files by the sizes of exact data.
    "spark.sql.adaptive.enabled": "false",
    # Otherwise rows are sorted once more by their folder, and their order is lost.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    "spark.sql.files.maxRecordsPerFile": "0",
    # Rows that are lost meanwhile fail the run.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # The whole of each file that was written is hashed.
    "spark.sql.sources.binaryFile.maxLength": str(2**31 - 1),
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.requireAllClusterKeysForDistribution": "false",
}


#: Settings are those of a session: one run after the other sets them.
SETTING = threading.Lock()


@dataclass(frozen=True)
class Measured:
    """What was measured and written."""

    #: The directory, as Spark names it.
    path: str
    #: What was released: the contents of manifest.json.
    manifest: dict[str, Any]

    @property
    def certificate(self) -> dict[str, Any]:
        """What the release guarantees."""
        return dict(self.manifest["certificate"])

    @property
    def private(self) -> bool:
        """Whether the noise came from a key that nobody knows."""
        return bool(self.manifest["private"])

    def __str__(self) -> str:
        lines = [self.manifest["allocation"]]
        if not self.private:
            lines.append(f"WARNING: {self.manifest['warning']}.")
        for level in self.manifest["levels"]:
            values = sum(query["measurements"] for query in level["queries"])
            lines.append(f"{values:,} noisy values for {level['units']:,} of {level['level']}.")
        lines.append("Measuring the same records again spends the same budget again.")
        lines.append(f"Written to {self.path}.")
        return "\n".join(lines)


def measure(
    df: Any,
    allocation: Allocation,
    out: str | PathLike[str],
    *,
    units: Any = None,
    schema: str | PathLike[str] | None = None,
    count: str | None = None,
    id: str | None = None,
    bypass: str | None = None,
    delta: Any = None,
    partitions: int | None = None,
    break_promise: bool = False,
    not_private_seed: int | None = None,
    allow_unencrypted: bool = False,
) -> Measured:
    """Adds exact noise to a DataFrame of Spark, as an allocation says, and writes a directory.

    ``df`` is what `unspent.measure` takes, in any order: a row for each smallest unit, with a column for
    every cell; or a row for each record, with its code and a value of each attribute; or for each combination
    of values, with ``count``, the column that says how many records have it. Records and counts need
    ``units``, a DataFrame with the codes of all smallest units, also of those with nobody in them. It is
    public.

    The directory is what the command writes: `unspent.read_measurements` and `unspent estimate` read it. It
    must not exist, and appears whole with its manifest or not at all. Values are those of `unspent.measure`
    with the same key, in whatever way Spark divides its work. ``partitions`` is the number of files of the
    level with the most values; otherwise a file has some two million values.

    A plan with random expressions is refused. A cluster without authentication and encryption is refused too,
    unless ``allow_unencrypted`` is True. What it was computed from must not change while it runs. Measuring
    the same records again spends the same budget again.
    """
    if not isinstance(allocation, Allocation):
        raise TypeError(f"allocation: `{type(allocation)}` is not an Allocation")
    check_frame("table", df)
    if units is not None:
        check_frame("units", units)
    spark = df.sparkSession
    check_cluster(spark.sparkContext.getConf(), spark.version, allow_unencrypted)
    plan = ReleasePlan(
        allocation,
        listed=units is not None,
        schema=schema,
        count=count,
        id=id,
        bypass=bypass,
        delta=delta,
        break_promise=break_promise,
    )
    described = plan.to_dict()
    _check_kind(described, units, partitions)
    output = Output(spark, fspath(out))
    output.check()
    sums = Sums(plan.text, described, df, units)
    started = _now()
    with SETTING, _failures(), _settings(spark, SETTINGS), _jobs(spark.sparkContext) as cancel:
        _check_executors(spark.sparkContext)
        parallelism = spark.sparkContext.defaultParallelism
        with _settings(spark, {"spark.sql.shuffle.partitions": str(2 * parallelism)}):
            counted = {row["depth"]: row["units"] for row in sums.units_by_level().collect()}
            if described["id"] is not None and sums.has_id_twice().count():
                raise UnspentError("table: two records have the same id\nhint: a record is counted once")
        if not counted[max(counted)]:
            raise UnspentError("table: it has no units\nhint: every unit has a row, also with nobody in it")
        cut = sums.partitions(counted, partitions)
        output.check()
        output.begin()
        try:
            key = _key(not_private_seed)
            private = key.is_private
            notes = _notes(described, private)
            with _settings(spark, {"spark.sql.shuffle.partitions": str(cut[max(cut)])}):
                rows = sums.measured(key, counted, cut, notes)
                del key
                writer = rows.write.mode("error").partitionBy("folder").option("compression", "snappy")
                # Another version moves files into place before the job has succeeded.
                writer = writer.option("mapreduce.fileoutputcommitter.algorithm.version", "1")
                writer.parquet(output.inside("rows").toString())
                del rows, writer
            manifest = _finish(output, plan, described, counted, started, not_private_seed)
        except BaseException:
            try:
                cancel()
            finally:
                output.abandon()
            raise
    return Measured(str(output), manifest)


def _check_kind(described: dict[str, Any], units: Any, partitions: int | None) -> None:
    """Fails if it is asked for what only one machine can do."""
    if described["rows"] == "units" and units is not None:
        raise UnspentError(
            "units: each row of the table is a unit\n"
            "hint: leave the list out; the table has a row for every unit"
        )
    if described["public"]:
        raise UnspentError(
            f"allocation: publishes columns of the list of units, {', '.join(described['public'])}\n"
            "hint: only `unspent measure` does, on one machine"
        )
    if partitions is not None and (type(partitions) is not int or not 1 <= partitions < 1 << 31):
        raise UnspentError(f"partitions: `{partitions}` is not a whole number above 0\nhint: leave it out")


def _key(not_private_seed: int | None) -> ReleaseKey:
    return ReleaseKey.from_os() if not_private_seed is None else ReleaseKey.not_private(not_private_seed)


def _notes(described: dict[str, Any], private: bool) -> dict[str, str]:
    """What every file says of itself."""
    return {**described["file_metadata"], "unspent.private": "true" if private else "false"}


def _finish(
    output: Output,
    plan: ReleasePlan,
    described: dict[str, Any],
    counted: dict[int, int],
    started: str,
    not_private_seed: int | None,
) -> dict[str, Any]:
    """Looks whether all rows are there, writes what is said of them, and gives the directory its name."""
    rows_of = {}
    for level in described["levels"]:
        rows_of[level["folder"]] = len(level["queries"])
        if level["exact"]:
            rows_of[level["exact_folder"]] = len(level["exact"])
    written = output.take_in("rows", rows_of)
    levels: list[dict[str, Any]] = []
    exact: list[dict[str, Any]] = []
    for level in described["levels"]:
        for found, folder in ((levels, level["folder"]), (exact, level["exact_folder"])):
            if folder is None:
                continue
            units = sum(file["units"] for file in written[folder])
            if units != counted[level["depth"]]:
                expected = counted[level["depth"]]
                raise UnspentError(
                    f"out: level `{level['name']}` was written for {units} units of {expected}\n"
                    "hint: the table changed meanwhile, or executors write to disks of their own"
                )
            found.append({"level": level["name"], "files": written[folder]})
    output.digest(written)
    rows = counted[max(counted)] if described["rows"] == "units" else None
    texts = plan.files(
        table="table",
        levels=levels,
        exact=exact,
        rows=rows,
        started=started,
        finished=_now(),
        not_private_seed=not_private_seed,
    )
    for name, text in sorted(texts.items(), key=lambda file: file[0] == "manifest.json"):
        output.write(name, text)
    output.finish([*texts, *(file["file"] for files in written.values() for file in files)])
    return dict(json.loads(texts["manifest.json"]))


def _check_executors(context: Any) -> None:
    """A first small job: every executor has this package, in this version."""
    version, tasks = unspent.__version__, max(2, 2 * context.defaultParallelism)

    def check(_: Iterator[int]) -> list[int]:
        _tasks.same_version(version)
        return []

    context.parallelize(range(tasks), tasks).mapPartitions(check).collect()


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def _jobs(context: Any) -> Iterator[Callable[[], None]]:
    """What cancels all jobs of a run: after Ctrl-C their tasks would go on to write."""
    tag = f"unspent-{secrets.token_hex(8)}"
    context.addJobTag(tag)

    def cancel() -> None:
        context.cancelJobsWithTag(tag)
        _await_tasks(context._jsc.sc().statusTracker(), tag)

    try:
        yield cancel
    finally:
        context.removeJobTag(tag)


def _await_tasks(tracker: Any, tag: str, seconds: float = 60) -> None:
    """Waits for tasks that were told to stop: one that begins to write now would make its directory again.

    Spark fails or cancels a job without waiting for them. What is still not over after a minute may leave
    something, which the next run names.
    """
    ends, quiet = time.monotonic() + seconds, 0
    # Spark learns of tasks with a delay.
    while quiet < 3 and time.monotonic() < ends:
        stages = {
            stage
            for job in tracker.getJobIdsForTag(tag)
            for info in [tracker.getJobInfo(job)]
            if info.isDefined()
            for stage in info.get().stageIds()
        }
        found = [tracker.getStageInfo(stage) for stage in stages]
        busy = any(info.isDefined() and info.get().numActiveTasks() for info in found)
        quiet = 0 if busy else quiet + 1
        time.sleep(0.1)


@contextmanager
def _settings(spark: Any, settings: dict[str, str]) -> Iterator[None]:
    """The session with these settings, and as it was afterwards."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@contextmanager
def _failures() -> Iterator[None]:
    """What failed in a task, without the texts of Spark around it."""
    try:
        yield
    except UnspentError:
        raise
    except Exception as error:
        said = re.search(r"UnspentError: (.*?)(?:\n\n|\n\s+at |\n?$)", str(error), re.DOTALL)
        if said is None:
            said = re.search(rf"({re.escape(_tasks.LIES_IN_TWO)})", str(error))
        if said is None:
            raise
        # Rows are numbered within a task, which means nothing here.
        raise UnspentError(re.sub(r"\brow \d+: ", "", said[1].strip())) from error
