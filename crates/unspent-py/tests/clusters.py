"""A Spark cluster of two executors on this machine, tables for it, and tasks that break."""

import base64
import json
import os
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unspent

#: Three levels; one cell is a column less another.
BLOCKS = """
name = "Blocks"
neighbours = "add-remove"
delta = "1e-10"
attributes = ["age", "home"]
[queries]
total = []
age = ["age"]
"age * home" = ["age", "home"]
[[levels]]
name = "State"
sigma2 = { total = "16/3", "age * home" = 20 }
[[levels]]
name = "County"
sigma2 = { total = 3, age = 8, "age * home" = 20 }
[[levels]]
name = "Block group"
sigma2 = { total = 5, "age * home" = 2000 }
[table]
code = "geoid"
cells = [
  { age = "child", home = "house", column = "children", minus = "children_elsewhere" },
  { age = "child", home = "elsewhere", column = "children_elsewhere" },
  { age = "adult", home = "house", column = "adults" },
  { age = "adult", home = "elsewhere", column = "adults_elsewhere" },
]
[table.levels]
State = 2
County = 4
"Block group" = 9
[table.attributes]
age = ["child", "adult"]
home = ["house", "elsewhere"]
"""


def blocks(rows=3_000, seed=1):
    """A table with a row for every unit."""
    chosen = np.random.default_rng(seed)
    elsewhere = chosen.integers(0, 5, rows)
    return pa.table(
        {
            "geoid": [f"{1 + i // 1_500:02}{i // 150 % 10:02}{i:05}" for i in range(rows)],
            "children": elsewhere + chosen.integers(0, 40, rows),
            "children_elsewhere": elsewhere,
            "adults": pa.array(chosen.integers(0, 90, rows), pa.int32()),
            "adults_elsewhere": chosen.integers(0, 9, rows),
        }
    )


def saved(spark, table, place: Path, files=1):
    """The table as a DataFrame of a file, or of several."""
    place.mkdir()
    rows = -(-table.num_rows // files)
    for at in range(files):
        pq.write_table(table.slice(at * rows, rows), place / f"{at:03}.parquet")
    return spark.read.parquet(str(place))


def session(place: Path, **settings):
    """A session on a cluster of its own; what it writes is below `place`."""
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession

    # Executors do not have this module: what they need of it travels with their tasks.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    for name in ("local", "events"):
        (place / name).mkdir()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local-cluster[2,1,512]").appName("unspent")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": place / "local",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{place}/events",
        "spark.task.maxFailures": "3",
        "spark.sql.warehouse.dir": place / "warehouse",
        **settings,
    }.items():
        builder = builder.config(name, str(value))
    return builder.getOrCreate()


def needs_spark():
    """Skips where there is no Java or no Spark."""
    if shutil.which("java") is None:
        pytest.skip("no Java: apt-get install openjdk-17-jre-headless")
    pytest.importorskip("pyspark", reason="no Spark: pip install pyspark pyarrow pandas")


def work_of(spark) -> Path:
    """Where the executors write their logs."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME", Path(pyspark.__file__).parent))
    return home / "work" / spark.sparkContext.applicationId


def quietly(call, *arguments, **options):
    """With noise that is the same every time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unspent.NotPrivateWarning)
        return call(*arguments, **options)


def values_of(noisy):
    """Every noisy vector, by level, query and code."""
    return {
        (level, query, code): values.tolist()
        for level in noisy
        for query, measured in noisy[level].items()
        for code, values in zip(*measured, strict=True)
    }


def layout_of(out: Path):
    """Every file of measurements with its codes and queries, in order."""
    found = {}
    for path in sorted(out.rglob("*.parquet")):
        table = pq.read_table(path, columns=["geocode", "query_name"])
        found[str(path.relative_to(out))] = (table["geocode"].to_pylist(), table["query_name"].to_pylist())
    return found


def places_with(secret: bytes, *places: Path) -> list[Path]:
    """The files in which a secret is: raw, in hexadecimal digits, in base64 from any byte on, as Python shows
    it, or as an array of numbers.
    """
    shown = repr(secret)[2:-1]
    wanted = [secret, secret.hex().encode(), secret.hex().upper().encode(), shown.encode()]
    wanted.append(json.dumps(shown)[1:-1].encode())
    for numbers in (list(secret), [byte - 256 if byte > 127 else byte for byte in secret]):
        wanted += [between.join(map(str, numbers)).encode() for between in (", ", ",")]
    for before in range(3):
        text = base64.b64encode(bytes(before) + secret)
        # Its first and last letters depend on what is before and after.
        wanted += [text[4 : len(text) // 4 * 4 - 4], base64.urlsafe_b64encode(bytes(before) + secret)[4:-4]]
    found = []
    for place in places:
        for path in place.rglob("*"):
            try:
                content = path.read_bytes() if path.is_file() else b""
            except OSError:
                continue
            if any(text in content for text in wanted):
                found.append(path)
    return found


def first_attempt() -> bool:
    """Whether this task was not tried before."""
    from pyspark import TaskContext

    return TaskContext.get().attemptNumber() == 0


def executor() -> int:
    """The process of the Java machine that this worker works for."""
    process = os.getpid()
    while Path(f"/proc/{process}/comm").read_text() != "java\n":
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return process


def breaking(kind, how: str, marker: Path):
    """A kind of task that breaks after it has given its first rows."""

    class Breaking(kind):
        __slots__ = ()

        def __call__(self, batches):
            for number, batch in enumerate(kind.__call__(self, batches)):
                if number == 0:
                    break_(how, marker)
                yield batch

    return Breaking


def break_(how: str, marker: Path) -> None:
    if how == "once" and first_attempt():
        raise RuntimeError("broken on purpose")
    if how == "always":
        raise RuntimeError("broken on purpose")
    if how == "late":
        from pyspark import TaskContext

        # The first fails for good; by then the second has begun, and it writes after that.
        if TaskContext.get().partitionId() == 0:
            raise RuntimeError("broken on purpose")
        time.sleep(1.5)
    if how == "kill":
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(executor(), signal.SIGKILL)
        time.sleep(60)
