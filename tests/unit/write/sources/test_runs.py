"""What runs of several batches tell and take, and which formats a checkpoint goes with."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake
from spark_jobs.engine.progress import Progress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.sources.checkpointed import is_checkpointed
from spark_jobs.write.sources.hudi import HudiSource
from spark_jobs.write.sources.run import Run
from spark_jobs.write.sources.totals import Totals

pytestmark = pytest.mark.unit


def options(**more: Any) -> IngestOptions:
    return IngestOptions(**{"base_path": "/lake/t", "source_format": "hudi", "source": ("/lake/s",), **more})


def batch(instant: str, inserts: int, before: str | None, after: str) -> JobResult:
    extra = {"checkpoint": after, "previous_checkpoint": before}
    return JobResult(action="commit", state=JobState.COMPLETED, instant=instant, inserts=inserts, extra=extra)


def test_batches_add_up() -> None:
    totals = Totals()
    assert totals.result is None
    assert totals.stopped("topic t", "SIGTERM") == (
        "stopped by SIGTERM before its first batch, after 0 batches of topic t"
    )
    nothing = JobResult(action="ingest", state=JobState.NOTHING_TO_DO, reason="so it is")
    totals.add(nothing)
    assert totals.result == nothing
    totals.add(batch("1", 2, None, "t,0:2"))
    totals.add(batch("2", 3, "t,0:2", "t,0:5"))
    totals.add(nothing)
    found = totals.result
    assert found is not None
    assert (found.state, found.instant, found.inserts) == (JobState.COMPLETED, "2", 5)
    assert found.extra == {"checkpoint": "t,0:5", "previous_checkpoint": None, "batches": 2}
    assert totals.stopped("topic t", "SIGINT") == ("stopped by SIGINT at checkpoint t,0:5, after 2 batches of topic t")


def test_options_of_checkpoints_stand_beside_kafka_and_hudi_alone() -> None:
    assert is_checkpointed(options())
    assert is_checkpointed(options(source_format="Kafka"))
    assert not is_checkpointed(options(source_format=None))
    with pytest.raises(ConfigError, match="--continuous says nothing for --source-format parquet"):
        is_checkpointed(options(source_format=None, continuous=True))


def test_batches_are_named_by_their_end_and_by_orders() -> None:
    def key(**more: Any) -> str | None:
        return Run(
            spark=None,  # type: ignore[arg-type]  # a name needs no session
            options=options(**more),
            progress=Progress.silent("ingest"),
            write=None,  # type: ignore[arg-type]
            lake=Lake(),
        ).key_of_batch("t,0:5")

    assert key() is None
    assert key(idempotency_key="k", checkpoint="t,0:0") == "k"
    assert key(idempotency_key="k", available_now=True) == "k/t,0:5"
    assert key(idempotency_key="k", available_now=True, checkpoint="t,0:0") == "k/from t,0:0/t,0:5"
    assert key(idempotency_key="k", continuous=True, ignore_checkpoint="2026") == "k/ignoring 2026/t,0:5"


def test_the_table_to_read_comes_by_option_or_key() -> None:
    conf = {
        "hoodie.deltastreamer.source.hoodieincr.path": "/lake/other",
        "hoodie.deltastreamer.source.hoodieincr.read_latest_on_missing_ckpt": "true",
    }
    found = HudiSource.of(options(source=(), hoodie_conf=conf, source_limit=7), Lake())
    assert (found.path, found.missing.value, found.limit) == ("/lake/other", "READ_LATEST", 7)
    assert HudiSource.of(options(), Lake()).limit == 5
    with pytest.raises(ConfigError, match="reads one table, not 2"):
        HudiSource.of(options(source=("/a", "/b")), Lake())
