"""Make an archive of the classes that a Spark job loads: JVMs that map it start with two thirds of the work.

The tests start hundreds of short JVMs, which spend most of their time on loading the same classes (Java: application
class-data sharing, JEP 350). The archive is ``.cache/classes/spark.jsa`` in the clone. Running this again is quick,
unless Java or PySpark are others by now. It prints one JSON object, ``{"path": the archive}``. A JVM with other classes
starts without it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyspark
from real_hudi_env import ROOT, exclusive, java, print_made, run_logged

FOLDER = ROOT / ".cache" / "classes"
ARCHIVE = FOLDER / "spark.jsa"
SPARK_HOME = Path(pyspark.__file__).parent
JOB = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(100).selectExpr("id", "id % 7 p", "cast(id as string) k").write.parquet(sys.argv[1])
rows = spark.read.parquet(sys.argv[1]).repartition(2, "p").sort("k")
rows.mapInArrow(lambda batches: batches, rows.schema).createOrReplaceTempView("t")
print(spark.sql("select t.p, count(*) from t join t u on t.id = u.id where t.p > 1 group by t.p").collect())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    path: str


def prepare() -> Made:
    """
    :raises SetupError: there is no Java, or the job failed.
    """
    record, wanted = FOLDER / "wanted.json", json.dumps([_java_version(), str(SPARK_HOME), pyspark.__version__])
    with exclusive(FOLDER):
        if not ARCHIVE.exists() or not record.exists() or record.read_text() != wanted:
            print("Spark's classes: an archive for the JVMs of the tests (half a minute)", file=sys.stderr, flush=True)
            _dump()
            record.write_text(wanted)
    return Made(path=str(ARCHIVE))


def _java_version() -> str:
    return subprocess.run([java(), "-version"], capture_output=True, text=True, check=True).stderr


def _dump() -> None:
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        job, made = Path(scratch) / "job.py", Path(scratch) / "made.jsa"
        job.write_text(JOB)
        run_logged(
            [
                str(SPARK_HOME / "bin" / "spark-submit"),
                *("--master", "local[2]", "--conf", "spark.ui.enabled=false"),
                *("--driver-java-options", f"-XX:ArchiveClassesAtExit={made}"),
                *(str(job), f"{scratch}/rows"),
            ],
            FOLDER / "job.log",
            {"SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
        )
        os.replace(made, ARCHIVE)


if __name__ == "__main__":
    sys.exit(print_made(prepare, FOLDER, "TMPDIR"))
