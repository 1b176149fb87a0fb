"""Tables that lend Arrow's memory: from whom, in which layouts, and what is refused."""

import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tables import columns, towns
from test_measure import same, seeded

import unspent
from unspent import UnspentError

pa = pytest.importorskip("pyarrow")


def arrow(rows: int = 30, **types: Any) -> Any:
    """The table as pyarrow has it, some columns of other types."""
    data = columns(rows)
    table = pa.table({"other": pa.array([True] * rows), **{name: pa.array(data[name]) for name in data}})
    for name, kind in types.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast(kind))
    return table


LAYOUTS = [
    {"code": kind} for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.int16(), pa.uint64())
]
LAYOUTS += [{"adults": kind} for kind in (pa.int8(), pa.uint16(), pa.float32(), pa.float64(), pa.int64())]


@pytest.mark.parametrize("types", LAYOUTS, ids=str)
def test_every_layout_is_the_same(types: dict[str, Any]):
    rows = 30 if "adults" in types else 500
    same(seeded(columns(rows), towns()), seeded(arrow(rows, **types), towns()))


@pytest.mark.parametrize("index", [pa.int8(), pa.uint32(), pa.int64()], ids=str)
@pytest.mark.parametrize("words", [pa.string(), pa.large_string()], ids=str)
def test_dictionaries_are_texts(index: Any, words: Any):
    table = arrow().set_column(
        1, "code", arrow()["code"].cast(words).dictionary_encode().cast(pa.dictionary(index, words))
    )
    same(seeded(columns(), towns()), seeded(table, towns()))


def test_chunks_may_end_anywhere():
    draw = random.Random(1)
    expected = seeded(columns(700), towns())
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string())):
        # Rows before and after that do not belong to it, and chunks of their own in every column.
        whole = arrow(700)
        whole = whole.set_column(1, "code", whole["code"].combine_chunks().cast(kind))
        whole = pa.concat_tables([whole.slice(40, 9), whole, whole.slice(0, 3)]).combine_chunks()
        table = whole.slice(9, 700)
        for name in ("code", "children", "adults"):
            cuts = [0, *sorted(draw.sample(range(1, 700), 6)), 700]
            column = table[name].combine_chunks()
            chunks = pa.chunked_array([column.slice(a, b - a) for a, b in zip(cuts, cuts[1:])])
            table = table.set_column(table.column_names.index(name), name, chunks)
        same(expected, seeded(table, towns()))
        same(expected, seeded(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(64)), towns()))


def test_long_texts_lie_elsewhere():
    long = unspent.Allocation.parse(
        """
name = "Long"
neighbours = "add-remove"
delta = "1e-10"
[queries]
total = []
[[levels]]
name = "Town"
sigma2 = { total = 5 }
[table]
cells = [{ column = "people" }]
[table.levels]
Town = "town"
"""
    )
    names = sorted(f"{'x' * (i % 40)} town {i}".strip() for i in range(300))
    people = list(range(300))
    expected = seeded({"town": names, "people": people}, long)
    for kind in (pa.string(), pa.string_view(), pa.large_string()):
        table = pa.table({"town": pa.array(names, kind), "people": people})
        same(expected, seeded(table, long))
        same(expected, seeded(pa.concat_tables([table.slice(0, 123), table.slice(123)]), long))


def polars_of(data: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(data)


def polars_of_categories(data: dict[str, Any]) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(data).with_columns(polars.col("code").cast(polars.Categorical))


def duckdb_of(data: dict[str, Any]) -> Any:
    duckdb = pytest.importorskip("duckdb")
    table = pa.table(data)
    connection = duckdb.connect()
    connection.register("towns", table)
    return connection.sql("SELECT adults, children, code, 1.5 AS other FROM towns ORDER BY code")


def pandas_of(data: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(data)


def pandas_with_an_index(data: dict[str, Any]) -> Any:
    mixed = [1, "x", None, b"y"] * len(data["code"])
    frame = pandas_of(data).assign(other=mixed[: len(data["code"])])
    return frame.set_index(np.arange(len(frame))[::-1])


def pandas_of_categories(data: dict[str, Any]) -> Any:
    return pandas_of(data).astype({"code": "category", "children": "float64", "adults": "int64[pyarrow]"})


@pytest.mark.parametrize(
    "make",
    [
        polars_of,
        polars_of_categories,
        duckdb_of,
        pandas_of,
        pandas_with_an_index,
        pandas_of_categories,
    ],
)
def test_whoever_lends_arrow(make: Callable[[dict[str, Any]], Any]):
    same(seeded(columns(300), towns()), seeded(make(columns(300)), towns()))


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch):
    frame = pandas_of(columns())
    expected = seeded(columns(), towns())

    def fails(self: Any, requested_schema: Any = None) -> Any:
        raise ImportError("no pyarrow")

    monkeypatch.setattr(type(frame), "__arrow_c_stream__", fails, raising=False)
    same(expected, seeded(frame, towns()))


def replaced(name: str, values: Any) -> Any:
    table = arrow()
    return table.set_column(table.column_names.index(name), name, values)


@pytest.mark.parametrize(
    "table, said",
    [
        (
            lambda: replaced("adults", pa.array([98765] * 12 + [-98765] + [1] * 17)),
            "^table: row 13: adults: is not a count\nhint: counts are never negative$",
        ),
        (
            lambda: replaced("adults", pa.array([98765.0] * 29 + [98765.5])),
            "^table: row 30: adults: is not a count\n"
            "hint: counts are whole: noise on the integers is for integers$",
        ),
        (
            lambda: replaced("adults", pa.array([98765] * 29 + [None])),
            "^table: row 30: adults: is missing\n"
            "hint: every row has all codes and counts; write 0 if there is nobody$",
        ),
        (
            lambda: replaced("code", pa.array(["1000", None] * 15)),
            "^table: row 2: code: is missing\n"
            "hint: every row has all codes and counts; write 0 if there is nobody$",
        ),
        (
            lambda: replaced("code", pa.array(["1000", None] * 15).dictionary_encode()),
            "^table: row 2: code: is missing\n"
            "hint: every row has all codes and counts; write 0 if there is nobody$",
        ),
        (
            lambda: replaced("adults", pa.array(["98765"] * 30)),
            "^table: column `adults` is of texts, not of integers\n"
            "hint: counts are columns of whole numbers; codes and values are texts or integers$",
        ),
        *(
            (
                lambda values=values: replaced("adults", values),
                f"^table: column `adults` is of {what}, not of integers or texts\n"
                "hint: counts are columns of whole numbers; codes and values are texts or integers$",
            )
            for what, values in [
                ("booleans", pa.array([True] * 30)),
                ("nulls", pa.nulls(30)),
                ("dates", pa.array([98765] * 30, pa.date32())),
                ("times", pa.array([98765] * 30, pa.timestamp("ns"))),
                ("decimals", pa.array([98765] * 30).cast(pa.decimal128(20, 0))),
                ("bytes", pa.array([b"98765"] * 30)),
                ("lists or structures", pa.array([[98765]] * 30)),
                ("a dictionary of integers", pa.array([98765] * 30).dictionary_encode()),
            ]
        ),
        (
            lambda: replaced("code", pa.array([1000.0] * 30)),
            "^table: column `code` is of floating-point numbers, not of texts or integers\n",
        ),
        (
            lambda: arrow().append_column("code", arrow()["code"]),
            "^table: there are two columns `code`\nhint: give every column a name of its own$",
        ),
        (
            lambda: arrow().rename_columns(["x", "code", "kids", "adults"]),
            "^table: there is no column `children`\nhint: the table has code, adults, x, kids; ",
        ),
        (lambda: arrow().slice(0, 0), "^the table has no rows\n"),
        (lambda: arrow()["code"], "^table: it has no columns\nhint: give a table, not a column of one$"),
    ],
)
def test_bad_tables_are_refused_and_their_values_not_shown(table: Callable[[], Any], said: str):
    with pytest.raises(UnspentError, match=said) as refused:
        unspent.measure(table(), towns())
    assert "98765" not in str(refused.value)


def test_a_stream_that_fails_does_not_tell_values():
    def batches() -> Any:
        yield arrow().to_batches()[0]
        raise ValueError("cannot convert 98765")

    reader = pa.RecordBatchReader.from_batches(arrow().schema, batches())
    with pytest.raises(UnspentError, match="^table: cannot be read: error [0-9]+\nhint: write the table"):
        unspent.measure(reader, towns())


def test_a_stream_is_read_once():
    class Twice:
        def __init__(self) -> None:
            self.capsule = arrow().__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return self.capsule

    table = Twice()
    same(seeded(columns(), towns()), seeded(table, towns()))
    with pytest.raises(UnspentError, match="^table: its rows were read already\nhint: a stream is read once"):
        unspent.measure(table, towns())

    class Other:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return arrow().schema.__arrow_c_schema__()

    with pytest.raises(ValueError, match="incorrect name"):
        unspent.measure(Other(), towns())


def test_memory_is_given_back():
    for refused in (False, True):
        adults = np.arange(30) - (100 if refused else 0)
        data = {**columns(), "adults": adults}
        held = sys.getrefcount(adults)
        before = pa.total_allocated_bytes()
        for _ in range(20):
            table = pa.table({"code": pa.array(data["code"]), "children": data["children"], "adults": adults})
            lent = sys.getrefcount(adults)
            assert lent > held
            for given in (table, data):
                if refused:
                    with pytest.raises(UnspentError, match="^table: row 1: adults: is not a count"):
                        unspent.measure(given, towns())
                else:
                    unspent.measure(given, towns())
            gc.collect()
            assert sys.getrefcount(adults) == lent
            del table
        gc.collect()
        assert pa.total_allocated_bytes() == before and sys.getrefcount(adults) == held


def test_arrays_of_numpy_may_lie_as_they_like():
    data = columns()
    expected = seeded(data, towns())
    spread = np.zeros(90, dtype=np.int64)
    spread[::3] = data["children"]
    backwards = data["adults"][::-1].copy()
    shifted = np.frombuffer(b"x" + data["children"].astype(np.int64).tobytes(), dtype=np.int64, offset=1)
    for children in (spread[::3], shifted, data["children"].astype(">i4"), data["children"].astype("f4")):
        same(expected, seeded({**data, "children": children, "adults": backwards[::-1]}, towns()))
