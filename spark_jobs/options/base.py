"""Options of every job: which table, which configuration, and where the result goes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import Flag, Kind, Pairs, flag, flags_of
from spark_jobs.options.parser import parse_arguments
from spark_jobs.options.private_values import OPTIONS_FILE, read_private_values
from spark_jobs.options.properties import read_properties
from spark_jobs.options.secrets import HIDDEN, is_secret_name, secret_values, secrets_within


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """Options common to all jobs; each is also written and read as words of a command line.

    A field that is None or empty is not set: :meth:`effective` then takes it from ``hoodie_conf``, and last from the
    local file ``props``. Fields of pairs take a mapping and keep a tuple.

    :raises OptionsError: at construction, when a value does not fit its option.
    """

    job: ClassVar[str] = "job"
    """Name in messages, and of the file ``spark_jobs/<job>.py``."""
    needs_base_path: ClassVar[bool] = True

    base_path: Annotated[str, flag("--base-path", "--target-base-path", help="Base path of the table.")]
    table_name: Annotated[
        str | None,
        flag(
            "--table-name",
            "--target-table",
            keys=("hoodie.table.name", "hoodie.datasource.write.table.name"),
            help="Name of the table.",
        ),
    ] = None
    props: Annotated[str | None, flag("--props", help="Path or URL of a file of hoodie.* properties.")] = None
    hoodie_conf: Annotated[
        Pairs, flag("--hoodie-conf", kind=Kind.PAIRS, help="A hoodie.* property; wins over --props.")
    ] = field(default=(), repr=False)
    dry_run: Annotated[bool, flag("--dry-run", kind=Kind.SWITCH, help="Show what would be done, change nothing.")] = (
        False
    )
    result_file: Annotated[str | None, flag("--result-file", help="Path or URL that gets the result as JSON.")] = None
    storage_options: Annotated[
        Pairs,
        flag(
            "--storage-option",
            kind=Kind.PAIRS,
            help="A setting by which storage is reached, such as `aws_region=eu-west-1`; those of docs/storage.md. "
            "Secrets belong into `--options-file`.",
        ),
    ] = field(default=(), repr=False)
    debug: Annotated[bool, flag("--debug", kind=Kind.SWITCH, help="Show the traceback of an error.")] = False

    def __post_init__(self) -> None:
        for name, declared in flags_of(type(self)).items():
            object.__setattr__(self, name, declared.checked(getattr(self, name)))
        if self.needs_base_path and not self.base_path:
            raise OptionsError("--base-path is missing: give the base path of the table")

    @classmethod
    def from_args(cls, arguments: Sequence[str] | None = None) -> Self:
        """Read the words of a command line (``sys.argv`` when None).

        :raises OptionsError: an option is missing, unknown or invalid.
        :raises SystemExit: ``--help`` was asked for and printed.
        """
        flags = flags_of(cls)
        found = parse_arguments(cls.job, {**flags, "options_file": OPTIONS_FILE}, arguments)
        given = read_private_values(found.pop("options_file", None), flags.keys(), cls.job)
        for name, value in found.items():
            pairs = given.get(name) if flags[name].kind is Kind.PAIRS else None
            given[name] = [*pairs.items(), *value] if isinstance(pairs, dict) else value
        return cls(**{"base_path": "", **given})

    def to_args(self, options_file: str | None = None) -> list[str]:
        """The words from which :meth:`from_args` makes an equal value, but for what :meth:`private_values` has.

        :param options_file: one that has these, as the words then say.
        """
        private = self.private_values()
        words = [] if options_file is None else list(OPTIONS_FILE.arguments(options_file))
        for name, declared in flags_of(type(self)).items():
            if name not in private:
                words += declared.arguments(getattr(self, name))
        return words

    def private_values(self) -> dict[str, Any]:
        """The options that are set and may hold a secret, by name, of JSON's own types: for an options file."""
        found: dict[str, Any] = {}
        for name, declared in flags_of(type(self)).items():
            value = getattr(self, name)
            if value is None or value == ():
                continue
            if declared.kind is Kind.PAIRS:
                found[name] = dict(value)
            elif declared.private or _holds_secret(value):
                found[name] = list(value) if isinstance(value, tuple) else value
        return found

    def secrets(self) -> set[str]:
        """The secret values among all options and in the file ``props``, for what shows texts to people."""
        pairs: list[tuple[str, str]] = []
        for name, declared in flags_of(type(self)).items():
            value = getattr(self, name)
            if declared.kind is Kind.PAIRS:
                pairs += value
            elif isinstance(value, str | tuple):
                pairs += [(name, text) for text in ((value,) if isinstance(value, str) else value)]
        with suppress(OptionsError):  # whoever needs the file reports it
            pairs += read_properties(self.props).items() if self.props else ()
        return secret_values(pairs)

    def hoodie_properties(self) -> dict[str, str]:
        """All ``hoodie.*`` properties that were given: ``props``, over them ``hoodie_conf``, over them the options.

        :raises OptionsError: the file can't be read.
        """
        found = read_properties(self.props) if self.props else {}
        found.update(self.hoodie_conf)
        for name, declared in self._keyed():
            value = getattr(self, name)
            if value is not None and value != ():
                for key in declared.keys:
                    found.pop(key, None)
                found[declared.keys[0]] = declared.text(value)
        return found

    def effective(self) -> Self:
        """The same options with each unset one taken from ``hoodie_conf`` or else from ``props``.

        :raises OptionsError: the file can't be read, or a property's value is not valid.
        """
        conf = dict(self.hoodie_conf)
        file = read_properties(self.props) if self.props else {}
        changes: dict[str, Any] = {}
        for name, declared in self._keyed():
            value = getattr(self, name)
            if value is None or value == ():
                changes[name] = _first(declared, conf, file)
        return dataclasses.replace(self, **{name: value for name, value in changes.items() if value is not None})

    def _keyed(self) -> list[tuple[str, Flag]]:
        return [(name, declared) for name, declared in flags_of(type(self)).items() if declared.keys]


def _holds_secret(value: Any) -> bool:
    texts = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
    return any(True for text in texts for _ in secrets_within(text))


def _first(declared: Flag, *sources: dict[str, str]) -> Any:
    for source in sources:
        for key in declared.keys:
            text = source.get(key, "")
            if text == "":
                continue
            try:
                return declared.parse(text)
            except ValueError as error:
                shown = HIDDEN if is_secret_name(key) else text
                raise OptionsError(f"{key}={shown} is not valid: {error}") from None
    return None
