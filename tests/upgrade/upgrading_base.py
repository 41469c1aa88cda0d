# SPDX-License-Identifier: Apache-2.0

"""What becomes of servers that were buried under an older release."""

from cell0_rebuild import objects
from tests.integration import base
from tests.integration import processes
from tests.upgrade import upgrading


class Tests(base.CloudTestCase):
    """What holds after each upgrade.

    :cvar upgrade: that of the module.
    """

    upgrade: upgrading.Upgrade

    def rebuild(self, what):
        """Have a server rebuilt, and return it as its owner sees it."""
        server = self.upgrade.servers[what]
        self.do.rebuild(server)
        self.do.wait_for('ACTIVE', server)
        found = self.cloud.api.server(server)
        self.assertEqual('new', found['OS-EXT-SRV-ATTR:host'])
        return found

    def test_a_server_gets_all_it_asked_for(self):
        server = self.rebuild('with networks')
        self.assertEqual(
            [self.upgrade.port], self.cloud.neutron.ports_of(server['id']))
        shown = self.upgrade.shown[server['id']]
        for name in upgrading.SAME:
            self.assertEqual(shown[name], server[name], name)
        self.assertEqual([self.upgrade.group], server['server_groups'])

    def test_a_server_boots_from_its_volume(self):
        server = self.rebuild('with a volume')
        self.assertEqual(
            [self.upgrade.volume],
            [one['id'] for one
             in server['os-extended-volumes:volumes_attached']])
        self.assertEqual(
            'in-use', self.cloud.cinder.volume(self.upgrade.volume)['status'])

    def test_personality_files_are_kept_until_the_server_has_a_host(self):
        server = self.upgrade.servers['with personality']
        self.assertIn(objects.SECTION, self.upgrade.specs[server])
        self.rebuild('with personality')
        processes.poll(
            lambda: objects.SECTION not in upgrading.specs(self.cloud)[server],
            'that the files were forgotten')

    def test_a_server_of_a_conductor_without_the_package_is_refused(self):
        self.assert_refused(
            self.cloud.api.rebuild(
                self.upgrade.servers['by a conductor without the package']),
            'networks')
