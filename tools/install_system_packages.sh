#!/usr/bin/env bash
# Install the Debian packages that the tests and the cloud need and the machine lacks.
#
# Without root it only says what is missing; the tests that need it are
# skipped then.

set -o errexit
set -o nounset
set -o pipefail

declare -A packages=(
    [/usr/sbin/mariadbd]=mariadb-server
    [/usr/sbin/rabbitmq-server]=rabbitmq-server
    [/usr/bin/memcached]=memcached
    [/usr/bin/git]=git
)

missing=()
for program in "${!packages[@]}"; do
    [[ -x $program ]] || missing+=("${packages[$program]}")
done
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    missing+=(python3-venv)
fi
if [[ ${#missing[@]} -eq 0 ]]; then
    exit 0
fi
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get > /dev/null; then
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
apt-get update --quiet=2 --option DPkg::Lock::Timeout=300
apt-get install --quiet=2 --yes --no-install-recommends \
    --option DPkg::Lock::Timeout=300 "${missing[@]}"
