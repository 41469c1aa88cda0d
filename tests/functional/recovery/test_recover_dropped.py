# SPDX-License-Identifier: Apache-2.0

"""Others come in the way of an attempt: a stock nova-api, or the clock.

Nova 34 saves the whole RequestSpec when an owner unpins the zone. Without the
package it drops what is stored of the attempt.
"""

import datetime

import ddt
from nova import context as nova_context
from nova.objects import request_spec
from oslo_utils import timeutils

from cell0_rebuild.move import api_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.support import updating


@ddt.ddt
class DroppedTest(recover_base.RecoverTestCase):

    def setUp(self):
        super().setUp()
        self.stub_out(
            recovering.RELEASE_PATIENCE, 0)

    def drop(self, *args, **kwargs):
        databases.forget(self.server['id'])

    def drop_before(self, step):
        self.useFixture(base.Interception(step, before=self.drop))

    def test_before_the_hand_over_it_waits_for_a_recovery(self):
        self.drop_before(recovering.HAND_OVER)
        self.rebuild(self.server)
        self.late.deliver()
        self.assert_shown_once(self.server['id'], 'BUILD')
        self.assert_recovered('on its way')

    def test_after_the_hand_over_it_is_recovered_after_a_crash(self):
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.drop()
        self.assert_recovered('not built')

    @ddt.data((recovering.SCHEDULER, 'ERROR'), (recovering.CAST, 'ERROR'),
              (recovering.FINISH, 'ACTIVE'))
    @ddt.unpack
    def test_it_is_recovered_though_its_request_spec_is_gone(
            self, step, status):
        self.rebuild_until(step, before=recovering.crash)
        if status == 'ACTIVE':
            self._wait_for_state_change(self.server, 'ACTIVE')
        databases.spec_of(self.server['id']).destroy()
        code, found = recovering.recover()
        self.assertEqual((0, 'mended'), (
            code, found[self.server['id']]['result']))
        # Nova itself lists no server without one.
        found, is_built = databases.dump(), status == 'ACTIVE'
        self.assertEqual(
            ([], 1) if is_built else ([False], 0),
            ([row['hidden'] for row in found['cell0']['instances']],
             len(found['cell1']['instances'])))
        self.assertEqual('cell1' if is_built else 'cell0',
                         databases.cell_of(self.server['id']))

    def test_after_the_hand_over_it_is_finished_by_a_recovery(self):
        self.rebuild_until(recovering.FINISH, before=recovering.crash)
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.drop()
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'built'), (code, found[self.server['id']]['state']))
        self.assertEqual([], databases.dump()['cell0']['instances'])
        self.assertEqual((0, {}), recovering.recover())


@ddt.ddt
class StockApiTest(recover_base.RecoverTestCase):
    """A stock nova-api gives up the pinned zone, at each step."""

    def setUp(self):
        super().setUp()
        updating.pin(self.server['id'])
        self.stub_out(
            recovering.RELEASE_PATIENCE, 0)

    def unpin(self, *args, **kwargs):
        # Nova's own class, whose save writes the whole row.
        spec = request_spec.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), self.server['id'])
        spec.availability_zone = None
        spec.save()
        self.assertIsNone(recovering.section(self.server['id']))

    def unpin_before(self, step):
        """Rebuild the server; the zone is given up before a step of it."""
        hook = self.useFixture(base.Interception(step, before=self.unpin))
        self.rebuild(self.server)
        self.late.deliver()
        self.assertEqual([], hook.waiting())

    def assert_zone_is_gone(self):
        self.assertIsNone(
            databases.spec_of(self.server['id']).availability_zone)

    @ddt.data(recovering.SCHEDULER, recovering.TAGS, recovering.HAND_OVER,
              recovering.END)
    def test_until_the_hand_over_a_recovery_buries_it(self, step):
        self.unpin_before(step)
        self.api.put_server(self.server['id'], {'server': {'name': 'put'}})
        self.assert_shown_once(self.server['id'], 'BUILD')
        self.assert_recovered('on its way')
        self.assert_zone_is_gone()
        self.assertEqual(
            'put', self.api.get_server(self.server['id'])['name'])

    @ddt.data(recovering.CAST, recovering.FINISH, recovering.FORGET)
    def test_after_the_hand_over_a_recovery_finishes_it(self, step):
        self.unpin_before(step)
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual(0, recovering.recover()[0])
        self.assertEqual([], databases.dump()['cell0']['instances'])
        self.assert_zone_is_gone()

    def test_if_it_fails_on_its_way_a_recovery_buries_it(self):
        self.useFixture(base.Interception(
            recovering.BRING, before=recovering.fail))
        self.unpin_before(recovering.BACK)
        self.assert_shown_once(self.server['id'], 'BUILD')
        self.assert_recovered('on its way')
        self.assert_zone_is_gone()

    @ddt.data(recovering.REMAP, recovering.REMOVE, recovering.SHOW,
              recovering.LEAVE)
    def test_if_it_fails_in_its_cell_it_is_buried_again(self, step):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.unpin_before(step)
        self.assertEqual(
            1, len(self.api.get_servers()), self.api.get_servers())
        self.assertEqual(0, recovering.recover()[0])
        self.assert_buried()
        self.assert_zone_is_gone()
        self.assertEqual((0, {}), recovering.recover())

    def test_nobody_takes_it_twice(self):
        self.rebuild_until(recovering.SCHEDULER, before=recovering.crash)
        self.unpin()
        before = databases.dump()
        self.late.deliver()
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_who_was_taken_over_does_not_go_on(self):
        def take_over(*args, **kwargs):
            self.assertIsNotNone(api_db.take_over(
                nova_context.get_admin_context(), self.server['id'],
                datetime.datetime.max, 'recover', None))
            self.unpin()
        self.rebuild_until(recovering.SCHEDULER, before=take_over)
        self.assert_shown_once(self.server['id'], 'BUILD')
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_before_a_conductor_takes_it_a_recovery_buries_it(self):
        self.rebuild(self.server)
        self.unpin()
        self.assert_recovered('on its way')
        self.assert_zone_is_gone()
        self.late.deliver()
        self.assert_buried()


class ClockTest(recover_base.RecoverTestCase):
    """The clock of a process goes back."""

    def setUp(self):
        super().setUp()
        self.addCleanup(timeutils.clear_time_override)

    def go_back(self, *args, **kwargs):
        timeutils.set_time_override(
            timeutils.utcnow() - datetime.timedelta(hours=2))

    def test_during_an_attempt_it_is_built_all_the_same(self):
        self.rebuild_until(recovering.TAGS, before=self.go_back)
        self.active(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            [], databases.dump()['cell0']['instances']))

    def test_a_recovery_whose_clock_is_back_leaves_it_alone(self):
        self.rebuild(self.server)
        self.go_back()
        before = databases.dump()
        self.assertEqual((0, {}), recovering.recover())
        self.assertEqual([], databases.differences(before, databases.dump()))
        timeutils.clear_time_override()
        self.assert_recovered('on its way')
