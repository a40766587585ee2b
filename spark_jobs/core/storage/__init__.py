"""Storage: the protocol, local disks, and the paths of a table."""

from spark_jobs.core.storage.confined import ConfinedStorage
from spark_jobs.core.storage.local import LocalStorage
from spark_jobs.core.storage.protocol import Capabilities, Content, FileStatus, Storage
from spark_jobs.core.storage.relative_path import RelativePath, join, resolve

__all__ = [
    "Capabilities",
    "ConfinedStorage",
    "Content",
    "FileStatus",
    "LocalStorage",
    "RelativePath",
    "Storage",
    "join",
    "resolve",
]
