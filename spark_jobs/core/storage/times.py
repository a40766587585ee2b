"""The clock of a storage beside that of this host: files are dated by the one, instants by the other."""

from __future__ import annotations

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import ClockSkewError
from spark_jobs.core.storage.protocol import FileStatus, Storage

NOTED_SKEW_MS = 5_000
"""Hosts that are set by a time server differ by less."""
REFUSED_MS = 30 * 60_000
"""Of a clock that is ahead: less than a time zone's hour."""


def now_ms(storage: Storage, folder: str, clock: Clock) -> float:
    """Milliseconds since the epoch by the storage's clock; by this host's where nothing can be written there.

    :param folder: one that is there.
    """
    found = storage.clock_ms(folder)
    return clock.now().timestamp() * 1000 if found is None else found


def age_ms(storage: Storage, status: FileStatus, clock: Clock) -> float:
    """How long ago a file was written, by the clock that dated it."""
    return now_ms(storage, status.path.rpartition("/")[0], clock) - status.modified_ms


def ahead_ms(storage: Storage, folder: str, clock: Clock) -> float:
    """By how much the clock of this host is ahead of the storage's; below zero where it is behind."""
    return clock.now().timestamp() * 1000 - now_ms(storage, folder, clock)


def skew_note(storage: Storage, folder: str, clock: Clock) -> str | None:
    """A line for the user where the clocks differ by more than some seconds."""
    ahead = ahead_ms(storage, folder, clock)
    if abs(ahead) <= NOTED_SKEW_MS:
        return None
    side = "ahead of" if ahead > 0 else "behind"
    return (
        f"the clock of this host is {abs(ahead) / 1000:.0f} s {side} that of the storage of {folder}; set both by one "
        "time server"
    )


def refuse_clock_ahead(storage: Storage, folder: str, clock: Clock) -> None:
    """
    :raises ClockSkewError: the instants of this host would lie so far ahead that all later ones had to follow them.
    """
    ahead = ahead_ms(storage, folder, clock)
    if ahead > REFUSED_MS:
        raise ClockSkewError(
            f"the clock of this host ({clock.now():%Y-%m-%d %H:%M:%S} UTC) is {ahead / 60_000:.0f} minutes ahead of "
            f"that of the storage of {folder}",
            todo="set it right, then run it again; nothing was written",
            path=folder,
        )
