"""Keys of Hudi's that ask for what nobody does here: writers refuse them, but for values that change nothing."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.transaction.writer_warnings import writer_warnings

pytestmark = pytest.mark.unit
_TARGET = "hoodie.streamer.schemaprovider.target.schema.file"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.allow.operation.metadata.field", "TRUE"),
        ("hoodie.auto.commit", "false"),
        ("hoodie.bulkinsert.overwrite.operation.type", "insert_overwrite"),
        ("hoodie.deltastreamer.transformer.class", "org.x.Flatten"),
        ("hoodie.metaserver.enabled", "true"),
        ("hoodie.precommit.validators", "org.x.Validator"),
        ("hoodie.streamer.checkpoint.force.skip", "true"),
        ("hoodie.streamer.schemaprovider.schema_post_processor", "org.x.DropColumns"),
        ("hoodie.streamer.source.hoodieincr.data.datasource.options", "hoodie.datasource.read.incr.path.glob=a*"),
        ("hoodie.streamer.source.input.selector", "org.x.Selector"),
        ("hoodie.streamer.source.json.kafka.processor.class", "org.x.Maxwell"),
        ("hoodie.streamer.source.kafka.checkpoint.type", "timestamp"),
        ("hoodie.table.rt.file.format", "OTHER"),
        (_TARGET, "/schemas/target.avsc"),
    ],
)
def test_what_can_not_be_passed_over_is_refused_by_writers(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}={value} is not served: ".replace("*", "[*]")) as caught:
        writer_warnings({key: value})
    assert caught.value.details == {"key": key, "value": value}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.auto.commit", "true"),
        ("hoodie.auto.commit", ""),
        ("hoodie.streamer.checkpoint.force.skip", "false"),
        ("hoodie.streamer.source.kafka.checkpoint.type", "string"),
        ("hoodie.table.log.file.format", "HOODIE_LOG"),
    ],
)
def test_values_by_which_hudi_does_the_same_are_taken(key: str, value: str) -> None:
    assert writer_warnings({key: value}) == []


def test_a_target_schema_that_is_the_source_s_asks_for_nothing_more() -> None:
    source = "hoodie.deltastreamer.schemaprovider.source.schema.file"
    assert writer_warnings({_TARGET: "/schemas/trips.avsc", source: "/schemas/trips.avsc"}) == []
    with pytest.raises(ConfigError, match=f"{_TARGET}=/schemas/other.avsc is not served: .*: select and cast"):
        writer_warnings({_TARGET: "/schemas/other.avsc", source: "/schemas/trips.avsc"})
