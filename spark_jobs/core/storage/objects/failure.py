"""From what a store of objects says to an error of one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from obstore import exceptions

from spark_jobs.core.errors import AccessDeniedError, StorageError

MISSING = (exceptions.NotFoundError, FileNotFoundError)
"""By either obstore says that there is no such object, or bucket."""
_ADVICE: Mapping[type[BaseException], str] = {
    exceptions.NotFoundError: "check the path; where a table lists the file, validate.py says what mends that",
    exceptions.PermissionDeniedError: "give these credentials the right to it",
    exceptions.UnauthenticatedError: "give credentials that are valid",
}
_REASONS: Mapping[type[BaseException], str] = {
    exceptions.NotFoundError: "no such object or bucket",
    exceptions.PermissionDeniedError: "access denied",
    exceptions.UnauthenticatedError: "not authenticated",
}
_BY_STATUS = {"401": exceptions.UnauthenticatedError, "403": exceptions.PermissionDeniedError}
_CODE = re.compile(r"<Code>([A-Za-z0-9]+)</Code>")
_STATUS = re.compile(r"status(?: code)?:? (\d{3}[A-Za-z ]*)")
_BY_PROVIDER = re.compile(r"External AWS credential provider: (.+)")
_LONGEST = 160
_EMPTY_PART = re.compile(r'invalid path: .*?Path "([^"]+)" contained empty path segment')
_OF_A_MACHINE = ("/latest/api/token", "/latest/meta-data/", "/metadata/identity/", "/computeMetadata/")
"""Where obstore looks for an identity when it was given none."""
_NO_CREDENTIALS = "give them by options or the environment; a role or profile of AWS needs pip install 'pyhudi[aws]'"


@contextmanager
def one_line(path: str, verb: str) -> Iterator[None]:
    """
    :param verb: what can't be done to the object: "read", "written", ...
    :raises StorageError: for what obstore raises inside, and for a key that can be none.
    """
    try:
        yield
    except (exceptions.BaseError, OSError) as error:
        kind = _kind_of(error)
        if (stray := _EMPTY_PART.search(str(error))) is not None:
            raise StorageError(
                f"{path} can't be {verb} (the key {stray[1]} below it has an empty part)",
                todo="move or delete that object, which is none of a table",
                path=path,
            ) from error
        if any(sign in str(error) for sign in _OF_A_MACHINE):
            raise StorageError(
                f"{path} can't be {verb} (no credentials were given, and this machine has none)",
                todo=_NO_CREDENTIALS,
                path=path,
            ) from error
        raise (AccessDeniedError if kind is exceptions.PermissionDeniedError else StorageError)(
            f"{path} can't be {verb} ({_REASONS.get(kind) or reason_of(error)}{_said_by_provider(error)})",
            todo=_ADVICE.get(kind, ""),
            path=path,
        ) from error
    except (ValueError, UnicodeError) as error:  # ``//``, ``..``, control characters
        raise StorageError(
            f"{path!r} can't be {verb} (it has parts that no key has)", todo="check the path", path=path
        ) from error


def _said_by_provider(error: BaseException) -> str:
    """Why a role or a profile gave no key, as boto3 says it."""
    found = _BY_PROVIDER.search(str(error))
    return f": {found[1][:_LONGEST]}" if found else ""


def _kind_of(error: BaseException) -> type[BaseException]:
    """Listings have one kind of error for all that is refused, uploads in parts an ``OSError``."""
    if isinstance(error, MISSING):
        return exceptions.NotFoundError
    if type(error) in _REASONS:
        return type(error)
    status = _STATUS.search(str(error))
    return _BY_STATUS.get(status[1][:3], type(error)) if status else type(error)


def reason_of(error: BaseException) -> str:
    """What matters of an error that has the whole of an answer, and lines of debugging, in its text."""
    text = str(error)
    found = _CODE.search(text) or _STATUS.search(text)
    if found:
        return found[1]
    for sign, said in (
        ("TimedOut", "no answer in time"),
        ("timed out", "no answer in time"),
        ("ConnectionRefused", "connection refused"),
        ("dns error", "the host is not known"),
        ("ConnectionReset", "connection reset"),
    ):
        if sign in text:
            return said
    return text.splitlines()[0][:_LONGEST] if text else type(error).__name__
