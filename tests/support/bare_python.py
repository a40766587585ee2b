"""A Python that has nothing but some packages, as the executors of somebody's cluster."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

OF_EXECUTORS = ("numpy", "pyarrow", "fastavro", "isal")
"""What docs/clusters.md says that executors need."""


def bare_python(folder: Path, packages: tuple[str, ...] = OF_EXECUTORS) -> Path:
    """The interpreter of a new environment with these packages, linked from that of the tests, and no pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, capture_output=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in packages:
        found = importlib.metadata.distribution(name)
        parts = {Path(str(one)).parts[0] for one in found.files or ()} - {"..", "__pycache__"}
        for part in sorted(parts):
            (site / part).symlink_to(Path(str(found.locate_file(part))))
    return folder / "bin" / "python"
