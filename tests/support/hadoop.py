"""The jars of Hadoop's own small clusters."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

_ENVIRONMENT = Path(__file__).parents[2] / "scripts" / "hadoop_env.py"


@cache
def hadoop_jars() -> tuple[str, ...]:
    """Whole paths; they are fetched where they are not there."""
    made = subprocess.run([sys.executable, str(_ENVIRONMENT)], stdout=subprocess.PIPE, text=True, check=True)
    return tuple(json.loads(made.stdout.splitlines()[-1])["jars"])
