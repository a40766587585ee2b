"""A metastore over Thrift (the PyPI package ``pymetastore``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.metastore import MetastoreError, MetastoreUnreachableError, TableExistsError
from spark_jobs.hive.state import Buckets, Column, MetastorePartition, MetastoreTable

DEFAULT_PORT = 9083

# It logs each address that does not answer as an error; the error that is raised says the same, once.
logging.getLogger("thrift.transport.TSocket").setLevel(logging.CRITICAL)


class ThriftMetastore:
    """A Hive metastore (2.x or 3.x) without authentication, over one connection; a context manager."""

    def __init__(self, client: Any, transport: Any, uri: str) -> None:
        self._client = client
        self._transport = transport
        self.uri = uri

    @classmethod
    def connect(cls, uris: str, *, timeout_seconds: float = 60.0) -> Self:
        """Connect to the first of comma-separated ``thrift://host:port`` that answers.

        :raises ConfigError: a URI is not of that form.
        :raises MetastoreUnreachableError: none answers.
        """
        addresses = [_address(uri.strip()) for uri in uris.split(",") if uri.strip()]
        reason = "no URI"
        for host, port in addresses:
            socket = TSocket(host, port)
            socket.setTimeout(timeout_seconds * 1000)
            transport = TBufferedTransport(socket)
            try:
                transport.open()
            except TTransportException as error:
                reason = _one_line(error)
                continue
            return cls(ThriftHiveMetastore.Client(TBinaryProtocol(transport)), transport, f"thrift://{host}:{port}")
        raise _unreachable(uris, reason)

    @classmethod
    def of(cls, config: SyncConfig) -> Self:
        """By the addresses of a sync."""
        return cls.connect(config.metastore_uris)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport.close()

    def database_exists(self, database: str) -> bool:
        with self._call("list the databases"):
            return database.lower() in self._client.get_all_databases()

    def create_database(self, database: str) -> None:
        with self._call(f"create the database {database}"):
            try:
                self._client.create_database(
                    hive.Database(name=database, description="automatically created by hoodie")
                )
            except hive.AlreadyExistsException:
                return  # another sync was quicker

    def tables(self, database: str) -> list[str]:
        with self._call(f"list the tables of {database}"):
            return sorted(self._client.get_all_tables(database))

    def table(self, database: str, name: str) -> MetastoreTable | None:
        with self._call(f"describe {database}.{name}"):
            try:
                return _from_thrift(self._client.get_table(database, name))
            except hive.NoSuchObjectException:
                return None

    def create_table(self, database: str, table: MetastoreTable) -> None:
        with self._call(f"create {database}.{table.name}"):
            try:
                self._client.create_table(_to_thrift(database, table))
            except hive.AlreadyExistsException:
                raise TableExistsError(f"{database}.{table.name} exists already", todo="sync again") from None

    def replace_columns(self, database: str, name: str, columns: Sequence[Column], cascade: bool) -> None:
        def change(table: Any) -> None:
            table.sd.cols = [_field(column) for column in columns]

        self._alter(database, name, change, {"CASCADE": "true"} if cascade else {})

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
        def change(table: Any) -> None:
            table.parameters = {**(table.parameters or {}), **parameters}
            serde = table.sd.serdeInfo
            serde.parameters = {**(serde.parameters or {}), **serde_parameters}
            if location is not None:
                table.sd.location = location
            if formats is not None:
                table.sd.inputFormat, table.sd.outputFormat, serde.serializationLib = formats

        self._alter(database, name, change, {})

    def partitions(self, database: str, name: str) -> list[MetastorePartition]:
        with self._call(f"list the partitions of {database}.{name}"):
            return [
                MetastorePartition(values=tuple(part.values), location=part.sd.location)
                for part in self._client.get_partitions(database, name, -1)
            ]

    def add_partitions(self, database: str, name: str, partitions: Sequence[MetastorePartition]) -> None:
        with self._call(f"add partitions to {database}.{name}"):
            self._client.add_partitions_req(
                hive.AddPartitionsRequest(
                    dbName=database,
                    tblName=name,
                    parts=self._thrift_partitions(database, name, partitions),
                    ifNotExists=True,
                    needResult=False,
                )
            )

    def update_partitions(self, database: str, name: str, partitions: Sequence[MetastorePartition]) -> None:
        with self._call(f"change partitions of {database}.{name}"):
            self._client.alter_partitions(database, name, self._thrift_partitions(database, name, partitions))

    def drop_partitions(self, database: str, name: str, values: Iterable[tuple[str, ...]]) -> None:
        with self._call(f"drop partitions of {database}.{name}"):
            for each in values:
                try:
                    self._client.drop_partition(database, name, list(each), False)
                except hive.NoSuchObjectException:
                    continue

    def _thrift_partitions(self, database: str, name: str, partitions: Sequence[MetastorePartition]) -> list[Any]:
        of_table = self._client.get_table(database, name).sd
        return [
            hive.Partition(
                values=list(partition.values),
                dbName=database,
                tableName=name,
                createTime=0,
                lastAccessTime=0,
                sd=hive.StorageDescriptor(
                    cols=of_table.cols,
                    location=partition.location,
                    inputFormat=of_table.inputFormat,
                    outputFormat=of_table.outputFormat,
                    compressed=False,
                    numBuckets=of_table.numBuckets,
                    serdeInfo=of_table.serdeInfo,
                    bucketCols=of_table.bucketCols,
                    sortCols=of_table.sortCols,
                    parameters={},
                ),
                parameters={},
            )
            for partition in partitions
        ]

    def _alter(self, database: str, name: str, change: Callable[[Any], None], properties: dict[str, str]) -> None:
        with self._call(f"alter {database}.{name}"):
            table = self._client.get_table(database, name)
            change(table)
            context = hive.EnvironmentContext(properties=properties)
            self._client.alter_table_with_environment_context(database, name, table, context)

    @contextmanager
    def _call(self, what: str) -> Iterator[None]:
        try:
            yield
        except TTransportException as error:
            raise _unreachable(self.uri, _one_line(error)) from error
        except OSError as error:
            raise _unreachable(self.uri, _one_line(error)) from error
        except TApplicationException as error:
            raise MetastoreError(
                f"the metastore at {self.uri} could not {what} ({_one_line(error)})",
                todo="is it a Hive metastore 2.x or 3.x?",
            ) from error
        except TException as error:
            raise MetastoreError(
                f"the metastore at {self.uri} would not {what} ({_one_line(error)})", uri=self.uri
            ) from error


def answers(uri: str, *, timeout_seconds: float = 5.0) -> bool:
    """True if a metastore answers a call at ``uri``."""
    try:
        with ThriftMetastore.connect(uri, timeout_seconds=timeout_seconds) as metastore:
            return metastore.database_exists("default")
    except (MetastoreUnreachableError, MetastoreError):
        return False


def _unreachable(uri: str, reason: str) -> MetastoreUnreachableError:
    return MetastoreUnreachableError(
        f"no Hive metastore answers at {uri} ({reason})",
        todo="start it, or correct hoodie.datasource.hive_sync.metastore.uris",
        uri=uri,
    )


def _address(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme != "thrift":
        raise ConfigError(f"metastore URI {uri} is not valid", todo="give thrift://host:port", uri=uri)
    return host, port or DEFAULT_PORT


def _one_line(error: Exception) -> str:
    text = getattr(error, "message", None) or str(error)
    return " ".join(str(text).split()) or type(error).__name__


def _field(column: Column) -> Any:
    return hive.FieldSchema(name=column.name, type=column.type, comment=column.comment)


def _columns(fields: Iterable[Any] | None) -> tuple[Column, ...]:
    return tuple(Column(name=field.name, type=field.type, comment=field.comment or "") for field in fields or ())


def _from_thrift(table: Any) -> MetastoreTable:
    storage = table.sd
    bucketed = bool(storage.bucketCols) and storage.numBuckets > 0
    return MetastoreTable(
        name=table.tableName,
        location=storage.location or "",
        columns=_columns(storage.cols),
        partition_keys=_columns(table.partitionKeys),
        input_format=storage.inputFormat or "",
        output_format=storage.outputFormat or "",
        serde=storage.serdeInfo.serializationLib or "",
        serde_parameters=dict(storage.serdeInfo.parameters or {}),
        parameters=dict(table.parameters or {}),
        owner=table.owner or "",
        managed=table.tableType != "EXTERNAL_TABLE",
        buckets=Buckets(columns=tuple(storage.bucketCols), count=storage.numBuckets) if bucketed else None,
    )


def _to_thrift(database: str, table: MetastoreTable) -> Any:
    return hive.Table(
        tableName=table.name,
        dbName=database,
        owner=table.owner,
        createTime=0,
        lastAccessTime=0,
        retention=0,
        partitionKeys=[_field(column) for column in table.partition_keys],
        parameters=dict(table.parameters),
        tableType="MANAGED_TABLE" if table.managed else "EXTERNAL_TABLE",
        sd=hive.StorageDescriptor(
            cols=[_field(column) for column in table.columns],
            location=table.location,
            inputFormat=table.input_format,
            outputFormat=table.output_format,
            compressed=False,
            numBuckets=table.buckets.count if table.buckets else 0,
            bucketCols=list(table.buckets.columns) if table.buckets else [],
            sortCols=[],
            parameters={},
            serdeInfo=hive.SerDeInfo(name=None, serializationLib=table.serde, parameters=dict(table.serde_parameters)),
        ),
    )
