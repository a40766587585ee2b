"""Keys that stand in several file groups, in some of which logs removed their records; by joins.

The same of writes whose tasks read their source: ``write.direct.dead_places``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.write.index.incoming import Incoming
from spark_jobs.write.index.simple import keys_of_slices
from spark_jobs.write.tasks import BUCKET

_ALIVE, _LIVES, _FIRST = "_pyhudi_alive", "_pyhudi_lives", "_pyhudi_first"


def without_dead_places(incoming: Incoming, located: DataFrame) -> DataFrame:
    """``located`` where a key of several groups of its partition keeps those where it has a row, or one where it has
    none in any: a record written to a second group would be there twice.

    :param located: key, partition path and bucket number of stored keys; computed once.
    """
    if not _may_hold_dead_keys(incoming):
        return located
    place = [RECORD_KEY, PARTITION_PATH]
    groups = located.groupBy(*place).agg(F.collect_set(BUCKET).alias(BUCKET)).where(F.size(BUCKET) > 1)
    several = incoming.hold(groups)
    touched = [row[0] for row in several.select(F.explode(BUCKET)).distinct().collect()]
    logged = {number: incoming.slices[number] for number in touched if incoming.slices[number].log_files}
    if not logged:
        return located
    keys = incoming.hinted(several.select(RECORD_KEY).distinct())
    alive = keys_of_slices(incoming, logged).join(keys, RECORD_KEY, "left_semi").distinct()
    places = several.select(*place, F.explode(BUCKET).alias(BUCKET))
    marked = alive.withColumn(_ALIVE, F.lit(True))
    judged = places.join(incoming.hinted(marked), [RECORD_KEY, BUCKET], "left").withColumn(
        _ALIVE, ~F.col(BUCKET).isin(list(logged)) | F.col(_ALIVE).isNotNull()
    )
    by_key = incoming.hold(judged)
    first = by_key.groupBy(*place).agg(F.max(_ALIVE).alias(_LIVES), F.min(BUCKET).alias(_FIRST))
    stays = F.when(F.col(_LIVES), F.col(_ALIVE)).otherwise(F.col(BUCKET) == F.col(_FIRST))
    kept = by_key.join(incoming.hinted(first), place).where(stays).select(*place, BUCKET)
    sure = located.join(incoming.hinted(several.select(*place)), place, "left_anti").select(*place, BUCKET)
    return sure.unionByName(kept)


def _may_hold_dead_keys(incoming: Incoming) -> bool:
    """Whether two slices of one partition are there, one of them with logs, and keys of base files count anyway."""
    if incoming.live_alone:
        return False
    counts: dict[str, int] = {}
    for one in incoming.slices.values():
        counts[one.partition] = counts.get(one.partition, 0) + 1
    return any(one.log_files and counts[one.partition] > 1 for one in incoming.slices.values())
