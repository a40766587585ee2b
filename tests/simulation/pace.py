"""How fast time goes in the world of a seed, and how long its leases last beside that."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """All times in milliseconds. ``latencies_ms`` are what calls take; a clock that stands still has zeros alone.

    :param slow_ms: the most that one call of some hundreds takes.
    :param lease_ms: how long a lock on a disk lasts without a renewal; that on a store of objects has a least time.
    :param beat_ms: between two heartbeats.
    :param waking: how likely it is that a process, which is suspended for longer than ``wakes_after_ms``, wakes right
        after another one changed the timeline, the lock or a heartbeat.
    """

    latencies_ms: tuple[int, ...]
    slow_ms: float
    lease_ms: int
    beat_ms: int
    lock_wait_ms: int
    suspensions_ms: tuple[float, ...]
    waking: float
    wakes_after_ms: int

    @property
    def lapse_ms(self) -> int:
        """After which others take a silent writer for gone."""
        return 2 * self.beat_ms

    @property
    def conf(self) -> dict[str, str]:
        return {
            "hoodie.client.heartbeat.interval_in_ms": str(self.beat_ms),
            "hoodie.client.heartbeat.tolerable.misses": "2",
            "pyhudi.lock.lease_ms": str(self.lease_ms),
            "hoodie.write.lock.storage.validity.timeout.secs": "250",
            "hoodie.write.lock.storage.renew.interval.secs": "25",
            "hoodie.write.lock.wait_time_ms": str(self.lock_wait_ms),
        }


def pace_of(random: Random) -> Pace:
    """As by default, or with leases that are over before the others have done their work."""
    waking, is_patient = random.choice((0.0, 0.05, 0.2)), random.random() < 0.7
    latencies = random.choice(((0, 1, 1, 2, 3, 5, 8), (0, 1, 1, 2, 3, 5, 8), (0, 0, 0, 1), (0,)))
    if random.random() < 0.3:
        return Pace(
            latencies_ms=latencies,
            slow_ms=2_500,
            lease_ms=120_000,
            beat_ms=60_000,
            lock_wait_ms=30_000,
            suspensions_ms=(1_500, 12_000, 45_000, 200_000, 700_000),
            waking=waking,
            wakes_after_ms=120_000 * is_patient,
        )
    return Pace(
        latencies_ms=latencies,
        slow_ms=300,
        lease_ms=12_000,
        beat_ms=4_000,
        lock_wait_ms=random.choice((30_000, 300_000)),
        suspensions_ms=random.choice(((500, 9_000, 14_000), (14_000, 30_000, 280_000), (260_000, 280_000, 600_000))),
        waking=waking,
        wakes_after_ms=12_000 * is_patient,
    )


def waiting_pace(random: Random) -> Pace:
    """Who holds the lock is mostly silent for little longer than it lasts, while others wait."""
    return Pace(
        latencies_ms=random.choice(((0,), (0, 0, 0, 1), (0, 1, 1, 2, 3, 5, 8))),
        slow_ms=300,
        lease_ms=12_000,
        beat_ms=4_000,
        lock_wait_ms=300_000,
        suspensions_ms=(13_000, 14_000, 20_000),
        waking=random.choice((0.2, 0.5)),
        wakes_after_ms=12_000,
    )
