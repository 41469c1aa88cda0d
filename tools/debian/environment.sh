#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Build a system of Debian 12 with its own Nova and a package of cell0-rebuild.
#
# Usage: tools/debian/environment.sh FOLDER
#
# FOLDER/root is the system, FOLDER/enter runs a program in it. Nothing of it
# runs by itself, and nothing of this machine is changed, but debootstrap is
# installed if it is missing. Doing it again builds the package anew if its
# source has changed. It needs root.

set -o errexit
set -o nounset
set -o pipefail

folder=$(realpath --canonicalize-missing "$1")
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
export DEBIAN_FRONTEND=noninteractive

# Nova and Placement, then what builds a package, then what the tests need.
packages=(
    nova-api nova-conductor nova-scheduler nova-compute nova-compute-ironic
    placement-api python3-pymysql
    build-essential debhelper dh-python pybuild-plugin-pyproject python3-all
    python3-pbr python3-setuptools
    python3-coverage python3-ddt python3-fixtures python3-gabbi
    python3-hypothesis python3-oslotest python3-requests-mock python3-rich
    python3-stestr python3-subunit python3-testtools python3-wsgi-intercept
)
shipped=(
    cell0_rebuild cell0_rebuild_tempest_plugin setup.cfg setup.py
    pyproject.toml requirements.txt README.rst LICENSE tools/debian
)

function install_system {
    if ! command -v debootstrap > /dev/null; then
        apt-get update --quiet=2
        apt-get install --quiet=2 --yes --no-install-recommends debootstrap
    fi
    rm -rf --one-file-system "$folder"
    mkdir -p "$folder"
    debootstrap --variant=minbase bookworm "$folder/root"
    ln -s "$here/enter.sh" "$folder/enter"
    printf '#!/bin/sh\nexit 101\n' > "$folder/root/usr/sbin/policy-rc.d"
    chmod +x "$folder/root/usr/sbin/policy-rc.d"
    "$folder/enter" apt-get install --quiet=2 --yes \
        --no-install-recommends "${packages[@]}"
    sha256sum < "$0" > "$folder/installed"
}

function install_package {
    local build=$folder/root/root/build
    rm -rf "$build"
    mkdir -p "$build/source"
    cd "$repository"
    git ls-files -z --cached -- "${shipped[@]}" |
        tar --create --null --files-from=- |
        tar --extract --directory="$build/source"
    mv "$build/source/tools/debian" "$build/source/debian"
    # shellcheck disable=SC2016
    "$folder/enter" sh -c 'cd /root/build/source &&
        dpkg-buildpackage --build=binary --no-sign &&
        apt-get install --quiet=2 --yes --reinstall /root/build/*.deb'
    package_stamp > "$folder/package"
}

function package_stamp {
    cd "$repository"
    git ls-files -z --cached -- "${shipped[@]}" | xargs -0 sha256sum
}

if [[ $(id -u) -ne 0 ]]; then
    echo "A system of Debian can be built by root only." >&2
    exit 1
fi
if [[ $(sha256sum < "$0") != "$(cat "$folder/installed" 2> /dev/null)" ]]; then
    install_system
fi
if [[ $(package_stamp) != "$(cat "$folder/package" 2> /dev/null)" ]]; then
    install_package
fi
