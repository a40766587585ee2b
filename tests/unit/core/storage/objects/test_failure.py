"""What a store of objects says, in one line that says what to do."""

from __future__ import annotations

import pytest
from obstore import exceptions

from spark_jobs.core.errors import AccessDeniedError, StorageError
from spark_jobs.core.storage.objects.failure import one_line

pytestmark = pytest.mark.unit
OF_A_MACHINE = (
    "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 3.9s, after 10 retries"
)
STRAY = 'Encountered object with invalid path: Path "t/a//" contained empty path segment\n\nDebug source:'
DENIED = "Client error with status 403 Forbidden: <Code>AccessDenied</Code>"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (exceptions.GenericError(OF_A_MACHINE), StorageError, "no credentials were given, and this machine has none"),
        (exceptions.GenericError(STRAY), StorageError, "the key t/a// below it has an empty part): move or delete"),
        (exceptions.GenericError(DENIED), AccessDeniedError, "access denied): give these credentials the right"),
        (exceptions.PermissionDeniedError("x"), AccessDeniedError, "access denied"),
        (exceptions.NotFoundError("x"), StorageError, "no such object or bucket"),
    ],
)
def test_it_is_one_line(error: Exception, kind: type[StorageError], said: str) -> None:
    with pytest.raises(StorageError) as caught, one_line("s3://lake/t", "listed"):
        raise error
    assert type(caught.value) is kind
    assert str(caught.value).startswith("s3://lake/t can't be listed (")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
