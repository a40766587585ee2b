"""Real Hudi as the serving end of ``lines``, with what ``benchmarks/requests.py`` asks for beside writes and services:
the single steps of a reader. Paths are ``s3a:`` URLs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyspark.sql import SparkSession

from tests.interop.hudi_server import HudiServer
from tests.interop.lines import serve


class S3aServer(HudiServer):
    """Each command begins without anything that an earlier one knows of the table."""

    def open(self, *, path: str) -> int:
        """The instants of the active timeline."""
        return int(self._meta_client(path).getActiveTimeline().countInstants())

    def plan(self, *, path: str) -> int:
        """The files that a snapshot query of the whole table would read; no row is read."""
        return len(self._spark.read.format("hudi").load(path).inputFiles())

    def query(self, *, path: str, column: str, values: Sequence[str]) -> int:
        """The rows of a snapshot query whose column has one of the values: they are read, and counted here."""
        frame = self._spark.read.format("hudi").load(path)
        return len(frame.filter(frame[column].isin(list(values))).collect())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, required=True, help="descriptor that answers go to")
    options = parser.parse_args()
    serve(S3aServer(SparkSession.builder.appName("real-hudi").getOrCreate()), options.answers)


if __name__ == "__main__":
    main()
