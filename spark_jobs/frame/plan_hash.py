"""The name of a plan: a dry run prints it, and a run that is given it does exactly that plan, or says what changed.

A hash has four parts, ``<digest>-<files>-<bytes>-<instant>``. The digest alone decides; the others, which are those of
the moment at which it was printed, let a refusal tell what is different now.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.frame.nothing import Nothing

PLAN_HASH_KEY = "_pyhudi.plan.hash"
"""In the extra metadata of a plan on the timeline that was scheduled by its hash, or of the commit that it ended in."""
PLAN_KEY = "_pyhudi.plan.key"
"""Beside it: the idempotency key of the run that made the plan."""
_DIGEST_LENGTH = 24
_HASH = re.compile(rf"([0-9a-f]{{{_DIGEST_LENGTH}}})-([0-9]+)-([0-9]+)-([0-9]+)")
_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """What is hashed: ``content`` (JSON's own types) holds all that decides what is done, and nothing of the moment;
    the counts are of the files that the plan reads or deletes, and their bytes.
    """

    service: str
    content: Mapping[str, Any]
    files: int
    bytes: int

    @property
    def digest(self) -> str:
        text = json.dumps([self.service, self.content], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]

    def hash_at(self, timeline: ActiveTimeline | None) -> str:
        """The hash of a plan that was made from this state of the table; None: there is none yet."""
        last = timeline.last_time if timeline is not None else ""
        return f"{self.digest}-{self.files}-{self.bytes}-{last or '0'}"

    def is_requested_by(self, asked: str) -> bool:
        """Whether a hash, printed at whatever moment, means this plan."""
        return digest_of(asked) == self.digest


def digest_of(asked: str) -> str:
    """The part of a hash that decides.

    :raises ConfigError: this is no hash of a plan.
    """
    return _parts(asked)[0]


def refuse_other_plan(asked: str, now: PlanFacts | Nothing, timeline: ActiveTimeline | None) -> None:
    """
    :param asked: the hash of the plan that is to be carried out.
    :param now: the plan as it would be made now, or why there is none.
    :raises WriteConflictError: it is another one; the message says what changed since.
    :raises ConfigError: ``asked`` is no hash of a plan.
    """
    digest, files, size, instant = _parts(asked)
    if isinstance(now, PlanFacts) and now.digest == digest:
        return
    instants = timeline.instants if timeline is not None else ()
    later = [one for one in instants if one.follows(instant)]
    changes = []
    if isinstance(now, Nothing):
        changes.append(f"there is no such plan now: {now.reason}")
    elif (now.files, now.bytes) != (files, size):
        changes.append(f"it had {files} file(s) of {size} bytes and would have {now.files} of {now.bytes} bytes")
    else:
        changes.append("it has as many files and bytes, but other files or settings")
    if later:
        examples = ", ".join(str(one) for one in later[:_EXAMPLES]) + (", ..." if len(later) > _EXAMPLES else "")
        changes.append(f"{len(later)} instant(s) came since: {examples}")
    else:
        changes.append("no instant came since, so its options or files differ")
    raise WriteConflictError(
        f"the plan is not {asked} any more: " + "; ".join(changes),
        todo="look at a new --dry-run, and give its hash",
        plan_hash=asked,
    )


def _parts(asked: str) -> tuple[str, int, int, str]:
    found = _HASH.fullmatch(asked.strip())
    if found is None:
        raise ConfigError(
            f"{asked!r} is no hash of a plan", todo="give the plan_hash of a --dry-run as it stands there"
        )
    return found[1], int(found[2]), int(found[3]), found[4]
