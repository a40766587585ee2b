"""``python -m tests.fuzz --seconds 60`` gives each parser of files what reaches new branches of it, by atheris, for so
long: any error but ours is a bug, and becomes a literal test. ``make fuzz`` prepares what it needs.

What reached new branches stays in the folder of the corpus; ``--keep`` puts some small ones into the repository's
``tests/fuzz/corpus``, which each run and ``tests/unit/core/files/test_hostile_files.py`` begin with.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

from tests.support.parsers import CORPUS, PARSERS, kept_inputs, slug

MOST_KEPT, LARGEST_KEPT = 30, 512
"""Inputs of one parser, and bytes of one input."""


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("names", nargs="*", choices=[[], *PARSERS], help="of parsers; all without one")
    arguments.add_argument("--seconds", type=int, default=60, help="of each")
    arguments.add_argument("--folder", type=Path, default=Path(".cache/fuzz/corpus"), help="of the grown corpus")
    arguments.add_argument("--keep", action="store_true", help="add small inputs to the repository's corpus")
    options = arguments.parse_args()
    failed = [name for name in options.names or PARSERS if not _goes_well(name, options.seconds, options.folder)]
    if options.keep:
        for name in options.names or PARSERS:
            _keep(name, options.folder / slug(name))
    print(f"{len(failed)} of {len(options.names or PARSERS)} parsers failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def _goes_well(name: str, seconds: int, folder: Path) -> bool:
    """Its corpus grows by what reached new branches; what made it fail is in a file beside."""
    grown, failures = folder / slug(name), folder / "failures"
    for one in (grown, failures):
        one.mkdir(parents=True, exist_ok=True)
    for data in (*PARSERS[name].seeds(), *kept_inputs(name)):
        _put(grown, data)
    largest = max(path.stat().st_size for path in grown.iterdir())
    command = [
        *(sys.executable, "-m", "tests.fuzz.one", name, str(grown)),
        *(f"-max_total_time={seconds}", f"-max_len={min(largest, 65_536)}", "-rss_limit_mb=3000", "-timeout=20"),
        *(f"-artifact_prefix={failures}/{slug(name)}-", "-print_final_stats=1", "-verbosity=0"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    runs = next((line.split()[-1] for line in lines if "number_of_executed_units" in line), "?")
    print(
        f"{name}: {runs} inputs, {len(list(grown.iterdir()))} in the corpus{'' if done.returncode == 0 else ', FAILED'}"
    )
    if done.returncode:
        print("\n".join(line for line in lines[-40:] if not line.startswith("stat::")))
    sys.stdout.flush()
    return done.returncode == 0


def _keep(name: str, grown: Path) -> None:
    """The smallest that the repository has not."""
    target = CORPUS / slug(name)
    target.mkdir(parents=True, exist_ok=True)
    small = sorted(
        (path for path in grown.iterdir() if path.stat().st_size <= LARGEST_KEPT), key=lambda one: one.stat().st_size
    )
    for path in small[:: max(1, len(small) // MOST_KEPT)][:MOST_KEPT]:
        _put(target, path.read_bytes())


def _put(folder: Path, data: bytes) -> None:
    (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
