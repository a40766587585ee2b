"""Timelines for the tests of the archive: instants of every action, with contents of their kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.instant_names import file_name_of
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.storage import LocalStorage, RelativePath, Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive.form import ArchivePlace
from spark_jobs.core.timeline.archive.known import archive_of
from spark_jobs.core.timeline.archive_merge import MergeRule, choose_merge
from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.payloads import schemas
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.write_stat import WriteStat
from tests.support.folder import Folder, Where
from tests.support.payloads import stored

MOMENT = 1_714_979_289
"""When all files of a line were last written: 2024-05-06, seconds since the epoch."""

CLEAN_PLAN = {"policy": "KEEP_LATEST_COMMITS", "version": 2}
CLEANED = {
    "startCleanTime": "20240506000000002",
    "timeTakenInMillis": 5,
    "totalFilesDeleted": 0,
    "earliestCommitToRetain": "20240506000000001",
    "partitionMetadata": {},
    "version": 2,
}
ROLLED_BACK = {
    "startRollbackTime": "20240506000000003",
    "timeTakenInMillis": 5,
    "totalFilesDeleted": 0,
    "commitsRollback": ["20240506000000009"],
    "partitionMetadata": {},
}
COMPACTION = {
    "operations": [{"baseInstantTime": "1", "fileId": "f-0", "deltaFilePaths": [".f-0_1.log.1_1-0-1"]}],
    "version": 2,
}
SAVED = {"savepointedBy": "me", "savepointedAt": 7, "comments": "", "partitionMetadata": {}}


def time(number: int) -> str:
    return f"202405060000{number:05d}"


def commit(number: int, key: str | None = None, **more: Any) -> CommitMetadata:
    """The metadata of one new file."""
    stat = WriteStat(
        file_id=f"f{number}-0",
        path=RelativePath(f"p/f{number}-0_0-1-1_{time(number)}.parquet"),
        partition_path="p",
        num_writes=3,
        num_inserts=3,
        total_write_bytes=100,
        file_size_in_bytes=100,
    )
    extra = {"schema": '{"type":"record"}', **({IDEMPOTENCY_KEY: key} if key else {})}
    values: dict[str, Any] = {"operation_type": OperationType.UPSERT, "extra_metadata": extra, **more}
    return CommitMetadata(write_stats=(stat,), **values)


def merge_small(storage: Storage, folder: str, at_least: int = 2, small_bytes: int = 20 << 20) -> str | None:
    """Make one archive file of small ones where they are enough; the path of the new one."""
    place = archive_in(folder, storage)
    place.settle()
    chosen = choose_merge(place, place.sizes(), MergeRule(at_least=at_least, small_bytes=small_bytes))
    if isinstance(chosen, str):
        return None
    place.form.merge(storage, folder, list(chosen.inputs), chosen.path)
    return chosen.path


def archive_in(folder: Where | str, storage: Storage | None = None) -> ArchivePlace:
    """The archive of a table of version 6."""
    return archive_of(VERSION_6, storage or storage_of(folder), str(folder))


def storage_of(place: Where | str) -> Storage:
    return place.storage if isinstance(place, Folder) else LocalStorage()


class Line:
    """A timeline folder, made file by file."""

    def __init__(self, base: Folder, storage: Storage | None = None) -> None:
        self.base = base
        self.folder = base / ".hoodie"
        self.archive = self.folder / "archived"
        self.archive.mkdir(parents=True, exist_ok=True)
        self.storage = storage or base.storage

    def load(self) -> ActiveTimeline:
        return ActiveTimeline.load(self.storage, str(self.folder), str(self.archive), format=VERSION_6)

    def put(self, number: int, action: Action, *contents: bytes, states: Sequence[State] = tuple(State)) -> Instant:
        """An instant with the contents of its states in order, empty where none is given; its last state."""
        instant = Instant(time(number), action, states[-1]).at(states[-1])
        for place, state in enumerate(states):
            file = self.folder / file_name_of(Instant(time(number), action, state).at(state))
            file.write_bytes(contents[place] if place < len(contents) else b"")
            file.date(MOMENT * 1000)
        return instant

    def commit(self, number: int, key: str | None = None, action: Action = Action.COMMIT) -> Instant:
        profile = CommitMetadata(write_stats=(WriteStat(file_id="", path=None, partition_path="p", num_inserts=3),))
        return self.put(number, action, b"", stored(profile.payload()), stored(commit(number, key).payload()))

    def clean(self, number: int) -> Instant:
        plan = encode_payload(schemas.CLEANER_PLAN, CLEAN_PLAN)
        return self.put(number, Action.CLEAN, plan, plan, encode_payload(schemas.CLEAN_METADATA, CLEANED))

    def rollback(self, number: int) -> Instant:
        done = encode_payload(schemas.ROLLBACK_METADATA, ROLLED_BACK)
        return self.put(number, Action.ROLLBACK, encode_payload(schemas.ROLLBACK_PLAN, {}), b"", done)

    def compaction(self, number: int) -> Instant:
        plan = encode_payload(schemas.COMPACTION_PLAN, COMPACTION)
        done = commit(number, operation_type=OperationType.COMPACT, compacted=True)
        return self.put(number, Action.COMPACTION, plan, b"", stored(done.payload()))

    def replace(self, number: int) -> Instant:
        plan = encode_payload(schemas.REQUESTED_REPLACE_METADATA, {"operationType": "CLUSTER", "version": 1})
        done = commit(number, operation_type=OperationType.CLUSTER, replaced_file_ids={"p": ("old-0",)})
        return self.put(number, Action.REPLACE_COMMIT, plan, b"", stored(done.payload()))

    def savepoint(self, number: int) -> Instant:
        done = encode_payload(schemas.SAVEPOINT_METADATA, SAVED)
        return self.put(number, Action.SAVEPOINT, b"", done, states=(State.INFLIGHT, State.COMPLETED))

    def names(self) -> list[str]:
        return sorted(file.name for file in self.folder.iterdir() if file.is_file())

    def archives(self) -> list[str]:
        return sorted(file.name for file in self.archive.iterdir())
