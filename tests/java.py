"""How the tests start Java: many short processes on few cores."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

JVM_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:UseAVX=2"
"""For what is measured: one in ten runs died in the array copies of newer processors' instructions."""
QUICK = f"{JVM_OPTIONS} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For tests: no second compiler and no threads that collect, which took half of the time of a short JVM."""


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin") if home else None) is not None


def needs_java() -> None:
    """Skip the test where there is no Java."""
    if not has_java():
        pytest.skip("no Java: install a Java 17 runtime (openjdk-17-jre-headless)")
