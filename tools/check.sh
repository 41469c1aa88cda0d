#!/usr/bin/env bash
# Lint and types; all checks run, and any failure fails.
#
# Usage: tools/check.sh [CHECK ...]
#
# A CHECK is a name below; without one all are run. .pre-commit-config.yaml
# has a hook for each. "tools/check.sh --list" prints the names.

set -o nounset
cd "$(dirname "$0")/.." || exit 1
# A hook of git has the environment that "make check" has built.
command -v sphinx-lint > /dev/null || PATH=$PWD/.venv/bin:$PATH
failed=0
chosen=" $* "

function check {
    local name=$1
    shift
    if [[ $chosen == " --list " ]]; then
        echo "$name"
    elif [[ $chosen == "  " || $chosen == *" $name "* ]]; then
        echo "== $*"
        "$@" || failed=1
    fi
}

mapfile -t scripts < <(git ls-files '*.sh' .ci/run devstack/settings)
mapfile -t documents < <(git ls-files '*.rst' 'releasenotes/notes/*.yaml')

check ruff ruff check .
check hacking flake8 cell0_rebuild cell0_rebuild_tempest_plugin doc tests \
    tools setup.py
check mypy mypy
check codespell codespell
check bashate bashate -i E006 "${scripts[@]}"
check shellcheck shellcheck "${scripts[@]}"
check doc8 doc8 -q README.rst CONTRIBUTING.rst devstack/README.rst \
    doc/source
check sphinx-lint sphinx-lint --enable all --disable line-too-long \
    "${documents[@]}"
check reno reno lint
check docs python -m sphinx -W -q -b html doc/source doc/build/html
check releasenotes python -m sphinx -W -q -b html releasenotes/source \
    releasenotes/build/html
exit "$failed"
