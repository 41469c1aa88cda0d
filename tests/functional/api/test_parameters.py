# SPDX-License-Identifier: Apache-2.0

"""What a rebuild request may change on a buried server."""

import json

from nova import objects

from tests.functional.api import parameters_base
from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests import releases


class ParameterTest(parameters_base.ParameterTestCase):

    def keys(self):
        """Return the key of the server, and the names of those it has."""
        [extra] = databases.dump()['cell1']['instance_extra']
        return self.row()['key_data'], [
            key.name for key in objects.KeyPairList.obj_from_primitive(
                json.loads(extra['keypairs']))]

    def test_what_is_given_takes_the_place_of_what_was(self):
        for name in ('old', 'mine'):
            self.new_key(name)
        server = self.bury(
            metadata={'old': '1', 'both': '1'}, accessIPv4='192.0.2.1',
            user_data='b25l', key_name='old',
            **{'OS-DCF:diskConfig': 'MANUAL'})
        given = {
            'name': 'renamed', 'description': 'given', 'key_name': 'mine',
            'metadata': {'both': '2'}, 'accessIPv4': '192.0.2.2',
            'accessIPv6': '2001:db8::1', 'OS-DCF:diskConfig': 'AUTO',
            'trusted_image_certificates': ['a', 'b']}
        rebuilt = self.rebuilt(
            server, **given, user_data='dHdv', preserve_ephemeral=True)
        self.assertEqual(given, {name: rebuilt[name] for name in given})
        hostname = 'OS-EXT-SRV-ATTR:hostname'
        self.assertEqual(server[hostname], rebuilt[hostname])
        self.assertEqual('dHdv', self.row()['user_data'])
        self.assertEqual((base.PUBLIC_KEY, ['mine']), self.keys())

    def test_what_is_null_is_removed(self):
        self.new_key('mine')
        server = self.bury(
            description='given', key_name='mine', user_data='b25l',
            trusted_image_certificates=['a'])
        gone = dict.fromkeys(
            ('description', 'key_name', 'trusted_image_certificates'))
        rebuilt = self.rebuilt(server, **gone, user_data=None)
        self.assertEqual(gone, {name: rebuilt[name] for name in gone})
        self.assertIsNone(self.row()['user_data'])
        self.assertEqual((None, []), self.keys())

    def test_disk_config_of_the_create_stays(self):
        server = self.bury(**{'OS-DCF:diskConfig': 'AUTO'})
        self.assertEqual('AUTO', self.rebuilt(server)['OS-DCF:diskConfig'])

    def test_what_was_asked_for_is_kept_by_a_further_burial(self):
        self.new_key('mine')
        image = self.new_image(properties={
            'os_type': 'linux', 'hw_numa_nodes': '1'})
        server = self.bury(metadata={'old': '1'}, description='given')
        self.rebuild(
            server, imageRef=image, name='renamed', description=None,
            metadata={'new': '1'}, key_name='mine', user_data='dHdv',
            hostname=releases.HOSTNAME, accessIPv4='192.0.2.1',
            trusted_image_certificates=['cert'],
            **{'OS-DCF:diskConfig': 'AUTO'})
        again = self.buried_again(server)
        self.assertEqual(
            ('renamed', None, {'new': '1'}, 'mine', 'dHdv',
             releases.HOSTNAME, '192.0.2.1', ['cert'], 'AUTO', image),
            (again['name'], again['description'], again['metadata'],
             again['key_name'], again['OS-EXT-SRV-ATTR:user_data'],
             again['OS-EXT-SRV-ATTR:hostname'], again['accessIPv4'],
             again['trusted_image_certificates'],
             again['OS-DCF:diskConfig'], again['image']['id']))
        self.assertEqual('linux', self.row('cell0')['os_type'])
        cell0 = databases.dump()['cell0']
        self.assertIn('1', [row['value'] for row in
                            cell0['instance_system_metadata']
                            if row['key'] == 'image_hw_numa_nodes'])
        [extra] = cell0['instance_extra']
        self.assertIsNotNone(extra['numa_topology'])
        self.assertIn(base.PUBLIC_KEY, extra['keypairs'])


class HostnameTest(parameters_base.ParameterTestCase):

    options = {'api_microversion': '2.90'}

    def setUp(self):
        super().setUp()
        self.server = self.bury()
        self._start_compute('host1')

    def rebuild(self, server, microversion=base.STOCK, **body):
        body.setdefault('imageRef', server['image']['id'])
        return super().rebuild(server, microversion, **body)

    def test_a_hostname_is_set(self):
        self.rebuild(self.server, '2.90', hostname='newhost')
        self.assertEqual('newhost', self.active(
            self.server)['OS-EXT-SRV-ATTR:hostname'])

    def test_a_domain_name_is_400_before_v2_94(self):
        self.assert_refused(
            400, self.server, '2.93', hostname='host.example.org')

    @releases.needs_microversion('2.94')
    def test_a_domain_name_is_set_from_v2_94_on(self):
        self.rebuild(self.server, '2.94', hostname='host.example.org')
        self.assertEqual('host.example.org', self.active(
            self.server)['OS-EXT-SRV-ATTR:hostname'])


class PasswordTest(parameters_base.ParameterTestCase):

    def setUp(self):
        super().setUp()
        self._built = []
        self.useFixture(base.Interception(
            'nova.compute.manager.ComputeManager.build_and_run_instance',
            before=lambda *args, **kwargs: self._built.append(
                kwargs['admin_password'])))
        self.server = self.bury()
        self._start_compute('host1')

    def test_a_password_that_is_given_is_set(self):
        answer = self.rebuild(self.server, adminPass='secret')
        self.active(self.server)
        self.assertEqual('secret', answer['adminPass'])
        self.assertEqual(['secret'], self._built)

    def test_a_password_that_is_not_given_is_generated(self):
        answer = self.rebuild(self.server)
        self.active(self.server)
        self.assertTrue(answer['adminPass'])
        self.assertEqual([answer['adminPass']], self._built)

    def test_a_password_is_not_shown_where_passwords_are_disabled(self):
        self.flags(enable_instance_password=False, group='api')
        self.assertNotIn('adminPass', self.rebuild(self.server))
        self.active(self.server)


class CertificateTest(parameters_base.ParameterTestCase):

    def test_certificates_that_are_removed_become_the_default_ones(self):
        server = self.bury(trusted_image_certificates=['a'])
        self.flags(
            verify_glance_signatures=True, group='glance',
            enable_certificate_validation=True,
            default_trusted_certificate_ids=['default'])
        # The image is not signed.
        self.stub_out('nova.virt.fake.FakeDriver.spawn',
                      lambda *args, **kwargs: None)
        self.assertEqual(['default'], self.rebuilt(
            server, trusted_image_certificates=None)[
                'trusted_image_certificates'])

    def test_certificates_of_a_volume_backed_server_are_400(self):
        self.useFixture(cinder.CinderFixture(self))
        server = self.bury(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'destination_type': 'volume',
            'uuid': cinder.ROOT, 'source_type': 'volume'}])
        before = databases.dump()
        error = self.assert_refused(
            400, server, trusted_image_certificates=['a'])
        self.assertIn('not supported for volume-backed', error)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))


class KeyTest(base.FunctionalTestCase):

    def test_a_key_is_that_of_the_project_mate_who_asks(self):
        server = self.bury()
        self._start_compute('host1')
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        self.assertNotEqual(
            server['user_id'], self.api.auth_user)
        self.api.api_post('/os-keypairs', {'keypair': {
            'name': 'mine', 'type': 'ssh',
            'public_key': base.PUBLIC_KEY}})
        self.rebuild(server, key_name='mine')
        self.assertEqual('mine', self.active(server)['key_name'])
