"""A user's own function, named as ``module:function``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from spark_jobs.core.errors import ConfigError


def named_function(path: str, what: str, example: str) -> Callable[..., Any]:
    """
    :param what: what the function is for, as messages say it.
    :param example: a name as it should look.
    :raises ConfigError: it is not ``module:function``, or there is no such module or function.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise ConfigError(f"{what} {path} is no module:function", todo=f"give for instance {example}")
    try:
        function: Any = importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"{what} {path}: module {module} can't be imported ({error})",
            todo="ship it to driver and executors with --py-files",
        ) from error
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise ConfigError(f"{what} {path}: module {module} has no function {name}", todo="check its name")
    found: Callable[..., Any] = function
    return found
