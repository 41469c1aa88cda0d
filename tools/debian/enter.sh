#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Run a program in the system that tools/debian/environment.sh has built.
#
# Usage: enter PROGRAM [ARGUMENT ...]
#
# It sees this repository where it is, and processes and the network of this
# machine. What is mounted for it is gone when it ends.

set -o errexit
set -o nounset
set -o pipefail

root=$(cd "$(dirname "$0")" && pwd)/root
repository=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd)
export root repository
# shellcheck disable=SC2016
exec unshare --mount sh -c '
    set -e
    mkdir -p "$root$repository"
    mount --bind "$repository" "$root$repository"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" env --unset=root --unset=repository \
        --chdir="$repository" "$@"' - "$@"
