"""DynamoDB of the tests' server of AWS (moto), and boto3 from its environment.

boto3 wants an older python-dateutil than the environment of Airflow is pinned to, so it is not installed there: what
that environment lacks is taken from the server's. The parts of dateutil that botocore uses are the same.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from tests.support.servers import environment, started

PROVIDER = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"


def keys(partition_key: str) -> dict[str, str]:
    prefix = "hoodie.write.lock.dynamodb."
    return {
        "hoodie.write.lock.provider": PROVIDER,
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        f"{prefix}table": "locks",
        f"{prefix}partition_key": partition_key,
        f"{prefix}endpoint_url": endpoint(),
    }


@cache
def endpoint() -> str:
    sys.path.append(str(packages()))
    os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(packages())])
    os.environ.update({"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests"})
    return started("moto", lambda port: [_server(), "-p", str(port)])


def packages() -> Path:
    """Those of the server, boto3 among them."""
    (found,) = Path(_server()).parents[1].glob("lib/python*/site-packages")
    return found


@cache
def _server() -> str:
    return environment("s3_env.py")["server"]
