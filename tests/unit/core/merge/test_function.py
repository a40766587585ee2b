"""One's own payload: the function of docs/payloads.md, and what is said of others that do not fit."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.merge.changes import Changes, precombine
from spark_jobs.core.merge.payload import payload_for_write
from spark_jobs.core.merge.payloads.function import FunctionPayload, load_function
from spark_jobs.core.merge.with_base import BaseMerge
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, IS_DELETED, RECORD_KEY

pytestmark = pytest.mark.unit

DOCS = Path(__file__).resolve().parents[4] / "docs" / "payloads.md"
OVERWRITE = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
OWN = [("id", pa.string()), ("ts", pa.int64()), ("count", pa.int64()), ("label", pa.string()), (IS_DELETED, pa.bool_())]
BATCH = pa.schema([(RECORD_KEY, pa.string()), *OWN])
STORED = pa.schema([(COMMIT_TIME, pa.string()), (RECORD_KEY, pa.string()), *OWN])


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The module in the docs, importable as ``stock_merge``."""
    code = re.search(r"```python\n# stock_merge\.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert code is not None
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "stock_merge.py").write_text(code.group(1))
    sys.path.insert(0, str(folder))
    yield "stock_merge:add_counts"
    sys.path.remove(str(folder))


def record(key: str, ts: int, count: int, label: str | None = None, gone: bool | None = None) -> dict[str, Any]:
    return {RECORD_KEY: key, "id": key, "ts": ts, "count": count, "label": label, IS_DELETED: gone}


def batch(*records: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(records), schema=BATCH)


def test_the_documented_function_in_a_batch(documented: str) -> None:
    payload = FunctionPayload(path=documented)
    rows = batch(
        record("a", 3, 1, "newest"),
        record("b", 1, 5),
        record("a", 1, 10, "oldest"),
        record("a", 2, 100),
        record("c", 1, 7),
        record("c", 2, 0, gone=True),
        record("c", 3, 8),
        record("d", 1, 1),
        record("d", 2, 0, gone=True),
    )
    found = precombine(rows, "ts", payload)
    shown = {row[RECORD_KEY]: (row["count"], row["label"]) for row in found.upserts().to_pylist()}
    assert shown == {"a": (111, "newest"), "b": (5, None), "c": (8, None)}
    assert found.deletes().column(RECORD_KEY).to_pylist() == ["d"]


def test_the_documented_function_over_a_base_file(documented: str) -> None:
    payload = pickle.loads(pickle.dumps(FunctionPayload(path=documented)))
    stored = [{COMMIT_TIME: "1", **record(key, 9, count)} for key, count in (("a", 1), ("b", 2), ("c", 3), ("d", 4))]
    changes = [record("a", 1, 10), record("b", 1, 0, gone=True), record("c", 1, -3), record("e", 1, 5)]
    stamped = pa.Table.from_pylist([{COMMIT_TIME: "2", **one} for one in changes], schema=STORED)
    merge = BaseMerge(Changes(stamped, payload.is_delete(stamped)), payload, "ts")
    merged = merge.merge(pa.Table.from_pylist(stored, schema=STORED).to_batches()[0])
    assert (merged.updated, merged.deleted) == (1, 2)
    rows = merged.rows.to_pylist() + [row for some in merge.unseen() for row in some.to_pylist()]
    assert [(row[RECORD_KEY], row["count"], row[COMMIT_TIME]) for row in rows] == [
        ("a", 11, "2"),
        ("d", 4, "1"),
        ("e", 5, "2"),
    ]


def test_the_function_gets_the_tables_own_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def newest(older: pa.Table, newer: pa.Table) -> pa.Table:
        seen.append((older.schema.names, newer.num_rows))
        return newer.select(newer.schema.names[::-1])  # any order will do

    payload = serving(monkeypatch, newest)
    merge = BaseMerge(
        Changes(pa.Table.from_pylist([record("a", 1, 10)], schema=STORED), np.array([False])), payload, "ts"
    )
    merged = merge.merge(pa.Table.from_pylist([record("a", 5, 1)], schema=STORED).to_batches()[0])
    assert merged.rows.column("count").to_pylist() == [10]
    assert seen == [([name for name, _ in OWN], 1)]


def serving(monkeypatch: pytest.MonkeyPatch, function: Any) -> FunctionPayload:
    monkeypatch.setattr(sys.modules[__name__], "served", function, raising=False)
    load_function.cache_clear()
    return FunctionPayload(path=f"{__name__}:served")


def truths(rows: pa.Table) -> pa.Table:
    """The rows with booleans for counts, which Arrow would cast to 0 and 1."""
    return rows.set_column(rows.schema.get_field_index("count"), "count", pc.greater(rows.column("count"), 1))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda older, newer: newer.slice(1), r"answered 2 pairs with 1 rows of .*: return a table of as many rows"),
        (lambda older, newer: newer.drop(["count"]), r"answered 2 pairs with 2 rows of .*'label'"),
        (lambda older, newer: None, "answered 2 pairs with NoneType"),
        (lambda older, newer: (newer, [True]), "answered 2 pairs with 1 marks of deletes"),
        (lambda older, newer: truths(newer), r"don't fit their columns \(column count holds bool, the table has int"),
    ],
)
def test_answers_that_do_not_fit(monkeypatch: pytest.MonkeyPatch, answer: Any, message: str) -> None:
    payload = serving(monkeypatch, answer)
    rows = batch(record("a", 1, 1), record("b", 1, 1), record("a", 2, 2), record("b", 2, 2))
    with pytest.raises(BadRecordError, match=message):
        precombine(rows, "ts", payload)


def test_a_value_that_loses_something_in_the_columns_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def halves(older: pa.Table, newer: pa.Table) -> pa.Table:
        index = newer.schema.get_field_index("count")
        return newer.set_column(index, "count", pc.divide(newer.column("count").cast(pa.float64()), 2.0))

    rows = batch(record("a", 1, 1), record("a", 2, 3))
    with pytest.raises(BadRecordError, match=r"values that don.t fit their columns .*1\.5"):
        precombine(rows, "ts", serving(monkeypatch, halves))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nothing", "nothing is no module:function"),
        ("no_such_module:f", "module no_such_module can't be imported .*--py-files"),
        ("json:no_such", "module json has no function no_such"),
        ("json:__doc__", "module json has no function __doc__"),
    ],
)
def test_paths_that_lead_nowhere(path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        payload_for_write(OVERWRITE, {"pyhudi.payload.function": path}, None, merge_on_read=False)


def test_tables_with_logs_are_not_for_functions() -> None:
    with pytest.raises(ConfigError, match="COPY_ON_WRITE tables alone: logs are merged by their readers"):
        payload_for_write(OVERWRITE, {"pyhudi.payload.function": "json:loads"}, None, merge_on_read=True)
