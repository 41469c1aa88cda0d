# SPDX-License-Identifier: Apache-2.0

"""What an owner gives or changes is there, as had there been room at once."""

import base64
import time

from tests.functional import base
from tests.functional.requests import comparison_base
from tests import releases


class GivenTest(comparison_base.ComparisonTestCase):

    def test_nothing_in_particular(self):
        self.compare({})

    def test_what_describes_it(self):
        rebuilt = self.compare({
            'name': 'fred', 'description': 'a description',
            'hostname': releases.HOSTNAME, 'metadata': {'k': 'v', 'a': 'b'},
            'tags': ['one', 'two'], 'accessIPv4': '192.0.2.1',
            'accessIPv6': '2001:db8::1'})
        self.assertEqual(
            ('fred', 'a description', releases.HOSTNAME),
            (rebuilt['name'], rebuilt['description'],
             rebuilt['OS-EXT-SRV-ATTR:hostname']))

    def test_key_pair(self):
        self._make_key()
        rebuilt = self.compare({'key_name': 'mine'})
        self.assertEqual('mine', rebuilt['key_name'])

    def test_key_pair_deleted_since(self):
        self._make_key()
        rebuilt = self.compare(
            {'key_name': 'mine'}, meanwhile=lambda server:
            self.api.api_delete('/os-keypairs/mine'))
        self.assertEqual('mine', rebuilt['key_name'])

    def _make_key(self):
        self.api.api_post('/os-keypairs', {'keypair': {
            'name': 'mine', 'type': 'ssh', 'public_key': base.PUBLIC_KEY}})

    def test_trusted_image_certificates(self):
        rebuilt = self.compare({'trusted_image_certificates': ['one', 'two']})
        self.assertEqual(
            ['one', 'two'], rebuilt['trusted_image_certificates'])

    def test_config_drive(self):
        rebuilt = self.compare({'config_drive': True})
        self.assertEqual('True', rebuilt['config_drive'])

    def test_user_data(self):
        rebuilt = self.compare({'user_data': 'aGVsbG8='})
        self.assertEqual('aGVsbG8=', rebuilt['OS-EXT-SRV-ATTR:user_data'])

    def test_personality(self):
        file = {'path': '/etc/hello',
                'contents': base64.b64encode(b'hello').decode()}
        rebuilt = self.compare({'personality': [file]}, microversion='2.56')
        self.assertEqual(
            [[file['path'], file['contents']]],
            self._built.calls[rebuilt['id']]['injected_files'])

    def test_disk_config_auto(self):
        rebuilt = self.compare({'OS-DCF:diskConfig': 'AUTO'})
        self.assertEqual('AUTO', rebuilt['OS-DCF:diskConfig'])

    def test_disk_config_manual(self):
        rebuilt = self.compare({
            'OS-DCF:diskConfig': 'MANUAL',
            'imageRef': self.glance.auto_disk_config_enabled_image['id']})
        self.assertEqual('MANUAL', rebuilt['OS-DCF:diskConfig'])

    def test_password(self):
        rebuilt = self.compare({'adminPass': 'what the owner chose'})
        self.assertNotEqual(
            'what the owner chose',
            self._built.calls[rebuilt['id']]['admin_password'])

    def test_flavor_deleted_since(self):
        flavor = self._create_flavor(extra_spec={'hw:cpu_policy': 'shared'})
        self.compare({'flavorRef': flavor}, meanwhile=lambda server:
                     self.api.delete_flavor(flavor))

    def test_several_servers(self):
        # Each is scheduled by itself.
        alone = ((r'/\d+/scheduled/instance_uuids: .*', 'one at a time'),
                 (r'/1/scheduled/spec_obj/.*', 'the spec of the first'))
        rebuilt = self.compare(
            {'min_count': 2, 'max_count': 2, 'return_reservation_id': True,
             'networks': 'auto'}, meant=alone)
        self.assertEqual(1, rebuilt['OS-EXT-SRV-ATTR:launch_index'])


class ShownTest(comparison_base.ComparisonTestCase):

    hosts = ('host1',)

    def buried_and_rebuilt(self):
        self.close()
        buried = self.bury()
        time.sleep(1.1)
        self.open()
        self.rebuild(buried)
        return buried, self.active(buried)

    def test_created_and_reservation_id(self):
        buried, rebuilt = self.buried_and_rebuilt()
        for name in ('created', 'OS-EXT-SRV-ATTR:reservation_id',
                     'OS-EXT-SRV-ATTR:launch_index'):
            self.assertEqual(buried[name], rebuilt[name])
        self.assertLess(rebuilt['created'], rebuilt['updated'])

    def test_instance_name_from_the_integer_id(self):
        # The first of cell1 has the ID that the buried one has in cell0.
        self._create_server(networks='none')
        buried, rebuilt = self.buried_and_rebuilt()
        name = 'OS-EXT-SRV-ATTR:instance_name'
        self.assertEqual('instance-00000001', buried[name])
        self.assertEqual('instance-00000002', rebuilt[name])

    def test_instance_name_from_the_uuid(self):
        self.flags(instance_name_template='server-%(uuid)s')
        buried, rebuilt = self.buried_and_rebuilt()
        name = 'OS-EXT-SRV-ATTR:instance_name'
        self.assertEqual(f'server-{buried["id"]}', buried[name])
        self.assertEqual(buried[name], rebuilt[name])


class ChangedTest(comparison_base.ComparisonTestCase):
    """What Nova lets the owner change while the server is buried."""

    def put(self, **changes):
        return lambda server: self.api.api_put(
            f'/servers/{server["id"]}', {'server': changes})

    def test_changed_name_description_and_hostname(self):
        changes = {'name': 'fred', 'description': 'new',
                   'hostname': releases.HOSTNAME}
        rebuilt = self.compare(
            {'name': 'old', 'description': 'old', 'hostname': 'old'},
            changes, meanwhile=self.put(**changes))
        self.assertEqual(
            ('fred', 'new', releases.HOSTNAME),
            (rebuilt['name'], rebuilt['description'],
             rebuilt['OS-EXT-SRV-ATTR:hostname']))

    def test_changed_name_alone(self):
        self.compare(
            {'name': 'old'}, {'name': 'fred', 'hostname': 'old'},
            meanwhile=self.put(name='fred'))

    def test_locked(self):
        # It is locked when it is built; the other one is locked after that.
        early = (
            (r"/0/events: .*'lock'.* became \[\['create', \['Error'\]\], "
             r"\['lock', \['Success'\]\], \['rebuild', \['Success'\]\]\]",
             'the history tells what happened'),
            (r'/0/built/instance/(locked|locked_by|'
             r'system_metadata/locked_reason): .*', 'locked before the build'))
        rebuilt = self.compare(
            {}, change=lambda server: self.api.post_server_action(
                server['id'], {'lock': {'locked_reason': 'because'}}),
            meant=early)
        self.assertEqual('because', rebuilt['locked_reason'])
