"""How a table makes record keys and partition paths: which columns, which style.

Hudi: KeyGenerator, its factory, and KeyGeneratorType.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import keygen as keygen_keys
from spark_jobs.core.errors import ConfigError, UnsupportedTableError
from spark_jobs.core.keygen.key_limit import KeyLimit
from spark_jobs.core.keygen.timestamp_rule import TimestampRule

PACKAGE = "org.apache.hudi.keygen."
NULL_PLACEHOLDER = "__null__"
EMPTY_PLACEHOLDER = "__empty__"
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"


class Generator(StrEnum):
    """The built-in key generators, by the short names of their classes."""

    SIMPLE = "SimpleKeyGenerator"
    COMPLEX = "ComplexKeyGenerator"
    NON_PARTITIONED = "NonpartitionedKeyGenerator"
    TIMESTAMP = "TimestampBasedKeyGenerator"
    CUSTOM = "CustomKeyGenerator"
    GLOBAL_DELETE = "GlobalDeleteKeyGenerator"


SIMPLE = PACKAGE + Generator.SIMPLE
COMPLEX = PACKAGE + Generator.COMPLEX
NON_PARTITIONED = PACKAGE + Generator.NON_PARTITIONED

_AVRO_TWINS = {
    PACKAGE + "SimpleAvroKeyGenerator": Generator.SIMPLE,
    PACKAGE + "ComplexAvroKeyGenerator": Generator.COMPLEX,
    PACKAGE + "NonpartitionedAvroKeyGenerator": Generator.NON_PARTITIONED,
    PACKAGE + "TimestampBasedAvroKeyGenerator": Generator.TIMESTAMP,
    PACKAGE + "CustomAvroKeyGenerator": Generator.CUSTOM,
    PACKAGE + "GlobalAvroDeleteKeyGenerator": Generator.GLOBAL_DELETE,
}
_CLASSES = {**{PACKAGE + one.value: one for one in Generator}, **_AVRO_TWINS}
_CLASS_OF_TYPE = {
    "SIMPLE": SIMPLE,
    "SIMPLE_AVRO": PACKAGE + "SimpleAvroKeyGenerator",
    "COMPLEX": COMPLEX,
    "COMPLEX_AVRO": PACKAGE + "ComplexAvroKeyGenerator",
    "TIMESTAMP": PACKAGE + Generator.TIMESTAMP,
    "TIMESTAMP_AVRO": PACKAGE + "TimestampBasedAvroKeyGenerator",
    "CUSTOM": PACKAGE + Generator.CUSTOM,
    "CUSTOM_AVRO": PACKAGE + "CustomAvroKeyGenerator",
    "NON_PARTITION": NON_PARTITIONED,
    "NON_PARTITION_AVRO": PACKAGE + "NonpartitionedAvroKeyGenerator",
    "GLOBAL_DELETE": PACKAGE + Generator.GLOBAL_DELETE,
    "GLOBAL_DELETE_AVRO": PACKAGE + "GlobalAvroDeleteKeyGenerator",
}


@dataclass(frozen=True, slots=True)
class PartitionPart:
    """One level of a partition path: the column, and whether its value is formatted as a time."""

    field: str
    is_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpec:
    """``class_name`` is what ``hoodie.table.keygenerator.class`` holds.

    One key field gives the plain value; several, or any of a ``composite_key``, give ``field:value,field:value``.
    ``time_rule`` is there where a part is a time; ``consistent_timestamps`` writes timestamps as text; ``limit`` is
    that of a write whose keys can't have any length; ``refuses_ambiguous`` of one that takes no row whose composite key
    other values may give, too. Pickles.
    """

    record_key_fields: tuple[str, ...]
    parts: tuple[PartitionPart, ...]
    hive_style: bool
    url_encode: bool
    class_name: str
    composite_key: bool
    consistent_timestamps: bool
    time_rule: TimestampRule | None
    limit: KeyLimit | None = None
    refuses_ambiguous: bool = False

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """The columns of the partition path, as ``hoodie.table.partition.fields`` names them."""
        return tuple(part.field for part in self.parts)

    @property
    def generator(self) -> Generator:
        return generator_of(self.class_name)

    @staticmethod
    def of(
        record_key_fields: Sequence[str],
        partition_fields: Sequence[str],
        *,
        hive_style: bool,
        url_encode: bool,
        class_name: str = "",
        properties: Mapping[str, str] | None = None,
    ) -> KeySpec:
        """The key generator that was named, or the one Hudi would infer.

        :param partition_fields: of a Custom generator each with its type, as in ``city:SIMPLE`` and ``ts:TIMESTAMP``.
        :param properties: ``hoodie.*`` values that say how times are read and written.
        :raises UnsupportedTableError: a key generator that this release does not have.
        :raises ConfigError: a setting that the generator needs is missing or wrong.
        """
        given = properties or {}
        name = class_name or infer_class(record_key_fields, partition_fields)
        generator = generator_of(name)
        refuse_other_counts(generator, len(record_key_fields), len(partition_fields))
        parts = _parts(generator, tuple(partition_fields))
        return KeySpec(
            record_key_fields=tuple(record_key_fields),
            parts=parts,
            hive_style=hive_style,
            url_encode=url_encode,
            class_name=name,
            composite_key=generator is Generator.GLOBAL_DELETE or len(record_key_fields) > 1,
            consistent_timestamps=datasource_keys.CONSISTENT_TIMESTAMPS.of(given),
            time_rule=TimestampRule.of(given) if any(part.is_time for part in parts) else None,
        )


def generator_of(class_name: str) -> Generator:
    """
    :raises UnsupportedTableError: a key generator that this release does not have.
    """
    found = _CLASSES.get(class_name)
    if found is None:
        raise UnsupportedTableError(
            f"key generator {class_name} is not supported",
            todo="use one of " + ", ".join(sorted(Generator)) + f" of {PACKAGE[:-1]}",
            key_generator=class_name,
        )
    return found


def refuse_other_counts(generator: Generator, record_keys: int, partitions: int) -> None:
    """
    :raises ConfigError: a generator that takes one column of each kind has none or several.
    """
    if generator not in (Generator.SIMPLE, Generator.TIMESTAMP):
        return
    for kind, count in (("record key", record_keys), ("partition", partitions)):
        if count != 1:
            flat = f" (or {Generator.NON_PARTITIONED}, for no partitions)" if kind == "partition" and not count else ""
            raise ConfigError(
                f"{generator} takes one {kind} column, not {count}",
                todo=f"use {Generator.COMPLEX} or {Generator.CUSTOM}{flat}, or name one column",
            )


def class_of_type(text: str) -> str:
    """The class of a value of ``hoodie.datasource.write.keygenerator.type``.

    :raises ConfigError: no such type.
    """
    found = _CLASS_OF_TYPE.get(text.upper())
    if found is None:
        raise ConfigError(
            f"{datasource_keys.KEY_GENERATOR_TYPE.name}={text} is not valid",
            todo="give one of " + ", ".join(_CLASS_OF_TYPE),
            key=datasource_keys.KEY_GENERATOR_TYPE.name,
            value=text,
        )
    return found


def infer_class(record_key_fields: Sequence[str], partition_fields: Sequence[str]) -> str:
    """Hudi's choice when no class is named."""
    if not partition_fields:
        return NON_PARTITIONED
    return SIMPLE if len(record_key_fields) == 1 and len(partition_fields) == 1 else COMPLEX


def _parts(generator: Generator, fields: tuple[str, ...]) -> tuple[PartitionPart, ...]:
    if generator in (Generator.NON_PARTITIONED, Generator.GLOBAL_DELETE):
        return ()
    if generator is Generator.CUSTOM:
        return tuple(_custom_part(field) for field in fields)
    return tuple(PartitionPart(field, generator is Generator.TIMESTAMP) for field in fields)


def _custom_part(field: str) -> PartitionPart:
    name, _, kind = field.partition(":")
    if not name or kind.upper() not in ("SIMPLE", "TIMESTAMP"):
        raise ConfigError(
            f"partition column {field} of {Generator.CUSTOM} has no type SIMPLE or TIMESTAMP",
            todo="name each column with its type at every write, as in city:SIMPLE,ts:TIMESTAMP (a table keeps the "
            "names alone)",
            field=field,
        )
    return PartitionPart(name, kind.upper() == "TIMESTAMP")


def persisted_settings(properties: Mapping[str, str], spec: KeySpec) -> dict[str, str]:
    """What a new table keeps of the settings of its key generator, by their present names; of Custom nothing."""
    if spec.generator is not Generator.TIMESTAMP:
        return {}
    given = [key for key in keygen_keys.PERSISTED if any(properties.get(name) for name in key.names)]
    return {key.name: str(key.of(properties)) for key in given}
