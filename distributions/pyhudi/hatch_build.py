"""Takes the packages from the root of the repository into a wheel; an editable install points at them there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("pyhudi", "spark_jobs")


class Packages(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            repository = Path(self.root).parents[1]
            build_data["force_include"] |= {str(repository / name): name for name in PACKAGES}
