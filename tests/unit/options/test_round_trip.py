"""What `to_args` writes, `from_args` reads back."""

import dataclasses
import pickle
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.options import (
    AlterTableOptions,
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    CreateTableOptions,
    HiveSyncOptions,
    IndexingOptions,
    IngestOptions,
    JobOptions,
)
from spark_jobs.options.flags import Flag, Kind, flags_of
from spark_jobs.options.private_values import write_options_file
from tests.words import all_words

pytestmark = pytest.mark.unit

KINDS = [
    IngestOptions,
    AlterTableOptions,
    CreateTableOptions,
    CompactionOptions,
    ClusteringOptions,
    CleanOptions,
    IndexingOptions,
    HiveSyncOptions,
]
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
NAME = TEXT.map(lambda text: text.replace(",", "").strip()).filter(bool)
KEY = TEXT.map(lambda text: text.replace("=", "")).filter(bool)


def _values(declared: Flag) -> st.SearchStrategy[object]:
    if declared.choices is not None:
        return st.sampled_from(declared.choices)
    return {
        Kind.TEXT: TEXT,
        Kind.INTEGER: st.integers(min_value=declared.least),
        Kind.BOOLEAN: st.booleans(),
        Kind.SWITCH: st.booleans(),
        Kind.NAMES: st.lists(NAME, max_size=3).map(tuple),
        Kind.TEXTS: st.lists(TEXT, max_size=3).map(tuple),
        Kind.PAIRS: st.dictionaries(KEY, TEXT, max_size=3),
    }[declared.kind]


def _options(kind: type[JobOptions]) -> st.SearchStrategy[JobOptions]:
    flags = flags_of(kind)
    optional = {name: _values(declared) for name, declared in flags.items() if name != "base_path"}
    if "plan_hash" in optional:  # which can't be empty
        optional["plan_hash"] = TEXT.filter(lambda text: text.strip() not in ("", "None"))
    return st.fixed_dictionaries({"base_path": TEXT.filter(bool)}, optional=optional).map(lambda given: kind(**given))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(data=st.data())
def test_arguments_read_back_to_an_equal_value(kind: type[JobOptions], data: st.DataObject) -> None:
    options = data.draw(_options(kind))
    assert kind.from_args(all_words(options)) == options
    with tempfile.TemporaryDirectory() as folder:
        write_options_file(f"{folder}/options", options.private_values())
        by_file = kind.from_args(options.to_args(f"{folder}/options"))
    assert by_file == options
    assert hash(by_file) == hash(options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_an_option_of_its_own_name(kind: type[JobOptions]) -> None:
    flags = flags_of(kind)
    assert list(flags) == [field.name for field in dataclasses.fields(kind)]
    names = [name for declared in flags.values() for name in declared.names]
    assert len(names) == len(set(names))


def test_options_pickle_by_value() -> None:
    options = IngestOptions(base_path="/t", source=["a"], hoodie_conf={"k": "v"})  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(options)) == options
