# SPDX-License-Identifier: Apache-2.0

"""Every boundary of a rebuild, as the rebuild itself crosses them.

A boundary is where what a process does becomes visible to others: a commit,
an RPC message, a request to Placement, Neutron, Cinder, Glance or Cyborg; and
where it asks them something: the begin of a transaction. What nova-api does
for the request is one process and what the conductor does for the rebuild is
another, though all run as threads of this test.
"""

import contextlib
import sys

import fixtures
import futurist
from nova import context as nova_context
from nova.db.api import api as api_db_api
from nova.db.main import api as main_db_api
from nova import objects
from nova.scheduler.client import report
from nova.volume import cinder
from oslo_messaging.rpc import dispatcher
from oslo_messaging import transport
from sqlalchemy.engine import base as sa_base

from cell0_rebuild import cells
from cell0_rebuild import rpcapi
from tests.faults.agent import crossings

API, CONDUCTOR = crossings.API, crossings.CONDUCTOR
BEFORE, AFTER = crossings.BEFORE, crossings.AFTER
Boundary, Killed = crossings.Boundary, crossings.Killed


class Run:
    """One rebuild with, or without, one fault."""

    def __init__(self, fault=None):
        self.api = crossings.Process(API, fault)
        self.conductor = crossings.Process(CONDUCTOR, fault)

    @property
    def crossed(self):
        """All that was crossed, in both processes."""
        return [*self.api.crossed, *self.conductor.crossed]


class Crossings(fixtures.Fixture):
    """Lets every boundary be crossed under the eyes of the current run.

    Use it when all services and stand-ins are there.
    """

    def __init__(self, test):
        self._test = test
        self.run = None

    def _setUp(self):
        self._databases = databases()
        self._patch_databases()
        self._patch_messages()
        self._patch_threads()
        self._patch_placement()
        self._patch_standins()

    @contextlib.contextmanager
    def watching(self, fault=None):
        """Let one run happen; what is begun in it belongs to nova-api."""
        self.run = Run(fault)
        try:
            with self.run.api.working():
                yield self.run
        finally:
            has_ended = self.run.conductor.wait(60)
            self.run = None
        if not has_ended:
            raise AssertionError('the conductor does not end')

    def _patch_databases(self):
        def name_of(connection):
            return self._databases.get(str(connection.engine.url))

        for kind, name in (('begin', '_begin_impl'),
                           ('commit', '_commit_impl')):
            self._patch(sa_base.Connection, name,
                        crossings.transacting(kind, name_of))

    def _patch_messages(self):
        self._patch(transport.RPCTransport, '_send', crossings.sending)

        def dispatch(original):
            def dispatched(this, endpoint, *args):
                run = self.run
                if run is None or not type(endpoint).__module__.startswith(
                        'cell0_rebuild.'):
                    return original(this, endpoint, *args)
                with run.conductor.working():
                    if run.conductor.dead:
                        raise Killed
                    return original(this, endpoint, *args)
            return dispatched
        self._patch(dispatcher.RPCDispatcher, '_do_dispatch', dispatch)

    def _patch_threads(self):
        self._patch(
            futurist.ThreadPoolExecutor, 'submit', crossings.submitting)
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.rpcapi._within',
            crossings.calling(rpcapi._within)))

    def _patch_placement(self):
        for method in ('get', 'post', 'put', 'delete'):
            def request(original, method=method):
                def requested(client, url, *args, **kwargs):
                    return crossings.cross(
                        'placement', crossings.request(method, url),
                        original, client, url, *args, **kwargs)
                return requested
            self._patch(report.SchedulerReportClient, method, request)

    def _patch_standins(self):
        for name, function in list(vars(cinder.API).items()):
            # The stand-ins are mocks, which take no self.
            if hasattr(function, 'side_effect'):
                self._test.stub_out(
                    f'nova.volume.cinder.API.{name}',
                    staticmethod(_crossing('cinder', name, function)))
        for name in ('show', 'detail', 'download'):
            self._test.stub_out(
                'nova.tests.fixtures.GlanceFixture.' + name,
                _crossing('glance', name, getattr(
                    type(self._test.glance), name)))
        for module, kind in (('nova.network.neutron', 'neutron'),
                             ('nova.accelerator.cyborg', 'cyborg')):
            original = sys.modules[module].get_client
            self._test.stub_out(
                module + '.get_client', lambda *args, original=original,
                kind=kind, **kwargs: _Client(kind, original(*args, **kwargs)))

    def _patch(self, owner, name, make):
        self.useFixture(fixtures.MonkeyPatch(
            f'{owner.__module__}.{owner.__qualname__}.{name}',
            make(getattr(owner, name))))


class _Client:
    """The client of a stand-in."""

    def __init__(self, kind, client):
        self._kind = kind
        self._client = client

    def __getattr__(self, name):
        found = getattr(self._client, name)
        return _crossing(self._kind, name, found) if callable(found) else found


def _crossing(kind, what, function):
    def crossed(*args, **kwargs):
        return crossings.cross(kind, what, function, *args, **kwargs)
    return crossed


def databases():
    """Return {URL: name} of the databases that a rebuild uses."""
    context = nova_context.get_admin_context()
    found = {_url(api_db_api.context_manager): 'api'}
    for cell in objects.CellMappingList.get_all(context):
        manager = main_db_api.get_context_manager(
            cells.targeted(context, cell))
        found[_url(manager)] = cell.name
    return found


def _url(manager):
    return str(manager.writer.get_engine().url)
