# SPDX-License-Identifier: Apache-2.0

"""Events of other services for servers that are in no cell."""

import uuid

from nova.tests.functional.api import client

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base


class EventsTestCase(base.FunctionalTestCase):

    def post(self, *servers, name='volume-reimaged', **more):
        """Post an event for each, and return the code and the answer."""
        answer = self.api.api_post('/os-server-external-events', {'events': [
            {'name': name, 'server_uuid': server, **more}
            for server in servers]}, check_response_status=[200, 207])
        return answer.status, [
            (event['server_uuid'], event['status'], event['code'])
            for event in answer.body['events']]

    def on_its_way(self):
        """Return a server that no conductor has taken yet."""
        self.late = self.useFixture(races_base.HeldMessage())
        server = self.bury()
        self.rebuild(server)
        self.assertIsNone(databases.cell_of(server['id']))
        return server['id']

    def delivered(self):
        """Return what computes are told, as it grows."""
        found = []
        self.stub_out(
            'nova.compute.manager.ComputeManager.external_instance_event',
            lambda manager, context, instances, events: found.extend(
                event.instance_uuid for event in events))
        return found


class OnItsWayTest(EventsTestCase):

    def test_an_event_is_answered_as_for_a_server_without_a_host(self):
        buried, moving = self.bury()['id'], self.on_its_way()
        for name, tag, code in (
                ('volume-reimaged', str(uuid.uuid4()), 422),
                ('network-vif-plugged', None, 422),
                ('power-update', None, 400)):
            more = {} if tag is None else {'tag': tag}
            for server in (buried, moving):
                with self.subTest(name, server=server):
                    self.assertEqual(
                        (207, [(server, 'failed', code)]),
                        self.post(server, name=name, **more))

    def test_the_other_events_of_a_batch_are_delivered(self):
        moving = self.on_its_way()
        buried, unknown = self.bury()['id'], str(uuid.uuid4())
        self._start_compute('host1')
        built = self._create_server(networks='none')['id']
        delivered = self.delivered()
        self.assertEqual(
            (207, [(moving, 'failed', 422), (built, 'completed', 200),
                   (buried, 'failed', 422), (unknown, 'failed', 404)]),
            self.post(moving, built, buried, unknown))
        self._wait_for_assert(
            lambda: self.assertEqual([built], delivered))

    def test_an_event_changes_nothing_and_the_rebuild_goes_on(self):
        moving = self.on_its_way()
        self._start_compute('host1')
        before = databases.dump()
        self.post(moving)
        self.assertEqual([], databases.differences(before, databases.dump()))
        self.late.deliver()
        self.active({'id': moving})

    def test_an_event_of_one_that_was_deleted_on_its_way_is_answered(self):
        moving = self.on_its_way()
        self.api.delete_server(moving)
        status, [(_, result, _)] = self.post(moving)
        self.assertEqual((207, 'failed'), (status, result))


class BootingTest(EventsTestCase):

    def test_an_event_of_a_server_that_is_created_fails_as_in_stock(self):
        self.assert_fails_as_in_stock(self.booting())

    def assert_fails_as_in_stock(self, *servers):
        """Check that Nova fails as it does without the package."""
        error = self.assertRaises(
            client.OpenStackApiException, self.post, *servers)
        self.assertEqual(500, error.response.status_code)
        self.assertIn("<class 'AttributeError'>", str(error))

    def booting(self):
        """Return a server that is created and that no conductor builds."""
        self.stub_out(
            'nova.conductor.api.ComputeTaskAPI.schedule_and_build_instances',
            lambda *args, **kwargs: None)
        server = self.api.post_server({
            'server': self._build_server(networks='none')})
        return server['id']


class StockBootingTest(BootingTest):

    enabled = False
