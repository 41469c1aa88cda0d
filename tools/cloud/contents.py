# SPDX-License-Identifier: Apache-2.0

"""What an operator puts into a new cloud: users, images, networks."""

import io
import os

import openstack
from openstack import exceptions

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
NETWORK = 'private'
FLAVORS = {'tiny': (1, 64, 1), 'small': (1, 512, 1), 'huge': (1000, 64, 1)}


def connect(plan, project='admin'):
    """Return a connection of the administrator.

    :param project: that it works in.
    """
    return openstack.connect(
        load_yaml_config=False, load_envvars=False,
        region_name='RegionOne', auth={
            'auth_url': plan.url('keystone'), 'username': 'admin',
            'password': plans.PASSWORD, 'project_name': project,
            'user_domain_id': 'default', 'project_domain_id': 'default'})


def register(plan):
    """Make the users and the catalogue."""
    identity = connect(plan).identity
    roles = {role.name: role for role in identity.roles()}
    service = _project(identity, 'service')
    for name, (kind, path) in _ENDPOINTS.items():
        _user(identity, name, service, roles['admin'], roles['service'])
        _endpoint(identity, name, kind, plan.url(name) + path)
    demo = _project(identity, 'demo')
    _user(identity, 'demo', demo, roles['member'])
    admin = identity.find_user('admin')
    identity.assign_project_role_to_user(demo, admin, roles['admin'])


def admit_waiting(plan):
    """Make the user of the waiting service, a member of all projects."""
    identity = connect(plan).identity
    user = identity.find_user(plans.WAITING) or identity.create_user(
        name=plans.WAITING, password=plans.PASSWORD, domain_id='default')
    identity.assign_domain_role_to_user(
        'default', user, identity.find_role('member'), inherited=True)


def provide(plan):
    """Make images, flavors, a volume type and a network."""
    cloud = connect(plan)
    for name, (vcpus, ram, disk) in FLAVORS.items():
        if not cloud.compute.find_flavor(name):
            cloud.compute.create_flavor(
                name=name, vcpus=vcpus, ram=ram, disk=disk)
    for name in (IMAGE, OTHER_IMAGE):
        if not cloud.image.find_image(name):
            _image(cloud.image, name)
    if not cloud.block_storage.find_type('files'):
        cloud.block_storage.create_type(
            name='files', extra_specs={'volume_backend_name': 'files'})
    network = cloud.network
    if not network.find_network(NETWORK):
        made = network.create_network(name=NETWORK, is_shared=True)
        network.create_subnet(
            name=NETWORK, network_id=made.id, ip_version=4,
            cidr='10.0.0.0/22', is_dhcp_enabled=False)


def write_access(plan):
    """Write what clients need; return the file to be sourced."""
    accounts = {
        name: _account(plan, name, name) for name in ('demo', 'admin')}
    accounts['admin-demo'] = _account(plan, 'admin', 'demo')
    path = plan.folder / 'clouds.yaml'
    path.write_text('clouds:\n' + ''.join(accounts.values()))
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
    name = user if user == project else f'{user}-{project}'
    return f"""\
  {name}:
    region_name: RegionOne
    auth:
      auth_url: {plan.url('keystone')}/v3
      username: {user}
      password: {plans.PASSWORD}
      project_name: {project}
      user_domain_name: Default
      project_domain_name: Default
"""


def _project(identity, name):
    return (identity.find_project(name)
            or identity.create_project(name=name, domain_id='default'))


def _user(identity, name, project, *roles):
    user = identity.find_user(name) or identity.create_user(
        name=name, password=plans.PASSWORD, domain_id='default')
    for role in roles:
        identity.assign_project_role_to_user(project, user, role)


def _endpoint(identity, name, kind, url):
    service = (identity.find_service(name)
               or identity.create_service(name=name, type=kind))
    if not list(identity.endpoints(service_id=service.id)):
        identity.create_endpoint(
            service_id=service.id, interface='public', url=url,
            region_id='RegionOne')


def _image(api, name):
    # Each has a content of its own, to be told from the other's.
    content = io.BytesIO(f'{name} '.encode() * 1000 + os.urandom(1000))
    try:
        api.create_image(
            name=name, container_format='bare', disk_format='raw',
            visibility='public', data=content, validate_checksum=False)
    except exceptions.SDKException:
        api.delete_image(name, ignore_missing=True)
        raise
