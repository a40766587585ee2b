"""spark-submit entry point: a table over Parquet files that are there."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.progress import Progress
from spark_jobs.options.bootstrap import BootstrapOptions
from spark_jobs.options.result import JobResult, JobState


def main(options: BootstrapOptions, progress: Progress) -> JobResult:
    """Run one bootstrap, and the sync to a metastore that its properties ask for; Spark starts when there is much."""
    from spark_jobs.core.table import HudiTable
    from spark_jobs.engine.on_demand import SparkOnDemand
    from spark_jobs.hive.job import sync_after_write, sync_asked_for
    from spark_jobs.services.bootstrap.job import run_bootstrap

    properties = options.effective().hoodie_properties()
    synced = sync_asked_for(properties)
    with SparkOnDemand("bootstrap", debug=options.debug, kind=options.engine) as engine:
        result = run_bootstrap(engine, options, progress)
    if not synced or result.state is JobState.DRY_RUN or not result.extra.get("bootstrapped"):
        return result
    return sync_after_write(HudiTable.open(options.base_path), properties, result, progress)


if __name__ == "__main__":
    sys.exit(run_job(main, BootstrapOptions))
