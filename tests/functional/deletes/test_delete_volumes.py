# SPDX-License-Identifier: Apache-2.0

"""A delete on the way does to volumes what their owner said last."""

import ddt
from nova import context as nova_context
from nova import objects
from oslo_db import exception as db_exc
from sqlalchemy import orm

from cell0_rebuild import cells
from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import races_base
from tests.functional.support import recovering


def refuse(*args, **kwargs):
    raise db_exc.DBConnectionError()


@ddt.ddt
class DeleteVolumesTest(races_base.RaceTestCase):

    def bury(self, **body):
        self.cinder = self.useFixture(cinder.Cinder(self))
        return super().bury(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'destination_type': 'volume',
            'uuid': cinder.ROOT, 'source_type': 'volume',
            'delete_on_termination': True}], **body)

    def set_flag(self, value, context=None):
        """Write what an owner says, where it is read at that time."""
        [bdm] = objects.BlockDeviceMappingList.get_by_instance_uuid(
            context or cells.in_cell0(nova_context.get_admin_context()),
            self.server['id'])
        bdm.delete_on_termination = value
        bdm.save()

    def delete(self, *_args, **_kwargs):
        self.api.delete_server(self.server['id'])

    def is_deleted(self):
        return ('delete', cinder.ROOT) in self.cinder.calls

    def test_a_volume_that_is_to_stay_by_now_stays(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.set_flag(False)
        self.delete()
        late.deliver()
        self.assert_gone()
        self.assertFalse(self.is_deleted())

    def test_a_volume_that_is_to_stay_since_the_checks_stays(self):
        late = self.useFixture(races_base.HeldMessage())
        self.useFixture(base.Interception(
            recovering.PROBE,
            after=lambda *args: self.set_flag(False)))
        self.rebuild(self.server)
        self.delete()
        late.deliver()
        self.assert_gone()
        self.assertFalse(self.is_deleted())

    @ddt.data('before', 'after')
    def test_a_volume_that_is_to_stay_stays_in_the_cell(self, hand_over):
        def keep_and_delete(context, attempt, cell, *args):
            self.set_flag(False, cells.targeted(context, cell))
            self.delete()
        self.useFixture(base.Interception(
            recovering.HAND_OVER, **{hand_over: keep_and_delete}))
        self.rebuild(self.server)
        self.assert_gone()
        self.assertFalse(self.is_deleted())

    def test_no_volume_goes_if_nobody_can_tell(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.useFixture(base.Interception(
            'nova.objects.BlockDeviceMappingList.get_by_instance_uuid',
            before=refuse))
        self.delete()
        late.deliver()
        self.assert_gone()
        self.assertFalse(self.is_deleted())
        self.assertIn('its volumes are kept', self.stdlog.logger.output)

    def test_a_volume_stays_though_its_server_is_buried_meanwhile(self):
        def bury(row, *args):
            # SQLite would have this wait for the transaction.
            orm.object_session(row).commit()
            self.bury_as_an_operator_would()

        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.set_flag(False)
        self.useFixture(base.Interception(
            'nova.db.api.models.BuildRequest.update', before=bury))
        self.delete()
        late.deliver()
        self.assert_gone()
        self.assertFalse(self.is_deleted())

    def test_a_volume_that_is_still_to_go_goes(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.delete()
        late.deliver()
        self.assert_gone()
        self.assertTrue(self.is_deleted())
