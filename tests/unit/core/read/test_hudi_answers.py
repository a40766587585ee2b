"""Every query of every table that Hudi made, and what Hudi 0.15 answered (``tests/fixtures/make_answers.py``).

What is told of the tables below is why the two answers differ there, and nowhere else.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.table import HudiTable
from tests.fixtures.answers import ANSWERS, Question, tables, texts
from tests.hudi_tables import is_here, unpack
from tests.support.folder import Folder, read_parquet

pytestmark = pytest.mark.unit

META = tuple(f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name"))
LEFT_OUT = {
    **{
        f"keygen_tables/{name}": columns
        for name, columns in {
            "complex_base": ("place",),
            "complex_logs": ("place",),
            "custom_logs": ("sub", "millis"),
            "time_millis_logs": ("millis",),
            "time_text_base": ("day",),
            "time_unix_base": ("seconds",),
        }.items()
    },
    "shared/cow-v6_timebasedkeygen_nonhivestyle": ("ts_str",),  # where it reads base files Hudi shows the folder's text
    "layout_tables/dropped_number": ("number",),  # Hudi's incremental queries have null for a column of paths alone
    "layout_tables/dropped_word": ("word",),
    "layout_tables/virtual_base": META,  # which are null here, and missing in Hudi's answers
    "layout_tables/virtual_logs": META,
    "shared/mor-parquet-v6_simplekeygen_hivestyle_no_metafields": META,
}
"""Columns in which the answers differ."""
CLEANED = {"metadata_tables/indexed_cow": ("20261121160629811",), "tables/cow_clustered": ("20261121123815706",)}
"""Where Hudi answers for a range whose end can't be read any more, by what is left of the files of its commits."""
DOUBLED = ("log_tables/logs_resizing",)
"""Where Hudi's incremental queries give each record twice: of the old bucket, and of the one that is not made yet."""


@cache
def answers() -> dict[str, dict[Question, list[str]]]:
    found: dict[str, dict[Question, list[str]]] = defaultdict(dict)
    for one in read_parquet(ANSWERS).to_pylist():
        question = Question(one["table"], one["query"], one["begin"], one["end"])
        rows = found[question.table].setdefault(question, [])
        rows += [one["row"]] if one["row"] is not None else []
    return found


def ask(table: HudiTable, question: Question) -> pa.Table:
    begin, end = question.begin or None, question.end or None
    if question.query == "incremental":
        return table.scan(query="incremental", begin=begin, end=end).to_arrow()
    return table.scan(query=question.query, as_of=end).to_arrow()


def keys_of(rows: list[str]) -> list[str]:
    return [json.loads(row)["_hoodie_record_key"] for row in rows]


def without(columns: tuple[str, ...], rows: list[str]) -> list[str]:
    left = [{name: value for name, value in json.loads(row).items() if name not in columns} for row in rows]
    return sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in left)


@pytest.mark.parametrize("name", tables())
def test_we_answer_what_hudi_answered(name: str, root: Folder) -> None:
    if not is_here(name):
        pytest.skip("not here: name the folder of Hudi's tables by PYHUDI_FIXTURES")
    table = (unpack(name, root)).table()
    found = answers()[name]
    assert found  # if not to each question: of Parquet logs with bytes Hudi reads no snapshot
    for question, wanted in found.items():
        if question.table in CLEANED and question.end in CLEANED[question.table]:
            with pytest.raises(ConfigError, match="cleaning removed files that this needs"):
                ask(table, question)
            continue
        rows = texts(ask(table, question))
        if name in DOUBLED and question.query == "incremental":
            assert set(rows) <= set(wanted), question
            assert sorted(keys_of(rows)) == sorted(set(keys_of(wanted))), question
            continue
        differing = LEFT_OUT.get(name, ())
        assert without(differing, rows) == without(differing, wanted), question
