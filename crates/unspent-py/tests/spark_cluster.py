"""Releases on a standalone cluster: tasks are started twice, and a worker is killed while it writes.

`make spark-cluster` runs this by hand, once with each version of PySpark: authentication and encryption are
on, speculation is on and must be seen in the event log, and the values must be those of one machine.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import clusters
import pyspark

import unspent


def slow(kind, first: float, others: float):
    """A kind of task whose first attempts take so many seconds more, in the first partition and in others."""

    class Slow(kind):
        __slots__ = ()

        def __call__(self, batches):
            from pyspark import TaskContext

            context = TaskContext.get()
            yield from kind.__call__(self, batches)
            if context.attemptNumber() == 0:
                time.sleep(others if context.partitionId() else first)

    return Slow


class Cluster:
    """A master and two workers, on this machine only."""

    def __init__(self, place: Path) -> None:
        self.place, self.processes = place, []
        self.settings = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": secrets.token_hex(32),
            "spark.network.crypto.enabled": "true",
            "spark.io.encryption.enabled": "true",
        }
        properties = place / "cluster.conf"
        properties.touch(0o600)
        properties.write_text("".join(f"{name} {value}\n" for name, value in self.settings.items()))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        common = ["--webui-port", "0", "--properties-file", properties]
        self.start("master.Master", "127.0.0.1", "--port", port, *common)
        # Spark starts no copy of a task on the host that the task is on: these are two.
        for host in ("127.0.0.1", "127.0.0.2"):
            resources = ["--cores", 1, "--memory", "1g", "--work-dir", place / f"work-{host}"]
            self.start("worker.Worker", host, *common, *resources, self.url)

    def start(self, name: str, host: str, *arguments) -> None:
        home = Path(pyspark.__file__).parent
        log = open(self.place / f"{name}-{len(self.processes)}.log", "wb")
        process = subprocess.Popen(
            [
                home / "bin" / "spark-class",
                f"org.apache.spark.deploy.{name}",
                *("--host", host),
                *map(str, arguments),
            ],
            stdout=log,
            stderr=log,
            env={
                **os.environ,
                "SPARK_HOME": str(home),
                "SPARK_LOCAL_DIRS": str(self.place / "local"),
                "SPARK_LOCAL_IP": host,
            },
            start_new_session=True,
        )
        self.processes.append(process)

    def kill(self, number: int) -> None:
        """The process and those that it has started."""
        os.killpg(self.processes[number].pid, signal.SIGKILL)
        self.processes[number].wait()

    def stop(self) -> None:
        for number, process in enumerate(self.processes):
            if process.poll() is None:
                self.kill(number)


def main() -> None:
    warnings.simplefilter("ignore")
    place = Path(tempfile.mkdtemp(prefix="unspent-cluster-"))
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    cluster = Cluster(place)
    spark = None
    try:
        spark = clusters.session(
            place,
            **cluster.settings,
            **{
                "spark.master": cluster.url,
                "spark.speculation": "true",
                "spark.speculation.interval": "200ms",
                "spark.speculation.multiplier": "2",
                "spark.speculation.quantile": "0.3",
                "spark.network.timeout": "60s",
            },
        )
        run(spark, cluster, place)
    finally:
        if spark is not None:
            spark.stop()
        cluster.stop()
        shutil.rmtree(place, ignore_errors=True)


def run(spark, cluster: Cluster, place: Path) -> None:
    table, allocation = clusters.blocks(20_000), unspent.Allocation.parse(clusters.BLOCKS)
    expected = clusters.values_of(clusters.quietly(unspent.measure, table, allocation, not_private_seed=7))
    rows = clusters.saved(spark, table, place / "blocks", files=4)
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        time.sleep(0.5)
    # A task that takes long, of which Spark starts a copy.
    took = [measured(rows, place / "copied", expected, first=60, others=1)]
    killed = []

    def kill_in_the_middle() -> None:
        written = ".killed.unfinished-*/rows/_temporary/**/*.parquet"
        while not list(place.glob(written)):
            time.sleep(0.1)
        # Some tasks have committed, and others have not.
        time.sleep(3)
        killed.append(len(list(place.glob(written))))
        cluster.kill(2)

    killer = threading.Thread(target=kill_in_the_middle, daemon=True)
    killer.start()
    took.append(measured(rows, place / "killed", expected, first=2, others=2))
    killer.join()
    spark.stop()
    events = [
        json.loads(line)
        for path in (place / "events").rglob("*")
        if path.is_file()
        for line in path.read_text().splitlines()
        if line.startswith("{")
    ]
    ended = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    copies = sum(e["Event"] == "SparkListenerTaskStart" and e["Task Info"]["Speculative"] for e in events)
    lost = sum(event["Event"] == "SparkListenerExecutorRemoved" for event in events)
    failed = sum(event["Task End Reason"]["Reason"] != "Success" for event in ended)
    print(
        f"PySpark {pyspark.__version__}: {took[0]:.0f} s, {copies} speculative copies started; "
        f"{took[1]:.0f} s, worker killed with {killed[0]} files begun, {lost} executors lost; "
        f"{failed} of {len(ended)} tasks not successful; "
        f"both times {len(expected):,} vectors equal to those of one machine",
        flush=True,
    )
    assert copies > 0 and lost > 0 and killed[0] > 0


def measured(rows, out: Path, expected, **seconds) -> float:
    """The seconds that a run takes, with slow tasks; its values must be those of one machine."""
    from unspent.spark import _tasks, measure

    kept, start = _tasks.MeasureRows, time.perf_counter()
    _tasks.MeasureRows = slow(kept, **seconds)
    measure(rows, unspent.Allocation.parse(clusters.BLOCKS), out, not_private_seed=7, partitions=8)
    _tasks.MeasureRows = kept
    assert clusters.values_of(unspent.read_measurements(out)) == expected
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
