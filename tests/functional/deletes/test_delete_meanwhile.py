# SPDX-License-Identifier: Apache-2.0

"""A server is deleted while it is being mended or taken back."""

import contextlib

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering


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
