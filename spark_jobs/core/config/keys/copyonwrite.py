"""Keys of how records are spread over files: their estimated size, and the files that inserts make."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean, integer, real

RECORD_SIZE_ESTIMATE = Key(
    name="hoodie.copyonwrite.record.size.estimate",
    parse=integer(1),
    default=1024,
    doc="Bytes of a record, until commits tell.",
)
INSERT_SPLIT_SIZE = Key(
    name="hoodie.copyonwrite.insert.split.size",
    parse=integer(1),
    default=500000,
    doc="Records of a new file group without auto split.",
)
INSERT_AUTO_SPLIT = Key(
    name="hoodie.copyonwrite.insert.auto.split",
    parse=boolean,
    default=True,
    doc="Size new file groups by the average record.",
)
SIZE_ESTIMATION_THRESHOLD = Key(
    name="hoodie.record.size.estimation.threshold",
    parse=real,
    default=1.0,
    doc="A commit tells the record size when it wrote more than this part of the small-file limit.",
)
