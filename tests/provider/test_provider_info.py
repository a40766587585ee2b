"""What Airflow learns about the provider is valid, and true."""

import json
from importlib import import_module
from pathlib import Path

import airflow
import jsonschema
import pytest

from airflow_provider_pyhudi.get_provider_info import get_provider_info

pytestmark = pytest.mark.provider


def test_the_info_keeps_airflows_schema() -> None:
    schema = json.loads(Path(airflow.__path__[0], "provider_info.schema.json").read_text())
    jsonschema.validate(get_provider_info(), schema)


def test_every_module_that_it_names_is_there() -> None:
    info = get_provider_info()
    listed = {
        name
        for kind in ("operators", "sensors", "hooks", "triggers")
        for group in info[kind]
        for name in group["python-modules"]
    }
    for name in listed:
        import_module(name)
    package = Path(import_module("airflow_provider_pyhudi").__path__[0])
    written = {
        f"airflow_provider_pyhudi.{kind}.{path.stem}"
        for kind in ("operators", "sensors", "hooks", "triggers")
        for path in (package / kind).glob("*.py")
        if path.stem not in ("__init__", "base", "lake", "named_run", "plan_hash", "result_file", "service", "storage")
    }
    assert listed == written


def test_the_connection_type_has_a_hook() -> None:
    (connection,) = get_provider_info()["connection-types"]
    module, name = connection["hook-class-name"].rsplit(".", 1)
    hook = getattr(import_module(module), name)
    assert (hook.conn_type, hook.hook_name) == (connection["connection-type"], connection["hook-name"])
