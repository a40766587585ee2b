"""Which partitions a clustering looks at (Hudi: ClusteringPlanPartitionFilter, PartitionAwareClusteringPlanStrategy);
pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.core.config.keys import clustering as keys
from spark_jobs.core.config.keys.clustering import CLUSTER_PLAN_STRATEGY, ClusteringPlanStrategy, PartitionFilterMode
from spark_jobs.core.errors import ConfigError

_MODE_OF = {
    ClusteringPlanStrategy.RECENT_DAYS: PartitionFilterMode.RECENT_DAYS,
    ClusteringPlanStrategy.SELECTED_PARTITIONS: PartitionFilterMode.SELECTED_PARTITIONS,
}
"""Two of Hudi's strategies are the size-based one with a filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFilter:
    """``selected`` names and ``regex`` (of the whole name) come first, then ``mode``; ``lookback`` and ``skip`` count
    partitions, ``begin`` and ``end`` are inclusive, ``hour`` is that of the day.
    """

    mode: PartitionFilterMode = PartitionFilterMode.NONE
    selected: tuple[str, ...] = ()
    regex: str = ""
    lookback: int = 2
    skip: int = 0
    begin: str = ""
    end: str = ""
    hour: int = 0

    @staticmethod
    def of(properties: Mapping[str, str], hour: int) -> PartitionFilter:
        """
        :raises ConfigError: SELECTED_PARTITIONS without its bounds.
        """
        mode = _MODE_OF.get(CLUSTER_PLAN_STRATEGY.of(properties)) or keys.CLUSTER_FILTER_MODE.of(properties)
        begin, end = keys.CLUSTER_BEGIN_PARTITION.of(properties), keys.CLUSTER_END_PARTITION.of(properties)
        if mode is PartitionFilterMode.SELECTED_PARTITIONS and not (begin and end):
            missing = keys.CLUSTER_END_PARTITION if begin else keys.CLUSTER_BEGIN_PARTITION
            raise ConfigError(f"{mode.value} needs {missing.name}", todo="give the first and the last partition")
        return PartitionFilter(
            mode=mode,
            selected=keys.CLUSTER_PARTITIONS.of(properties),
            regex=keys.CLUSTER_PARTITION_REGEX.of(properties),
            lookback=keys.CLUSTER_LOOKBACK.of(properties),
            skip=keys.CLUSTER_SKIP_LATEST.of(properties),
            begin=begin,
            end=end,
            hour=hour,
        )

    def apply(self, names: Iterable[str]) -> list[str]:
        """The partitions that are looked at, in the order of their groups in the plan."""
        found = sorted(names)
        if self.selected:
            there = set(found)
            found = [name for name in dict.fromkeys(self.selected) if name in there]
        elif self.regex:
            found = [name for name in found if re.fullmatch(self.regex, name)]
        if self.mode is PartitionFilterMode.RECENT_DAYS:
            newest = sorted(found, reverse=True)[self.skip :]
            return newest[: self.lookback] if self.lookback else newest
        if self.mode is PartitionFilterMode.SELECTED_PARTITIONS:
            return [name for name in found if self.begin <= name <= self.end]
        if self.mode is PartitionFilterMode.DAY_ROLLING:
            return [name for number, name in enumerate(sorted(found)) if number % 24 == self.hour]
        return found

    def text(self) -> str:
        """The filter in words; empty where it keeps all."""
        words = []
        if self.selected:
            words.append(f"{keys.CLUSTER_PARTITIONS.name}={','.join(self.selected)}")
        elif self.regex:
            words.append(f"{keys.CLUSTER_PARTITION_REGEX.name}={self.regex}")
        if self.mode is not PartitionFilterMode.NONE:
            words.append(self.mode.value)
        return " and ".join(words)
