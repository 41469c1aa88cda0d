# SPDX-License-Identifier: Apache-2.0

"""A server is deleted while it is being mended or taken back."""

import contextlib

from nova.db.api import models as api_models

from tests.functional import base
from tests.functional.support import archiving
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering

_MAPPING = 'nova.objects.InstanceMapping._get_by_instance_uuid_from_db'


class DeleteTest(recover_base.RecoverTestCase):

    def assert_gone(self):
        """Check that there is nothing for a recovery, too."""
        super().assert_gone()
        self.assertEqual((0, {}), recovering.recover())

    @contextlib.contextmanager
    def deleted_before(self, step):
        """Have the owner delete the server before the next such call."""
        hook = self.useFixture(base.Interception(
            step, before=lambda *args, **kwargs: self.api.delete_server(
                self.server['id'])))
        yield
        self.assertEqual([], hook.waiting())
        self.assert_gone()

    def test_deleted_before_a_recovery_takes_it_it_stays_deleted(self):
        self._recover_deleted_before(recovering.TAKE_OVER)

    def test_deleted_when_a_recovery_has_taken_it_it_stays_deleted(self):
        self._recover_deleted_before(recovering.BURY)

    def _recover_deleted_before(self, step):
        self.rebuild(self.server)
        with self.deleted_before(step):
            self.assertEqual(0, recovering.recover()[0])

    def test_deleted_before_a_conductor_takes_it_back_it_stays_deleted(self):
        self._fail_deleted_before(recovering.REMAP)

    def test_deleted_when_it_is_back_in_cell0_it_stays_deleted(self):
        self._fail_deleted_before(recovering.IS_THERE)

    def _fail_deleted_before(self, step):
        with self.deleted_before(step):
            self.rebuild_until(recovering.CAST, before=recovering.fail)

    def test_deleted_twice_just_when_it_leaves_cell0_both_are_told_so(self):
        self.admin_api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})
        self.server = self.bury(
            networks=[{'port': self.neutron.port_1['id']}])
        codes = []

        def delete_again(*args, **kwargs):
            codes.append(self.api.api_request(
                f'/servers/{self.server["id"]}',
                method='DELETE').status_code)

        def begin(*args, **kwargs):
            self.rebuild(self.server)
            self.useFixture(base.Interception(
                _MAPPING, after=delete_again))
        # Nova has read the server, and is to look for its cell.
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=begin))
        delete_again()
        self.assertEqual([204, 204], codes)
        self._wait_until_deleted(self.server)

    def test_deleted_in_cell0_by_a_stock_nova_it_stays_deleted(self):
        def delete_and_fail(*args, **kwargs):
            databases.in_cell0(self.server['id']).destroy()
            recovering.fail()
        self.rebuild_until(recovering.SCHEDULER, before=delete_and_fail)
        self.assert_gone()

    def test_deleted_in_its_cell_when_it_goes_back_it_stays_deleted(self):
        found = []

        def read_and_fail(api, context, instance, *args, **kwargs):
            found.append(instance.obj_clone())
            recovering.fail()
        self.useFixture(base.Interception(
            recovering.REMOVE, before=lambda *args, **kwargs: (
                found[0].destroy())))
        self.rebuild_until(recovering.CAST, before=read_and_fail)
        self.assert_gone()

    def test_deleted_just_before_it_has_volumes_in_its_cell_none_is_left(self):
        with self.deleted_before(
                'nova.conductor.manager.ComputeTaskManager.'
                '_create_block_device_mapping'):
            self.rebuild_until(recovering.TAGS, before=recovering.fail)
        self.assertEqual([], [
            row for row in databases.dump()['cell1']['block_device_mapping']
            if not row['deleted']])

    def _mark_deleted(self):
        databases.update('api', api_models.InstanceMapping, self.server['id'],
                         queued_for_delete=True)

    def _delete_halfway(self):
        """Do what a DELETE does that has read the server in cell0."""
        self._mark_deleted()
        databases.in_cell0(self.server['id']).destroy()

    def assert_archived(self):
        """Check that Nova archives all that is left."""
        self.assertEqual([], self.api.get_servers())
        archiving.assert_archived(self, self.server['id'])

    def test_deleted_by_a_stock_nova_after_the_hand_over_it_is_archived(self):
        def delete_and_fail(*args, **kwargs):
            self._delete_halfway()
            recovering.fail()
        self.rebuild_until(recovering.CAST, before=delete_and_fail)
        self.assert_archived()

    def test_deleted_by_a_stock_nova_in_a_burial_it_is_archived(self):
        self.useFixture(base.Interception(
            recovering.REMAP,
            before=lambda *args, **kwargs: self._delete_halfway()))
        self.rebuild_until(recovering.CAST, before=recovering.fail)
        self.assert_archived()

    def test_one_whose_delete_dies_in_its_cell_is_recovered_and_archived(self):
        def mark_and_die(*args, **kwargs):
            self._mark_deleted()
            recovering.crash()
        self.rebuild_until(recovering.CAST, before=mark_and_die)
        self.assertEqual(0, recovering.recover()[0])
        self.assert_archived()
