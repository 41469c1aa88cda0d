#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Make the kernel and the ramdisk of a guest that tells what it was given.
#
# Usage: tools/cloud/guest/make.sh FOLDER
#
# FOLDER has "kernel" and "ramdisk" then. The kernel is Debian's for clouds. All
# that runs in the guest is busybox and the file "init" beside this.

set -o errexit
set -o nounset
set -o pipefail

here=$(realpath "$(dirname "$0")")
mkdir --parents "$1"
cd "$1"
rm --recursive --force ./*.deb unpacked root

package=$(apt-cache depends --important linux-image-cloud-amd64 |
    sed --quiet 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head --lines=1)
if [[ -z $package ]]; then
    echo "apt knows no package linux-image-cloud-amd64: is this Debian, and" \
        "was apt-get update run?" >&2
    exit 1
fi
apt-get download --quiet=2 "$package"
dpkg-deb --extract ./*.deb unpacked
release=$(basename unpacked/lib/modules/*)
modules=lib/modules/$release/kernel

mkdir --parents root/{bin,dev,proc,sys,mnt}
cp "$(command -v busybox)" "$here/init" root
mv root/busybox root/bin
(cd unpacked && cp --parents --recursive --target-directory ../root \
    "$modules"/drivers/{virtio,cdrom,block/virtio_blk.ko,ata/libata.ko} \
    "$modules"/drivers/{ata/ata_piix.ko,scsi/sr_mod.ko,scsi/scsi_mod.ko} \
    "$modules"/{drivers/scsi/scsi_common.ko,fs/isofs})
busybox depmod -b root "$release"
(cd root && find . | busybox cpio -o -H newc 2> /dev/null | gzip) > ramdisk
mv "unpacked/boot/vmlinuz-$release" kernel
rm --recursive ./*.deb unpacked root
