"""The list of documented keys, which the unit tests hold complete, has each key that Hudi's Spark bundle declares; and
each of its lock providers is known by its name.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from spark_jobs.core.locks.providers import PROVIDERS
from tests.interop.real_hudi import RealHudi, prepare_environment

pytestmark = pytest.mark.interop
DOCUMENTED = Path(__file__).parents[1] / "unit/core/config/documented_keys.txt"


def test_each_key_of_hudi_is_in_the_list(real_hudi: RealHudi) -> None:
    theirs = real_hudi.ask("declared_keys")
    assert len(theirs) > 500
    assert sorted(set(theirs) - set(DOCUMENTED.read_text(encoding="utf-8").splitlines())) == []


def test_each_lock_provider_of_hudi_is_known() -> None:
    (bundle,) = (jar for jar in prepare_environment()["jars"] if "hudi-spark3.5-bundle" in Path(jar).name)
    with zipfile.ZipFile(bundle) as jar:
        classes = [name.removesuffix(".class").replace("/", ".") for name in jar.namelist()]
    theirs = {name for name in classes if name.endswith("LockProvider")} - {"org.apache.hudi.common.lock.LockProvider"}
    assert len(theirs) > 3
    assert theirs - {name for one in PROVIDERS for name in one.names} == set()
