#!/usr/bin/env bash
# Prints the path of a Python 3.11 or newer; PYHUDI_PYTHON names one. One line on stderr and exit 2 where there is none.
set -euo pipefail

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null >/dev/null 2>&1
}

if [ -n "${PYHUDI_PYTHON:-}" ]; then
    if new_enough "$PYHUDI_PYTHON"; then
        command -v "$PYHUDI_PYTHON"
        exit 0
    fi
    echo "PYHUDI_PYTHON=$PYHUDI_PYTHON is not a Python 3.11 or newer: point it at one" >&2
    exit 2
fi
# The constraints are made with 3.11; python3 comes next, being what the system maintains.
for candidate in python3.11 python3 python3.12 python3.13 python; do
    if new_enough "$candidate"; then
        command -v "$candidate"
        exit 0
    fi
done
echo "no Python 3.11 or newer on PATH: install one (package python3.11 or newer), or set PYHUDI_PYTHON to it" >&2
exit 2
