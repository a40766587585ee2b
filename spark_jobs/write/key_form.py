"""Whether the name of its column stands before the value in a table's record keys.

Of ComplexKeyGenerator with one column, Hudi wrote ``column:value`` until 0.14.0, the value alone from 0.14.1 to 1.0.2,
and ``column:value`` again in tables of version 9 (HUDI-7001, HUDI-9666). The table's properties don't say which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from spark_jobs.core.config.keys.write import COMPLEX_NEW_ENCODING
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.keygen.keys import record_keys
from spark_jobs.core.keygen.spec import Generator, KeySpec
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.table import HudiTable


def with_stored_form(spec: KeySpec, given: Mapping[str, str], table: HudiTable | None) -> KeySpec:
    """The key generator by which new keys are like those that the table has; in a new one as Hudi 0.15 makes them.

    :param given: all ``hoodie.*`` values of the write.
    :raises ConfigError: another form was asked for than the table's keys have.
    """
    if spec.generator is not Generator.COMPLEX or len(spec.record_key_fields) > 1:
        return spec
    asked = COMPLEX_NEW_ENCODING.of(given)
    stored = None if table is None else _names_columns(table, spec)
    if None not in (asked, stored) and asked is stored:
        name = spec.record_key_fields[0]
        raise ConfigError(
            f"{COMPLEX_NEW_ENCODING.name}={str(asked).lower()} contradicts the keys in the table, which are "
            + (f"{name}:VALUE" if stored else "values alone"),
            todo="leave the option out",
            key=COMPLEX_NEW_ENCODING.name,
        )
    return replace(spec, composite_key=asked is False if stored is None else stored)


def _names_columns(table: HudiTable, spec: KeySpec) -> bool | None:
    """By the first row that is found; None where there is none. Virtual keys are values alone."""
    if not table.config.populate_meta_fields:
        return False
    name = spec.record_key_fields[0]
    row = _any_row(table, [RECORD_KEY, name.partition(".")[0]])
    if row is None:
        return None
    key = row.column(RECORD_KEY)[0].as_py()
    if not key.startswith(f"{name}:"):
        return False
    return bool(key != record_keys(row, replace(spec, composite_key=False))[0].as_py())


def _any_row(table: HudiTable, columns: list[str]) -> pa.RecordBatch | None:
    """Looked for a partition at a time, in those of the newest writes first."""
    seen: set[str] = set()
    for partition in _partitions(table):
        if partition not in seen:
            seen.add(partition)
            for batch in table.scan(columns=columns, partitions=[partition]).batches():
                if batch.num_rows:
                    return batch.slice(0, 1)
    return None


def _partitions(table: HudiTable) -> Iterator[str]:
    for commit in reversed(table.timeline.completed_commits()):
        for stat in table.timeline.commit_metadata(commit, table.clock).write_stats:
            yield stat.partition_path
    yield from table.partitions()
