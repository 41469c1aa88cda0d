#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Every boundary of a rebuild, as the rebuild itself crosses them.

A boundary is where what a process does becomes visible to others: a commit,
an RPC message, a request to Placement, Neutron, Cinder, Glance or Cyborg; and
where it asks them something: the begin of a transaction. What nova-api does
for the request is one process and what the conductor does for the rebuild is
another, though all run as threads of this test.
"""

import contextlib
import contextvars
import dataclasses
import re
import sys
import threading

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

from cell0_rebuild.exhumation import cells

API, CONDUCTOR = 'nova-api', 'nova-conductor'
BEFORE, AFTER = 'before', 'after'

_process = contextvars.ContextVar('process', default=None)
# Who had a thread do what it does.
_caller = contextvars.ContextVar('caller', default='')
_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class Killed(BaseException):
    """The process is dead; not an Exception, so that nobody handles it."""


@dataclasses.dataclass(frozen=True, order=True)
class Boundary:
    """One boundary.

    :param process: which crosses it.
    :param kind: commit, begin, call, cast, placement, neutron, ...
    :param what: the database, the RPC method, the request.
    :param where: the line of the package that crosses it, if there is one.
    :param turn: tells it from earlier ones that are alike.
    """

    process: str
    kind: str
    what: str
    where: str
    turn: int

    def __str__(self):
        turn = f' #{self.turn}' if self.turn > 1 else ''
        return (f'{self.process}: {self.kind} {self.what}{turn} '
                f'({self.where or "nova"})')


class Process:
    """One process: what it has crossed, and whether it is dead."""

    def __init__(self, name, fault):
        self.name = name
        self.dead = False
        self.crossed = []
        self.done = []
        self._fault = fault
        self._turns = {}
        self._working = 0
        self._condition = threading.Condition()

    def cross(self, kind, what, function, *args, **kwargs):
        """Cross a boundary, or have what the fault gives instead."""
        boundary = self._next(kind, what)
        instead = self._act(boundary, BEFORE)
        if instead is not None:
            return instead
        try:
            with acting(None):
                return function(*args, **kwargs)
        finally:
            self.done.append(boundary)
            self._act(boundary, AFTER)

    def _next(self, kind, what):
        if self.dead:
            raise Killed
        with self._condition:
            key = (kind, what, _where())
            self._turns[key] = self._turns.get(key, 0) + 1
            boundary = Boundary(self.name, *key, self._turns[key])
            self.crossed.append(boundary)
        return boundary

    def _act(self, boundary, when):
        if self.dead:
            # It was killed while another thread of it was waiting.
            raise Killed
        if self._fault is None:
            return None
        return self._fault(self, boundary, when)

    @contextlib.contextmanager
    def working(self):
        """Tell that a thread of the process is at work meanwhile."""
        self.begin_work()
        try:
            with acting(self):
                yield
        finally:
            self.end_work()

    def begin_work(self):
        """Count one more piece of work."""
        with self._condition:
            self._working += 1

    def end_work(self):
        """Count one less."""
        with self._condition:
            self._working -= 1
            self._condition.notify_all()

    def wait(self, timeout):
        """Wait until nothing of the process is at work."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._working, timeout)


@contextlib.contextmanager
def acting(process):
    """Let this thread act as a process, or as none of the two."""
    token = _process.set(process)
    try:
        yield
    finally:
        _process.reset(token)


class Run:
    """One rebuild with, or without, one fault."""

    def __init__(self, fault=None):
        self.api = Process(API, fault)
        self.conductor = Process(CONDUCTOR, fault)

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
            self.run.conductor.wait(60)
            self.run = None

    def _patch_databases(self):
        for kind, name in (('begin', '_begin_impl'),
                           ('commit', '_commit_impl')):
            self._patch(sa_base.Connection, name, lambda original, kind=kind: (
                lambda connection, *args: self._transact(
                    kind, original, connection, *args)))

    def _transact(self, kind, original, connection, *args):
        database = self._databases.get(str(connection.engine.url))
        if database is None:
            return original(connection, *args)
        return _cross(kind, database, original, connection, *args)

    def _patch_messages(self):
        def send(original):
            def sent(self, target, ctxt, message, **kwargs):
                kind = 'call' if kwargs.get('wait_for_reply') else 'cast'
                return _cross(kind, message['method'], original, self, target,
                              ctxt, message, **kwargs)
            return sent
        self._patch(transport.RPCTransport, '_send', send)

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
        def submit(original):
            def submitted(executor, function, *args, **kwargs):
                process = _process.get()
                if process is None:
                    return original(executor, function, *args, **kwargs)
                process.begin_work()
                caller = _where()

                def work():
                    _caller.set(caller)
                    try:
                        with acting(process):
                            return function(*args, **kwargs)
                    finally:
                        process.end_work()
                return original(executor, work)
            return submitted
        self._patch(futurist.ThreadPoolExecutor, 'submit', submit)

    def _patch_placement(self):
        for method in ('get', 'post', 'put', 'delete'):
            def request(original, method=method):
                def requested(client, url, *args, **kwargs):
                    path = _UUID.sub('*', url.split('?')[0])
                    return _cross('placement', f'{method.upper()} {path}',
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
        return _cross(kind, what, function, *args, **kwargs)
    return crossed


def _cross(kind, what, function, *args, **kwargs):
    process = _process.get()
    if process is None:
        return function(*args, **kwargs)
    return process.cross(kind, what, function, *args, **kwargs)


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


def _where():
    """Return the innermost function of the package that is on the stack."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get('__name__', '')
        if module.startswith('cell0_rebuild.'):
            return f'{module.split(".", 1)[1]}.{frame.f_code.co_name}'
        frame = frame.f_back
    return _caller.get()
