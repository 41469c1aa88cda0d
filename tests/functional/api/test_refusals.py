# SPDX-License-Identifier: Apache-2.0

"""A rebuild that is refused leaves everything as it was."""

import threading
import time

import kombu.exceptions
from nova.tests import fixtures as nova_fixtures
from nova.tests.functional.api import client as api_client
from oslo_serialization import jsonutils
from oslo_utils.fixture import uuidsentinel

from cell0_rebuild import exceptions
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering


class RefusalTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.bury(tags=['a'])
        self._start_compute('host1')

    def assert_refused_without_trace(self, code, *args, **kwargs):
        """Check it of the one server that there is."""
        return super().assert_refused_without_trace(
            code, self.server, *args, **kwargs)


class MicroversionTest(RefusalTestCase):

    def test_stock_microversions_answer_as_stock_nova(self):
        before = databases.dump()
        enabled = self._answers(self.api)
        self.stop_listening()
        self.package.patches.remove()
        stock = self._answers(self.useFixture(
            nova_fixtures.OSAPIFixture(
                api_version='v2.1', stub_keystone=False)).admin_api)
        self.assertEqual([], databases.differences(before, databases.dump()))
        self.assertEqual(
            {200, 400, 409}, {answer[0] for answer in stock.values()})
        for asked, answer in stock.items():
            self.assertEqual(answer, enabled[asked], asked)

    def _answers(self, api):
        """Return {what was asked: (code, headers, body)}."""
        path = f'servers/{self.server["id"]}'
        found = {}
        for minor in range(1, int(base.STOCK[2:]) + 1):
            api.microversion = f'2.{minor}'
            for image in ({'imageRef': self.server['image']['id']}, {}):
                found[minor, str(image)] = api.api_request(
                    f'/{path}/action', method='POST',
                    body=jsonutils.dump_as_bytes({'rebuild': image}))
            found[minor, 'show'] = api.api_request(f'/{path}')
        return {asked: (answer.status_code, {
            name: value for name, value in answer.headers.items()
            if not name.lower().endswith('-request-id')}, answer.content)
            for asked, answer in found.items()}

    def test_latest_is_the_added_microversion(self):
        self.rebuild(self.server, 'latest')
        self.active(self.server)


class BadInputTest(RefusalTestCase):

    def test_what_the_schema_does_not_take_is_400(self):
        images = ('', 'no-uuid', None, 7, [], {})
        for body in (*({'imageRef': image} for image in images),
                     {'name': 7}, {'metadata': []}, {'name': ''},
                     {'user_data': 'not base64'}, {'key_name': 7},
                     {'preserve_ephemeral': 'perhaps'},
                     {'accessIPv4': 'nowhere'}, {'flavorRef': '1'}):
            self.assert_refused_without_trace(400, **body)

    def test_a_body_that_is_no_object_is_400(self):
        before = databases.dump()
        for body in (None, [], 'rebuild', 7):
            with self.microversion_is(base.ADDED):
                error = self.assertRaises(
                    api_client.OpenStackApiException,
                    self.api.post_server_action, self.server['id'],
                    {'rebuild': body})
            self.assertEqual(400, error.response.status_code)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))

    def test_too_much_metadata_is_403(self):
        self.flags(metadata_items=1, group='quota')
        self.assert_refused_without_trace(
            403, metadata={'a': '1', 'b': '2'})


class ServerStateTest(RefusalTestCase):

    def test_a_locked_server_is_409_for_its_owner(self):
        self.api.post_server_action(self.server['id'], {'lock': None})
        self._be_the_owner()
        error = self.assert_refused_without_trace(409)
        self.assertIn('locked', error)

    def test_a_server_that_does_not_exist_is_404(self):
        self.server = {'id': uuidsentinel.no_such_server}
        self.assert_refused_without_trace(404)

    def test_a_deleted_server_is_404(self):
        self.api.delete_server(self.server['id'])
        self.assert_refused_without_trace(404)

    def test_somebody_elses_server_is_404(self):
        self.api = api_client.TestOpenStackClient(
            'stranger', self.api.base_url,
            project_id=uuidsentinel.another_project,
            roles=['reader', 'member'])
        self.api.microversion = base.STOCK
        self.assert_refused_without_trace(404)

    def test_a_server_that_failed_in_a_real_cell_is_409(self):
        self.stub_out('nova.virt.fake.FakeDriver.spawn', self._fail)
        self.server = self._wait_for_state_change(self.api.post_server({
            'server': self._build_server(networks='none')}), 'ERROR')
        error = self.assert_refused_without_trace(409)
        self.assertIn("invalid state for 'rebuild'", error)

    def test_one_that_is_on_its_way_already_is_409(self):
        self.useFixture(base.Interception(
            'nova.scheduler.client.query.SchedulerQueryClient.'
            'select_destinations', before=self._rebuild_meanwhile))
        self.rebuild(self.server)
        self.active(self.server)
        self.assertIn('vm_state building', self.error)

    def _rebuild_meanwhile(self, *args, **kwargs):
        self.error = self.assert_refused(409, self.server)

    def _be_the_owner(self):
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK

    def _fail(self, *args, **kwargs):
        raise RuntimeError('no')


class NoConductorTest(RefusalTestCase):

    def test_without_a_conductor_that_can_do_it_it_is_409(self):
        self.flags(answer_timeout=1, group='cell0_rebuild')
        self.stop_listening()
        error = self.assert_refused_without_trace(409)
        self.assertIn('no nova-conductor that can rebuild', error)

    def test_a_broker_that_is_down_does_not_hold_up_the_request(self):
        # oslo.messaging tries the first connection without end.
        back = threading.Event()
        self.addCleanup(back.set)
        self.flags(answer_timeout=1, group='cell0_rebuild')
        self.stub_out('oslo_messaging.rpc.client._BaseCallContext.call',
                      lambda *args, **kwargs: back.wait(30))
        began = time.monotonic()
        error = self.assert_refused_without_trace(409)
        self.assertLess(time.monotonic() - began, 25)
        self.assertIn('no nova-conductor that can rebuild', error)

    def test_a_broker_that_takes_no_second_connection_is_409(self):
        def refuse(*args, **kwargs):
            raise kombu.exceptions.OperationalError('Connection refused')
        self.stub_out('oslo_messaging.rpc.client._BaseCallContext.call',
                      refuse)
        error = self.assert_refused_without_trace(409)
        self.assertIn('no nova-conductor that can rebuild', error)

    def time_out(self, *args, **kwargs):
        raise exceptions.NoConductor('timeout')

    def test_a_conductor_that_took_it_but_did_not_say_so_is_believed(self):
        self.useFixture(base.Interception(
            recovering.REQUEST, after=self.time_out))
        self.rebuild(self.server)
        self.active(self.server)

    def test_a_conductor_that_comes_after_the_refusal_does_nothing(self):
        late = self.useFixture(races_base.HeldMessage())
        self.useFixture(base.Interception(
            recovering.REQUEST, after=self.time_out))
        self.assert_refused(409, self.server)
        before = databases.dump()
        self.assertFalse(late.deliver())
        self.assertEqual(
            [], databases.differences(before, databases.dump()))


class UnknownNetworksTest(base.FunctionalTestCase):

    def test_buried_before_the_package_was_enabled_it_is_409(self):
        server = self.bury()
        databases.forget(server['id'])
        error = self.assert_refused_without_trace(409, server)
        self.assertIn('requested networks', error)
        self.assertIn('are unknown: it was buried by', error)
        self.api.delete_server(server['id'])
