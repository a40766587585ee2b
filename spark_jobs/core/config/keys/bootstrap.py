"""The keys of a bootstrap: which partitions of a source stay where they are, and which are copied.

Source: HoodieBootstrapConfig. Where the source is, and the class of the index, are properties of the table.
"""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, integer, pattern, text


class BootstrapMode(StrEnum):
    """METADATA_ONLY leaves the rows in the source, FULL_RECORD copies them."""

    METADATA_ONLY = "METADATA_ONLY"
    FULL_RECORD = "FULL_RECORD"

    @property
    def other(self) -> BootstrapMode:
        return BootstrapMode.FULL_RECORD if self is BootstrapMode.METADATA_ONLY else BootstrapMode.METADATA_ONLY


class ModeSelector(StrEnum):
    """Hudi's selectors, by the short names of their classes."""

    METADATA_ONLY = "MetadataOnlyBootstrapModeSelector"
    FULL_RECORD = "FullRecordBootstrapModeSelector"
    REGEX = "BootstrapRegexModeSelector"


_SELECTORS = "org.apache.hudi.client.bootstrap.selector."


def _selector(value: str) -> ModeSelector:
    short = value.strip().removeprefix(_SELECTORS)
    if short not in set(ModeSelector):
        raise ValueError("give one of " + ", ".join(_SELECTORS + one for one in ModeSelector))
    return ModeSelector(short)


def _mode(value: str) -> BootstrapMode:
    if value.strip().upper() not in set(BootstrapMode):
        raise ValueError("give one of " + ", ".join(BootstrapMode))
    return BootstrapMode(value.strip().upper())


def _identity(value: str) -> str:
    if value.rpartition(".")[2] != "IdentityBootstrapPartitionPathTranslator":
        raise ValueError("leave it out: partitions keep the names of the source's folders")
    return value


BOOTSTRAP_BASE_PATH = Key(
    name="hoodie.bootstrap.base.path", parse=text, default="", doc="Where a bootstrapped table's rows are."
)
BOOTSTRAP_INDEX_CLASS = Key(
    name="hoodie.bootstrap.index.class",
    parse=text,
    default="org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex",
    doc="What tells which source file a bootstrapped base file belongs to, by Hudi's class name.",
)
MODE_SELECTOR = Key(
    name="hoodie.bootstrap.mode.selector",
    parse=_selector,
    default=ModeSelector.METADATA_ONLY,
    doc="What chooses the mode of each partition, by Hudi's class name (its package may be left out): one mode for "
    "all, or by a regular expression.",
)
SELECTOR_REGEX = Key(
    name="hoodie.bootstrap.mode.selector.regex",
    parse=pattern,
    default=".*",
    doc="Of BootstrapRegexModeSelector: partitions whose whole path matches get the mode below, others the other one.",
)
SELECTOR_REGEX_MODE = Key(
    name="hoodie.bootstrap.mode.selector.regex.mode",
    parse=_mode,
    default=BootstrapMode.METADATA_ONLY,
    doc="Of BootstrapRegexModeSelector: METADATA_ONLY or FULL_RECORD.",
)
PARALLELISM = Key(
    name="hoodie.bootstrap.parallelism",
    parse=integer(1),
    default=1500,
    doc="Tasks of a bootstrap at most; a source file is done by one.",
)
TRANSLATOR = Key(
    name="hoodie.bootstrap.partitionpath.translator.class",
    parse=_identity,
    default="org.apache.hudi.client.bootstrap.translator.IdentityBootstrapPartitionPathTranslator",
    doc="How folders become partitions; they keep their names, other translators are refused.",
)
INDEX_ENABLED = Key(
    name="hoodie.bootstrap.index.enable",
    parse=boolean,
    default=True,
    doc="Write the index of METADATA_ONLY partitions; false is refused, since nobody could read their rows.",
)
INPUT_PROVIDER = Key(
    name="hoodie.bootstrap.full.input.provider",
    parse=text,
    default="",
    doc="Hudi's reader of the source for FULL_RECORD; taken and passed over, sources are Parquet.",
)
