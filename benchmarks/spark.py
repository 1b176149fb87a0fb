"""Measuring a table on Spark and with the command, in the same run: rows a second, and CPU seconds.

`make bench-spark` builds both and runs this. The table has 16 cells at five levels and four queries, Parquet
in and out. Spark runs in `local[2]`: the first run has its warming up, the others do not.

usage: spark.py path/to/unspent [rows]
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import unspent

ROOT = Path(__file__).resolve().parents[1]
ALLOCATION = ROOT / "examples" / "blocks.toml"
RACES = ["white", "black", "hisp", "aian", "asian", "nhpi", "other", "two"]


def table(rows: int) -> pa.Table:
    """Blocks of some 40 in a block group, 2 block groups in a tract, 60 tracts in a county."""
    chosen = np.random.default_rng(1)
    group = np.arange(rows) // 40
    tract, county = group // 2, group // 120
    names = [
        f"{1 + c // 60:02}{1 + c % 60:03}{t % 60 * 100:06}{g % 2 + 1}{b % 40:03}"
        for b, (g, t, c) in enumerate(zip(group, tract, county))
    ]
    columns = {"geoid": names}
    for race in RACES:
        adults = chosen.poisson(3, rows)
        columns[f"pop_{race}"] = adults + chosen.poisson(1, rows)
        columns[f"vap_{race}"] = adults
    return pa.table(columns)


def seconds_of(root: int) -> float:
    """CPU seconds of a process and all below it, also of those that ended and were waited for."""
    ticks, parents = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry)] = int(fields[1])
            ticks[int(entry)] = sum(map(int, fields[11:15]))

    def below(process: int) -> bool:
        return process == root or (process in parents and below(parents[process]))

    return sum(n for process, n in ticks.items() if below(process)) / os.sysconf("SC_CLK_TCK")


def report(what: str, rows: int, wall: float, cpu: float) -> None:
    load = os.getloadavg()[0]
    print(
        f"{what:32} {wall:7.1f} s {rows / wall:10,.0f} rows/s {cpu:7.1f} CPU s   load {load:.1f}", flush=True
    )


def main() -> None:
    command, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 600_000
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    place = Path(tempfile.mkdtemp(prefix="unspent-spark-"))
    try:
        pq.write_table(table(rows), place / "blocks.parquet")
        run = [command, "measure", place / "blocks.parquet", "--allocation", ALLOCATION, "--out"]
        for number in range(2):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([*run, place / f"command-{number}"], check=True, capture_output=True)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            report("unspent measure", rows, wall, cpu)
        start = time.perf_counter()
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.local.dir", str(place / "local"))
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        print(f"Spark {spark.version}, started in {time.perf_counter() - start:.1f} s", flush=True)
        from unspent.spark import measure

        df = spark.read.parquet(str(place / "blocks.parquet"))
        allocation = unspent.Allocation.read(ALLOCATION)
        for number in range(4):
            before, start = seconds_of(os.getpid()), time.perf_counter()
            measure(df, allocation, place / f"spark-{number}")
            wall = time.perf_counter() - start
            report(
                f"Spark local[2], {'warm' if number else 'cold'}",
                rows,
                wall,
                seconds_of(os.getpid()) - before,
            )
        spark.stop()
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
