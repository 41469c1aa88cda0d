#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measure which lines and branches of the package the tests reach.
#
# Usage: tools/cover.sh [SUITE ...] [PATTERN]
#
# The arguments are those of tools/run_tests.py; without any, the unit and the
# functional tests are run. Processes that a test starts are measured as well;
# pyproject.toml says how. The report is in cover/index.html, too.

set -o errexit
set -o nounset
set -o pipefail
cd "$(dirname "$0")/.."

[[ $# -gt 0 ]] || set -- unit functional
mkdir -p .state
coverage erase
CELL0_REBUILD_COVER=yes python tools/run_tests.py "$@"
coverage combine --quiet
coverage html --quiet
coverage report
coverage json --quiet -o .state/coverage.json
python tools/check_coverage.py .state/coverage.json 95
