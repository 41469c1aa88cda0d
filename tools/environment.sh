#!/usr/bin/env bash
# Build a virtual environment.
#
# Usage: tools/environment.sh [FOLDER [tests|cloud|older-client]]
#
# "tests" is what tests, checks and the demo run in, "cloud" what the services
# of "make cloud" and their clients run in, "older-client" what has a client
# that does not know all microversions of Nova.
#
# PYTHON names the interpreter; without it the first of python3.12, python3.13,
# python3.11 and python3 that is new enough for Nova 34 is taken. Doing it again
# does nothing unless a requirement has changed.

set -o errexit
set -o nounset
set -o pipefail

folder=$(realpath --canonicalize-missing "${1:-.venv}")
here=$(cd "$(dirname "$0")/.." && pwd)
purpose=${2:-tests}
cd "$here"
case $purpose in
    tests)
        constraints=constraints/nova34.txt
        requirements=(
            requirements.txt test-requirements.txt lint-requirements.txt
            doc/requirements.txt)
        own=(.)
        ;;
    cloud)
        constraints=constraints/cloud.txt
        requirements=(requirements.txt tools/cloud/requirements.txt)
        own=(. tools/cloud/drivers)
        ;;
    older-client)
        constraints=constraints/older-client.txt
        requirements=(tools/cloud/older-client-requirements.txt)
        own=()
        ;;
    *)
        echo "There is no environment for \"$purpose\"." >&2
        exit 1
        ;;
esac
inputs=("${requirements[@]}" "$constraints" setup.cfg pyproject.toml
        tools/environment.sh)

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
"$folder/bin/uv" pip install --quiet --compile-bytecode \
    --python "$folder/bin/python" --constraint "$constraints" \
    "${requirements[@]/#/--requirement=}" "${own[@]/#/--editable=}"
echo "$stamp" > "$folder/stamp"
