#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Build a virtual environment.
#
# Usage: tools/environment.sh [FOLDER [RELEASE|cloud|older-client]]
#
# RELEASE is one of Nova, of those in constraints/releases.csv, to run the tests
# on; the newest is the one to develop on, with what checks and documentation
# need. "cloud" is what the services of "make cloud" and their clients run in,
# "older-client" what has a client that does not know all microversions of Nova.
# PYTHON names the interpreter; without it the first one on the PATH that the
# release runs on is taken. Doing it again does nothing unless a requirement has
# changed.

set -o errexit
set -o nounset
set -o pipefail

folder=$(realpath --canonicalize-missing "${1:-.venv}")
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"
newest=$(tail --lines=1 constraints/releases.csv | cut --delimiter=, --fields=1)
purpose=${2:-$newest}
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
if [[ $purpose == "$newest" ]]; then
    requirements+=(
        upstream-requirements.txt lint-requirements.txt doc/requirements.txt)
fi
if [[ ! -e $constraints ]]; then
    echo "There is no environment for \"$purpose\"." >&2
    exit 1
fi
inputs=("${requirements[@]}" "$constraints" constraints/tools.txt setup.cfg
        pyproject.toml tools/environment.sh)

# The Pythons that a release is tested on; the others are of the newest.
line=$(grep "^$purpose," constraints/releases.csv) ||
    line=$(tail --lines=1 constraints/releases.csv)
IFS=, read -r _ pythons _ <<< "$line"
read -r -a pythons <<< "$pythons"
if [[ ${PYTHON:-} =~ ^python(3\.[0-9]+)$ ]]; then
    pythons=("${BASH_REMATCH[1]}")
fi

function is_suitable {
    [[ " ${pythons[*]} " == *" $("$1" -c '
import sys
print("%s.%s" % sys.version_info[:2])' 2>/dev/null) "* ]]
}

# pyenv has interpreters that its configuration hides.
function find_python {
    local name python
    for name in ${PYTHON:-} "${pythons[@]/#/python}" python3; do
        if is_suitable "$name"; then
            command -v "$name"
            return
        fi
    done
    for python in "${pythons[@]}"; do
        for name in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$python".*; do
            if [[ -x $name/bin/python3 ]]; then
                echo "$name/bin/python3"
                return
            fi
        done
    done
    echo "The environment \"$purpose\" needs one of Python" \
        "${pythons[*]}, and none is on the PATH. Install one, or name it with" \
        "PYTHON=." >&2
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
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
    --constraint constraints/tools.txt uv
unset PYTHONDONTWRITEBYTECODE
"$folder/bin/uv" pip install --quiet --compile-bytecode \
    --python "$folder/bin/python" --constraint "$constraints" \
    "${requirements[@]/#/--requirement=}" "${own[@]/#/--editable=}"
# What no constraint pins would be another version tomorrow.
loose=$("$folder/bin/uv" pip list --quiet --format=freeze --exclude-editable \
    --python "$folder/bin/python" |
    grep --invert-match --line-regexp --fixed-strings --file="$constraints" |
    grep --invert-match '^\(pip\|uv\)==' || true)
if [[ -n $loose ]]; then
    echo "Not pinned in $constraints: $loose" >&2
    exit 1
fi
echo "$stamp" > "$folder/stamp"
