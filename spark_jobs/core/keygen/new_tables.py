"""What no new table may have of keys: asked when a table is created, and by the first write that makes one.

Hudi: the constructors of its key generators, and BaseHoodieWriteClient.validateAgainstTableProperties; Hudi itself
takes such tables and refuses the writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import keygen as keygen_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.keys.datasource import KEY_GENERATOR_CLASS
from spark_jobs.core.config.keys.table import POPULATE_META_FIELDS
from spark_jobs.core.errors import ConfigError, UnsupportedTableError
from spark_jobs.core.keygen.spec import (
    COMPLEX,
    NON_PARTITIONED,
    SIMPLE,
    Generator,
    class_of_type,
    generator_of,
    refuse_other_counts,
)
from spark_jobs.core.keygen.zones import is_zone

VIRTUAL_KEY_CLASSES = (SIMPLE, COMPLEX, NON_PARTITIONED)
"""Key generators that Hudi allows without populated meta columns, on tables of both types."""


def asked_class(given: Mapping[str, str]) -> str:
    """The key generator that a write's ``hoodie.*`` values name, by its class or by its type; empty for none.

    :raises ConfigError: a type that there is not.
    """
    kind = datasource_keys.KEY_GENERATOR_TYPE.of(given)
    by_type = class_of_type(kind) if kind else ""
    return KEY_GENERATOR_CLASS.of(given) or by_type or table_keys.KEY_GENERATOR_CLASS.of(given)


def known_generator(class_name: str) -> Generator:
    """
    :raises ConfigError: a class was named that this release does not have.
    """
    try:
        return generator_of(class_name)
    except UnsupportedTableError as error:
        raise ConfigError(error.what, todo=error.todo, **error.details) from None


def refuse_unusable_keys(
    class_name: str,
    record_key_fields: Sequence[str],
    partition_fields: Sequence[str],
    *,
    populate_meta_fields: bool,
    merge_on_read: bool,
) -> None:
    """
    :param record_key_fields: none of a table whose keys Hudi makes.
    :raises ConfigError: a key generator that there is not, or that does not go with the columns or with virtual keys.
    """
    generator = known_generator(class_name)
    refuse_other_counts(generator, len(record_key_fields) or 1, len(partition_fields))
    if not populate_meta_fields:
        refuse_virtual_keys(class_name)
        if merge_on_read:
            refuse_virtual_keys_of_logs(record_key_fields)


def refuse_virtual_keys(class_name: str) -> None:
    """
    :raises ConfigError: a key generator that a table with virtual keys can't have.
    """
    if class_name not in VIRTUAL_KEY_CLASSES:
        raise ConfigError(
            f"key generator {class_name} can't be used with {POPULATE_META_FIELDS.name}=false",
            todo="use one of " + ", ".join(VIRTUAL_KEY_CLASSES),
            key_generator=class_name,
        )


def refuse_virtual_keys_of_logs(record_key_fields: Sequence[str]) -> None:
    """Hudi writes MERGE_ON_READ tables with virtual keys of several columns, but can't read them: no new one is made.

    :raises ConfigError: there are several key columns.
    """
    if len(record_key_fields) > 1:
        raise ConfigError(
            f"a MERGE_ON_READ table with {POPULATE_META_FIELDS.name}=false takes one record key column, not "
            f"{len(record_key_fields)}: Hudi could not read it",
            todo="name one column, or make the table COPY_ON_WRITE",
            key=POPULATE_META_FIELDS.name,
        )


def refuse_unknown_zones(given: Mapping[str, str]) -> None:
    """
    :param given: ``hoodie.*`` values.
    :raises ConfigError: a time zone that there is not.
    """
    for key in (keygen_keys.ZONE, keygen_keys.INPUT_ZONE, keygen_keys.OUTPUT_ZONE):
        text = key.of(given)
        if text.strip() and not is_zone(text):
            raise ConfigError(
                f"{key.name}={text} is no time zone",
                todo="give a name such as GMT+8:00 or Europe/Berlin (Java would take it for GMT without a word)",
                key=key.name,
                value=text,
            )
