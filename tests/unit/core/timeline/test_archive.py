"""The archive: every action there and back, what a crash leaves, merges of small files, and hostile bytes."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, HudiError, InstantStateError, UnsupportedTableError
from spark_jobs.core.files.log_block import BlockType, HeaderKey, encode_block, parse_blocks
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.archive.v6.files import MERGE_PLAN_NAME, encode_entries
from spark_jobs.core.timeline.archive.v6.schemas import MERGE_PLAN
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.archived import ArchivedTimeline, commits_that_say
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from tests.nightly import examples
from tests.support.folder import Folder, file_at
from tests.unit.core.support import Died, MortalStorage
from tests.unit.core.timeline.lines import MOMENT, Line, archive_in, commit, merge_small, time

pytestmark = pytest.mark.unit


def load(line: Line, begin: str = "", end: str | None = None) -> ArchivedTimeline:
    return ArchivedTimeline.load(archive_in(line.archive), begin, end)


def put_archive(line: Line, version: int, *numbers: int) -> Folder:
    """An archive file of completed commits alone."""
    entries = [
        {"commitTime": time(number), "actionType": "commit", "actionState": "COMPLETED", "version": None}
        for number in numbers
    ]
    file = line.archive / f".commits_.archive.{version}_1-0-1"
    file.write_bytes(encode_entries(entries))
    return file


def test_every_action_comes_back_as_it_went(root: Folder) -> None:
    line = Line(root)
    given = [
        line.clean(2),
        line.rollback(3),
        line.commit(1, key="k"),
        line.commit(4, action=Action.DELTA_COMMIT),
        line.compaction(5),
        line.replace(6),
        line.savepoint(1),
    ]
    result = archive(line.load(), str(root), given)
    assert (result.entries, result.instants) == (20, tuple(sorted(given, key=lambda one: one.timestamp)))
    assert line.names() == []
    assert line.archives() == [".commits_.archive.1_1-0-1"]

    found = load(line)
    assert [f"{one.timestamp[-1]} {one.action.value}" for one in found.instants] == [
        "1 commit",
        "1 savepoint",
        "2 clean",
        "3 rollback",
        "4 deltacommit",
        "5 commit",
        "6 replacecommit",
    ]
    assert all(one.is_completed for one in found.instants)
    assert found.commit_metadata(given[2]) == commit(1, key="k")
    inserted = found.commit_metadata(given[2].at(State.INFLIGHT)).write_stats
    assert [(stat.file_id, stat.path, stat.num_inserts) for stat in inserted] == [("", None, 3)]
    assert found.commit_metadata(given[2].at(State.REQUESTED)).operation_type is OperationType.UNKNOWN
    compacted = found.commit_metadata(given[4])
    assert (compacted.compacted, compacted.operation_type) == (True, OperationType.COMPACT)
    plan = found.payload(Instant(time(5), Action.COMPACTION, State.REQUESTED))
    assert plan is not None
    assert plan["operations"][0]["deltaFilePaths"] == [".f-0_1.log.1_1-0-1"]
    assert found.payload(Instant(time(5), Action.COMPACTION, State.INFLIGHT)) is None
    assert found.commit_metadata(given[5]).replaced_file_ids == {"p": ("old-0",)}
    clean = found.payload(given[0])
    assert clean is not None
    assert clean["earliestCommitToRetain"] == time(1)
    rollback = found.payload(given[1])
    assert rollback is not None
    assert rollback["commitsRollback"] == [time(9)]
    saved = found.payload(given[6])
    assert saved is not None
    assert saved["savepointedBy"] == "me"


def test_entries_stand_as_hudi_writes_them(root: Folder) -> None:
    """In blocks of ten, with the schema as the only header; a batch may end in the middle of an instant."""
    line = Line(root)
    given = [line.commit(number) for number in range(1, 5)]
    path = archive(line.load(), str(root), given).path
    assert path is not None
    with line.storage.open_input(path) as file:
        blocks = list(parse_blocks(file))
        contents = [block.read_content() for block in blocks]
    assert [list(block.headers) for block in blocks] == [[HeaderKey.SCHEMA], [HeaderKey.SCHEMA]]
    assert [struct.unpack_from(">ii", content) for content in contents] == [(3, 10), (3, 2)]
    states = list(load(line).states)
    assert states[:4] == [
        Instant(time(1), Action.COMMIT, State.REQUESTED),
        Instant(time(1), Action.COMMIT, State.INFLIGHT),
        Instant(time(1), Action.COMMIT, State.COMPLETED),
        Instant(time(2), Action.COMMIT, State.REQUESTED),
    ]
    moved = {state.moved for state in load(line).states.values()}
    assert len(moved) == 1
    assert all(text is not None and len(text) == 17 and text.startswith("202405") for text in moved)


def test_an_empty_completed_file_is_archived_as_a_name_alone(root: Folder) -> None:
    line = Line(root)
    given = [line.put(1, Action.COMMIT), line.put(2, Action.CLEAN), line.put(3, Action.ROLLBACK)]
    archive(line.load(), str(root), given)
    found = load(line)
    assert found.instants == tuple(given)
    assert found.payload(given[1]) is None
    assert found.commit_metadata(given[0]).write_stats == ()


def test_left_over_markers_go(root: Folder) -> None:
    line = Line(root)
    done = line.commit(1)
    left = line.folder / ".temp" / time(1) / "p"
    left.mkdir(parents=True)
    archive(line.load(), str(root), [done])
    assert not left.parent.exists()


def test_what_may_not_go(root: Folder) -> None:
    line = Line(root)
    pending = line.put(1, Action.COMMIT, states=(State.REQUESTED,))
    with pytest.raises(InstantStateError, match=f"{time(1)} commit \\(requested\\) can't be archived before"):
        archive(line.load(), str(root), [pending])
    restored = line.put(2, Action.RESTORE)
    with pytest.raises(UnsupportedTableError, match=f"{time(2)} restore .* can't be archived"):
        archive(line.load(), str(root), [line.commit(3), restored])
    assert line.archives() == []
    assert len(line.names()) == 7


@pytest.mark.parametrize("dies_at", range(13))
def test_a_death_at_any_call_loses_nothing_and_a_rerun_repeats_nothing(root: Folder, dies_at: int) -> None:
    line = Line(root, MortalStorage(dies_at, root.storage))
    given = [line.clean(2), line.commit(1), line.commit(3)]
    names = line.names()
    whole = set(line.load().instants)
    try:
        archive(line.load(), str(root), given)
    except Died:
        seen = {*Line(root).load().instants, *load(line).instants}
        assert {one for one in seen if one.is_completed} == whole
    again = Line(root)
    # with the completed file there still, no state of the instant counts as pending
    assert all(one.is_completed for one in again.load().instants)
    archive(again.load(), str(root), [one for one in given if one in again.load().instants])
    assert again.names() == []
    assert set(load(again).instants) == whole
    files = [file_at(root.storage, status.path) for status in archive_in(line.archive).newest_first()]
    blocks = [block for file in files for block in blocks_of(file)]
    assert sum(struct.unpack_from(">ii", content)[1] for content in blocks) == len(names)


def blocks_of(file: Folder) -> list[bytes]:
    with file.open_input() as source:
        return [block.read_content() for block in parse_blocks(source)]


def test_an_entry_that_is_there_twice_counts_once(root: Folder) -> None:
    """Hudi's archiver writes entries again when it died before the files of their instants were gone."""
    line = Line(root)
    put_archive(line, 1, 1, 2)
    put_archive(line, 2, 2, 3)
    assert [one.timestamp for one in load(line).instants] == [time(1), time(2), time(3)]


def test_a_range(root: Folder) -> None:
    line = Line(root)
    put_archive(line, 1, 1, 2, 3)
    put_archive(line, 2, 4, 5, 6)
    assert [one.timestamp for one in load(line, time(2), time(4)).instants] == [time(2), time(3), time(4)]


def test_files_older_than_the_range_are_not_opened(root: Folder) -> None:
    line = Line(root)
    old = put_archive(line, 1, 1)
    old.write_bytes(b"no archive at all")
    old.date((MOMENT - 10 * 86400) * 1000)
    put_archive(line, 2, 2)
    assert [one.timestamp for one in load(line, time(1)).instants] == [time(2)]
    with pytest.raises(CorruptTableError, match="no log block begins"):
        load(line)


def test_versions_are_numbers(root: Folder) -> None:
    line = Line(root)
    for version in (2, 10, 9):
        put_archive(line, version, version)
    (line.archive / "mergeArchivePlan.crc").touch()
    names = [status.name for status in archive_in(line.archive).newest_first()]
    assert names == [f".commits_.archive.{version}_1-0-1" for version in (10, 9, 2)]
    archive(line.load(), str(root), [line.commit(11)])
    assert ".commits_.archive.11_1-0-1" in line.archives()


def test_a_text_is_found_in_archived_commits(root: Folder) -> None:
    line = Line(root)
    archive(line.load(), str(root), [line.commit(1, key="first"), line.commit(2, key="second")])
    archive(line.load(), str(root), [line.commit(3, key="third")])
    found = list(commits_that_say(archive_in(line.archive), "second"))
    assert [(one.timestamp, metadata.idempotency_key) for one, metadata in found] == [(time(2), "second")]
    assert list(commits_that_say(archive_in(line.archive), "fourth")) == []
    assert list(commits_that_say(archive_in(root / "nowhere"), "first")) == []


def test_small_files_become_one(root: Folder) -> None:
    line = Line(root)
    for version in range(1, 5):
        put_archive(line, version, version)
    large = line.archive / ".commits_.archive.2_1-0-1"
    put_archive(line, 2, *range(100, 200))
    before = load(line).instants
    assert merge_small(line.storage, str(line.archive), at_least=3, small_bytes=large.size - 1) is None
    merged = merge_small(line.storage, str(line.archive), at_least=2, small_bytes=large.size - 1)
    assert merged == str(line.archive / ".commits_.archive.5_1-0-1")
    # what is older than the newest large file keeps its place, so that files stay in the order of time
    assert line.archives() == [f".commits_.archive.{version}_1-0-1" for version in (1, 2, 5)]
    assert load(line).instants == before


@pytest.mark.parametrize("dies_at", range(8))
def test_a_merge_that_dies_is_ended_or_undone(root: Folder, dies_at: int) -> None:
    line = Line(root)
    for version in range(1, 5):
        put_archive(line, version, version)
    before = load(line).instants
    with suppress(Died):
        merge_small(MortalStorage(dies_at, root.storage), str(line.archive), at_least=2)
    assert load(line).instants == before
    archive_in(line.archive).settle()
    assert load(line).instants == before
    assert MERGE_PLAN_NAME not in line.archives()
    assert len(line.archives()) in (1, 4)


def test_a_cut_file_of_a_merge_that_broke_off_is_passed_over(root: Folder) -> None:
    """Hudi writes it in place: whatever it should hold is in the files that it was made from."""
    line = Line(root)
    first, second = put_archive(line, 1, 1), put_archive(line, 2, 2)
    merged = line.archive / ".commits_.archive.3_1-0-1"
    merged.write_bytes(b"not whole")
    plan = {"candidate": [f"file:{second}", f"file:{first}"], "mergedArchiveFileName": merged.name}
    (line.archive / MERGE_PLAN_NAME).write_bytes(encode_payload(MERGE_PLAN, plan))
    assert [one.timestamp for one in load(line).instants] == [time(1), time(2)]
    archive(line.load(), str(root), [line.commit(3)])
    assert [one.timestamp for one in load(line).instants] == [time(1), time(2), time(3)]
    assert MERGE_PLAN_NAME not in line.archives()


def test_a_cut_plan_of_a_merge_is_thrown_away(root: Folder) -> None:
    line = Line(root)
    put_archive(line, 1, 1)
    (line.archive / MERGE_PLAN_NAME).write_bytes(b"Obj\x01")
    archive_in(line.archive).settle()
    assert line.archives() == [".commits_.archive.1_1-0-1"]


FIRST, SECOND, NEW = (f".commits_.archive.{version}_1-0-1" for version in (1, 2, 3))


@pytest.mark.parametrize(
    ("candidates", "merged"),
    [
        ([], "../hoodie.properties"),
        ([], NEW),
        ([FIRST, SECOND], "../hoodie.properties"),
        ([FIRST, SECOND], ".commits_.archive.3_/../../hoodie.properties"),
        ([FIRST, SECOND], ""),
        ([FIRST, SECOND], FIRST),
        ([FIRST, "file:/t/.hoodie/hoodie.properties"], NEW),
        ([FIRST, ".."], NEW),
        ([FIRST, "notes"], NEW),
    ],
)
def test_by_a_plan_of_other_names_nothing_goes(root: Folder, candidates: list[str], merged: str) -> None:
    line = Line(root)
    put_archive(line, 1, 1)
    put_archive(line, 2, 2)
    put_archive(line, 3, 3)
    others = [line.archive.parent / "hoodie.properties", line.archive / "notes"]
    for other in others:
        other.write_text("mine")
    plan = {"candidate": candidates, "mergedArchiveFileName": merged}
    (line.archive / MERGE_PLAN_NAME).write_bytes(encode_payload(MERGE_PLAN, plan))
    archive_in(line.archive).settle()
    assert [other.read_text() for other in others] == ["mine", "mine"]
    assert [name for name in line.archives() if name != "notes"] == [FIRST, SECOND, NEW]


def test_a_file_taken_away_by_a_merge_while_it_is_read(root: Folder) -> None:
    line = Line(root)
    archive(line.load(), str(root), [line.commit(1)])
    archive(line.load(), str(root), [line.commit(2)])
    found = load(line)
    merge_small(line.storage, str(line.archive), at_least=2)
    assert found.commit_metadata(found.instants[0]) == commit(1)


def test_the_torn_end_of_a_file_is_passed_over(root: Folder) -> None:
    """An archiver that died while it wrote had not yet taken the instants off the active timeline."""
    line = Line(root)
    file = put_archive(line, 1, 1)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:-5])
    assert [one.timestamp for one in load(line).instants] == [time(1)]
    file.write_bytes(whole + whole[:3])
    put_archive(line, 2, 2)
    merge_small(line.storage, str(line.archive), at_least=2)
    assert [one.timestamp for one in load(line).instants] == [time(1), time(2)]


def test_entries_without_sense_are_corrupt(root: Folder) -> None:
    line = Line(root)
    file = line.archive / ".commits_.archive.1_1-0-1"
    for bad in ({"commitTime": None}, {"commitTime": "x"}, {"actionState": "LATER"}):
        entry = {"commitTime": "1", "actionType": "commit", "actionState": "COMPLETED", "version": None, **bad}
        file.write_bytes(encode_entries([entry]))
        with pytest.raises(CorruptTableError, match="an archived entry"):
            load(line)
    file.write_bytes(encode_entries([{"commitTime": "1", "actionType": "dance", "version": None}]))
    assert load(line).instants == ()


@pytest.mark.parametrize(
    "schema",
    [
        "{}",
        "[" * 100_000,
        '"string"',
        '{"type":"record","name":"A","fields":[{"name":"a","type":"A"}]}',
        '{"type":"record","name":"A","fields":[{"name":"a","type":["null","A"]}]}',
        '{"type":"record","name":"A","fields":[{"name":"a","type":{"type":"array","items":"null"}}]}',
        '{"type":"record","name":"A","fields":[{"name":"a","type":{"type":"fixed","name":"F","size":4000000000}}]}',
    ],
)
def test_a_schema_that_leads_astray_is_refused(root: Folder, schema: str) -> None:
    line = Line(root)
    record = b"\x02" * 3 + b"\xff" * 8 + b"\x7f" + b"\x02" * 50
    content = struct.pack(">iii", 3, 1, len(record)) + record
    block = encode_block(BlockType.AVRO_DATA_BLOCK, {HeaderKey.SCHEMA: schema}, content)
    (line.archive / ".commits_.archive.1_1-0-1").write_bytes(block)
    with pytest.raises(CorruptTableError, match=r"is unreadable|an archived entry"):
        load(line)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 1 << 20), noise=st.binary(max_size=6), cut=st.booleans())
def test_spoilt_archives_raise_only_our_errors(root: Folder, place: int, noise: bytes, cut: bool) -> None:
    line = Line(root)
    file = line.archive / ".commits_.archive.1_1-0-1"
    file.unlink(missing_ok=True)
    archive(line.load(), str(root), [line.commit(1, key="k"), line.clean(2), line.compaction(3)])
    whole = file.read_bytes()
    at = place % len(whole)
    file.write_bytes(whole[:at] + noise + (b"" if cut else whole[at + len(noise) :]))
    with suppress(HudiError):
        found = load(line)
        for instant in found.states:
            with suppress(HudiError):
                found.payload(instant)
                found.commit_metadata(instant)
