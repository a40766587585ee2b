#!/usr/bin/env bash
# Runs the named phases in their order, stops at the first that fails, and ends with one summary line.
#
#   scripts/run_tests.sh lint unit long s3 provider spark faults interop
#   scripts/run_tests.sh azure gcs
#
# The project's environment must be on PATH (the Makefile sees to it). ARGS goes to pytest. With PYHUDI_NIGHTLY=1 they
# run the cases too that tests/nightly.py leaves to the night.
set -euo pipefail
cd "$(dirname "$0")/.."
reports=.cache/reports
mkdir -p "$reports"
started=$SECONDS
summary=()
scratch="" ahead=""

# The tables of the tests are small, and every write forces its files to the disk: in memory, where there is some to
# spare, that costs nothing.
memory=/dev/shm
spare=$(df --output=avail --block-size=1G "$memory" 2>/dev/null | tail -1 || true)
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "${spare:-0}" -ge 4 ]; then
    TMPDIR=$(mktemp -d "$memory/pyhudi-tests.XXXXXX")
    export TMPDIR
    scratch=$TMPDIR
fi
trap '[ -z "$ahead" ] || kill -- "-$ahead" 2>/dev/null || true; [ -z "$scratch" ] || rm -rf "$scratch"' EXIT

# Types take as long as all else.
lint() {
    local code=0
    mypy &
    local types=$!
    { ruff check . && lint-imports --no-cache && python scripts/reference_docs.py --check; } || code=$?
    wait "$types" || code=$?
    return "$code"
}

# pytest ends with 5 where a phase has no test: a phase that this clone asks for must have some.
# It collects from its own folder and from tests/demo, which tests/conftest.py looks after: to import all others takes
# as long as some phases.
tests() {
    # Two processes share the tests of a phase. Each begins with one half, so that the tests of a file, and what they
    # share, mostly stay together; who has none left takes some of the other's. Those of the provider keep whole files
    # together: what a run of a DAG left is looked at by many tests. Each process has a database of Airflow's of its own.
    local processes=(-n 2 --dist worksteal)
    [ "$1" != provider ] || processes=(-n 2 --dist loadfile)
    local marked=$1 folder=$1
    [ "$1" != unit ] || marked="unit and not long"
    [ "$1" != long ] || folder=unit
    case "$1" in s3|azure|gcs) folder="servers tests/unit tests/faults" ;; esac
    [ "$1" != hdfs ] || folder="hdfs tests/unit tests/faults"
    # shellcheck disable=SC2086
    python -m pytest -m "$marked" -o "testpaths=tests/demo tests/$folder" "${processes[@]}" --junit-xml="$reports/$1.xml" \
        ${ARGS:-} </dev/null
}

# What a phase needs beside the project's environment: made once, and quick when it is there.
prepare() {
    case "$1" in
        # the JVMs of the tests start without the archive, too: in half a time more
        provider|spark|faults|interop)
            python scripts/class_archive.py >/dev/null || echo "no archive of Spark's classes: the tests take longer" >&2 ;;
    esac
    case "$1" in
        s3) python scripts/s3_env.py ;;
        azure) python scripts/azurite_env.py ;;
        hdfs) python scripts/hadoop_env.py ;;
        spark) python scripts/kafka_env.py ;;
        spark-3.5) python scripts/spark_env.py 3.5 ;;
        interop) python scripts/real_hudi_env.py ;;
    esac >/dev/null
}

# Much of that is waiting for packages, which the first phases don't need. A phase that comes too early waits, and says
# what could not be had.
prepare_ahead() {
    local phase
    for phase in "$@"; do
        prepare "$phase" || true
    done >/dev/null 2>&1
}

count() {
    python - "$reports/$1.xml" <<'PY'
import sys
import xml.etree.ElementTree as ElementTree

suites = ElementTree.parse(sys.argv[1]).getroot().iter("testsuite")
total = skipped = 0
for suite in suites:
    total += int(suite.get("tests", 0))
    skipped += int(suite.get("skipped", 0))
print(f"{total - skipped} passed" + (f", {skipped} skipped" if skipped else ""))
PY
}

if [ $# -gt 1 ]; then
    set -m # a group of its own, which is ended as one
    prepare_ahead "$@" </dev/null &
    ahead=$!
    set +m
fi

for phase in "$@"; do
    printf '\n=== %s ===\n' "$phase"
    began=$SECONDS
    code=0
    case "$phase" in
        lint) lint || code=$? ;;
        unit|long|installs) tests "$phase" || code=$? ;;
        s3) { prepare s3 && PYHUDI_S3=${PYHUDI_S3:-moto} tests s3; } || code=$? ;;
        azure) { prepare azure && PYHUDI_AZURE=${PYHUDI_AZURE:-azurite} tests azure; } || code=$? ;;
        gcs) PYHUDI_GCS=${PYHUDI_GCS:-own} tests gcs || code=$? ;;
        hdfs) { prepare hdfs && PYHUDI_HDFS=${PYHUDI_HDFS:-mini} tests hdfs; } || code=$? ;;
        provider|spark|faults|interop) { prepare "$phase" && tests "$phase"; } || code=$? ;;
        spark-3.5) python tests/other_sparks.py 3.5 || code=$? ;; # which prepares it, too
        *)
            echo "unknown phase $phase: lint, unit, long, s3, azure, gcs, hdfs, installs, provider, spark, spark-3.5, faults or interop" >&2
            exit 2
            ;;
    esac
    if [ "$code" -ne 0 ]; then
        printf '\nFAILED: %s (exit code %s) after %s s; before it: %s\n' \
            "$phase" "$code" "$((SECONDS - started))" "${summary[*]:-nothing}"
        exit 1
    fi
    result=ok
    [ "$phase" = lint ] || result=$(count "$phase")
    summary+=("$phase $result in $((SECONDS - began)) s;")
done
printf '\nPASSED in %s s: %s\n' "$((SECONDS - started))" "${summary[*]}"
