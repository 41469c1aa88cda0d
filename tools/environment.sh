#!/usr/bin/env bash
# Build the virtual environment that tests, checks and the demo run in.
#
# Usage: tools/environment.sh [FOLDER]
#
# PYTHON names the interpreter; without it the first of python3.12, python3.13,
# python3.11 and python3 that is new enough for Nova 34 is taken. Doing it again
# does nothing unless a requirement has changed.

set -o errexit
set -o nounset
set -o pipefail

folder=$(realpath --canonicalize-missing "${1:-.venv}")
here=$(cd "$(dirname "$0")/.." && pwd)
inputs=("$here"/requirements.txt "$here"/test-requirements.txt
        "$here"/lint-requirements.txt "$here"/doc/requirements.txt
        "$here"/constraints/nova34.txt
        "$here"/setup.cfg "$here"/pyproject.toml "$here"/tools/environment.sh)

function is_new_enough {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
        2>/dev/null
}

function find_python {
    local name
    for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
        if is_new_enough "$name"; then
            command -v "$name"
            return
        fi
    done
    echo "Nova 34 needs Python 3.11, 3.12 or 3.13, and none is on the PATH." \
        "Install one, or name it with PYTHON=." >&2
    return 1
}

stamp=$(cat "${inputs[@]}" | sha256sum)
if [[ -e $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then
    exit 0
fi

python=$(find_python)
echo "Building $folder with $("$python" --version) ..."
if ! "$python" -m venv --clear "$folder"; then
    echo "$python cannot make virtual environments. On Debian and Ubuntu:" \
        "apt-get install python3-venv" >&2
    exit 1
fi
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check uv
unset PYTHONDONTWRITEBYTECODE
cd "$here"
"$folder/bin/uv" pip install --quiet --compile-bytecode \
    --python "$folder/bin/python" --constraint constraints/nova34.txt \
    --requirement requirements.txt --requirement test-requirements.txt \
    --requirement lint-requirements.txt --requirement doc/requirements.txt \
    --editable .
echo "$stamp" > "$folder/stamp"
