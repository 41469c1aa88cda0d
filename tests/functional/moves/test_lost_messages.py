# SPDX-License-Identifier: Apache-2.0

"""A message or a database is away, and the server is not lost."""

from nova import exception
from oslo_db import exception as db_exc
import oslo_messaging as messaging

from cell0_rebuild.move import cell0_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering


class LostMessageTest(races_base.RaceTestCase):

    def test_a_lost_confirmation_leaves_the_server_that_is_built(self):
        def deliver_and_fail(*args, **kwargs):
            self._wait_for_assert(lambda: self.assertEqual(
                'ACTIVE', self.api.get_server(self.server['id'])['status']))
            raise messaging.MessageDeliveryFailure('no confirmation')
        self.useFixture(base.Interception(base.CAST, after=deliver_and_fail))
        self.rebuild(self.server)
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual('cell1', databases.cell_of(self.server['id']))
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def test_a_message_that_no_compute_gets_buries_it_again(self):
        def fail(*args, **kwargs):
            raise messaging.MessageDeliveryFailure('broker is down')
        self.stub_out(base.CAST, fail)
        self.rebuild(self.server)
        server = self.buried_again(self.server)
        self.assertIn('MessageDeliveryFailure', server['fault']['message'])
        self.assertEqual([], databases.dump()['cell1']['instances'])
        # They go after the server is shown again.
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id'])))

    def test_a_database_away_once_after_a_lost_message_buries_it_again(self):
        def fail(*args, **kwargs):
            raise messaging.MessageDeliveryFailure('broker is down')
        self.stub_out(base.CAST, fail)
        self._be_away_once()
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Error'])],
            self.actions(self.server))

    def test_a_database_away_once_in_a_burial_shows_it_again(self):
        self._be_away_once()
        self.computes['host1'].stop()
        self.stub_out('nova.scheduler.client.query.SchedulerQueryClient.'
                      'select_destinations', self._find_nothing)
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')

    def test_a_database_that_is_away_refuses_without_a_trace(self):
        def be_away(*args):
            raise db_exc.DBConnectionError()
        self.stub_out(recovering.HIDE, be_away)
        before = databases.dump()
        error = self.assert_refused(409, self.server)
        self.assertIn('a database does not answer', error)
        self.assertEqual(
            [], databases.differences_but_age(before, databases.dump()))
        self.assert_shown_once(self.server['id'], 'ERROR')

    def test_rebuilt_at_once_after_its_burial_it_keeps_its_resources(self):
        service = self.computes['host1'].service_ref.uuid
        self.api.put_service(service, {'status': 'disabled'})

        def rebuild(*args, **kwargs):
            self.api.put_service(service, {'status': 'enabled'})
            self.rebuild(self.server)
            self._wait_for_state_change(self.server, 'ACTIVE')
        self.useFixture(base.Interception(
            recovering.BURY, after=rebuild))
        ended = []
        self.stub_out(recovering.DONE, ended.append)
        self.rebuild(self.server)
        self._wait_for_assert(
            lambda: self.assertEqual(2, len(ended)))
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))

    def _be_away_once(self):
        show, failures = cell0_db.show, [db_exc.DBConnectionError()]

        def be_away_once(*args, **kwargs):
            if failures:
                raise failures.pop()
            show(*args, **kwargs)
        self.stub_out(recovering.SHOW, be_away_once)

    def _find_nothing(self, *args, **kwargs):
        raise exception.NoValidHost(reason='')
