"""Making one archive file of many small ones, for storages that can't append (Hudi: HoodieTimelineArchiver).

A plan stands beside the files meanwhile, so that what broke off can be ended or undone. Whoever changes anything holds
the table lock.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.core.files.log_block import parse_blocks
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.archive.v6.files import MERGE_PLAN_NAME, read_merge_plan
from spark_jobs.core.timeline.archive.v6.schemas import MERGE_PLAN
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload


def merge_files(storage: Storage, folder: str, inputs: Sequence[str], path: str) -> None:
    """Hudi's order: the plan, the new file, then those that it is made of go, and the plan.

    :param inputs: paths, newest first.
    """
    plan = {"candidate": list(inputs), "mergedArchiveFileName": path.rpartition("/")[2]}
    storage.create(f"{folder}/{MERGE_PLAN_NAME}", encode_payload(MERGE_PLAN, plan))
    storage.create(path, b"".join(_content(storage, one) for one in inputs))
    for one in inputs:
        storage.delete(one)
    storage.delete(f"{folder}/{MERGE_PLAN_NAME}")


def unsettled_merge(storage: Storage, folder: str) -> dict[str, int]:
    """What goes of a merge that broke off, ours or Hudi's, in the order in which it goes: bytes by path.

    With all its files there still, the new one may be cut and goes; with one of them gone, it is whole, and the others
    go. Of a damaged plan only itself goes. Empty where no merge broke off.
    """
    path = f"{folder}/{MERGE_PLAN_NAME}"
    itself = storage.stat(path)
    if itself is None:
        return {}
    going: dict[str, int] = {}
    plan = read_merge_plan(storage, folder)
    if plan is not None:
        merged = storage.stat(f"{folder}/{plan['mergedArchiveFileName']}")
        candidates = [storage.stat(f"{folder}/{name}") for name in plan["candidate"]]
        left = [each for each in candidates if each is not None]
        if merged is not None:
            going = {each.path: each.size for each in ([merged] if len(left) == len(candidates) else left)}
    return {**going, path: itself.size}


def _content(storage: Storage, path: str) -> bytes:
    """An archive file byte for byte, but for the part of a magic that a dying writer may leave at its end."""
    with storage.open_input(path) as file:
        end = max((block.end for block in parse_blocks(file)), default=0)
    return storage.read(path, 0, end)
