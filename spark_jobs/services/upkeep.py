"""What a commit does for its table on request: cleaning and archival, in the process that committed.

Hudi does both by default (BaseHoodieWriteClient.mayBeCleanAndArchive). Here they are services of their own, and run
inside a writer only where ``hoodie.clean.automatic`` or ``hoodie.archive.automatic`` is set to true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spark_jobs.core.config.keys import archive as archive_keys
from spark_jobs.core.config.keys import clean as clean_keys
from spark_jobs.core.config.keys.table import TABLE_SERVICES
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.at_once import carry_out_at_once
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.archival.job import Archival
from spark_jobs.services.cleaning.job import clean_table


def maintain_table(settings: TransactionSettings, properties: Mapping[str, str], progress: Progress) -> None:
    """Clean, then archive, as far as the configuration asks for it; the caller holds no lock.

    The commit before it stands already: what fails here is reported, and left to the next one.
    """
    if not TABLE_SERVICES.of(properties):
        return
    if clean_keys.CLEAN_AUTOMATIC.of(properties) and not clean_keys.CLEAN_ASYNC.of(properties):
        _try("clean", settings, lambda locked, table, quiet: clean_table(locked, table, properties, quiet), progress)
    if archive_keys.ARCHIVE_AUTOMATIC.of(properties):
        _try(
            "archive",
            settings,
            lambda locked, table, quiet: carry_out_at_once(Archival(properties), locked, table, quiet),
            progress,
        )


def _try(
    name: str,
    settings: TransactionSettings,
    work: Callable[[TransactionSettings, HudiTable, Progress], JobResult],
    progress: Progress,
) -> None:
    try:
        with settings.new_lock() as locked:
            config = read_table_config(locked.storage, locked.base_path, locked.clock)
            table = HudiTable(locked.lake, locked.url, locked.storage, locked.base_path, config, lists_storage=True)
            result = work(locked, table, Progress.silent(name))
    except Exception as error:  # whatever ends it, the commit before it stands
        progress.warn(f"{name} after the commit failed ({failure_of(error).message}); the next commit tries again")
        return
    if result.state is JobState.COMPLETED:
        progress.note(f"{name} after the commit: {result.files_in} file(s) of {result.bytes_in} bytes")
