"""The archive that Hudi 0.15.0 wrote (``tests/fixtures/make_archived_table.py``): read as Hudi reads it, and written
again as Hudi wrote it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.files.log_block import HeaderKey, parse_blocks
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive.v6.files import (
    archive_blocks,
    encode_entries,
    entries_of,
    read_entry,
)
from spark_jobs.core.timeline.archive.v6.schemas import ARCHIVED_ENTRY
from spark_jobs.core.timeline.archive_plan import ArchiveLimits, instants_to_archive
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.archived import ArchivedTimeline
from tests.support.folder import Folder, unzip
from tests.unit.core.timeline.lines import archive_in, merge_small

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "tables"


@pytest.fixture(scope="module")
def witness() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TABLES / "archived.json").read_text())
    return found


def unpack(name: str, target: Folder) -> Folder:
    unzip(TABLES / name, target)
    return target / "archived" / ".hoodie"


def load(meta: Folder) -> ArchivedTimeline:
    return ArchivedTimeline.load(archive_in(meta / "archived"))


def key_of(raw: dict[str, str]) -> Instant:
    return Instant(raw["instant"], Action(raw["action"]), State[raw["state"]])


def entries(meta: Folder) -> list[dict[str, Any]]:
    """Every entry of an archive in the order of its files, oldest file first."""
    found = []
    for status in reversed(archive_in(meta / "archived").newest_first()):
        with meta.storage.open_input(status.path) as file:
            for block in archive_blocks(file):
                for _, place in entries_of(block, status.path, block.read_content()):
                    found.append(read_entry(meta.storage, place))
    return found


def test_we_load_the_states_that_hudi_loads(root: Folder, witness: dict[str, Any]) -> None:
    found = load(unpack("archived.zip", root))
    assert set(found.states) == {key_of(raw) for raw in witness["states"]}
    assert {"clean", "rollback", "commit", "compaction", "deltacommit", "replacecommit"} <= {
        raw["action"] for raw in witness["states"]
    }
    times = [one.timestamp for one in found.instants]
    assert times == sorted(times)


def test_we_read_the_details_that_hudi_reads(root: Folder, witness: dict[str, Any]) -> None:
    found = load(unpack("archived.zip", root))
    compared = 0
    for raw in witness["states"]:
        if raw["details"] and raw["action"] != "compaction":
            compared += 1
            assert found.payload(key_of(raw)) == json.loads(raw["details"]), raw
    assert compared > 10


def test_the_schema_is_hudis(root: Folder) -> None:
    meta = unpack("archived.zip", root)
    with root.storage.open_input(archive_in(meta / "archived").newest_first()[0].path) as file:
        block = next(iter(archive_blocks(file)))
        assert list(block.headers) == [HeaderKey.SCHEMA]
        assert _plain(json.loads(block.schema_json)) == _plain(ARCHIVED_ENTRY)


def _plain(schema: Any) -> Any:
    """A schema without documentation, and without the default that Hudi gives to a map's type."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _plain(value) for name, value in schema.items() if name not in ("doc", "namespace")}
    if kept.get("type") in ("map", "array"):
        kept.pop("default", None)
    return kept


def test_the_bytes_of_an_entry_are_hudis(root: Folder) -> None:
    meta = unpack("archived.zip", root)
    for status in archive_in(meta / "archived").newest_first():
        with root.storage.open_input(status.path) as file:
            for block in archive_blocks(file):
                content = block.read_content()
                found = [read_entry(root.storage, place) for _, place in entries_of(block, status.path, content)]
                (again,) = parse_blocks(pa.BufferReader(encode_entries(found)))
                assert again.read_content() == content


def test_what_we_archive_is_what_hudi_archived(root: Folder, witness: dict[str, Any]) -> None:
    """The same instants, chosen and written by us, entry for entry."""
    meta = unpack("archived.before.zip", root / "before")
    theirs = entries(unpack("archived.zip", root / "after"))
    timeline = ActiveTimeline.load(root.storage, str(meta), str(meta / "archived"), format=VERSION_6)
    chosen = instants_to_archive(timeline.instants, ArchiveLimits(keep_min=2, keep_max=3))
    assert {(one.timestamp, one.action.value) for one in chosen} == {tuple(one) for one in witness["first"]}
    archive(timeline, str(meta.parent), chosen)
    ours = entries(meta)
    wanted = {(one["commitTime"], one["actionType"], one["actionState"]): one for one in theirs}
    assert len(ours) >= 3 * len(chosen) - 1
    for entry in ours:
        expected = wanted[entry["commitTime"], entry["actionType"], entry["actionState"]]
        # the time is that of the file, which unpacking it changed
        assert {**entry, "stateTransitionTime": ""} == {**expected, "stateTransitionTime": ""}
    assert _order(ours) == _order(theirs)[: len(ours)]


def _order(archived: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["commitTime"], one["actionState"]) for one in archived]


def test_hudis_files_merge(root: Folder) -> None:
    meta = unpack("archived.zip", root)
    before = load(meta)
    assert len(archive_in(meta / "archived").newest_first()) > 1
    merged = merge_small(root.storage, str(meta / "archived"), at_least=2)
    assert [status.path for status in archive_in(meta / "archived").newest_first()] == [merged]
    after = load(meta)
    assert set(after.states) == set(before.states)
    assert all(after.payload(one) == before.payload(one) for one in before.states)


def test_a_continuous_history(root: Folder, witness: dict[str, Any]) -> None:
    """Invariant 8: archived and active completed commits together have no gap and no overlap."""
    meta = unpack("archived.zip", root)
    active = ActiveTimeline.load(root.storage, str(meta), str(meta / "archived"), format=VERSION_6)
    archived = load(meta)
    old = [one.timestamp for one in archived.instants if one.action in (Action.COMMIT, Action.DELTA_COMMIT)]
    assert old
    assert max(old) < active.start
    assert {one.timestamp for one in active.instants} == {raw["instant"] for raw in witness["active"]}
