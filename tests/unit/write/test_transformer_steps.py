"""Which transformers there are, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.transformers import steps_of

pytestmark = pytest.mark.unit

SQL, FILE = {"transformer_sql": "SELECT"}, {"transformer_sql_file": "q.sql"}
PACKAGE = "org.apache.hudi.utilities.transform"


def labels(**given: Any) -> list[str]:
    return [step.label for step in steps_of(IngestOptions(base_path="/t", **given).effective())]


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({}, []),
        (SQL, ["--transformer-sql"]),
        ({**SQL, **FILE, "transformer": "a:f,a:g"}, ["sql", "file", "a:f", "a:g"]),
        ({**SQL, **FILE, "transformer": "a:f,sql,a:g"}, ["file", "a:f", "sql", "a:g"]),
        ({**SQL, "transformer": f"a:f,{PACKAGE}.SqlQueryBasedTransformer"}, ["a:f", "sql"]),
        ({**FILE, "transformer": "SqlFileBasedTransformer,a:f"}, ["file", "a:f"]),
        ({"hoodie_conf": {"hoodie.deltastreamer.transformer.sql": "x", "pyhudi.transformer": "a:f"}}, ["sql", "a:f"]),
        ({**SQL, "transformer": "sql,a:f,sql"}, ["sql", "a:f", "sql"]),
    ],
)
def test_order(given: dict[str, Any], order: list[str]) -> None:
    shown = {"sql": "--transformer-sql", "file": "--transformer-sql-file q.sql"}
    assert labels(**given) == [shown.get(one, one if one.startswith("--") else f"--transformer {one}") for one in order]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("sql", "--transformer names sql: give --transformer-sql too"),
        ("sql-file", "--transformer names sql-file: give --transformer-sql-file too"),
        (f"{PACKAGE}.FlatteningTransformer", "is no module:function: give for instance cleaning:without_tests"),
    ],
)
def test_refused(given: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        labels(transformer=given)
