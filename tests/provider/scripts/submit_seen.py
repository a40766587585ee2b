#!/usr/bin/env python3
"""Run the application that spark-submit's words name, without a JVM, after noting how: the words, as everybody on the
machine sees them, and the variables.
"""

import json
import os
import sys
from pathlib import Path

here = Path("/proc/self/cmdline")
seen = here.read_bytes().decode().replace("\0", " ") if here.exists() else " ".join(sys.argv)
with open(Path(os.environ["PROBE_FOLDER"], "seen.jsonl"), "a") as file:
    file.write(json.dumps({"words": seen, "variables": dict(os.environ)}) + "\n")
at = next(index for index, word in enumerate(sys.argv) if word.endswith(".py") and index > 0)
python = os.environ["PYSPARK_DRIVER_PYTHON"]
os.execv(python, [python, *sys.argv[at:]])
