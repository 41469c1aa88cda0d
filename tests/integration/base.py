# SPDX-License-Identifier: Apache-2.0

"""What tests do with a cloud."""

import os
import unittest
import uuid

import testtools

from tests.integration import cloud as clouds
from tests.integration import dump
from tests.integration import processes
from tests.integration import standins

_cloud = None


def shared_cloud(make=clouds.Cloud):
    """Return a cloud for all tests of a module.

    To be called from its ``setUpModule``.
    """
    global _cloud
    missing = clouds.missing_packages()
    if missing and os.geteuid():
        raise unittest.SkipTest(
            f'the Debian packages {" and ".join(missing)} are not installed')
    if missing:
        raise AssertionError(
            f'tools/install_system_packages.sh must install '
            f'{" and ".join(missing)} first')
    _cloud = make()
    unittest.addModuleCleanup(_cloud.cleanUp)
    _cloud.setUp()
    return _cloud


def shared_cloud_for_burials():
    """Return such a cloud, with a host that is disabled for burials."""
    cloud = shared_cloud()
    cloud.conductors(enabled=['one'])
    cloud.open_host()
    return cloud


class Actions:
    """What an owner and an operator do with a cloud."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.api = cloud.api

    def bury(self, count=1, api=None):
        """Create servers that find no host and return their IDs."""
        self.cloud.close_hosts()
        made = [(api or self.api).post('/servers', {'server': {
            'name': f'server-{number}', 'flavorRef': 'small',
            'imageRef': standins.IMAGE, 'networks': 'none'}})['server']['id']
            for number in range(count)]
        self.wait_for('ERROR', *made)
        return made

    def bury_with_volume(self):
        """Create a server on a volume that finds no host."""
        self.cloud.close_hosts()
        made = self.api.post('/servers', {'server': {
            'name': 'server', 'flavorRef': 'small', 'networks': 'none',
            'block_device_mapping_v2': [{
                'boot_index': 0, 'source_type': 'volume',
                'destination_type': 'volume', 'uuid': str(uuid.uuid4())}],
        }})['server']['id']
        self.wait_for('ERROR', made)
        return made

    def rebuild(self, server_id):
        """Have a server rebuilt."""
        answer = self.api.rebuild(server_id)
        if answer.status_code != 202:
            raise AssertionError(f'{answer.status_code} {answer.text}')

    def rebuild_at_last(self, server_id, api=None):
        """Have a server rebuilt, by a nova-api that has lost its broker."""
        processes.poll(
            lambda: (api or self.api).rebuild(server_id).status_code == 202,
            f'that server {server_id} was accepted')

    def wait_for(self, status, *servers):
        """Wait until servers have a status."""
        def are():
            return {status} == {
                self.api.server(server)['status'] for server in servers}

        try:
            # A call that is lost with a conductor is given up after 60 s.
            processes.poll(are, f'that servers became {status}', 150)
        except processes.ProcessError as error:
            found = ', '.join(map(self._told, servers))
            raise processes.ProcessError(f'{error}: {found}') from None

    def _told(self, server_id):
        server = self.api.server(server_id)
        return f'{server_id} is {server["status"]} {server.get("fault", "")}'

    def history(self, server_id):
        """Return the actions of a server and the results of their events.

        Waits until no event is in progress, oldest action first.
        """
        def ended():
            found = list(self._actions(server_id))
            return None not in {result for _, results in found
                                for result in results} and found

        return processes.poll(ended, f'the end of events of {server_id}')

    def _actions(self, server_id):
        path = f'/servers/{server_id}/os-instance-actions'
        for action in reversed(self.api.get(path)['instanceActions']):
            found = self.api.get(f'{path}/{action["request_id"]}')
            yield action['action'], [
                event['result'] for event in found['instanceAction']['events']]


class CloudTestCase(testtools.TestCase):
    """A test on the cloud of its module."""

    def setUp(self):
        super().setUp()
        self.cloud = _cloud
        self.do = Actions(_cloud)

    def assert_nothing_changed(self, before, ignored=dump.HEARTBEATS):
        """Check that all databases are as they were."""
        self.assertEqual([], before.changes(self.cloud.dump(), ignored))

    def assert_refused(self, answer, words):
        """Check that a request was refused with a conflict."""
        self.assertEqual(409, answer.status_code, answer.text)
        self.assertIn(words, answer.json()['conflictingRequest']['message'])

    def assert_rebuilt_by(self, conductor, server):
        """Check which conductor took the message."""
        self.assertIn(f'[instance: {server}] Rebuilding the server',
                      self.cloud.output_of(conductor))

    def assert_shown_once(self, server, status):
        """Check that its owner sees a server, and no ghost of it."""
        found = self.cloud.api.get('/servers/detail')['servers']
        self.assertEqual(
            [status], [one['status'] for one in found if one['id'] == server])
