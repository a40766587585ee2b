"""Where the output of a job may be put, as far up as one may look for tables around it."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import AccessDeniedError
from spark_jobs.engine.output_file import OutputFile
from spark_jobs.options import OptionsError
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.through import Through

pytestmark = pytest.mark.unit


class OfTables(Through):
    """A policy that lets nobody list above the folder of the tables."""

    top = ""

    def has_folder(self, path: str) -> bool:
        if not path.startswith(self.top):
            raise AccessDeniedError(f"{path} can't be listed (access denied)", path=path)
        return self.inner.has_folder(path)


def test_a_result_lies_beside_tables_where_nobody_may_list_above_them(root: Folder) -> None:
    tables = root / "tables"
    policy = OfTables(root.storage)
    policy.top = f"{tables}/"
    local.create(tables / "t", "COPY_ON_WRITE")
    lake = tables.through(policy).lake
    place = OutputFile.checked("--result-file", str(tables / "results" / "r.json"), str(tables / "t"), lake)
    place.write(b"{}")
    assert (tables / "results" / "r.json").read_bytes() == b"{}"
    for inside in (tables / "t" / "r.json", tables / "t" / "a" / "b" / "r.json"):
        with pytest.raises(OptionsError, match="lies inside the table"):
            OutputFile.checked("--result-file", str(inside), "", lake)
