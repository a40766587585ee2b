"""What sync asks of a metastore, and how it fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from spark_jobs.core.errors import HudiError
from spark_jobs.hive.state import Column, MetastorePartition, MetastoreTable


class MetastoreUnreachableError(HudiError):
    """No server answers at the metastore's URI."""


class MetastoreError(HudiError):
    """The metastore refused a call."""


class TableExistsError(MetastoreError):
    """A table that was to be created is there already."""


class Metastore(Protocol):
    """The calls of sync. Partitions that are there already when added, or gone when dropped, are no error."""

    @property
    def uri(self) -> str:
        """The address that answered."""
        ...

    def database_exists(self, database: str) -> bool: ...

    def create_database(self, database: str) -> None: ...

    def tables(self, database: str) -> list[str]:
        """Names of all tables, sorted."""
        ...

    def table(self, database: str, name: str) -> MetastoreTable | None: ...

    def create_table(self, database: str, table: MetastoreTable) -> None:
        """Make a table; raises :class:`TableExistsError`."""
        ...

    def replace_columns(self, database: str, name: str, columns: Sequence[Column], cascade: bool) -> None:
        """Set a table's columns, with ``cascade`` those of its partitions too."""
        ...

    def update_table(
        self,
        database: str,
        name: str,
        *,
        parameters: Mapping[str, str],
        serde_parameters: Mapping[str, str],
        location: str | None = None,
        formats: tuple[str, str, str] | None = None,
    ) -> None:
        """Add to, or overwrite in, a table's parameters; ``formats`` is (input format, output format, SerDe)."""
        ...

    def partitions(self, database: str, name: str) -> list[MetastorePartition]: ...

    def add_partitions(self, database: str, name: str, partitions: Sequence[MetastorePartition]) -> None: ...

    def update_partitions(self, database: str, name: str, partitions: Sequence[MetastorePartition]) -> None: ...

    def drop_partitions(self, database: str, name: str, values: Iterable[tuple[str, ...]]) -> None:
        """Forget partitions; their files stay."""
        ...
