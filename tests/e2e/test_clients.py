# SPDX-License-Identifier: Apache-2.0

"""What to type, and what not: doc/source/user/rebuilding.rst."""

from tests.e2e import base
from tests.e2e import clouds

_OPTION = '--os-compute-api-version'


class ClientsTestCase(base.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.buried = self.bury()
        self.cloud.only_hosts_in('cell1')

    def refused(self, version):
        """Return what the command says to a version that is not right."""
        return str(self.assertRaises(
            clouds.CommandFailed, self.cloud.run, _OPTION, version, 'server',
            'rebuild', self.buried))

    def test_only_the_highest_that_the_cloud_shows_is_the_one_to_type(self):
        self.assertIn(
            'is not an openstack command', self.refused('latest'))
        for version in ('2', '2.latest', '2.104'):
            self.assertIn("invalid state for 'rebuild'", self.refused(version))
        highest = self.cloud.run(
            'versions', 'show', '--service', 'compute', '--status', 'CURRENT',
            '-f', 'value', '-c', 'Max Microversion').strip()
        self.cloud.run(
            _OPTION, highest, 'server', 'rebuild', '--wait', self.buried)
        self.assertEqual('ACTIVE', self.server(self.buried).status)

    def test_an_owner_sees_that_it_is_buried(self):
        [event] = self.cloud.ask(
            'server', 'event', 'list', '--long', self.buried)
        self.assertEqual(
            ('create', 'Error'), (event['Action'], event['Message']))
        self.assertEqual(
            '', self.cloud.ask('server', 'show', self.buried)['hostId'])

    def test_a_rebuild_that_failed_keeps_its_new_name_and_properties(self):
        self.cloud.only_hosts_in()
        self.assertRaises(
            clouds.CommandFailed, self.cloud.run, _OPTION, clouds.ADDED,
            'server', 'rebuild', '--wait', '--name', 'new', '--property',
            'a=b', self.buried)
        found = self.cloud.ask('server', 'show', self.buried)
        self.assertEqual(
            ('ERROR', 'new', {'a': 'b'}),
            (found['status'], found['name'], found['properties']))
