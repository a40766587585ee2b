"""A table beside processes that take plans back while it is looked at."""

import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import COMPACTION_PLAN
from spark_jobs.core.timeline.steps import request
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
FIRST, SECOND = "20240506070809123", "20240506070809124"


@pytest.fixture
def table(root: Folder) -> HudiTable:
    made = HudiTable.create(
        str(root / "t"), name="t", table_type="MERGE_ON_READ", record_key_fields=["id"], lake=root.lake
    )
    for time in (FIRST, SECOND):
        plan = encode_payload(COMPACTION_PLAN, {"operations": [], "extraMetadata": None, "version": 2})
        request(made.timeline, time, Action.COMPACTION, plan)
    return made.refreshed()


def times(table: HudiTable) -> list[str]:
    return [one.timestamp for one in table.timeline.pending({Action.COMPACTION})]


def test_what_is_taken_back_stays_away_when_the_timeline_is_loaded_anew(table: HudiTable) -> None:
    after = table.without([one for one in table.timeline.instants if one.timestamp == FIRST])
    assert times(after) == [SECOND]
    table.storage.delete(f"{table.base_path}/.hoodie/{SECOND}.compaction.requested")
    assert after.pending.compaction == {}  # its plan is gone, so the timeline is loaded anew
    assert times(after) == []
    assert times(after.refreshed()) == [FIRST]


def test_a_table_keeps_what_it_saw(table: HudiTable) -> None:
    assert times(table) == [FIRST, SECOND]
    table.storage.delete(f"{table.base_path}/.hoodie/{FIRST}.compaction.requested")
    assert times(table) == [FIRST, SECOND]
    assert table.refreshed().pending.compaction == {}
    assert times(table.refreshed()) == [SECOND]
