"""What Hadoop's files say of settings that the client does not tell."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from spark_jobs.core.errors import ConfigError

_FILES: Final = ("hdfs-site.xml", "core-site.xml")
"""The first that has a setting counts (Hadoop: HdfsConfiguration)."""


def of_site_files(environment: Mapping[str, str], name: str) -> str:
    """The value of a setting in the files of ``HADOOP_CONF_DIR``, or of ``HADOOP_HOME``; empty where none has it.

    :raises ConfigError: a file can't be read.
    """
    home = environment.get("HADOOP_HOME")
    folder = environment.get("HADOOP_CONF_DIR") or (f"{home}/etc/hadoop" if home else "")
    return next(filter(None, (_values(Path(folder) / file).get(name, "") for file in _FILES)), "") if folder else ""


@cache
def _values(file: Path) -> Mapping[str, str]:
    try:
        root = ElementTree.parse(file).getroot()
    except FileNotFoundError:
        return {}
    except (OSError, ElementTree.ParseError) as error:
        raise ConfigError(f"{file} can't be read ({error})", todo="mend it, or set HADOOP_CONF_DIR") from error
    found = ((one.findtext("name", ""), one.findtext("value", "")) for one in root.iter("property"))
    return {name.strip(): value.strip() for name, value in found}
