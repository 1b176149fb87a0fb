"""What runs on the executors: rows become cells of units, and units get their noise.

A task is an object that takes Arrow batches and gives Arrow batches; nothing here knows Spark. It may run any
number of times, anywhere, also twice at once. What it gives is a function of its rows, because noise is a
function of its address: level, query, sigma2, unit and cell.

Messages have no counts, no values of records and no codes: Spark writes them into logs.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import unspent
from unspent._native import ReleaseKey, TableReader, UnitNoise, UnspentError

Batches = Iterable[pa.RecordBatch]

#: The cell of a row that says no more than that a unit is in the list.
LISTED = -1
#: Values that are made at a time: 8 MB.
AT_ONCE = 1 << 20

#: Rows of measurements: the folder they go to, and the columns of a file. Nothing of them is ever missing.
OUTPUT = pa.schema(
    [
        pa.field("folder", pa.string(), nullable=False),
        pa.field("geocode", pa.string(), nullable=False),
        pa.field("query_name", pa.string(), nullable=False),
        pa.field("query_shape", pa.list_(pa.field("element", pa.int32(), nullable=False)), nullable=False),
        pa.field("value", pa.list_(pa.field("element", pa.int64(), nullable=False)), nullable=False),
        pa.field("variance", pa.float64(), nullable=False),
        pa.field("plb", pa.float64(), nullable=False),
    ]
)


def same_version(driver: str) -> None:
    """Fails on an executor whose version is not the driver's."""
    if unspent.__version__ != driver:
        raise UnspentError(
            f"spark: an executor has unspent {unspent.__version__}, the driver has {driver}\n"
            "hint: install the same wheel on all machines; another version may make another noise"
        )


class ReadRecords:
    """Rows with values of attributes become rows with their codes, a cell and a count.

    The first ``keys`` columns have codes; the table calls the last columns ``names``.
    """

    def __init__(self, text: str, keys: int, names: list[str]) -> None:
        self.version, self.text, self.keys, self.names = unspent.__version__, text, keys, names

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        same_version(self.version)
        reader = TableReader(self.text)
        for batch in batches:
            found = reader.read(pa.Table.from_arrays(batch.columns[-len(self.names) :], self.names))
            # A row that counts nobody has no cell; its unit must be in the list all the same.
            nobody = np.setdiff1d(np.arange(batch.num_rows), found["rows"])
            zeros = np.zeros_like(nobody)
            rows = pa.array(np.concatenate([found["rows"], nobody]))
            codes = [column.take(rows) for column in batch.columns[: self.keys]]
            cells, counts = (np.concatenate([found[name], zeros]) for name in ("cells", "counts"))
            arrays = [*codes, pa.array(cells), pa.array(counts)]
            names = [*batch.schema.names[: self.keys], "cell", "n"]
            yield pa.RecordBatch.from_arrays(arrays, names)


class MeasureUnits:
    """Units of one level, sorted by their codes, become noisy measurements.

    ``key`` is what a ReleaseKey exposes, and is used for nothing but noise; without a key units are checked,
    and nothing comes out. It is in no text of the object.
    """

    __slots__ = ("_secret", "version", "text", "level", "names")

    def __init__(self, key: ReleaseKey | None, text: str, level: dict[str, Any], names: list[str]) -> None:
        self._secret = None if key is None else (key.expose(), key.is_private)
        self.version, self.text, self.level, self.names = unspent.__version__, text, level, names

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of level {self.level['name']!r}>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in MeasureUnits.__slots__} | self.more()

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def more(self) -> dict[str, Any]:
        """What a kind of task has besides."""
        return {}

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        same_version(self.version)
        noise = None
        if self._secret is not None:
            noise = UnitNoise(self.text, ReleaseKey.from_exposed(*self._secret), self.level["name"])
        largest = sum(query["length"] for query in self.level["queries"] + self.level["exact"])
        for codes, entries in self.units(batches, max(1, AT_ONCE // max(1, largest))):
            if noise is None or len(codes) == 0:
                continue
            buffers = _texts(codes)
            yield self._rows(self.level["folder"], "queries", codes, noise.noisy(buffers, entries))
            if self.level["exact"]:
                exact = noise.exact(buffers, entries)
                yield self._rows(self.level["exact_folder"], "exact", codes, exact)

    def units(self, batches: Batches, at_once: int) -> Iterator[tuple[pa.Array, Any]]:
        """Codes of some units, each once, and their cells."""
        raise NotImplementedError

    def _rows(self, folder: str, of: str, codes: pa.Array, values: list[Any]) -> pa.RecordBatch:
        """A row for every query of every unit."""
        queries = self.level[of]
        units, rows = len(codes), len(codes) * len(queries)
        lengths = np.tile([query["length"] for query in queries], units)
        flat = np.concatenate([part.reshape(units, -1) for part in values], axis=1).reshape(-1)
        shapes = [query["shape"] for query in queries]
        columns = [
            pa.array([folder]).take(pa.array(np.zeros(rows, dtype=np.int32))),
            codes.take(pa.array(np.repeat(np.arange(units), len(queries)))),
            pa.array([query["name"] for query in queries]).take(
                pa.array(np.tile(np.arange(len(queries)), units))
            ),
            _lists([len(shape) for shape in shapes] * units, np.tile(np.concatenate(shapes), units), 3),
            _lists(lengths, flat, 4),
            *(
                pa.array(np.tile([query.get(name, 0.0) for query in queries], units))
                for name in ("variance", "plb")
            ),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=OUTPUT)


class MeasureRows(MeasureUnits):
    """The smallest units of a table that has a row for each: every row is checked.

    ``lead`` is 1 if the code comes before the columns that the table has.
    """

    def units(self, batches: Batches, at_once: int) -> Iterator[tuple[pa.Array, Any]]:
        reader, lead, last = TableReader(self.text), self.level["lead"], None
        for batch in _pieces(batches, at_once):
            sorted_by = batch.column(0)
            # In any other order the same code could come again later.
            before = sorted_by if last is None else pa.concat_arrays([last, sorted_by])
            ascending = pc.less(before.slice(0, len(before) - 1), before.slice(1))
            # One row alone is in order; codes that are missing are named below.
            if not pc.all(ascending, min_count=0).as_py():
                raise UnspentError(
                    "table: there are two rows for one unit\nhint: there is one row for each unit"
                )
            last = sorted_by.slice(len(sorted_by) - 1)
            found = reader.read(pa.Table.from_arrays(batch.columns[lead:], self.names))
            offsets = np.searchsorted(found["rows"], np.arange(batch.num_rows + 1))
            codes = _same(_array(found["codes"][self.level["name"]]), sorted_by)
            yield codes, (offsets, found["cells"], found["counts"])


class MeasureSums(MeasureUnits):
    """Units of a larger level of such a table: their code and the sum of each column."""

    def units(self, batches: Batches, at_once: int) -> Iterator[tuple[pa.Array, Any]]:
        places = {name: 1 + i for i, name in enumerate(self.names)}
        for batch in _pieces(batches, at_once):
            _check_codes(batch.column(0))
            if any(column.null_count for column in batch.columns):
                raise UnspentError(TOO_LARGE)
            sums = {name: batch.column(at).to_numpy(zero_copy_only=False) for name, at in places.items()}
            cells = []
            for source in self.level["cells"]:
                # None of these is negative: that of each row was not, and the sums are not too large.
                cells.append(sums[source["column"]] - sum(sums[name] for name in source["minus"]))
            yield _text(batch.column(0)), np.ascontiguousarray(np.stack(cells, axis=1), dtype=np.int64)


class MeasureCells(MeasureUnits):
    """Units as rows with a code, a cell and a count, sorted by both; the first is that of the list of units.

    Of the smallest level the columns of the codes are there too, as ``names`` says; ``lead`` is 1 if the code
    comes before them.
    """

    def units(self, batches: Batches, at_once: int) -> Iterator[tuple[pa.Array, Any]]:
        smallest = self.level["smallest"]
        reader = TableReader(self.text) if smallest else None
        for table in _whole_units(batches):
            *codes, cells, counts = table.columns
            _check_codes(codes[0])
            if counts.null_count:
                raise UnspentError(TOO_LARGE)
            cells, counts = (_one(column).to_numpy(zero_copy_only=False) for column in (cells, counts))
            listed, begins = cells == LISTED, _changes(codes[:1]).to_numpy(zero_copy_only=False)
            if (begins & ~listed).any():
                raise UnspentError(
                    "table: there is a record whose unit is not in the list of units\n"
                    "hint: the list has every unit of the smallest level, also those with nobody in them"
                )
            if (listed & ~begins).any() or (smallest and (counts[listed] != 1).any()):
                raise UnspentError(
                    "units: there are two rows for one unit\nhint: the list has every unit once"
                )
            if (_changes(codes).to_numpy(zero_copy_only=False) & ~begins).any():
                raise UnspentError(LIES_IN_TWO)
            firsts = np.flatnonzero(listed)
            units = [_one(column).take(pa.array(firsts)) for column in codes]
            texts = _text(units[0])
            if reader is not None:
                found = reader.units(pa.Table.from_arrays(units[self.level["lead"] :], self.names))
                texts = _same(_array(found["codes"][self.level["name"]]), texts)
            # Where the entries of each unit begin, without the rows of the list.
            offsets = np.append(firsts - np.arange(len(firsts)), len(cells) - len(firsts))
            cells, counts = cells[~listed], counts[~listed]
            for start in range(0, len(firsts), at_once):
                ends = offsets[start : start + at_once + 1]
                part = slice(ends[0], ends[-1])
                yield texts.slice(start, at_once), (ends - ends[0], cells[part], counts[part])


TOO_LARGE = "table: a sum exceeds 2^63 - 1\nhint: check the counts of the table"
LIES_IN_TWO = (
    "table: a unit lies in two units of a larger level\nhint: levels must nest; if other units have the same "
    'code, name several columns, as in ["county", "tract"]'
)


def _check_codes(codes: Any) -> None:
    if codes.null_count:
        raise UnspentError("table: a code is missing\nhint: every row has one")


def _pieces(batches: Batches, at_once: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, at_once):
            yield batch.slice(start, at_once)


def _whole_units(batches: Batches) -> Iterator[pa.Table]:
    """The same rows, cut where a unit begins."""
    kept = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        kept = table if kept is None else pa.concat_tables([kept, table]).combine_chunks()
        begins = np.flatnonzero(_changes(kept.columns[:1]).to_numpy(zero_copy_only=False))
        if len(begins) > 1:
            yield kept.slice(0, begins[-1])
            kept = kept.slice(begins[-1])
    if kept is not None and kept.num_rows:
        yield kept


def _changes(columns: list[Any]) -> pa.Array:
    """Whether each row differs from the one before; the first does."""
    first = pa.array([True] * min(1, len(columns[0])), pa.bool_())
    rest = None
    for column in map(_one, columns):
        other = pc.not_equal(column.slice(1), column.slice(0, max(0, len(column) - 1)))
        rest = other if rest is None else pc.or_(rest, other)
    return pa.concat_arrays([first, pc.fill_null(rest, False)])


def _same(codes: pa.StringArray, sorted_by: Any) -> pa.StringArray:
    """The codes, as the schema says; fails unless rows were sorted by them."""
    if not codes.equals(_text(sorted_by)):
        raise UnspentError("spark: codes are not as Spark has them\nhint: this is a fault of unspent")
    return codes


def _one(column: Any) -> pa.Array:
    """A column in one piece."""
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def _text(column: Any) -> pa.StringArray:
    return _one(column).cast(pa.string())


def _array(texts: tuple[Any, Any]) -> pa.StringArray:
    offsets, data = texts
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def _texts(codes: pa.StringArray) -> tuple[Any, Any]:
    """Offsets and bytes of an array, also of a slice of one."""
    _, offsets, data = codes.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[codes.offset : codes.offset + len(codes) + 1]
    return places, np.frombuffer(data or b"", dtype=np.uint8)


def _lists(lengths: Any, flat: Any, field: int) -> pa.ListArray:
    kind = OUTPUT.field(field).type
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, kind.value_type), type=kind)
