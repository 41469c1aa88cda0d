#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Install the packages of bindep.txt that a Debian machine lacks.
#
# Usage: tools/install_system_packages.sh [PROFILE]
#
# PROFILE is one of bindep.txt, whose packages are wanted, too.
#
# Without root it only says what is missing; the tests that need it are
# skipped then. bindep is not asked: its environment needs some of them.

set -o errexit
set -o nounset
set -o pipefail
cd "$(dirname "$0")/.."

command -v dpkg-query > /dev/null || exit 0
mapfile -t wanted < <(sed --quiet \
    "s/ \[platform:dpkg\( ${1:-}\)\?\]\$//p" bindep.txt)
missing=()
for package in "${wanted[@]}"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" \
        2>/dev/null) == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
    exit 0
fi
if [[ $(id -u) -ne 0 ]]; then
    echo "Missing: ${missing[*]}. Install them as root to run all tests." >&2
    exit 0
fi
echo "Installing ${missing[*]} ..."
export DEBIAN_FRONTEND=noninteractive
# The tests start instances of their own; the distribution's are not wanted.
if [[ ! -e /usr/sbin/policy-rc.d ]]; then
    printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi
log=$(mktemp)
if ! {
    apt-get update --quiet=2 --option DPkg::Lock::Timeout=300 &&
        apt-get install --quiet=2 --yes --no-install-recommends \
            --option DPkg::Lock::Timeout=300 "${missing[@]}"
} > "$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
rm "$log"
