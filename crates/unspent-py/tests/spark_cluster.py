"""A release on a standalone cluster of two workers, one of which is killed while it writes.

`make spark-cluster` runs this by hand, once with each version of PySpark: authentication and encryption are
on, speculation is on and must be seen in the event log, and the values must be those of one machine.
"""

import json
import os
import secrets
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


def slow(kind):
    """A kind of task whose first attempts take a while, that of the first partition much longer."""

    class Slow(kind):
        __slots__ = ()

        def __call__(self, batches):
            from pyspark import TaskContext

            context = TaskContext.get()
            yield from kind.__call__(self, batches)
            if context.attemptNumber() == 0:
                time.sleep(90 if context.partitionId() == 0 else 2)

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
        common = ["--host", "127.0.0.1", "--webui-port", "0", "--properties-file", properties]
        self.start("master.Master", "--port", port, *common)
        for number in range(2):
            work = place / f"work-{number}"
            self.start("worker.Worker", *common, "--cores", 1, "--memory", "1g", "--work-dir", work, self.url)

    def start(self, name: str, *arguments) -> None:
        home = Path(pyspark.__file__).parent
        log = open(self.place / f"{name}-{len(self.processes)}.log", "wb")
        process = subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *map(str, arguments)],
            stdout=log,
            stderr=log,
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_DIRS": str(self.place / "local")},
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


def run(spark, cluster: Cluster, place: Path) -> None:
    from unspent.spark import _tasks, measure

    table = clusters.blocks(20_000)
    rows = clusters.saved(spark, table, place / "blocks", files=4)
    while len(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keySet().toString().split(",")) < 3:
        time.sleep(0.5)
    _tasks.MeasureRows, kept = slow(_tasks.MeasureRows), _tasks.MeasureRows
    killed = []

    def kill_in_the_middle() -> None:
        while not list(place.glob(".noisy.unfinished-*/rows/_temporary/**/*.parquet")):
            time.sleep(0.1)
        # When a task has committed and others have not.
        time.sleep(3)
        cluster.kill(2)
        killed.append(len(list(place.glob(".noisy.unfinished-*/rows/_temporary/**/*.parquet"))))

    killer = threading.Thread(target=kill_in_the_middle, daemon=True)
    killer.start()
    start = time.perf_counter()
    allocation = unspent.Allocation.parse(clusters.BLOCKS)
    measure(rows, allocation, place / "noisy", not_private_seed=7, partitions=8)
    took = time.perf_counter() - start
    killer.join()
    _tasks.MeasureRows = kept
    expected = clusters.quietly(unspent.measure, table, allocation, not_private_seed=7)
    noisy = unspent.read_measurements(place / "noisy")
    assert clusters.values_of(noisy) == clusters.values_of(expected)
    spark.sparkContext.stop()
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
        f"PySpark {pyspark.__version__}: {took:.0f} s; worker killed with {killed[0]} files begun; "
        f"{copies} speculative copies started, {lost} executors lost, {failed} of {len(ended)} tasks not "
        f"successful; {len(clusters.values_of(noisy)):,} vectors equal to those of one machine"
    )
    assert copies > 0 and lost > 0 and killed[0] > 0


if __name__ == "__main__":
    sys.exit(main())
