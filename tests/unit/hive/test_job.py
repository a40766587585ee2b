"""Whether a write is to be followed by a sync, by the keys of Hudi's writers."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.job import sync_asked_for

pytestmark = pytest.mark.unit
_META = {"hoodie.datasource.meta.sync.enable": "true"}
_TOOL = "hoodie.meta.sync.client.tool.class"


def test_by_either_key() -> None:
    assert not sync_asked_for({})
    assert sync_asked_for({"hoodie.datasource.hive_sync.enable": "true"})
    assert sync_asked_for(_META)
    assert sync_asked_for({**_META, _TOOL: "org.apache.hudi.hive.HiveSyncTool"})


def test_tools_of_other_catalogs_are_refused_where_they_would_run() -> None:
    glue = {_TOOL: "org.apache.hudi.hive.HiveSyncTool, org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"}
    assert not sync_asked_for(glue)
    for enabled in (_META, {"hoodie.datasource.hive_sync.enable": "true"}):
        with pytest.raises(ConfigError, match=f"{_TOOL}=.*AwsGlueCatalogSyncTool is not served"):
            sync_asked_for({**enabled, **glue})
