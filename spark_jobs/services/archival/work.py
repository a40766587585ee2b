"""All that one run of an archival does, to the file and the byte, before it does anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.config.keys import archive as keys
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.metadata_table.writer import take_off
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.archive_merge import ArchiveMerge, MergeRule, choose_merge
from spark_jobs.core.timeline.archive_writer import PreparedArchival, carry_out_archival, prepare_archival
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.services.archival.orphans import Orphans
from spark_jobs.services.archival.plan import ArchivalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalWork:
    """In this order: ``orphans`` go, what is left of rolled-back instants that are passed; ``unsettled`` goes, bytes by
    path of what a merge left that broke off; ``archival`` is carried out as it is ``prepared``; and ``merge`` is, whose
    inputs may name the file that the archival writes. Paths are whole. ``why_no_more`` says why it is not more.
    """

    folder: str
    archival: ArchivalPlan | None
    prepared: PreparedArchival | None
    unsettled: Mapping[str, int]
    merge: ArchiveMerge | None
    orphans: Orphans = field(default_factory=Orphans)
    why_no_more: str = ""

    @property
    def leaving(self) -> dict[str, int]:
        """Files of the active timeline: bytes by name."""
        found = self.prepared.leaving if self.prepared else ()
        return {status.name: status.size for _, status in found}

    @property
    def deletions(self) -> dict[str, int]:
        """Bytes of all that goes, by paths from ``.hoodie`` on; of data files, from the base path on."""
        markers = self.prepared.markers.values() if self.prepared else ()
        left = {self._short(path): size for one in markers for path, size in one.items()}
        settled = {self._short(path): size for path, size in self.unsettled.items()}
        base = self.folder.rpartition(f"/{META_FOLDER}")[0]
        orphans = {path.removeprefix(f"{base}/"): size for path, size in self.orphans.files.items()}
        return {**orphans, **settled, **left, **self.leaving, **self._merged}

    @property
    def bytes_out(self) -> int:
        """What is written: the new archive file, and the merged one, which is no larger than what it is made of."""
        new = len(self.prepared.data) if self.prepared else 0
        return new + (self.merge.bytes if self.merge else 0)

    @property
    def facts(self) -> PlanFacts:
        going = self.archival.instants if self.archival else ()
        others = {name: size for name, size in self.deletions.items() if name not in self.leaving | self._merged}
        content: dict[str, Any] = {
            "instants": [f"{one.timestamp}.{one.action.value}" for one in going],
            "files": self.leaving,
            **({"left_over": others} if others else {}),
            **({"merge": self._merge_shown()} if self.merge else {}),
            **self._metadata_table_shown(),
        }
        gone = self.deletions
        return PlanFacts(service="archive", content=content, files=len(gone), bytes=sum(gone.values()))

    def to_json(self) -> dict[str, Any]:
        """For a person: the instants, what is written, and the exact files that go."""
        going = self.archival.instants if self.archival else ()
        held_by = self.archival.held_by if self.archival else None
        new = self.prepared if self.prepared and self.prepared.path else None
        return {
            "instants": [{"instant": one.timestamp, "action": one.action.value} for one in going],
            "writes": {self._short(str(new.path)): len(new.data)} if new else {},
            "merge": self._merge_shown(),
            "deletions": self.deletions,
            **self._metadata_table_shown(),
            "held_by": held_by.why if held_by else None,
        }

    def carry_out(self, table: HudiTable, progress: Progress) -> None:
        """The caller holds the table lock, and has since this was planned."""
        storage = table.storage
        for path in self.orphans.files:
            storage.delete(path)
        if self.orphans.listed:
            take_off(storage, table.base_path, table.clock)
            progress.note(
                f"took the metadata table off, which lists {self.orphans.listed} of a write that was rolled back"
            )
        archive = table.timeline.archive_place
        archive.settle()
        if self.prepared is not None:
            with progress.phase("archive"):
                carry_out_archival(archive, table.base_path, self.prepared)
        if self.merge is not None:
            with progress.phase("merge"):
                archive.form.merge(storage, archive.folder, list(self.merge.inputs), self.merge.path)

    @property
    def _merged(self) -> dict[str, int]:
        inputs = self.merge.inputs if self.merge else {}
        return {self._short(path): size for path, size in inputs.items()}

    def _metadata_table_shown(self) -> dict[str, str]:
        """The next write makes it anew."""
        return {"takes_metadata_table_off_for": self.orphans.listed} if self.orphans.listed else {}

    def _merge_shown(self) -> dict[str, Any] | None:
        if self.merge is None:
            return None
        return {"inputs": self._merged, "bytes": self.merge.bytes, "writes": self._short(self.merge.path)}

    def _short(self, path: str) -> str:
        return path.removeprefix(f"{self.folder}/")


def work_of(
    table: HudiTable, properties: Mapping[str, str], archival: ArchivalPlan | Nothing, orphans: Orphans
) -> ArchivalWork | Nothing:
    """What there is to do.

    :param archival: the instants that go, or why none does.
    :param orphans: what is left of rolled-back instants that are passed by it.
    """
    timeline = table.timeline
    archive = timeline.archive_place
    plan, why = (None, archival.reason) if isinstance(archival, Nothing) else (archival, "")
    prepared = None
    if plan is not None:
        batch_size = keys.ARCHIVE_BATCH.of(properties)
        prepared = prepare_archival(timeline, table.base_path, plan.instants, batch_size=batch_size)
    merges = keys.ARCHIVE_MERGE.of(properties)
    unsettled = archive.form.unsettled(archive.storage, archive.folder) if merges or plan is not None else {}
    merge: ArchiveMerge | None = None
    if merges:
        files = archive.sizes()
        if prepared is not None and prepared.path is not None:
            files = {prepared.path: len(prepared.data), **files}
        at_least, small = keys.ARCHIVE_MERGE_FILES.of(properties), keys.ARCHIVE_MERGE_BYTES.of(properties)
        chosen = choose_merge(archive, files, MergeRule(at_least=at_least, small_bytes=small), unsettled)
        if isinstance(chosen, str):
            why = "; ".join(one for one in (why, chosen) if one)
        else:
            merge = chosen
    if plan is None and merge is None and not (unsettled or orphans.files or orphans.listed):
        return Nothing(why)
    return ArchivalWork(
        folder=timeline.folder,
        archival=plan,
        prepared=prepared,
        unsettled=unsettled,
        merge=merge,
        orphans=orphans,
        why_no_more=why,
    )
