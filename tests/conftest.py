"""Each test belongs to a phase: one without a marker would run in none of them."""

from __future__ import annotations

import pytest

PHASES = ("unit", "provider", "spark", "faults", "interop")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    homeless = sorted({item.location[0] for item in items if not any(map(item.get_closest_marker, PHASES))})
    if homeless:
        raise pytest.UsageError(f"no marker of {', '.join(PHASES)} in {', '.join(homeless)}")
