"""A table over Parquet files that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import BootstrapOptions, EngineKind, JobOptions


class HudiBootstrapOperator(HudiPlanHashOperator):
    """Make a table of a folder of Parquet files; the modes of its partitions stand in ``hoodie.bootstrap.*``.

    :param source: the folder.
    :param table_type: ``COPY_ON_WRITE``, which it is without it, or ``MERGE_ON_READ``.
    :param record_key_fields: columns whose values identify a record.
    :param partition_path_fields: columns whose values make the partition.
    :param precombine_field: column that decides between records of one key.
    :param engine: ``auto``, ``local`` or ``spark``.
    """

    options_type: ClassVar[type[JobOptions]] = BootstrapOptions
    template_fields: Sequence[str] = (
        *HudiPlanHashOperator.template_fields,
        "source",
        "table_type",
        "record_key_fields",
        "partition_path_fields",
        "precombine_field",
    )

    def __init__(
        self,
        *,
        source: str | None = None,
        table_type: str | None = None,
        record_key_fields: str | Sequence[str] = (),
        partition_path_fields: str | Sequence[str] = (),
        precombine_field: str | None = None,
        engine: str = EngineKind.AUTO.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.table_type = table_type
        self.record_key_fields = record_key_fields
        self.partition_path_fields = partition_path_fields
        self.precombine_field = precombine_field
        self.engine = engine
