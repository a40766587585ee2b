"""How a store of objects is reached, by whichever names users have for it: the rules that all kinds of stores share.

What one kind is called by stands in a value of :class:`Names` (``s3_names.py``, ``azure_names.py``, ``gcs_names.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spark_jobs.core.errors import ConfigError

OF_THE_CLIENT: Final = frozenset(
    {
        *("allow_http", "allow_invalid_certificates", "root_certificate"),
        *("proxy_url", "proxy_ca_certificate", "proxy_excludes"),
    }
)
"""obstore's names of what all kinds of stores have: the settings of HTTP."""
_SPARK: Final = "spark.hadoop."
_ANONYMOUS: Final = "skip_signature"
"""obstore's name, for all kinds of stores."""
_YES: Final = ("1", "true", "on", "yes", "y")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """What obstore is told, by its own names: of the service, and of the client that speaks with it."""

    service: Mapping[str, str] = field(repr=False)
    client: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How users call the settings of one kind of store.

    ``own`` are obstore's names, which users write alone or behind one of ``prefixes`` (the longest first), as they do
    ``synonyms`` of them. ``elsewhere`` are whole names of others. Of ``credentials`` all come from one source: a key is
    not used with the token of another. ``is_hadoops`` says of a name whether it is a setting of Hadoop's connector that
    ``of_hadoop`` reads, which gets those settings, the authority of the URL, and what is set by other names.
    ``completed`` adds what follows from the settings of one source.
    """

    service: str
    own: frozenset[str]
    prefixes: tuple[str, ...]
    synonyms: Mapping[str, str]
    elsewhere: Mapping[str, str]
    credentials: frozenset[str]
    is_hadoops: Callable[[str], bool]
    of_hadoop: Callable[[Mapping[str, str], str, Mapping[str, str]], Mapping[str, str]]
    completed: Callable[[Mapping[str, str]], Mapping[str, str]]

    def name_of(self, key: str) -> str | None:
        """obstore's name of a setting, or None where this kind of store has none that is called so."""
        lowered = key.lower()
        if lowered in self.elsewhere:
            return self.elsewhere[lowered]
        prefix = next((one for one in self.prefixes if lowered.startswith(one)), "")
        short = lowered.removeprefix(prefix)
        short = self.synonyms.get(short, short)
        return short if short in self.own or short in OF_THE_CLIENT else None

    def knows(self, key: str) -> bool:
        """Whether it is a setting of this kind of store, by any of its names."""
        return self.name_of(key) is not None or self.is_hadoops(without_spark(key))

    def sign_if_given(self, service: dict[str, str]) -> None:
        """Where credentials are given, no variable of the environment makes requests anonymous."""
        if any(service.get(name) for name in self.credentials):
            service.setdefault(_ANONYMOUS, "false")

    def given(self, source: Mapping[str, str]) -> dict[str, str]:
        """The settings of one source by obstore's names, but for Hadoop's; empty values are none.

        :raises ConfigError: one is given by two names with two values.
        """
        found: dict[str, str] = {}
        for key, value in source.items():
            name = self.name_of(key)
            if name is None or not value.strip():
                continue
            if found.setdefault(name, value.strip()) != value.strip():
                raise ConfigError(f"the storage option {key} is given by another name, too", todo="give one of the two")
        return found

    def resolve(self, sources: Sequence[Mapping[str, str]], url: str) -> StoreOptions:
        """
        :param sources: settings by any of the names, each mapping over those before it; of one mapping Hadoop's names
            count below others, and what is no name of a setting is passed over.
        :param url: of the bucket: its scheme and its authority.
        :raises ConfigError: a setting by two names with two values, or a value that can't be served or sent.
        """
        found: dict[str, str] = {}
        for source in sources:
            hadoops = {without_spark(key): value.strip() for key, value in source.items()}
            hadoops = {key: value for key, value in hadoops.items() if self.is_hadoops(key)}
            given = self.given(source)
            of_hadoop = self.of_hadoop(hadoops, url.partition("://")[2], {**found, **given})
            own = self.completed({**of_hadoop, **given})
            if any(name in own for name in self.credentials):
                found = {name: value for name, value in found.items() if name not in self.credentials}
            found |= own
        for name, value in found.items():
            if not value.isprintable():
                raise ConfigError(
                    f"the {name} of {url} has a line break or another sign that is not printed", todo="give it without"
                )
        return StoreOptions(
            service={name: value for name, value in found.items() if name in self.own},
            client={name: value for name, value in found.items() if name in OF_THE_CLIENT},
        )


def says_yes(text: str) -> bool:
    """As obstore reads a text that is yes or no."""
    return text.lower() in _YES


def is_anonymous(service: Mapping[str, str]) -> bool:
    """Whether its requests are not to be signed."""
    return says_yes(service.get(_ANONYMOUS, ""))


def without_spark(key: str) -> str:
    """The name of a setting as Hadoop has it, without what Spark writes before it."""
    return key.removeprefix(_SPARK)
