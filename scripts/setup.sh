#!/usr/bin/env bash
# Make .venv and install into it exactly what requirements-dev.lock names, then this checkout. Needs Python 3.11 or newer.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '[setup] %s\n' "$*"; }

usable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
        if command -v "$candidate" >/dev/null 2>&1 && usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    say 'No Python 3.11 or newer with its venv module found.' >&2
    say 'Debian 12, Ubuntu 24.04 and newer: apt-get install python3 python3-venv' >&2
    say 'Ubuntu 22.04: apt-get install python3.11 python3.11-venv' >&2
    say 'Elsewhere: PYTHON=/path/to/python3.11 make setup' >&2
    return 1
}

started=$SECONDS
if ! .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    python=$(find_python)
    say "creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi

say "installing $(grep -c '^[a-z].*==' requirements-dev.lock) locked packages, a few hundred MB on the first run"
if command -v uv >/dev/null 2>&1; then
    uv pip install --python .venv/bin/python --require-hashes -r requirements-dev.lock
else
    .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --require-hashes -r requirements-dev.lock |
        sed -un -e 's/^Collecting \([^ ]*\).*/[setup]   \1/p' -e 's/^Installing collected.*/[setup] unpacking/p'
fi
say 'installing this checkout'
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
touch .venv/.ready
say "ready after $((SECONDS - started)) s"
