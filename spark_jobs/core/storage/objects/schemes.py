"""Which kind of store of objects each scheme of a URL names, and what is a setting of any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.azure_names import AZURE
from spark_jobs.core.storage.objects.gcs_names import GCS
from spark_jobs.core.storage.objects.options import Names, without_spark
from spark_jobs.core.storage.objects.s3_names import S3

SCHEMES: Final[Mapping[str, Names]] = {
    **dict.fromkeys(("s3", "s3a"), S3),
    **dict.fromkeys(("az", "abfs", "abfss", "wasb", "wasbs"), AZURE),
    "gs": GCS,
}
_KINDS: Final = (S3, AZURE, GCS)


def is_hadoops(key: str) -> bool:
    """Whether it is a setting that one of Hadoop's connectors has, and that is read here; Spark's prefix may stand
    before it.
    """
    return any(kind.is_hadoops(without_spark(key)) for kind in _KINDS)


def refuse_unknown(options: Mapping[str, str]) -> None:
    """
    :param options: of any kinds of stores, each of which reads its own.
    :raises ConfigError: one that no kind of store reads, or a value by two names.
    """
    unknown = next((key for key in sorted(options) if not any(kind.knows(key) for kind in _KINDS)), None)
    if unknown is not None:
        raise ConfigError(
            f"the storage option {unknown} is not known",
            todo="give those of AWS (aws_region, ...), Azure (azure_storage_account_name, ...), Google "
            "(google_service_account, ...), PyIceberg (s3.region, adls.account-name, ...) or Hadoop (fs.s3a.endpoint, "
            "...)",
            key=unknown,
        )
    for kind in _KINDS:
        kind.given(options)


def laid_over(own: Mapping[str, str], below: Mapping[str, str]) -> dict[str, str]:
    """Options of one place over those of another, as one mapping: of each setting the upper value stays, by whichever
    of its names, and where the upper ones have credentials of a kind of store, none of the lower ones for that kind.

    Where the upper ones have settings of a kind by Hadoop's names, all of the lower ones for that kind go.
    """
    found = dict(below)
    for kind in _KINDS:
        given = {name for key, value in own.items() if value.strip() and (name := kind.name_of(key)) is not None}
        hidden = given | (kind.credentials if given & kind.credentials else set())
        by_hadoops_names = any(kind.is_hadoops(without_spark(key)) for key in own)
        for key in below:
            if kind.knows(key) and (by_hadoops_names or kind.name_of(key) in hidden):
                found.pop(key, None)
    return {**found, **own}
