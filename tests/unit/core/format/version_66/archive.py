"""Its archive: files of lines, each a state of an instant in JSON with the bytes of its file; one that small ones were
merged into says in its first line which these are.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.archive.form import ArchivedState, LeavingState
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads.payload import Kind, kind_of
from spark_jobs.core.timeline.payloads.shapes import shaped
from tests.unit.core.format.version_66.payloads import CompressedPayloads

_ENDING = ".lines"


class Place66(NamedTuple):
    path: str
    line: int


class LineArchive:
    """Files ``gone-<number>.lines``."""

    def beside_timeline(self, files: Sequence[FileStatus]) -> Sequence[FileStatus]:
        return ()

    def files(self, storage: Storage, folder: str) -> Sequence[FileStatus]:
        return [one for one in storage.list(folder) if one.name.endswith(_ENDING)]

    def oldest_first(self, files: Iterable[FileStatus]) -> tuple[FileStatus, ...]:
        return tuple(sorted(files, key=lambda one: one.name))

    def entries(self, storage: Storage, file: FileStatus, needle: bytes = b"") -> Iterator[ArchivedState]:
        for number, entry in enumerate(_lines(storage, file.path)):
            if "instead_of" not in entry and needle in CompressedPayloads.text_of(_data(entry)):
                yield ArchivedState(_instant(entry), entry["until"], Place66(file.path, number))

    def commit_metadata(
        self, storage: Storage, state: ArchivedState, about: Collection[bytes] = ()
    ) -> CommitMetadata | None:
        data = self._read(storage, state)
        if about and not any(text in CompressedPayloads.text_of(data) for text in about):
            return None
        name = str(state.instant)
        return CommitMetadata.of(CompressedPayloads().decode(data, Kind.COMMIT, name), name)

    def payload(self, storage: Storage, state: ArchivedState) -> dict[str, Any] | None:
        data = self._read(storage, state)
        if not data:
            return None
        return shaped(CompressedPayloads().decode(data, kind_of(state.instant), "it"), state.instant)

    def encode(self, states: Sequence[LeavingState], batch_size: int) -> bytes:
        return b"".join(
            _line(
                time=one.instant.timestamp,
                action=one.instant.action.value,
                state=one.instant.state.value,
                until=one.instant.completed_at,
                data=base64.b64encode(one.data).decode(),
            )
            for one in states
        )

    def new_path(self, folder: str, there: Iterable[str], states: Sequence[Instant]) -> str:
        newest = max((path.rpartition("/")[2] for path in there), default="gone-0000.lines")
        return f"{folder}/gone-{int(newest[5:9]) + 1:04d}{_ENDING}"

    def add(self, storage: Storage, folder: str, path: str, data: bytes) -> None:
        storage.create(path, data)

    def merged_path(self, folder: str, inputs: Sequence[str], there: Iterable[str]) -> str:
        return self.new_path(folder, there, ())

    def merge(self, storage: Storage, folder: str, inputs: Sequence[str], path: str) -> None:
        head = _line(instead_of=[one.rpartition("/")[2] for one in inputs])
        storage.create(path, head + b"".join(storage.read(one) for one in reversed(inputs)))
        for one in inputs:
            storage.delete(one)

    def unsettled(self, storage: Storage, folder: str) -> dict[str, int]:
        """Files that a merged one stands for."""
        files = {one.name: one for one in self.files(storage, folder)}
        replaced = {name for one in files.values() for entry in _lines(storage, one.path) for name in _replaced(entry)}
        return {files[name].path: files[name].size for name in sorted(replaced & files.keys())}

    def _read(self, storage: Storage, state: ArchivedState) -> bytes:
        place = cast(Place66, state.place)
        return _data(_lines(storage, place.path)[place.line])


def _line(**values: object) -> bytes:
    return json.dumps(values).encode() + b"\n"


def _lines(storage: Storage, path: str) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in storage.read(path).splitlines()]
    except ValueError as error:
        raise CorruptTableError(f"{path} is no archive ({error})") from error


def _replaced(entry: dict[str, Any]) -> list[str]:
    return entry.get("instead_of", [])


def _data(entry: dict[str, Any]) -> bytes:
    return base64.b64decode(entry["data"])


def _instant(entry: dict[str, Any]) -> Instant:
    return Instant(entry["time"], Action(entry["action"]), State(entry["state"]), entry["until"])
