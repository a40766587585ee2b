"""How the tests start Java: many short processes on few cores."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

JVM_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:UseAVX=2"
"""For what is measured: one in ten runs died in the array copies of newer processors' instructions."""
CLASSES = Path(__file__).resolve().parents[1] / ".cache" / "classes" / "spark.jsa"
"""Made by scripts/class_archive.py before the tests begin; without it a JVM takes half a time longer to start."""
SHARED = f"-XX:SharedArchiveFile={CLASSES} -Xlog:cds=off -Xlog:cds+dynamic=off" if " " not in str(CLASSES) else ""
QUICK = f"{JVM_OPTIONS} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC {SHARED}".rstrip()
"""For tests: no second compiler and no threads that collect, which took half of the time of a short JVM."""


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin") if home else None) is not None


def needs_java() -> None:
    """Skip the test where there is no Java."""
    if not has_java():
        pytest.skip("no Java: install a Java 17 runtime (openjdk-17-jre-headless)")
