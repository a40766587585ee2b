"""``--deep`` finds keys of several columns that the values of another record give, too."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import written_paths
from spark_jobs.services.validation.finding import Finding, Severity
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder
from tests.unit.core.support import HandClock, complete, context_of, rows, scope, start

pytestmark = pytest.mark.unit


def findings(path: Folder, key_fields: list[str], *records: tuple[str, int, str]) -> list[Finding]:
    """What a table has of these rows (id, ts, value), whose keys are of some columns."""
    table = HudiTable.create(
        str(path), name="t", record_key_fields=key_fields, partition_fields=["p"], lake=path.by(HandClock()).lake
    )
    instant = start(table, "20240506070809123", Action.COMMIT)
    handle = CreateHandle(context_of(table, instant.timestamp), scope(), "a", "00000000-0000-0000-0000-000000000001")
    handle.write(rows(*records))
    stats = handle.close()
    complete(table, instant, stats)
    assert written_paths(stats)
    return [one for one in validate(str(path), deep=True, lake=path.lake) if "other values than its own" in one.what]


def test_such_keys_are_counted(root: Folder) -> None:
    records = ("1,value:2", 1, "3"), ("4", 1, "5"), ("__null__", 1, "6")
    (found,) = findings(root / "t", ["id", "value"], *records)
    assert found.severity is Severity.WARNING
    assert found.what == "other values than its own give key 'id:1,value:2,value:3', too (2 such key(s))"
    assert "pyhudi.recordkey.refuse.ambiguous" in found.todo


@pytest.mark.parametrize("key_fields", [["id"], ["id", "value"]])
def test_sound_keys_are_not(root: Folder, key_fields: list[str]) -> None:
    value = "x" if len(key_fields) > 1 else ",value:"
    assert findings(root / "t", key_fields, ("1", 1, value), ("2", 1, "y")) == []
