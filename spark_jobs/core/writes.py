"""The writes of a table by Arrow data, as its methods.

What does them stands above the table format, so it is looked up by name when the first write is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from spark_jobs.core.errors import ConfigError

_WRITER = "spark_jobs.write.arrow"


def refuse_one_text(partitions: Sequence[str] | None) -> None:
    """
    :raises ConfigError: partition paths are given as a text, whose letters would be taken for them.
    """
    if isinstance(partitions, str):
        raise ConfigError(f"partitions={partitions!r} is one text", todo=f"give a list: [{partitions!r}]")


class WriteResult(Protocol):
    """What a write did; ``instant`` is None, and ``reason`` says why, where nothing was to do."""

    @property
    def instant(self) -> str | None: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def repeated(self) -> bool:
        """Whether an earlier write of the same idempotency key had done it."""
        ...

    @property
    def inserts(self) -> int: ...

    @property
    def updates(self) -> int: ...

    @property
    def deletes(self) -> int: ...


class TableWrites:
    """Writes by this process: no JVM, no cluster.

    ``data`` is a table, batch or reader of Arrow's, or anything with ``__arrow_c_stream__``, such as data frames of
    Polars and pandas 2.2, and relations of DuckDB. ``options`` are those of ``ingest.py`` by the names of their fields
    (``idempotency_key="daily 2024-05-06"``, ``hoodie_conf={"hoodie.index.type": "SIMPLE"}``); what the table keeps of
    its own (key, partition path, ordering) is not given again.

    All return what was done. The table object stays as it was opened: ``refreshed()`` shows the new rows.

    :raises ConfigError: an option or a column is at fault.
    :raises BadRecordError: a row doesn't fit.
    :raises WriteConflictError: another writer was faster; the same call can be made again.
    """

    def upsert(self, data: Any, **options: Any) -> WriteResult:
        """Update the records whose keys the table has, insert the others (Hudi: WriteOperationType.UPSERT)."""
        return self._write("upsert", data, options)

    def insert(self, data: Any, **options: Any) -> WriteResult:
        """Add records; small files take some of them in."""
        return self._write("insert", data, options)

    def bulk_insert(self, data: Any, **options: Any) -> WriteResult:
        """Add records in new file groups, without a look at the ones that are there."""
        return self._write("bulk_insert", data, options)

    def delete(self, data: Any, **options: Any) -> WriteResult:
        """Remove the records of these keys; ``data`` needs the columns of key and partition path alone."""
        return self._write("delete", data, options)

    def insert_overwrite(self, data: Any, *, whole_table: bool = False, **options: Any) -> WriteResult:
        """Put records in the place of all that their partitions have, or with ``whole_table`` of all records."""
        return self._write("insert_overwrite_table" if whole_table else "insert_overwrite", data, options)

    def delete_partitions(self, partitions: Sequence[str], **options: Any) -> WriteResult:
        """Remove all records of partitions, by their paths; ``*`` stands for any text."""
        return self._write("delete_partition", None, options, partitions=partitions)

    def _write(self, operation: str, data: Any, options: dict[str, Any], **more: Any) -> WriteResult:
        result: WriteResult = import_module(_WRITER).write_to(self, operation, data, options, **more)
        return result
