"""The bugs that simulated worlds are to find. ``make simulated-bugs`` looks for a seed that finds each."""

from __future__ import annotations

from tests.simulation.planted import Bug

_TRANSACTION = "core/transaction/transaction.py"
_HEARTBEAT = "core/transaction/heartbeat.py"
_COMMIT_FIRST = Bug(
    what="a commit is completed before the metadata table has it",
    changes={
        _TRANSACTION: {
            "            locked.update_metadata_table(timeline, self.instant, payload)\n": "",
            "            done = self._complete(timeline, timeline.payloads.encode(payload))\n": (
                "            done = self._complete(timeline, timeline.payloads.encode(payload))\n"
                "            locked.update_metadata_table(timeline, self.instant, payload)\n"
            ),
        }
    },
    hidden_by="the metadata table counts for an instant only if it has it",
)
_FENCED = "each change is made only while the file names its writer"
_NO_RIGHTS = Bug.of_unit_tests(
    "a write is published whose instant was rolled back", "its inflight file is gone, and its heartbeat is silent"
)
_NO_OWN_DOUBT = Bug(
    what="a writer does not doubt its own heartbeat",
    changes={
        _HEARTBEAT: {"        return self._lost or not self._is_good()\n": "        return False\n"},
    },
    hidden_by="its inflight file is gone, and the lock",
)
_NO_STATE = Bug(
    what="an instant is completed whose inflight file is gone",
    changes={
        "core/timeline/steps.py": {
            "    if timeline.storage.stat(timeline.path(instant)) is None:\n": "    if False:\n",
        }
    },
    hidden_by="its rights are checked under the lock",
)
_TRUSTED = Bug.of_unit_tests("a metadata table that misses a commit is trusted", "it never misses one")
BUGS = (
    Bug(
        what="there is no lock",
        changes={
            _TRANSACTION: {
                "        with self.lock.new(self.storage, self.clock) as lock:\n"
                "            yield replace(self, storage=lock.storage)\n": "        yield self\n"
            }
        },
    ),
    Bug.of_unit_tests("the timeline is read before the lock is held"),
    Bug(
        what="the timeline is read before the lock of a publish is held",
        changes={
            _TRANSACTION: {
                "        with self.settings.new_lock() as locked:\n"
                "            storage, timeline = locked.storage, locked.load_timeline()\n": (
                    "        timeline = self.settings.load_timeline()\n"
                    "        with self.settings.new_lock() as locked:\n"
                    "            storage = locked.storage\n"
                )
            }
        },
    ),
    Bug(
        what="a writer that lost its lock goes on",
        changes={
            "core/locks/fenced_storage.py": {
                "        return self.lease.held(self.unfenced)\n": (
                    '        return __import__("contextlib").nullcontext()\n'
                )
            }
        },
    ),
    Bug(
        what="a lock of a store of objects is taken over whoever holds it by now",
        changes={
            "core/locks/storage_lock.py": {
                "            self._storage.replace_if(self._settings.path, content, etag)\n": (
                    "            self._storage.replace(self._settings.path, content)\n"
                )
            }
        },
    ),
    Bug(
        what="a lock of a store of objects is good for ever without a look",
        changes={
            "core/locks/storage_lock.py": {
                '        why = "" if self._was_held_just_now() else self._why_not(storage)\n': '        why = ""\n'
            }
        },
    ),
    Bug.of_unit_tests("of several waiters for a stale lock all win", _FENCED),
    Bug(
        what="a lock is renewed that another took over",
        changes={
            "core/locks/file_lock.py": {
                "        storage.replace_if(path, self._content(self._token), status.etag)\n": (
                    "        self._storage.replace(path, self._content(self._token))\n"
                )
            }
        },
    ),
    Bug(
        what="a lock is removed whoever holds it",
        changes={
            "core/locks/file_lock.py": {
                "                if self._token:\n                    self._remove()\n": (
                    "                self._storage.delete(self._settings.path)\n"
                )
            }
        },
        hidden_by=_FENCED,
    ),
    _COMMIT_FIRST,
    _TRUSTED,
    _COMMIT_FIRST.and_also("a commit is completed first, and a metadata table that misses it is trusted", _TRUSTED),
    Bug(
        what="a marker is made after its file",
        changes={
            "core/handles/context.py": {
                "            create_marker(\n"
                "                self.storage, self.base_path, self.instant, partition, file_name, kind, "
                "durable=False\n"
                "            )  # until its file is forced\n": "            pass\n",
                "        if self._is_completed or self.storage.stat(marker) is None:\n": (
                    "        create_marker(\n"
                    "            self.storage, self.base_path, self.instant, partition, file_name, kind, "
                    "durable=False\n"
                    "        )\n"
                    "        if False:\n"
                ),
            }
        },
    ),
    Bug(
        what="a task does not ask whether its marker is gone",
        changes={
            "core/handles/context.py": {
                "        if self._is_completed or self.storage.stat(marker) is None:\n": ("        if False:\n"),
            }
        },
    ),
    Bug(
        what="a task on a store of objects does not ask when it closes its file",
        changes={
            "core/handles/context.py": {
                "        if self.storage.capabilities.put_when_closed:\n": "        if False:\n",
            }
        },
    ),
    Bug(
        what="attempts of a task have one write token",
        changes={
            "core/handles/context.py": {
                '        return cls(task, f"{task}-0-{int(clock.new_uuid()[:7], 16)}")\n': (
                    '        return cls(task, f"{task}-0-0")\n'
                )
            }
        },
        hidden_by="the second attempt finds the marker of the first, and ends",
    ),
    Bug(
        what="an instant is as late as its writer's clock says",
        changes={
            "core/format/instant_time.py": {"    if follows(candidate, after):\n": "    if True:\n"},
        },
    ),
    _NO_RIGHTS,
    _NO_OWN_DOUBT,
    _NO_STATE,
    _NO_RIGHTS.and_also("a write that was rolled back is published", _NO_OWN_DOUBT, _NO_STATE),
    Bug.of_unit_tests("a writer goes on under another worker's heartbeat"),
    Bug.of_unit_tests("two writers of one file group both win"),
    Bug.of_unit_tests("what was pending at the beginning and is completed now is no conflict"),
    Bug(
        what="a write of Hudi's is no conflict",
        changes={
            "core/transaction/refusal.py": {
                "            metadata = self.timeline.commit_metadata(other, self.clock)\n            appended": (
                    "            metadata = self.timeline.commit_metadata(other, self.clock)\n"
                    "            if metadata.operation_type is OperationType.UPSERT and not metadata.idempotency_key:\n"
                    "                return NONE\n"
                    "            appended"
                )
            }
        },
    ),
    Bug(
        what="a heartbeat of Hudi's, which says nothing, is no sign of life",
        changes={
            _HEARTBEAT: {
                "        return Pulse(alive=fresh, owner=None, idempotency_key=None)\n": (
                    "        return Pulse(alive=False, owner=None, idempotency_key=None)\n"
                )
            }
        },
    ),
    Bug.of_unit_tests("a compaction that was planned after the write began is no conflict"),
    Bug.of_unit_tests("records are placed beside a write that is rolled back meanwhile"),
    Bug(
        what="a log is published of a slice that was taken back",
        changes={
            _TRANSACTION: {"            refuse_logs_of_no_slice(timeline, self.time, written)\n": ""},
        },
    ),
    Bug(
        what="files of a broken attempt stay beside a published write",
        changes={
            _TRANSACTION: {
                "            reconcile_markers(storage, base_path, self.time, written)\n": "",
                "                delete_unnamed(storage, base_path, self.time, written)\n": "",
            },
        },
    ),
    Bug(
        what="a lost answer to a commit counts as none",
        changes={
            _TRANSACTION: {"            if done is None:\n                raise\n": "            raise\n"},
        },
        hidden_by="the task's retry finds its commit",
    ),
    Bug(
        what="a writer that was rolled back leaves its late files",
        changes={
            _TRANSACTION: {
                "            delete_orphans(settings.storage, settings.base_path, timeline, settings.clock, self.time, "
                "self._written)\n": "            pass\n"
            },
        },
        hidden_by="archival sweeps them",
    ),
    Bug.of_unit_tests("late files of a completed write are deleted with those that it names"),
    Bug.of_unit_tests("files of a write that was archived are late"),
    Bug.of_unit_tests("a writer that died lives for ever"),
    Bug.of_unit_tests("a live writer is rolled back"),
    Bug.of_unit_tests(
        "a rollback is finished whose target was completed", "none is completed that a rollback has begun with"
    ),
    Bug(
        what="a pending rollback of a plan is left to whoever executes it next",
        changes={
            "services/rewriting/context.py": {
                "            finish_rollbacks(locked)  # one left of this plan's last worker would undo the "
                "new one\n": ""
            }
        },
    ),
    Bug(
        what="a plan is executed twice at the same time",
        changes={
            "services/rewriting/context.py": {
                "            if not is_alive(locked, current):\n": "            if True:\n"
            }
        },
    ),
    Bug.of_unit_tests("file groups of pending plans are planned again"),
    Bug.of_unit_tests("a clustering is executed that was planned without an older write's log"),
    Bug.of_unit_tests("keys that others inserted while theirs were compared are inserted again"),
    Bug.of_unit_tests("records that a clustering moved are inserted by it"),
    Bug.of_unit_tests("a retry writes beside the try that is running"),
    Bug(
        what="of two tries of a task both begin",
        changes={
            "write/perform.py": {
                "                allowed=lambda line: key is None or is_free(settings, line, key),\n": ""
            }
        },
    ),
    Bug.of_unit_tests("a write that was rolled back after it was archived counts as done"),
    Bug(
        what="a write that was archived is not known to be done",
        changes={
            "write/once.py": {
                "    return _active_write(timeline, key, clock) or _archived_write(timeline, key)\n": (
                    "    return _active_write(timeline, key, clock)\n"
                ),
                "            done = _archived_write(timeline, key)\n": "            done = None\n",
            }
        },
    ),
    Bug.of_unit_tests("blocks that a rollback took back count"),
    Bug.of_unit_tests("cleaning takes what a pending write builds upon"),
    Bug.of_unit_tests("cleaning takes what a savepoint or a pending plan needs"),
    Bug.of_unit_tests("cleaning takes the slice that stood at the retained commit"),
    Bug(
        what="archival passes pending writes",
        changes={
            "core/timeline/archive_plan.py": {
                "    return [latest((one.timestamp for one in commits if one.precedes(first)), first)]\n": (
                    "    return []\n"
                )
            }
        },
    ),
    Bug(
        what="data files are not forced to the disk",
        changes={"core/handles/context.py": {"            self.storage.sync(paths, names)\n": "            pass\n"}},
    ),
    Bug(
        what="a step of the timeline is not forced to the disk",
        changes={
            "core/timeline/steps.py": {
                "        timeline.storage.create(timeline.path(instant), data, durable=durable)\n": (
                    "        timeline.storage.create(timeline.path(instant), data, durable=False)\n"
                )
            }
        },
    ),
    Bug.of_unit_tests("a query as of a moment sees what came later"),
    Bug.of_unit_tests("archival deletes a log that others wrote to"),
    Bug.of_unit_tests("archival passes what the metadata table has in logs alone"),
)
