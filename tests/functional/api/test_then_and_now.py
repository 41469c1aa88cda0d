# SPDX-License-Identifier: Apache-2.0

"""What was true at create, and is no more when the server is rebuilt."""

import copy

from nova import context as nova_context
from nova import objects
from nova.tests.functional.api import client as api_client
from oslo_utils.fixture import uuidsentinel

from tests.functional.api import parameters_base
from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.volumes import volumes_base

HINT = '_nova_check_type'
ON_VOLUME = {**volumes_base.DATA, 'boot_index': 0}


class HintsTest(base.FunctionalTestCase):
    """In older releases, a create stores the hints that are Nova's own.

    A filter that is not for rebuilds lets such a server go to any host.
    """

    def bury_with_hints(self, hints):
        server = self.bury()
        spec = objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), server['id'])
        spec.scheduler_hints = hints
        spec.save()
        return server

    def test_a_hint_of_novas_own_does_not_reach_the_scheduler(self):
        server = self.bury_with_hints({HINT: ['rebuild'], 'kept': ['yes']})
        asked = []
        self.useFixture(base.Interception(
            races_base.SCHEDULER,
            before=lambda _self, _context, spec, *args, **kwargs:
                asked.append(spec.scheduler_hints)))
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual([{'kept': ['yes']}], asked)
        self.assertEqual(
            {'kept': ['yes']}, databases.spec_of(server['id']).scheduler_hints)

    def test_it_opens_no_host_that_a_filter_keeps_shut(self):
        server = self.bury_with_hints({HINT: ['rebuild']})
        service = self._start_compute('host1').service_ref
        self.api.put_service(service.uuid, {'status': 'disabled'})
        # Placement would keep it shut by itself.
        self.stub_out('nova.scheduler.request_filter.ALL_REQUEST_FILTERS', [])
        self.rebuild(server)
        self.buried_again(server)


class DiskKeyTest(parameters_base.ParameterTestCase):
    """A create makes the key with which dm-crypt encrypts local disks."""

    def setUp(self):
        # Whether there is a key manager is decided when nova-api starts.
        self.encrypt(True)
        self.flags(fixed_key='00' * 32, group='key_manager')
        super().setUp()

    def encrypt(self, enabled):
        self.flags(enabled=enabled, group='ephemeral_storage_encryption')

    def test_without_a_key_for_its_disks_by_now_it_is_409(self):
        self.encrypt(False)
        server = self.bury()
        self.encrypt(True)
        self.assertIn('has no key', self.assert_refused_without_trace(
            409, server))

    def test_with_its_key_it_is_built_whatever_is_asked_for_now(self):
        server = self.bury()
        key = self.row('cell0')['ephemeral_key_uuid']
        self.assertIsNotNone(key)
        self.encrypt(False)
        self.rebuilt(server)
        self.assertEqual(key, self.row()['ephemeral_key_uuid'])


class VolumesOnlyTest(volumes_base.VolumesTestCase):

    def bury_on_volume(self):
        """Bury a server that has no local disk and no image."""
        self.flavor_id = self._create_flavor(ephemeral=0)
        return self.bury_with(ON_VOLUME)

    def test_without_local_disks_it_needs_no_key(self):
        server = self.bury_on_volume()
        self.flags(enabled=True, group='ephemeral_storage_encryption')
        self.flags(fixed_key='00' * 32, group='key_manager')
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)

    def test_certificates_that_every_image_needs_by_now_are_400(self):
        server = self.bury_on_volume()
        self.flags(
            verify_glance_signatures=True, enable_certificate_validation=True,
            default_trusted_certificate_ids=[uuidsentinel.certificate],
            group='glance')
        self.assertIn('certificate', self.assert_refused_without_trace(
            400, server))
        another = self.body(
            [ON_VOLUME], volume=uuidsentinel.another_volume)
        error = self.assertRaises(
            api_client.OpenStackApiException, self.api.post_server,
            {'server': {**self._build_server(networks='none'), **another}})
        self.assertEqual(400, error.response.status_code)

    def test_a_volume_that_has_grown_takes_a_larger_image(self):
        server = self.bury_on_volume()
        image = self.glance.create(None, {
            **copy.deepcopy(self.glance.image2),
            'id': uuidsentinel.large, 'min_disk': 50})['id']
        self.cinder.fixed[cinder.ROOT] = {'size': 60}
        self.cinder.reimage = lambda volume, image: self.cinder.fixed[
            volume].update(volume_image_metadata={'image_id': image})
        self._start_compute('host1')
        self.rebuild(server, imageRef=image)
        self.active(server)
        [root] = self.bdms('cell1', server)
        self.assertEqual(60, root['volume_size'])
