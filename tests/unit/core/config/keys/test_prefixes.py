"""Each key is declared once, in the module that its prefix names."""

from __future__ import annotations

from pathlib import Path
from pkgutil import iter_modules

import pytest

from spark_jobs.core.config import keys
from spark_jobs.core.config.key import Key
from spark_jobs.core.config.known import KEY_MODULES, declared

pytestmark = pytest.mark.unit
DOCS = Path(__file__).parents[5] / "docs"
MODULE_OF = {
    "auto.offset": "streamer",
    "hoodie.archive": "archive",
    "hoodie.avro.schema": "schema",
    "hoodie.bloom": "bloom",
    "hoodie.bootstrap": "bootstrap",
    "hoodie.bucket.index": "index",
    "hoodie.bulkinsert": "bulkinsert",
    "hoodie.clean": "clean",
    "hoodie.client": "write",
    "hoodie.clustering": "clustering",
    "hoodie.combine": "write",
    "hoodie.commits.archival": "archive",
    "hoodie.compact": "compact",
    "hoodie.copyonwrite": "copyonwrite",
    "hoodie.database": "table",
    "hoodie.datasource": "datasource",
    "hoodie.datasource.hive_sync": "hive_sync",
    "hoodie.datasource.meta": "meta_sync",
    "hoodie.delete": "write",
    "hoodie.embed": "write",
    "hoodie.errortable": "errortable",
    "hoodie.global": "index",
    "hoodie.hfile": "logfile",
    "hoodie.index": "index",
    "hoodie.index.bloom": "bloom",
    "hoodie.insert": "write",
    "hoodie.keep": "archive",
    "hoodie.keygen": "keygen",
    "hoodie.layout": "clustering",
    "hoodie.log.compaction": "compact",
    "hoodie.logfile": "logfile",
    "hoodie.markers": "write",
    "hoodie.merge": "write",
    "hoodie.meta.sync": "meta_sync",
    "hoodie.meta_sync": "meta_sync",
    "hoodie.metadata": "metadata",
    "hoodie.optimized.log": "logfile",
    "hoodie.parquet": "parquet",
    "hoodie.partition": "table",
    "hoodie.payload": "payload",
    "hoodie.populate": "table",
    "hoodie.record.index": "index",
    "hoodie.record.size": "copyonwrite",
    "hoodie.rollback": "write",
    "hoodie.schema": "schema",
    "hoodie.sensitive": "write",
    "hoodie.simple.index": "index",
    "hoodie.static": "write",
    "hoodie.streamer": "streamer",
    "hoodie.table": "table",
    "hoodie.timeline": "table",
    "hoodie.upsert": "write",
    "hoodie.write": "write",
    "hoodie.write.concurrency": "lock",
    "hoodie.write.concurrency.early": "conflict",
    "hoodie.write.lock": "lock",
    "hoodie.write.lock.conflict": "conflict",
    "parquet": "parquet",
    "pyhudi.archive": "archive",
    "pyhudi.durable": "write",
    "pyhudi.error": "errortable",
    "pyhudi.lock": "lock",
    "pyhudi.payload": "payload",
    "pyhudi.recordkey": "keygen",
    "pyhudi.ingest": "write",
    "pyhudi.transformer": "streamer",
}
"""The longest prefix that a name begins with decides; a word may go on behind it (``hoodie.clean`` and ``cleaner``)."""


def test_each_key_stands_in_the_module_of_its_prefix() -> None:
    placed = {
        value.name: module.__name__.rpartition(".")[2]
        for module in KEY_MODULES
        for value in vars(module).values()
        if isinstance(value, Key)
    }
    assert placed == {name: MODULE_OF[max(filter(name.startswith, MODULE_OF), key=len)] for name in placed}
    assert len(placed) > 250


def test_names_are_declared_once() -> None:
    names = [key.name for key in declared()]
    assert sorted(set(names)) == sorted(names)


def test_each_module_is_known_and_on_a_page() -> None:
    modules = sorted(one.name for one in iter_modules(keys.__path__))
    assert sorted(module.__name__.rpartition(".")[2] for module in KEY_MODULES) == modules
    assert sorted(set(MODULE_OF.values())) == modules
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    assert [name for name in modules if f"<!-- begin keys:{name} -->" not in pages] == []
