# SPDX-License-Identifier: Apache-2.0

"""Run Tempest against the cloud of an account of clouds.yaml.

Usage: OS_CLOUD=ACCOUNT run_tempest.py [--microversion X.Y] [--show STATUS]
                                       [--stock] [ARGUMENT ...]

The account is that of an administrator. The other arguments are those of
"tempest run"; without any, the tests of cell0-rebuild are run. --microversion
is what [cell0_rebuild] api_microversion of nova.conf is set to, if it is, and
--show what [cell0_rebuild_wait] show is set to. --stock says that Nova there
is without the package.
"""

import argparse
import configparser
import os
import pathlib
import sys

import openstack

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / '.state' / 'tempest'
PLUGIN = ['--regex', '^cell0_rebuild_tempest_plugin']
SERVICES = {'cinder': 'block-storage', 'glance': 'image', 'nova': 'compute',
            'neutron': 'network', 'placement': 'placement'}
# What the drivers of the loopback can do, where Tempest assumes otherwise:
# their console has three lines, and a snapshot of theirs has no content.
FEATURES = {'change_password': 'true', 'resize': 'true',
            'console_output': 'false', 'snapshot': 'false'}


def configuration(cloud, stock, options):
    """Return the content of tempest.conf, which depends on the cloud."""
    auth = cloud.config.get_auth_args()
    images = [image.id for image in cloud.image.images(status='active')]
    flavors = sorted(cloud.compute.flavors(), key=lambda each: (
        each.vcpus, each.ram, each.disk))
    highest = cloud.compute.get_endpoint_data().max_microversion
    present = {name: str(cloud.has_service(kind)).lower()
               for name, kind in SERVICES.items()}
    return {
        'DEFAULT': {'log_file': FOLDER / 'tempest.log'},
        'auth': {
            'use_dynamic_credentials': 'true',
            'admin_username': auth['username'],
            'admin_password': auth['password'],
            'admin_project_name': auth['project_name'],
            'admin_domain_name': auth['user_domain_name']},
        'identity': {
            'uri_v3': auth['auth_url'], 'region': cloud.config.region_name,
            'v3_endpoint_type': 'public'},
        'compute': {
            'image_ref': images[0], 'image_ref_alt': images[-1],
            'flavor_ref': flavors[0].id, 'flavor_ref_alt': flavors[1].id,
            'max_microversion': '.'.join(map(str, highest)),
            'build_timeout': 300},
        'validation': {'run_validation': 'false'},
        'network': {'project_network_cidr': '10.100.0.0/16'},
        'service_available': {
            **present, 'cell0_rebuild': str(not stock).lower(),
            'swift': 'false', 'horizon': 'false'},
        'compute-feature-enabled': FEATURES,
        'cell0_rebuild': {
            'waiting': str(not stock).lower(),
            **{name: value for name, value in options.items() if value}},
        'oslo_concurrency': {'lock_path': FOLDER / 'locks'}}


def prepare(cloud, *, stock=False, **options):
    """Write tempest.conf.

    :param stock: whether Nova there is without the package.
    :param options: what the plugin is told of nova.conf; None is not told.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    config = configparser.ConfigParser(interpolation=None)
    config.read_dict(configuration(cloud, stock, options))
    with open(FOLDER / 'tempest.conf', 'w', encoding='utf-8') as file:
        config.write(file)
    # Tempest makes it for the environment that it is started in.
    (FOLDER / '.stestr.conf').unlink(missing_ok=True)


def command(*arguments):
    """Return the command line of "tempest run", to be run in FOLDER."""
    tempest = pathlib.Path(sys.executable).parent / 'tempest'
    return [str(tempest), 'run', '--config-file', 'tempest.conf', *arguments]


def main():
    """Write tempest.conf and become "tempest run"."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--microversion', metavar='X.Y')
    parser.add_argument('--show', choices=('error', 'build'))
    parser.add_argument('--stock', action='store_true')
    options, arguments = parser.parse_known_args()
    prepare(openstack.connect(), stock=options.stock,
            microversion=options.microversion, show=options.show)
    os.chdir(FOLDER)
    run = command(*(arguments or PLUGIN))
    os.execv(run[0], run)


if __name__ == '__main__':
    main()
