"""A Hudi table as an asset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import Asset


def hudi_asset(
    base_path: str, *, name: str | None = None, group: str = "hudi", extra: dict[str, Any] | None = None
) -> Asset:
    """The asset of the table at a base path, the same for each spelling of it; a local path becomes a ``file:`` URI.

    An operator that has it among its ``outlets`` puts the instant into the extra of the asset's event.
    """
    uri = base_path.rstrip("/") if "://" in base_path else Path(base_path).absolute().as_uri()
    return Asset(name=name or uri, uri=uri, group=group, extra=extra or {})
