"""Operators of the services: each takes every option of its job, and what it makes of its arguments reads back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

import airflow_provider_pyhudi as pyhudi
from airflow_provider_pyhudi.operators.base import HudiJobOperator
from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import JobOptions, OptionsError, PlanHashOptions
from tests.words import all_words

pytestmark = pytest.mark.provider

GIVEN: dict[str, dict[str, Any]] = {
    "HudiAlterTableOperator": {"ddl": "alter table t drop column a", "plan_hash": "abc"},
    "HudiArchiveOperator": {"plan_hash": "abc"},
    "HudiBootstrapOperator": {
        "source": "/raw/trips",
        "table_type": "MERGE_ON_READ",
        "record_key_fields": "id",
        "partition_path_fields": ("region",),
        "precombine_field": "ts",
        "engine": "local",
        "plan_hash": "abc",
    },
    "HudiCleanOperator": {"plan_hash": "abc", "max_bytes": 5, "max_seconds": 6, "engine": "spark"},
    "HudiClusteringOperator": {"mode": "execute", "instant_time": "20260101000000000", "max_bytes": 5},
    "HudiCompactionOperator": {
        "mode": "schedule",
        "plan_hash": "abc",
        "log_compaction": True,
        "idempotency_key": "nightly",
    },
    "HudiHealthOperator": {"picture": "/tmp/h.svg", "footers": True, "list_storage": True, "overdue_hours": 2},
    "HudiIndexingOperator": {"mode": "dropindex", "index_types": ["COLUMN_STATS"], "instant_time": None},
    "HudiRepairOperator": {"only": ["leftovers", "doubled-keys"], "plan_hash": "abc"},
    "HudiRestoreOperator": {
        "savepoint": "20260101000000000",
        "verify": "rows",
        "plan_hash": "abc",
        "engine": "local",
    },
    "HudiRollbackOperator": {"instant_time": "20260101000000000", "plan_hash": "abc", "engine": "spark"},
    "HudiSavepointOperator": {"mode": "delete", "instant_time": "20260101000000000", "user": "u", "comments": "c"},
    "HudiValidateOperator": {"deep": True, "strict": True, "overdue_hours": 2, "engine": "local"},
}


def made(name: str, **given: Any) -> HudiJobOperator:
    kind: type[HudiJobOperator] = getattr(pyhudi, name)
    return kind(task_id="t", base_path="/lake/t", **given)


def options_of(operator: HudiJobOperator) -> JobOptions:
    return operator.build_options({})  # type: ignore[typeddict-item]  # none of these asks its context for anything


@pytest.mark.parametrize("name", GIVEN)
def test_its_arguments_are_the_options_of_its_job(name: str) -> None:
    operator = made(name, **GIVEN[name])
    options = options_of(operator)
    defaults = options_of(made(name, **{key: GIVEN[name][key] for key in ("savepoint",) if key in GIVEN[name]}))
    assert type(options) is operator.options_type
    assert type(options).from_args(all_words(options)) == options
    asked = {key for key, value in GIVEN[name].items() if value is not None} - {"savepoint"}
    changed = {
        field.name
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != getattr(defaults, field.name)
    }
    assert changed == asked


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_template_may_fill_is_an_attribute(name: str) -> None:
    operator = made(name, **GIVEN[name])
    assert all(hasattr(operator, field) for field in operator.template_fields)


PLANNED = [name for name in GIVEN if issubclass(getattr(pyhudi, name), HudiPlanHashOperator)]


@pytest.mark.parametrize("name", PLANNED)
def test_a_hash_that_came_to_nothing_carries_out_no_plan(name: str) -> None:
    given = {key: value for key, value in GIVEN[name].items() if key != "plan_hash"}
    operator = made(name, plan_hash="{{ ti.xcom_pull('look', key='extra').get('plan_hash') }}", **given)
    for nothing in (None, "None", ""):
        operator.plan_hash = nothing  # type: ignore[attr-defined]  # as Airflow sets what a template comes to
        with pytest.raises(AirflowSkipException, match="plan_hash came to nothing"):
            options_of(operator)
    with pytest.raises(AirflowSkipException, match="plan_hash came to nothing"):
        options_of(made(name, plan_hash=None, **given))  # as Airflow makes a mapped task
    assert getattr(options_of(made(name, **given)), "plan_hash", "") is None


def test_every_operator_whose_job_takes_a_hash_is_one_of_them() -> None:
    kinds = [getattr(pyhudi, name) for name in pyhudi.__all__ if name.endswith("Operator")]
    takes_hash = [kind for kind in kinds if issubclass(kind.options_type, PlanHashOptions)]
    assert len(takes_hash) >= len(PLANNED) > 0
    assert all(issubclass(kind, HudiPlanHashOperator) for kind in takes_hash)


def test_a_rollback_of_nothing_in_particular_has_to_be_meant() -> None:
    assert options_of(made("HudiRollbackOperator")) == pyhudi.HudiRollbackOperator.options_type(base_path="/lake/t")
    operator = made("HudiRollbackOperator", instant_time="{{ ti.xcom_pull('write', key='instant') }}")
    for nothing in (None, "None", ""):
        operator.instant_time = nothing  # type: ignore[attr-defined]  # as Airflow sets what a template comes to
        with pytest.raises(OptionsError, match="instant_time came to nothing"):
            options_of(operator)


def test_a_restore_needs_to_be_told_where_to() -> None:
    with pytest.raises(OptionsError, match="give one of the two"):
        options_of(made("HudiRestoreOperator"))
