"""Noisy measurements on a Spark cluster: the same as on one machine, whatever is made again."""

import hashlib
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import clusters
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clusters import BLOCKS, blocks, layout_of, quietly, saved, values_of

import unspent
from unspent import UnspentError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def allocation():
    return unspent.Allocation.parse(BLOCKS)


def measured(df, out: Path, seed: int | None = 7, **options):
    from unspent.spark import measure

    options = {"allow_unencrypted": True, "allocation": allocation(), **options}
    return quietly(measure, df, out=out, not_private_seed=seed, **options)


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    return saved(spark, blocks(), tmp_path_factory.mktemp("spark") / "blocks", files=3)


@pytest.fixture(scope="module")
def expected():
    return quietly(unspent.measure, blocks(), allocation(), not_private_seed=7)


def taken_digests(manifest) -> dict[str, str]:
    """The digests of all files, by their names, which the manifest then no longer has."""
    files = [file for level in manifest["levels"] for file in level["files"]]
    found = {file["file"]: file.pop("sha256") for file in files}
    return found | {file["name"]: file.pop("sha256") for file in manifest["files"]}


def test_it_is_the_release_of_one_machine(spark, table, expected, tmp_path: Path):
    before = {
        name: spark.conf.get(name) for name in ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions")
    }
    found = measured(table, tmp_path / "noisy")
    assert before == {name: spark.conf.get(name) for name in before}
    read = unspent.read_measurements(tmp_path / "noisy")
    assert values_of(read) == values_of(expected)
    assert not read.private and not found.private and "NOT PRIVATE" in str(found)
    assert sorted(os.listdir(tmp_path)) == ["noisy"]
    assert sorted(os.listdir(tmp_path / "noisy")) == [
        "NOT-PRIVATE.txt",
        "allocation.toml",
        "block-group",
        "certificate.html",
        "certificate.md",
        "county",
        "manifest.json",
        "state",
    ]
    assert sorted(os.listdir(tmp_path / "noisy" / "county")) == ["part-00000.parquet"]
    # What is said of it is what is said of the release of one machine.
    local = quietly(unspent.measure, blocks(), allocation(), tmp_path / "local", not_private_seed=7)
    for name in ("allocation.toml", "certificate.html", "NOT-PRIVATE.txt"):
        if name != "certificate.html":
            assert (tmp_path / "noisy" / name).read_text() == (tmp_path / "local" / name).read_text()
    ours, theirs = found.manifest, local.manifest
    assert ours == json.loads((tmp_path / "noisy" / "manifest.json").read_text())
    assert ours["assumes"].startswith(theirs["assumes"]) and "whenever it is computed" in ours["assumes"]
    for manifest in (ours, theirs):
        for name in ("started", "finished", "assumes"):
            del manifest[name]
        # Spark writes other bytes, and other words about what is assumed.
        run = tmp_path / ("noisy" if manifest is ours else "local")
        for name, digest in taken_digests(manifest).items():
            assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest, name
    assert ours == theirs
    assert found.certificate == theirs["certificate"]
    # The files are as those of one machine, and their rows in the same order.
    assert layout_of(tmp_path / "noisy") == layout_of(tmp_path / "local")
    part = Path("block-group") / "part-00000.parquet"
    one, other = (pq.ParquetFile(tmp_path / run / part).schema for run in ("noisy", "local"))
    kinds = [
        [
            (c.path, c.physical_type, c.max_definition_level, c.max_repetition_level)
            for c in map(s.column, range(6))
        ]
        for s in (one, other)
    ]
    assert kinds[0] == kinds[1]
    assert os.stat(tmp_path / "noisy").st_mode & 0o777 == os.stat(tmp_path / "local").st_mode & 0o777
    estimates = unspent.estimate(tmp_path / "noisy")
    assert len(estimates.table("Block group", "total")["geocode"]) == 3_000


def test_the_noise_has_its_variances(expected):
    """Of the values that Spark makes too, as the test above has seen."""
    rows = blocks()
    counts = np.stack(
        [
            rows["children"].to_numpy() - rows["children_elsewhere"].to_numpy(),
            rows["children_elsewhere"].to_numpy(),
            rows["adults"].to_numpy(),
            rows["adults_elsewhere"].to_numpy(),
        ],
        axis=1,
    )
    for query, truth, sigma2 in [
        ("total", counts.sum(axis=1), 5),
        ("age * home", counts.reshape(-1, 2, 2), 2000),
    ]:
        noise = (expected["Block group"][query].values.reshape(truth.shape) - truth).reshape(-1)
        # Five standard errors of a mean of squares.
        assert abs(np.mean(noise**2) / sigma2 - 1) < 5 * np.sqrt(2 / noise.size)
        assert abs(np.mean(noise[1:] * noise[:-1])) / sigma2 < 5 / np.sqrt(noise.size)


@pytest.mark.parametrize(
    "how, partitions, files, batch",
    [("once", 1, 5, 10_000), ("kill", 4, 1, 777), ("no", 9, 2, 64)],
)
def test_what_is_made_again_is_the_same(
    spark, table, expected, tmp_path: Path, monkeypatch, how, partitions, files, batch
):
    """Tasks that fail once, an executor that is killed: with other partitions and batches each time."""
    from unspent.spark import _tasks

    for kind in ("MeasureRows", "MeasureSums"):
        monkeypatch.setattr(
            _tasks, kind, clusters.breaking(getattr(_tasks, kind), how, tmp_path / f"killed-{kind}")
        )
    rows = saved(spark, blocks(), tmp_path / "blocks", files)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
    try:
        measured(rows, tmp_path / "noisy", partitions=partitions)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert (tmp_path / "killed-MeasureRows").exists() == (how == "kill")
    assert len(os.listdir(tmp_path / "noisy" / "block-group")) == partitions
    assert values_of(unspent.read_measurements(tmp_path / "noisy")) == values_of(expected)


def test_files_do_not_depend_on_the_records(spark, tmp_path: Path):
    """One record more, in a table that comes in other files in another order."""
    one = blocks()
    more = one.set_column(3, "adults", pa.array(np.arange(3_000) == 1_234, pa.int32()))
    summed = pa.array(one["adults"].to_numpy() + more["adults"].to_numpy(), pa.int32())
    other = one.set_column(3, "adults", summed).take(np.random.default_rng(1).permutation(3_000))
    for name, rows, files in [("one", one, 1), ("other", other, 4)]:
        measured(saved(spark, rows, tmp_path / f"{name}-blocks", files), tmp_path / name, None, partitions=5)
    assert layout_of(tmp_path / "one") == layout_of(tmp_path / "other")
    assert len(layout_of(tmp_path / "one")) > 5
    one, other = (unspent.read_measurements(tmp_path / name) for name in ("one", "other"))
    assert one.private and values_of(one) != values_of(other)
    assert not (tmp_path / "one" / "NOT-PRIVATE.txt").exists()


def test_the_key_is_in_no_file(spark, table, tmp_path: Path, monkeypatch):
    """A secret that is broadcast is found by the same search."""
    import unspent.spark

    secrets = []

    def key(seed):
        made = unspent.spark.ReleaseKey.from_os()
        secrets.append(made.expose())
        return made

    monkeypatch.setattr(unspent.spark, "_key", key)
    measured(table, tmp_path / "noisy", None)
    with monkeypatch.context() as broken:
        kind = clusters.breaking(unspent.spark._tasks.MeasureRows, "always", tmp_path / "marker")
        broken.setattr(unspent.spark._tasks, "MeasureRows", kind)
        with pytest.raises(Exception, match="broken on purpose") as failed:
            measured(table, tmp_path / "failed", None)
    for secret in secrets:
        assert str(secret) not in str(failed.value) and secret.hex() not in str(failed.value)
    context, control = spark.sparkContext, os.urandom(32)
    shared = context.broadcast(control)
    assert context.parallelize(range(4), 4).map(lambda _: len(shared.value)).collect() == [32] * 4
    places = [Path(context.getConf().get("spark.local.dir")), clusters.work_of(spark), tmp_path]
    places.append(Path(context.getConf().get("spark.eventLog.dir").removeprefix("file://")))
    assert all(place.is_dir() for place in places)
    assert clusters.places_with(control, *places)
    assert len(set(secrets)) == 2
    for secret in secrets:
        assert clusters.places_with(secret, *places) == []
    shared.destroy()


def test_a_search_finds_what_it_is_for(tmp_path: Path):
    import base64

    secret = os.urandom(32)
    ways = [secret, secret.hex().encode(), base64.b64encode(b"a" + secret + b"bc"), base64.b64encode(secret)]
    # A traceback or a log that shows it, a line of JSON with that, and arrays of Python's and of Java's.
    shown = f"failed with {(secret, True)!r}"
    signed = [byte - 256 if byte > 127 else byte for byte in secret]
    ways += [text.encode() for text in (shown, json.dumps(shown), str(list(secret)), json.dumps(signed))]
    ways += [str(signed).replace(" ", "").encode()]
    for way in ways:
        (tmp_path / "file").write_bytes(b"before" + way + b"after")
        assert clusters.places_with(secret, tmp_path)
    (tmp_path / "file").write_bytes(os.urandom(64))
    assert not clusters.places_with(secret, tmp_path)


def test_a_run_that_fails_leaves_nothing(spark, table, tmp_path: Path, monkeypatch):
    from unspent.spark import _tasks

    with monkeypatch.context() as broken:
        broken.setattr(_tasks, "MeasureSums", clusters.breaking(_tasks.MeasureSums, "always", tmp_path / "m"))
        with pytest.raises(Exception, match="broken on purpose"):
            measured(table, tmp_path / "noisy")
    assert os.listdir(tmp_path) == []
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"


def test_tasks_that_were_told_to_stop_leave_nothing(spark, table, tmp_path: Path, monkeypatch):
    """Spark fails a job while others of its tasks are at work, which make directories again."""
    from unspent.spark import _tasks

    monkeypatch.setattr(_tasks, "MeasureRows", clusters.breaking(_tasks.MeasureRows, "late", tmp_path / "m"))
    with pytest.raises(Exception, match="broken on purpose"):
        measured(table, tmp_path / "noisy", partitions=4)
    for _ in range(4):
        assert os.listdir(tmp_path) == []
        time.sleep(0.5)


def test_of_two_runs_one_is_a_release(spark, table, expected, tmp_path: Path, monkeypatch):
    """Both look before either has begun."""
    from unspent.spark import _files

    both, check, looked = threading.Barrier(2, timeout=60), _files.Output.check, set()

    def together(self):
        check(self)
        if threading.get_ident() not in looked:
            looked.add(threading.get_ident())
            both.wait()

    monkeypatch.setattr(_files.Output, "check", together)
    ended = []

    def run():
        try:
            ended.append(measured(table, tmp_path / "noisy"))
        except Exception as error:
            ended.append(error)

    runs = [threading.Thread(target=run) for _ in range(2)]
    [thread.start() for thread in runs]
    [thread.join() for thread in runs]
    assert sorted(isinstance(end, UnspentError) for end in ended) == [False, True], ended
    assert os.listdir(tmp_path) == ["noisy"]
    assert values_of(unspent.read_measurements(tmp_path / "noisy")) == values_of(expected)


def test_where_no_directory_is_renamed_the_manifest_comes_last(spark, table, expected, tmp_path, monkeypatch):
    from unspent.spark import _files

    monkeypatch.setattr(_files, "AT_ONCE", ())
    moved, rename = [], _files.Output._rename

    def noticed(self, old, new):
        rename(self, old, new)
        moved.append(new.getName())

    monkeypatch.setattr(_files.Output, "_rename", noticed)
    measured(table, tmp_path / "noisy")
    assert moved[-1] == "manifest.json" and moved.count("manifest.json") == 1
    assert os.listdir(tmp_path) == ["noisy"]
    assert values_of(unspent.read_measurements(tmp_path / "noisy")) == values_of(expected)


def test_of_files_that_were_moved_nothing_is_left(spark, table, tmp_path, monkeypatch):
    from unspent.spark import _files

    monkeypatch.setattr(_files, "AT_ONCE", ())
    rename = _files.Output._rename

    def full(self, old, new):
        if new.getName() == "manifest.json":
            raise UnspentError("out: it is full")
        rename(self, old, new)

    monkeypatch.setattr(_files.Output, "_rename", full)
    with pytest.raises(UnspentError, match="out: it is full"):
        measured(table, tmp_path / "noisy")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert os.listdir(tmp_path) in ([], ["noisy"])


def test_a_driver_that_is_killed_leaves_no_manifest(spark, table, tmp_path: Path):
    """What it leaves is named by the next run, which refuses."""
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
import clusters, unspent, unspent.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
class Killed(unspent.spark.Output):
    def take_in(self, *arguments):
        os.kill(os.getpid(), signal.SIGKILL)
unspent.spark.Output = Killed
rows = clusters.saved(spark, clusters.blocks(20), Path({str(tmp_path / "blocks")!r}))
unspent.spark.measure(rows, unspent.Allocation.parse(clusters.BLOCKS), {str(tmp_path / "noisy")!r})
"""
    import sys

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=tmp_path)
    assert done.returncode == -9, done.stderr
    (left,) = [name for name in os.listdir(tmp_path) if name.startswith(".")]
    assert left.startswith(".noisy.unfinished-") and not (tmp_path / "noisy").exists()
    assert not list(tmp_path.rglob("manifest.json"))
    with pytest.raises(
        UnspentError, match=r"out: `.*\.noisy\.unfinished-.*` is of a run that is at work or was"
    ):
        measured(table, tmp_path / "noisy")
