"""The first write to a path makes the table there."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.core.config.keys.table import POPULATE_META_FIELDS
from spark_jobs.core.create import asked_of_new_table
from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.keygen.spec import persisted_settings
from spark_jobs.core.table import HudiTable
from spark_jobs.write.config import WriteConfig, resolve


def create_table(config: WriteConfig) -> tuple[HudiTable, WriteConfig, bool]:
    """The new table, what the write does to it, and True; of two writers that make it, the second gets the other's, by
    which its options are resolved anew, and False.
    """
    spec = config.key_spec
    try:
        made = HudiTable.create(
            config.options.base_path,
            name=config.name,
            table_type=config.table_type.value,
            record_key_fields=spec.record_key_fields,
            partition_fields=spec.partition_fields,
            precombine_field=config.precombine_field,
            payload_class=config.payload_class if config.is_merge_on_read else "",
            hive_style=spec.hive_style,
            url_encode=spec.url_encode,
            key_generator_class=spec.class_name,
            properties={
                POPULATE_META_FIELDS.name: str(config.populate_meta_fields).lower(),
                **asked_of_new_table(config.properties),
                **persisted_settings(config.properties, spec),
            },
            lake=config.lake,
        )
    except AlreadyExistsError:
        table = HudiTable.open(config.options.base_path, lake=config.lake, lists_storage=True)
        return table, replace(resolve(config.options, table, config.lake), checkpoint=config.checkpoint), False
    return made, config, True
