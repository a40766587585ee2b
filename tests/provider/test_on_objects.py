"""Tables on S3 as tasks use them: by a connection, whose secret stands nowhere but in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from tests.support.folder import Folder
from tests.support.s3 import S3_SERVER

pytestmark = pytest.mark.provider

SCRIPT = Path(__file__).parent / "scripts" / "objects_dag.py"
SECRETS = ("s3cr3t-of-the-connection", "s3cr3t-of-the-properties")
PROPERTIES = f"""\
hoodie.datasource.write.recordkey.field=id
hoodie.datasource.write.precombine.field=ts
hoodie.datasource.hive_sync.password={SECRETS[1]}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the run of the DAG left."""

    bucket: Folder
    folder: Path
    states: dict[str, str]
    log: str

    @property
    def xcoms(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "xcom.json").read_text()))


@pytest.fixture(scope="module")
def outcome(airflow_database: None, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    store = {**S3_SERVER.options(), "secret_access_key": SECRETS[0]}
    bucket = Folder(S3_SERVER.new_bucket(), Lake().reached_by(store))
    folder = tmp_path_factory.mktemp("objects")
    (bucket / "conf" / "trips.properties").write_text(PROPERTIES)
    for name, ids, ts in (("one", [1, 2], 1), ("two", [2], 2)):
        rows = pa.table({"id": pa.array(ids, pa.int64()), "v": [name] * len(ids), "ts": [ts] * len(ids)})
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink)
        (bucket / "landing" / f"{name}.parquet").write_bytes(sink.getvalue().to_pybytes())
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "PROBE_FOLDER": str(folder),
            "PROBE_BUCKET": str(bucket),
            "PROBE_STORE": json.dumps(store),
            "AIRFLOW__CORE__DAGS_FOLDER": str(SCRIPT.parent),
        },
    )
    states = [line.removeprefix("states: ") for line in done.stdout.splitlines() if line.startswith("states: ")]
    assert states, done.stdout
    return Outcome(bucket=bucket, folder=folder, states=json.loads(states[0]), log=done.stdout)


def test_tasks_sensors_and_a_tasks_own_look_reach_the_table(outcome: Outcome) -> None:
    refused = {"refused": "failed"}
    names = ("write", "again", "wait", "due", "compact", "validate", "look")
    assert outcome.states == {**dict.fromkeys(names, "success"), **refused}, outcome.log
    assert outcome.xcoms["wait"]["instants"] == [outcome.xcoms[name]["instant"] for name in ("write", "again")]
    assert outcome.xcoms["due"]["state"] == "DRY_RUN"
    assert outcome.xcoms["compact"]["state"] == "COMPLETED"
    assert outcome.xcoms["look"] is None  # it pulls before it returns
    table = HudiTable.open(f"{outcome.bucket}/lake/trips", lake=outcome.bucket.lake)
    rows = table.scan(columns=["id", "v"]).to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "v": "one"}, {"id": 2, "v": "two"}]


def test_the_result_is_where_it_was_asked_for(outcome: Outcome) -> None:
    result = json.loads((outcome.bucket / "results" / "write.json").read_text())
    assert result == outcome.xcoms["write"]


def test_an_option_that_nothing_reads_fails_at_once(outcome: Outcome) -> None:
    assert "the storage option aws_regoin is not known: give those of AWS" in outcome.log


def test_the_secret_stands_in_no_log_argument_xcom_or_file(outcome: Outcome) -> None:
    calls = [json.loads(line) for line in (outcome.folder / "seen.jsonl").read_text().splitlines()]
    assert len(calls) >= 4
    assert all("--options-file" in call["words"] for call in calls)
    texts = {
        "the log": outcome.log.encode(),
        "how jobs were called": json.dumps(calls).encode(),
        "xcoms": (outcome.folder / "xcom.json").read_bytes(),
        **{str(path): path.read_bytes() for path in Path(os.environ["AIRFLOW_HOME"]).rglob("*") if path.is_file()},
    }
    place = outcome.bucket.lake.place(str(outcome.bucket))
    objects = [status.path for status in place.storage.walk(place.path)]
    assert any(path.endswith(".deltacommit") for path in objects)
    texts |= {path: place.storage.read(path) for path in objects if not path.endswith("/trips.properties")}
    found = [(secret, where) for secret in SECRETS for where, text in texts.items() if secret.encode() in text]
    assert found == []
