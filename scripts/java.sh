#!/usr/bin/env bash
# Prints the home of a Java 17 (or newer) runtime. JAVA_HOME comes first, then PATH, then the usual folders; where there
# is none, root installs it by apt-get or dnf, and anyone else gets one line that names the package, and exit 2.
set -euo pipefail

package=openjdk-17-jre-headless
dnf_package=java-17-openjdk-headless

# The home of the runtime that the given java command starts, if it is 17 or newer.
home_of() {
    local settings major
    settings=$("$1" -XshowSettings:properties -version </dev/null 2>&1) || return 1
    major=$(sed -n 's/^ *java\.specification\.version = //p' <<<"$settings")
    case "$major" in
        ''|*[!0-9]*) return 1 ;;
    esac
    [ "$major" -ge 17 ] || return 1
    sed -n 's/^ *java\.home = //p' <<<"$settings"
}

find_java() {
    local candidate
    for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" \
        /usr/lib/jvm/*17*/bin/java /usr/lib/jvm/*/bin/java; do
        if [ -n "$candidate" ] && [ -x "$candidate" ] && home_of "$candidate"; then
            return 0
        fi
    done
    return 1
}

find_java && exit 0

log=$(mktemp "${TMPDIR:-/tmp}/java-install.XXXXXX")
trap 'rm -f "$log"' EXIT
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "No Java 17 found: installing $package with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && apt-get install -q -y --no-install-recommends "$package"; } </dev/null >"$log" 2>&1 || true
elif [ "$(id -u)" -eq 0 ] && command -v dnf >/dev/null; then
    echo "No Java 17 found: installing $dnf_package with dnf" >&2
    dnf install -q -y "$dnf_package" </dev/null >"$log" 2>&1 || true
    package=$dnf_package
fi
find_java && exit 0
tail -n 5 "$log" >&2
echo "no Java 17 or newer found: install the package $package (Debian, Ubuntu) or $dnf_package (Fedora), or set JAVA_HOME" >&2
exit 2
