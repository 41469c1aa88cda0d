# SPDX-License-Identifier: Apache-2.0

"""Count what a step costs: SQL statements, RPC messages, HTTP requests."""

import collections
import contextlib

import fixtures
from nova.scheduler.client import report
from oslo_messaging import transport
import sqlalchemy as sa

from tests.functional.support import services

# What timers of the services do, whatever the test does.
_BY_THEMSELVES = ('BEGIN', 'UPDATE services', 'FROM services')

# How an older oslo.db asks whether a connection is still there.
_PING = 'SELECT 1'

# Each is one request to the service that the fixture stands for.
_REQUESTS = {
    'neutron': ('list_extensions', 'list_ports', 'show_port', 'create_port',
                'update_port', 'delete_port', 'list_networks', 'show_network',
                'list_subnets', 'list_floatingips', 'list_security_groups',
                'show_quota'),
    'glance': ('show', 'detail', 'download'),
}


class CountingFixture(fixtures.Fixture):
    """Counts statements by their text and messages by their method.

    Use it with casts as calls, so that a step ends when all of it is done.

    :ivar steps: what each step cost, as {name: Counter}.
    :ivar services: which service did it, as {name: Counter}, whose keys are
        (service, kind).
    """

    def _setUp(self):
        self.steps = {}
        self.services = {}
        self._now = None
        self.useFixture(services.Services())
        sa.event.listen(
            sa.engine.Engine, 'before_cursor_execute', self._statement)
        self.addCleanup(
            sa.event.remove, sa.engine.Engine, 'before_cursor_execute',
            self._statement)
        send = transport.Transport._send

        def counted(transport, target, context, message, **kwargs):
            self._count('rpc', message['method'])
            return send(transport, target, context, message, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(
            'oslo_messaging.transport.Transport._send', counted))

    def count_requests(self, test):
        """Count what is asked of the services that a test has stand-ins for.
        """
        for service, methods in _REQUESTS.items():
            for name in methods:
                self._patch(getattr(test, service), name, service)
        for name in ('get', 'post', 'put', 'delete'):
            self._patch(report.SchedulerReportClient, name, 'placement')

    @contextlib.contextmanager
    def step(self, name):
        """Count what is done inside under a name."""
        self._now = name
        self.steps.setdefault(name, collections.Counter())
        self.services.setdefault(name, collections.Counter())
        try:
            yield self.steps[name]
        finally:
            self._now = None

    def _patch(self, owner, name, service):
        original = getattr(owner, name)

        def counted(*args, **kwargs):
            self._count('http', f'{service} {name}')
            return original(*args, **kwargs)
        self.useFixture(fixtures.MockPatchObject(owner, name, counted))

    def _statement(self, connection, cursor, statement, *args):
        text = ' '.join(statement.split())
        if text != _PING and not any(
                part in text for part in _BY_THEMSELVES):
            self._count('sql', text)

    def _count(self, kind, what):
        if self._now is not None:
            self.steps[self._now][f'{kind} {what}'] += 1
            self.services[self._now][services.at_work(), kind] += 1
