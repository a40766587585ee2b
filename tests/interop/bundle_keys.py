"""Which ``hoodie.*`` texts stand in the classes of a bundle that declare keys, read from its jar without a JVM.

    python -m tests.interop.bundle_keys hudi-spark3.5-bundle_2.12-1.2.0.jar

tests/unit/core/config/later_keys.txt has what the bundles 1.0.2 and 1.2.0 give beyond documented_keys.txt and the
bundle 0.15.0, less names that are no keys (``hoodie.metrics`` and the like).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.interop.hudi_config import classes_that_declare

_KEY = re.compile(r"_?hoodie\.[A-Za-z0-9_.\-]+[A-Za-z0-9_]")
_TEXT, _WIDE = 1, (5, 6)
_BYTES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Of each kind of constant after its tag (The Java Virtual Machine Specification, 4.4)."""


def bundle_keys(jar: Path) -> list[str]:
    """The keys, sorted."""
    texts = (text for _, of_class in classes_that_declare(jar) for text in constants(of_class))
    return sorted({text for text in texts if _KEY.fullmatch(text)})


def constants(of_class: bytes) -> set[str]:
    """All texts of a class file's pool of constants."""
    texts = set()
    at, slot, count = 10, 1, int.from_bytes(of_class[8:10], "big")
    while slot < count:
        tag = of_class[at]
        if tag == _TEXT:
            end = at + 3 + int.from_bytes(of_class[at + 1 : at + 3], "big")
            texts.add(of_class[at + 3 : end].decode("utf-8", "replace"))
            at = end
        else:
            at += 1 + _BYTES[tag]
        slot += 2 if tag in _WIDE else 1
    return texts


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(*bundle_keys(Path(path)), sep="\n")
