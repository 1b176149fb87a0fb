"""Records and counts on a Spark cluster, and all that is refused."""

import warnings
from pathlib import Path

import clusters
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clusters import BLOCKS, blocks, layout_of, quietly, saved, values_of

import unspent
from unspent import UnspentError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

#: Towns and counties have columns of their own; counts of states are exact.
HOMES = """
name = "Homes"
neighbours = "bounded"
delta = "1e-9"
exact_totals = ["State"]
[attributes]
sex = { values = ["female", "male"], codes = ["1", "2"] }
home = { values = ["house", "school", "barracks"], codes = ["01", "02", "03"], optional = true }
age = { first = 0, last = 99 }
[recodes.adult]
of = "age"
groups = { minor = [[0, 17]], adult = [[18, 99]] }
[recodes.quarters]
of = "home"
groups = { quarters = ["school", "barracks"] }
[[impossible]]
name = "old pupils"
where = { home = ["school"], age = [[30, 99]] }
[queries]
total = []
"age * sex" = ["age", "sex"]
"quarters * adult" = ["quarters", "adult"]
detailed = ["home", "sex", "adult"]
[[levels]]
name = "State"
sigma2 = { "age * sex" = 7, "quarters * adult" = 9 }
[[levels]]
name = "Town"
sigma2 = { total = 3, "age * sex" = 40, detailed = 11 }
[table]
[table.levels]
State = "state"
Town = ["state", "town"]
"""

UNITS = [(f"{state}", f"{town:02}") for state in range(3) for town in range(40)]


def homes():
    return unspent.Allocation.parse(HOMES)


def people(count=3_000):
    """Nobody lives in the last towns; values are written with and without zeros before them."""
    rows = []
    for i in range(count):
        state, town = UNITS[i * 7919 % 110]
        home = ["01", "1", "3", None][i % 4] if i % 5 else ["02", "2"][i % 2]
        rows.append((state, town, str(i % 2 + 1), home, i * 31 % 30 if i % 5 == 0 else i * 37 % 100))
    names = ["state", "town", "sex", "home", "age"]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def units():
    states, towns = zip(*UNITS, strict=True)
    return pa.table({"town": list(towns), "state": list(states)})


def measured(df, out: Path, seed=3, **options):
    from unspent.spark import measure

    options = {"allow_unencrypted": True, "allocation": homes(), **options}
    return quietly(measure, df, out=out, not_private_seed=seed, **options)


@pytest.fixture(scope="module")
def listed(spark, tmp_path_factory):
    return saved(spark, units(), tmp_path_factory.mktemp("spark") / "units")


@pytest.fixture(scope="module")
def records(spark, tmp_path_factory):
    return saved(spark, people(), tmp_path_factory.mktemp("spark") / "people", files=3)


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    return saved(spark, blocks(100), tmp_path_factory.mktemp("spark") / "blocks")


def test_records_are_those_of_one_machine(spark, records, listed, tmp_path: Path):
    """Every unit of the list has its rows, also where nobody lives; recodes, zeros, exact totals."""
    measured(records, tmp_path / "noisy", units=listed)
    expected = quietly(
        unspent.measure, people(), homes(), tmp_path / "one", units=units(), not_private_seed=3
    )
    read, local = (unspent.read_measurements(tmp_path / name) for name in ("noisy", "one"))
    assert values_of(read) == values_of(local)
    assert len(read["Town"]["total"].codes) == 120 and "2-39" in read["Town"]["total"].codes
    ours, theirs = read.manifest, expected.manifest
    for manifest in (ours, theirs):
        for level in manifest["levels"] + manifest["exact"]:
            for file in level["files"]:
                del file["sha256"]
    assert ours["exact"] == theirs["exact"] and ours["levels"] == theirs["levels"] and "rows" not in ours
    exact = [pq.read_table(tmp_path / name / "exact-state").to_pylist() for name in ("noisy", "one")]
    assert exact[0] == exact[1] and len(exact[0]) == 3
    unspent.estimate(tmp_path / "noisy")


def test_counts_are_records(spark, listed, tmp_path: Path):
    table = people().group_by(["state", "town", "sex", "home", "age"]).aggregate([([], "count_all")])
    table = table.rename_columns(["state", "town", "sex", "home", "age", "n"])
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 50)
    try:
        counts = saved(spark, table, tmp_path / "counts", files=2)
        measured(counts, tmp_path / "noisy", units=listed, count="n", partitions=6)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    expected = quietly(unspent.measure, people(), homes(), units=units(), not_private_seed=3)
    assert values_of(unspent.read_measurements(tmp_path / "noisy")) == values_of(expected)
    assert sum(name.startswith("town/") for name in layout_of(tmp_path / "noisy")) > 3


def changed(table, column: str, row: int, value):
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(table.schema.get_field_index(column), column, [values])


@pytest.mark.parametrize(
    "change, said",
    [
        (
            lambda t, u: (changed(t, "town", 1_234, "77"), u),
            "there is a record whose unit is not in the list",
        ),
        (lambda t, u: (t, pa.concat_tables([u, u.slice(5, 1)])), "units: there are two rows for one unit"),
        (lambda t, u: (changed(t, "sex", 17, "98765"), u), "sex: is not one of the values 1, 2"),
        (lambda t, u: (changed(t, "age", 0, 98), u), "there is a record with an impossible combination"),
        (lambda t, u: (changed(t, "town", 9, None), u), "^table: town: is missing"),
    ],
    ids=["not in the list", "listed twice", "no value", "impossible", "no code"],
)
def test_wrong_records_are_refused(spark, tmp_path: Path, change, said):
    records, listed = change(people(), units())
    records, listed = (
        saved(spark, table, tmp_path / name) for name, table in [("people", records), ("units", listed)]
    )
    with pytest.raises(UnspentError, match=said) as refused:
        measured(records, tmp_path / "noisy", units=listed)
    assert "98765" not in str(refused.value) and "77" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people", "units"]


def test_an_id_is_there_once(spark, listed, tmp_path: Path):
    numbered = people(200).append_column("id", [[i % 199 for i in range(200)]])
    records = saved(spark, numbered, tmp_path / "people")
    with pytest.raises(UnspentError, match="^table: two records have the same id"):
        measured(records, tmp_path / "noisy", units=listed, id="id")
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda t: changed(t, "adults", 12, -98765), "adults: is not a count|a count of a cell is negative"),
        (
            lambda t: changed(t, "children", 12, 0),
            "children less children_elsewhere is negative|a count of a cell is",
        ),
        (lambda t: pa.concat_tables([t, t.slice(7, 1)]), "table: there are two rows for one unit"),
        (lambda t: t.set_column(4, "adults_elsewhere", [[2**62] * 100]), "table: a sum exceeds 2\\^63 - 1"),
        (lambda t: changed(t, "geoid", 3, "0101"), "geoid: |code: |is not a code of 9 characters"),
    ],
    ids=["negative", "difference", "twice", "too large", "short code"],
)
def test_wrong_tables_are_refused(spark, tmp_path: Path, change, said):
    """Without counts in messages, also not in what Spark logs."""
    rows = saved(spark, change(blocks(100)), tmp_path / "blocks")
    with pytest.raises(UnspentError, match=said) as refused:
        measured(rows, tmp_path / "noisy", allocation=unspent.Allocation.parse(BLOCKS))
    assert "98765" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["blocks"]
    events = Path(spark.sparkContext.getConf().get("spark.eventLog.dir").removeprefix("file://"))
    logs = [path for path in events.rglob("*") if path.is_file()]
    assert logs and not any(b"98765" in path.read_bytes() for path in logs)


def test_a_file_that_is_lost_fails_the_run(spark, tmp_path: Path):
    """Also in a session that would go on without it."""
    rows = saved(spark, blocks(100), tmp_path / "blocks", files=2)
    (tmp_path / "blocks" / "001.parquet").unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with pytest.raises(Exception, match=r"(?s)001\.parquet.*not exist"):
            measured(rows, tmp_path / "noisy", allocation=unspent.Allocation.parse(BLOCKS))
        assert spark.conf.get("spark.sql.files.ignoreMissingFiles") == "true"
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    assert [path.name for path in tmp_path.iterdir()] == ["blocks"]


def test_what_is_refused_before_any_job(spark, table, records, listed, tmp_path: Path):
    from pyspark.sql import functions as F

    tracker = spark.sparkContext.statusTracker()
    jobs = len(tracker.getJobIdsForGroup(None))
    stating = BLOCKS.replace('delta = "1e-10"', 'delta = "1e-10"\nepsilon = "0.5"')
    (tmp_path / "there").mkdir()
    (tmp_path / ".left.unfinished-1").mkdir()
    (tmp_path / ".killed.12ab.tmp").mkdir()
    (tmp_path / "file").touch()
    parse = unspent.Allocation.parse
    ours, rest = {"allocation": parse(BLOCKS)}, {"units": listed}
    table.createOrReplaceTempView("blocks")
    some = "SELECT * FROM blocks WHERE geoid IN (SELECT geoid FROM blocks {})"
    ranked = (
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY geoid ORDER BY adults) AS n FROM blocks)"
    )
    for df, name, options, said in [
        (table, "noisy", {"allocation": parse(stating)}, "PROMISE NOT KEPT: states epsilon 0.5"),
        (table, "there", ours, "out: `.*there` exists already"),
        (table, "left", ours, "out: `.*left.unfinished-1` is of a run that is at work or was killed"),
        (table, "killed", ours, "out: `.*killed.12ab.tmp` is of a run that is at work or was killed"),
        (table, "nowhere/noisy", ours, "out: the directory of `.*` does not exist"),
        (table, "file/noisy", ours, "out: the directory of `.*` does not exist"),
        (table, "a:b", ours, "out: `.*a:b` has a colon"),
        (table.withColumn("adults", F.round(F.rand()).cast("int")), "noisy", ours, "is not deterministic"),
        (table.limit(5), "noisy", ours, "table: its plan has GlobalLimit"),
        (table.sample(0.5, seed=1), "noisy", ours, "table: its plan has Sample"),
        (table.dropDuplicates(["geoid"]), "noisy", ours, "table: its plan has Deduplicate"),
        (table.groupBy("geoid").agg(F.first("adults")), "noisy", ours, "table: its plan has First:"),
        (spark.sql(ranked), "noisy", ours, "table: its plan has RowNumber"),
        (spark.sql(some.format("LIMIT 9")), "noisy", ours, "table: its plan has GlobalLimit"),
        (spark.sql(some.format("WHERE rand() < 0.5")), "noisy", ours, "is not deterministic"),
        (table, "noisy", {**ours, "units": listed}, "units: each row of the table is a unit"),
        (table, "noisy", {**ours, "partitions": 0}, "partitions: `0` is not"),
        (table, "noisy", {**ours, "partitions": 1.5}, "partitions: `1.5` is not"),
        (table, "noisy", {**ours, "bypass": "only-children"}, "bypass: `only-children` is not none"),
        (
            table,
            "noisy",
            {**ours, "allow_unencrypted": False},
            "the cluster local-cluster.* has no authentication",
        ),
        (
            table.drop("adults"),
            "noisy",
            ours,
            "table: there is no column `adults`\nhint: it has geoid, children",
        ),
        (
            table.withColumn("adults", F.col("adults") / 2),
            "noisy",
            ours,
            "column `adults` is of double, not of",
        ),
        (records, "noisy", {}, "the list of all units is missing"),
        (records, "noisy", {**rest, "count": "n", "id": "i"}, "both count and id are given"),
        (records, "noisy", {"units": listed.drop("town")}, "units: there is no column `town`"),
        (records, "noisy", {"units": listed.sample(0.5)}, "units: its plan has Sample"),
    ]:
        with pytest.raises(UnspentError, match=said):
            measured(df, tmp_path / name, **options)
    with pytest.raises(UnspentError, match="out: `nowhere://x` cannot be used: .*No FileSystem for scheme"):
        measured(table, "nowhere://x", **ours)
    for wrong in ("blocks.csv", None):
        with pytest.raises(TypeError, match="is not a DataFrame of Spark"):
            measured(wrong, tmp_path / "noisy", **ours)
    with pytest.raises(TypeError, match="is not an Allocation"):
        measured(table, tmp_path / "noisy", allocation="blocks.toml")
    assert len(tracker.getJobIdsForGroup(None)) == jobs
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".killed.12ab.tmp",
        ".left.unfinished-1",
        "file",
        "there",
    ]


def test_plans_whose_rows_are_always_the_same(spark, table):
    """Functions of several rows pass by name only; an RDD hides what it was made by."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from unspent.spark._checks import check_frame

    def by(function):
        return table.groupBy("geoid").agg(F.expr(function))

    def over(window, function="sum(children)"):
        return table.withColumn("adults", F.expr(function).over(window))

    def of_rdd(df):
        return spark.createDataFrame(df.rdd, df.schema)

    apart = Window.partitionBy("geoid")
    ordered = apart.orderBy("adults")
    running = ordered.rowsBetween(Window.unboundedPreceding, 0)
    for df in [
        by("sum(adults)"),
        by("count(distinct adults)"),
        by("try_sum(adults)"),
        by("sum(adults) FILTER (WHERE children > 3)"),
        by("count_if(adults > 3)"),
        by("max(adults)"),
        by("bit_xor(adults)"),
        by("bool_or(adults > 3)"),
        by("avg(adults)"),
        table.groupBy("geoid").pivot("adults_elsewhere", [0, 1]).count(),
        table.distinct(),
        over(apart),
        over(ordered),
        over(ordered, "rank()"),
        of_rdd(table),
        spark.createDataFrame([("1", 2)], "a string, b int"),
    ]:
        check_frame("table", df)
    for df, said in [
        (over(running), "a window of ROWS"),
        (over(running, "count(1)"), "a window of ROWS"),
        (over(apart, "collect_list(adults)"), "CollectList"),
        (over(apart, "sum(adults / 2)"), "Sum of doubles"),
        (by("sum(adults * 0.5D)"), "Sum of doubles"),
        (by("avg(float(adults))"), "Average of floats"),
        (by("histogram_numeric(adults, 3)"), "HistogramNumeric"),
        (by("hll_sketch_agg(adults)"), "HllSketchAgg"),
        (by("stddev(adults)"), "StddevSamp"),
        (by("max_by(adults, children)"), "MaxBy"),
        (of_rdd(table.unionAll(table).limit(9)), r"an RDD \(UNORDERED\)"),
        (of_rdd(table.repartition(3)), r"an RDD \(UNORDERED\)"),
        (table._joinAsOf(table, "adults", "adults", on="geoid"), "AsOfJoin"),
    ]:
        with pytest.raises(UnspentError, match=f"^table: its plan has {said}: made again it may have other"):
            check_frame("table", df)


def test_spark_connect_is_refused():
    clusters.needs_spark()
    from unspent.spark import measure

    class DataFrame:
        pass

    DataFrame.__module__ = "pyspark.sql.connect.dataframe"
    with pytest.raises(UnspentError, match="table: is a DataFrame of Spark Connect"):
        measure(DataFrame(), homes(), "noisy")


def test_what_a_cluster_must_have():
    clusters.needs_spark()
    from unspent.spark._checks import check_cluster

    whole = {
        "spark.master": "spark://a:7077",
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "True",
        "spark.io.encryption.enabled": "true",
    }
    check_cluster(whole, "3.5.9", False)
    check_cluster({"spark.master": "local[4]"}, "4.0.0", False)
    check_cluster({"spark.master": "yarn"}, "4.0.0", True)
    network = whole.pop("spark.network.crypto.enabled")
    with pytest.raises(UnspentError, match="no encryption of the network"):
        check_cluster(whole, "4.0.0", False)
    whole["spark.ssl.rpc.enabled"] = network
    check_cluster(whole, "4.0.0", False)
    # An older Spark takes no notice of it.
    with pytest.raises(UnspentError, match=r"no encryption of the network \(spark.network.crypto.enabled\)"):
        check_cluster(whole, "3.5.9", False)
    with pytest.raises(UnspentError, match="no authentication .*no encryption of disks"):
        check_cluster({"spark.master": "yarn", "spark.network.crypto.enabled": "true"}, "4.0.0", False)


def test_another_version_on_executors_is_refused(spark, table, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(unspent, "__version__", "0.0.0")
    with pytest.raises(UnspentError, match="^spark: an executor has unspent .*, the driver has 0.0.0"):
        measured(table, tmp_path / "noisy", allocation=unspent.Allocation.parse(BLOCKS))
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_would_be_broadcast_is_refused(spark, table, tmp_path: Path):
    """Spark writes large functions to disks in the clear, and the key with them."""
    long = "".join(f'"{i} {"long" * 1_000}" = ["age"]\n' for i in range(200))
    text = BLOCKS.replace("total = []\n", "total = []\n" + long, 1)
    with pytest.raises(UnspentError, match="spark: the allocation is too large to travel with its key"):
        measured(table, tmp_path / "noisy", allocation=unspent.Allocation.parse(text))
    assert list(tmp_path.iterdir()) == []


def test_a_task_does_not_show_its_key():
    clusters.needs_spark()
    from unspent.spark import _tasks

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        key = unspent._native.ReleaseKey.not_private(5)
    task = _tasks.MeasureRows(key, "text", {"name": "Town"}, [])
    exposed = key.expose()
    for shown in (repr(task), str(task), f"{task}", repr([task])):
        assert repr(exposed)[2:-1] not in shown and exposed.hex() not in shown
    assert repr(task) == "<MeasureRows of level 'Town'>"


def test_a_task_takes_rows_as_they_come():
    """Also one alone, or none; what is missing is said by its name."""
    clusters.needs_spark()
    from unspent.spark import _tasks

    plan = unspent._native.ReleasePlan(unspent.Allocation.parse(BLOCKS), listed=False)
    columns, level = plan.to_dict()["columns"], plan.to_dict()["levels"][-1]
    names = columns["codes"] + columns["counts"]
    rows = blocks(50).select(names).combine_chunks()
    task = _tasks.MeasureRows(quietly(unspent._native.ReleaseKey.not_private, 5), plan.text, level, names)
    task.level["lead"] = 0

    def made(batches):
        return pa.Table.from_batches(task(iter(batches)), _tasks.OUTPUT)

    whole = made(rows.to_batches())
    assert whole.num_rows == 100
    for size in (1, 7):
        assert made(rows.to_batches(max_chunksize=size)).equals(whole)
    assert made(rows.slice(49).to_batches()).equals(whole.slice(98))
    assert made([]).num_rows == 0
    for row in (0, 49):
        with pytest.raises(UnspentError, match="geoid: is missing"):
            made(changed(rows, "geoid", row, None).to_batches())
    with pytest.raises(UnspentError, match="there are two rows for one unit"):
        made([*rows.slice(0, 1).to_batches(), *rows.slice(0, 1).to_batches()])
