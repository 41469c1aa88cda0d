#!/usr/bin/env bash
# Build a virtual environment.
#
# Usage: tools/environment.sh [FOLDER [RELEASE|cloud|older-client]]
#
# RELEASE is one of Nova, 26 to 34, to run the tests on; 34 is the one to
# develop on, with what checks and documentation need. "cloud" is what the
# services of "make cloud" and their clients run in, "older-client" what has a
# client that does not know all microversions of Nova. PYTHON names the
# interpreter; without it the first one on the PATH that the release runs on is
# taken. Doing it again does nothing unless a requirement has changed.

set -o errexit
set -o nounset
set -o pipefail

folder=$(realpath --canonicalize-missing "${1:-.venv}")
here=$(cd "$(dirname "$0")/.." && pwd)
purpose=${2:-34}
cd "$here"
case $purpose in
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
        constraints=constraints/nova$purpose.txt
        requirements=(requirements.txt test-requirements.txt)
        own=(.)
        ;;
esac
if [[ $purpose == 34 ]]; then
    requirements+=(
        upstream-requirements.txt lint-requirements.txt doc/requirements.txt)
fi
if [[ ! -e $constraints ]]; then
    echo "There is no environment for \"$purpose\"." >&2
    exit 1
fi
inputs=("${requirements[@]}" "$constraints" setup.cfg pyproject.toml
        tools/environment.sh)

# The minor versions of Python 3 that a release is tested on.
case $purpose in
    26) minors=(9) ;;
    27 | 28) minors=(10) ;;
    29 | 30) minors=(11) ;;
    31 | 32 | 33) minors=(12) ;;
    *) minors=(11 12 13) ;;
esac
if [[ ${PYTHON:-} =~ ^python3\.([0-9]+)$ ]]; then
    minors=("${BASH_REMATCH[1]}")
fi

function is_suitable {
    [[ " ${minors[*]} " == *" $("$1" -c '
import sys
print(sys.version_info.minor)' 2>/dev/null) "* ]]
}

# pyenv has interpreters that its configuration hides.
function find_python {
    local name minor
    for name in ${PYTHON:-} "${minors[@]/#/python3.}" python3; do
        if is_suitable "$name"; then
            command -v "$name"
            return
        fi
    done
    for minor in "${minors[@]}"; do
        for name in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*; do
            if [[ -x $name/bin/python3 ]]; then
                echo "$name/bin/python3"
                return
            fi
        done
    done
    echo "The environment \"$purpose\" needs one of Python" \
        "${minors[*]/#/3.}, and none is on the PATH. Install one, or name it" \
        "with PYTHON=." >&2
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
