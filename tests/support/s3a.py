"""Hadoop's S3A for real Hudi: its jars, and how it is told where a server is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from scripts.real_hudi_env import exclusive, resolve
from tests.interop.real_hudi import ROOT, prepare_environment

PACKAGE: Final = "org.apache.hadoop:hadoop-aws:3.3.4"
"""Of the Hadoop that PySpark 3.5 has in it; AWS's bundle 1.12.262 comes with it."""
VARIABLE: Final = "PYHUDI_S3A_JARS"


def s3a_jars() -> list[str]:
    """The jars in ``$PYHUDI_S3A_JARS`` (default ``.cache/s3a`` below the repository's root), resolved by Spark where
    they are not there yet (270 MB).

    :raises SetupError: they could not be had.
    """
    given = os.environ.get(VARIABLE)
    target = Path(given).expanduser().resolve() if given else ROOT / ".cache" / "s3a"
    with exclusive(target):
        whole = target / "whole"
        if not whole.exists():
            _resolve(target)
            whole.touch()
    return sorted(str(jar) for jar in (target / "jars").glob("*.jar"))


def _resolve(target: Path) -> None:
    environment = prepare_environment()
    print(f"S3A: {PACKAGE} (270 MB)", file=sys.stderr, flush=True)
    resolve([PACKAGE], target, target / "ivy.log", Path(environment["spark_home"]), environment["python"])


def s3a_session(endpoint: str, key: str, secret: str) -> dict[str, str]:
    """Spark's settings for a server at ``endpoint``; all else stays at Hadoop's defaults, but that the objects which
    stand for folders are kept, as Hadoop 3.4 does by default: fewer requests, and gateways to disks refuse to delete
    folders that are not empty.
    """
    options = {
        "endpoint": endpoint,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "directory.marker.retention": "keep",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "access.key": key,
        "secret.key": secret,
    }
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in options.items()}
