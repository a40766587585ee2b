"""Values as folder names (Hudi: PartitionPathEncodeUtils)."""

from __future__ import annotations

import re

from spark_jobs.core.format.folders import META_FOLDER

ESCAPED = frozenset([*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"])
"""Characters written as %XX in partition values when they are url-encoded."""

REFUSED_PARTS = {
    ".": "leads out of the table (it has . or .. as a path part)",
    "..": "leads out of the table (it has . or .. as a path part)",
    "": "has an empty path part (a slash at its start or end, or two together)",
    META_FOLDER: "has .hoodie as a path part, where the table keeps its own files",
}
"""Parts that a partition path can't have, and why. Hudi takes an empty one; its files are then in another folder than
their rows, markers and commit say."""

ENCODE_TODO = "correct it in the source, or set hoodie.datasource.write.partitionpath.urlencode"

REFUSED_CHARS = "\0\n\r"
"""No file system has the first in a name; the others end a line, and with it a marker where one file has many."""
UNWRITABLE = "has a line break or a NUL character in it"

MOST_BYTES = 255
"""Of a folder name, in UTF-8: what the file systems take."""
LONG = f"makes a folder name of more than {MOST_BYTES} bytes"
LONG_TODO = "shorten it in the source"

RESERVED_PATH = "__all_partitions__"
"""The partition path whose files the metadata table would list under the key of its list of partitions."""
RESERVED = f"is {RESERVED_PATH}, the name of the metadata table's list of partitions"
RESERVED_TODO = "correct it in the source, or set hoodie.datasource.write.hive_style_partitioning"

_TABLE = {ord(char): f"%{ord(char):02X}" for char in ESCAPED}
_CODE = re.compile("%([0-9A-Fa-f]{2})")


def escape(value: str) -> str:
    """``a/b`` to ``a%2Fb``; letters of other languages, blanks and ``}`` stay."""
    return value.translate(_TABLE)


def why_refused(folder: str) -> tuple[str, str] | None:
    """Why a level of a partition path can't be this folder, and what to do; None where it can."""
    parts = folder.split("/")
    for bad, why in REFUSED_PARTS.items():
        if bad in parts:
            return why, ENCODE_TODO
    if any(char in folder for char in REFUSED_CHARS):
        return UNWRITABLE, ENCODE_TODO
    if len(folder.encode("utf-8", "surrogatepass")) > MOST_BYTES and any(
        len(part.encode("utf-8", "surrogatepass")) > MOST_BYTES for part in parts
    ):
        return LONG, LONG_TODO
    return None


def unescape(name: str) -> str:
    """The reverse: each %XX becomes the character of that number, in whatever case it is written."""
    return _CODE.sub(lambda found: chr(int(found[1], 16)), name)
