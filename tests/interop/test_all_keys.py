"""Of each key that Hudi declares something is said: it is read, refused where it must be, or told to have no effect;
and each of its lock providers is known by its name.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from spark_jobs.core.config.known import OTHERS_PREFIXES, declared
from spark_jobs.core.config.unserved import REFUSED, WITHOUT_EFFECT, why_without_effect
from spark_jobs.core.locks.providers import PROVIDERS
from tests.interop.real_hudi import RealHudi, prepare_environment

pytestmark = pytest.mark.interop


def test_each_key_of_hudi_is_accounted_for(real_hudi: RealHudi) -> None:
    theirs = real_hudi.ask("declared_keys")
    assert len(theirs) > 500
    known = {name for key in declared() for name in key.names} | {name for one in REFUSED for name in one.names}
    assert [
        name
        for name in theirs
        if name not in known and not name.startswith(OTHERS_PREFIXES) and why_without_effect(name) is None
    ] == []
    covering = [name for one in WITHOUT_EFFECT for name in one.names]
    assert [
        name
        for name in covering
        if not any(key == name or (name.endswith(".") and key.startswith(name)) for key in theirs)
    ] == []
    assert [name for one in REFUSED for name in one.names if name not in theirs] == []


def test_each_lock_provider_of_hudi_is_known() -> None:
    (bundle,) = (jar for jar in prepare_environment()["jars"] if "hudi-spark3.5-bundle" in Path(jar).name)
    with zipfile.ZipFile(bundle) as jar:
        classes = [name.removesuffix(".class").replace("/", ".") for name in jar.namelist()]
    theirs = {name for name in classes if name.endswith("LockProvider")} - {"org.apache.hudi.common.lock.LockProvider"}
    assert len(theirs) > 3
    assert theirs - {name for one in PROVIDERS for name in one.names} == set()
