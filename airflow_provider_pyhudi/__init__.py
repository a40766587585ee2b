"""Apache Hudi tables as Airflow tasks. Names are imported when they are first used, so that DAGs parse quickly."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_pyhudi.assets.table import hudi_asset
    from airflow_provider_pyhudi.hooks.hudi import HudiHook
    from airflow_provider_pyhudi.hooks.submit import HudiSparkSubmitHook
    from airflow_provider_pyhudi.operators.alter_table import HudiAlterTableOperator
    from airflow_provider_pyhudi.operators.archive import HudiArchiveOperator
    from airflow_provider_pyhudi.operators.bootstrap import HudiBootstrapOperator
    from airflow_provider_pyhudi.operators.clean import HudiCleanOperator
    from airflow_provider_pyhudi.operators.clustering import HudiClusteringOperator
    from airflow_provider_pyhudi.operators.compaction import HudiCompactionOperator
    from airflow_provider_pyhudi.operators.health import HudiHealthOperator
    from airflow_provider_pyhudi.operators.hive_sync import HudiHiveSyncOperator
    from airflow_provider_pyhudi.operators.indexing import HudiIndexingOperator
    from airflow_provider_pyhudi.operators.ingest import HudiIngestOperator
    from airflow_provider_pyhudi.operators.repair import HudiRepairOperator
    from airflow_provider_pyhudi.operators.restore import HudiRestoreOperator
    from airflow_provider_pyhudi.operators.rollback import HudiRollbackOperator
    from airflow_provider_pyhudi.operators.savepoint import HudiSavepointOperator
    from airflow_provider_pyhudi.operators.validate import HudiValidateOperator
    from airflow_provider_pyhudi.sensors.commit import HudiCommitSensor
    from airflow_provider_pyhudi.sensors.table_service import HudiTableServiceSensor
    from airflow_provider_pyhudi.triggers.commit import HudiCommitTrigger
    from airflow_provider_pyhudi.triggers.table_service import HudiTableServiceTrigger

_HOMES = {
    "HudiAlterTableOperator": "operators.alter_table",
    "HudiArchiveOperator": "operators.archive",
    "HudiBootstrapOperator": "operators.bootstrap",
    "HudiCleanOperator": "operators.clean",
    "HudiClusteringOperator": "operators.clustering",
    "HudiCommitSensor": "sensors.commit",
    "HudiCommitTrigger": "triggers.commit",
    "HudiCompactionOperator": "operators.compaction",
    "HudiHealthOperator": "operators.health",
    "HudiHiveSyncOperator": "operators.hive_sync",
    "HudiHook": "hooks.hudi",
    "HudiIndexingOperator": "operators.indexing",
    "HudiIngestOperator": "operators.ingest",
    "HudiRepairOperator": "operators.repair",
    "HudiRestoreOperator": "operators.restore",
    "HudiRollbackOperator": "operators.rollback",
    "HudiSavepointOperator": "operators.savepoint",
    "HudiSparkSubmitHook": "hooks.submit",
    "HudiTableServiceSensor": "sensors.table_service",
    "HudiTableServiceTrigger": "triggers.table_service",
    "HudiValidateOperator": "operators.validate",
    "hudi_asset": "assets.table",
}

__all__ = [
    "HudiAlterTableOperator",
    "HudiArchiveOperator",
    "HudiBootstrapOperator",
    "HudiCleanOperator",
    "HudiClusteringOperator",
    "HudiCommitSensor",
    "HudiCommitTrigger",
    "HudiCompactionOperator",
    "HudiHealthOperator",
    "HudiHiveSyncOperator",
    "HudiHook",
    "HudiIndexingOperator",
    "HudiIngestOperator",
    "HudiRepairOperator",
    "HudiRestoreOperator",
    "HudiRollbackOperator",
    "HudiSavepointOperator",
    "HudiSparkSubmitHook",
    "HudiTableServiceSensor",
    "HudiTableServiceTrigger",
    "HudiValidateOperator",
    "hudi_asset",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
