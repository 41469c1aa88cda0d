# SPDX-License-Identifier: Apache-2.0

"""What the RPC server of rebuilds offers, to whoever can send to it."""

import types

import fixtures
from nova import baserpc
from nova import context
import oslo_messaging as messaging

from cell0_rebuild import rpcapi
from tests.functional import base


class EndpointTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        [conductor] = self.conductors
        server = vars(conductor)['_cell0_rebuild_server']._server
        self.dispatcher = server.dispatcher

    def dispatch(self, method, namespace=rpcapi.NAMESPACE, version='1.0'):
        """Dispatch a message as it comes from the broker."""
        return self.dispatcher.dispatch(types.SimpleNamespace(
            ctxt={}, client_timeout=None, message={
                'method': method, 'namespace': namespace, 'args': {},
                'version': version}))

    def test_it_offers_ping_and_the_rebuild_and_nothing_else(self):
        [endpoint] = self.dispatcher.endpoints
        offered = [
            name for name in dir(endpoint)
            if name != 'target' and callable(getattr(endpoint, name))
            and self.dispatcher.access_policy.is_allowed(endpoint, name)]
        self.assertEqual(['ping', 'rebuild_instance_in_cell0'], offered)

    def test_what_is_private_cannot_be_called(self):
        for name in ('_build', '_reimage', '_builder', '__init__'):
            self.assertRaises(messaging.NoSuchMethod, self.dispatch, name)

    def test_ping_answers(self):
        self.assertTrue(self.dispatch('ping', version=rpcapi.VERSION))

    def test_a_version_that_is_to_come_is_refused(self):
        major, minor = map(int, rpcapi.VERSION.split('.'))
        for version in (f'{major}.{minor + 1}', f'{major + 1}.0', '0.9'):
            self.assertRaises(messaging.UnsupportedVersion,
                              self.dispatch, 'ping', version=version)

    def test_other_namespaces_are_refused(self):
        for namespace in (None, '', 'compute_task', 'baseapi'):
            self.assertRaises(messaging.UnsupportedVersion,
                              self.dispatch, 'ping', namespace=namespace)


class StopTest(base.FunctionalTestCase):

    def ping(self):
        """Ask the conductor whether it is there, as Nova does."""
        return baserpc.BaseAPI('conductor').ping(
            context.get_admin_context(), 'x', timeout=1)

    def test_a_conductor_stops_also_if_its_rebuilds_do_not(self):
        [conductor] = self.conductors
        executor = vars(conductor)['_cell0_rebuild_server']._executor
        self.addCleanup(executor.shutdown, wait=True)
        self.useFixture(fixtures.MonkeyPatch(
            f'{type(executor).__module__}.{type(executor).__name__}.shutdown',
            self._fail))
        logged = self.useFixture(fixtures.FakeLogger('cell0_rebuild'))
        self.ping()
        conductor.stop()
        self.assertIn('did not stop well', logged.output)
        self.assertRaises(messaging.MessagingTimeout, self.ping)

    def _fail(self, *args, **kwargs):
        raise RuntimeError('no')
