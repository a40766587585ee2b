"""Keys of several columns that the values of another record give, too (``--deep``): as in Hudi, one of two such records
takes the other's place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys.bootstrap import BOOTSTRAP_BASE_PATH
from spark_jobs.core.config.keys.keygen import REFUSE_AMBIGUOUS
from spark_jobs.core.errors import HudiError
from spark_jobs.core.keygen.keys import ambiguous_keys, record_keys
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, warning
from spark_jobs.services.validation.scans import Scans

_REMEDY = f"correct the values in the source and write them again ({REFUSE_AMBIGUOUS.name}=true refuses such rows)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _AmbiguityLook:
    """Looks at the key columns of a slice; pickles. ``columns`` are read for them, None: all."""

    reader: SliceReader
    spec: KeySpec
    columns: tuple[str, ...] | None

    def __call__(self, one: FileSlice) -> tuple[int, str]:
        """How many such keys its rows have, and one of them; none where they can't be read, which others report."""
        count, example = 0, ""
        try:
            for batch in self.reader.read(one, self.columns):
                places = pc.indices_nonzero(ambiguous_keys(batch, self.spec))
                if len(places):
                    count += len(places)
                    example = example or record_keys(batch.take(places[:1]), self.spec)[0].as_py()
        except HudiError:
            return 0, ""
        return count, example


def check_ambiguous_keys(evidence: Evidence, scans: Scans) -> Iterator[Finding]:
    """Of tables with keys of several columns of which one is a text."""
    config = evidence.table.config
    slices = evidence.view.latest_slices() if evidence.view is not None else ()
    fields = config.record_key_fields
    if evidence.view is None or not slices or len(fields) < 2:
        return
    columns = tuple(dict.fromkeys(name.split(".")[0] for name in fields))
    reader = evidence.reader(evidence.view)
    kinds = [reader.schema.field(name).type for name in columns if name in reader.schema.names]
    if not any(pa.types.is_string(kind) or pa.types.is_nested(kind) for kind in kinds):
        return
    scan = _AmbiguityLook(
        reader=reader,
        spec=KeySpec.of(fields, (), hive_style=False, url_encode=False),
        columns=None if BOOTSTRAP_BASE_PATH.of(config.properties) else columns,
    )
    with scans.progress.phase("composite keys", len(slices)) as phase:
        found = scans.each(slices, scan, [one.size for one in slices], phase.advance)
        for one, (count, example) in zip(slices, found, strict=True):
            if count:
                what = f"other values than its own give key {example!r}, too ({count} such key(s))"
                yield warning(2, one.paths[0], what, _REMEDY)
