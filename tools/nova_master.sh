#!/usr/bin/env bash
# Tell which of our targets Nova's development branch has changed.
#
# Usage: tools/nova_master.sh FOLDER
#
# The source is fetched from NOVA_SOURCE, any URL or folder that git can
# clone, into FOLDER.

set -o errexit
set -o nounset
set -o pipefail
cd "$(dirname "$0")/.."

source=${NOVA_SOURCE:-https://opendev.org/openstack/nova}
folder=$(realpath --canonicalize-missing "$1")/nova

rm -rf "$folder"
git clone --quiet --depth 1 "$source" "$folder"
echo "Nova as of $(git -C "$folder" log -1 --format='%cs %h')"
python -W ignore tools/nova_drift.py "$folder"
