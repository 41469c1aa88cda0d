# SPDX-License-Identifier: Apache-2.0

"""A server is deleted before, during and after a rebuild."""

import ddt

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering


@ddt.ddt
class DeleteTest(races_base.RaceTestCase):

    def test_deleted_before_the_rebuild_it_stays_deleted(self):
        self.api.delete_server(self.server['id'])
        self.assert_refused(404, self.server)
        self.assert_gone()

    @ddt.data(
        ('the_scheduler_thinks', recovering.SCHEDULER, 'before'),
        ('the_scheduler_has_answered', recovering.SCHEDULER, 'after'),
        ('it_is_created_in_its_cell', recovering.TAGS, 'before'))
    @ddt.unpack
    def test_it_stays_deleted_if_it_is_while(self, _name, step, when):
        self.useFixture(base.Interception(step, **{when: self._delete}))
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
            recovering.SWEEP, lambda *args: None)
        self._delete()
        late.deliver()
        self.assert_gone()
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def _delete(self, *args, **kwargs):
        self.api.delete_server(self.server['id'])
