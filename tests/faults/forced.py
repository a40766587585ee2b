"""What a loss of power leaves of a folder: what was forced to the disk, by whichever process.

:func:`record` wraps ``os.fsync`` and ``os.fdatasync`` of a process; :data:`SITE` does so in every Python process that
has it on its path, workers of Spark too. Nothing is kept beyond what a file system promises: a file needs its bytes
forced, and its name, by its folder; and one that was deleted may be there again, but where its folder was forced.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

LOG_VARIABLE = "FORCED_LOG"
SITE = "import os\nfrom tests.faults.forced import LOG_VARIABLE, record\nrecord(os.environ[LOG_VARIABLE])\n"
"""A ``sitecustomize.py``."""


def record(log: str) -> None:
    """From now on append a line for each file or folder that this process forces: its inode, and size or names."""

    def recording(force: Callable[[int], None]) -> Callable[[int], None]:
        def wrapper(descriptor: int) -> None:
            force(descriptor)
            status = os.fstat(descriptor)
            held: int | dict[str, int] = status.st_size
            if stat.S_ISDIR(status.st_mode):
                with os.scandir(descriptor) as entries:
                    held = {entry.name: entry.inode() for entry in entries}
            line = json.dumps([status.st_ino, held]) + "\n"
            with open(log, "ab", buffering=0) as file:
                file.write(line.encode())

        return wrapper

    os.fsync, os.fdatasync = recording(os.fsync), recording(os.fdatasync)


def _forced(log: Path) -> list[tuple[int, int | dict[str, int]]]:
    """Inodes in their order, each with the size of a file or the names of a folder."""
    return [(inode, held) for inode, held in map(json.loads, log.read_text().splitlines())]


def files_of(folder: Path) -> dict[Path, int]:
    """Every file and folder below, with its inode."""
    return {path: path.stat().st_ino for path in folder.rglob("*")}


def come_back(copy: Path, folder: Path, log: Path) -> list[str]:
    """Files of a folder that were deleted and whose folder was not forced since are there again; their names.

    :param copy: of the folder, as it was before.
    """
    last = {inode: held for inode, held in _forced(log) if isinstance(held, dict)}
    gone = [one for one in sorted(copy.iterdir()) if one.is_file() and not (folder / one.name).exists()]
    back = [one for one in gone if one.name in last.get(folder.stat().st_ino, {one.name})]
    for one in back:
        shutil.copy2(one, folder / one.name)
    return [one.name for one in back]


def lose_power(folder: Path, before: dict[Path, int], log: Path) -> list[str]:
    """Take away what was not forced since ``before``; the relative paths of what lost its name or bytes."""
    sizes: dict[int, int] = {}
    names: set[tuple[int, str, int]] = set()
    for inode, held in _forced(log):
        if isinstance(held, int):
            sizes[inode] = held
        else:
            names |= {(inode, name, of) for name, of in held.items()}
    lost = []
    for path, inode in sorted(files_of(folder).items()):
        if before.get(path) == inode or not path.exists():
            continue
        if (path.parent.stat().st_ino, path.name, inode) not in names:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            lost.append(str(path.relative_to(folder)))
        elif path.is_file() and path.stat().st_size > sizes.get(inode, 0):
            os.truncate(path, sizes.get(inode, 0))
            lost.append(str(path.relative_to(folder)))
    return lost
