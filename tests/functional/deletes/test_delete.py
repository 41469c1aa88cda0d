# SPDX-License-Identifier: Apache-2.0

"""A server is deleted before, during and after a rebuild."""

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base

SCHEDULER = races_base.SCHEDULER


class DeleteTest(races_base.RaceTestCase):

    def test_deleted_before_the_rebuild_it_stays_deleted(self):
        self.api.delete_server(self.server['id'])
        self.assert_refused(404, self.server)
        self.assert_gone()

    def test_deleted_while_the_scheduler_thinks_it_stays_deleted(self):
        self.useFixture(base.Interception(SCHEDULER, before=self._delete))
        self.rebuild(self.server)
        self.wait_for_the_conductor()
        self.assert_gone()

    def test_deleted_when_the_scheduler_has_answered_it_stays_deleted(self):
        self.useFixture(base.Interception(SCHEDULER, after=self._delete))
        self.rebuild(self.server)
        self.wait_for_the_conductor()
        self.assert_gone()

    def test_deleted_when_nova_has_created_it_in_its_cell_it_stays_so(self):
        self.useFixture(base.Interception(
            'nova.conductor.manager.ComputeTaskManager._create_tags',
            before=self._delete))
        self.rebuild(self.server)
        self.wait_for_the_conductor()
        self.assert_gone()

    def test_deleted_before_the_message_arrives_it_stays_deleted(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.assert_shown_once(self.server['id'], 'BUILD')
        self._delete()
        late.deliver()
        self.assert_gone()

    def test_deleted_when_active_it_is_gone(self):
        self.rebuild(self.server)
        self.active(self.server)
        self._delete()
        self.assert_gone()

    def test_deleted_by_an_api_without_the_package_it_stays_deleted(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.stub_out(
            'cell0_rebuild.move.deletion.sweep', lambda *args: None)
        self._delete()
        late.deliver()
        self.assert_gone()
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def _delete(self, *args, **kwargs):
        self.api.delete_server(self.server['id'])
