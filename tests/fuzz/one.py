"""``python -m tests.fuzz.one NAME FOLDER [libFuzzer's options]``: one parser, until it fails or its time is over."""

from __future__ import annotations

import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["spark_jobs"], enable_loader_override=False):
    from spark_jobs.core.errors import HudiError
    from tests.support.parsers import PARSERS


def main() -> None:
    parser = PARSERS[sys.argv[1]]

    def parse(data: bytes) -> None:
        with suppress(HudiError):
            parser.parse(data)

    atheris.Setup([sys.argv[0], *sys.argv[2:]], parse)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
