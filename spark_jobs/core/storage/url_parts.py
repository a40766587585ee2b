"""A URL taken apart, of which nothing is decoded: ``#``, ``?`` and ``%`` are parts of names."""

from __future__ import annotations


def url_parts(url: str) -> tuple[str, str, str]:
    """Scheme, authority and path. A path alone has neither of the first two, and ``file:/a`` no authority."""
    scheme, colon, rest = url.partition(":")
    if not colon or "/" in scheme:
        return "", "", url
    if not rest.startswith("//"):
        return scheme, "", rest
    authority, _, path = rest[2:].partition("/")
    return scheme, authority, f"/{path}"
