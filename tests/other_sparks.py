"""What runs in environments of other lines of Spark (``scripts/spark_env.py``): by day a few tests on 3.5, by night
these files on each line.

    python tests/other_sparks.py 3.5          the few
    python tests/other_sparks.py --whole 4.0  the files
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FEW = (
    "spark/engine/test_exchange.py::test_blocks_come_to_their_task_in_the_order_of_the_items",
    "spark/engine/test_older_spark.py",
    "spark/write/test_key_generators.py::test_spark_and_arrow_agree[id,double,double]",
    "spark/write/test_key_generators.py::test_spark_and_arrow_agree[id,money,money]",
    "spark/write/test_key_generators.py::test_spark_and_arrow_refuse_the_same_values",
    "spark/services/test_services.py",
)
"""Each function of ``engine/older_spark.py``, rows through a write, and each service's work, once."""
FILES = (
    "spark/cluster/test_bare_executors.py",
    "spark/engine",
    "spark/services/test_services.py",
    "spark/write/test_key_generators.py",
    "spark/write/test_operations.py",
)


def main(words: list[str]) -> int:
    """The exit code of pytest in the environment of a line of Spark, which is made where it is not there."""
    *whole, line = words
    sys.path.insert(0, str(ROOT / "scripts"))
    from real_hudi_env import SetupError
    from spark_env import prepare

    try:
        python = prepare(line).python
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    report = ROOT / ".cache" / "reports" / f"spark-{line}.xml"
    named = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python, "PYTHONPATH": str(ROOT)}
    named["PYHUDI_NIGHTLY"] = "1"  # the few are chosen here
    named["PYHUDI_KAFKA_ENV"] = str(ROOT / ".cache" / f"kafka-{line}")  # none: the connector is that of Spark 4.2
    kept = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    tests = [str(ROOT / "tests" / name) for name in (FILES if whole else FEW)]
    shared = ["-n", "2", "--dist", "worksteal", f"--junit-xml={report}"]
    command = [python, "-m", "pytest", "-m", "spark", "-p", "no:cacheprovider", *shared, *tests]
    return subprocess.run(command, cwd=ROOT, env={**kept, **named}, stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
