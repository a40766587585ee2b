"""Tables of Hudi's index CONSISTENT_HASHING, whose buckets split and merge (Hudi: HoodieConsistentBucketIndex, RFC-42).

A file of each partition says by the prefixes of their ids which file groups are its buckets; Hudi looks keys up there
and nowhere else. Records that another index puts elsewhere are written a second time by its next update, and what it
writes to a bucket whose file group was replaced is never read.
"""

from __future__ import annotations

from spark_jobs.core.errors import UnsupportedTableError
from spark_jobs.core.format.folders import CONSISTENT_HASHING_FOLDER
from spark_jobs.core.storage import Storage


def refuse_consistent_hashing(storage: Storage, base_path: str, name: str, verb: str) -> None:
    """
    :param verb: what is not done to such a table.
    :raises UnsupportedTableError: the table has buckets that split and merge.
    """
    if storage.has_folder(f"{base_path}/{CONSISTENT_HASHING_FOLDER}"):
        raise UnsupportedTableError(
            f"table {name} has buckets of the index CONSISTENT_HASHING ({CONSISTENT_HASHING_FOLDER}), "
            f"which this release does not {verb}",
            todo=f"{verb} it with Hudi",
            table=name,
        )
