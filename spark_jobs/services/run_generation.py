"""Generations of a run's name: one ends when its task has succeeded. A retry adds nothing, a later run writes anew.

A scheduler gives a task one name for all that it does in a run: first tries, retries, and what follows when somebody
clears it. A retry has to find what an earlier try wrote; a clear of a task that had succeeded asks for the work again.
Which of both a run is, the name alone can't say. So each name has a small record at the table, where clearing a task
deletes nothing: how many generations of it have ended, and which one came back to its task without a word since. The
first generation has the name itself as idempotency key, as releases without generations had.

The records stand in ``.aux``, which Hudi leaves alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from spark_jobs.core.format.folders import AUX_FOLDER
from spark_jobs.core.storage import Storage
from spark_jobs.options.errors import OptionsError

FOLDER = f"{AUX_FOLDER}/pyhudi.runs"
ATTEMPT_KEY = "_pyhudi.idempotency.attempt"
"""In a commit beside its idempotency key: the try that wrote it."""
_KEPT_MS = 90 * 24 * 3600 * 1000
KNOWN_DAYS = 60
"""A write older than this may have lost its record: less than :func:`sweep` keeps them."""
_MOST_SWEPT = 100
_RECORD = re.compile(r"[0-9a-f]{32}\.json")
_ATTEMPT = re.compile(r"(\d{1,9})/(\d{1,9})/(\d{1,9})(?:/after=(\d{1,9}))?(/unrecorded)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A try of a task: its number, the highest one that it may have, and the retries that the task is declared with.

    ``recorded`` says whether its task can keep a record at the table, ``ended`` how many generations had ended by the
    record when the task began (None: not said).
    """

    number: int
    highest: int
    retries: int
    recorded: bool = True
    ended: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """``number/highest/retries``; behind it ``/after=ended``, or ``/unrecorded`` where its task can keep no record.

        :raises OptionsError: the text is none.
        """
        found = _ATTEMPT.fullmatch(text)
        if found is None:
            raise OptionsError(f"--attempt={text[:80]} is not valid: give TRY/HIGHEST_TRY/RETRIES")
        number, highest, retries = map(int, found.group(1, 2, 3))
        ended = int(found[4]) if found[4] else None
        return cls(number=number, highest=highest, retries=retries, recorded=not found[5], ended=ended)

    def __str__(self) -> str:
        ended = "" if self.ended is None else f"/after={self.ended}"
        return f"{self.number}/{self.highest}/{self.retries}{ended}" + ("" if self.recorded else "/unrecorded")

    def goes_on_from(self, earlier: Attempt) -> bool:
        """Whether the scheduler itself came from that try to this one, after a failure. Clearing a task raises the
        highest try to the last one and the retries; editing the retries moves both.
        """
        same_round = (self.highest, self.retries) == (earlier.highest, earlier.retries)
        return same_round and self.number >= earlier.number

    @property
    def was_never_cleared(self) -> bool:
        return self.highest == self.retries


class Verdict(Enum):
    """What a write that stands under a name is to a run of the name."""

    SAME = "this run's own, of an earlier try"
    UNKNOWN = "its task may have succeeded"


def judge(now: Attempt, then: Attempt | None, *, returned: bool, is_recent: bool) -> Verdict:
    """What a completed write is to a run, where no record says that its generation ended.

    :param then: the try that wrote it; None of a release without generations.
    :param returned: it came back to its task, and nothing says what became of that.
    :param is_recent: a record of it would still be there.
    """
    if then is None:
        return Verdict.SAME if now.number > 1 and now.was_never_cleared else Verdict.UNKNOWN
    if now.goes_on_from(then):
        return Verdict.SAME
    if returned or not then.recorded or not is_recent:
        return Verdict.UNKNOWN
    return Verdict.SAME  # the try ended before it had the answer, so its task failed


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """``ended`` generations of a name have succeeded; ``returned`` is one that came back to its task since. Of one that
    is not whole neither is known.
    """

    ended: int = 0
    returned: int | None = None
    is_whole: bool = True

    @classmethod
    def read(cls, storage: Storage, base_path: str, name: str) -> Self:
        """That of a name; the first generation's where there is none.

        :raises StorageError: it can't be read.
        """
        path = _path(base_path, name)
        if storage.stat(path) is None:
            return cls()
        try:
            raw = json.loads(storage.read(path))
            returned = raw.get("returned")
            return cls(ended=max(0, int(raw["ended"])), returned=None if returned is None else int(returned))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return cls(is_whole=False)

    def write(self, storage: Storage, base_path: str, name: str) -> None:
        """
        :raises StorageError: it can't be written.
        """
        said = {"name": name, "ended": self.ended, "returned": self.returned}
        storage.replace(_path(base_path, name), json.dumps(said).encode())

    def may_have_returned(self, generation: int) -> bool:
        """Whether a generation came back to its task, and nothing is known of what became of that."""
        return self.returned == generation or not self.is_whole

    def coming_back(self, generation: int) -> RunRecord:
        """Before a task hands on the result of a generation: those before it are over, and what is known of later ones
        stays.
        """
        return self if generation < self.ended else RunRecord(ended=generation, returned=generation)

    def failed(self, generation: int) -> RunRecord:
        """After the task failed all the same."""
        return replace(self, returned=None) if self.returned == generation else self

    def succeeded(self, generation: int) -> RunRecord:
        """After the task succeeded."""
        return self if generation < self.ended else RunRecord(ended=generation + 1)


def generation_key(name: str, generation: int) -> str:
    """The idempotency key of a generation of a name."""
    return name if generation == 0 else f"{name}#{generation}"


def can_be_kept(storage: Storage, base_path: str) -> bool:
    """Whether a record could be written at the table; none is written by that.

    :raises StorageError: the folder of the records can't be made.
    """
    folder = f"{base_path}/{FOLDER}"
    storage.make_directory(folder)
    return storage.clock_ms(folder) is not None


def sweep(storage: Storage, base_path: str, name: str) -> None:
    """Delete records that were not touched for long, by the storage's own clock: that of the record just written.

    :raises StorageError: they can't be listed or deleted.
    """
    own = storage.stat(_path(base_path, name))
    if own is None:
        return
    listed = [one for one in storage.list(f"{base_path}/{FOLDER}") if _RECORD.fullmatch(one.name)]
    old = [one for one in listed if own.modified_ms - one.modified_ms > _KEPT_MS]
    for one in old[:_MOST_SWEPT]:
        storage.delete(one.path)


def _path(base_path: str, name: str) -> str:
    return f"{base_path}/{FOLDER}/{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"
