"""What the handles of one write share, from its options."""

from __future__ import annotations

from spark_jobs.core.files.log_format import log_format
from spark_jobs.core.files.write_format import base_file_format, data_storage
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.table import HudiTable
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.stored_schema import StoredSchema


def write_context(config: WriteConfig, table: HudiTable, stored: StoredSchema, instant: str) -> WriteContext:
    """
    :param instant: empty for a write that is only planned.
    """
    return WriteContext(
        storage=data_storage(table.storage, config.properties),
        base_path=table.base_path,
        format=table.config.format,
        instant=instant,
        file_format=base_file_format(
            config.properties, stored.arrow_schema, stored.avro_schema, indexed=config.populate_meta_fields
        ),
        payload=config.payload_with(stored.avro_schema),
        ordering_field=config.precombine_field or None,
        max_file_size=config.sizes.max_file_size,
        log_format=log_format(config.properties),
        virtual_keys=config.virtual_keys,
        evolution=stored.evolution_of_old_files,
        skeletons=table.bootstrap_reader(),
        completion=table.timeline.completion(Instant(instant, config.action, State.INFLIGHT)) if instant else None,
    )
