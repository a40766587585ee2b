"""Which partitions an overwrite or a delete takes, and what the options make of an operation."""

from __future__ import annotations

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.keys.datasource import DuplicatePolicy
from spark_jobs.core.errors import ConfigError, TableNotFoundError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.timeline.plans.rewriting import requested_overwrite
from spark_jobs.core.timeline.steps import request
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import WriteConfig, resolve
from spark_jobs.write.overwrite import (
    matching_partitions,
    overwritten_partitions,
    refuse_paths_outside,
)
from tests.support.folder import Folder
from tests.unit.core.support import new_table

pytestmark = pytest.mark.unit

EXISTING = ["2024/01/01", "2024/01/02", "2024/11/01", "dt=2024-01-01/hour=1", "dt=2024-01-01/hour=12", "a.b", "a+b"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((), []),
        (("2024/01/01",), ["2024/01/01"]),
        (("2024/01/01", "2024/01/01"), ["2024/01/01"]),
        (("nowhere",), ["nowhere"]),  # one that is named is taken at its word
        (("nowhere*",), []),
        (("2024/01/*",), ["2024/01/01", "2024/01/02"]),
        (("2024/*/01",), ["2024/01/01", "2024/11/01"]),
        (("*/01",), ["2024/01/01", "2024/11/01"]),
        (("2024*",), ["2024/01/01", "2024/01/02", "2024/11/01"]),
        (("dt=2024-01-01/hour=*",), ["dt=2024-01-01/hour=1", "dt=2024-01-01/hour=12"]),
        (("dt=*/hour=1",), ["dt=2024-01-01/hour=1"]),
        (("a.*",), ["a.b"]),  # a dot is a dot
        (("a+*", "2024/11/01"), ["2024/11/01", "a+b"]),
        (("*",), sorted(EXISTING)),
    ],
)
def test_matching_partitions(asked: tuple[str, ...], expected: list[str]) -> None:
    assert matching_partitions(asked, EXISTING) == expected


def config(path: Folder, op: str, **conf: str) -> WriteConfig:
    """Of a write to a new table."""
    options = IngestOptions(base_path=str(path), op=Operation(op), hoodie_conf=tuple(conf.items()))
    return resolve(options, new_table(path, merge_on_read=False), path.lake)


DROP = "hoodie.datasource.write.insert.drop.duplicates"
POLICY = "hoodie.datasource.insert.dup.policy"
MODE = "hoodie.datasource.overwrite.mode"
STATIC = "hoodie.static.overwrite.partition.paths"


@pytest.mark.parametrize(
    ("op", "conf", "operation", "policy", "action"),
    [
        ("upsert", {}, "upsert", "none", "commit"),
        ("upsert", {DROP: "true"}, "insert", "drop", "commit"),
        ("upsert", {POLICY: "fail"}, "upsert", "none", "commit"),
        ("insert", {POLICY: "fail"}, "insert", "fail", "commit"),
        ("insert", {POLICY: "drop"}, "insert", "drop", "commit"),
        ("insert_overwrite", {}, "insert_overwrite", "none", "replacecommit"),
        ("insert_overwrite", {MODE: "static"}, "insert_overwrite_table", "none", "replacecommit"),
        ("insert_overwrite", {MODE: "static", STATIC: "a"}, "insert_overwrite", "none", "replacecommit"),
        ("delete_partition", {}, "delete_partition", "none", "replacecommit"),
    ],
)
def test_what_the_options_make_of_an_operation(
    root: Folder, op: str, conf: dict[str, str], operation: str, policy: str, action: str
) -> None:
    found = config(root / "t", op, **conf)
    assert (found.operation, found.duplicates, found.action) == (
        Operation(operation),
        DuplicatePolicy(policy),
        Action(action),
    )
    assert found.looks_up == (found.operation is Operation.UPSERT or policy != "none")


def test_what_the_options_refuse(root: Folder) -> None:
    with pytest.raises(ConfigError, match=r"insert\.drop\.duplicates=true can't be used with bulk_insert"):
        config(root / "t", "bulk_insert", **{DROP: "true"})
    with pytest.raises(ConfigError, match=r"sort\.mode=SORTED is not valid"):
        config(root / "u", "bulk_insert", **{"hoodie.bulkinsert.sort.mode": "SORTED"})
    with pytest.raises(TableNotFoundError, match="no table at"):
        resolve(IngestOptions(base_path=str(root / "w"), op=Operation.DELETE_PARTITION), None, root.lake)


def test_overwritten_partitions(root: Folder) -> None:
    table = new_table(root / "t", merge_on_read=False)

    def overwritten(op: str, **conf: str) -> list[str]:
        options = IngestOptions(base_path=str(root / "t"), op=Operation(op), hoodie_conf=tuple(conf.items()))
        return overwritten_partitions(resolve(options, table, root.lake), table, ["b", "a"])

    assert overwritten("insert_overwrite") == ["a", "b"]
    assert overwritten("insert_overwrite", **{STATIC: "c, d"}) == ["c", "d"]
    assert overwritten("insert_overwrite_table") == ["a", "b"]  # and those of the table, which has none yet


@pytest.mark.parametrize("path", ["../t", "a/../../t", ".", "a//b", "/a", "a/", ".hoodie", ".hoodie/metadata"])
def test_paths_that_a_clean_must_not_delete(path: str) -> None:
    with pytest.raises(ConfigError, match=f"the.key names '{path}', which"):
        refuse_paths_outside(["a", path], "the.key")
    refuse_paths_outside(["a", "a/b", "dt=..", "*", "a.b/*"], "the.key")


def test_the_requested_file_is_no_plan_of_a_clustering(root: Folder) -> None:
    table = new_table(root / "t", clock=SYSTEM_CLOCK)
    instant = request(table.timeline, "20240506000000001", Action.REPLACE_COMMIT, requested_overwrite())
    found = table.refreshed().timeline.payload(instant.at(State.REQUESTED), SYSTEM_CLOCK)
    assert set(found.values()) == {None}
    assert table.refreshed().pending.clustering == {}
