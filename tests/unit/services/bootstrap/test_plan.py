"""What a bootstrap would do, without a table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.config.keys.bootstrap import BootstrapMode
from spark_jobs.core.errors import ConfigError
from spark_jobs.services.bootstrap.plan import mode_of, pieces_of, plan_bootstrap
from spark_jobs.services.bootstrap.source import SourceFile, hive_fields, list_source
from tests.support.folder import Folder
from tests.unit.services.bootstrap.sources import ALL_COPIED, NORTH_STAYS, make_source

pytestmark = pytest.mark.unit


def file(path: str) -> SourceFile:
    return SourceFile(path=path, size=10, modified_ms=1, etag="e")


@pytest.mark.parametrize(
    ("given", "modes"),
    [
        ({}, "MM"),
        (ALL_COPIED, "FF"),
        (NORTH_STAYS, "MF"),
        ({**NORTH_STAYS, "hoodie.bootstrap.mode.selector.regex.mode": "full_record"}, "FM"),
        ({**NORTH_STAYS, "hoodie.bootstrap.mode.selector.regex": "nor"}, "FF"),  # the whole path has to match
        ({"hoodie.bootstrap.mode.selector.regex": "north"}, "MM"),  # the selector does not ask for it
    ],
)
def test_the_selector_chooses_by_partition(given: dict[str, str], modes: str) -> None:
    found = [mode_of(partition, given) for partition in ("north", "south")]
    letters = {BootstrapMode.METADATA_ONLY: "M", BootstrapMode.FULL_RECORD: "F"}
    assert "".join(letters[one] for one in found) == modes


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("hoodie.bootstrap.mode.selector", "com.acme.Mine", "BootstrapRegexModeSelector"),
        ("hoodie.bootstrap.mode.selector.regex.mode", "BOTH", "FULL_RECORD"),
        ("hoodie.bootstrap.mode.selector.regex", "(", "regular expression"),
    ],
)
def test_a_wrong_value_is_told(key: str, value: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        mode_of("north", {**NORTH_STAYS, key: value})


def test_only_parquet_files_that_are_not_hidden_are_listed(root: Folder) -> None:
    source = list_source(root.storage, str(make_source(root / "s", hive=True)))
    assert [one.path for one in source.files] == [
        f"region={region}/part-{part}.parquet" for region in ("north", "south") for part in (0, 1)
    ]
    assert source.partitions == ("region=north", "region=south")


@pytest.mark.parametrize(
    ("partitions", "fields"),
    [
        (["a=1/b=2", "a=2/b=x"], ("a", "b")),
        (["a=1", "b=1"], ()),
        (["a=1", "a=1/b=2"], ()),
        (["north"], ()),
        ([""], ()),
        ([], ()),
    ],
)
def test_folders_name_columns_where_all_name_the_same(partitions: list[str], fields: tuple[str, ...]) -> None:
    assert hive_fields(partitions) == fields


@pytest.mark.parametrize(("count", "most", "sizes"), [(5, 1500, [1] * 5), (5, 2, [2, 3]), (5, 1, [5]), (0, 3, [])])
def test_pieces_are_as_many_as_allowed(count: int, most: int, sizes: list[int]) -> None:
    files = [file(str(number)) for number in range(count)]
    pieces = pieces_of(files, most)
    assert [len(piece) for piece in pieces] == sizes
    assert [one for piece in pieces for one in piece] == files


def test_a_plan_is_named_by_files_modes_and_table() -> None:
    schema = pa.schema([("id", pa.string())])
    files = [file("north/a.parquet"), file("south/b.parquet")]
    plan = plan_bootstrap(files, {"name": "t"}, "/s", schema, NORTH_STAYS)
    assert (plan.kept, plan.copied) == (tuple(files[:1]), tuple(files[1:]))
    assert (plan.bytes, plan.bytes_copied) == (20, 10)
    digests = {
        plan.facts().digest,
        plan_bootstrap(files, {"name": "t"}, "/s", schema, ALL_COPIED).facts().digest,
        plan_bootstrap(files, {"name": "u"}, "/s", schema, NORTH_STAYS).facts().digest,
        plan_bootstrap(files[:1], {"name": "t"}, "/s", schema, NORTH_STAYS).facts().digest,
        plan_bootstrap(files, {"name": "t"}, "/z", schema, NORTH_STAYS).facts().digest,
    }
    assert len(digests) == 5
    assert plan_bootstrap(files, {"name": "t"}, "/s", schema, NORTH_STAYS).facts().digest == plan.facts().digest
