"""Sets of texts that have the same order in each process."""

from __future__ import annotations

import os
import sys


def with_ordered_sets(module: str) -> None:
    """Run ``python -m module`` again in this process with the same arguments, unless its sets are ordered already."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], environment)
