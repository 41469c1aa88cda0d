# SPDX-License-Identifier: Apache-2.0

"""A nova-api without the package drops what is retained, on the way.

Nova 34 saves the whole RequestSpec when an owner unpins the zone.
"""

from nova import context as nova_context

from cell0_rebuild import objects as our_objects
from tests.functional import base
from tests.functional import databases
from tests.functional import recover_base
from tests.functional import recovering


class DroppedTest(recover_base.RecoverTestCase):

    def drop(self, *args, **kwargs):
        our_objects.forget(
            nova_context.get_admin_context(), self.server['id'])

    def drop_before(self, step):
        self.useFixture(base.Interception(step, before=self.drop))

    def test_before_the_hand_over_it_is_built_all_the_same(self):
        self.drop_before(recovering.HAND_OVER)
        self.rebuild(self.server)
        self.late.deliver()
        self.active(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            [], databases.dump()['cell0']['instances']))

    def test_before_the_hand_over_it_is_buried_again_if_it_fails(self):
        self.drop_before(recovering.HAND_OVER)
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild(self.server)
        self.late.deliver()
        self.buried_again(self.server)
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_before_the_hand_over_it_is_recovered_after_a_crash(self):
        self.drop_before(recovering.HAND_OVER)
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.assert_recovered('not built')

    def test_after_the_hand_over_it_is_recovered_after_a_crash(self):
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.drop()
        self.assert_recovered('not built')

    def test_after_the_hand_over_it_is_finished_by_a_recovery(self):
        self.rebuild_until(recovering.FINISH, before=recovering.crash)
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.drop()
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'built'), (code, found[self.server['id']]['state']))
        self.assertEqual([], databases.dump()['cell0']['instances'])
        self.assertEqual((0, {}), recovering.recover())
