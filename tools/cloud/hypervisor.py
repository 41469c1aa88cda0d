# SPDX-License-Identifier: Apache-2.0

"""A host whose guests run: libvirt with QEMU, without KVM.

What the guests are is in the folder ``guest``.
"""

import base64
import json
import pathlib
import shutil
import site

from tests.integration import processes
from tools.cloud.configuration import common

_HERE = pathlib.Path(__file__).parent
HOST = 'guests'
# It is bound to the Python of the distribution.
_LIBRARY = pathlib.Path('/usr/lib/python3/dist-packages')
# By the Debian package that has each.
_PROGRAMS = {
    'busybox-static': 'busybox', 'genisoimage': 'genisoimage',
    'libvirt-daemon-system': 'libvirtd',
    'qemu-system-x86': 'qemu-system-x86_64', 'qemu-utils': 'qemu-img'}
_QEMU = {
    'user': 'root', 'group': 'root', 'security_driver': 'none',
    'namespaces': [], 'cgroup_controllers': [], 'stdio_handler': 'file',
    'dynamic_ownership': 0, 'remember_owner': 0}
_LIBVIRTD = {'auth_unix_rw': 'none', 'auth_unix_ro': 'none'}


def missing_packages(path='/usr/sbin:/usr/bin:/sbin:/bin'):
    """Return the Debian packages that are not there.

    :param path: where programs are looked for.
    """
    missing = [package for package, program in _PROGRAMS.items()
               if not shutil.which(program, path=path)]
    if not (_LIBRARY / 'libvirt.py').exists():
        missing.append('python3-libvirt')
    return missing


def prepare(plan):
    """Write the files of libvirtd, and let Python find its library."""
    # nova-compute looks at it before it makes it.
    common.state(plan, f'{HOST}/instances')
    folder = pathlib.Path(common.state(plan, 'libvirt')) / 'etc'
    folder.mkdir(exist_ok=True)
    for name, options in (('qemu', _QEMU), ('libvirtd', _LIBVIRTD)):
        (folder / f'{name}.conf').write_text(''.join(
            f'{option} = {json.dumps(value)}\n'
            for option, value in options.items()))
    packages = pathlib.Path(site.getsitepackages()[0])
    for path in _LIBRARY.glob('libvirt*'):
        if path.suffix in ('.py', '.so'):
            link = packages / path.name
            link.unlink(missing_ok=True)
            link.symlink_to(path)


def guest_command(plan):
    """Return the command that makes a kernel and a ramdisk in a folder."""
    return [_HERE / 'guest' / 'make.sh', guest_folder(plan)]


def guest_folder(plan):
    """Return the folder of the kernel and the ramdisk of guests."""
    return pathlib.Path(common.state(plan, 'guest'))


def command(plan):
    """Return the command that runs libvirtd."""
    return [_HERE / 'libvirtd.sh', common.state(plan, 'libvirt')]


def socket(plan):
    """Return the path of the socket of libvirtd."""
    return pathlib.Path(
        common.state(plan, 'libvirt')) / 'run' / 'libvirt-sock'


def options(plan):
    """Return what the nova.conf of the host has, by section."""
    helper = {'helper_command': str(processes.BIN / 'privsep-helper')}
    return {
        'DEFAULT': {'compute_driver': 'libvirt.LibvirtDriver',
                    'force_config_drive': 'true',
                    # One guest at a time: they are slow.
                    'initial_cpu_allocation_ratio': '1.0',
                    'reserved_host_memory_mb': '0'},
        'compute': {'cpu_shared_set': '0'},
        'libvirt': {
            'virt_type': 'qemu', 'cpu_mode': 'none', 'images_type': 'raw',
            'connection_uri':
                f'qemu+unix:///system?socket={socket(plan)}'},
        'nova_sys_admin': helper, 'privsep_osbrick': helper,
        'vif_plug_ovs_privileged': helper}


def told(console):
    """Return what a guest has told on its console, None if it is not ready.

    :param console: all that is on it.
    :returns: a dict of the metadata, and of the bytes of the user data, the
        files and the beginnings of the disks.
    """
    lines = [line.strip().split(' ', 2) for line in console.splitlines()
             if line.startswith('guest ')]
    if ['guest', 'ready'] not in lines:
        return None
    found = {line[1]: line[2] for line in lines if len(line) == 3}
    return {name: json.loads(value) if name == 'metadata'
            else base64.b64decode(value) for name, value in found.items()}
