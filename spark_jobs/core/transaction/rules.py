"""Who yields to whom, beside what no setting changes: two writes of one file group are never both completed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.config.keys.clustering import UPDATES_STRATEGY, UpdatesStrategy
from spark_jobs.core.config.keys.conflict import CONFLICT_STRATEGY, ConflictStrategy
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.named_function import named_function
from spark_jobs.core.transaction.conflict import FileGroupKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a write or a plan changes, as a function of one's own is told it; ``action`` as its files name it."""

    instant: str
    action: str
    is_completed: bool
    file_groups: frozenset[FileGroupKey]
    """(partition, file id); those that the write begins among them."""

    @property
    def partitions(self) -> frozenset[str]:
        return frozenset(partition for partition, _ in self.file_groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRules:
    """
    :param yields_to_clusterings: a write that changes file groups of a pending clustering is refused; else the
        clustering is, when it wants to be published.
    :param yields_to_writes: a clustering is refused for writes that are under way, too.
    :param own: ``module:function`` that says of two :class:`Change`, the writer's and another's, whether they must not
        both be completed, though they have no file group in common.
    """

    yields_to_clusterings: bool = True
    yields_to_writes: bool = False
    own: str = ""

    @staticmethod
    def of(properties: Mapping[str, str]) -> ConflictRules:
        """
        :raises ConfigError: a function that can't be found.
        """
        strategy = CONFLICT_STRATEGY.of(properties)
        prefers_writer = strategy is ConflictStrategy.PREFER_WRITER
        rules = ConflictRules(
            yields_to_clusterings=UPDATES_STRATEGY.of(properties) is UpdatesStrategy.REJECT and not prefers_writer,
            yields_to_writes=prefers_writer,
            own="" if isinstance(strategy, ConflictStrategy) else strategy,
        )
        if rules.own:
            rules._function()
        return rules

    def refuses(self, own: Change, other: Change) -> bool:
        """By the function of one's own, where there is one.

        :raises ConfigError: it fails.
        """
        if not self.own:
            return False
        try:
            return bool(self._function()(own, other))
        except Exception as error:
            raise ConfigError(
                f"conflict resolution {self.own} failed for {own.instant} and {other.instant}: "
                f"{type(error).__name__}: {error}",
                todo="mend the function",
            ) from error

    def _function(self) -> Callable[..., Any]:
        return named_function(self.own, "conflict resolution", "conflicts:of_one_partition")
