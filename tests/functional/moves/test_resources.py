# SPDX-License-Identifier: Apache-2.0

"""A conductor stalls when it is about to change Placement or Cyborg.

What it has checked before is not so any more when it goes on, unless nobody
could change it meanwhile.
"""

import time

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler.client import report
import oslo_messaging as messaging

from cell0_rebuild.conductor import resource_claims
from tests.functional import base
from tests.functional.support import cyborg
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.support import reimage_base
from tests.functional.moves import stalling
from tests import releases

_REPORT = 'nova.scheduler.client.report.SchedulerReportClient'


class StallTestCase(races_base.RaceTestCase):
    """A server that is brought back while its conductor stalls."""

    def leave_allocations(self):
        """Have an earlier attempt have left what it has claimed."""
        report.report_client_singleton().put_allocations(
            nova_context.get_admin_context(), self.server['id'], {
                'allocations': {self._get_provider_uuid_by_host('host1'): {
                    'resources': {'VCPU': 1}}},
                'project_id': self.server['tenant_id'],
                'user_id': self.server['user_id'],
                'consumer_generation': None})

    def stall(self):
        """Let the next change of the server's allocations stall."""
        stall = stalling.Stall(self.bring_back)
        for method in ('put', 'delete'):
            original = getattr(report.SchedulerReportClient, method)
            stalled = stall.before(original)

            def change(client, url, *args, original=original,
                       stalled=stalled, **kwargs):
                ours = self.server['id'] in url
                return (stalled if ours else original)(
                    client, url, *args, **kwargs)
            self.stub_out(f'{_REPORT}.{method}', change)
        return stall

    def bring_back(self):
        """Recover the server and rebuild it, or wait for it."""
        time.sleep(2)
        recovering.recover(self.server['id'], older_than=1)
        if self.api.get_server(self.server['id'])['status'] == 'ERROR':
            with self.microversion_is(base.ADDED):
                self.api.post_server_action(
                    self.server['id'], {'rebuild': {}})
        self._wait_for_state_change(self.server, 'ACTIVE')
        # Whoever goes on now finds no host, which would be claimed anew.
        self.admin_api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})

    def assert_live(self, stall):
        """Check that the server is ACTIVE with what it needs, once."""
        self._wait_for_assert(lambda: self.assertTrue(stall.struck))
        stall.end()
        server = self.active(self.server)
        self.wait_for_the_conductor()
        self.assert_shown_once(server['id'], 'ACTIVE')
        [claimed] = self._get_allocations_by_server_uuid(
            server['id']).values()
        self.assertEqual(1, claimed['resources']['VCPU'])
        self.assertEqual([], databases.dump()['cell0']['instances'])


class AllocationsTest(StallTestCase):

    @releases.needs('write_lock')
    def test_a_stalled_conductor_takes_a_live_server_nothing(self):
        self.leave_allocations()
        stall = self.stall()
        self.rebuild(self.server)
        self.assert_live(stall)

    @releases.needs('write_lock')
    def test_a_conductor_that_has_buried_it_takes_a_live_server_nothing(self):
        stalls = []

        def fail(*args, **kwargs):
            if stalls:
                return cast(*args, **kwargs)
            # What this one has claimed, it deletes when it has buried it.
            stalls.append(self.stall())
            raise messaging.MessageDeliveryFailure('broker is down')
        cast = self.intercepted(base.CAST, fail)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertTrue(stalls))
        self.assert_live(stalls[0])

    def intercepted(self, name, function):
        """Replace a method; return it."""
        module, owner, method = name.rsplit('.', 2)
        original = getattr(getattr(
            __import__(module, fromlist=[owner]), owner), method)
        self.stub_out(name, function)
        return original

    def test_a_claim_stays_of_a_server_that_came_to_its_host_just_now(self):
        self.rebuild(self.server)
        server = self.active(self.server)
        before = self._get_allocations_by_server_uuid(server['id'])
        self.stub_out(base.name_of(resource_claims._settled),
                      lambda *args: resource_claims._RestingPlace(False))
        self.release(server)
        self.assertEqual(
            before, self._get_allocations_by_server_uuid(server['id']))

    def release(self, server, node='host1'):
        """Release what a stale conductor has claimed on the only host."""
        resource_claims.release(
            nova_context.get_admin_context(),
            report.report_client_singleton(), server['id'],
            objects.Selection(
                service_host='host1', nodename=node,
                compute_node_uuid=self._get_provider_uuid_by_host('host1')))

    def test_a_claim_stays_of_a_server_that_is_moving_to_its_host(self):
        self.rebuild(self.server)
        server = self.active(self.server)
        before = self._get_allocations_by_server_uuid(server['id'])
        # Its row tells of the other host until it is there.
        context = nova_context.get_admin_context()
        with nova_context.target_cell(
                context, self.cell_mappings['cell1']) as cctxt:
            moving = objects.Instance.get_by_uuid(cctxt, server['id'])
            moving.task_state = 'migrating'
            moving.save()
        self.stub_out(recovering.RELEASE_PATIENCE, 0.1)
        self.release(server, node='host2')
        self.assertEqual(
            before, self._get_allocations_by_server_uuid(server['id']))

    def test_a_delete_that_was_not_answered_is_asked_for_again(self):
        self.leave_allocations()
        self.stub_out(recovering.ALLOCATIONS_PAUSE, 0)
        put, lost = report.SchedulerReportClient.put_allocations, []

        def lose(*args):
            if not lost:
                lost.append(args)
                raise exception.PlacementAPIConnectFailure()
            return put(*args)
        self.stub_out(f'{_REPORT}.put_allocations', lose)
        code, _ = recovering.recover(self.server['id'])
        self.assertEqual((0, 1), (code, len(lost)))
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))


class AcceleratorsTest(StallTestCase):

    def setUp(self):
        super().setUp()
        self.api.delete_server(self.server['id'])
        self.cyborg = self.useFixture(cyborg.Cyborg())
        flavor = self.cyborg.add_device(self)
        compute = self.computes['host1'].service_ref.uuid
        self.admin_api.put_service(compute, {'status': 'disabled'})
        self.server = self.bury(flavorRef=flavor)
        self.admin_api.put_service(compute, {'status': 'enabled'})

    def stall_at(self, method):
        """Let the next request to Cyborg of a kind stall."""
        stall = stalling.Stall(self.bring_back)
        self.stub_out(
            f'nova.accelerator.cyborg._CyborgClient.{method}', staticmethod(
                stall.before(getattr(self.cyborg, f'fake_{method}'))))
        return stall

    def assert_has_one(self, stall):
        """Check that the live server has what it needs, and no more."""
        stall.end()
        self.active(self.server)
        self.wait_for_the_conductor()
        self.assertEqual(1, len(self.cyborg.of(self.server['id'])))
        self.assertEqual(
            2, len(self._get_allocations_by_server_uuid(self.server['id'])))

    @releases.needs('write_lock')
    def test_who_stalls_before_it_looks_for_some_takes_none(self):
        stall = self.stall_at('get_arqs_for_instance')
        self.rebuild(self.server)
        self.assert_has_one(stall)

    @releases.needs('write_lock')
    def test_who_stalls_before_it_binds_one_binds_no_second(self):
        stall = self.stall_at('bind_arqs')
        self.rebuild(self.server)
        self.assert_has_one(stall)

    def test_a_live_server_keeps_those_of_an_attempt_that_was_finished(self):
        ended = []

        def finish(*args, **kwargs):
            self._wait_for_state_change(self.server, 'ACTIVE')
            recovering.recover(self.server['id'])
            raise messaging.MessageDeliveryFailure('no confirmation')
        self.useFixture(base.Interception(base.CAST, after=finish))
        self.stub_out(recovering.DONE, ended.append)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertTrue(ended))
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual(1, len(self.cyborg.of(self.server['id'])))


class VolumeTest(reimage_base.ReimageTestCase):

    def test_a_conductor_that_is_stale_has_no_image_written(self):
        self.useFixture(base.Interception(
            recovering.REIMAGE,
            before=lambda *args: recovering.recover(self.server['id'])))
        self.assert_refused(409, self.server, imageRef=self.new)
        self.assertEqual([], self.cinder.written)
        self.assert_shown_once(self.server['id'], 'ERROR')
