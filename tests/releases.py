# SPDX-License-Identifier: Apache-2.0

"""What the Nova that the tests run on has; its releases differ."""

import csv
from importlib import metadata
import pathlib
import sys
import unittest

from nova.api.openstack import api_version_request
from nova.api.openstack.compute.schemas import servers
from nova import exception

from tests import signatures


def paste(prefix):
    """Return the api-paste.ini that a Nova ships.

    :param prefix: what it is installed in: an environment, or the system.
    """
    return prefix / (
        'etc' if (prefix / 'etc/nova/api-paste.ini').exists()
        else '../etc') / 'nova/api-paste.ini'


PASTE = paste(pathlib.Path(sys.prefix))
RELEASE = int(metadata.version('nova').split('.')[0])

LIST = pathlib.Path(__file__).parents[1] / 'constraints/releases.csv'
with open(LIST, encoding='utf-8', newline='') as _lines:
    _SUPPORTED = {int(line['nova']): line for line in csv.DictReader(_lines)}

# By release: the Pythons that it is tested on, and its highest microversion.
PYTHONS = {number: line['pythons'].split()
           for number, line in _SUPPORTED.items()}
DOCUMENTED = {number: line['microversion']
              for number, line in _SUPPORTED.items()}


def next_to(microversion):
    """Return the microversion after another one."""
    return f'2.{int(microversion.split(".")[1]) + 1}'


# The highest microversion of Nova's own, and the one that we add.
STOCK = api_version_request.max_api_version().get_string()
ADDED = next_to(STOCK)


def offers(microversion):
    """Tell whether a microversion is one of Nova's own."""
    return (api_version_request.APIVersionRequest(microversion)
            <= api_version_request.max_api_version())


# A hostname, as long as this Nova lets it be.
HOSTNAME = 'host.example.org' if offers('2.94') else 'host'

# The module that a web server loads to serve the API, and the metadata API.
API, METADATA = (
    ('nova.wsgi.osapi_compute', 'nova.wsgi.metadata')
    if signatures.locate('nova.wsgi.osapi_compute')
    else ('nova.api.openstack.compute.wsgi', 'nova.api.metadata.wsgi'))

# What some releases lack, and the reason in the report of a skipped test.
LACKS = {
    'casts':
        'the tests of Nova 26 and 27 have each cast wait for its answer',
    'concurrency_backend':
        'Nova 26 to 33 have no option concurrency_backend',
    'event_timeout':
        'the compute of Nova 26 to 31 leaves such a server in REBUILD',
    'faults_of_cells':
        'Nova 26 to 32 read the faults of a list in one database, and in '
        'their tests that is one of a real cell',
    'get_by_instance_uuids':
        'Nova 26 to 28 load no RequestSpecs together',
    'lists_without_spec':
        'Nova 29 to 31 list no servers if one has no RequestSpec',
    'own_connections':
        'the tests of Nova 26 to 33 run under eventlet, where threads share '
        'a connection to SQLite and end the transactions of each other',
    'policy_exception':
        'Nova 26 and 27 count a violated group as a failed build',
    'graceful_shutdown':
        'Nova 26 to 33 stop no executors with a service',
    'pci_in_placement':
        'Nova 26 asks Placement for no devices',
    'server_threads':
        'the tests of Nova 26 to 33 run under eventlet, where socketserver '
        'lets no other thread run',
    'secret_security':
        'Nova 26 to 32 make every secret of a virtual TPM as the user',
    'valid_group_hint':
        'Nova 31 and 32 answer a rebuild with a list of groups and forbid '
        'themselves that',
    'write_lock':
        'the fixtures of some older Novas lock no database, so that nobody '
        'waits for who holds a server',
    'threads':
        'the conductor of Nova 26 to 32 runs under eventlet only',
}


def _has_concurrency_backend():
    return signatures.read(
        'nova.monkey_patch', '_get_concurrency_from_config') is not None


_FOUND = {
    'casts': lambda: 'CAST_AS_CALL' in signatures.locate(
        'nova.tests.functional.integrated_helpers').read_text(),
    'concurrency_backend': _has_concurrency_backend,
    'faults_of_cells': lambda: RELEASE >= 33,
    'graceful_shutdown': lambda: signatures.read(
        'nova.thread_pool_factory', 'shutdown_all_executors') is not None,
    'lists_without_spec': lambda: RELEASE >= 32,
    'own_connections': _has_concurrency_backend,
    'policy_exception': lambda: hasattr(
        exception, 'RescheduledByPolicyException'),
    'pci_in_placement': lambda: signatures.read(
        'nova.objects.request_spec',
        'RequestSpec.generate_request_groups_from_pci_requests') is not None,
    'server_threads': _has_concurrency_backend,
    'event_timeout': lambda: hasattr(exception, 'InstanceEventTimeout'),
    'get_by_instance_uuids': lambda: signatures.read(
        'nova.objects.request_spec', 'RequestSpec.get_by_instance_uuids')
        is not None,
    'secret_security': lambda: signatures.read(
        'nova.virt.hardware', 'get_tpm_secret_security_constraint')
        is not None,
    'valid_group_hint': lambda: not offers('2.100') or (
        servers._hints['properties']['group'].get('type') != 'string'),
    'write_lock': lambda: signatures.read(
        'nova.tests.fixtures.nova', 'DatabaseWriteLock._get_lock') is not None,
    'threads': lambda: 'backend' in (signatures.read(
        'nova.monkey_patch', 'patch') or ''),
}


def has(feature):
    """Tell whether this Nova has what some releases lack."""
    return _FOUND[feature]()


def needs(feature):
    """Return a decorator of a test that needs what some releases lack."""
    return unittest.skipUnless(has(feature), LACKS[feature])


def needs_microversion(microversion):
    """Return a decorator of a test that needs one of Nova's own."""
    return unittest.skipUnless(
        offers(microversion), f'the highest of this Nova is {STOCK}')
