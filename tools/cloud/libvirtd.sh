#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Run libvirtd and its guests in namespaces of their own.
#
# Usage: tools/cloud/libvirtd.sh FOLDER
#
# FOLDER is what libvirtd takes for /etc/libvirt and its other folders, so that
# it meets no other libvirtd. When it ends, its guests end.

set -o errexit
set -o nounset

# The inner shell has variables of its own.
# shellcheck disable=SC2016
unshare --mount --pid --fork --kill-child --mount-proc \
    bash -o errexit -c '
for part in etc run var/lib var/cache var/log; do
    mkdir --parents "/$part/libvirt" "$0/$part"
    mount --bind "$0/$part" "/$part/libvirt"
done
# The first process of a namespace has to wait for those that nobody waits for,
# the QEMUs that libvirtd has ended. libvirtd does not.
libvirtd &
wait $!' "$1" &
# unshare takes no other signal.
trap 'kill -KILL $!' TERM INT
wait $!
