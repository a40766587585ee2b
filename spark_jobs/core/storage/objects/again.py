"""Requests whose connection broke: obstore asks again for what it knows to be harmless, the others are asked for again
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import obstore
from obstore import exceptions
from obstore.store import ObjectStore

from spark_jobs.core.clock import Clock, drawn

if TYPE_CHECKING:
    from obstore import ObjectMeta

Found = TypeVar("Found")
_TRIES: Final = 5
_PAUSE_S: Final = 0.2
"""At most, before the second try; that of each pause is twice the one before."""
_BROKE: Final = ("kind: Interrupted", "kind: Timeout")
"""In what obstore says of a connection that ended within an answer, or gave none to a request which it sends once."""
_PAGE: Final = 1000


def again(ask: Callable[[], Found], clock: Clock, seconds: float) -> Found:
    """The answer to what may be asked for several times.

    :param seconds: after which it is not asked for again.
    """
    begun, tried = clock.monotonic(), 1
    while True:
        try:
            return ask()
        except exceptions.GenericError as error:
            if not _broke(error) or tried == _TRIES or clock.monotonic() - begun > seconds:
                raise
        clock.sleep(drawn(clock, _PAUSE_S * 2 ** (tried - 1)))
        tried += 1


def pages(
    store: ObjectStore, prefix: str | None, clock: Clock, seconds: float, *, after: str | None = None
) -> Iterator[Sequence[ObjectMeta]]:
    """All objects below a prefix, a thousand at a time; a listing that broke goes on behind the last one it gave.

    :param after: a key, or the beginning of one, behind which it begins.
    """
    last = after
    found = obstore.list(store, prefix, offset=last, chunk_size=_PAGE)

    def next_page() -> Sequence[ObjectMeta] | None:
        nonlocal found
        try:
            return next(found, None)
        except exceptions.GenericError:
            found = obstore.list(store, prefix, offset=last, chunk_size=_PAGE)
            raise

    while (page := again(next_page, clock, seconds)) is not None:
        last = page[-1]["path"] if page else last
        yield page


def _broke(error: exceptions.GenericError) -> bool:
    text = str(error)
    return any(sign in text for sign in _BROKE)
