"""Doing a step of the benchmark on a side's own table, and what was measured of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.lineitem_data import LineitemData
from benchmarks.sides import LOCAL, LocalJob, Output, added, data_files, hoodie_options, rewrite_limit, service_options
from benchmarks.steps import Do, Rows, Start, Step
from tests.interop.lines import LineClient

LIMIT = "pyarrow"
Client = LineClient | LocalJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One step of one run of one side; ``phases`` has the seconds by phase where the side tells them."""

    side: str
    step: str
    run: int
    seconds: float
    output: Output
    phases: Mapping[str, float] = field(default_factory=dict)


class Bench:
    """Tables below ``scratch``, of each side its own.

    :param address: what a side calls the table in a folder: the folder, or its URL where a server gives it.
    :param procedures: more options of Hudi's services.
    """

    def __init__(
        self,
        data: LineitemData,
        scratch: Path,
        metadata_table: bool,
        address: Callable[[str, Path], str] = lambda side, table: str(table),
        procedures: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._address, self._procedures = address, procedures
        self._data = data
        self._scratch = scratch
        self._metadata_table = metadata_table
        self._sources = {
            Rows.BASE: (data.base, data.base_rows),
            Rows.CHANGES: (data.changes, data.change_rows),
            Rows.ONE_PARTITION: (data.one_partition, data.one_partition_rows),
        }

    def prepare(self, side: str, client: LineClient, steps: tuple[Step, ...]) -> None:
        """The tables that the steps begin with, made by the side itself, once."""
        shutil.rmtree(self._scratch / side, ignore_errors=True)
        for start in (step.start for step in steps):
            table = None if start is None else self._start(side, start)
            if start is None or table is None or table.exists():
                continue
            self._write(side, client, table, Rows.BASE, "bulk_insert", start.table_type, start.options)
            if start.changed:
                self._write(side, client, table, Rows.CHANGES, "upsert", start.table_type, start.options)

    def reset(self, side: str, step: Step) -> None:
        """Make the table as the step must find it."""
        table = self.table(side, step)
        shutil.rmtree(table, ignore_errors=True)
        if step.start is not None:
            shutil.copytree(self._start("ours" if side == LOCAL else side, step.start), table)
        os.sync()  # or the first file that the step forces to the disk takes the whole copy along

    def table(self, side: str, step: Step) -> Path:
        return self._scratch / side / step.name.replace(" ", "_")

    def step(self, side: str, client: Client, step: Step, run: int) -> Measure:
        """Do a step on its table, which is as :meth:`reset` left it, and measure it.

        :raises SystemExit: it changed nothing.
        """
        table = self.table(side, step)
        before = data_files(table) if table.exists() else {}
        options = service_options(metadata_table=self._metadata_table)
        if side == "hudi":
            options = {**options, **self._procedures}
        if step.do is Do.WRITE:
            answer = self._write(side, client, table, step.rows, step.operation, step.table_type, step.options)
        elif step.do is Do.ROLL_BACK:
            newest = max(path.name.split(".")[0] for path in (table / ".hoodie").glob("*.commit"))
            answer = client.ask("rollback", path=self._address(side, table), instant=newest, options=options)
        else:
            service = "compact" if step.do is Do.COMPACT else "cluster"
            answer = client.ask(service, path=self._address(side, table), options=options)
        after = data_files(table)
        if after == before:
            raise SystemExit(f"{side}: {step.name} changed no file of {table}")
        phases = answer.get("seconds_by_phase", {}) if isinstance(answer, dict) else {}
        output = added(before, after)
        return Measure(side=side, step=step.name, run=run, seconds=client.seconds, output=output, phases=phases)

    def limit(self, side: str, step: Step, run: int) -> Measure:
        """The base files that a step touched, rewritten without a change: those with logs, or all."""
        assert step.start is not None
        target = self._scratch / "limit"
        found = list(data_files(self._start(side, step.start)))
        logged = {file.name[1:].split("_")[0] for file in found if ".log." in file.name}
        bases = [file for file in found if file.suffix == ".parquet"]
        files = [file for file in bases if file.name.split("_")[0] in logged] or bases
        seconds = rewrite_limit(files, target)
        written = Output(files=len(files), bytes=sum(file.stat().st_size for file in target.iterdir()))
        shutil.rmtree(target)
        return Measure(side=LIMIT, step=step.name, run=run, seconds=seconds, output=written)

    def check(self, side: str, reader: LineClient, step: Step) -> None:
        """Real Hudi counts the rows and the changed ones of the table that a step left.

        :raises SystemExit: they are not what was written.
        """
        path = self.table(side, step)
        reader.ask("sql", text=f"create or replace temporary view checked using hudi options (path '{path}')")
        text = "select count(*) n, count(distinct l_key) k, coalesce(sum(l_version), 0) changed from checked"
        rows = reader.ask("sql", text=text)[0]
        changes = self._data.base_rows + self._data.inserted_rows, self._data.change_rows
        by_rows = {
            Rows.BASE: (self._data.base_rows, 0),
            Rows.CHANGES: changes,
            Rows.ONE_PARTITION: (self._data.base_rows, self._data.one_partition_rows),
        }
        total, changed = by_rows[step.rows] if step.do is Do.WRITE else (self._data.base_rows, 0)
        if step.do is Do.COMPACT:
            total, changed = changes
        if rows != {"n": total, "k": total, "changed": changed}:
            raise SystemExit(f"{path}: {rows}, expected {total} rows, {changed} of them changed")

    def _start(self, side: str, start: Start) -> Path:
        words = [start.table_type, *start.options.values(), *(["changed"] if start.changed else [])]
        return self._scratch / side / "start" / "-".join(words).lower()

    def _write(
        self,
        side: str,
        client: Client,
        table: Path,
        rows: Rows,
        operation: str,
        table_type: str,
        extra: Mapping[str, str],
    ) -> Any:
        options = {**hoodie_options(table_type, metadata_table=self._metadata_table), **extra}
        source, _ = self._sources[rows]
        path = self._address(side, table)
        return client.ask("write", path=path, source=str(source), operation=operation, options=options)
