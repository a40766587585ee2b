"""How a table makes record keys and partition paths: which columns, which style.

Hudi: KeyGenerator and its factory.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.errors import UnsupportedTableError

SIMPLE = "org.apache.hudi.keygen.SimpleKeyGenerator"
COMPLEX = "org.apache.hudi.keygen.ComplexKeyGenerator"
NON_PARTITIONED = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"

NULL_PLACEHOLDER = "__null__"
EMPTY_PLACEHOLDER = "__empty__"
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
ESCAPED = frozenset([*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"])
"""Characters written as %XX in partition values when they are url-encoded."""

_SUPPORTED = {name.rsplit(".", 1)[-1] for name in (SIMPLE, COMPLEX, NON_PARTITIONED)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpec:
    """``class_name`` is what ``hoodie.table.keygenerator.class`` holds.

    One key field gives the plain value; several give ``field:value,field:value``.
    """

    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    hive_style: bool
    url_encode: bool
    class_name: str

    @staticmethod
    def of(
        record_key_fields: tuple[str, ...],
        partition_fields: tuple[str, ...],
        *,
        hive_style: bool,
        url_encode: bool,
        class_name: str = "",
    ) -> KeySpec:
        """The key generator that was named, or the one Hudi would infer.

        :raises UnsupportedTableError: a key generator that this release does not have.
        """
        name = class_name or infer_class(record_key_fields, partition_fields)
        short = name.rsplit(".", 1)[-1].replace("AvroKeyGenerator", "KeyGenerator")
        if short not in _SUPPORTED:
            raise UnsupportedTableError(
                f"key generator {name} is not supported",
                todo="use one of " + ", ".join(sorted(_SUPPORTED)),
                key_generator=name,
            )
        return KeySpec(
            record_key_fields=record_key_fields,
            partition_fields=() if short == NON_PARTITIONED.rsplit(".", 1)[-1] else partition_fields,
            hive_style=hive_style,
            url_encode=url_encode,
            class_name=name,
        )


def infer_class(record_key_fields: tuple[str, ...], partition_fields: tuple[str, ...]) -> str:
    """Hudi's choice when no class is named."""
    if not partition_fields:
        return NON_PARTITIONED
    return SIMPLE if len(record_key_fields) == 1 and len(partition_fields) == 1 else COMPLEX
