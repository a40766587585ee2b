"""A sync of facts, as the service does it of a table."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.facts import TableFacts
from spark_jobs.hive.metastore import Metastore
from spark_jobs.hive.plan import SyncPlan
from spark_jobs.hive.sync import SyncCounts, apply, count, plan_now


def sync(
    facts: TableFacts, config: SyncConfig, metastore: Metastore, *, after_event: Callable[[], None] = lambda: None
) -> SyncPlan | Nothing:
    """What was done, or why nothing was."""
    plan = plan_now(facts, config, metastore)
    return plan if isinstance(plan, Nothing) else apply(plan, config, metastore, after_event=after_event)


def synced(facts: TableFacts, config: SyncConfig, metastore: Metastore) -> SyncCounts:
    """The counts of a sync that had something to do."""
    done = sync(facts, config, metastore)
    assert not isinstance(done, Nothing), done.reason
    return count(done)


def to_do(facts: TableFacts, config: SyncConfig, metastore: Metastore) -> SyncPlan:
    """What a sync would do."""
    plan = plan_now(facts, config, metastore)
    assert not isinstance(plan, Nothing), plan.reason
    return plan
