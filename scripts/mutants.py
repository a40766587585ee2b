"""Plants each bug of tests/planted_bugs.py in a copy of the repository and runs the unit tests on it.

    python scripts/mutants.py                       # all; exit code 1 where one is not found
    python scripts/mutants.py lock archival         # those whose description has one of these words
    python scripts/mutants.py --tree ../earlier     # tests of another checkout, of bugs that fit its code
    python scripts/mutants.py --likely              # only the folders of tests that are likely to find it

The copy has what git tracks and what is not committed yet; it is deleted at the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.planted_bugs import PLANTED, PlantedBug  # noqa: E402

MINUTES = 20


def copied(tree: Path, to: Path) -> None:
    """All files that git knows, or would."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=tree,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (tree / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, to / name)


def run(tree: Path, folders: list[str], workers: str) -> str | None:
    """The first test that fails; None where all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "unit", "-n", workers, "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    try:
        done = subprocess.run(
            [*command, *folders], cwd=tree, env=environment, capture_output=True, text=True, timeout=60 * MINUTES
        )
    except subprocess.TimeoutExpired:
        return f"(no end within {MINUTES} minutes)"
    if done.returncode == 0:
        return None
    failed = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if not failed:
        raise SystemExit(f"pytest ended with {done.returncode} and names no test:\n{done.stdout[-2000:]}{done.stderr}")
    return failed[0].split(" - ")[0]


def found_by(tree: Path, bug: PlantedBug, workers: str, *, likely: bool) -> str | None:
    """The test that finds a bug which is planted for that long."""
    file = tree / "spark_jobs" / bug.file
    sound = file.read_text()
    file.write_text(sound.replace(bug.before, bug.after))
    try:
        folders = [f"tests/unit/{name}" for name in bug.tests.split() if (tree / "tests" / "unit" / name).exists()]
        found = run(tree, folders, workers) if folders else None
        return found if found is not None or likely else run(tree, ["tests/unit"], workers)
    finally:
        file.write_text(sound)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout whose code and tests are tried")
    parser.add_argument("--likely", action="store_true", help="no other tests where the likely ones find nothing")
    parser.add_argument("--workers", default="2")
    options = parser.parse_args()
    wanted = [bug for bug in PLANTED if not options.words or any(word in bug.what for word in options.words)]
    caught, missed, absent = 0, [], 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        copied(options.tree.resolve(strict=True), tree)
        for number, bug in enumerate(wanted, 1):
            file = tree / "spark_jobs" / bug.file
            if not file.exists() or file.read_text().count(bug.before) != 1:
                absent += 1
                print(f"{number:2}/{len(wanted)} can't be planted here: {bug.what}", flush=True)
                continue
            began = time.monotonic()
            found = found_by(tree, bug, options.workers, likely=options.likely)
            caught += found is not None
            missed += [] if found is not None else [bug.what]
            seconds = time.monotonic() - began
            print(f"{number:2}/{len(wanted)} {seconds:5.0f} s  {bug.what}: {found or 'NOT FOUND'}", flush=True)
    print(f"{caught} of {len(wanted) - absent} planted bugs found" + (f", {absent} not planted" if absent else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
