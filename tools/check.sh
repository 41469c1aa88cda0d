#!/usr/bin/env bash
# Lint and types; all checks run, and any failure fails.

set -o nounset
cd "$(dirname "$0")/.." || exit 1
failed=0

function check {
    echo "== $*"
    "$@" || failed=1
}

mapfile -t scripts < <(git ls-files '*.sh' .ci/run devstack/settings)

check ruff check .
check flake8 cell0_rebuild tests tools setup.py
check mypy
check codespell
check bashate -i E006 "${scripts[@]}"
check shellcheck "${scripts[@]}"
check doc8 -q README.rst CONTRIBUTING.rst devstack/README.rst doc/source
check reno lint
check python -m sphinx -W -q -b html doc/source doc/build/html
exit "$failed"
