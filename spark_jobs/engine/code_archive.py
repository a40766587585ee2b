"""The jobs' code as a zip for ``--py-files`` of spark-submit: executors then need the packages alone that it imports.

    python -m spark_jobs.engine.code_archive OUT.zip

The same code and Python give the same bytes, wherever they are installed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import marshal
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from spark_jobs.core.errors import ConfigError

PACKAGES = ("pyhudi", "spark_jobs")
_LEFT_OUT = ("__pycache__",)
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip has."""
_UNCHECKED = (1).to_bytes(4, "little")
"""The flags of bytecode that names the hash of its source, and is taken without a look at it."""
_WITHOUT_REFERENCES = 2
"""A version of marshal's whose bytes don't depend on what else the process holds."""
_OTHERS_MAY_WRITE = 0o022


def write_code_archive(target: Path) -> None:
    """Zip the packages as they are installed, data files too, to a file that takes the place of an older one.

    Each module is there as source and compiled by this Python: one of the same version loads it in half the time,
    another one compiles the source itself.

    :raises ConfigError: a package is not installed as files, or the target can't be written.
    """
    _write(target, list(_files()))


def cached_code_archive(beside: Path) -> Path:
    """One that an earlier call made of the same code, below ``$XDG_CACHE_HOME/pyhudi`` (``~/.cache/pyhudi``), else a
    new one there.

    :param beside: a folder that takes it where the cache can't be written, or where others could write to it.
    :raises ConfigError: as :func:`write_code_archive`.
    """
    files = list(_files())
    name = f"pyhudi-{_digest(files)}.zip"
    folder = _own_cache()
    if folder is not None:
        found = folder / name
        if found.is_file():
            return found
        with suppress(ConfigError):
            _write(found, files)
            return found
    _write(beside / name, files)
    return beside / name


def _files() -> Iterator[tuple[str, bytes]]:
    """Names within the archive, in their order, with what is in the files."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        folder = Path(next(iter(spec.submodule_search_locations or []), "")) if spec else Path()
        if not spec or not folder.is_dir():
            raise ConfigError(
                f"the package {package} is not installed as files", todo="pip install pyhudi, or give its wheel"
            )
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and path.suffix != ".pyc" and not set(_LEFT_OUT) & set(name.parts):
                yield f"{package}/{name.as_posix()}", path.read_bytes()


def _digest(files: list[tuple[str, bytes]]) -> str:
    found = hashlib.sha256(importlib.util.MAGIC_NUMBER)
    for name, data in files:
        found.update(f"{name}\0{len(data)}\0".encode() + data)
    return found.hexdigest()[:20]


def _write(target: Path, files: list[tuple[str, bytes]]) -> None:
    """Under another name first: another task may make the same."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, begun = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in files:
                    archive.writestr(_entry(name), data)
                    if name.endswith(".py"):
                        archive.writestr(_entry(f"{name}c"), _compiled(name, data))
            os.chmod(begun, 0o644)
            os.replace(begun, target)
        except BaseException:
            os.unlink(begun)
            raise
    except OSError as error:
        raise ConfigError(
            f"the code archive can't be written to {target} ({error})", todo="name another path"
        ) from error


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _compiled(name: str, source: bytes) -> bytes:
    """A module as bytecode that Python takes without a look at the source (PEP 552)."""
    code = compile(source, name, "exec", dont_inherit=True)
    return (
        importlib.util.MAGIC_NUMBER
        + _UNCHECKED
        + importlib.util.source_hash(source)
        + marshal.dumps(code, _WITHOUT_REFERENCES)
    )


def _own_cache() -> Path | None:
    """The folder, this user's own; None where there is none, or others may write there: what lies in it is run."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home, "pyhudi")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stat = folder.stat()
    except (OSError, RuntimeError):
        return None
    is_own = stat.st_uid == os.getuid() and not stat.st_mode & _OTHERS_MAY_WRITE and folder.is_absolute()
    return folder if is_own else None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m spark_jobs.engine.code_archive",
        description="Zip the jobs' code for --py-files of spark-submit.",
    )
    parser.add_argument("out", metavar="OUT.zip", type=Path)
    try:
        write_code_archive(parser.parse_args(arguments).out)
    except ConfigError as error:
        print(f"code_archive: error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
