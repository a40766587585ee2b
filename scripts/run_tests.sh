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

# The tables of the tests are small, and every write forces its files to the disk: in memory, where there is some to
# spare, that costs nothing.
memory=/dev/shm
spare=$(df --output=avail --block-size=1G "$memory" 2>/dev/null | tail -1 || true)
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "${spare:-0}" -ge 4 ]; then
    TMPDIR=$(mktemp -d "$memory/pyhudi-tests.XXXXXX")
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi

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

# The JVMs of the tests start without the archive, too: in half a time more.
classes() {
    python scripts/class_archive.py >/dev/null || echo "no archive of Spark's classes: the tests take longer" >&2
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

for phase in "$@"; do
    printf '\n=== %s ===\n' "$phase"
    began=$SECONDS
    code=0
    case "$phase" in
        lint) lint || code=$? ;;
        unit|long|installs) tests "$phase" || code=$? ;;
        s3) { python scripts/s3_env.py >/dev/null && PYHUDI_S3=${PYHUDI_S3:-moto} tests s3; } || code=$? ;;
        azure) { python scripts/azurite_env.py >/dev/null && PYHUDI_AZURE=${PYHUDI_AZURE:-azurite} tests azure; } || code=$? ;;
        gcs) PYHUDI_GCS=${PYHUDI_GCS:-own} tests gcs || code=$? ;;
        hdfs) { python scripts/hadoop_env.py >/dev/null && PYHUDI_HDFS=${PYHUDI_HDFS:-mini} tests hdfs; } || code=$? ;;
        provider|faults) { classes && tests "$phase"; } || code=$? ;;
        spark) { classes && python scripts/kafka_env.py >/dev/null && tests spark; } || code=$? ;;
        spark-3.5) python tests/other_sparks.py 3.5 || code=$? ;;
        interop) { classes && python scripts/real_hudi_env.py >/dev/null && tests interop; } || code=$? ;;
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
