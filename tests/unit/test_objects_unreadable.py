# SPDX-License-Identifier: Apache-2.0

import ddt
from nova import objects
from oslo_serialization import jsonutils

from cell0_rebuild import exceptions
from cell0_rebuild import objects as ours
from cell0_rebuild import retained_db
from tests import releases
from tests.unit import request_specs_base
from tests.unit import stored_forms

UNREADABLE = {
    'of a newer version': stored_forms.retained(
        version='2.0', newer='unknown'),
    'without networks': stored_forms.without(
        stored_forms.retained(), 'requested_networks'),
    'without a version': stored_forms.without(
        stored_forms.retained(), 'version'),
    'no entries': ['a list'],
    'empty': '',
}


class StoredTestCase(request_specs_base.TestCase):

    def store(self, section, **fields):
        """Store a RequestSpec with what is kept and return the UUID."""
        uuid = self.create(**fields)
        self.write_blob(uuid, jsonutils.dumps(dict(
            jsonutils.loads(self.blob(uuid)), **{ours.SECTION: section})))
        return uuid

    def section(self, uuid):
        """Return what is stored of a server."""
        return jsonutils.loads(self.blob(uuid)).get(ours.SECTION)


@ddt.ddt
class UnreadableTest(StoredTestCase):

    @ddt.data(*UNREADABLE)
    def test_the_spec_is_loaded_all_the_same(self, kind):
        uuid = self.store(UNREADABLE[kind], num_instances=7)
        spec = self.load(uuid)
        self.assertEqual(7, spec.num_instances)
        self.assertIsNone(spec.retained)
        self.assertIsNotNone(spec.unreadable)

    @releases.needs('get_by_instance_uuids')
    @ddt.data(*UNREADABLE)
    def test_the_others_of_a_list_are_loaded(self, kind):
        uuids = [self.store(UNREADABLE[kind]), self.create()]
        self.keep(uuids[1], None)
        found = objects.RequestSpec.get_by_instance_uuids(self.context, uuids)
        self.assertEqual({uuids[1]}, {
            spec.instance_uuid for spec in found if spec.retained})

    @ddt.data(*UNREADABLE)
    def test_a_save_leaves_it_as_it_is(self, kind):
        uuid = self.store(UNREADABLE[kind])
        self.change(self.load(uuid))
        self.assertEqual(UNREADABLE[kind], self.section(uuid))

    @ddt.data(*UNREADABLE)
    def test_it_is_known_to_be_there_until_it_is_forgotten(self, kind):
        uuid = self.store(UNREADABLE[kind])
        self.assertTrue(retained_db.is_retained(self.context, uuid))
        self.map_server(uuid)
        self.forget(uuid)
        self.assertFalse(retained_db.is_retained(self.context, uuid))

    @ddt.data('of a newer version', 'without a version', 'no entries',
              'empty')
    def test_nothing_is_added_to_it(self, kind):
        uuid = self.store(UNREADABLE[kind])
        self.assertRaises(
            exceptions.Unreadable, ours.change, self.context, uuid,
            lambda stored: {'root_known': False})
        self.assertEqual(UNREADABLE[kind], self.section(uuid))

    def test_a_spec_that_can_be_read_again_says_so(self):
        uuid = self.store(stored_forms.retained(version='2.0'))
        spec = self.load(uuid)
        self.keep(uuid, None)
        self.change(spec)
        self.assertIsNone(spec.unreadable)
        self.assertIsNotNone(spec.retained)


class VersionsTest(StoredTestCase):

    def test_what_is_stored_is_read(self):
        uuid = self.store(stored_forms.retained(
            attempt=stored_forms.attempted()))
        self.assertIsNone(self.load(uuid).unreadable)
        self.assertEqual(
            'a tag', self.load(uuid).retained.requested_networks[0].tag)
        self.assertEqual(
            stored_forms.attempted(), self.section(uuid)['attempt'])

    def test_what_is_added_leaves_the_version_and_what_is_unknown(self):
        newer = stored_forms.retained(version='1.7', newer='unknown')
        uuid = self.store(newer)
        ours.change(
            self.context, uuid, lambda stored: {'root_known': False})
        self.assertEqual(
            dict(newer, root_known=False), self.section(uuid))

    def test_what_is_kept_anew_has_the_version(self):
        uuid = self.create()
        self.keep(uuid, None)
        self.assertEqual('1.0', self.section(uuid)['version'])
