# SPDX-License-Identifier: Apache-2.0

"""What an operator puts into a new cloud: users, images, networks."""

import io
import os

import openstack
from openstack import exceptions
import yaml

from tests.integration import processes
from tools.cloud import plan as plans

_ENDPOINTS = {
    'glance': ('image', ''),
    'placement': ('placement', ''),
    'neutron': ('network', ''),
    'cinder': ('block-storage', '/v3'),
    'nova': ('compute', '/v2.1'),
}
IMAGE = 'raw'
OTHER_IMAGE = 'other-raw'
# These boot, on the host that "make cloud ARGS=--libvirt" adds.
GUEST_IMAGES = ('guest', 'other-guest')
NETWORK = 'private'
FLAVORS = {'tiny': (1, 64, 1), 'small': (1, 512, 1), 'huge': (1000, 64, 1)}


def connect(plan, project='admin'):
    """Return a connection of the administrator.

    :param project: that it works in.
    """
    return openstack.connect(load_yaml_config=False, load_envvars=False,
                             **_account(plan, 'admin', project))


def register(plan):
    """Make the users and the catalogue."""
    identity = connect(plan).identity
    roles = {role.name: role for role in identity.roles()}
    service, demo = (_have(identity, 'project', name, domain_id='default')
                     for name in ('service', 'demo'))
    for name, (kind, path) in _ENDPOINTS.items():
        user = _user(identity, name)
        for role in ('admin', 'service'):
            identity.assign_project_role_to_user(service, user, roles[role])
        _endpoint(identity, name, kind, plan.url(name) + path)
    for name, role in (('demo', 'member'), ('admin', 'admin')):
        identity.assign_project_role_to_user(
            demo, _user(identity, name), roles[role])
    # The user of the waiting service, a member of all projects.
    identity.assign_domain_role_to_user(
        'default', _user(identity, plans.WAITING), roles['member'],
        inherited=True)


def provide(plan):
    """Make images, flavors, a volume type and a network."""
    cloud = connect(plan)
    for name, (vcpus, ram, disk) in FLAVORS.items():
        _have(cloud.compute, 'flavor', name, vcpus=vcpus, ram=ram, disk=disk)
    for name in (IMAGE, OTHER_IMAGE):
        if not cloud.image.find_image(name):
            _image(cloud.image, name)
    _have(cloud.block_storage, 'type', 'files',
          extra_specs={'volume_backend_name': 'files'})
    processes.poll(lambda: list(cloud.block_storage.backend_pools()),
                   'that Cinder knew its backend')
    network = _have(cloud.network, 'network', NETWORK, is_shared=True)
    _have(cloud.network, 'subnet', NETWORK, network_id=network.id,
          ip_version=4, cidr='10.0.0.0/22', is_dhcp_enabled=False)


def provide_guests(plan, folder):
    """Make images whose guests tell what they were given.

    :param folder: that the kernel and the ramdisk are in.
    """
    api = connect(plan).image
    boot = {}
    for name, kind in (('kernel', 'aki'), ('ramdisk', 'ari')):
        image = api.find_image(f'guest-{name}') or api.create_image(
            name=f'guest-{name}', container_format=kind, disk_format=kind,
            visibility='public', filename=str(folder / name),
            validate_checksum=False)
        boot[f'{name}_id'] = image.id
    for name in GUEST_IMAGES:
        if not api.find_image(name):
            _image(api, name, **boot)


def write_access(plan):
    """Write what clients need; return the file to be sourced."""
    accounts = {'demo': _account(plan, 'demo', 'demo'),
                'admin': _account(plan, 'admin', 'admin'),
                'admin-demo': _account(plan, 'admin', 'demo')}
    path = plan.folder / 'clouds.yaml'
    path.write_text(yaml.safe_dump({'clouds': accounts}))
    openrc = plan.folder / 'openrc'
    openrc.write_text(f"""\
# Source this to use the cloud; an argument names another account of
# clouds.yaml, which are {', '.join(accounts)}.
export OS_CLIENT_CONFIG_FILE={path}
export OS_CLOUD=${{1:-demo}}
export PATH={processes.BIN}:$PATH
""")
    return openrc


def _account(plan, user, project):
    return {'region_name': 'RegionOne', 'auth': {
        'auth_url': f'{plan.url("keystone")}/v3', 'username': user,
        'password': plans.PASSWORD, 'project_name': project,
        'user_domain_name': 'Default', 'project_domain_name': 'Default'}}


def _have(api, kind, name, **options):
    """Return what has a name; make it if there is none."""
    return (getattr(api, f'find_{kind}')(name)
            or getattr(api, f'create_{kind}')(name=name, **options))


def _user(identity, name):
    return _have(identity, 'user', name, password=plans.PASSWORD,
                 domain_id='default')


def _endpoint(identity, name, kind, url):
    service = _have(identity, 'service', name, type=kind)
    if not list(identity.endpoints(service_id=service.id)):
        identity.create_endpoint(
            service_id=service.id, interface='public', url=url,
            region_id='RegionOne')


def _image(api, name, **properties):
    # Each has a content of its own, to be told from the other's.
    content = io.BytesIO(f'{name} '.encode() * 1000 + os.urandom(1000))
    try:
        api.create_image(
            name=name, container_format='bare', disk_format='raw',
            visibility='public', data=content, validate_checksum=False,
            **properties)
    except exceptions.SDKException:
        api.delete_image(name, ignore_missing=True)
        raise
