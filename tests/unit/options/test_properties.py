"""Where a setting comes from: an option over `--hoodie-conf` over the file of `--props`."""

from pathlib import Path

import pytest

from spark_jobs.options import HiveSyncOptions, IngestOptions, Operation, OptionsError, TableType
from spark_jobs.options.properties import parse_properties, read_properties

pytestmark = pytest.mark.unit

FILE = """
# a comment
! another
hoodie.datasource.write.operation=insert
hoodie.datasource.write.recordkey.field = a, b
hoodie.datasource.write.partitionpath.field: c
hoodie.datasource.write.precombine.field ts
hoodie.datasource.write.table.type=MERGE_ON_READ
hoodie.table.name=from_file
hoodie.long=one,\\
    two
"""


@pytest.fixture
def props(tmp_path: Path) -> str:
    path = tmp_path / "ingest.properties"
    path.write_text(FILE)
    return str(path)


def test_the_file_sets_what_nothing_else_sets(props: str) -> None:
    options = IngestOptions(base_path="/t", props=props).effective()
    assert options.table_name == "from_file"
    assert options.op is Operation.INSERT
    assert options.table_type is TableType.MERGE_ON_READ
    assert options.record_key_fields == ("a", "b")
    assert options.partition_path_fields == ("c",)
    assert options.precombine_field == "ts"


def test_hoodie_conf_wins_over_the_file_and_an_option_over_both(props: str) -> None:
    conf = {"hoodie.datasource.write.operation": "UPSERT", "hoodie.table.name": "from_conf"}
    options = IngestOptions(base_path="/t", props=props, hoodie_conf=conf, table_name="from_option").effective()
    assert options.op is Operation.UPSERT
    assert options.table_name == "from_option"
    assert options.precombine_field == "ts"


def test_an_older_key_in_hoodie_conf_wins_over_the_first_key_in_the_file(props: str) -> None:
    options = IngestOptions(base_path="/t", props=props, hoodie_conf={"hoodie.table.precombine.field": "v"})
    assert options.effective().precombine_field == "v"


def test_nothing_set_stays_unset() -> None:
    options = IngestOptions(base_path="/t").effective()
    assert (options.op, options.table_type, options.record_key_fields) == (None, None, ())


def test_properties_are_merged_in_the_same_order(props: str) -> None:
    options = IngestOptions(
        base_path="/t",
        props=f"file://{props}",
        hoodie_conf={"hoodie.long": "three", "hoodie.table.precombine.field": "old"},
        precombine_field="v",
        record_key_fields=("k",),
    )
    merged = options.hoodie_properties()
    assert merged["hoodie.datasource.write.operation"] == "insert"
    assert merged["hoodie.long"] == "three"
    assert merged["hoodie.datasource.write.precombine.field"] == "v"
    assert "hoodie.table.precombine.field" not in merged
    assert merged["hoodie.datasource.write.recordkey.field"] == "k"


def test_a_bad_value_names_its_key() -> None:
    options = HiveSyncOptions(base_path="/t", hoodie_conf={"hoodie.datasource.hive_sync.batch_num": "many"})
    with pytest.raises(OptionsError, match=r"hoodie\.datasource\.hive_sync\.batch_num=many is not valid: give a whole"):
        options.effective()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"nowhere can't be read \(No such file or directory\)"):
        IngestOptions(base_path="/t", props=str(tmp_path / "nowhere")).hoodie_properties()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=b=c", {"a": "b=c"}),
        ("  a  :  b ", {"a": "b "}),
        ("a", {"a": ""}),
        ("a=1\na=2", {"a": "2"}),
        (r"a\=b=c\tdé", {"a=b": "c\tdé"}),
        ("a=b\\\n   c\\\n  d", {"a": "bcd"}),
        ("a=b\r\n#c\r\nd=e", {"a": "b", "d": "e"}),
        ("a=b\\", {"a": "b"}),
    ],
)
def test_java_properties(text: str, pairs: dict[str, str]) -> None:
    assert parse_properties(text) == pairs


def test_a_broken_escape_is_refused() -> None:
    with pytest.raises(OptionsError, match="four hexadecimal digits"):
        parse_properties(r"a=\u12")


def test_two_escapes_can_spell_one_character_and_half_of_one_is_refused() -> None:
    assert parse_properties(r"a=\ud83d\ude00\u00e9") == {"a": "\U0001f600é"}
    for text in (r"a=\ud83d", r"\ude00=a", r"a=\ude00\ud83d"):
        with pytest.raises(OptionsError, match=r"^p: .* is no Unicode text: spell whole characters$"):
            parse_properties(text, "p")


@pytest.mark.parametrize("field", ["table_name", "record_key_fields", "hoodie_conf"])
def test_words_with_half_characters_are_named(field: str) -> None:
    given = {"table_name": "a\ud800", "record_key_fields": ("a", "\udcff"), "hoodie_conf": {"a": "\udfff"}}
    with pytest.raises(OptionsError, match=r"^--[a-z-]+(=.*\\ud.*)? is not valid: .* is no Unicode text$"):
        IngestOptions(base_path="/t", **{field: given[field]})  # type: ignore[arg-type]


@pytest.mark.parametrize("endless", [True, False])
def test_a_file_that_is_no_list_of_properties_is_refused_by_its_size(endless: bool, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"a=b\n" * (1 << 19))
    location = "/dev/zero" if endless else str(file)
    with pytest.raises(OptionsError, match=f"--props {location} has more than 1048576 bytes: give a file"):
        read_properties(location)
