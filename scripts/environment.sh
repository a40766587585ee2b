#!/usr/bin/env bash
# Makes or refreshes the project's Python environment and prints its folder on stdout; all progress goes to stderr.
#
#   scripts/environment.sh demo|dev
#
# The folder is PYHUDI_ENV, or .cache/env in the clone. A stamp per extra holds the hash of both pyproject.toml
# and of constraints.txt, so that the second call costs nothing; the stamp is written last, so that an interrupted install is
# taken up again.
set -euo pipefail

extra=${1:-}
case "$extra" in
    demo) extras=demo ;;
    dev) extras=demo,dev ;;
    *) echo "usage: scripts/environment.sh demo|dev" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
environment=${PYHUDI_ENV:-$root/.cache/env}
case "$environment" in
    /*) ;;
    *) environment=$root/$environment ;;
esac
say() { echo "[environment] $*" >&2; }

hash_of() { "$python" -c 'import hashlib, pathlib, sys
print(hashlib.sha256(b"".join(pathlib.Path(p).read_bytes() for p in sys.argv[1:])).hexdigest())' "$@"; }

python=$("$root/scripts/python.sh")
wanted=$(hash_of "$root/pyproject.toml" "$root/distributions/pyhudi/pyproject.toml" "$root/constraints.txt")
pins=$(hash_of "$root/constraints.txt")
read_stamp() { cat "$environment/$1" 2>/dev/null || true; }

if [ "$(read_stamp .stamp-dev)" = "$wanted $root" ] || [ "$(read_stamp ".stamp-$extra")" = "$wanted $root" ]; then
    echo "$environment"
    exit 0
fi

# Other pins: start over, because pyspark and pyspark-client share files and can't be exchanged one by one.
if [ -e "$environment" ] && { [ "$(read_stamp .stamp-pins)" != "$pins" ] || [ ! -x "$environment/bin/python" ]; }; then
    # .stamp-begun says that this script made the folder: nobody else's environment is removed.
    if [ ! -e "$environment/.stamp-begun" ] && [ -n "$(ls -A "$environment")" ]; then
        echo "PYHUDI_ENV=$environment is a folder that this script did not make: name an empty or missing one" >&2
        exit 2
    fi
    say "the pins changed: making $environment anew"
    rm -rf "$environment"
fi
if [ ! -x "$environment/bin/python" ]; then
    say "step 1 of 2: a virtual environment in $environment with $("$python" --version)"
    mkdir -p "$environment"
    touch "$environment/.stamp-begun"
    if ! message=$("$python" -m venv "$environment" 2>&1 </dev/null); then
        rm -rf "$environment"
        echo "$message" | tail -n 3 >&2
        echo "$python can't make virtual environments: install the package python3-venv" >&2
        exit 2
    fi
    echo "$pins" >"$environment/.stamp-pins"
fi
say "step 2 of 2: installing the project with [$extras]; the first time this fetches about 700 MB (PySpark is 450 MB)"
started=$SECONDS
progress=on
[ -t 2 ] || progress=off
"$environment/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar "$progress" \
    --constraint "$root/constraints.txt" --editable "$root/distributions/pyhudi" --editable "$root[$extras]" </dev/null >&2
echo "$wanted $root" >"$environment/.stamp-$extra"
say "done in $((SECONDS - started)) s"
echo "$environment"
