"""The one error of this package."""

from __future__ import annotations

from typing import ClassVar


class OptionsError(ValueError):
    """An option that is missing, unknown or invalid; the message is one line that names it and says what to give."""

    exit_code: ClassVar[int] = 2
