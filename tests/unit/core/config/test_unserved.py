"""Keys of Hudi's that nothing reads: a word to who gives one, or a refusal."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.known import declared, unknown_key_warnings
from spark_jobs.core.config.unserved import REFUSED, WITHOUT_EFFECT
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.transaction.writer_warnings import writer_warnings

pytestmark = pytest.mark.unit


def test_a_key_without_effect_is_told_with_its_reason() -> None:
    given = {"hoodie.embed.timeline.server.port": "1", "hoodie.metrics.on": "true", "hoodie.cleaner.parallelism": "9"}
    assert unknown_key_warnings(given) == [
        "hoodie.cleaner.parallelism has no effect: the work is cut by files and bytes, and Spark or the engine decides "
        "how much runs at once",
        "hoodie.embed.timeline.server.port has no effect: no timeline server is started: every process reads the "
        "timeline itself",
        "hoodie.metrics.on has no effect: a job tells its numbers by its result, and nothing else is called",
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.allow.operation.metadata.field", "TRUE"),
        ("hoodie.auto.commit", "false"),
        ("hoodie.bulkinsert.overwrite.operation.type", "insert_overwrite"),
        ("hoodie.metaserver.enabled", "true"),
        ("hoodie.precommit.validators", "org.x.Validator"),
        ("hoodie.table.rt.file.format", "OTHER"),
        ("hoodie.write.lock.conflict.resolution.strategy", "org.x.Strategy"),
    ],
)
def test_what_can_not_be_passed_over_is_refused_by_writers(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}={value} is not served: ") as caught:
        writer_warnings({key: value})
    assert caught.value.details == {"key": key, "value": value}


@pytest.mark.parametrize(
    ("key", "value"),
    [("hoodie.auto.commit", "true"), ("hoodie.auto.commit", ""), ("hoodie.table.log.file.format", "HOODIE_LOG")],
)
def test_values_by_which_hudi_does_the_same_are_taken(key: str, value: str) -> None:
    assert writer_warnings({key: value}) == []


def test_each_key_has_one_meaning() -> None:
    served = [name for key in declared() for name in key.names]
    refused = [name for one in REFUSED for name in one.names]
    plain = [name for one in WITHOUT_EFFECT for name in one.names]
    assert len({*refused, *plain}) == len(refused) + len(plain)
    assert [name for name in (*served, *refused) if any(one.covers(name) for one in WITHOUT_EFFECT)] == []
    assert set(served).isdisjoint(refused)
