"""Bugs that the tests must find, one at a time: ``make mutants`` plants them in a copy of this repository.

Each is a text that stands once in a file, and another in its place. Who changes such a line changes this list too: see
``tests/unit/test_planted_bugs.py``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """``tests`` are the folders, below ``tests/unit``, that are likely to find it; the whole of it is run where they
    don't.
    """

    what: str
    file: str
    before: str
    after: str
    tests: str


PLANTED = (
    PlantedBug(
        "the timeline is read before the lock is held",
        "core/transaction/transaction.py",
        "    with settings.new_lock() as locked:\n        _require_properties(settings)\n"
        "        timeline = locked.load_timeline()\n",
        "    timeline = settings.load_timeline()\n    with settings.new_lock() as locked:\n"
        "        _require_properties(settings)\n",
        "core/transaction services",
    ),
    PlantedBug(
        "a write is published whose instant was rolled back",
        "core/transaction/transaction.py",
        "            self._check_rights(timeline)\n",
        "",
        "core/transaction services",
    ),
    PlantedBug(
        "two writers of one file group both win",
        "core/transaction/transaction.py",
        "                refuse_conflicts(others, self.instant, self._baseline, touched, rules, place_of, shared)\n",
        "                bool(others or rules)\n",
        "core/transaction services write",
    ),
    PlantedBug(
        "a late task deletes a log whose blocks a rollback took back",
        "core/handles/context.py",
        "        if self._is_completed:\n            self.storage.delete(self.path(partition, file_name))\n",
        "        if True:\n            self.storage.delete(self.path(partition, file_name))\n",
        "core/handles",
    ),
    PlantedBug(
        "a clustering that yields to writes looks at none that is under way",
        "core/transaction/conflict.py",
        "            return yields_to_writes and other.state is State.INFLIGHT\n",
        "            return False\n",
        "core/transaction write",
    ),
    PlantedBug(
        "an append that deletes is no conflict of non-blocking writers",
        "core/transaction/refusal.py",
        "        if stat.num_deletes or format",
        "        if format",
        "write",
    ),
    PlantedBug(
        "an early look passes over buckets that two writers begin",
        "write/upsert.py",
        "profile.touched_file_groups() | begun",
        "profile.touched_file_groups()",
        "write",
    ),
    PlantedBug(
        "what was pending at the beginning and is completed now is no conflict",
        "core/transaction/conflict.py",
        "            frozenset(one.timestamp for one in timeline.completed_commits()),\n",
        "            frozenset(\n"
        "                one.timestamp for one in (*timeline.completed_commits(), *timeline.pending_writes())\n"
        "            ),\n",
        "core/transaction services",
    ),
    PlantedBug(
        "what is older than the newest write at the beginning, and was completed since, is no conflict",
        "core/transaction/conflict.py",
        "            return other.action in COMMITS and other.timestamp not in baseline.completed\n",
        "            return other.action in COMMITS and (\n"
        '                other.follows(max(baseline.completed, default="")) or other.timestamp in baseline.pending\n'
        "            )\n",
        "core/transaction services",
    ),
    PlantedBug(
        "a compaction that was planned after the write began is no conflict",
        "core/transaction/conflict.py",
        "if other.precedes(own.timestamp) and is_compaction(other):",
        "if is_compaction(other):",
        "core/transaction services",
    ),
    PlantedBug(
        "records are placed beside a write that is rolled back meanwhile",
        "core/transaction/conflict.py",
        "    if rolled_back:\n",
        "    if False:\n",
        "core/transaction services write",
    ),
    PlantedBug(
        "of several waiters for a stale lock all win",
        "core/locks/file_lock.py",
        "self._storage.replace_if(path, content, status.etag)",
        "self._storage.replace(path, content)",
        "core/locks",
    ),
    PlantedBug(
        "a lock of a dead process stays",
        "core/locks/file_lock.py",
        "if owner.is_dead() or (",
        "if (",
        "core/locks core/transaction",
    ),
    PlantedBug(
        "the queue in ZooKeeper is ordered by the ids of its writers",
        "core/locks/zookeeper.py",
        "name[name.rfind(_NAME) + len(_NAME) :] if _NAME in name else name",
        "name",
        "core/locks",
    ),
    PlantedBug(
        "a lock that the Hive metastore lets wait counts as held",
        "core/locks/hive_metastore.py",
        "        if found.state == hive.LockState.ACQUIRED:\n",
        "        if found.state in (hive.LockState.ACQUIRED, hive.LockState.WAITING):\n",
        "core/locks",
    ),
    PlantedBug(
        "a lock in DynamoDB is taken over from who renews it",
        "core/locks/dynamodb.py",
        "if self._seen is None or self._seen.version != version:",
        "if self._seen is None:",
        "core/locks",
    ),
    PlantedBug(
        "changes go on when a server's lock was lost",
        "core/locks/server_lock.py",
        "        if not lasts_ms:\n",
        "        if lasts_ms is None:\n",
        "core/locks",
    ),
    PlantedBug(
        "changes go on when the lock was lost",
        "core/storage/local.py",
        "            _refuse_other_holder(lock, token)\n",
        "",
        "core/locks core/storage core/transaction",
    ),
    PlantedBug(
        "a writer that died lives for ever",
        "core/transaction/heartbeat.py",
        "    fresh = age_ms(storage, content.status, clock) <= settings.lapse_ms\n",
        "    fresh = True\n",
        "core/transaction services",
    ),
    PlantedBug(
        "a writer goes on under another worker's heartbeat",
        "core/transaction/heartbeat.py",
        "self._is_own(content) and self._is_fresh(content.status)",
        "self._is_fresh(content.status)",
        "core/transaction",
    ),
    PlantedBug(
        "late files of a completed write are deleted with those that it names",
        "core/transaction/late_files.py",
        "for path in (*marked, *made) if path not in kept}\n",
        "for path in (*marked, *made)}\n",
        "core/transaction services",
    ),
    PlantedBug(
        "files of a write that was archived are late",
        "core/transaction/late_files.py",
        "    if not found and timeline.has_archive:\n",
        "    if False:\n",
        "core/transaction services",
    ),
    PlantedBug(
        "what is older than the timeline was committed",
        "core/view/visibility.py",
        "        return None if self.history is None else self.history.fate(instant)\n",
        "        return True\n",
        "core/view services",
    ),
    PlantedBug(
        "a query as of a moment sees what came later",
        "core/view/visibility.py",
        "        return is_up_to(instant, self.until)\n",
        "        return True\n",
        "core/view core/read",
    ),
    PlantedBug(
        "a live writer is taken for a lost completed file",
        "core/read/lost_completion.py",
        "    return not read_pulse(storage, base_path, time, heartbeats, clock).alive\n",
        "    return True\n",
        "core/read services",
    ),
    PlantedBug(
        "blocks that a rollback took back count",
        "core/files/log_reader.py",
        'for number in of_instant.pop(block.target_instant or "", ()):',
        "for number in ():",
        "core/files core/read",
    ),
    PlantedBug(
        "a log that was cut is read as far as it goes",
        "core/files/log_reader.py",
        "        check_extents(extents, sizes, seen, counted.__contains__, folder)\n",
        "        pass\n",
        "core/files core/read services/validation",
    ),
    PlantedBug(
        "a delete with a lower ordering value wins",
        "core/merge/log_changes.py",
        "wins=deleted & (ranks == 0)",
        "wins=deleted",
        "core/merge core/read",
    ),
    PlantedBug(
        "of equal ordering values the older record wins",
        "core/merge/fold.py",
        "    order = np.lexsort((np.arange(len(codes)), rank, codes))\n",
        "    order = np.lexsort((-np.arange(len(codes)), rank, codes))\n",
        "core/merge core/read",
    ),
    PlantedBug(
        "keys with high characters are looked up by ranges that compare otherwise",
        "core/index/ranges.py",
        "            add(one.number, np.flatnonzero(special))\n",
        "",
        "core/index write",
    ),
    PlantedBug(
        "the greatest key of a file is looked up in none",
        "core/index/ranges.py",
        'ranks[count + len(known) :], side="right"',
        'ranks[count + len(known) :], side="left"',
        "core/index write",
    ),
    PlantedBug(
        "keys that others inserted while theirs were compared are inserted again",
        "write/inserted_keys.py",
        "        return complete(self.compare)\n",
        "        return complete(lambda timeline: None)\n",
        "write services",
    ),
    PlantedBug(
        "records that a clustering moved are inserted by it",
        "write/inserted_keys.py",
        "            if self._own and metadata.operation_type not in SERVICE_OPERATIONS:",
        "            if self._own:",
        "write services",
    ),
    PlantedBug(
        "another schema that came meanwhile is set back",
        "write/publish.py",
        "        _refuse_other_schema(table, timeline, known)\n",
        "",
        "write services",
    ),
    PlantedBug(
        "a retry writes beside the try that is running",
        "write/once.py",
        "        if pulse.alive and pulse.idempotency_key == key:\n",
        "        if False:\n",
        "write",
    ),
    PlantedBug(
        "a write that was rolled back after it was archived counts as done",
        "write/once.py",
        "        if metadata.idempotency_key == key and not rolled_back.has_archived(instant.timestamp):\n",
        "        if metadata.idempotency_key == key:\n",
        "write services",
    ),
    PlantedBug(
        "a composite key with one empty part is refused",
        "core/keygen/keys.py",
        "        nothing = pc.and_(nothing, one)\n",
        "        nothing = pc.or_(nothing, one)\n",
        "core/keygen",
    ),
    PlantedBug(
        "an empty part of a composite key is left empty",
        "core/keygen/keys.py",
        "pc.if_else(pc.and_(filler, pc.is_valid(text)), EMPTY_PLACEHOLDER, text)",
        "text",
        "core/keygen",
    ),
    PlantedBug(
        "a source without a column of the table takes its values away",
        "core/schema/reconcile.py",
        "    _refuse_missing(agreed, stored, allowed=rules.keep_missing if keeps else rules.drop_missing)\n",
        "",
        "core/schema write",
    ),
    PlantedBug(
        "a metadata table that misses a commit is trusted",
        "core/metadata_table/table.py",
        "        if missed:\n",
        "        if False:\n",
        "core/metadata_table services",
    ),
    PlantedBug(
        "cleaning takes what a pending write builds upon",
        "services/cleaning/plan.py",
        "    if not wanted.follows(earliest_pending):\n",
        "    if True:\n",
        "services",
    ),
    PlantedBug(
        "cleaning takes what a savepoint or a pending plan needs",
        "services/cleaning/plan.py",
        " if not protected.intersection(",
        " if not frozenset[str]().intersection(",
        "services",
    ),
    PlantedBug(
        "cleaning takes the slice that stood at the retained commit",
        "services/cleaning/plan.py",
        "[one for one in older[1:] if one is not group.slices[0]]",
        "[one for one in older if one is not group.slices[0]]",
        "services",
    ),
    PlantedBug(
        "archival passes a savepoint",
        "services/archival/plan.py",
        "        if saved and not self.beyond_savepoints:\n",
        "        if False:\n",
        "services",
    ),
    PlantedBug(
        "archival passes what the metadata table has in logs alone",
        "services/archival/bounds.py",
        "        _for_metadata_table(table),\n",
        "",
        "services",
    ),
    PlantedBug(
        "archival deletes a log that others wrote to",
        "services/archival/orphans.py",
        "            if all(map(passed.has, instants)):\n",
        "            if True:\n",
        "services",
    ),
    PlantedBug(
        "a restore removes the rollbacks that were there before its goal",
        "services/restore/execute.py",
        "        if one.follows(goal):\n",
        "        if True:\n",
        "services",
    ),
    PlantedBug(
        "a rollback is finished whose target was completed",
        "services/rollback/failed_writes.py",
        "        if withdraw_from_completed(settings, timeline, pending):\n",
        "        if False:\n",
        "services",
    ),
    PlantedBug(
        "a live writer is rolled back",
        "services/rollback/failed_writes.py",
        "        return not is_alive(settings, instant)\n",
        "        return True\n",
        "services core/transaction",
    ),
    PlantedBug(
        "a write whose completed file was lost is rolled back",
        "services/rollback/execute.py",
        "    if found and not is_marked and not _can_be_carried_out_again(settings, target):\n",
        "    if False:\n",
        "services",
    ),
    PlantedBug(
        "file groups of pending plans are planned again",
        "services/compaction/plan.py",
        "        if one.log_files and (one.partition, one.file_id) not in busy:\n",
        "        if one.log_files:\n",
        "services",
    ),
    PlantedBug(
        "a clustering is executed that was planned without an older write's log",
        "services/clustering/updates.py",
        "        if other is not None:\n",
        "        if False:\n",
        "services",
    ),
    PlantedBug(
        "a piece counts as done whose file was cut",
        "services/rewriting/completion.py",
        "        return status is not None and status.size == stat.file_size_in_bytes\n",
        "        return status is not None\n",
        "services",
    ),
    PlantedBug(
        "a key is used with the token of another source",
        "core/storage/objects/options.py",
        "            if any(name in own for name in self.credentials):\n",
        "            if False:\n",
        "core/storage",
    ),
    PlantedBug(
        "a SAS token that is given gives way to a key of the environment",
        "core/storage/objects/azure_store.py",
        "        config={**service, **_way(url, service)},",
        "        config={**service},",
        "core/storage",
    ),
)
