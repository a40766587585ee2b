"""Text that can be stored: JSON and Java's properties can spell halves of characters, which have no UTF-8."""

from __future__ import annotations


def is_unicode(text: str) -> bool:
    """Whether there is no half of a character (lone surrogate) in it."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
