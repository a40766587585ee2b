"""Which cases of the slow tests `make test` runs; ``PYHUDI_NIGHTLY=1`` (`make nightly`) runs the others too.

Each line is a test and the cases that stay, by their ids in brackets; none, where the whole test is one for the night.
What stays has every operation on both table types and every service with Hudi, each of our readers and index kinds, and
every way to break a write; the night adds the other combinations. A test that is renamed is renamed here too.

What takes the fixture ``root`` runs on a local disk by day, and what is in ``ON_OBJECTS`` on a store of objects too:
the night has all of it there.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

NIGHTLY = bool(os.environ.get("PYHUDI_NIGHTLY"))
TESTS = Path(__file__).parent
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
INSTALLS: Mapping[str, Sequence[str]] = {
    "installs/test_installs.py::test_jobs_on_spark_need_pyspark_alone": (),
    "installs/test_installs.py::test_the_provider_brings_all_that_its_operators_use": (),
}
SPARK: Mapping[str, Sequence[str]] = {
    "provider/test_on_cluster.py::test_the_code_goes_to_executors_with_the_job": (),
    "provider/test_on_cluster.py::test_without_it_the_error_says_what_executors_lack": (),
    "provider/test_on_yarn.py::test_writes_and_services": (),
    "provider/test_on_yarn.py::test_a_failure_is_one_line": (),
    "demo/test_demo.py::test_a_second_run_writes_nothing_twice": (),
    "demo/test_on_s3.py::test_the_same_on_a_server_of_s3_that_it_starts": (),
    "spark/cluster/test_bare_executors.py::test_writes_and_services": (),
    "spark/cluster/test_killed_executor.py::test_a_write_outlives_an_executor": (),
    "spark/cluster/test_speculation.py::test_the_file_of_an_attempt_that_lost_is_taken_away": (),
    "spark/cluster/test_two_workers.py::test_a_write_outlives_a_worker": (),
    "spark/cluster/test_two_workers.py::test_two_workers_share_each_job": (),
    "demo/test_metastore.py::test_a_database_whose_making_was_broken_off_is_made_anew": (),
    "demo/test_metastore.py::test_a_killed_starter_leaves_a_server_that_is_found": (),
    "demo/test_metastore.py::test_a_server_that_can_not_start_names_its_log": (),
    "spark/engine/test_exchange.py::test_blocks_come_to_their_task_in_the_order_of_the_items": (),
    "spark/engine/test_older_spark.py::test_each_mark_has_a_task_of_its_own": (),
    "spark/engine/test_older_spark.py::test_texts_by_way_of_pandas_are_those_of_arrow": (),
    "spark/sources/test_hudi_source.py::test_changes_follow_commit_by_commit": (MOR,),
    "spark/sources/test_kafka.py::test_a_batch_is_limited_and_new_partitions_are_read_from_their_start": (),
    "spark/sources/test_kafka.py::test_a_table_without_a_checkpoint_begins_at_the_end_and_says_so": (),
    "spark/sources/test_kafka.py::test_columns_of_the_place_that_the_table_has_already": (),
    "spark/sources/test_kafka.py::test_of_two_runs_that_read_the_same_messages_one_commits": (),
    "spark/sources/test_kafka.py::test_a_table_may_begin_where_a_consumer_group_stands": (),
    "spark/sources/test_kafka.py::test_each_run_takes_what_came_since_the_last": (MOR,),
    "spark/sources/test_kafka_stream.py::test_sigterm_ends_a_job_after_the_batch_in_flight": (),
    "spark/sources/test_kafka_stream.py::test_messages_whose_writer_died_before_the_commit_are_written_once": (),
    "spark/write/test_bad_rows.py::test_an_empty_batch": (
        *(f"upsert-{COW}", f"delete-{MOR}", f"insert_overwrite-{COW}"),
    ),
    "spark/write/test_bad_rows.py::test_null_and_empty_keys": ("COW, read by tasks-upsert",),
    "spark/write/test_bad_rows.py::test_a_key_that_other_values_give_too": ("SparkJobs",),
    "spark/write/test_bad_rows.py::test_a_key_too_long_for_the_record_index": (),
    "spark/write/test_beside_clean.py::test_a_file_that_was_cleaned_before_it_was_read": (*(f"{MOR}-Jobs",),),
    "spark/write/test_error_table.py::test_a_transformer_neither_hides_nor_doubles_them": (),
    "spark/write/test_error_table.py::test_an_error_table_inside_the_table": (),
    "spark/write/test_error_table.py::test_what_spark_would_lose_unseen": (),
    "spark/write/test_exactly_once.py::test_an_archived_write_is_not_done_again": ("insert_overwrite",),
    "spark/write/test_formats.py::test_avro_with_the_package_of_the_jobs_defaults": (),
    "spark/write/test_indexes.py::test_global_indexes": (f"record, moves-{MOR}-False",),
    "spark/write/test_indexes.py::test_a_key_that_logs_deleted_in_one_of_its_groups_goes_where_it_lives": ("BLOOM",),
    "spark/write/test_indexes.py::test_indexes_of_partitions": (f"bloom, no ranges-{COW}", f"bucket-{COW}"),
    "spark/write/test_indexes.py::test_operations_keep_to_the_buckets": (MOR,),
    "spark/write/test_inserts.py::test_an_insert_leaves_out_what_the_table_has": (
        f"{COW}-hoodie.datasource.write.insert.drop.duplicates",
        f"{MOR}-hoodie.datasource.insert.dup.policy",
    ),
    "spark/write/test_model.py::test_a_table_is_a_dict": (f"BUCKET-{MOR}",),
    "spark/write/test_on_s3.py::test_a_table_through_its_life": (f"{MOR}-SparkJobs",),
    "spark/write/test_overwrites.py::test_a_partition_that_others_write_to_is_not_replaced": (
        *(f"{COW}-upsert", f"{COW}-insert", f"{MOR}-insert_overwrite"),
    ),
    "spark/write/test_source_reader.py::test_tasks_write_what_spark_would": (*(f"{MOR}-BUCKET",),),
    "spark/write/test_source_reader.py::test_tasks_send_the_rows_of_a_large_source_to_each_other": (f"{MOR}-1000",),
    "spark/write/test_two_writers.py::test_a_key_that_both_insert_is_stored_once": (f"{MOR}-GLOBAL_BLOOM-Jobs",),
    "demo/test_metastore.py::test_life_of_a_server": (),
    "spark/sources/test_kafka.py::test_messages_that_are_no_rows_go_to_the_error_table": (),
    "spark/sources/test_kafka_stream.py::test_what_came_before_a_bad_message_stands": (),
    "spark/sources/test_kafka_stream.py::test_a_continuous_run_ends_when_it_is_asked_to": (),
    "spark/write/test_indexes.py::test_explain_tells_of_a_number_of_buckets_that_the_table_does_not_have": (),
}
FAULTS: Mapping[str, Sequence[str]] = {
    "faults/test_server_locks.py::test_several_processes_exclude_each_other": ("zookeeper",),
    "faults/test_server_locks.py::test_threads_of_one_process_exclude_each_other": (),
    "faults/test_server_locks.py::test_who_was_killed_gives_way_when_its_time_is_over": ("zookeeper",),
    "faults/test_server_locks.py::test_a_lock_is_kept_while_its_holder_works": ("hive",),
    "faults/test_server_locks.py::test_workers_of_a_holder_change_the_table_while_it_holds_the_lock": ("dynamodb",),
    "faults/test_bootstrap_faults.py::test_after_any_broken_call_a_rerun_gives_the_same": (),
    "faults/test_indexing_faults.py::test_after_any_broken_call_a_rerun_gives_the_same": (),
    "faults/test_killed_steps.py::test_each_step_killed_at_any_moment": (),
    "faults/test_small_worlds.py::test_one_after_the_other": ("disk",),
    "faults/test_small_worlds.py::test_with_one_preemption": ("clean and maintain",),
    "faults/test_together.py::test_a_writer_and_all_services_together": (),
    "faults/test_bad_input.py::test_services_say_the_same": (
        *("corrupt properties-compact", "table of version 8-cluster", "table of version 5-clean"),
    ),
    "faults/test_history_faults.py::test_after_any_broken_call_a_rerun_gives_the_same": (
        *("archival", "restore of a MOR table"),
    ),
    "faults/test_power_loss.py::test_workers_of_spark_force_what_they_write": (),
    "faults/test_storage_faults.py::test_after_any_broken_call_a_rerun_gives_the_same": (
        *("upsert of a MOR table", "rollback of a MOR write"),
    ),
    "faults/test_bad_input.py::test_a_full_disk": ("local",),
    "faults/test_bad_input.py::test_a_missing_source": ("local",),
    "faults/test_bad_input.py::test_null_keys": ("local",),
    "faults/test_bad_input.py::test_a_source_without_a_key_column": ("local",),
    "faults/test_bad_input.py::test_an_unwritable_path": ("local",),
}
INTEROP: Mapping[str, Sequence[str]] = {
    "interop/test_s3a_in_turn.py::test_both_work_in_turn": (),
    "interop/test_locks_at_once.py::test_writers_of_both_kinds_at_once": (),
    "interop/test_locks_at_once.py::test_each_waits_for_the_other": (),
    "interop/test_all_keys.py::test_each_key_of_hudi_is_in_the_list": (),
    "interop/test_archive.py::test_hudi_loads_our_archive_and_goes_on": (),
    "interop/test_archive.py::test_merge_on_read_with_its_metadata_table": (),
    "interop/test_by_name.py::test_hudi_selects_both_tables_by_name": (),
    "interop/test_bootstrap.py::test_hudi_and_we_go_on_with_what_we_bootstrapped": ("mor-plain",),
    "interop/test_bootstrap.py::test_we_go_on_with_what_hudi_bootstrapped": (f"{COW}-FULL_RECORD",),
    "interop/test_create_table.py::test_hudi_writes_to_a_table_of_our_ddl": (),
    "interop/test_create_table.py::test_we_write_to_a_table_of_hudis_ddl": (),
    "interop/test_hfile.py::test_compressions_that_need_more_than_the_bundle": (),
    "interop/test_hfile.py::test_hudi_1_0_reads_ours": (),
    "interop/test_history.py::test_both_go_on_after_each_others_savepoints_restores_and_rollbacks": (MOR,),
    "interop/test_history.py::test_we_archive_what_hudi_archives": (),
    "interop/test_history.py::test_we_clean_what_hudi_cleans": (),
    "interop/test_in_turn.py::test_hudi_reads_what_we_write": (COW,),
    "interop/test_in_turn.py::test_incremental_rows_are_the_same": (),
    "interop/test_in_turn.py::test_rounds_in_turn": (),
    "interop/test_in_turn.py::test_we_read_what_hudi_writes": (),
    "interop/test_indexes.py::test_by_partition_in_turn": (f"bloom-{COW}",),
    "interop/test_indexes.py::test_globally_in_turn": (),
    "interop/test_key_generators.py::test_a_table_of_ours_says_what_hudis_says": ("complex", "custom"),
    "interop/test_key_generators.py::test_tables_in_turn": (),
    "interop/test_key_generators.py::test_virtual_keys_in_turn": (),
    "interop/test_key_generators.py::test_hudis_answers_are_still_these": (),
    "interop/test_killed.py::test_hudi_goes_on_after_our_killed_write": (),
    "interop/test_killed.py::test_we_go_on_after_hudis_killed_write": (COW,),
    "interop/test_log_blocks.py::test_logs_of_each_format_in_turn": (),
    "interop/test_metadata_table.py::test_hudi_goes_on_where_we_died": (),
    "interop/test_metadata_table.py::test_hudi_goes_on_with_ours": (MOR,),
    "interop/test_metadata_table.py::test_hudi_uses_our_column_statistics": (),
    "interop/test_operations.py::test_hudi_goes_on_where_we_replaced": (),
    "interop/test_operations.py::test_we_go_on_where_hudi_replaced": (),
    "interop/test_operations_in_turn.py::test_every_operation_in_turn": (),
    "interop/test_operations.py::test_a_replace_commit_says_what_hudis_says": (),
    "interop/test_payloads.py::test_orderings_that_logs_compare_in_their_own_way": (),
    "interop/test_payloads.py::test_logs_over_logs_and_base_files": (*("PartialUpdateAvroPayload",),),
    "interop/test_record_index.py::test_hudi_makes_the_same": (MOR,),
    "interop/test_record_index.py::test_in_turn": (),
    "interop/test_record_index.py::test_indexing_by_either": (),
    "interop/test_rewrites.py::test_each_executes_the_others_plan": ("compaction",),
    "interop/test_rewrites.py::test_each_plans_beside_the_others_pending_plan_and_executes_both": (),
    "interop/test_rewrites.py::test_hudi_goes_on_with_what_we_left_half_done": (),
    "interop/test_schema.py::test_all_types_in_turn": (MOR,),
    "interop/test_schema.py::test_all_types_that_we_wrote": (),
    "interop/test_schema.py::test_schemas_that_change_on_read_in_turn": (),
    "interop/test_schema.py::test_schemas_that_change_on_write_in_turn": (),
    "interop/test_arrow_writes.py::test_arrow_and_hudi_write_in_turn": (),
    "interop/test_fixture_services.py::test_we_read_what_the_service_of_hudi_left": (
        "metadata_tables/indexed_mor-compaction",
    ),
}
EVERY: Mapping[int, Collection[str]] = {
    2: frozenset(
        {
            "faults/test_bad_input.py::test_what_is_wrong_with_options_or_table_is_said_before_spark_starts",
            "faults/test_rewrite_faults.py::test_after_a_death_at_any_change_a_rerun_gives_the_same",
            "interop/test_fixture_services.py::test_hudi_reads_what_our_service_left",
            "interop/test_payloads.py::test_incoming_records_over_base_files",
            "spark/engine/test_spark_engine.py::test_when_a_job_has_failed_none_of_its_tasks_writes_any_more",
            "spark/write/test_bad_rows.py::test_a_column_that_is_gone",
            "spark/write/test_bad_rows.py::test_a_partition_to_replace_that_leads_elsewhere",
            "spark/write/test_bad_rows.py::test_a_precombine_field_without_a_value",
            "spark/write/test_bad_rows.py::test_decimals_that_the_table_has_no_room_for",
            "spark/write/test_bootstrapped.py::test_writes_find_the_rows_of_the_source",
            "spark/write/test_exactly_once.py::test_a_write_whose_own_attempt_died_is_rolled_back_and_done",
            "spark/write/test_formats.py::test_files",
            "spark/write/test_held_rows.py::test_a_source_that_answers_otherwise_each_time_is_read_once",
            "spark/write/test_held_rows.py::test_nothing_stays",
            "spark/write/test_held_rows.py::test_values_of_all_types_come_through",
            "spark/write/test_inserts.py::test_an_insert_is_refused_where_the_table_has_a_key",
            "spark/write/test_inserts.py::test_what_drops_duplicates_drops_those_of_the_batch_too",
            "spark/write/test_key_generators.py::test_spark_and_arrow_agree",
            "spark/write/test_key_generators.py::test_spark_and_arrow_refuse_the_same_values",
            "spark/write/test_key_generators.py::test_virtual_keys",
            "spark/write/test_local_engine.py::test_both_engines_leave_the_same_table",
            "spark/write/test_operations.py::test_an_update_of_what_a_pending_clustering_has_is_refused",
            "spark/write/test_operations.py::test_composite_keys_null_partitions_and_an_added_column",
            "spark/write/test_overwrites.py::test_a_failed_overwrite_changes_nothing",
            "spark/write/test_overwrites.py::test_delete_partition",
            "spark/write/test_overwrites.py::test_replaced_files_go_when_no_retained_instant_needs_them",
            "spark/write/test_schema.py::test_a_table_that_was_altered",
            "spark/write/test_schema.py::test_narrower_wider_and_new_columns",
            "spark/write/test_source_reader.py::test_tasks_write_new_file_groups_as_spark_does",
            "unit/core/files/hfile/test_round_trip.py::test_each_compression",
            "unit/core/files/test_log_formats.py::test_blocks_stay_within_the_limit",
            "unit/core/metadata_table/test_column_stats.py::test_files_without_a_match_are_not_read",
            "unit/core/metadata_table/test_stale.py::test_a_lost_compaction_upon_which_a_later_one_built",
            "unit/core/metadata_table/test_stale.py::test_a_reader_that_slept_sees_what_is_there_now",
            "unit/core/metadata_table/test_stale.py::test_readers_list_the_storage",
            "unit/core/metadata_table/test_stale.py::test_the_next_write_makes_it_anew",
            "unit/core/read/test_damaged_logs.py::test_a_base_file_is_there_with_its_length",
            "unit/core/read/test_damaged_logs.py::test_a_file_group_does_not_vanish",
            "unit/core/read/test_damaged_logs.py::test_a_lost_replacement_upon_which_later_writes_were_built",
            "unit/core/read/test_damaged_logs.py::test_an_upsert_that_needs_no_log_goes_beside_it",
            "unit/options/test_round_trip.py::test_arguments_read_back_to_an_equal_value",
            "unit/services/bootstrap/test_going_on.py::test_upserts_deletes_rewrites_and_cleans",
            "unit/services/bootstrap/test_job.py::test_the_table_has_the_rows_of_its_source",
            "unit/services/repair/test_job.py::test_a_damaged_log_is_given_up_and_the_others_count",
            "unit/services/test_archive_merge.py::test_other_files_are_refused_before_anything_is_changed",
            "unit/services/test_clustering_spill.py::test_runs_are_merged_to_the_order_of_one_sort",
            "unit/services/test_history_of_hudi_tables.py::test_services_keep_rows_and_a_restore_brings_them_back",
            "unit/services/test_indexing.py::test_one_that_died_is_made_again",
            "unit/services/test_indexing.py::test_what_completes_while_it_is_made_is_in_it",
            "unit/services/test_late_files.py::test_files_of_a_write_whose_completed_file_is_empty_stay",
            "unit/services/test_life_of_a_table.py::test_a_table_goes_back_to_a_savepoint",
            "unit/services/test_life_of_a_table.py::test_a_write_is_taken_back",
            "unit/services/test_lost_completion.py::test_a_rollback_deletes_nothing_of_it",
            "unit/services/test_metadata_table.py::test_indexes_follow_too",
            "unit/services/test_metadata_table.py::test_it_follows_every_action",
            "unit/services/test_metadata_table.py::test_it_is_compacted_when_enough_piled_up_and_cleaned_later",
            "unit/services/test_metadata_table.py::test_its_timeline_is_archived_behind_that_of_the_table",
            "unit/services/test_metadata_table.py::test_one_that_broke_off_is_not_carried_out_over_a_damaged_log",
            "unit/services/test_orphans.py::test_archival_deletes_the_files_of_what_it_passes",
            "unit/services/test_orphans.py::test_archival_takes_off_a_metadata_table_that_lists_files_of_what_it_passes",
            "unit/services/test_orphans.py::test_what_failed_before_a_restore_is_known_after_it",
            "unit/services/test_orphans.py::test_what_hudi_s_archival_passed_is_not_read_and_is_found",
            "unit/services/test_planned_runs.py::test_a_record_without_its_files_is_void",
            "unit/services/test_record_index.py::test_it_follows_every_action",
            "unit/services/test_restore.py::test_one_that_broke_off_keeps_writers_out_and_is_finished_by_the_next",
            "unit/services/test_rollback.py::test_a_rollback_that_dies_at_any_call_is_finished_by_the_next_writer",
            "unit/services/test_rollback_job.py::test_what_a_dead_writer_left",
            "unit/services/test_savepoint.py::test_what_was_archived_behind_a_savepoint_counts_when_no_unsaved_write_is_older",
            "unit/services/test_savepoint.py::test_what_was_pending_when_it_was_made_is_kept_too",
            "unit/services/test_table_machine.py::test_kept_steps",
            "unit/services/validation/test_damaged_rows.py::test_a_compaction_that_changed_a_row",
            "unit/services/validation/test_damaged_rows.py::test_a_meta_column_that_lies",
            "unit/services/validation/test_damaged_stats.py::test_a_log_with_other_counts_than_its_stat",
            "unit/services/validation/test_engine.py::test_the_same_findings",
            "unit/write/direct/test_bloom_search.py::test_where_they_come_from",
            "unit/write/test_attempts.py::test_one_attempt_of_a_handle_is_left",
            "unit/write/test_global_indexes.py::test_a_payload_that_has_a_say_in_what_moves",
            "unit/write/test_global_indexes.py::test_a_record_takes_with_it_what_the_payload_keeps_of_the_stored_one",
        }
    ),
    4: frozenset(
        {
            "spark/sources/test_kafka.py::test_a_message_that_is_no_row_fails_the_run",
            "spark/write/test_bad_rows.py::test_partition_values_that_lead_elsewhere",
            "spark/write/test_held_rows.py::test_a_dry_run_plans_what_the_write_does",
            "unit/core/files/test_hostile_files.py::test_damage_is_an_error_of_ours",
            "unit/core/files/test_hostile_files.py::test_json_without_end_is_an_error_of_ours",
            "unit/core/metadata_table/test_column_stats.py::test_no_row_is_lost_by_leaving_files_out",
            "unit/core/metadata_table/test_damage.py::test_damaged_files_give_errors",
            "unit/core/metadata_table/test_stale.py::test_a_lost_compaction_of_it_changes_nothing",
            "unit/core/metadata_table/test_stale.py::test_an_upsert_of_other_rows_keeps_all",
            "unit/core/metadata_table/test_stale.py::test_validate_reports_it",
            "unit/core/read/test_damaged_logs.py::test_no_reader_takes_the_rest_for_the_whole",
            "unit/core/read/test_damaged_tables.py::test_any_damage_is_an_error_of_ours",
            "unit/core/read/test_hudi_answers.py::test_we_answer_what_hudi_answered",
            "unit/services/test_beside_archival.py::test_a_reader_or_job_goes_on_where_what_it_looks_at_is_archived",
            "unit/services/test_life_of_a_table.py::test_a_service_leaves_the_rows",
            "unit/services/validation/test_sound_tables.py::test_a_table_of_hudi_is_sound",
            "unit/write/test_arrow.py::test_every_operation_is_that_of_a_dict",
            "unit/write/test_global_indexes.py::test_a_key_is_one_record_wherever_it_comes_from",
        }
    ),
}
"""Tests of many like cases, of which the day has every second or every fourth, from the first on."""
_EVERY = {test: number for number, tests in EVERY.items() for test in tests}
ON_OBJECTS: Mapping[str, Sequence[str]] = {
    "faults/test_storage_faults.py::test_after_any_broken_call_a_rerun_gives_the_same": ("upsert of a COW table",),
    "unit/core/locks/test_fenced_storage.py": (),
    "unit/core/locks/test_file_lock.py": (),
    "unit/core/locks/test_storage_lock.py": (),
    "unit/core/metadata_table/test_stale.py": (),
    "unit/core/transaction/test_heartbeat.py": (),
    "unit/core/transaction/test_transaction.py": (),
    "unit/core/view/test_listing.py": (),
    "unit/services/test_late_files.py": (),
    "unit/services/test_life_of_a_table.py": (),
}
"""Files and tests that run on a store of objects by day, with the cases that do, or all: they are about what a storage
keeps, loses or tells.
"""
OBJECT_STORE, HDFS = "object_store", "hdfs"
SERVERS = ("s3", "azure", "gcs", HDFS)
"""Parameters of the fixture ``root``; those of servers are phases, too."""
_ON_OBJECTS: Mapping[str, Sequence[str]] = {
    "unit/core/files/test_markers.py": (),
    "unit/core/locks/test_storage_lock.py": (),
    "unit/core/storage/test_contract.py": (),
    "unit/core/timeline/test_active.py": (),
    "unit/core/transaction/test_heartbeat.py": (),
    "unit/core/transaction/test_transaction.py": (),
}
_ON_HDFS: Mapping[str, Sequence[str]] = {
    **_ON_OBJECTS,
    "unit/core/locks/test_fenced_storage.py": (),
    "unit/core/locks/test_file_lock.py": (),
    "unit/services/test_late_files.py": (),
}
_LIFE: Mapping[str, Sequence[str]] = {"unit/services/test_life_of_a_table.py": ()}
_KILLED: Mapping[str, Sequence[str]] = {"faults/test_killed_steps.py": ()}
ON_SERVER = {
    "s3": _ON_OBJECTS,
    "azure": {**_ON_OBJECTS, **_LIFE, **_KILLED},
    "gcs": {**_ON_OBJECTS, **_LIFE, **_KILLED},
    HDFS: {**_ON_HDFS, **_LIFE, **_KILLED},
}
"""Files that run on a server of S3 by day, beside the life of a table over a bad network; at night all do. The phases
of other servers are for the night, and run these.
"""
BAD_NETWORKS: Mapping[str, Sequence[str]] = {
    "servers/test_lost_answers.py::test_writes_over_a_bad_line_are_what_they_say": ("7-lose",),
    "servers/test_lost_answers.py::test_a_long_file_is_put_whole": ("reset-2", "lose-6"),
    "servers/test_bad_network.py::test_requests_that_fail_now_and_then": (f"lose-0.1-{MOR}",),
    "servers/test_renewed_tokens.py::test_a_table_outlives_them": ("roles",),
    "servers/test_bad_network.py::test_credentials_that_end_in_the_middle": (f"upsert-{MOR}",),
}
BY_DAY = {**INSTALLS, **SPARK, **FAULTS, **INTEROP, **BAD_NETWORKS}


def examples(at_night: int) -> int:
    """How many examples Hypothesis takes of a test that needs many: by day a third of them."""
    return at_night if NIGHTLY else at_night // 3


def for_the_night(items: Iterable[pytest.Item], *, whole: bool) -> list[pytest.Item]:
    """Those of the collected tests that the day leaves out.

    :param whole: files were collected, not single tests: then what the table names has to be there.
    :raises pytest.UsageError: it names a test or a case of a collected file that does not exist.
    """
    left_out: list[pytest.Item] = []
    files: set[str] = set()
    counts: Counter[tuple[str, str]] = Counter()
    missing: set[tuple[str, str]] = {(test, case) for test, cases in BY_DAY.items() for case in (cases or ("",))}
    for item in items:
        if TESTS not in item.path.parents:
            continue
        file = item.path.relative_to(TESTS).as_posix()
        files.add(file)
        name = item.name.partition("[")[0]
        test, place, case = f"{file}::{name}", *_place_and_case(item)
        counts[test, place] += 1
        if (counts[test, place] - 1) % _EVERY.get(test, 1):
            left_out.append(item)
            continue
        if place == OBJECT_STORE:
            by_day = ON_OBJECTS.get(file, ON_OBJECTS.get(test))
            if by_day is None or (by_day and case not in by_day):
                left_out.append(item)
            continue
        kept = BY_DAY.get(test)
        if kept is None:
            continue
        missing -= {(test, case if kept else "")}
        if case not in kept:
            left_out.append(item)
    missing |= {(test, "") for test in _EVERY.keys() - {test for test, _ in counts}}
    gone = sorted(f"{test}[{case}]" for test, case in missing if test.partition("::")[0] in files)
    if whole and gone:
        raise pytest.UsageError(f"tests/nightly.py names what is not there: {', '.join(gone)}")
    return left_out


def _place_and_case(item: pytest.Item) -> tuple[str, str]:
    """What the fixture ``root`` gives it, and its other parameters as its name has them."""
    call = getattr(item, "callspec", None)
    if call is None:
        return "", ""
    place = str(call.params.get("root", ""))
    return place, call.id if not place else f"-{call.id}-".replace(f"-{place}-", "-", 1).strip("-")
