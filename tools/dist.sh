#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Build what is released from the last commit, into dist/: the source
# distribution, the wheel, and an SBOM of the wheel with what it requires.
#
# Usage: tools/dist.sh [OPTION ...]
#
# OPTION is one of "uv build". The distributions are built twice, in different
# folders, time zones and years. The exit code is not 0 if they differ by a
# byte.

set -o errexit
set -o nounset
set -o pipefail
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}/bin
scratch=$(mktemp --directory)
trap 'rm -rf "$scratch"' EXIT
# The time stamp of all that is built. Modes are those of the first umask.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022

# setuptools writes the time and the user of the build into an sdist.
function normalise {
    local folder=$1 archive
    archive=$(basename "$folder"/*.tar.gz)
    tar --extract --gzip --file "$folder/$archive" --directory "$folder"
    tar --create --directory "$folder" --format=pax \
        --pax-option=delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f \
        --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner "${archive%.tar.gz}" |
        gzip --no-name > "$scratch/archive"
    mv "$scratch/archive" "$folder/$archive"
    rm -r "${folder:?}/${archive%.tar.gz}"
}

function build {
    local source=$scratch/$1/source out=$scratch/$1/dist
    git clone --quiet "$PWD" "$source"
    # What the file system tells of the files differs, too.
    find "$source" -path "$source/.git" -prune -o \
        -exec touch --no-dereference --date="$2" {} +
    TZ=$3 "$venv/uv" build --quiet --no-build-isolation \
        --python "$venv/python" --out-dir "$out" "${@:4}" "$source"
    rm -f "$out/.gitignore"
    normalise "$out"
}

build one 2001-01-01 Etc/GMT+11 "$@"
build another/of/them 2011-11-11 Etc/GMT-11 "$@"
if ! diff --recursive "$scratch/one/dist" "$scratch/another/of/them/dist"; then
    echo "Two builds of the same commit differ." >&2
    exit 1
fi

# The wheel with what it requires, in the versions that the tests have.
"$venv/uv" venv --quiet "$scratch/installed"
"$venv/uv" pip install --quiet --python "$scratch/installed/bin/python" \
    --constraint constraints/nova34.txt "$scratch"/one/dist/*.whl
# Else the SBOM names the folder that it was installed from.
rm "$scratch"/installed/lib/*/site-packages/cell0_rebuild-*/direct_url.json
"$venv/uv" tool run --quiet --constraints constraints/tools.txt \
    --from cyclonedx-bom cyclonedx-py environment --output-reproducible \
    --output-file "$scratch/one/dist/cell0_rebuild.cdx.json" \
    "$scratch/installed/bin/python"

mkdir -p dist
rm -f dist/cell0_rebuild*
mv "$scratch"/one/dist/* dist
(cd dist && sha256sum cell0_rebuild*)
