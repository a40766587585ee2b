#!/usr/bin/env python3
"""Run the application that spark-submit's words name, with the Python that they should have brought; no JVM."""

import os
import sys

at = next(index for index, word in enumerate(sys.argv) if word.endswith(".py") and index > 0)
python = os.environ["PYSPARK_DRIVER_PYTHON"]
os.execv(python, [python, *sys.argv[at:]])
