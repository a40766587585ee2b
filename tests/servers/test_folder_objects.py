"""The objects that Hadoop's connectors leave for folders, ``a/`` and ``a_$folder$``, stand beside those of a table."""

from __future__ import annotations

import pytest
from pyarrow.fs import S3FileSystem

from spark_jobs.core.lake import Lake
from tests.faults import local_table as local
from tests.faults.life import COW, MOR, STEPS, STEPS_OF, check
from tests.support.folder import Folder
from tests.support.servers import Server

pytestmark = pytest.mark.s3
NO_FILE = (".hoodie/.temp", ".hoodie/archived", ".hoodie/.schema", "of", "of/nothing")
"""Folders that such a connector made before there was anything in them."""


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_life_among_them(server: Server, table_type: str) -> None:
    bucket = Folder(server.new_bucket(), Lake().reached_by(server.options()))
    table = bucket / "lake/t"
    local.create(table, table_type)
    for name in STEPS_OF[table_type]:
        put_folders(pyarrows(server), bucket, table)
        STEPS[name][0](table)
        check(table, table_type, name)


def pyarrows(server: Server) -> S3FileSystem:
    """It makes a folder as S3A does."""
    given = server.options()
    return S3FileSystem(
        access_key=given["access_key_id"], secret_key=given["secret_access_key"], endpoint_override=given["endpoint"]
    )


def put_folders(made_by: S3FileSystem, bucket: Folder, table: Folder) -> None:
    """Both kinds for each folder of the table, and around it; S3A with kept markers has the first for all of them."""
    files = [one.relative_to(bucket) for one in table.walk()]
    folders = {folder for one in files for folder in one.parents if str(folder) != "."}
    folders |= {table.relative_to(bucket) / one for one in NO_FILE}
    for folder in sorted(folders):
        made_by.create_dir(f"{bucket.name}/{folder}", recursive=True)
        (bucket / f"{folder}_$folder$").write_bytes(b"")
