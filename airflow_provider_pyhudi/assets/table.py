"""A Hudi table as an asset."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import Asset


def hudi_asset(
    base_path: str, *, name: str | None = None, group: str = "hudi", extra: dict[str, Any] | None = None
) -> Asset:
    """The asset of the table at a base path, the same for each spelling of it; a local path becomes a ``file:`` URI.

    An operator that has it among its ``outlets`` puts the instant into the extra of the asset's event.
    """
    location = urlsplit(base_path)
    local = location.path if location.scheme == "file" else "" if location.scheme else base_path
    uri = Path(local).absolute().as_uri() if local else base_path.rstrip("/")
    return Asset(name=name or uri, uri=uri, group=group, extra=extra or {})
