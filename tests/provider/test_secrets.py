"""What an operator hands to spark-submit where a secret is among the options. The processes are real, without a JVM."""

from __future__ import annotations

import json
import stat
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_pyhudi import HudiIngestOperator
from airflow_provider_pyhudi.operators import base
from tests.support.operators import execute

pytestmark = pytest.mark.provider

SUBMIT = """
    import json, os, sys
    words = sys.argv[1:]
    option = lambda name: next(word.split("=", 1)[1] for word in words if word.startswith(f"--{name}="))
    name = option("options-file")
    file = name if "/" in name else words[words.index("--files") + 1].split(",")[-1]
    said = {"words": words, "mode": os.stat(file).st_mode, "file": file, "options": json.load(open(file)), "name": name}
    open(os.environ["SEEN"], "w").write(json.dumps(said))
    open(option("result-file"), "w").write('{"action": "commit", "state": "COMPLETED", "instant": "20240101000000000"}')
"""
SECRETS = ("s3cr3t-of-the-url", "s3cr3t-password", "s3cr3t-of-hive", "s3cr3t-of-unknown-name")


def seen(tmp_path: Path, **given: Any) -> dict[str, Any]:
    submit = tmp_path / "spark-submit"
    submit.write_text(f"#!{sys.executable}\n" + textwrap.dedent(SUBMIT))
    submit.chmod(submit.stat().st_mode | stat.S_IXUSR)
    operator = HudiIngestOperator(
        task_id="t",
        base_path="/lake/t",
        source_format="jdbc",
        source_options={"url": f"jdbc:x://h/db?password={SECRETS[0]}", "password": SECRETS[1], "one.key": SECRETS[3]},
        hoodie_conf={"hoodie.datasource.hive_sync.password": SECRETS[2]},
        idempotency_key="k",
        spark_binary=str(submit),
        env_vars={"SEEN": str(tmp_path / "seen")},
        result_file=str(tmp_path / "result.json"),
        **given,
    )
    execute(operator)
    found: dict[str, Any] = json.loads((tmp_path / "seen").read_text())
    return found


def test_secrets_go_by_a_private_file(
    tmp_path: Path, airflow_database: None, capsys: pytest.CaptureFixture[str]
) -> None:
    found = seen(tmp_path)
    said = " ".join(found["words"]) + capsys.readouterr().out
    assert [secret for secret in SECRETS if secret in said] == []
    assert stat.S_IMODE(found["mode"]) == 0o600
    assert [secret for secret in SECRETS if secret not in json.dumps(found["options"])] == []
    assert not Path(found["file"]).exists()
    assert "Spark-Submit cmd" in said


def test_spark_brings_the_file_to_a_remote_driver(
    tmp_path: Path, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", '{"conn_type": "spark", "host": "yarn"}')
    found = seen(tmp_path, spark_conn_id="cluster", deploy_mode="cluster", files="/my/file")
    assert found["words"][found["words"].index("--files") + 1] == f"/my/file,{found['file']}"
    assert found["name"] == Path(found["file"]).name == "pyhudi-options.json"


def test_secrets_are_masked_wherever_they_stand_in_rendered_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    masked: list[str] = []
    monkeypatch.setattr(base, "mask_secret", masked.append)
    operator = HudiIngestOperator(
        task_id="t",
        base_path="/lake/t",
        source=["ftp://me:{{ 'in-a-list' }}@host/x", "/plain"],
        source_options={"password": "{{ 'in-a-mapping' }}"},
        hoodie_conf={"hoodie.x.token.is.used": "false"},
    )
    operator.render_template_fields({})  # type: ignore[typeddict-item]  # the templates ask for nothing
    assert sorted(masked) == ["in-a-list", "in-a-mapping"]  # a log without the word false can't be read
