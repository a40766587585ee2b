"""Write what follows from declarations in the code: the tables of options and keys in docs/, and the stub in which
editors and type checkers find the names of the provider. ``--check`` only compares.

A table stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; NAME is a class of ``spark_jobs.options`` or
``keys:MODULE`` for the keys of a module of ``spark_jobs.core.config.keys``; ``refused``,
``without-effect`` and ``later-versions`` are Hudi's keys that nothing reads.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path

from airflow_provider_pyhudi import _HOMES
from spark_jobs import options
from spark_jobs.core.config.key import Key
from spark_jobs.core.config.known import KEY_MODULES
from spark_jobs.core.config.later_versions import OF_LATER_VERSIONS
from spark_jobs.core.config.refused import REFUSED
from spark_jobs.core.config.without_effect import WITHOUT_EFFECT, WithoutEffect
from spark_jobs.options.flags import flags_of
from spark_jobs.options.registry import JOBS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
STUB = ROOT / "airflow_provider_pyhudi" / "__init__.pyi"
_OPTIONS = {one.options.__name__: one.options for one in JOBS}
_SECTION = re.compile(r"(<!-- begin (?P<name>\S+) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)
_KEYS = {f"keys:{module.__name__.rpartition('.')[2]}": module for module in KEY_MODULES}


def table(name: str) -> str:
    """The Markdown table of a section.

    :raises AttributeError: there is no such class of options.
    """
    if name in _UNSERVED:
        return _UNSERVED[name]()
    return _keys_table(name) if name in _KEYS else _options_table(name)


def _options_table(name: str) -> str:
    kind = _OPTIONS.get(name) or getattr(options, name)
    inherited = flags_of(options.JobOptions) if kind is not options.JobOptions else {}
    rows = ["| Option | Field of an operator | Keys | Meaning |", "|---|---|---|---|"]
    for field, flag in flags_of(kind).items():
        if field not in inherited:
            keys = ", ".join(f"`{key}`" for key in flag.keys)
            words = ", ".join(f"`{word}`" for word in flag.names)
            choices = f" One of {', '.join(f'`{one.value}`' for one in flag.choices)}." if flag.choices else ""
            rows.append(f"| {words} | `{field}` | {keys} | {flag.help}{choices} |")
    return "\n".join(rows) + "\n"


def _keys_table(name: str) -> str:
    rows = ["| Key | Default | Meaning |", "|---|---|---|"]
    for key in vars(_KEYS[name]).values():
        if isinstance(key, Key):
            rows.append(f"| `{key.name}` | {_default(key.default)} | {key.doc} |")
    return "\n".join(rows) + "\n"


def _refused_table() -> str:
    rows = ["| Key | Taken with | Otherwise refused, because |", "|---|---|---|"]
    for one in REFUSED:
        keys, values = (", ".join(f"`{text}`" for text in texts) for texts in (one.names, one.harmless))
        equal = f"the value of `{one.same_as[0]}`" if one.same_as else "no value"
        rows.append(f"| {keys} | {values or equal} | {one.because}: {one.todo} |")
    return "\n".join(rows) + "\n"


def _without_effect_table(keys: Iterable[WithoutEffect]) -> str:
    rows = ["| Keys | No meaning here, because |", "|---|---|"]
    for one in keys:
        shown = (f"`{name}*`" if name.endswith(".") else f"`{name}`" for name in one.names)
        rows.append(f"| {', '.join(shown)} | {one.because} |")
    return "\n".join(rows) + "\n"


_UNSERVED: Mapping[str, Callable[[], str]] = {
    "refused": _refused_table,
    "without-effect": lambda: _without_effect_table(WITHOUT_EFFECT),
    "later-versions": lambda: _without_effect_table(OF_LATER_VERSIONS),
}


def _default(value: object) -> str:
    if value in (None, "", ()):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Enum):
        return f"`{value.value}`"
    return f"`{','.join(map(str, value)) if isinstance(value, tuple) else value}`"


def rendered(text: str) -> str:
    """A page with all its sections as the code has them now."""
    return _SECTION.sub(lambda found: f"{found[1]}{table(found['name'])}{found[3]}", text)


def stub() -> str:
    """The names that the provider gives away, with their homes."""
    homes = sorted((f"airflow_provider_pyhudi.{home}", name) for name, home in _HOMES.items())
    lines = ["# Written by `make docs` from the jobs that name operators.", ""]
    lines += [f"from {home} import {name} as {name}" for home, name in homes]
    return "\n".join([*lines, "", "_HOMES: dict[str, str]", "__all__: list[str]", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a page is out of date")
    check = parser.parse_args().check
    stale = []
    pages = {page: rendered(page.read_text(encoding="utf-8")) for page in sorted(DOCS.glob("*.md"))}
    for page, wanted in {**pages, STUB: stub()}.items():
        if not page.is_file() or wanted != page.read_text(encoding="utf-8"):
            stale.append(page.name)
            if not check:
                page.write_text(wanted, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}: run make docs" if check else f"written: {', '.join(stale)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
