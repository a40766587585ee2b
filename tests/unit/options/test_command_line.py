"""The words that the contract promises, and the one line that a wrong one gets."""

import pytest

from spark_jobs.options import (
    ClusteringOptions,
    CompactionOptions,
    HiveSyncOptions,
    IngestOptions,
    Operation,
    OptionsError,
    ServiceMode,
    TableType,
)

pytestmark = pytest.mark.unit


def test_ingest_reads_the_words_of_the_contract() -> None:
    words = "--base-path /lake/t --table-name t --source-format csv --source a b --source c --source-option header=true"
    words += " --source-option sep== --table-type merge_on_read --op BULK_INSERT --record-key-fields a,b"
    words += " --partition-path-fields c,d --precombine-field ts --idempotency-key k --hoodie-conf x=y --dry-run"
    assert IngestOptions.from_args(words.split()) == IngestOptions(
        base_path="/lake/t",
        table_name="t",
        source_format="csv",
        source=("a", "b", "c"),
        source_options={"header": "true", "sep": "="},
        table_type=TableType.MERGE_ON_READ,
        op=Operation.BULK_INSERT,
        record_key_fields=("a", "b"),
        partition_path_fields=("c", "d"),
        precombine_field="ts",
        idempotency_key="k",
        hoodie_conf={"x": "y"},
        dry_run=True,
    )


def test_hudis_own_names_of_the_table_are_taken() -> None:
    options = CompactionOptions.from_args(["--target-base-path", "/t", "--target-table", "n", "--mode", "execute"])
    assert (options.base_path, options.table_name, options.mode) == ("/t", "n", ServiceMode.EXECUTE)


def test_a_service_plans_and_executes_when_not_told_otherwise() -> None:
    assert ClusteringOptions.from_args(["--base-path=/t"]).mode is ServiceMode.SCHEDULE_AND_EXECUTE


def test_hive_sync_flags_stand_for_hive_sync_keys() -> None:
    words = (
        "--base-path /t --database d --table h --metastore-uris thrift://m:9083 --partitioned-by a,b --sync-mode hms"
    )
    words += " --partition-value-extractor x.Y --skip-ro-suffix --support-timestamp true --batch-sync-num 7"
    assert HiveSyncOptions.from_args(words.split()).hoodie_properties() == {
        "hoodie.datasource.hive_sync.database": "d",
        "hoodie.datasource.hive_sync.table": "h",
        "hoodie.datasource.hive_sync.metastore.uris": "thrift://m:9083",
        "hoodie.datasource.hive_sync.partition_fields": "a,b",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.partition_extractor_class": "x.Y",
        "hoodie.datasource.hive_sync.skip_ro_suffix": "true",
        "hoodie.datasource.hive_sync.support_timestamp": "true",
        "hoodie.datasource.hive_sync.batch_num": "7",
    }


def test_a_password_is_not_shown() -> None:
    assert "hunter2" not in repr(HiveSyncOptions(base_path="/t", password="hunter2"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--base-path is missing: give the base path of the table"),
        ("--base-path /t --sorce x", "--sorce is no option of ingest: did you mean --source?"),
        (
            "--base-path /t --recordkey-fields=x",
            "--recordkey-fields is no option of ingest: did you mean --record-key-fields?",
        ),
        (
            "--base-path /t --spark-master yarn",
            "--spark-master is an option of Hudi's own tools: give --master to spark-submit, before ingest.py",
        ),
        (
            "--base-path /t --executor-memory=2g",
            "--executor-memory is an option of spark-submit: give it before ingest.py, not behind it",
        ),
        ("--base-path /t --zzzzzzzzzzz", "--zzzzzzzzzzz is no option of ingest: see --help"),
        (
            "--base-path /t --table-type MOR",
            "--table-type: 'MOR' is not valid: give one of COPY_ON_WRITE, MERGE_ON_READ",
        ),
        ("--base-path /t --hoodie-conf x", "--hoodie-conf: give name=value"),
        ("--base-path /t x", "'x' belongs to no option of ingest: see --help"),
        ("--base-path", "--base-path/--target-base-path: expected one argument"),
        ("--base /t", "--base is no option of ingest: did you mean --base-path?"),
    ],
)
def test_a_wrong_word_gets_one_line_and_exit_code_2(words: str, message: str) -> None:
    with pytest.raises(OptionsError) as caught:
        IngestOptions.from_args(words.split())
    assert str(caught.value) == message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"op": "merge"}, "--op=merge is not valid: give one of upsert, "),
        ({"record_key_fields": ["a,b"]}, "--record-key-fields=['a,b'] is not valid: 'a,b' is no name"),
        ({"hoodie_conf": {"a=b": "c"}}, "is not valid: 'a=b' is no name"),
        ({"dry_run": "maybe"}, "--dry-run=maybe is not valid: give true or false"),
        ({"base_path": ""}, "--base-path is missing"),
    ],
)
def test_a_wrong_keyword_argument_is_refused_at_construction(given: dict[str, object], message: str) -> None:
    with pytest.raises(OptionsError, match=message.replace("[", r"\[")):
        IngestOptions(**{"base_path": "/t", **given})  # type: ignore[arg-type]


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        IngestOptions.from_args(["--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert "--record-key-fields" in printed
    assert "--idempotency-key" in printed
