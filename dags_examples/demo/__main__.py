"""``python -m dags_examples.demo`` is ``pyhudi-demo``."""

import sys

from dags_examples.demo.runner import main

if __name__ == "__main__":
    sys.exit(main())
