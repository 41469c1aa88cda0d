# SPDX-License-Identifier: Apache-2.0
"""Refusals and failures that are seldom met."""

import threading

import fixtures
from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler.client import report
from oslo_db import exception as db_exc

from cell0_rebuild.conductor import resource_claims
from cell0_rebuild.move import location
from cell0_rebuild import objects as our_objects
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering

_REPORT = 'nova.scheduler.client.report.SchedulerReportClient'


def fail(error):
    """Return a function that raises an error."""
    def failing(*args, **kwargs):
        raise error
    return failing


class RefusalTest(base.FunctionalTestCase):

    options = {'api_microversion': '2.42'}

    def setUp(self):
        super().setUp()
        self.server = self.bury()
        # Nova deletes it after the server can be seen in cell0.
        self._wait_for_assert(lambda: self.assertEqual(
            [], databases.dump()['api']['build_requests']))
        self.logged = self.useFixture(fixtures.FakeLogger('cell0_rebuild'))

    def assert_says(self, text, microversion=base.STOCK, **body):
        """Check that a rebuild is 409, says so and has changed nothing."""
        self.assertIn(text, self.assert_refused_without_trace(
            409, self.server, microversion,
            imageRef=self.server['image']['id'], **body))

    def test_personality_files_of_the_rebuild_itself_are_409(self):
        self.assert_says(
            'a rebuild from there cannot inject personality files', '2.42',
            personality=[{'path': '/etc/motd', 'contents': 'aGVsbG8='}])

    def test_a_server_without_a_request_spec_is_409(self):
        databases.spec_of(self.server['id']).destroy()
        self.assert_says('has no request spec')

    def test_too_many_calls_that_wait_for_the_broker_are_409(self):
        self.stub_out('cell0_rebuild.rpcapi._calls', threading.Semaphore(0))
        self.assert_says('no nova-conductor that can rebuild it from there')
        self.assertIn('too many calls wait', self.logged.output)


class BurialTest(base.FunctionalTestCase):

    def test_a_server_whose_networks_cannot_be_kept_is_buried_all_the_same(
        self
    ):
        logged = self.useFixture(fixtures.FakeLogger('cell0_rebuild'))
        self.stub_out(recovering.KEEP, fail(db_exc.DBError()))
        server = self.bury()
        self.assert_shown_once(server['id'], 'ERROR')
        self.assertIn(
            f'The requested networks of servers {server["id"]} could not be '
            f'kept (DBError)', logged.output)
        self.assertIn('are unknown', self.assert_refused(409, server))

    def test_networks_are_kept_although_the_database_went_away_once(self):
        keep, errors = our_objects.keep, [db_exc.DBConnectionError()]

        def fail_once(*args):
            if errors:
                raise errors.pop()
            keep(*args)
        self.stub_out('cell0_rebuild.objects.keep', fail_once)
        server = self.bury()
        self._start_compute('host1')
        self.rebuild(server)
        self._wait_for_state_change(server, 'ACTIVE')


class PlacementTest(recover_base.RecoverTestCase):

    def setUp(self):
        super().setUp()
        self.logged = self.useFixture(fixtures.FakeLogger('cell0_rebuild'))

    def _leave_allocations(self):
        context = nova_context.get_admin_context()
        report.report_client_singleton().put_allocations(
            context, self.server['id'], {
                'allocations': {self._get_provider_uuid_by_host('host1'): {
                    'resources': {'VCPU': 1}}},
                'project_id': self.server['tenant_id'],
                'user_id': self.server['user_id'],
                'consumer_generation': None})

    def test_a_server_is_buried_again_also_if_placement_does_not_answer(self):
        self.stub_out(
            'nova.conductor.manager.ComputeTaskManager._schedule_instances',
            fail(exception.NoValidHost(reason='')))
        self.stub_out(f'{_REPORT}.get_allocs_for_consumer', fail(
            exception.ConsumerAllocationRetrievalFailed(
                consumer_uuid='uuid', error='away')))
        self.late.let_through()
        self.rebuild(self.server)
        self.buried_again(self.server)
        self._wait_for_assert(lambda: self.assertIn(
            'Its allocations could not be deleted: ', self.logged.output))

    def test_allocations_that_cannot_be_deleted_are_left_to_the_next_run(
        self
    ):
        self._leave_allocations()
        self.stub_out(recovering.ALLOCATIONS_PAUSE, 0)
        put = report.SchedulerReportClient.put_allocations
        self.stub_out(f'{_REPORT}.put_allocations', fail(
            exception.AllocationUpdateFailed(
                consumer_uuid='uuid', error='conflict')))
        code, found = recovering.recover(self.server['id'])
        self.assertEqual(1, code)
        finding = found[self.server['id']]
        self.assertEqual('leftovers', finding['state'])
        self.assertIn('its allocations are left: ', finding['result'])
        self.stub_out(f'{_REPORT}.put_allocations', put)
        code, found = recovering.recover(self.server['id'])
        self.assertEqual((0, [self.server['id']]), (code, list(found)))
        self.assert_buried()

    def test_a_server_that_cannot_be_looked_at_is_told(self):
        self.stub_out(base.name_of(location.place), fail(db_exc.DBError()))
        code, found = recovering.recover(self.server['id'])
        self.assertEqual(1, code)
        self.assertEqual(
            ('unknown', 'none'), (found[self.server['id']]['state'],
                                  found[self.server['id']]['action']))
        self.assertIn('The server cannot be looked at.', self.logged.output)

    def test_what_was_touched_just_now_is_left_alone(self):
        self._leave_allocations()
        self.assertEqual((0, {}), recovering.recover(
            self.server['id'], older_than=3600))

    def test_a_claim_stays_while_nobody_knows_where_the_server_goes(self):
        self.stub_out(recovering.RELEASE_PATIENCE, 0)
        self.rebuild(self.server)
        self._leave_allocations()
        resource_claims.release(
            nova_context.get_admin_context(),
            report.report_client_singleton(), self.server['id'],
            objects.Selection(service_host='host1', nodename='host1'))
        self.assertIn('claimed resources on host host1. They stay in '
                      'Placement', self.logged.output)
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))


class LostRaceTest(races_base.RaceTestCase):

    def test_a_burial_that_has_not_ended_is_409_until_somebody_ends_it(self):
        databases.leave_burial(self.server['id'])
        before = databases.dump()
        self.assertIn('The burial of server', self.assert_refused(
            409, self.server))
        self.assertEqual([], databases.differences(before, databases.dump()))
        databases.end_burial(self.server['id'])
        self.rebuild(self.server)
        self._wait_for_state_change(self.server, 'ACTIVE')
