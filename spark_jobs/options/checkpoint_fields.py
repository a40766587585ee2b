"""Options of an ingest from a source that a checkpoint goes with, by the names of Hudi's HoodieStreamer."""

from __future__ import annotations

from typing import Annotated

from spark_jobs.options.flags import Kind, flag

Checkpoint = Annotated[
    str | None,
    flag("--checkpoint", help="Where to go on in the source, once, in place of the table's checkpoint."),
]
IgnoreCheckpoint = Annotated[
    str | None,
    flag("--ignore-checkpoint", help="Any text that is new to the table: begin as if it had no checkpoint."),
]
SourceLimit = Annotated[
    int | None,
    flag(
        "--source-limit",
        kind=Kind.INTEGER,
        least=1,
        help="Messages, or commits of a Hudi table, that a batch has at most.",
    ),
]
AvailableNow = Annotated[
    bool,
    flag("--available-now", kind=Kind.SWITCH, help="Batch after batch until all that there was at the start is read."),
]
Continuous = Annotated[
    bool,
    flag("--continuous", kind=Kind.SWITCH, help="Batch after batch until SIGTERM or Ctrl-C, which end it after one."),
]
MinSyncInterval = Annotated[
    int | None,
    flag(
        "--min-sync-interval-seconds",
        kind=Kind.INTEGER,
        least=0,
        help="Seconds from the beginning of a batch to the next, with --continuous.",
    ),
]
