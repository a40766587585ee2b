"""Storage: the protocol, local disks, and the way from a URL to one."""

from spark_jobs.core.storage.local import LocalStorage
from spark_jobs.core.storage.locate import locate
from spark_jobs.core.storage.protocol import Capabilities, FileStatus, Storage

__all__ = ["Capabilities", "FileStatus", "LocalStorage", "Storage", "locate"]
