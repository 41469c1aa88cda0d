# SPDX-License-Identifier: Apache-2.0

"""Mappings, build requests and RequestSpecs, where Nova once had bugs."""

import copy
import json

from nova.db.api import models as api_models
from nova.tests.functional.api import client

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering

MAPPING = 'nova.objects.instance_mapping.InstanceMapping.save'


class SeveralTest(base.FunctionalTestCase):

    # Nova's bug 1661024.
    def test_of_two_of_one_request_one_is_deleted_and_one_rebuilt(self):
        deleted = []

        def delete_one(*args, **kwargs):
            deleted.append(self.api.get_servers()[0]['id'])
            self.api.delete_server(deleted[0])
        self.useFixture(base.Interception(
            races_base.SCHEDULER, before=delete_one))
        self.api.post_server({'server': {
            **self._build_server(networks='none'), 'min_count': 2}})
        self._wait_for_assert(lambda: self.assertEqual(
            ['ERROR'], [server['status'] for server in
                        self.api.get_servers()]))
        [server] = self.api.get_servers()
        self.assertNotEqual(deleted, [server['id']])
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)


class RowsTest(races_base.RaceTestCase):

    def row(self, table):
        """Return the only row of a table of the API database."""
        [row] = databases.dump()['api'][table]
        return row

    # 1814913.
    def test_of_the_mapping_of_a_rebuilt_server_only_the_cell_differs(self):
        before = self.row('instance_mappings')
        self.rebuild(self.server)
        self.active(self.server)
        after = self.row('instance_mappings')
        self.assertEqual({'cell_id', 'updated_at'}, {
            name for name in before if before[name] != after[name]})
        self.assertIs(False, after['queued_for_delete'])

    # 1775863.
    def test_a_request_spec_in_which_nothing_changed_can_be_saved(self):
        before = json.loads(self.row('request_specs')['spec'])
        databases.spec_of(self.server['id']).save()
        after = json.loads(self.row('request_specs')['spec'])
        self.assertEqual(before['cell0_rebuild'], after['cell0_rebuild'])
        self.rebuild(self.server)
        self.active(self.server)


class OnItsWayTest(recover_base.RecoverTestCase):

    # Nova's bug 1882608.
    def test_a_mapping_that_goes_while_it_is_marked_fails_no_delete(self):
        self.rebuild(self.server)
        hook = self.useFixture(base.Interception(
            MAPPING, before=lambda *args: self.late.deliver()))
        self.api.delete_server(self.server['id'])
        self.assertEqual([], hook.waiting())
        self.assert_gone()

    # 1812177.
    def test_a_build_request_of_a_newer_nova_is_left_for_that(self):
        self.rebuild(self.server)
        [row] = databases.dump()['api']['build_requests']
        instance = json.loads(row['instance'])
        newer = copy.deepcopy(instance)
        newer['nova_object.version'] = '9.9'
        self._store(newer)
        before = databases.dump()
        self.assertRaises(
            client.OpenStackApiNotFoundException, self.api.get_server,
            self.server['id'])
        recovering.recover()
        self.assertEqual([], databases.differences(before, databases.dump()))
        self._store(instance)
        self.assert_recovered('on its way')
        self.assert_can_be_rebuilt()

    def _store(self, instance):
        databases.update(
            'api', api_models.BuildRequest, self.server['id'],
            instance=json.dumps(instance))
