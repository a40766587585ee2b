"""Schema histories that Hudi 0.15.0 wrote: read, written again to the byte, and made by the same alterations."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.schema.avro import full_name_of, with_meta_fields, without_meta_fields
from spark_jobs.core.schema.changes import add_column, drop_column, move_column, rename_column, widen_column
from spark_jobs.core.schema.history import LATEST_SCHEMA_KEY
from spark_jobs.core.schema.internal import InternalSchema, history_text, parse_history
from spark_jobs.core.schema.internal_avro import avro_of, internal_of

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "schema_tables"


def kept(schema: InternalSchema) -> InternalSchema:
    return schema


STEPS: tuple[Callable[[InternalSchema], InternalSchema], ...] = (
    lambda schema: add_column(add_column(schema, "f", "string", after="a"), "g", "double"),
    kept,
    lambda schema: rename_column(schema, "c", "c2"),
    lambda schema: widen_column(schema, "a", "long"),
    kept,
    lambda schema: drop_column(schema, "b"),
    lambda schema: rename_column(schema, "d.x", "z"),
    lambda schema: add_column(schema, "d.w", "long"),
    kept,
    lambda schema: add_column(schema, "b", "string"),
    kept,
    lambda schema: move_column(schema, "g", after="id"),
    lambda schema: move_column(schema, "d.w", first=True),
    lambda schema: widen_column(schema, "day", "string"),
    lambda schema: widen_column(schema, "e.element.v", "long"),
    kept,
)
"""The statements of ``altered_cow`` (tests/fixtures/make_evolved_tables.py); writes change nothing."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("altered")
    with zipfile.ZipFile(TABLES / "altered_cow.zip") as packed:
        packed.extractall(target)
    return target / "altered_cow"


def newest_history(table: Path) -> str:
    return max((table / ".hoodie" / ".schema").glob("*.schemacommit")).read_text()


def test_a_history_comes_back_to_the_byte(table: Path) -> None:
    text = newest_history(table)
    assert history_text(parse_history(text, "it")) == text


def test_the_same_alterations_make_the_same_schemas(table: Path) -> None:
    versions = parse_history(newest_history(table), "it")
    assert len(versions) == len(STEPS) + 1
    schema = versions[0]
    for step, stored in zip(STEPS, versions[1:], strict=True):
        schema = step(schema)
        assert schema.record == stored.record
        assert schema.max_column_id == stored.max_column_id


def test_avro_schemas_of_commits_are_those_of_the_ids(table: Path) -> None:
    commits = sorted((table / ".hoodie").glob("*.commit"))
    first = json.loads(json.loads(commits[0].read_text())["extraMetadata"]["schema"])
    assert internal_of(with_meta_fields(first)) == parse_history(newest_history(table), "it")[0]
    for commit in commits[1:]:
        extra = json.loads(commit.read_text())["extraMetadata"]
        avro, latest = json.loads(extra["schema"]), InternalSchema.parse(extra[LATEST_SCHEMA_KEY], commit.name)
        assert avro_of(latest, full_name_of(avro)) == _with_names_spelled_out(avro)
        assert next(field["name"] for field in without_meta_fields(avro)["fields"]) == "id"


def _with_names_spelled_out(avro: dict) -> dict:  # type: ignore[type-arg]
    """Hudi leaves the namespace of an inner record out where Avro would give it the same one."""

    def spelled(kind: object, namespace: str) -> object:
        if isinstance(kind, list):
            return [spelled(branch, namespace) for branch in kind]
        if not isinstance(kind, dict):
            return kind
        result = dict(kind)
        if "fields" in result:
            result.setdefault("namespace", namespace)
            result["fields"] = [{**one, "type": spelled(one["type"], result["namespace"])} for one in result["fields"]]
        for key in ("items", "values"):
            if key in result:
                result[key] = spelled(result[key], namespace)
        return result

    found = spelled(avro, "")
    assert isinstance(found, dict)
    return found
