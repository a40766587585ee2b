"""The files of unit tests that take two thirds of the time of all: whole tables that are written, damaged, restored and
read, and random cases by the hundred. They are a phase of their own, and ``make test`` runs both.
"""

from __future__ import annotations

LONG = frozenset(
    {
        "unit/core/files/test_avro_columns.py",
        "unit/core/files/test_hostile_files.py",
        "unit/core/merge/test_payloads.py",
        "unit/core/metadata_table/test_column_stats.py",
        "unit/core/metadata_table/test_stale.py",
        "unit/core/read/test_damaged_logs.py",
        "unit/core/read/test_damaged_tables.py",
        "unit/core/read/test_hudi_answers.py",
        "unit/core/read/test_partition_pruning.py",
        "unit/core/schema/test_hostile_avro.py",
        "unit/core/schema/test_internal.py",
        "unit/core/schema/test_round_trip.py",
        "unit/core/timeline/test_archived_writes.py",
        "unit/services/bootstrap/test_going_on.py",
        "unit/services/test_beside_archival.py",
        "unit/services/test_clustering_spill.py",
        "unit/services/test_history_of_hudi_tables.py",
        "unit/services/test_indexing.py",
        "unit/services/test_late_files.py",
        "unit/services/test_life_of_a_table.py",
        "unit/services/test_lost_completion.py",
        "unit/services/test_metadata_table.py",
        "unit/services/test_orphans.py",
        "unit/services/test_planned_runs.py",
        "unit/services/test_record_index.py",
        "unit/services/test_restore.py",
        "unit/services/test_rollback.py",
        "unit/services/test_savepoint.py",
        "unit/services/test_table_machine.py",
        "unit/services/validation/test_damaged_rows.py",
        "unit/services/validation/test_damaged_stats.py",
        "unit/services/validation/test_engine.py",
        "unit/services/validation/test_sound_tables.py",
        "unit/test_imports.py",
        "unit/write/test_arrow.py",
        "unit/write/test_global_indexes.py",
    }
)
"""Below ``tests``."""
