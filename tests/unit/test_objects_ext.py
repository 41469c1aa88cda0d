# SPDX-License-Identifier: Apache-2.0

"""Our RequestSpec in Nova's registry of objects."""

import fixtures
from nova import objects
from nova.objects import base
from nova.objects import request_spec
from oslo_utils.fixture import uuidsentinel
from oslo_versionedobjects import fixture as ovo_fixture

from cell0_rebuild import objects as ours
from cell0_rebuild import objects_ext
from tests.unit import request_specs_base


class RegistrationTest(request_specs_base.TestCase):

    def setUp(self):
        super().setUp()
        self.stock = request_spec.RequestSpec

    def registered(self):
        """Return the registered classes."""
        return base.NovaObjectRegistry.obj_classes()['RequestSpec']

    def test_our_class_is_registered_in_place_of_novas(self):
        self.assertIn(ours.RequestSpec, self.registered())
        self.assertNotIn(self.stock, self.registered())

    def test_nova_finds_our_class(self):
        self.assertIs(ours.RequestSpec, objects.RequestSpec)

    def test_novas_module_is_left_alone(self):
        self.assertIsNot(ours.RequestSpec, self.stock)
        self.assertEqual('nova.objects.request_spec', self.stock.__module__)

    def test_undo_registers_novas_class(self):
        before = len(self.registered())
        self.patches.remove()
        self.assertNotIn(ours.RequestSpec, self.registered())
        self.assertIn(self.stock, self.registered())
        self.assertEqual(before, len(self.registered()))
        self.assertIs(self.stock, objects.RequestSpec)

    def test_undo_twice_leaves_what_came_after_the_first(self):
        self.patches.remove()
        self.useFixture(fixtures.MonkeyPatch(
            'nova.objects.RequestSpec', 'of somebody else'))
        self.patches.remove()
        self.assertEqual('of somebody else', objects.RequestSpec)

    def test_it_can_be_applied_again_after_undo(self):
        self.patches.remove()
        self.patches.install()
        self.assertIs(ours.RequestSpec, objects.RequestSpec)
        self.patches.remove()
        self.assertIs(self.stock, objects.RequestSpec)

    def test_apply_twice_registers_once(self):
        registration, = objects_ext.PATCHES
        registration.apply()
        self.assertEqual(1, self.registered().count(ours.RequestSpec))
        registration.undo()
        self.assertIs(self.stock, objects.RequestSpec)

    def test_version_and_fingerprint_are_novas(self):
        found = [
            ovo_fixture.ObjectVersionChecker({'RequestSpec': [cls]})
            .get_hashes() for cls in (self.stock, ours.RequestSpec)]
        self.assertEqual(*found)
        self.assertIn(self.stock.VERSION, found[0]['RequestSpec'])

    def test_a_message_of_stock_nova_is_read_as_our_class(self):
        serializer = base.NovaObjectSerializer()
        spec = self.stock(self.context, instance_uuid=uuidsentinel.server)
        found = serializer.deserialize_entity(
            self.context, serializer.serialize_entity(self.context, spec))
        self.assertIs(ours.RequestSpec, type(found))
        self.assertEqual(uuidsentinel.server, found.instance_uuid)
        self.assertIsNone(found.retained)

    def test_a_message_of_ours_is_one_of_stock_nova(self):
        messages = [
            cls(instance_uuid=uuidsentinel.server).obj_to_primitive()
            for cls in (self.stock, ours.RequestSpec)]
        self.assertEqual(*messages)

    def test_a_mismatch_is_a_problem(self):
        self.useFixture(fixtures.MonkeyPatch(
            'nova.objects.request_spec.RequestSpec._save_in_db',
            staticmethod(lambda context, other: None)))
        registration, = objects_ext.PATCHES
        self.assertIn('nova.objects.request_spec:RequestSpec._save_in_db has '
                      'the signature', registration.problem())
