# SPDX-License-Identifier: Apache-2.0

"""Real Nova with its functional-test fixtures, and the package enabled."""

import copy
import uuid

import fixtures
from nova.compute import utils as compute_utils
from nova import exception
from nova.tests.functional.api import client as api_client
from nova.tests.functional import integrated_helpers
from oslo_config import cfg
from oslo_messaging import server as messaging_server

from cell0_rebuild import fixture
from cell0_rebuild import texts
from tests.functional.support import compiled
from tests.functional.support import databases
from tests.functional.support import pooling
from tests.functional.support import setting_up
from tests.functional.support import waiting
from tests import releases

ADDED = releases.ADDED
STOCK = releases.STOCK
# Tells the compute to build a server.
CAST = 'nova.compute.rpcapi.ComputeAPI.build_and_run_instance'
PUBLIC_KEY = (
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIHyTfUtFlEXdMOhLCxxDz0pZpQ8ek1bjWxk'
    'Ti1vT3pG nobody')


class Cell0RebuildMixin:
    """Enables the package in a functional test case of Nova's."""

    microversion = STOCK
    enabled = True
    options: dict[str, object] = {}

    def setUp(self):
        # The fixtures of Nova look for it in a source tree.
        self.flags(api_paste_config=str(releases.PASTE), group='wsgi')
        # Services are stopped in an order in which a build that is still
        # waiting for the scheduler would wait this long.
        self.flags(long_rpc_timeout=30)
        if releases.has('graceful_shutdown'):
            # Nova's fixtures do not wait for a service that stops: one that
            # ends after its test leaves the process without executors, and
            # every later test fails. Nova keeps 20 s for that end, so that
            # it does not wait for tasks.
            self.flags(manager_shutdown_timeout=20)
        # A service that reports in the midst of concurrent burials holds the
        # lock of a database and waits for the one that the fixtures have for
        # cells; the burials hold and wait the other way round, for ever. None
        # is taken for down: a series of races may run for hours.
        self.flags(report_interval=0, service_down_time=7 * 24 * 60 * 60)
        # A pool grows to this size before a thread is used again, and idle
        # threads wake up again and again.
        cfg.CONF.register_opts(messaging_server._pool_opts)
        self.flags(executor_thread_pool_size=8)
        self.useFixture(compiled.CompiledStatements())
        self.useFixture(pooling.KeptConnections())
        self.useFixture(setting_up.LeanSetUp())
        for prompt in (waiting.Impatience, waiting.PromptMessages,
                       waiting.PromptWorkers):
            self.useFixture(prompt())
        if self.enabled:
            self.package = self.useFixture(
                fixture.Cell0RebuildFixture(**self.options))
        super().setUp()
        self.useFixture(WholeFaults())
        # Nova's test case has them do so every 10 ms, to end soon; that takes
        # a third of the processor.
        self.useFixture(fixtures.MonkeyPatch(
            'futurist._thread.ThreadWorker.MAX_IDLE_FOR', 0.2))

    def bury(self, microversion=None, **body):
        """Create a server for which there is no host."""
        server = self._build_server(networks=body.pop('networks', 'none'))
        server.update(body)
        if microversion:
            with self.microversion_is(microversion):
                server = self.api.post_server({'server': server})
        else:
            server = self.api.post_server({'server': server})
        server = self._wait_for_state_change(server, 'ERROR')
        # Its build request goes when the server can be seen already.
        self._wait_for_assert(lambda: self.assertFalse(
            databases.has_build_request(server['id'])))
        return server

    def microversion_is(self, microversion):
        """Return a context in which the client asks for a microversion."""
        return _Microversion(self.api, microversion)

    def rebuild(self, server, microversion=ADDED, **body):
        """Ask for a rebuild and return the server of the answer."""
        with self.microversion_is(microversion):
            return self.api.post_server_action(
                server['id'], {'rebuild': body})['server']

    def active(self, server):
        """Wait until the server is ACTIVE and its conductor is done."""
        server = self._wait_for_state_change(server, 'ACTIVE')
        self._wait_for_assert(lambda: self.assertIsNone(
            databases.spec_of(server['id']).retained))
        return server

    def buried_again(self, server):
        """Wait until the server is in cell0 again, complete."""
        self._wait_for_assert(lambda: self.assertEqual(
            ('cell0', [(False, None)]),
            (databases.cell_of(server['id']), databases.shown(server['id']))))
        return self._wait_for_state_change(server, 'ERROR')

    # Nova's test cases wait for five seconds, which is not enough for two
    # rebuilds one after the other on a machine that does much else.
    def _wait_for_state_change(
            self, server, expected_status, max_retries=60, **kwargs):
        return super()._wait_for_state_change(
            server, expected_status, max_retries, **kwargs)

    def _wait_for_assert(self, assert_func, max_retries=300, sleep=0.1):
        return super()._wait_for_assert(assert_func, max_retries, sleep)

    def actions(self, server):
        """Return [(action, [results of its events])], oldest first."""
        found = []
        for action in reversed(self.api.get_instance_actions(server['id'])):
            details = self.api.get_instance_action_details(
                server['id'], action['request_id'])
            # One that has not ended has none.
            found.append((action['action'], sorted(
                (event['result'] for event in details['events']), key=str)))
        return found

    def assert_shown_once(self, server_id, status):
        """Check what GET and the lists show of a server."""
        self.assertEqual(status, self.api.get_server(server_id)['status'])
        shown = [server['status'] for server in self.api.get_servers()
                 if server['id'] == server_id]
        self.assertEqual([status], shown)

    def stop_listening(self):
        """Leave nobody who listens for rebuilds."""
        for service in self.conductors:
            vars(service)['_cell0_rebuild_server'].stop()

    def start_service(self, name, *args, **kwargs):
        """Extend Nova's to know the conductors."""
        service = super().start_service(name, *args, **kwargs)
        if name == 'conductor':
            self.conductors = [*getattr(self, 'conductors', ()), service]
        return service

    def assert_refused(self, code, server, microversion=ADDED, **body):
        """Check the code of a refused rebuild and return the error."""
        error = self.assertRaises(
            api_client.OpenStackApiException, self.rebuild, server,
            microversion, **body)
        self.assertEqual(code, error.response.status_code, str(error))
        return str(error)

    def assert_refused_without_trace(self, code, server, *args, **body):
        """Check the code of a refused rebuild, and that nothing changed."""
        before, around = databases.dump(), self._around(server)
        error = self.assert_refused(code, server, *args, **body)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        self.assertEqual(around, self._around(server))
        return error

    def _around(self, server):
        """Return what other services have of all servers, and of one."""
        volumes = getattr(self, 'cinder', None)
        return copy.deepcopy((
            self.neutron._ports,
            dict(volumes.volume_to_attachment) if volumes else {},
            self._get_allocations_by_server_uuid(server['id'])))


class FunctionalTestCase(
        Cell0RebuildMixin, integrated_helpers.ProviderUsageBaseTestCase):
    """nova-api, conductor, scheduler; computes are for the test to start."""

    compute_driver = 'fake.MediumFakeDriver'

    def _create_flavor(self, id=None, **kwargs):
        """Extend: make one that is listed after those of the fixtures.

        A server that names no flavor gets the first.
        """
        return super()._create_flavor(id=id or f'z{uuid.uuid4()}', **kwargs)

    def reserve_vcpus(self, host, vcpus):
        """Leave a host as many VCPUs less than it has."""
        path = (f'/resource_providers/'
                f'{self._get_provider_uuid_by_name(host)}/inventories/VCPU')
        self.placement.put(path, version='1.26', body={
            **self.placement.get(path).body, 'reserved': vcpus})
        self.assertEqual(vcpus, self.placement.get(path).body['reserved'])

    def offer_pcpus(self, host, count):
        """Have a host offer so many CPUs to pin servers to."""
        path = (f'/resource_providers/'
                f'{self._get_provider_uuid_by_name(host)}/inventories')
        body = self.placement.get(path).body
        body['inventories']['PCPU'] = {'total': count}
        self.assertEqual(
            200, self.placement.put(path, body, version='1.26').status)


class WholeFaults(fixtures.Fixture):
    """Fails a test in which Nova cuts a fault, or the details of an event."""

    def _setUp(self):
        convert, cut = compute_utils.exception_to_dict, []

        def watched(fault, message=None):
            text = message or (fault.format_message() if isinstance(
                fault, exception.NovaException) else '')
            if len(text.encode()) > texts.LONGEST:
                cut.append(text)
            return convert(fault, message)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.compute.utils.exception_to_dict', watched))
        self.addCleanup(self._check, cut)

    def _check(self, cut):
        if cut:
            raise AssertionError(f'Nova cuts the end of {cut}')


def name_of(function):
    """Return the name of a function or method to patch, module and all.

    Not of one that is patched already.
    """
    return f'{function.__module__}.{function.__qualname__}'


class Interception(fixtures.Fixture):
    """Calls a function once, before or after a method of Nova's."""

    def __init__(self, step, before=None, after=None, is_certain=True):
        """:param step: a function, or its name.

        :param is_certain: the test fails if it is not called.
        """
        self._is_certain = is_certain
        self._name = step if isinstance(step, str) else name_of(step)
        self._hooks = {'before': before, 'after': after}

    def _setUp(self):
        *owner, method = self._name.split('.')
        module, owner = '.'.join(owner[:-1]), owner[-1]
        original = getattr(
            getattr(__import__(module, fromlist=[owner]), owner), method)

        def intercepted(*args, **kwargs):
            self._call('before', *args, **kwargs)
            result = original(*args, **kwargs)
            self._call('after', *args, **kwargs)
            return result
        self.useFixture(fixtures.MonkeyPatch(self._name, intercepted))
        self.addCleanup(self._check)

    def _check(self):
        if self._is_certain and self.waiting():
            raise AssertionError(f'{self._name} was not called')

    def waiting(self):
        """Return when the hooks are to be called that were not yet."""
        return [when for when, hook in self._hooks.items() if hook]

    def _call(self, when, *args, **kwargs):
        hook, self._hooks[when] = self._hooks[when], None
        if hook is not None:
            hook(*args, **kwargs)


class _Microversion:

    def __init__(self, api, microversion):
        self._api = api
        self._microversion = microversion

    def __enter__(self):
        self._saved = self._api.microversion
        self._api.microversion = self._microversion

    def __exit__(self, *exc):
        self._api.microversion = self._saved
