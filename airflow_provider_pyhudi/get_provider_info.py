"""What this provider says about itself to Airflow (entry point ``apache_airflow_provider``)."""

from __future__ import annotations

from typing import Any

from airflow_provider_pyhudi import _HOMES

_PACKAGE = "airflow_provider_pyhudi"
_INTEGRATION = "Apache Hudi"


def _modules(kind: str) -> list[dict[str, Any]]:
    """Those that the package exports something of."""
    homes = sorted({home for home in _HOMES.values() if home.startswith(f"{kind}.")})
    return [{"integration-name": _INTEGRATION, "python-modules": [f"{_PACKAGE}.{home}" for home in homes]}]


def _text_field(label: str, description: str) -> dict[str, Any]:
    return {"label": label, "description": description, "schema": {"type": ["string", "null"]}}


def get_provider_info() -> dict[str, Any]:
    """A value of Airflow's ``provider_info.schema.json``."""
    return {
        "package-name": "airflow-provider-pyhudi",
        "name": _INTEGRATION,
        "description": "`Apache Hudi <https://hudi.apache.org/>`__ tables: ingestion and table services on PySpark.\n",
        "integrations": [
            {"integration-name": _INTEGRATION, "external-doc-url": "https://hudi.apache.org/", "tags": ["apache"]}
        ],
        "operators": _modules("operators"),
        "sensors": _modules("sensors"),
        "hooks": _modules("hooks"),
        "triggers": _modules("triggers"),
        "connection-types": [
            {
                "hook-class-name": f"{_PACKAGE}.hooks.hudi.HudiHook",
                "hook-name": _INTEGRATION,
                "connection-type": "hudi",
                "ui-field-behaviour": {
                    "hidden-fields": ["host", "schema", "login", "password", "port"],
                    "relabeling": {},
                    "placeholders": {"extra": '{"hoodie_conf": {"hoodie.cleaner.commits.retained": "10"}}'},
                },
                "conn-fields": {
                    "base_path": _text_field("Base path", "Path or URL that relative table paths are joined to."),
                    "spark_conn_id": _text_field("Spark connection", "Connection that the jobs are submitted to."),
                    "storage_conn_id": _text_field(
                        "Storage connection", "Connection by which storage is reached, such as aws_default."
                    ),
                },
            }
        ],
    }
